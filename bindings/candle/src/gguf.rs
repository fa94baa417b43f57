//! Makes weights of any format readable as one GGUF file, because the quantized models of candle-transformers read only GGUF.

use std::collections::HashSet;
use std::io::{self, Read, Seek, SeekFrom};

use candle_core::{Error, Result};
use zten::DType;
use zten::attributes::{Chunks, Item, Value};

use crate::quantized::{Blocks, values};
use crate::{WeightFile, Weights, elements};

/// The alignment of the data of tensors in the GGUF file, in bytes. It is the default of the GGUF format.
const ALIGNMENT: u64 = 32;

/// The unblocked types that candle reads from a GGUF file unchanged: each with its number in GGUF and the size of an
/// element in bytes.
const PLAIN: [(DType, u32, u64); 3] =
    [(DType::F32, 0, 4), (DType::F16, 1, 2), (DType::BF16, 30, 2)];

/// A GGUF file with the weights of [`Weights`], which can be read and sought; [`Weights::gguf`] returns it. The file is not
/// stored anywhere: each read computes the bytes that it returns, and verifies the tensors that they are from.
///
/// After the first error, every read returns the same error.
#[derive(Debug)]
pub struct Gguf<'w> {
    weights: &'w Weights,
    head: Vec<u8>,
    tensors: Vec<Placed<'w>>,
    /// The offset in the GGUF file, in bytes, at which the next read begins.
    position: u64,
    /// The index in `tensors` and the bytes, padding included, of the tensor that was read last.
    loaded: Option<(usize, Vec<u8>)>,
    /// The first error. Some models treat a tensor that they cannot read as absent and continue, so later reads must fail
    /// as well.
    failed: Option<String>,
}

/// A tensor, and the range that its bytes and their padding take in the GGUF file. `end` is exclusive.
#[derive(Debug)]
struct Placed<'w> {
    name: &'w str,
    start: u64,
    end: u64,
}

impl Weights {
    /// Returns a GGUF file with these weights for [`Content::read`](candle_core::quantized::gguf_file::Content::read) and for
    /// the `from_gguf` functions of models. Each tensor is read, decoded and verified when bytes of the tensor are read from the
    /// GGUF file.
    ///
    /// Blocks of GGUF are copied unchanged, or dequantized if candle does not support their type; other quantized tensors are
    /// dequantized. The file also contains the dense tensors of types `f32`, `f16` and `bf16` in row-major order, and the
    /// attributes that GGUF can represent, except `general.alignment` and those that begin with `split.`. Tensors of more than four
    /// dimensions are left out. If several files have an attribute, that of the first file is used. An integer becomes `u32` if it
    /// fits, and a float becomes `f32` if it fits, because models expect these types.
    ///
    /// # Errors
    /// Candle cannot count the elements of a shape, blocks do not have the size of their type, or 64 bits cannot count the bytes of
    /// the tensors.
    pub fn gguf(&self) -> Result<Gguf<'_>> {
        let (mut keys, mut values) = (HashSet::new(), Vec::new());
        let (mut infos, mut tensors, mut data_length) = (Vec::new(), Vec::new(), 0_u64);
        for file in &self.files {
            for (key, item) in file.archive.attributes() {
                let is_of_a_file = key == "general.alignment" || key.starts_with("split.");
                if !is_of_a_file
                    && let Some(value) = encode(&item)
                    && keys.insert(key)
                {
                    put_text(&mut values, key.as_bytes());
                    values.extend(value);
                }
            }
            for tensor in &file.archive {
                let name = tensor.name();
                let found = kind(&tensor).map_err(|error| file.place(error, name))?;
                let Some((number, length)) = found else { continue };
                put_text(&mut infos, name.as_bytes());
                let dims: Vec<u64> = tensor.shape().to_vec();
                infos.extend(u32::try_from(dims.len()).map_err(Error::wrap)?.to_le_bytes());
                infos.extend(dims.iter().rev().flat_map(|side| side.to_le_bytes()));
                infos.extend(number.to_le_bytes());
                infos.extend(data_length.to_le_bytes());
                let end = data_length.checked_add(length).and_then(padded);
                let end = end.ok_or_else(|| {
                    Error::msg("the tensors together take more bytes than 64 bits can count")
                })?;
                tensors.push(Placed { name, start: data_length, end });
                data_length = end;
            }
        }
        let counts = [tensors.len(), keys.len()].map(|count| u64::try_from(count).unwrap_or(0));
        let mut head = b"GGUF\x03\0\0\0".to_vec();
        head.extend(counts.iter().flat_map(|count| count.to_le_bytes()));
        head.extend(values);
        head.extend(infos);
        let length = u64::try_from(head.len()).ok().and_then(padded).unwrap_or(u64::MAX);
        head.resize(usize::try_from(length).map_err(Error::wrap)?, 0);
        for placed in &mut tensors {
            placed.start = placed.start.saturating_add(length);
            placed.end = placed.end.saturating_add(length);
        }
        Ok(Gguf { weights: self, head, tensors, position: 0, loaded: None, failed: None })
    }
}

