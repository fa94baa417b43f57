//! Blocks of elements that are kept as they are.

#[cfg(feature = "dequantize")]
use std::{fmt, io};

use zten::attributes::Encoder;
#[cfg(feature = "dequantize")]
use zten::error::Misuse;
use zten::error::OutOfMemory;
use zten::num::u64_from_usize;
use zten::tools::StorageType;
use zten::{Layout, Tensor};

use super::gguf::dequantize::Record;
#[cfg(feature = "dequantize")]
use super::gguf::dequantize::dequantize;
use super::gguf::types::BLOCKS;
use super::kind::elements;

/// The layouts of blocks begin so; the name of the type in lowercase follows.
const LAYOUT: &str = "gguf.";

/// The types of blocks for which generation 2 has no profile.
const WITHOUT_PROFILE: [&str; 5] = ["TQ1_0", "TQ2_0", "NVFP4", "Q1_0", "Q2_0"];

/// A type whose elements come in blocks, which are kept as they are.
#[derive(Debug)]
pub struct Block {
    /// The name in ggml.
    pub name: &'static str,
    /// Elements of one block.
    pub elements: u64,
    /// Bytes of one block.
    pub bytes: u64,
    #[cfg(feature = "dequantize")]
    dequantize: fn(&[u8], &mut [f32]) -> Option<()>,
}

/// Types are equal if their names are.
impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Block {}

