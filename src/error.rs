//! Errors: which rule is broken, where in the file, in which object.

mod full;

use core::fmt;

use crate::element::{LogicalType, StorageType};
use crate::num::{enum_all, halves};
use crate::rules::{Generation, Limit, Row, Rule, Unsupported};

pub use full::Error;
pub(crate) use full::Named;
#[cfg(feature = "std")]
pub(crate) use full::text;

enum_all! {
/// A call that asked for something the file is not to blame for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse with fn sentence -> &'static str {
    /// No limit has that name, or it cannot have that value.
    Limit = "unknown limit, or invalid value of the limit",
    /// No tolerance has that name.
    Tolerance = "unknown tolerance",
    /// The bytes given are not as many as were asked for, or announced.
    Supply = "the number of bytes is not the requested or declared one",
    /// The data given does not hold the component: it is shorter than the file was.
    Size = "the data given is shorter than the component",
    /// The elements are of another type than was asked for.
    Type = "the elements do not have the requested type",
    /// The bytes are not aligned for the type; the unaligned elements can be read.
    Alignment = "the bytes are not aligned for native elements",
    /// The bytes are of the other byte order; the elements can be read one by one.
    ByteOrder = "the bytes are not in this machine's byte order",
    /// A 0.1 bool may be any byte, and these are: the elements can be read one by one.
    BoolBytes = "a 0.1 bool is any byte, and these cannot be borrowed as bools",
    /// The component is compressed, or in column-major order: it has no elements to borrow.
    Compressed = "the component is compressed or in column-major order and cannot be borrowed",
    /// The manifest was opened without its file, so that there is no view: `bind` and `bind_blob`
    /// take the bytes.
    NoFile = "the manifest was opened without its file: call `read_from` with a source, `bind` with the file's bytes, or open an `Archive`",
    /// The bytes of the file are not in memory: they cannot be borrowed, and can be read.
    NotInMemory = "the file is not in memory: read the elements, as `to_cow` and `to_vec` do, or open its bytes",
    /// No tensor has the name that was asked for.
    NoTensor = "no tensor of that name",
    /// The tensor is not of the layout that was asked for.
    Layout = "the tensor does not have the requested layout",
    /// The attributes of a quantized object, which no rule validates, are missing or not known; or
    /// the component that the error is at does not fit them and the shape.
    Quantization = "the quantization is unknown, or does not match the components",
    /// The array has no such slice.
    Slice = "slice out of range",
    /// The buffer to fill has another length than the data.
    Buffer = "the buffer has another length than the data",
    /// The value cannot be written as attributes, or the attributes are no value of that type.
    Attributes = "the value cannot be written as attributes, or the attributes do not have that type",
    /// The bytes are more or fewer than were declared.
    Length = "the bytes are more or fewer than were declared",
    /// Another component is to come; or, in canonical form, another object.
    Order = "components or objects out of order",
    /// The parts are not those of the layout: one is missing, unknown, or given twice.
    Parts = "the parts are not those of the layout: one is missing, unknown, or given twice",
    /// An object was begun and has not ended.
    Unfinished = "an object was begun and has not ended",
    /// A 0.1 file or a data shard cannot be appended to, nor a file be appended to in canonical form.
    Append = "a 0.1 file or a data shard cannot be appended to, nor a file in canonical form",
    /// The level of compression does not exist.
    Level = "invalid compression level: expected 1 to 5",
    /// The bytes have another digest than was announced; or, in canonical form, have been written
    /// before, which was not announced.
    Announced = "the bytes do not have the declared digest, or have been written before",
    /// Files of that generation are not written, or have no such digest or alignment.
    Settings = "the generation cannot be written, or does not have that digest or alignment",
    /// Files of 1.2 have no shards, nor have those in canonical form, of which there is one for one
    /// content.
    NoShards = "files of 1.2 and files in canonical form have no shards",
    /// The component has no digest, and that of the shard it is in has not been compared.
    UnverifiedShard = "the component has no digest, and its shard has not been verified",
    /// Reading or writing failed before, and what it would have gone on with is not known.
    Aborted = "reading or writing failed before; begin again",
}
}

