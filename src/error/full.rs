//! The error of the public interface: what is wrong, where, in which tensor, and why the system failed.

use core::fmt;

#[cfg(feature = "std")]
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

/// The error of reading or writing a file, or of a call that is wrong.
///
/// | question | answer |
/// | --- | --- |
/// | what kind of error is it? | [`kind`](Self::kind) |
/// | which rule does the file break? | [`rule`](Self::rule), [`row`](Self::row) |
/// | where? | [`offset`](Self::offset), [`location`](Self::location) |
/// | in which tensor? | [`tensor`](Self::tensor), [`component`](Self::component), with `std` |
/// | why did the system fail? | [`source`](core::error::Error::source), with `std` |
///
/// `Display` has all of it. Names are copied as long as there is memory for them; without `std` there are none, and the
/// error is small and `Copy`. Two errors are equal if kind, place, offset and number are, whatever the system said.
#[cfg_attr(not(feature = "std"), derive(Clone, Copy))]
pub struct Error {
    bare: BareError,
    /// The generation that cannot have what the file has, if that is the error.
    inexpressible: Option<Generation>,
    #[cfg(feature = "std")]
    source: Option<io::Error>,
    /// The names, in at most one item: a box would abort without memory.
    #[cfg(feature = "std")]
    context: Vec<Context>,
}

/// The names of the place of an error.
#[cfg(feature = "std")]
#[derive(Debug, Default)]
struct Context {
    generation: Option<Generation>,
    tensor: Option<String>,
    component: Option<String>,
    /// The other file that it is in, or that it is about.
    file: Option<String>,
    /// The range of the manifest.
    manifest: Option<core::ops::Range<u64>>,
    /// The sentence, in place of that of its kind.
    sentence: Option<String>,
    /// True if the sentence begins with the name of the tensor, or of the file if it is about no tensor, so that the place
    /// need not repeat it.
    is_named: bool,
    /// Advice for the cause, in place of that of the rule.
    advice: Option<&'static str>,
    /// Advice at the end of `Display`. Reports leave it out: whoever reads them may not use this library.
    hint: Option<&'static str>,
}

/// The names of a place, where they stand.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named<'m> {
    pub(crate) generation: Option<Generation>,
    pub(crate) tensor: Option<&'m str>,
    pub(crate) component: Option<&'m str>,
    pub(crate) manifest: Option<core::ops::Range<u64>>,
}

impl Error {
    /// The bytes of the file could not be read, and there is no error of the system that says why. With `std`, an
    /// [`io::Error`](std::io::Error) becomes such an error by `?`.
    pub const fn reading() -> Self {
        Self::of(BareError::unplaced(ErrorKind::Read))
    }

    /// The bytes of the file could not be written.
    pub const fn writing() -> Self {
        Self::of(BareError::unplaced(ErrorKind::Write))
    }

    /// The bytes of the file could not be written, for that reason.
    #[cfg(feature = "std")]
    pub fn from_write(source: io::Error) -> Self {
        Self { source: Some(source), ..Self::writing() }
    }

    /// The new file may be lost if the machine stops now.
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

