//! `zt.mx/1`: blocks of elements along an axis, and a scale for each. v2 §5.2.

mod dequantizer;

pub use dequantizer::MxDequantizer;

use super::{Decoded, View};
use crate::codec::{ReadAt, ReadError};
use crate::error::{Error, Misuse};
use crate::format::Format;
use crate::format::v2::MxKey;
use crate::limits::Limits;
use crate::manifest::{Component, Object, Shape};
use crate::num::u64_from_usize;

/// A `zt.mx/1` object: its shape, its parts, and how blocks lie.
///
/// | what | shape, row-major |
/// | --- | --- |
/// | the values | the object's shape |
/// | `data`: `f4_e2m1`, two a byte, `f8_e4m3fn`, `f8_e5m2` or `i8` | as the values |
/// | `scales`: `f8_e8m0` | as the values, but along the axis one for each block |
///
/// A value is its element times its scale: 2^(scale − 127) × element, and not a number where the
/// scale is FF.
///
/// ```
/// # let file = std::fs::read("corpus/v2/accept/mx.zt").unwrap();
/// let archive = zten::Archive::open(&file)?;
/// let mx = archive.get("w").unwrap().mx()?;
/// assert_eq!((mx.axis(), mx.block_size()), (1, 2));
/// let mut values = [0_f32; 2 * 4];
/// mx.bind(&file)?.dequantize(&mut values)?;
/// # assert_eq!(values, [1.0, 2.0, 1.5, 2.0, 8.0, 12.0, -0.0, -0.5]);
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Mx<'a> {
    object: Object<'a>,
    data: Component<'a>,
    scales: Component<'a>,
    blocks: Blocks,
}

/// How elements and scales lie.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    axis: u32,
    /// Elements of a block.
    size: u64,
    /// Elements from one place on the axis to the next.
    stride: u64,
    /// All elements, and all scales.
    elements: u64,
    scales: u64,
}

impl<'a> Object<'a> {
    /// The object as blocks with a scale each.
    ///
    /// # Errors
    /// [`Misuse::Format`] where it is of another format; `unsupported-layout`, `unsupported-format`
    /// where that is not known.
    pub fn mx(&self) -> Result<Mx<'a>, Error> {
        let read = || {
            let (data, scales) = (self.component("data")?, self.component("scales")?);
            Some(Mx { object: *self, data, scales, blocks: Blocks::of(self)? })
        };
        let mx = if self.format() == Format::Mx { read() } else { None };
        mx.ok_or_else(|| self.other_format())
    }
}

impl Blocks {
    /// Those of an object that has been validated.
    fn of(object: &Object<'_>) -> Option<Self> {
        let last = object.shape().rank().checked_sub(1)?;
        let axis = match object.number(MxKey::axis.field()) {
            Some(axis) => u32::try_from(axis).ok()?,
            None => last,
        };
        let size = object.number(MxKey::block_size.field())?;
        let elements = object.shape().elements()?;
        // Where there are no elements, the product of some dimensions may not fit in 64 bits.
        let within = object.shape().iter().zip(0_u32..).filter(|(_, at)| *at > axis);
        let stride = within.fold(1, |stride: u64, (dimension, _)| stride.saturating_mul(dimension));
        Some(Self { axis, size, stride, elements, scales: elements.checked_div(size)? })
    }
}

