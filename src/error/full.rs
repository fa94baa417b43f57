//! The public error type [`Error`]: a [`BareError`] and, with `std`, names, a sentence, advice and the error of the system. Without
//! `std`, `nameless.rs` has the methods that need these.

use core::fmt;

use alloc::string::String;
#[cfg(feature = "std")]
use alloc::vec::Vec;
#[cfg(feature = "std")]
use std::io;

#[cfg(feature = "std")]
use super::Signed;
use super::{BareError, ErrorKind, Location, Misuse, OutOfMemory};
#[cfg(feature = "std")]
use crate::debug_summary::Start;
use crate::rules::{Generation, Limit, Row, Rule, Unsupported};

/// An error of reading or writing a file, or of a wrong call.
///
/// | question | answer |
/// | --- | --- |
/// | what kind of error is it? | [`kind`](Self::kind) |
/// | which rule does the file break? | [`rule`](Self::rule), [`row`](Self::row) |
/// | where? | [`offset`](Self::offset), [`location`](Self::location) |
/// | in which tensor? | [`tensor`](Self::tensor), [`component`](Self::component), with `std` |
/// | why did the system fail? | [`source`](core::error::Error::source), with `std` |
///
/// `Display` writes all of these. Names are copied if there is memory for them. Without `std` there are no names, and
/// the error is small and `Copy`. Two errors are equal if their kind, location, offset and number are equal, whatever
/// the source.
#[cfg_attr(not(feature = "std"), derive(Clone, Copy))]
pub struct Error {
    bare: BareError,
    /// The generation that was to be written and that cannot express a feature of the file; `None` for errors that are not
    /// about writing such a file.
    inexpressible: Option<Generation>,
    #[cfg(feature = "std")]
    source: Option<io::Error>,
    /// The names and texts of the error: at most one item. This is a `Vec` and not a `Box`, because allocating a `Box` aborts
    /// if memory is out.
    #[cfg(feature = "std")]
    context: Vec<Context>,
}

/// The names and texts of an error, which need memory on the heap.
#[cfg(feature = "std")]
#[derive(Debug, Default)]
struct Context {
    generation: Option<Generation>,
    tensor: Option<String>,
    component: Option<String>,
    /// The name of the other file that the error is in or about, such as a shard.
    file: Option<String>,
    /// The range in the file of the manifest that was rejected.
    manifest: Option<core::ops::Range<u64>>,
    /// A sentence that replaces the sentence of the error's kind; `None` for the sentence of the kind.
    sentence: Option<String>,
    /// Whether the sentence begins with the name of the tensor, or with the name of the file if the error is about no tensor.
    /// `Display` then does not repeat that name after the sentence.
    is_named: bool,
    /// Advice for the cause of the error, which replaces the advice of the rule.
    advice: Option<&'static str>,
}

/// The borrowed names that say where an error is: of the tensor and the component, with the generation of the file and the range of
/// its manifest.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named<'m> {
    pub(crate) generation: Option<Generation>,
    pub(crate) tensor: Option<&'m str>,
    pub(crate) component: Option<&'m str>,
    pub(crate) manifest: Option<core::ops::Range<u64>>,
}

impl Error {
    /// Creates the error for bytes that could not be read, without a source. With `std`, the operator `?` turns an
    /// [`io::Error`](std::io::Error) into this error with the `io::Error` as its source.
    pub const fn reading() -> Self {
        Self::of(BareError::unplaced(ErrorKind::Read))
    }

    /// Creates the error for bytes that could not be written, without an error of the system as its source.
    pub const fn writing() -> Self {
        Self::of(BareError::unplaced(ErrorKind::Write))
    }

    /// Creates the error for bytes that could not be written because of `source`.
    #[cfg(feature = "std")]
    pub fn from_write(source: io::Error) -> Self {
        Self { source: Some(source), ..Self::writing() }
    }

    /// Creates the error for a new file that is in place, but that may be lost in a crash because of `source`.
    #[cfg(all(feature = "files", unix))]
    pub(crate) fn not_durable(source: io::Error) -> Self {
        let bare = BareError::unplaced(ErrorKind::NotDurable);
        Self { source: Some(source), ..Self::of(bare) }
    }

    const fn of(bare: BareError) -> Self {
        Self {
            bare,
            inexpressible: None,
            #[cfg(feature = "std")]
            source: None,
            #[cfg(feature = "std")]
            context: Vec::new(),
        }
    }