/// Memory is short. Neither the file nor the call is to blame, unless for asking for much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutOfMemory;

/// The kind of an error. The file is to blame for the first six.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file breaks a rule.
    Malformed(Rule),
    /// The file, which is of another format, breaks a rule of that.
    Format(&'static Row),
    /// The file may be valid; this reader does not read it.
    Unsupported(Unsupported),
    /// The file, which is of another format, may be valid; this reader does not read it.
    UnsupportedFormat(&'static Row),
    /// The file goes beyond a limit.
    Limit(Limit),
    /// The file, which is of another format, goes beyond a limit of the reader for that.
    LimitFormat(&'static Row),
    /// The file, which is of another format, is valid: a known loader may stumble over it, or something was left out. Only a
    /// [`Finding`](crate::Finding) is of this kind.
    Note(&'static Row),
    /// The call was wrong.
    Misuse(Misuse),
    /// The bytes of the file could not be read: [`source`](core::error::Error::source) says why.
    Read,
    /// The bytes of the file could not be written: [`source`](core::error::Error::source) says why.
    Write,
    /// The new file has its name, and the system has not confirmed that it keeps it if the machine stops now.
    NotDurable,
    /// The file is valid, and has something that a file of that generation, or a canonical one, cannot have.
    Inexpressible(Generation),
    /// Memory is short.
    OutOfMemory,
    /// An invariant of this library does not hold: a defect of it, or bytes that changed while they were read.
    Internal,
}

impl ErrorKind {
    /// The row of the catalog, where the file is to blame.
    pub fn row(self) -> Option<&'static Row> {
        match self {
            Self::Malformed(rule) => Some(rule.row()),
            Self::Format(row)
            | Self::UnsupportedFormat(row)
            | Self::LimitFormat(row)
            | Self::Note(row) => Some(row),
            Self::Unsupported(feature) => Some(feature.row()),
            Self::Limit(limit) => Some(limit.row()),
            Self::Misuse(_)
            | Self::Read
            | Self::Write
            | Self::NotDurable
            | Self::Inexpressible(_)
            | Self::OutOfMemory
            | Self::Internal => None,
        }
    }
}

macro_rules! kinds {
    ($($from:ident => $kind:ident;)+) => { $(
        impl From<$from> for ErrorKind {
            fn from(value: $from) -> Self {
                Self::$kind(value)
            }
        }
    )+ };
}

kinds! { Rule => Malformed; Limit => Limit; Unsupported => Unsupported; Misuse => Misuse; }

/// The object and the component that an error is in, counted from 0 in manifest order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    object: u32,
    component: u32,
}

impl Location {
    /// More than there can be of either: a manifest has 2^30 bytes at most.
    const NONE: u32 = u32::MAX;

    pub(crate) const NOWHERE: Self = Self { object: Self::NONE, component: Self::NONE };

    pub(crate) fn new(object: Option<u32>, component: Option<u32>) -> Self {
        let own = |ordinal: Option<u32>| ordinal.unwrap_or(Self::NONE);
        Self { object: own(object), component: own(component) }
    }

    /// The same object, and that component of it.
    #[inline]
    pub(crate) fn in_component(self, component: Option<u32>) -> Self {
        Self { component: component.unwrap_or(Self::NONE), ..self }
    }

    /// The object, in manifest order.
    pub fn object(&self) -> Option<u32> {
        (self.object != Self::NONE).then_some(self.object)
    }

    /// The component within the object, in manifest order.
    pub fn component(&self) -> Option<u32> {
        (self.component != Self::NONE).then_some(self.component)
    }
}

impl Default for Location {
    fn default() -> Self {
        Self::NOWHERE
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut location = f.debug_struct("Location");
        location.field("object", &self.object()).field("component", &self.component()).finish()
    }
}

/// Bits of a number of bytes that has a type beside it: 256 TiB.
const BYTES: u32 = 48;

/// A type of elements in 32 bits, none of which describes nothing: 1, the storage type, and the
/// logical type, 0 standing for none.
#[derive(Clone, Copy)]
pub(crate) struct Described(u32);

impl Described {
    /// A logical type that is not known.
    const UNKNOWN: u8 = u8::MAX;

    pub(crate) fn new(storage: StorageType, logical: Option<LogicalType>, unknown: bool) -> Self {
        let logical = logical.map_or(0, |logical| logical.ordinal().wrapping_add(1));
        let logical = if unknown { Self::UNKNOWN } else { logical };
        Self(u32::from_be_bytes([1, storage.ordinal(), logical, 0]))
    }

    /// The number of bytes, with the type in the upper 16 bits if the bytes leave room for it: an error has one number.
    pub(crate) fn beside(self, bytes: u64) -> u64 {
        let [_, storage, logical, _] = self.0.to_be_bytes();
        match bytes >> BYTES {
            0 => u64::from(u16::from_be_bytes([storage.wrapping_add(1), logical])) << BYTES | bytes,
            _ => bytes,
        }
    }

    /// Splits what [`beside`](Self::beside) has put together.
    fn split(number: u64) -> (u64, Option<Self>) {
        let [storage, logical, ..] = number.to_be_bytes();
        match storage.checked_sub(1) {
            None => (number, None),
            Some(storage) => {
                let element = Self(u32::from_be_bytes([1, storage, logical, 0]));
                (number & ((1 << BYTES) - 1), Some(element))
            }
        }
    }

    /// The name of a type, and what follows it; none of a number that describes nothing.
    fn name(self) -> Option<(&'static str, &'static str)> {
        let [1, storage, logical, _] = self.0.to_be_bytes() else { return None };
        let storage = StorageType::LIST.get(usize::from(storage))?;
        Some(match usize::from(logical).checked_sub(1) {
            None => (storage.name(), ""),
            Some(_) if logical == Self::UNKNOWN => (storage.name(), " of an unknown type"),
            Some(at) => (LogicalType::LIST.get(at)?.name(), ""),
        })
    }
}

/// An error without names: what the parser and all checks make. Small, `Copy`, and made without allocating.
///
/// At the public interface it becomes an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BareError {
    pub(crate) kind: ErrorKind,
    pub(crate) location: Location,
    pub(crate) offset: Option<u64>,
    found: u64,
}