impl<'a> Mx<'a> {
    /// The dimensions of the values, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.object.shape()
    }

    /// The dimension along which blocks lie, the outermost being 0: the attribute `axis`, and the
    /// last dimension where there is none.
    pub fn axis(&self) -> u32 {
        self.blocks.axis
    }

    /// How many elements along the axis have a scale in common: 2 or more.
    pub fn block_size(&self) -> u64 {
        self.blocks.size
    }

    /// The part `data`: the elements.
    pub fn data(&self) -> Component<'a> {
        self.data
    }

    /// The part `scales`.
    pub fn scales(&self) -> Component<'a> {
        self.scales
    }

    /// Binds the values to the file they are in, all of whose bytes are in `file`. Neither memory
    /// nor time depends on their size.
    ///
    /// # Errors
    /// As [`Component::bind`]; `nibble-value`.
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<MxArray<'d>, Error> {
        MxArray::validate(self.blocks, self.data.bind(file)?, self.scales.bind(file)?)
    }

    /// Decodes the parts, whatever their encoding, into memory of their own. The elements stay as
    /// they are.
    ///
    /// # Errors
    /// As [`Component::decode`].
    pub fn decode<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<DecodedMx, ReadError<R::Error>> {
        let data = self.data.decode(source, limits)?;
        let scales = self.scales.decode(source, limits)?;
        let MxArray { length, .. } = MxArray::validate(self.blocks, data.view(), scales.view())?;
        Ok(DecodedMx { blocks: self.blocks, length, data, scales })
    }

    /// Begins to make values of the elements as those are read from [`data`](Self::data), chunk by
    /// chunk, by the elements of [`scales`](Self::scales), which are all in `scales`.
    ///
    /// # Errors
    /// [`Misuse::Size`] where there are more or fewer scales than the object has;
    /// `unsupported-encoding`, `unsupported-shard`.
    pub fn dequantizer<'d>(&self, scales: View<'d>) -> Result<MxDequantizer<'d>, Error> {
        MxDequantizer::new(self.blocks, self.data.kind()?, scales)
    }
}

/// Decoded blocks: what an [`MxArray`] can borrow from.
#[derive(Debug)]
pub struct DecodedMx {
    blocks: Blocks,
    length: usize,
    data: Decoded,
    scales: Decoded,
}

impl DecodedMx {
    /// The values. They were checked when they were decoded: this takes no time.
    pub fn array(&self) -> MxArray<'_> {
        let Self { blocks, length, .. } = *self;
        MxArray { blocks, length, data: self.data.view(), scales: self.scales.view() }
    }
}

/// An array of elements that have a scale in common, block by block. [`Mx`] says how they lie.
#[derive(Clone, Copy, Debug)]
pub struct MxArray<'d> {
    blocks: Blocks,
    length: usize,
    data: View<'d>,
    scales: View<'d>,
}

impl<'d> MxArray<'d> {
    /// The one way to make one that has not been checked before.
    fn validate(blocks: Blocks, data: View<'d>, scales: View<'d>) -> Result<Self, Error> {
        let size = Error::misuse(Misuse::Size).at(data.kind().place);
        let length = usize::try_from(blocks.elements).map_err(|_| size)?;
        if data.kind().logical.is_packed() {
            data.nibbles(length)?;
        }
        MxDequantizer::new(blocks, *data.kind(), scales)?;
        if data.may_hold(length) { Ok(Self { blocks, length, data, scales }) } else { Err(size) }
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.blocks.elements == 0
    }

    /// The elements: `f4_e2m1`, `f8_e4m3fn`, `f8_e5m2` or `i8`.
    pub fn data(&self) -> View<'d> {
        self.data
    }

    /// The scales: `f8_e8m0`.
    pub fn scales(&self) -> View<'d> {
        self.scales
    }

    /// Fills `values` with the values, in row-major order. Each is exact: the product of an element
    /// and its scale is an `f32`, but for those that are too large, which become infinite. O(len),
    /// no memory.
    ///
    /// # Errors
    /// [`Misuse::Buffer`] where `values` has not exactly as many elements.
    pub fn dequantize(&self, values: &mut [f32]) -> Result<(), Error> {
        let buffer = Error::misuse(Misuse::Buffer).at(self.data.kind().place);
        if u64_from_usize(values.len()) != self.blocks.elements {
            return Err(buffer);
        }
        let mut rest = values;
        let mut dequantizer = MxDequantizer::new(self.blocks, *self.data.kind(), self.scales)?;
        dequantizer.chunk(self.data.as_bytes(), |piece| {
            let (now, later) =
                core::mem::take(&mut rest).split_at_mut_checked(piece.len()).ok_or(buffer)?;
            now.copy_from_slice(piece);
            rest = later;
            Ok(())
        })
    }
}
