//! Profiles of 2 whose elements come in blocks: `zt.mx/1` and `gguf.NAME/1`. v2 §5.2.

use core::ops::{Deref, Range};

use super::buffer::Data;
use super::elements::Elements;
use super::view::{View, ViewType};
use crate::element::{ByteOrder, Element, F4E2M1, F8E4M3Fn, F8E5M2, F8E8M0, LogicalType};
use crate::error::{BareError, Error, Misuse};
use crate::formats::ztensor::v2::{GgufKey, MxKey};
use crate::manifest::{Component, Tensor};
use crate::num::{len_u32, u64_from_usize};

/// A `zt.mx/1` object: blocks of elements along an axis, and a scale for each.
///
/// | what | shape, row-major |
/// | --- | --- |
/// | the values | the object's shape |
/// | `data`: `f4_e2m1`, two a byte, `f8_e4m3fn`, `f8_e5m2` or `i8` | as the values |
/// | `scales`: `f8_e8m0` | as the values, but along the axis one for each block |
///
/// A value is its element times its scale: 2^(scale − 127) × element, and not a number if the scale is FF.
/// [`Tensor::mx`] returns such an object.
///
/// ```
/// let archive = zten::open("corpus/v2/accept/mx.zt")?;
/// let mx = archive.tensor("w")?.mx()?;
/// assert_eq!((mx.axis(), mx.block_size()), (1, 2));
/// let mut values = [0_f32; 2 * 4];
/// mx.dequantize(&mut values)?;
/// # assert_eq!(values, [1.0, 2.0, 1.5, 2.0, 8.0, 12.0, -0.0, -0.5]);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Mx<'a> {
    shape: &'a [u64],
    blocks: MxBlocks,
    data: Data<'a>,
    scales: Data<'a>,
}

/// The order of elements and scales of a `zt.mx/1` object: v2 §5.2.
#[derive(Clone, Copy, Debug)]
pub struct MxBlocks {
    axis: u32,
    /// The number of elements of a block.
    size: u64,
    /// The number of elements from one index of the axis to the next: the product of the dimensions after the axis.
    stride: u64,
    /// The number of elements in all blocks.
    elements: u64,
    /// The number of all scales, which is the number of blocks.
    scales: u64,
}

impl MxBlocks {
    /// Returns the blocks of `object`, which has been validated.
    pub(super) fn of(object: &Tensor<'_>) -> Result<Self, Error> {
        let blocks = Self::read(object);
        blocks.ok_or_else(|| BareError::internal().at(object.location()).into())
    }

    fn read(object: &Tensor<'_>) -> Option<Self> {
        let last = len_u32(object.shape().len()).checked_sub(1)?;
        let axis = match object.number(MxKey::axis.field()) {
            Some(axis) => u32::try_from(axis).ok()?,
            None => last,
        };
        let size = object.number(MxKey::block_size.field())?;
        let elements = object.element_count()?;
        // If there are no elements, the product of some dimensions may overflow, and the stride is not used.
        let within = object.shape().iter().zip(0_u32..).filter(|(_, at)| *at > axis);
        let stride =
            within.fold(1, |stride: u64, (dimension, _)| stride.saturating_mul(*dimension));
        Some(Self { axis, size, stride, elements, scales: elements.checked_div(size)? })
    }

    /// Returns the index of the first of the `stride` successive scales among which the scale of `element` is. The blocks of these
    /// scales have the same indices along the axis and along the dimensions before it, and one scale for each index of the
    /// dimensions after the axis.
    fn first_scale(&self, element: u64) -> Option<u64> {
        // The length of the axis is a multiple of the block size, so a block never continues in the next outer index, and dividing
        // the position along the axis, through all outer dimensions, by the block size gives the block.
        element.checked_div(self.stride)?.checked_div(self.size)?.checked_mul(self.stride)
    }

    /// Returns the indices of the scales of the elements from `start` to before `end`; an empty range if there are no elements.
    fn scales_of(&self, start: u64, end: u64) -> Option<Range<u64>> {
        if start >= end {
            return Some(0..0);
        }
        let last = self.first_scale(end.checked_sub(1)?)?.checked_add(self.stride)?;
        Some(self.first_scale(start)?..last.min(self.scales))
    }

