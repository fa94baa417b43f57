//! The block types of GGUF: quantized elements in blocks, which an archive keeps as they are stored and can dequantize.

use alloc::string::String;
use alloc::vec::Vec;
#[cfg(feature = "dequantize")]
use core::fmt;
#[cfg(all(feature = "dequantize", feature = "std"))]
use std::io;

use crate::cbor::Encoder;
use crate::element::{BlockFields, StorageType};
#[cfg(feature = "dequantize")]
use crate::error::Misuse;
use crate::error::OutOfMemory;
use crate::index::Layout;
use crate::manifest::Tensor;
use crate::num::u64_from_usize;

use super::gguf::dequantize::BlockBytes;
#[cfg(feature = "dequantize")]
use super::gguf::dequantize::dequantize;
use super::gguf::types::BLOCKS;
use super::kind::elements;

/// The prefix of the layout names of tensors that consist of ggml blocks. The name of the block type in lower case
/// follows.
const LAYOUT: &str = "gguf.";

/// The ggml block types for which generation 2 of zTensor defines no profile `gguf.NAME/1`.
const WITHOUT_PROFILE: [&str; 5] = ["TQ1_0", "TQ2_0", "NVFP4", "Q1_0", "Q2_0"];

/// The ggml block types whose blocks consist of fields of one byte, so that a block is the same in both byte orders.
const WITHOUT_FIELDS: [&str; 2] = ["MXFP4", "NVFP4"];

/// A ggml type whose elements are stored in blocks. An archive keeps the bytes of blocks unchanged.
#[derive(Debug)]
pub struct Block {
    /// The name of the type in ggml.
    pub name: &'static str,
    /// The number of elements of one block.
    pub elements: u64,
    /// The length of one block in bytes.
    pub bytes: u64,
    /// The function that computes the elements of blocks. Returns `None` if the blocks do not have as many elements as the output.
    #[cfg(feature = "dequantize")]
    dequantize: fn(&[u8], &mut [f32]) -> Option<()>,
}

/// Two block types are equal if their names, which are unique in `BLOCKS`, are equal. A derived comparison would also compare
/// function pointers, whose addresses are not reliable.
impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Block {}

impl Block {
    /// Returns the names that ggml gives all block types that zten knows.
    pub fn names() -> impl Iterator<Item = &'static str> {
        BLOCKS.iter().map(|row| row.1.name)
    }

    /// Creates the block type `name`. Each of its blocks has the bytes of an `R` and holds `N` elements.
    pub(crate) const fn new<R: BlockBytes<N>, const N: usize>(name: &'static str) -> Self {
        assert!(
            size_of::<R>() <= MOST_BYTES && N <= PIECE,
            "a block has more than `MOST_BYTES` bytes or more than `PIECE` elements"
        );
        let (elements, bytes) = (u64_from_usize(N), u64_from_usize(size_of::<R>()));
        Self {
            name,
            elements,
            bytes,
            #[cfg(feature = "dequantize")]
            dequantize: dequantize::<R, N>,
        }
    }

    /// Finds the block type called `name`, such as `Q4_K`, in letters of any case.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        BLOCKS.iter().map(|row| &row.1).find(|block| block.name.eq_ignore_ascii_case(name))
    }

    /// Finds the block type whose number in ggml (`ggml_type`) is `number`.
    pub fn by_number(number: u32) -> Option<&'static Self> {
        BLOCKS.iter().find(|row| row.0 == number).map(|row| &row.1)
    }

    /// Computes the elements of the blocks in `bytes`, without allocation. Except for the bits of NaNs, the elements are
    /// bit-identical to those that the Python package `gguf` computes.
    ///
    /// # Errors
    /// `bytes` is no whole number of blocks, or `out` has another number of elements than these blocks.
    #[cfg(feature = "dequantize")]
    pub fn dequantize(&self, bytes: &[u8], out: &mut [f32]) -> Result<(), LengthMismatch> {
        let mismatch = self.mismatch(bytes.len(), out.len());
        (self.dequantize)(bytes, out).ok_or(mismatch)
    }

    #[cfg(feature = "dequantize")]
    fn mismatch(&self, bytes: usize, elements: usize) -> LengthMismatch {
        LengthMismatch { block: self.name, bytes, elements }
    }

    /// Returns a dequantizer for blocks of this type whose bytes come in chunks.
    #[cfg(feature = "dequantize")]
    pub fn dequantizer(&'static self) -> BlockDequantizer {
        BlockDequantizer { block: self, begun: [0; MOST_BYTES], length: 0 }
    }

    /// Returns the block type of a `tensor` of a GGUF file; `None` for other tensors. [`of_layout`](Self::of_layout) also
    /// handles tensors of zTensor files.
    pub fn of(tensor: &Tensor<'_>) -> Option<&'static Self> {
        let component = tensor.component("data")?;
        if tensor.layout() != Layout::Unknown || component.generation().is_some() {
            return None;
        }
        tensor.layout_name().strip_prefix(LAYOUT).and_then(Self::by_name)
    }

    /// Returns the block type that the layout of `tensor` names, for tensors of GGUF files and of the zTensor files (1.2 and 2)
    /// to which GGUF files are converted. Returns `None` if the layout names no block type, if the tensor does not consist of a
    /// single component of bytes (`u8`), or if the length of the data does not fit the shape.
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

    /// Returns the name of the layout of tensors of this block type: `gguf.` and the name of the type in lower case.
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

    /// Returns whether zten knows which bytes of a block of this type are swapped in a big-endian file. `layout` is the
    /// [layout](Self::layout) of this type.
    pub(crate) fn has_byte_order(&self, layout: &str) -> bool {
        WITHOUT_FIELDS.contains(&self.name) || BlockFields::of_layout(layout).is_some()
    }

    /// Returns whether generation 2 of zTensor defines a layout (a profile) for blocks of this type. Its name is the
    /// [layout](Self::layout) followed by `/1`.
    pub fn has_profile(&self) -> bool {
        !WITHOUT_PROFILE.contains(&self.name)
    }

    /// Returns the attributes of tensors of this block type as a deterministic CBOR map: the name of the type, and the
    /// number of bytes and elements of a block.
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

    /// Returns the length in bytes of a tensor of this block type with the dimensions `shape`. Returns `None` if a row, the
    /// innermost dimension, is no whole number of blocks, or if the length exceeds 64 bits.
    pub(crate) fn bytes_of(&self, shape: &[u64]) -> Option<u64> {
        let row = shape.last().copied().unwrap_or(1);
        if row.checked_rem(self.elements)? != 0 {
            return None;
        }
        elements(shape)?.checked_div(self.elements)?.checked_mul(self.bytes)
    }
}