impl Gguf<'_> {
    /// Returns the bytes of the GGUF file from the current position to the end of its head, or to the end of a tensor with its
    /// padding. The tensor is read first, unless it is the tensor that was read last. Returns no bytes at the end of the file.
    fn rest(&mut self) -> Result<&[u8]> {
        let (mut bytes, mut start) = (self.head.as_slice(), 0);
        if usize::try_from(self.position).is_ok_and(|position| position >= bytes.len()) {
            let at = self.tensors.partition_point(|placed| placed.end <= self.position);
            let Some(placed) = self.tensors.get(at) else { return Ok(&[]) };
            if self.loaded.as_ref().is_none_or(|(own, _)| *own != at) {
                self.loaded = None;
                self.loaded = Some((at, read(self.weights, placed)?));
            }
            bytes = self.loaded.as_ref().map_or(&[], |(_, bytes)| bytes);
            start = placed.start;
        }
        let passed = usize::try_from(self.position.saturating_sub(start)).map_err(Error::wrap)?;
        Ok(bytes.get(passed..).unwrap_or_default())
    }
}

impl Read for Gguf<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if let Some(failed) = &self.failed {
            return Err(io::Error::other(failed.clone()));
        }
        let read = match self.rest() {
            Ok(mut rest) => rest.read(out)?,
            Err(error) => {
                self.failed = Some(error.to_string());
                return Err(io::Error::other(error));
            }
        };
        self.position = self.position.saturating_add(u64::try_from(read).unwrap_or(0));
        Ok(read)
    }
}

impl Seek for Gguf<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let head = u64::try_from(self.head.len()).unwrap_or(u64::MAX);
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => {
                self.tensors.last().map_or(head, |last| last.end).checked_add_signed(by)
            }
        };
        self.position = position.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.position)
    }
}

/// Rounds `length`, a number of bytes, up to a multiple of [`ALIGNMENT`]. Returns `None` if the result does not fit into 64 bits.
fn padded(length: u64) -> Option<u64> {
    length.checked_next_multiple_of(ALIGNMENT)
}

/// Returns the number that GGUF has for the type with which `tensor` is in the GGUF file, and the size of its data there in
/// bytes. Returns `None` if the GGUF file leaves the tensor out.
fn kind(tensor: &zten::Tensor<'_>) -> Result<Option<(u32, u64)>> {
    let shape = tensor.shape();
    // A tensor of more than four dimensions cannot be in a GGUF file.
    if shape.len() > 4 {
        return Ok(None);
    }
    let found = match Blocks::of(tensor)? {
        // Blocks of a type that candle does not support are dequantized to `f32`, the type 0 of GGUF with 4 bytes for each element.
        Some(blocks) => Some(blocks.row().map_or((0, 1, 4), |(number, ..)| {
            (*number, blocks.block.elements, blocks.block.bytes)
        })),
        None if tensor.is_quantized() => Some((0, 1, 4)),
        None => tensor.dense().ok().and_then(|data| {
            let mut plain = PLAIN.iter().filter(|_| !data.is_strided());
            plain
                .find(|(own, ..)| *own == data.dtype())
                .map(|(_, number, bytes)| (*number, 1, *bytes))
        }),
    };
    let Some((number, elements, bytes)) = found else { return Ok(None) };
    let count: usize = elements::dims(shape)?.into_iter().product();
    let blocks = u64::try_from(count).ok().and_then(|count| count.checked_div(elements));
    let length = blocks.and_then(|blocks| blocks.checked_mul(bytes));
    Ok(Some((
        number,
        length.ok_or_else(|| Error::msg("the tensor takes more bytes than 64 bits can count"))?,
    )))
}

/// Reads, decodes and verifies the tensor `placed` of `weights`, and returns its bytes in the GGUF file, with their padding.
fn read(weights: &Weights, placed: &Placed<'_>) -> Result<Vec<u8>> {
    let (file, tensor) = weights.find(placed.name)?;
    let most = file.archive.limits().decoded();
    let read = || -> Result<Vec<u8>> {
        let mut bytes = match Blocks::of(&tensor)? {
            Some(blocks) if blocks.row().is_some() => blocks.read()?,
            _ if tensor.is_quantized() => {
                values(&tensor, most)?.iter().flat_map(|own| own.to_le_bytes()).collect()
            }
            _ => copied(&tensor.dense().and_then(|data| data.read()).map_err(Error::wrap)?)?,
        };
        let length = usize::try_from(placed.end.saturating_sub(placed.start));
        let length = length.map_err(Error::wrap)?;
        bytes.try_reserve_exact(length.saturating_sub(bytes.len())).map_err(Error::wrap)?;
        bytes.resize(length, 0);
        Ok(bytes)
    };
    read().map_err(|error| WeightFile::place(file, error, placed.name))
}

