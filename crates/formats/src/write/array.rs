//! The arrays that are written, and where they come from.

use std::fmt;
use std::io;

use zten::DType;
use zten::attributes::Attributes;
use zten_report::escape;

/// The type and shape of a dense array, whose last index moves fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The dimensions, the slowest first.
    pub shape: Vec<u64>,
    /// The type of its elements, which is known.
    pub dtype: DType,
}

impl Array {
    /// Returns the bytes of all elements, or [`u64::MAX`] if there are more.
    pub fn bytes(&self) -> u64 {
        let bits = self.dtype.bits().map_or(u64::MAX, u64::from);
        self.shape.iter().fold(bits, |product, side| product.saturating_mul(*side)).div_ceil(8)
    }
}

/// Takes the bytes of an array, chunk by chunk: little-endian.
pub type ChunkFn<'t> = dyn FnMut(&[u8]) -> io::Result<()> + 't;

/// A list of arrays, by their ordinals from 0, and the attributes of their file. No two arrays have the same name.
pub trait ArrayList {
    /// Returns the number of arrays.
    fn count(&self) -> usize;

    /// Returns the name of array `at`.
    fn name(&self, at: usize) -> &str;

    /// Returns the type and shape of array `at`.
    ///
    /// # Errors
    /// The reason why it is no array.
    fn array(&self, at: usize) -> Result<Array, String>;

    /// Returns the attributes of the file.
    fn attributes(&self) -> Attributes<'_>;
}

/// A list of arrays whose bytes can be read.
pub trait ArraySource: ArrayList {
    /// The error that reading an array fails with.
    type Error;

    /// Hands the bytes of array `at` to `take`. They have been validated when this returns.
    ///
    /// # Errors
    /// The array cannot be read or is not valid, or `take` fails.
    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), Failure<Self::Error>>;
}

/// The reason why a file is not written.
#[derive(Debug)]
pub enum Failure<E> {
    /// The source could not be read, or is not valid.
    Source(E),
    /// The file could not be written.
    Output(io::Error),
    /// The source is valid, and holds what the format has no place for.
    Inexpressible(Inexpressible),
}

/// Something that a format has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inexpressible {
    /// The thing that the sentence is about.
    pub subject: Subject,
    /// The sentence that says what the format cannot hold.
    pub sentence: String,
}

/// The thing that a format cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The whole file.
    File,
    /// The tensor of that name.
    Tensor(String),
    /// The attribute of the file with that key.
    Attribute(String),
}

impl Inexpressible {
    /// The source as a whole has no place in the file.
    pub fn file(sentence: impl Into<String>) -> Self {
        Self { subject: Subject::File, sentence: sentence.into() }
    }

    /// The tensor `name` has no place in the file.
    pub fn tensor(name: &str, sentence: impl Into<String>) -> Self {
        Self { subject: Subject::Tensor(name.to_owned()), sentence: sentence.into() }
    }

    /// The attribute `key` has no place in the file.
    pub(super) fn attribute(key: &str, sentence: impl fmt::Display) -> Self {
        let quoted = escape::quoted(key);
        let sentence = format!("the attribute {quoted} {sentence}");
        Self { subject: Subject::Attribute(key.to_owned()), sentence }
    }
}

/// The sentence, behind the name of the tensor that it is about.
impl fmt::Display for Inexpressible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Subject::Tensor(name) = &self.subject {
            write!(f, "tensor {}: ", escape::quoted(name))?;
        }
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Inexpressible {}

impl<E> From<io::Error> for Failure<E> {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl<E> From<Inexpressible> for Failure<E> {
    fn from(error: Inexpressible) -> Self {
        Self::Inexpressible(error)
    }
}

/// Returns the type and shape of array `at`; what is no array has no place in the file.
pub(super) fn array<L: ArrayList + ?Sized>(list: &L, at: usize) -> Result<Array, Inexpressible> {
    list.array(at).map_err(|sentence| Inexpressible::tensor(list.name(at), sentence))
}

/// Returns an empty list with room for an item for each array.
pub(super) fn with_room<T, L: ArrayList + ?Sized>(list: &L) -> io::Result<Vec<T>> {
    let mut room = Vec::new();
    room.try_reserve_exact(list.count()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    Ok(room)
}

/// Returns the ordinal of an array in the 32 bits that a list of many takes.
pub(super) fn ordinal(at: usize) -> io::Result<u32> {
    u32::try_from(at).map_err(|_| io::ErrorKind::OutOfMemory.into())
}
