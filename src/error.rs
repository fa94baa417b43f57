//! The error types of the library: which rule a file breaks, at which byte and in which object, or which call was wrong.

mod full;
#[cfg(not(feature = "std"))]
mod nameless;

use core::fmt;

use crate::element::{LogicalType, StorageType};
use crate::num::{enum_all, halves};
use crate::rules::{Class, Generation, Limit, Row, Rule, Unsupported};

pub use full::Error;
pub(crate) use full::Named;
pub(crate) use full::text;

enum_all! {
/// A mistake in a call of this library, such as a wrong type or an unknown name. The file is not to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse with fn sentence -> &'static str {
    /// No limit has the given name, or the limit cannot have the given value.
    Limit = "unknown limit, or invalid value of the limit",
    /// No tolerance has the given name.
    Tolerance = "unknown tolerance",
    /// The number of given bytes is not the requested or declared number.
    Supply = "the number of bytes is not the requested or declared number",
    /// The given data ends before the component or within an element or, where exactly the stored bytes of the component are
    /// wanted, has another length.
    Size = "the given data is shorter than the component",
    /// The elements of the component do not have the type that the caller requested.
    Type = "the elements do not have the requested type",
    /// The bytes are not aligned for the type; the unaligned elements can be read.
    Alignment = "the bytes are not aligned for native elements",
    /// The bytes are not in this machine's byte order. The elements can be read one by one.
    ByteOrder = "the bytes are not in this machine's byte order",
    /// A bool of 0.1 may be any byte, and some of these are not 0 or 1. The elements can be read one by one.
    BoolBytes = "a bool of generation 0.1 may be any byte, and these bytes cannot be borrowed as bools",
    /// The component is compressed or in big-endian blocks, or its elements are not stored one after the other in row-major order
    /// with the signs that they have, so they cannot be borrowed.
    Compressed = "the component is compressed, in column-major order or in big-endian blocks, and cannot be borrowed",
    /// The manifest was opened without its file, so its content cannot be read: `bind` takes the bytes of a component.
    NoFile = "the manifest was opened without its file: call `read_from` with a source, `bind` with a component's stored bytes, or open an `Archive`",
    /// The file is not in memory. Its elements can be read, but not borrowed.
    NotInMemory = "the file is not in memory: read the elements, as `to_cow` and `to_vec` do, or open its bytes",
    /// No tensor has the requested name.
    NoTensor = "no tensor of that name",
    /// The tensor does not have the requested layout.
    Layout = "the tensor does not have the requested layout",
    /// The attributes of a quantized object are missing or unknown, or a component does not match them and the shape.
    /// No rule checks these attributes when the file is opened.
    Quantization = "the quantization is unknown, or does not match the components",
    /// The requested slice is out of range for the tensor.
    Slice = "the slice is out of range",
    /// The buffer of the caller has another length than the data that was to be read into it.
    Buffer = "the buffer has another length than the data",
    /// The value cannot be written as attributes, or the attributes cannot be read as the requested type.
    Attributes = "the value cannot be written as attributes, or the attributes do not have the requested type",
    /// More or fewer bytes were written for a component than were declared.
    Length = "the bytes are more or fewer than were declared",
    /// Components, or in canonical form objects, were written in the wrong order.
    Order = "components, or objects of a canonical form, are written in the wrong order",
    /// The caller did not give exactly the parts (components) that the layout of a tensor requires: one is missing, unknown,
    /// or given twice.
    Parts = "the parts are not those of the layout: one is missing, unknown, or given twice",
    /// The call is not possible while an object is open, which was begun and has not ended.
    Unfinished = "an object was begun and has not ended",
    /// The file cannot be appended to: it is a 0.1 file, a file of another format or a data shard, or canonical form was asked for.
    Append = "a file of generation 0.1, a data shard or a file in canonical form cannot be appended to",
    /// The compression level is not one of 1 to 5.
    Level = "invalid compression level: expected 1 to 5",
    /// The bytes of a component do not have the digest that the caller declared. Or, in canonical form, equal bytes were
    /// written before, which the caller must declare.
    Announced = "the bytes do not have the declared digest, or, in canonical form, equal bytes were written before and not declared as equal",
    /// The settings of a writer contradict each other: the generation cannot be written, or does not have the requested
    /// digest or alignment.
    Settings = "the generation cannot be written, or does not have the requested digest or alignment",
    /// Files of 1.2 and files in canonical form have no shards. A canonical form with shards would not be the only form
    /// of a content.
    NoShards = "files of generation 1.2 and files in canonical form have no shards",
    /// The component has no digest of its own, and the digest of its shard has not been compared.
    UnverifiedShard = "the component has no digest, and its shard has not been verified",
    /// Reading or writing failed before, so the position to continue at is not known.
    Aborted = "reading or writing failed before, so the position to continue at is not known: begin again",
}
}

