//! The arrays that are written, and where they come from.

use std::io;
use std::path::Path;

use zten::DType;
use zten::attributes::Attributes;

use crate::escape;
use crate::report::Problem;

/// An array: dense, its last index moving fastest.
#[derive(Debug)]
pub(crate) struct Array {
    /// The dimensions, the slowest first.
    pub(crate) shape: Vec<u64>,
    /// The type of its elements, which is known.
    pub(crate) dtype: DType,
}

impl Array {
    /// Bytes of all elements, or the most that there can be.
    pub(crate) fn bytes(&self) -> u64 {
        let bits = self.dtype.bits().map_or(u64::MAX, u64::from);
        self.shape.iter().fold(bits, |product, side| product.saturating_mul(*side)).div_ceil(8)
    }
}

/// Takes the bytes of an array, chunk by chunk: little-endian.
pub(crate) type ChunkFn<'t> = dyn FnMut(&[u8]) -> io::Result<()> + 't;

/// A collection of arrays, by their ordinals from 0. No two have the same name.
pub(crate) trait Source {
    /// Returns the number of arrays.
    fn count(&self) -> usize;

    /// The name of one.
    fn name(&self, at: usize) -> &str;

    /// One of them, or why it is no array.
    fn array(&self, at: usize) -> Result<Array, String>;

    /// Returns the attributes of the source.
    fn attributes(&self) -> Attributes<'_>;

    /// Hands on the bytes of one, validated when this returns.
    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), Failure>;
}

/// The reason why a file is not written.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The source could not be read, or is not valid.
    Input(Box<Problem>),
    /// A selected array is not in the source.
    Selection(String),
    /// The file could not be written.
    Output(io::Error),
    /// The source is valid, and holds what the format has no place for.
    Inexpressible {
        /// The object that it is about, if it is not the whole file.
        object: Option<String>,
        /// The sentence that says what the format cannot hold.
        sentence: String,
    },
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl Failure {
    /// Returns the problem, of the file that is read or the one that is written.
    pub(crate) fn problem(self, [input, output]: [&Path; 2]) -> Box<Problem> {
        Box::new(match self {
            Self::Input(problem) => return problem,
            Self::Selection(sentence) => Problem::inexpressible(input, &sentence),
            Self::Output(error) => Problem::io(output, &error),
            Self::Inexpressible { object, sentence } => {
                let sentence = format!("it can be read, but not written: {sentence}");
                Problem::inexpressible(input, &sentence).in_object(object)
            }
        })
    }

    /// The source as a whole has no place in the file.
    pub(crate) fn file(sentence: impl Into<String>) -> Self {
        Self::Inexpressible { object: None, sentence: sentence.into() }
    }

    /// An attribute of the source has no place in the file.
    pub(super) fn attribute(key: &str, sentence: &str) -> Self {
        let key = escape::quoted(key);
        let advice = "`zten convert --drop-attributes` leaves attributes out";
        Self::file(format!("the attribute {key} {sentence}; {advice}"))
    }

    /// An object has no place in the file.
    pub(crate) fn object(name: &str, sentence: impl Into<String>) -> Self {
        Self::Inexpressible { object: Some(name.to_owned()), sentence: sentence.into() }
    }
}

/// One of the arrays; what is none has no place in the file.
pub(super) fn array(source: &dyn Source, at: usize) -> Result<Array, Failure> {
    source.array(at).map_err(|sentence| Failure::object(source.name(at), sentence))
}

/// Hands on the bytes of one array, which are as many as were announced.
pub(super) fn copy(
    source: &mut dyn Source,
    at: usize,
    announced: u64,
    take: &mut ChunkFn<'_>,
) -> Result<(), Failure> {
    let mut left = announced;
    source.read(at, &mut |chunk| {
        let length = u64::try_from(chunk.len()).unwrap_or(u64::MAX);
        left = left.checked_sub(length).ok_or_else(other_length)?;
        take(chunk)
    })?;
    if left == 0 { Ok(()) } else { Err(other_length().into()) }
}

/// Validating a source is what makes this impossible; a file that says otherwise must not be made.
fn other_length() -> io::Error {
    io::Error::other("an array is not as long as its shape and type ask")
}