    /// Creates an error about a file of a format other than zTensor, with the message `sentence`. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn of_format(kind: ErrorKind, sentence: String, offset: Option<u64>) -> Self {
        let bare = BareError::unplaced(kind);
        let mut error = Self::of(BareError { offset, ..bare });
        error.with(|context| context.sentence = Some(sentence));
        error
    }

    /// Sets the name of the tensor that the error is in, and the name of another file, such as a shard. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[must_use]
    pub fn about(mut self, tensor: Option<String>, file: Option<String>) -> Self {
        self.with(|context| (context.tensor, context.file) = (tensor, file));
        self
    }

    /// Declares that the sentence begins with the name of the tensor, or of the file if there is no tensor. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[must_use]
    pub fn naming_its_tensor(mut self) -> Self {
        self.with(|context| context.is_named = true);
        self
    }

    /// Sets the advice to `advice`, which replaces the advice of the rule. `None` changes nothing. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[must_use]
    pub fn advising(mut self, advice: Option<&'static str>) -> Self {
        if advice.is_some() {
            self.with(|context| context.advice = advice);
        }
        self
    }

    /// Adds the names in `named` to this error. Names that the error already has are kept, and the name of a component is added
    /// only together with that of the tensor.
    #[cfg(feature = "std")]
    #[must_use]
    pub(crate) fn named(mut self, named: &Named<'_>) -> Self {
        self.with(|context| {
            context.generation = context.generation.or(named.generation);
            context.manifest = context.manifest.take().or_else(|| named.manifest.clone());
            if context.tensor.is_none() {
                context.tensor = named.tensor.and_then(copied);
                context.component = named.component.and_then(copied);
            }
        });
        self
    }

    /// Creates the error for `name`, which no tensor has. `nearest` is the most similar name of a tensor, which the message
    /// suggests.
    #[cfg(feature = "std")]
    pub(crate) fn no_tensor(name: &str, nearest: Option<&str>) -> Self {
        let (error, wanted) = (Self::from(Misuse::NoTensor), Start(name));
        let mut error = match nearest.map(Start) {
            None => error.saying(format_args!("no tensor named {wanted:?}")),
            Some(nearest) => {
                error.saying(format_args!("no tensor named {wanted:?}; did you mean {nearest:?}?"))
            }
        };
        error.with(|context| context.tensor = copied(name));
        error
    }

    /// Sets the sentence to one about an index that is out of range for dimension `dimension` of size `size`.
    #[cfg(feature = "std")]
    #[must_use]
    pub(crate) fn in_dimension(self, dimension: u64, size: u64) -> Self {
        let index = Signed(self.bare.number());
        self.saying(format_args!(
            "index {index} is out of range for dimension {dimension} of size {size}"
        ))
    }

    /// Sets the sentence of the error to `sentence`. If memory is out, the error keeps its former sentence.
    #[cfg(feature = "std")]
    #[must_use]
    pub(crate) fn saying(mut self, sentence: fmt::Arguments<'_>) -> Self {
        if let Ok(sentence) = text(sentence) {
            self.with(|context| context.sentence = Some(sentence));
        }
        self
    }

    /// Calls `change` to change the names and texts of the error. If memory is out, `change` is not called.
    #[cfg(feature = "std")]
    fn with(&mut self, change: impl FnOnce(&mut Context)) {
        if self.context.is_empty() && self.context.try_reserve_exact(1).is_ok() {
            self.context.push(Context::default());
        }
        if let Some(context) = self.context.first_mut() {
            change(context);
        }
    }

    /// Turns this error, which a reader would report for a file of `generation`, into the error of a writer that cannot write
    /// a valid file in this generation. Errors that are not about the file stay as they are.
    #[cfg(feature = "write")]
    #[must_use]
    pub(crate) fn inexpressible_in(mut self, generation: Generation) -> Self {
        if self.bare.blames_file() {
            self.inexpressible = Some(generation);
        }
        self
    }

    /// Returns this error with its location replaced by `location`.
    #[must_use]
    pub(crate) fn at(mut self, location: Location) -> Self {
        self.bare.location = location;
        self
    }

    /// Returns this error with its offset in the file replaced by `offset`.
    #[must_use]
    pub(crate) fn moved(mut self, offset: u64) -> Self {
        self.bare = self.bare.moved(offset);
        self
    }

    /// Returns the part of this error without names and texts.
    pub(crate) fn bare(&self) -> BareError {
        self.bare
    }

    /// Returns the kind of the error, which tells whether the file, the call or the system is to blame.
    pub fn kind(&self) -> ErrorKind {
        self.inexpressible.map_or(self.bare.kind, ErrorKind::Inexpressible)
    }

    /// Returns the catalog row of the rule, unsupported feature or limit that the error is about; `None` if the error is not
    /// about the file. For an [inexpressible](ErrorKind::Inexpressible) file, the row is that of the rule that the new file
    /// would break.
    pub fn row(&self) -> Option<&'static Row> {
        self.bare.kind.row()
    }

    /// Returns whether the error rejects the file as invalid or unsupported, or because it exceeds a limit. Two kinds of errors
    /// name a rule and reject nothing: a [note](ErrorKind::Note) about a valid file, and an error of a valid file that the new
    /// format [cannot express](ErrorKind::Inexpressible).
    pub fn is_rejection(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Invalid(_) | ErrorKind::Unsupported(_) | ErrorKind::Limit(_)
        )
    }

    /// Returns the id of the [row](Self::row), which `zten explain` takes.
    pub fn rule(&self) -> Option<&'static str> {
        self.row().map(Row::id)
    }

    /// Returns the offset in the file of the bytes that the error is about, if it is known.
    pub fn offset(&self) -> Option<u64> {
        self.bare.offset
    }

    /// Returns the ordinals of the tensor and the component that the error is in.
    pub fn location(&self) -> Location {
        self.bare.location
    }

    /// Returns whether the file may be valid, but uses a feature that this reader does not support.
    pub fn is_unsupported(&self) -> bool {
        self.inexpressible.is_none() && self.bare.is_unsupported()
    }

    /// Returns the name of the tensor that the error is in, or the requested name that no tensor has. The name may be
    /// any text.
    #[cfg(feature = "std")]
    pub fn tensor(&self) -> Option<&str> {
        self.context.first()?.tensor.as_deref()
    }

    /// Returns the role of the component that the error is in, if it is known.
    #[cfg(feature = "std")]
    pub fn component(&self) -> Option<&str> {
        self.context.first()?.component.as_deref()
    }

    /// Returns the name of the file that the error is in or about, if it is another file than the one that was opened, such
    /// as a shard. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn file(&self) -> Option<&str> {
        self.context.first()?.file.as_deref()
    }

    /// Returns the generation of the file, if it is known. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn generation(&self) -> Option<Generation> {
        self.context.first()?.generation
    }

    /// Returns whether the sentence begins with the name of the tensor, or of the file if there is no tensor. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn names_its_tensor(&self) -> bool {
        self.context.first().is_some_and(|context| context.is_named)
    }

    /// Returns the advice for the person who has the file, or `None` if the error is not about the file.
    #[cfg(feature = "std")]
    pub fn advice(&self) -> Option<&'static str> {
        let own = self.context.first().and_then(|context| context.advice);
        own.or_else(|| self.kind().row().map(Row::advice))
    }

    /// Returns the range in the file of the manifest that was rejected, if it is known. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn manifest_range(&self) -> Option<core::ops::Range<u64>> {
        self.context.first()?.manifest.clone()
    }

    /// Returns the sentence alone, with the number that was found: `the file has only 7 bytes`.
    pub fn sentence(&self) -> impl fmt::Display + '_ {
        Sentence(self)
    }
}