/// Returns a copy of `bytes`, or an error if there is not enough memory.
pub(crate) fn copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut own = Vec::new();
    own.try_reserve_exact(bytes.len()).map_err(Error::wrap)?;
    own.extend_from_slice(bytes);
    Ok(own)
}

/// An attribute's value that is not an array, or one item of an array.
enum Scalar {
    Integer(i128),
    Float(f64),
    Bool(bool),
    Text(Vec<u8>),
}

/// The integer types of GGUF values: the number of each in GGUF, its minimum and maximum, and its size in bytes.
const INTEGERS: [(u32, i128, i128, usize); 4] = [
    (4, 0, 0xffff_ffff, 4),
    (5, -0x8000_0000, 0x7fff_ffff, 4),
    (10, 0, 0xffff_ffff_ffff_ffff, 8),
    (11, -0x8000_0000_0000_0000, 0x7fff_ffff_ffff_ffff, 8),
];
const F32: u32 = 6;
const BOOL: u32 = 7;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;
const F64: u32 = 12;

/// Encodes `item`, the value of an attribute, as a GGUF value: the number of its type, then the value. Returns `None` if GGUF has
/// no type for the value.
fn encode(item: &Item<'_>) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let scalars = match item.value() {
        Value::Array(array) => {
            let scalars: Vec<Scalar> =
                array.into_iter().map(|item| scalar(&item)).collect::<Option<_>>()?;
            out.extend(ARRAY.to_le_bytes());
            scalars
        }
        _ => vec![scalar(item)?],
    };
    let is_array = !out.is_empty();
    let (number, payload) = typed(&scalars)?;
    out.extend(number.to_le_bytes());
    if is_array {
        out.extend(u64::try_from(scalars.len()).ok()?.to_le_bytes());
    }
    out.extend(payload);
    Some(out)
}

fn scalar(item: &Item<'_>) -> Option<Scalar> {
    Some(match item.value() {
        Value::Uint(number) => Scalar::Integer(number.into()),
        Value::Negative(below) => Scalar::Integer(i128::from(below).checked_neg()?.checked_sub(1)?),
        Value::Float(number) => Scalar::Float(number),
        Value::Bool(truth) => Scalar::Bool(truth),
        Value::Text(chunks) => Scalar::Text(joined(&chunks)),
        _ => return None,
    })
}

fn joined(chunks: &Chunks<'_>) -> Vec<u8> {
    chunks.pieces().flatten().copied().collect()
}

/// Returns the number of the first GGUF type that can represent all `scalars`, and the scalars encoded as that type. Returns `None`
/// if no type can, as for integers together with text.
fn typed(scalars: &[Scalar]) -> Option<(u32, Vec<u8>)> {
    let all = |one: &dyn Fn(&Scalar) -> Option<Vec<u8>>| -> Option<Vec<u8>> {
        let parts: Option<Vec<Vec<u8>>> = scalars.iter().map(one).collect();
        Some(parts?.concat())
    };
    for (number, least, most, width) in INTEGERS {
        let one = |scalar: &Scalar| match scalar {
            Scalar::Integer(own) if (least..=most).contains(own) => {
                own.to_le_bytes().get(..width).map(<[u8]>::to_vec)
            }
            _ => None,
        };
        if let Some(payload) = all(&one) {
            return Some((number, payload));
        }
    }
    let float = |scalar: &Scalar| match scalar {
        Scalar::Float(own) => Some(*own),
        _ => None,
    };
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "compared with what it was"
    )]
    let single = |own: f64| {
        let single = own as f32;
        (f64::from(single).to_bits() == own.to_bits() || own.is_nan()).then_some(single)
    };
    let texts = |scalar: &Scalar| match scalar {
        Scalar::Text(own) => {
            let mut out = Vec::new();
            put_text(&mut out, own);
            Some(out)
        }
        _ => None,
    };
    let bools = |scalar: &Scalar| match scalar {
        Scalar::Bool(own) => Some(vec![u8::from(*own)]),
        _ => None,
    };
    all(&|own| Some(single(float(own)?)?.to_le_bytes().to_vec()))
        .map(|payload| (F32, payload))
        .or_else(|| Some((F64, all(&|own| Some(float(own)?.to_le_bytes().to_vec()))?)))
        .or_else(|| Some((BOOL, all(&bools)?)))
        .or_else(|| Some((TEXT, all(&texts)?)))
}

/// Appends `text` to `out` as a GGUF string: its length as a little-endian `u64`, then its bytes.
fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
    out.extend_from_slice(text);
}