    /// The error of a file of another format. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn of_format(kind: ErrorKind, sentence: String, offset: Option<u64>) -> Self {
        let bare = BareError::unplaced(kind);
        let mut error = Self::of(BareError { offset, ..bare });
        error.with(|context| context.sentence = Some(sentence));
        error
    }

    /// The same, about that tensor, in that other file. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[must_use]
    pub fn about(mut self, tensor: Option<String>, file: Option<String>) -> Self {
        self.with(|context| (context.tensor, context.file) = (tensor, file));
        self
    }

    /// The same, with a sentence that begins with the name of the tensor. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[must_use]
    pub fn naming_its_tensor(mut self) -> Self {
        self.with(|context| context.is_named = true);
        self
    }

    /// The same, with advice that fits its cause better than that of the rule. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    #[must_use]
    pub fn advising(mut self, advice: Option<&'static str>) -> Self {
        if advice.is_some() {
            self.with(|context| context.advice = advice);
        }
        self
    }

    /// The same, with names. Those that it has stay.
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

    /// The same: without `std`, there are no names.
    #[cfg(not(feature = "std"))]
    #[must_use]
    pub(crate) fn named(self, _: &Named<'_>) -> Self {
        self
    }

    /// The error for a name that no tensor has.
    #[cfg(not(feature = "std"))]
    pub(crate) fn no_tensor(_: &str, _: Option<&str>) -> Self {
        Self::from(Misuse::NoTensor)
    }

    /// The error for a name that no tensor has, with the nearest one.
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

    /// Adds advice to the caller.
    #[cfg(feature = "std")]
    #[must_use]
    pub(crate) fn hinting(mut self, hint: &'static str) -> Self {
        self.with(|context| context.hint = Some(hint));
        self
    }

    /// The same, of an index that is out of range for a dimension of that size.
    #[cfg(feature = "std")]
    #[must_use]
    pub(crate) fn in_dimension(self, dimension: u64, size: u64) -> Self {
        let index = Signed(self.bare.number());
        self.saying(format_args!(
            "index {index} is out of range for dimension {dimension} of size {size}"
        ))
    }

    /// The same, with a sentence of its own, if there is memory for it.
    #[cfg(feature = "std")]
    #[must_use]
    pub(crate) fn saying(mut self, sentence: fmt::Arguments<'_>) -> Self {
        if let Ok(sentence) = text(sentence) {
            self.with(|context| context.sentence = Some(sentence));
        }
        self
    }

    /// Changes the names, if there is memory for them.
    #[cfg(feature = "std")]
    fn with(&mut self, change: impl FnOnce(&mut Context)) {
        if self.context.is_empty() && self.context.try_reserve_exact(1).is_ok() {
            self.context.push(Context::default());
        }
        if let Some(context) = self.context.first_mut() {
            change(context);
        }
    }

    /// The same, of a writer of that generation that rejects what a reader accepts.
    #[cfg(feature = "write")]
    #[must_use]
    pub(crate) fn inexpressible_in(mut self, generation: Generation) -> Self {
        if self.bare.blames_file() {
            self.inexpressible = Some(generation);
        }
        self
    }

    /// The same error, in that place.
    #[must_use]
    pub(crate) fn at(mut self, location: Location) -> Self {
        self.bare.location = location;
        self
    }

    /// The error without names.
    pub(crate) fn bare(&self) -> BareError {
        self.bare
    }

    /// The kind of the error: who is to blame.
    pub fn kind(&self) -> ErrorKind {
        self.inexpressible.map_or(self.bare.kind, ErrorKind::Inexpressible)
    }

    /// The row of the rule, the unsupported feature or the limit; none where the file is not to blame. If the file is
    /// [inexpressible](ErrorKind::Inexpressible), it is the rule that the new file would break.
    pub fn row(&self) -> Option<&'static Row> {
        self.bare.kind.row()
    }

    /// The id of that row, as `zten explain` takes it.
    pub fn rule(&self) -> Option<&'static str> {
        self.row().map(|row| row.id)
    }

    /// The byte of the file that it is at.
    pub fn offset(&self) -> Option<u64> {
        self.bare.offset
    }

    /// The tensor and the component that it is in, as numbers.
    pub fn location(&self) -> Location {
        self.bare.location
    }

    /// Returns whether the file may be valid, and this reader does not know what it uses.
    pub fn is_unsupported(&self) -> bool {
        self.inexpressible.is_none() && self.bare.is_unsupported()
    }

    /// The name of the tensor that it is in, or that there is not: any text of the file or the caller.
    #[cfg(feature = "std")]
    pub fn tensor(&self) -> Option<&str> {
        self.context.first()?.tensor.as_deref()
    }

    /// The role of the component that it is in.
    #[cfg(feature = "std")]
    pub fn component(&self) -> Option<&str> {
        self.context.first()?.component.as_deref()
    }

    /// The name of the other file that it is in or about, as a shard is. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn file(&self) -> Option<&str> {
        self.context.first()?.file.as_deref()
    }

    /// The generation of the file, as far as it is known. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn generation(&self) -> Option<Generation> {
        self.context.first()?.generation
    }

    /// Returns whether the sentence begins with the name of the tensor. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn names_its_tensor(&self) -> bool {
        self.context.first().is_some_and(|context| context.is_named)
    }

    /// Returns the advice for the person who has the file; none where the file is not to blame.
    #[cfg(feature = "std")]
    pub fn advice(&self) -> Option<&'static str> {
        let own = self.context.first().and_then(|context| context.advice);
        own.or_else(|| self.kind().row().map(|row| row.advice))
    }

    /// The range of the manifest that was rejected. Unstable.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn manifest_range(&self) -> Option<core::ops::Range<u64>> {
        self.context.first()?.manifest.clone()
    }

    /// The sentence alone, with the number found: `the file has only 7 bytes`.
    pub fn sentence(&self) -> impl fmt::Display + '_ {
        Sentence(self)
    }
}