    /// Returns the dimension along which blocks lie (0 is the outermost): the attribute `axis`, or the last dimension
    /// if there is no such attribute.
    pub fn axis(&self) -> u32 {
        self.axis
    }

    /// Returns the number of elements along the axis with the same scale: 2 or more.
    pub fn block_size(&self) -> u64 {
        self.size
    }
}

impl<'a> Mx<'a> {
    pub(super) fn of(object: &Tensor<'a>) -> Result<Self, Error> {
        let part = |role| object.require(role)?.data();
        let (data, scales) = (part("data")?, part("scales")?);
        let mx = Self { shape: object.shape(), blocks: MxBlocks::of(object)?, data, scales };
        mx.check()?;
        Ok(mx)
    }

    /// Returns the dimensions of the values, outermost first.
    pub fn shape(&self) -> &'a [u64] {
        self.shape
    }

    /// Returns the dimension along which blocks lie: 0 is the outermost.
    pub fn axis(&self) -> u32 {
        self.blocks.axis
    }

    /// Returns the number of elements along the axis with the same scale: 2 or more.
    pub fn block_size(&self) -> u64 {
        self.blocks.size
    }

    /// Returns the order of elements and scales.
    pub fn blocks(&self) -> MxBlocks {
        self.blocks
    }

    /// Returns the elements of the component `data`, which have the type `f4_e2m1`, `f8_e4m3fn`, `f8_e5m2` or `i8`.
    pub fn data(&self) -> View<'_> {
        self.data.view()
    }

    /// Returns the elements of the component `scales`, which have the type `f8_e8m0`.
    pub fn scales(&self) -> View<'_> {
        self.scales.view()
    }

    fn check(&self) -> Result<(), Error> {
        let data = self.data();
        let size = data.kind().misuse(Misuse::Size);
        let length = usize::try_from(self.blocks.elements).map_err(|_| size)?;
        if data.kind().logical.is_packed() {
            data.nibbles(length).map(drop)?;
        }
        if u64_from_usize(self.scales().as_bytes().len()) != self.blocks.scales {
            return Err(self.scales().kind().misuse(Misuse::Size).into());
        }
        if data.may_hold(length) { Ok(()) } else { Err(size.into()) }
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        // The number was checked to fit in a `usize`.
        usize::try_from(self.blocks.elements).unwrap_or(usize::MAX)
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.blocks.elements == 0
    }

    /// Fills `values` with the values, in row-major order. The product of an element and its scale is an exact `f32`,
    /// except that values that are too large become infinite. O(len), no memory.
    ///
    /// # Errors
    /// [`Misuse::Buffer`] if the length of `values` is not the number of values.
    pub fn dequantize(&self, values: &mut [f32]) -> Result<(), Error> {
        let data = self.data();
        let buffer = data.kind().misuse(Misuse::Buffer);
        if u64_from_usize(values.len()) != self.blocks.elements {
            return Err(buffer.into());
        }
        let mut rest = values;
        let scales = self.scales().as_bytes();
        let mut converter = MxConverter::new(self.blocks, *data.kind(), scales, (0, 0));
        converter.chunk(data.as_bytes(), |piece| {
            let (now, later) =
                core::mem::take(&mut rest).split_at_mut_checked(piece.len()).ok_or(buffer)?;
            now.copy_from_slice(piece);
            rest = later;
            Ok(())
        })
    }
}

#[cfg(feature = "dequantize")]
impl MxBlocks {
    /// Returns the number of all scales.
    pub(crate) fn scales(&self) -> u64 {
        self.scales
    }

    /// Returns what the elements `range` of `object` need: the bytes of `data`, the positions of scales, and the first element
    /// whose byte is needed, because it shares a byte with the first one of the range.
    pub(crate) fn part(&self, object: &Tensor<'_>, range: &Range<u64>) -> Result<MxPart, Error> {
        let is_packed = object.require("data")?.logical().is_packed();
        let first = range.start.saturating_sub(u64::from(is_packed) & range.start & 1);
        let data = if is_packed { first / 2..range.end.div_ceil(2) } else { range.clone() };
        let scales = self.scales_of(first, range.end).ok_or_else(BareError::internal)?;
        Ok(MxPart { data, scales, first })
    }
}