/// Memory is exhausted. Neither the file nor the call is wrong, although one of them may ask for much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutOfMemory;

/// The kind of an error. The first four are about the file, and hold the row of the rule in the catalog of the file's format:
/// [`rules`](crate::rules), or `zten::formats::rules`. A kind can be compared with a rule of a catalog, a limit or a
/// [`Misuse`]: `error.kind() == Rule::FileSize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The file breaks a rule of its format.
    Invalid(&'static Row),
    /// The file may be valid, but this reader does not support it.
    Unsupported(&'static Row),
    /// The file exceeds a limit of the caller or of this library.
    Limit(&'static Row),
    /// The file is valid, but a known loader may fail on it, or zten did not read some of its content. Only a
    /// [`Finding`](crate::Finding) is of this kind.
    Note(&'static Row),
    /// A call of this library was wrong.
    Misuse(Misuse),
    /// The bytes of the file could not be read: [`source`](core::error::Error::source) says why.
    Read,
    /// The bytes of the file could not be written: [`source`](core::error::Error::source) says why.
    Write,
    /// The new file is in place, but the system has not confirmed that the file survives a crash of the machine.
    NotDurable,
    /// The file is valid, but uses a feature that files of the given generation, or canonical files, cannot have.
    Inexpressible(Generation),
    /// The system has no memory left.
    OutOfMemory,
    /// An invariant of this library does not hold: the library has a defect, or bytes changed while they were read.
    Internal,
}

impl ErrorKind {
    /// Returns the row of the catalog for the rule, feature or limit that the error is about; `None` for an error that is not about
    /// the file.
    pub fn row(self) -> Option<&'static Row> {
        match self {
            Self::Invalid(row) | Self::Unsupported(row) | Self::Limit(row) | Self::Note(row) => {
                Some(row)
            }
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

impl From<&'static Row> for ErrorKind {
    fn from(row: &'static Row) -> Self {
        match row.class() {
            Class::Invalid => Self::Invalid(row),
            Class::Unsupported => Self::Unsupported(row),
            Class::Limit => Self::Limit(row),
            Class::Note => Self::Note(row),
        }
    }
}

/// The importance of an error for the verdict on a file. The variants are ordered from the most important to the least
/// important. Of all errors of a file, the first of the most important rank decides the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rank {
    /// The file is invalid, or could not be checked: reading failed, the call was wrong, or memory ran out.
    Decisive,
    /// The file exceeds a limit. The part that was not checked may break a rule.
    Limit,
    /// The file uses an unsupported feature. The rest of the file may break a rule.
    Unsupported,
    /// The caller tolerates the error. No kind of error has this rank by itself.
    Tolerated,
    /// The error is a note, which leaves the file valid.
    Note,
}

impl From<ErrorKind> for Rank {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Limit(_) => Self::Limit,
            ErrorKind::Unsupported(_) => Self::Unsupported,
            ErrorKind::Note(_) => Self::Note,
            // The caller must learn that the file could not be checked completely, so these errors are as important as
            // broken rules: only a rule that was broken before comes first.
            ErrorKind::Invalid(_)
            | ErrorKind::Misuse(_)
            | ErrorKind::Read
            | ErrorKind::Write
            | ErrorKind::NotDurable
            | ErrorKind::Inexpressible(_)
            | ErrorKind::OutOfMemory
            | ErrorKind::Internal => Self::Decisive,
        }
    }
}

impl From<Misuse> for ErrorKind {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl PartialEq<Misuse> for ErrorKind {
    fn eq(&self, misuse: &Misuse) -> bool {
        *self == Self::Misuse(*misuse)
    }
}

/// Implements `From<$catalog> for ErrorKind` and `PartialEq<$catalog> for ErrorKind`. All rules of `$catalog` are of class
/// `$class`.
macro_rules! kinds {
    ($($catalog:ident => $class:ident;)+) => { $(
        impl From<$catalog> for ErrorKind {
            fn from(rule: $catalog) -> Self {
                Self::$class(rule.row())
            }
        }

        impl PartialEq<$catalog> for ErrorKind {
            fn eq(&self, rule: &$catalog) -> bool {
                *self == Self::$class(rule.row())
            }
        }
    )+ };
}

kinds! { Rule => Invalid; Limit => Limit; Unsupported => Unsupported; }

/// The object and the component that an error is in, counted from 0 in manifest order.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Location {
    object: u32,
    component: u32,
}

impl Location {
    /// The value that means "no ordinal". A manifest has at most 2^30 bytes, so no object or component has this ordinal.
    const NONE: u32 = u32::MAX;

    pub(crate) const NOWHERE: Self = Self { object: Self::NONE, component: Self::NONE };

    pub(crate) fn new(object: Option<u32>, component: Option<u32>) -> Self {
        let own = |ordinal: Option<u32>| ordinal.unwrap_or(Self::NONE);
        Self { object: own(object), component: own(component) }
    }

    /// Returns this location with the same object and the component `component`.
    #[inline]
    pub(crate) fn in_component(self, component: Option<u32>) -> Self {
        Self { component: component.unwrap_or(Self::NONE), ..self }
    }

    /// Returns the ordinal of the object that the error is in, counted from 0 in the order of the manifest; `None` if the
    /// error is in no object.
    pub fn object(&self) -> Option<u32> {
        (self.object != Self::NONE).then_some(self.object)
    }

    /// Returns the ordinal within the object of the component that the error is in, counted from 0 in the order of the
    /// manifest; `None` if the error is in no component.
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

/// The number of bits of a count of bytes that [`Described::beside`] packs with an element type: enough for 256 TiB.
const BYTES: u32 = 48;

/// An element type packed into 32 bits: a byte 1, the storage type, the logical type plus 1 (0 if there is none), and a
/// byte 0. The number 0 stands for no type.
#[derive(Clone, Copy)]
pub(crate) struct Described(u32);

impl Described {
    /// The value of the third byte for an unknown logical type.
    const UNKNOWN: u8 = u8::MAX;

    pub(crate) fn new(storage: StorageType, logical: Option<LogicalType>, unknown: bool) -> Self {
        let logical = logical.map_or(0, |logical| logical.ordinal().wrapping_add(1));
        let logical = if unknown { Self::UNKNOWN } else { logical };
        Self(u32::from_be_bytes([1, storage.ordinal(), logical, 0]))
    }

    /// Packs the type into the upper 16 bits of `bytes`, because an error has room for one number only. A number of bytes
    /// that needs more than 48 bits is returned without the type.
    pub(crate) fn beside(self, bytes: u64) -> u64 {
        let [_, storage, logical, _] = self.0.to_be_bytes();
        match bytes >> BYTES {
            0 => u64::from(u16::from_be_bytes([storage.wrapping_add(1), logical])) << BYTES | bytes,
            _ => bytes,
        }
    }

    /// Splits `number`, which [`beside`](Self::beside) has packed, into the number of bytes and the type.
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

    /// Returns the name of the type, and the words to write after the name and the noun, such as " of an unknown type".
    /// Returns `None` if this value stands for no type.
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

/// An error without names, which the parser and all checks create: small, `Copy`, and created without allocating.
///
/// The public interface turns it into an [`Error`].
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

    /// Creates an error without an offset, because it is in decoded content, or not in a file at all.
    #[cold]
    pub(crate) fn nowhere(kind: impl Into<ErrorKind>) -> Self {
        Self::unplaced(kind.into())
    }

    pub(crate) const fn misuse(misuse: Misuse) -> Self {
        Self::unplaced(ErrorKind::Misuse(misuse))
    }

    /// Creates the error for bytes that the caller has not supplied yet.
    pub(crate) const fn pending() -> Self {
        Self { found: Self::PENDING, ..Self::unplaced(ErrorKind::Read) }
    }

    /// Returns whether [`pending`](Self::pending) created the error: the caller has not supplied the bytes yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.kind == ErrorKind::Read && self.found == Self::PENDING
    }

    /// The value of `found` in errors that [`pending`](Self::pending) creates. All other read errors leave `found` at
    /// 0.
    const PENDING: u64 = 1;

    /// Creates the error for an invariant of this library that does not hold.
    pub(crate) const fn internal() -> Self {
        Self::unplaced(ErrorKind::Internal)
    }

    /// Creates an error of the kind `kind` without an offset or a location. Not marked `#[cold]`, because callers create such
    /// errors before they know whether they need them.
    const fn unplaced(kind: ErrorKind) -> Self {
        Self { kind, location: Location::NOWHERE, offset: None, found: 0 }
    }

    pub(crate) fn found(mut self, number: u64) -> Self {
        self.found = number;
        self
    }

    /// Returns this error with its offset in the file replaced by `offset`.
    pub(crate) fn moved(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// Creates the error for elements that have the type `held` but were requested as the type `asked`.
    #[cold]
    pub(crate) fn types(held: Described, asked: Described) -> Self {
        let (held, asked) = (u64::from(held.0), u64::from(asked.0));
        Self::misuse(Misuse::Type).found(held << 32 | asked)
    }

    pub(crate) fn at(mut self, location: Location) -> Self {
        self.location = location;
        self
    }

    /// Returns the number that was found in the file, which the sentence of the error shows.
    #[cfg(feature = "std")]
    pub(crate) fn number(&self) -> u64 {
        self.found
    }

    /// Returns whether the file may be valid, but uses a feature that this reader does not support.
    pub(crate) fn is_unsupported(&self) -> bool {
        matches!(self.kind, ErrorKind::Unsupported(_))
    }

    /// Returns whether the error is about the file (a rule, a limit, an unsupported feature) and not about the call or
    /// the system.
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
                return write!(f, "the component is {held}{but}, requested {asked}{also}");
            }
            ErrorKind::Invalid(row) if self.kind == Rule::DigestMismatch && self.found != 0 => {
                let (given, computed) = (self.found >> 32, self.found & u64::from(u32::MAX));
                let broken = row.broken();
                return write!(f, "{broken}: expected {given:08x}…, computed {computed:08x}…");
            }
            ErrorKind::Invalid(_) if self.kind == Rule::WholeElements => {
                let (bytes, element) = Described::split(self.found);
                let (name, _) = element.and_then(Described::name).unwrap_or_default();
                let (noun, verb) = if bytes == 1 { ("byte", "is") } else { ("bytes", "are") };
                let space = if name.is_empty() { "" } else { " " };
                return write!(
                    f,
                    "{bytes} {noun} {verb} not a whole number of {name}{space}elements"
                );
            }
            ErrorKind::Invalid(row) if self.kind == Rule::IndexRange => {
                // A negative index is stored as a number of 2^63 or more, which no dimension of a real tensor reaches,
                // so the sign is shown.
                let number = Signed(self.found);
                let end = row.broken().split_once('}').map_or("", |(_, end)| end);
                return write!(f, "index {number}{end}");
            }
            ErrorKind::Misuse(misuse) => misuse.sentence(),
            ErrorKind::Read => "the bytes of the file could not be read",
            ErrorKind::Write => "the bytes of the file could not be written",
            ErrorKind::NotDurable => {
                "the file is in place, but the system has not confirmed that it survives a crash"
            }
            ErrorKind::Inexpressible(_) => "the file can be read, but not written",
            ErrorKind::OutOfMemory => "out of memory",
            ErrorKind::Internal => {
                "internal error: the library is at fault, or the bytes changed while they were read"
            }
            ErrorKind::Invalid(row)
            | ErrorKind::Unsupported(row)
            | ErrorKind::Limit(row)
            | ErrorKind::Note(row) => row.broken(),
        };
        match text.split_once('{') {
            Some((before, after)) => {
                let after = after.trim_start_matches('}');
                let (after, rest) = if self.found == 1 { singular(after) } else { (after, "") };
                write!(f, "{before}{}{after}{rest}", self.found)
            }
            None => f.write_str(text),
        }
    }
}