impl BareError {
    #[cold]
    pub(crate) fn new(kind: impl Into<ErrorKind>, offset: impl Into<Option<u64>>) -> Self {
        Self { offset: offset.into(), ..Self::unplaced(kind.into()) }
    }

    /// An error in content that has no place in the file, being compressed there.
    #[cold]
    pub(crate) fn nowhere(kind: impl Into<ErrorKind>) -> Self {
        Self::unplaced(kind.into())
    }

    pub(crate) const fn misuse(misuse: Misuse) -> Self {
        Self::unplaced(ErrorKind::Misuse(misuse))
    }

    /// An invariant of this library does not hold.
    pub(crate) const fn internal() -> Self {
        Self::unplaced(ErrorKind::Internal)
    }

    /// Returns an error without a place. It is not cold: it may be made before it is known to be needed.
    const fn unplaced(kind: ErrorKind) -> Self {
        Self { kind, location: Location::NOWHERE, offset: None, found: 0 }
    }

    pub(crate) fn found(mut self, number: u64) -> Self {
        self.found = number;
        self
    }

    /// The same error at that offset.
    pub(crate) fn moved(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Elements are of one type, and were asked for as another.
    #[cold]
    pub(crate) fn types(held: Described, asked: Described) -> Self {
        let (held, asked) = (u64::from(held.0), u64::from(asked.0));
        Self::misuse(Misuse::Type).found(held << 32 | asked)
    }

    pub(crate) fn at(mut self, location: Location) -> Self {
        self.location = location;
        self
    }

    /// The number that was found.
    #[cfg(feature = "std")]
    pub(crate) fn number(&self) -> u64 {
        self.found
    }

    /// Returns whether the file may be valid, and this reader does not know what it uses.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(self.kind, ErrorKind::Unsupported(_) | ErrorKind::UnsupportedFormat(_))
    }