/// The parts of the components that are needed to convert some elements of a `zt.mx/1` object.
#[cfg(feature = "dequantize")]
#[derive(Clone, Debug)]
pub(crate) struct MxPart {
    /// The range of the decoded bytes of `data` that holds the elements.
    pub(crate) data: Range<u64>,
    /// The range of the indices of the scales, which is also the range of their bytes, because a scale has one byte.
    pub(crate) scales: Range<u64>,
    /// The index in row-major order of the first element that the bytes `data` hold.
    pub(crate) first: u64,
}

/// The number of elements that are converted at once.
const PIECE: usize = 256;

/// A converter of the elements of a `zt.mx/1` object into values, while they are read. `B` holds the scales.
#[derive(Clone, Debug)]
pub(crate) struct MxConverter<B> {
    blocks: MxBlocks,
    /// The logical type of the elements; `None` for `i8`.
    logical: Option<LogicalType>,
    scales: B,
    /// The number of elements that are left.
    left: u64,
    /// The index of the next element in its block.
    row: u64,
    /// The index, from 0 to `stride` − 1, of the next element in its run. A run is `stride` consecutive elements that differ only
    /// in their indices along the dimensions after the axis.
    column: u64,
    /// The index in `scales` of the scale that the next element would have if its `column` were 0.
    first: usize,
}

impl<B: Deref<Target = [u8]>> MxConverter<B> {
    /// Creates a converter whose first element is `element`, counted in row-major order. `data` has the type of the elements.
    /// `scales` begins with the scale at index `known`, which is not after the scale of the element.
    pub(crate) fn new(
        blocks: MxBlocks,
        data: ViewType,
        scales: B,
        (element, known): (u64, u64),
    ) -> Self {
        let MxBlocks { size, stride, .. } = blocks;
        // `line` counts the positions along the axis, through all outer dimensions.
        let (line, column) = (element.checked_div(stride), element.checked_rem(stride));
        let row = line.and_then(|line| line.checked_rem(size)).unwrap_or_default();
        // An index of a scale that does not fit in a `usize` becomes `usize::MAX`. No scale has this index, so every value
        // becomes NaN, and no wrong scale is used.
        let first = blocks.first_scale(element).and_then(|first| first.checked_sub(known));
        let first = first.and_then(|first| usize::try_from(first).ok()).unwrap_or(usize::MAX);
        let left = blocks.elements.saturating_sub(element);
        let (logical, column) = (data.logical.known, column.unwrap_or_default());
        Self { blocks, logical, scales, left, row, column, first }
    }

