//! NumPy files, by themselves and as members of an archive.

mod header;
mod order;
mod types;

use std::io::{self, Read};
use std::path::Path;

use zten::Limits;

use super::chunk::{CHUNK, Take};
use super::kind::Kind;
use super::limits::validate_rank;
use super::listing::{Listing, Tensors};
use super::place::{Array, Place};
use super::rules::Rule;
use super::source::{Source, buffer};
use super::tensor::Tensor;
use super::trouble::{Failure, Trouble};
use types::Type;
use zten::num::u64_from_usize;

/// What NumPy files begin with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// The longest literal that is read: the longest of version 1.0. Only records need more.
const LITERAL: u32 = 0xffff;

/// A header, and what follows from it.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) array: Array,
    kind: Kind,
    pub(super) shape: Vec<u64>,
    /// Bytes of all elements.
    pub(super) bytes: u64,
}

impl Header {
    /// Reads the header that `reader` is in front of. Faults of the reader become what `fault`
    /// makes of them.
    pub(super) fn read(
        reader: &mut impl Read,
        limits: &Limits,
        fault: impl Fn(io::Error) -> Trouble,
    ) -> Result<Self, Trouble> {
        let mut start = [0; 8];
        read(reader, &mut start, &fault)?;
        let [magic @ .., major, minor] = start;
        if magic != MAGIC {
            return Err(Trouble::refused(Rule::NpyMagic, "there is no NumPy array"));
        }
        let (prefix, length) = match (major, minor) {
            (1, 0) => {
                let mut length = [0; 2];
                read(reader, &mut length, &fault)?;
                (10, u16::from_le_bytes(length).into())
            }
            (2 | 3, 0) => {
                let mut length = [0; 4];
                read(reader, &mut length, &fault)?;
                (12, u32::from_le_bytes(length))
            }
            _ => {
                let sentence = format!("version {major}.{minor} of the NumPy format is not known");
                return Err(Trouble::refused(Rule::NpyVersion, sentence));
            }
        };
        if length > LITERAL {
            let sentence = format!("the NumPy header is longer than {LITERAL} bytes");
            return Err(Trouble::refused(Rule::LimitHeader, sentence));
        }
        let mut literal = vec![0; usize::try_from(length).unwrap_or_default()];
        read(reader, &mut literal, &fault)?;
        let start = u64::from(length).saturating_add(prefix);
        Self::parse(&literal, start, limits)
    }

    fn parse(literal: &[u8], start: u64, limits: &Limits) -> Result<Self, Trouble> {
        let literal = header::parse(literal)?;
        let Type { kind, is_big } = Type::parse(literal.descr)
            .map_err(|sentence| Trouble::refused(Rule::NpyDtype, sentence))?;
        let shape = literal.shape;
        validate_rank(shape.len(), limits, "the array")?;
        let bytes = kind.bytes(&shape);
        let bytes = bytes
            .ok_or_else(|| Trouble::refused(Rule::NpyShape, "the array is larger than can be"))?;
        let array = Array { start, is_big, columns_first: literal.columns_first };
        Ok(Self { array, kind, shape, bytes })
    }

    /// The tensor that the array is.
    pub(super) fn tensor(self, name: String, place: Place) -> Tensor {
        let Self { kind, shape, bytes, .. } = self;
        Tensor { name, shape, kind, bytes, place }
    }
}

/// Fills the buffer.
fn read(
    reader: &mut impl Read,
    buffer: &mut [u8],
    fault: &impl Fn(io::Error) -> Trouble,
) -> Result<(), Trouble> {
    reader.read_exact(buffer).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            Trouble::refused(Rule::NpyHeader, "the NumPy header is cut off")
        }
        _ => fault(error),
    })
}

/// Reads the header of a file that is one array, and named after the file.
pub(super) fn list(source: &Source, path: &Path, limits: &Limits) -> Result<Listing, Trouble> {
    let header = Header::read(&mut source.reader_at(0), limits, Trouble::reading)?;
    let there = source.len().saturating_sub(header.array.start);
    if there != header.bytes {
        let sentence =
            format!("there are {there} bytes of data, and the array has {}", header.bytes);
        return Err(Trouble::refused_at(Rule::NpySize, sentence, header.array.start));
    }
    let name = path.file_stem().and_then(|stem| stem.to_str());
    let name = name.ok_or_else(|| {
        Trouble::reading(io::Error::other(
            "the name of the file, which is that of the array, is not Unicode",
        ))
    })?;
    let mut tensors = Tensors::default();
    let place = Place::Array(header.array);
    tensors.push(&header.tensor(name.to_owned(), place))?;
    Ok(Listing { tensors, ..Listing::default() })
}

impl Array {
    /// The same array, with its first element at another place.
    pub(super) fn at(self, start: u64) -> Self {
        Self { start, ..self }
    }

    /// The same, handed out in the order in which its elements lie.
    pub(super) fn in_order(self) -> Self {
        Self { columns_first: false, ..self }
    }

    /// Whether the elements lie in another order than they are handed out in.
    pub(super) fn is_out_of_order(&self, shape: &[u64]) -> bool {
        self.columns_first && order::matters(shape)
    }

    /// Hands on the elements of an array that `source` holds.
    pub(super) fn read<E>(
        &self,
        source: &Source,
        tensor: &Tensor,
        take: &mut Take<'_, E>,
    ) -> Result<(), Failure<E>> {
        let kind = self.elements_of(tensor);
        let mut put = |bytes: &mut [u8]| put(kind, bytes, take);
        if self.is_out_of_order(&tensor.shape) {
            let width = kind.width();
            order::row_major(source, self.start, &tensor.shape, width, &mut put)
        } else {
            source.stream(self.start, tensor.bytes, &mut put)
        }
    }

    /// Hands on the elements that `reader` is in front of, which lie in order.
    pub(super) fn stream<E>(
        &self,
        reader: &mut impl Read,
        tensor: &Tensor,
        fault: impl Fn(io::Error) -> Trouble,
        take: &mut Take<'_, E>,
    ) -> Result<(), Failure<E>> {
        let most = usize::try_from(tensor.bytes).unwrap_or(CHUNK).min(CHUNK);
        let kind = self.elements_of(tensor);
        let mut chunk = buffer(most, 0_u8)?;
        let mut left = tensor.bytes;
        while left > 0 {
            let next = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            let bytes = chunk.get_mut(..next).unwrap_or_default();
            reader.read_exact(bytes).map_err(&fault)?;
            put(kind, bytes, take)?;
            left = left.saturating_sub(u64_from_usize(next));
        }
        Ok(())
    }

    /// What NumPy calls the elements of the tensor that it is.
    fn elements_of(&self, tensor: &Tensor) -> Type {
        Type { kind: tensor.kind, is_big: self.is_big }
    }
}

/// Hands on whole elements, made little-endian.
fn put<E>(kind: Type, bytes: &mut [u8], take: &mut Take<'_, E>) -> Result<(), Failure<E>> {
    kind.make_little(bytes);
    bytes.chunks(CHUNK).try_for_each(|chunk| take(chunk).map_err(Failure::Taker))
}