impl Block {
    /// The names of all types.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BLOCKS.iter().map(|row| row.1.name)
    }

    /// The type of that name, whose blocks are such records.
    pub(crate) const fn new<R: Record<N>, const N: usize>(name: &'static str) -> Self {
        assert!(size_of::<R>() <= MOST_BYTES && N <= PIECE, "a block is larger than any can be");
        let (elements, bytes) = (u64_from_usize(N), u64_from_usize(size_of::<R>()));
        Self {
            name,
            elements,
            bytes,
            #[cfg(feature = "dequantize")]
            dequantize: dequantize::<R, N>,
        }
    }

    /// Finds the type of a name, such as `Q4_K` or `q4_k`.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        BLOCKS.iter().map(|row| &row.1).find(|block| block.name.eq_ignore_ascii_case(name))
    }

    /// Finds the type of a number of ggml.
    pub fn by_number(number: u32) -> Option<&'static Self> {
        BLOCKS.iter().find(|row| row.0 == number).map(|row| &row.1)
    }

    /// Computes the elements of a whole number of blocks, without taking memory. They are equal, to the bit but for those of
    /// NaN, to what the Python package `gguf` computes.
    ///
    /// # Errors
    /// The bytes are no whole number of blocks, or not of as many elements as `out` has.
    #[cfg(feature = "dequantize")]
    pub fn dequantize(&self, bytes: &[u8], out: &mut [f32]) -> Result<(), LengthMismatch> {
        let mismatch = self.mismatch(bytes.len(), out.len());
        (self.dequantize)(bytes, out).ok_or(mismatch)
    }

    #[cfg(feature = "dequantize")]
    fn mismatch(&self, bytes: usize, elements: usize) -> LengthMismatch {
        LengthMismatch { block: self.name, bytes, elements }
    }

    /// Computes the elements of blocks that come in chunks.
    #[cfg(feature = "dequantize")]
    pub fn dequantizer(&'static self) -> BlockDequantizer {
        BlockDequantizer { block: self, begun: [0; MOST_BYTES], length: 0 }
    }

    /// The type of the blocks that a tensor of a GGUF file consists of. In a zTensor file, attributes tell it.
    pub fn of(tensor: &Tensor<'_>) -> Option<&'static Self> {
        let component = tensor.component("data")?;
        if tensor.layout() != Layout::Unknown || component.generation().is_some() {
            return None;
        }
        tensor.layout_name().strip_prefix(LAYOUT).and_then(Self::by_name)
    }

    /// The type of the blocks that a tensor of any file consists of, as its layout is called: in GGUF, and in the zTensor
    /// files of 1.2 and 2 that these become. There are as many bytes as its shape asks for.
    pub fn of_layout(tensor: &Tensor<'_>) -> Option<&'static Self> {
        let name = tensor.layout_name().strip_prefix(LAYOUT)?;
        let block = Self::by_name(name.strip_suffix("/1").unwrap_or(name))?;
        let (mut components, mut shape) = (tensor.components(), Vec::new());
        let (data, None) = (components.next()?, components.next()) else { return None };
        shape.try_reserve_exact(tensor.shape().len()).ok()?;
        shape.extend(tensor.shape());
        let is_whole = data.decoded_length() == Some(block.bytes_of(&shape)?);
        (is_whole && data.storage_type() == Some(StorageType::U8)).then_some(block)
    }

    /// The layout of a tensor that consists of such blocks.
    ///
    /// # Errors
    /// Out of memory.
    pub fn layout(&self) -> Result<String, OutOfMemory> {
        let mut layout = String::new();
        let length = LAYOUT.len().saturating_add(self.name.len());
        layout.try_reserve_exact(length).map_err(|_| OutOfMemory)?;
        layout.push_str(LAYOUT);
        layout.push_str(self.name);
        layout.make_ascii_lowercase();
        Ok(layout)
    }

    /// Returns whether generation 2 has a profile for such blocks: the layout, and `/1`.
    pub fn has_profile(&self) -> bool {
        !WITHOUT_PROFILE.contains(&self.name)
    }

    /// The facts that a reader must know of the blocks: a CBOR map in the order of deterministic CBOR.
    ///
    /// # Errors
    /// Out of memory.
    pub fn attributes(&self) -> Result<Vec<u8>, OutOfMemory> {
        let mut out = Encoder::default();
        out.map(3)?;
        out.text("ggml_type")?;
        out.text(self.name)?;
        out.text("block_bytes")?;
        out.uint(self.bytes)?;
        out.text("block_elements")?;
        out.uint(self.elements)?;
        Ok(out.into_bytes())
    }

    /// Returns the bytes of the blocks of a shape; none where these cannot be counted, or are no whole number in each
    /// row.
    pub(crate) fn bytes_of(&self, shape: &[u64]) -> Option<u64> {
        let row = shape.last().copied().unwrap_or(1);
        if row.checked_rem(self.elements)? != 0 {
            return None;
        }
        elements(shape)?.checked_div(self.elements)?.checked_mul(self.bytes)
    }
}

/// Bytes of a block, at most.
const MOST_BYTES: usize = 512;
/// Elements that are handed out at once, at most: as many as a block has, or more.
const PIECE: usize = 1 << 10;

/// Computes the elements of blocks that come in chunks, which may end within a block. It takes no memory.
#[cfg(feature = "dequantize")]
#[derive(Clone, Debug)]
pub struct BlockDequantizer {
    block: &'static Block,
    /// The first bytes of a block whose others are still to come, and their number.
    begun: [u8; MOST_BYTES],
    length: usize,
}

#[cfg(feature = "dequantize")]
impl BlockDequantizer {
    /// Takes the next bytes, and hands the elements of each block that is complete to `take`.
    ///
    /// # Errors
    /// The errors of `take`.
    pub fn chunk<E: From<LengthMismatch>>(
        &mut self,
        mut chunk: &[u8],
        mut take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let [elements, bytes] = self.sizes();
        if self.length > 0 {
            chunk = self.begin(chunk, bytes)?;
            if self.length < bytes {
                return Ok(());
            }
            let begun = self.begun.get(..bytes).ok_or(self.block.mismatch(bytes, 0))?;
            take(self.values(begun, &mut [0.0; PIECE])?)?;
            self.length = 0;
        }
        let at_once = PIECE.checked_div(elements).unwrap_or_default().saturating_mul(bytes);
        for blocks in chunk.chunks(at_once.max(1)) {
            let rest = blocks.len().checked_rem(bytes).unwrap_or_default();
            let (whole, rest) = blocks.split_at(blocks.len().saturating_sub(rest));
            if !whole.is_empty() {
                take(self.values(whole, &mut [0.0; PIECE])?)?;
            }
            self.begin(rest, bytes)?;
        }
        Ok(())
    }

    /// The elements and the bytes of a block.
    fn sizes(&self) -> [usize; 2] {
        [self.block.elements, self.block.bytes]
            .map(|size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// Keeps the next bytes of a block, and returns those behind it.
    fn begin<'c>(&mut self, chunk: &'c [u8], bytes: usize) -> Result<&'c [u8], LengthMismatch> {
        let missing = bytes.saturating_sub(self.length);
        let (now, rest) = chunk.split_at(missing.min(chunk.len()));
        let end = self.length.saturating_add(now.len());
        let mismatch = self.block.mismatch(end, 0);
        self.begun.get_mut(self.length..end).ok_or(mismatch)?.copy_from_slice(now);
        self.length = end;
        Ok(rest)
    }

    /// Computes the elements of whole blocks.
    fn values<'v>(
        &self,
        blocks: &[u8],
        room: &'v mut [f32; PIECE],
    ) -> Result<&'v [f32], LengthMismatch> {
        let [elements, bytes] = self.sizes();
        let count = blocks.len().checked_div(bytes).unwrap_or_default().saturating_mul(elements);
        let mismatch = self.block.mismatch(blocks.len(), count);
        let values = room.get_mut(..count).ok_or(mismatch)?;
        self.block.dequantize(blocks, values)?;
        Ok(values)
    }
}

/// Bytes that do not hold as many elements as they should.
#[cfg(feature = "dequantize")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    /// The name of the type of blocks.
    pub block: &'static str,
    /// Bytes of the blocks.
    pub bytes: usize,
    /// Elements that there is room for.
    pub elements: usize,
}

#[cfg(feature = "dequantize")]
impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, bytes, elements } = self;
        write!(
            f,
            "{bytes} bytes do not hold exactly {elements} elements in whole blocks of {block}"
        )
    }
}

#[cfg(feature = "dequantize")]
impl std::error::Error for LengthMismatch {}

#[cfg(feature = "dequantize")]
impl From<LengthMismatch> for io::Error {
    fn from(mismatch: LengthMismatch) -> Self {
        Self::other(mismatch)
    }
}

#[cfg(feature = "dequantize")]
impl From<LengthMismatch> for zten::Error {
    fn from(_: LengthMismatch) -> Self {
        Misuse::Buffer.into()
    }
}