    /// Returns the number of elements that have not been converted.
    #[cfg(feature = "dequantize")]
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// Converts the elements of `chunk`, which are decoded bytes, and calls `take` with their values, piece by piece,
    /// until `take` fails.
    ///
    /// # Errors
    /// The error of `take`.
    pub(crate) fn chunk<E>(
        &mut self,
        chunk: &[u8],
        mut take: impl FnMut(&[f32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let packed = self.logical == Some(LogicalType::F4E2M1);
        for bytes in chunk.chunks(if packed { PIECE / 2 } else { PIECE }) {
            let mut values = [0_f32; PIECE];
            match self.logical {
                Some(LogicalType::F4E2M1) => {
                    let nibbles = bytes.iter().flat_map(|byte| [*byte, byte >> 4]);
                    fill(&mut values, nibbles.map(|bits| F4E2M1::from_bits(bits).to_f32()));
                }
                Some(LogicalType::F8E5M2) => fill(&mut values, elements(bytes).map(F8E5M2::to_f32)),
                Some(_) => fill(&mut values, elements(bytes).map(F8E4M3Fn::to_f32)),
                None => fill(&mut values, elements::<i8>(bytes).map(f32::from)),
            }
            let count = bytes.len().saturating_mul(if packed { 2 } else { 1 });
            // If the number of elements is odd, the last byte of `f4_e2m1` holds a single element.
            let (values, _) = split(&mut values, self.left.min(u64_from_usize(count)));
            self.scale(values);
            self.left = self.left.saturating_sub(u64_from_usize(values.len()));
            take(values)?;
        }
        Ok(())
    }

    /// Multiplies `values`, the next elements, by their scales.
    fn scale(&mut self, values: &mut [f32]) {
        let mut rest = values;
        while !rest.is_empty() {
            let now;
            // In each round, `now` is a run of neighboring elements: the rest of a block, or of the columns. The run must
            // not be empty, or the loop would not end: rows and columns start again at 0 when they are complete.
            if self.blocks.stride == 1 {
                (now, rest) = split(rest, self.blocks.size.saturating_sub(self.row).max(1));
                match self.factors(1) {
                    Some([scale]) => now.iter_mut().for_each(|value| *value *= scale.to_f32()),
                    _ => now.fill(f32::NAN),
                }
                self.row = self.row.saturating_add(u64_from_usize(now.len()));
            } else {
                let length = self.blocks.stride.saturating_sub(self.column);
                (now, rest) = split(rest, length.max(1));
                match self.factors(now.len()) {
                    Some(scales) => {
                        let pairs = now.iter_mut().zip(scales);
                        pairs.for_each(|(value, scale)| *value *= scale.to_f32());
                    }
                    None => now.fill(f32::NAN),
                }
                self.column = self.column.saturating_add(u64_from_usize(now.len()));
                if self.column < self.blocks.stride {
                    continue;
                }
                (self.column, self.row) = (0, self.row.saturating_add(1));
            }
            if self.row >= self.blocks.size {
                // The scales of the next block follow those of all columns of this block. These scales are in memory, so
                // their number fits in a `usize`.
                let columns = usize::try_from(self.blocks.stride).unwrap_or(usize::MAX);
                (self.row, self.first) = (0, self.first.saturating_add(columns));
            }
        }
    }

    /// Returns `count` scales, from the scale of the next element on. Returns `None` if the view has fewer, so that
    /// values become NaN instead of being multiplied by other scales.
    fn factors(&self, count: usize) -> Option<&[F8E8M0]> {
        let start = self.first.checked_add(usize::try_from(self.column).ok()?)?;
        F8E8M0::native(self.scales.get(start..start.checked_add(count)?)?)
    }
}

/// Splits `values` after the first `length` values, or at the end.
fn split(values: &mut [f32], length: u64) -> (&mut [f32], &mut [f32]) {
    match usize::try_from(length) {
        Ok(length) if length < values.len() => values.split_at_mut(length),
        _ => (values, &mut []),
    }
}

/// Returns the elements in `bytes`, one for each byte.
fn elements<T: Element>(bytes: &[u8]) -> Elements<'_, T> {
    Elements::new(bytes, ByteOrder::Little)
}

fn fill(values: &mut [f32], elements: impl Iterator<Item = f32>) {
    values.iter_mut().zip(elements).for_each(|(value, element)| *value = element);
}

/// An object of the layout `gguf.NAME/1`, where NAME is a type of GGUF. Its content is blocks of that type, as bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GgufBlocks<'a> {
    /// The component `data`: the blocks one after the other, as `u8`.
    pub data: Component<'a>,
    /// The number of weights of a block: 1 or more.
    pub elements_per_block: u64,
    /// The size of a block in bytes: 1 or more.
    pub block_bytes: u64,
}

impl<'a> GgufBlocks<'a> {
    pub(super) fn of(object: &Tensor<'a>) -> Result<Self, Error> {
        Self::read(object).ok_or_else(|| BareError::internal().at(object.location()).into())
    }

    fn read(object: &Tensor<'a>) -> Option<Self> {
        Some(Self {
            data: object.component("data")?,
            elements_per_block: object.number(GgufKey::elems_per_block.field())?,
            block_bytes: object.number(GgufKey::block_bytes.field())?,
        })
    }
}