/// Returns a copy of `text`; `None` if memory is out.
#[cfg(feature = "std")]
fn copied(text: &str) -> Option<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).ok()?;
    copy.push_str(text);
    Some(copy)
}

/// Formats `values`, and returns an error instead of aborting if there is no memory.
pub(crate) fn text(values: fmt::Arguments<'_>) -> Result<String, OutOfMemory> {
    let mut text = Text(String::new());
    fmt::write(&mut text, values).map_err(|_| OutOfMemory)?;
    Ok(text.0)
}

/// A string whose `write_str` fails instead of aborting if there is no memory.
struct Text(String);

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.0.push_str(text);
        Ok(())
    }
}

struct Sentence<'e>(&'e Error);

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { bare, inexpressible, .. } = self.0;
        if let Some(generation) = inexpressible {
            f.write_str("the file can be read, but not written: ")?;
            return inexpressible_in(bare, *generation, f);
        }
        #[cfg(feature = "std")]
        {
            if let Some(sentence) = self.0.context.first().and_then(|it| it.sentence.as_ref()) {
                return f.write_str(sentence);
            }
            if let Some(source) = &self.0.source {
                if source.kind() == io::ErrorKind::UnexpectedEof && bare.kind == ErrorKind::Read {
                    return f.write_str("the file became shorter while it was read");
                }
                return write!(f, "{bare}: {source}");
            }
        }
        bare.fmt(f)
    }
}