/// Returns the singular form of the words at the beginning of `after`, which follows the number 1 in a sentence, and the
/// unchanged rest of `after`.
fn singular(after: &str) -> (&str, &str) {
    /// The plural words that follow a number in the sentences of the catalogs, and the singular words that replace them.
    const FORMS: [(&str, &str); 7] = [
        (" bytes are ", " byte is "),
        (" bytes do ", " byte does "),
        (" bytes", " byte"),
        (" entries", " entry"),
        (" dimensions", " dimension"),
        (" levels", " level"),
        (" shards", " shard"),
    ];
    let form = FORMS.iter().find_map(|(plural, one)| Some((*one, after.strip_prefix(*plural)?)));
    form.unwrap_or((after, ""))
}

/// A 64-bit index. One of 2^63 or more is displayed as the negative number that has the same bits.
pub(crate) struct Signed(pub(crate) u64);

impl fmt::Display for Signed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >> 63 == 0 { self.0.fmt(f) } else { self.0.cast_signed().fmt(f) }
    }
}

/// `Result` with this crate's [`Error`].
pub type Result<T, E = Error> = core::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    /// Checks the sentences of all rules, limits and unsupported features about the number 1: the nouns and verbs after the number
    /// are singular. With the number 2, the sentences are those of the catalogs.
    #[test]
    fn a_sentence_about_one_is_singular() {
        let rules = Rule::ALL.iter().map(|rule| ErrorKind::from(*rule));
        let limits = Limit::ALL.iter().map(|limit| ErrorKind::from(*limit));
        let features = Unsupported::ALL.iter().map(|feature| ErrorKind::from(*feature));
        let mut changed = 0;
        for kind in rules.chain(limits).chain(features) {
            let sentence = |number| BareError::nowhere(kind).found(number).to_string();
            let (one, two) = (sentence(1), sentence(2));
            for plural in ["bytes", "entries", "dimensions", "levels", "shards"] {
                assert!(!one.contains(&alloc::format!("1 {plural}")), "{one}");
            }
            for verb in ["are", "do"] {
                assert!(!one.contains(&alloc::format!("1 byte {verb} ")), "{one}");
            }
            changed += usize::from(one.replacen('1', "2", 1) != two);
        }
        assert!(changed > 20, "{changed}");
    }
}