/// An upper bound for the length in bytes of a block of any type.
const MOST_BYTES: usize = 512;
/// The largest number of elements that a dequantizer passes to its callback at once. No block has more elements.
const PIECE: usize = 1 << 10;

/// A dequantizer for blocks whose bytes come in chunks. A chunk may end within a block. The dequantizer does not allocate.
#[cfg(feature = "dequantize")]
#[derive(Clone, Debug)]
pub struct BlockDequantizer {
    block: &'static Block,
    /// The first bytes of a block that began in an earlier chunk and is not complete. Only the first `length` bytes are used.
    begun: [u8; MOST_BYTES],
    /// The number of bytes in `begun`.
    length: usize,
}

#[cfg(feature = "dequantize")]
impl BlockDequantizer {
    /// Takes the next bytes, `chunk`, and passes the elements of each complete block to `take`.
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

    /// Returns the number of elements of a block, and its length in bytes.
    fn sizes(&self) -> [usize; 2] {
        [self.block.elements, self.block.bytes]
            .map(|size| usize::try_from(size).unwrap_or(usize::MAX))
    }

    /// Stores bytes of `chunk` in `begun` until a block of `bytes` bytes is complete, and returns the rest of `chunk`.
    fn begin<'c>(&mut self, chunk: &'c [u8], bytes: usize) -> Result<&'c [u8], LengthMismatch> {
        let missing = bytes.saturating_sub(self.length);
        let (now, rest) = chunk.split_at(missing.min(chunk.len()));
        let end = self.length.saturating_add(now.len());
        let mismatch = self.block.mismatch(end, 0);
        self.begun.get_mut(self.length..end).ok_or(mismatch)?.copy_from_slice(now);
        self.length = end;
        Ok(rest)
    }

    /// Computes the elements of whole `blocks` in `room`, and returns them.
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

/// The error for bytes that do not hold exactly the expected number of elements.
#[cfg(feature = "dequantize")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthMismatch {
    /// The name of the block type.
    pub block: &'static str,
    /// The total length in bytes of the blocks that were given.
    pub bytes: usize,
    /// The expected number of elements.
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
impl core::error::Error for LengthMismatch {}

#[cfg(all(feature = "dequantize", feature = "std"))]
impl From<LengthMismatch> for io::Error {
    fn from(mismatch: LengthMismatch) -> Self {
        Self::other(mismatch)
    }
}

#[cfg(feature = "dequantize")]
impl From<LengthMismatch> for crate::error::Error {
    fn from(_: LengthMismatch) -> Self {
        Misuse::Buffer.into()
    }
}