/// Writes why `generation` cannot express a valid file, for which a reader would report `bare`.
fn inexpressible_in(
    bare: &BareError,
    generation: Generation,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match bare.kind {
        kind if kind == Rule::LogicalTypeStorage => {
            write!(
                f,
                "{generation} writes the dtype as a `type`, and the component has another `type`"
            )
        }
        kind if kind == Rule::DuplicateKey && generation == Generation::V1_2 => {
            f.write_str("an attribute with a duplicate key has no canonical form")
        }
        kind if kind == Rule::QuantizedZeros => {
            write!(f, "the object has no `zeros`, which {generation} requires")
        }
        kind if kind == Limit::Depth && generation == Generation::V1_2 => {
            f.write_str("a field of the file becomes an attribute, which would be nested too deep")
        }
        kind if kind == Unsupported::Format => {
            write!(
                f,
                "{generation} has no `format` of this name, or gives the name another meaning"
            )
        }
        kind if kind == Unsupported::LogicalType => {
            write!(f, "the `type` is unknown, and would get a meaning in {generation}")
        }
        kind => {
            let id = kind.row().map_or("", |row| row.id());
            write!(f, "in {generation}, {bare} ({id})")
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)?;
        if let (Some(row), None) = (self.row(), self.inexpressible) {
            write!(f, " (rule {}, {})", row.id(), row.source().clause())?;
        }
        self.fmt_place(f)?;
        if let (Some(offset), None) = (self.offset(), self.inexpressible) {
            write!(f, " at byte {offset:#x}")?;
        }
        Ok(())
    }
}

impl Error {
    /// Writes the object, component and other file that the error is in: by their names if they are known, and otherwise by
    /// their ordinals.
    fn fmt_place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        #[cfg(feature = "std")]
        {
            if self.bare.kind == ErrorKind::Misuse(Misuse::NoTensor) {
                return Ok(());
            }
            let is_subject = self.names_its_tensor() && self.tensor().is_none();
            if let Some(file) = self.file().filter(|_| !is_subject) {
                write!(f, " in the file {:?}", Start(file))?;
            }
            if self.names_its_tensor() {
                return Ok(());
            }
            if let Some(tensor) = self.tensor() {
                write!(f, " in tensor {:?}", Start(tensor))?;
                return match self.component() {
                    Some(component) => write!(f, ", component {:?}", Start(component)),
                    None => Ok(()),
                };
            }
        }
        match (self.location().object(), self.location().component()) {
            (Some(object), Some(component)) => {
                write!(f, " in object {object}, component {component}")
            }
            (Some(object), None) => write!(f, " in object {object}"),
            _ => Ok(()),
        }
    }
}

#[expect(
    clippy::missing_fields_in_debug,
    reason = "those that say what is wrong, and never long ones"
)]
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut error = f.debug_struct("Error");
        error.field("kind", &self.kind()).field("location", &self.bare.location);
        error.field("offset", &self.bare.offset).field("found", &self.bare.found);
        #[cfg(feature = "std")]
        error.field("tensor", &self.tensor().map(Start)).field("source", &self.source);
        error.finish()
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        (self.bare, self.inexpressible) == (other.bare, other.inexpressible)
    }
}

impl core::error::Error for Error {
    #[cfg(feature = "std")]
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        let source = self.source.as_ref()?;
        Some(source)
    }
}

impl From<BareError> for Error {
    fn from(bare: BareError) -> Self {
        Self::of(bare)
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::of(misuse.into())
    }
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Self::of(error.into())
    }
}

/// Creates the error for bytes that could not be read because of the `io::Error`, which becomes its source.
#[cfg(feature = "std")]
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self { source: Some(source), ..Self::reading() }
    }
}

/// Returns the `io::Error` that is the source of this error if the system failed to read or write. Returns
/// [`io::ErrorKind::OutOfMemory`] alone if memory is out, and otherwise an `io::Error` that wraps this error.
#[cfg(feature = "std")]
impl From<Error> for io::Error {
    fn from(mut error: Error) -> Self {
        match (error.source.take(), error.bare.kind) {
            (Some(source), ErrorKind::Read | ErrorKind::Write) => source,
            (Some(source), _) => {
                let kind = source.kind();
                error.source = Some(source);
                Self::new(kind, error)
            }
            (None, ErrorKind::OutOfMemory) => io::ErrorKind::OutOfMemory.into(),
            (None, _) => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}