/// A text in memory of its own, if there is any.
#[cfg(feature = "std")]
fn copied(text: &str) -> Option<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).ok()?;
    copy.push_str(text);
    Some(copy)
}

/// The text of values, in memory that is asked for.
#[cfg(feature = "std")]
pub(crate) fn text(values: fmt::Arguments<'_>) -> Result<String, OutOfMemory> {
    let mut text = Text(String::new());
    fmt::write(&mut text, values).map_err(|_| OutOfMemory)?;
    Ok(text.0)
}

/// A text that is written as far as there is memory.
#[cfg(feature = "std")]
struct Text(String);

#[cfg(feature = "std")]
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
            f.write_str("it can be read, but not written: ")?;
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

/// Says what a generation does not have.
fn inexpressible_in(
    bare: &BareError,
    generation: Generation,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    match bare.kind {
        ErrorKind::Malformed(Rule::LogicalTypeStorage) => {
            write!(f, "the dtype is a `type` in {generation}, and there is another `type` already")
        }
        ErrorKind::Malformed(Rule::DuplicateKey) if generation == Generation::V1_2 => {
            f.write_str("an attribute with a duplicate key has no canonical form")
        }
        ErrorKind::Malformed(Rule::QuantizedZeros) => {
            write!(f, "the object has no `zeros`, which {generation} requires")
        }
        ErrorKind::Limit(Limit::Depth) if generation == Generation::V1_2 => {
            f.write_str("a field becomes an attribute, which would be nested too deep")
        }
        ErrorKind::Unsupported(Unsupported::Format) => {
            write!(f, "{generation} has no such format, or one of that name that is another")
        }
        ErrorKind::Unsupported(Unsupported::LogicalType) => {
            write!(f, "the `type` is unknown, and would get a meaning in {generation}")
        }
        kind => {
            let id = kind.row().map_or("", |row| row.id);
            write!(f, "in {generation}, {bare} ({id})")
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)?;
        if let (Some(row), None) = (self.row(), self.inexpressible) {
            write!(f, " (rule {}, {})", row.id, row.source.clause())?;
        }
        self.fmt_place(f)?;
        if let (Some(offset), None) = (self.offset(), self.inexpressible) {
            write!(f, " at byte {offset:#x}")?;
        }
        #[cfg(feature = "std")]
        if let Some(hint) = self.context.first().and_then(|context| context.hint) {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl Error {
    /// The place, by names if they are known and in numbers if not.
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

/// The bytes of the file could not be read, for that reason.
#[cfg(feature = "std")]
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Self { source: Some(source), ..Self::reading() }
    }
}

/// The error of the system, if it is one; else one that holds this error.
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