    /// Returns whether it is a rule, a limit or an unsupported feature, and not the call or the system.
    pub(crate) fn blames_file(&self) -> bool {
        self.kind.row().is_some()
    }
}

impl From<Misuse> for BareError {
    fn from(misuse: Misuse) -> Self {
        Self::misuse(misuse)
    }
}

impl From<OutOfMemory> for ErrorKind {
    fn from(_: OutOfMemory) -> Self {
        Self::OutOfMemory
    }
}

impl From<OutOfMemory> for BareError {
    fn from(error: OutOfMemory) -> Self {
        Self::unplaced(error.into())
    }
}

impl fmt::Display for BareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.kind {
            ErrorKind::Misuse(misuse @ Misuse::Type) => {
                let [held, asked] = halves(self.found).map(|bits| Described(bits).name());
                let Some(((held, but), (asked, also))) = held.zip(asked) else {
                    return f.write_str(misuse.sentence());
                };
                return write!(f, "component is {held}{but}, requested {asked}{also}");
            }
            ErrorKind::Malformed(rule @ Rule::DigestMismatch) if self.found != 0 => {
                let (given, computed) = (self.found >> 32, self.found & u64::from(u32::MAX));
                let broken = rule.row().broken;
                return write!(f, "{broken}: expected {given:08x}…, computed {computed:08x}…");
            }
            ErrorKind::Malformed(Rule::WholeElements) => {
                let (bytes, element) = Described::split(self.found);
                let (name, _) = element.and_then(Described::name).unwrap_or_default();
                let (noun, verb) = if bytes == 1 { ("byte", "is") } else { ("bytes", "are") };
                let space = if name.is_empty() { "" } else { " " };
                return write!(
                    f,
                    "{bytes} {noun} {verb} not a whole number of {name}{space}elements"
                );
            }
            ErrorKind::Malformed(rule @ Rule::IndexRange) => {
                // Negative indices come as the largest numbers, which no dimension of a real tensor reaches.
                let number = Signed(self.found);
                let end = rule.row().broken.split_once('}').map_or("", |(_, end)| end);
                return write!(f, "index {number}{end}");
            }
            ErrorKind::Misuse(misuse) => misuse.sentence(),
            ErrorKind::Read => "the bytes of the file could not be read",
            ErrorKind::Write => "the bytes of the file could not be written",
            ErrorKind::NotDurable => "the file is published, but not confirmed to be durable",
            ErrorKind::Inexpressible(_) => "it can be read, but not written",
            ErrorKind::OutOfMemory => "out of memory",
            ErrorKind::Internal => {
                "internal error: the library is at fault, or the bytes changed while they were read"
            }
            ErrorKind::Malformed(rule) => rule.row().broken,
            ErrorKind::Format(row)
            | ErrorKind::UnsupportedFormat(row)
            | ErrorKind::LimitFormat(row)
            | ErrorKind::Note(row) => row.broken,
            ErrorKind::Unsupported(feature) => feature.row().broken,
            ErrorKind::Limit(limit) => limit.row().broken,
        };
        match text.split_once('{') {
            Some((before, after)) => {
                write!(f, "{before}{}{}", self.found, after.trim_start_matches('}'))
            }
            None => f.write_str(text),
        }
    }
}

/// An index of 64 bits as it is shown: with a sign from 2^63 on.
pub(crate) struct Signed(pub(crate) u64);

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >> 63 == 0 { self.0.fmt(f) } else { self.0.cast_signed().fmt(f) }
    }
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;
