//! Reading strided and column-major elements in row-major order.

use alloc::vec::Vec;

use crate::error::{BareError, OutOfMemory};
use crate::num::{sort_by, u64_from_usize};

/// A strided array whose bytes have been read and verified, and the position in it of the next element.
pub(super) struct Strided {
    elements: Elements,
    /// The size of an element in bytes.
    width: usize,
    /// The dimensions whose size is 2 or more, innermost first.
    axes: Vec<Axis>,
}

/// The bytes of a strided array that have been read into memory: the whole blob, or only the elements.
pub(super) enum Elements {
    /// All bytes of the blob, including bytes between elements.
    All(Vec<u8>),
    /// The elements without the bytes between them.
    Picked(Picked),
}

/// The elements of an array that lie far apart in its blob. Elements that strides repeat are kept once.
#[derive(Default)]
pub(super) struct Picked {
    /// The offset in the blob of each element, ascending.
    starts: Vec<u64>,
    /// The bytes of the elements that have been read so far, in the order of `starts`.
    bytes: Vec<u8>,
}

impl Picked {
    /// Prepares to pick the `count` elements of an array, of `width` bytes each, out of a blob of `held` bytes.
    /// `dimensions` are sizes and strides in elements. Returns `None` if the elements and the list of their offsets
    /// take more than a quarter of the blob: keeping the whole blob is then cheaper.
    pub(super) fn new(
        dimensions: impl Iterator<Item = (u64, u64)>,
        (count, width, held): (u64, u64, u64),
    ) -> Result<Option<Self>, BareError> {
        let memory = BareError::from(OutOfMemory);
        let needed = width.checked_add(8).and_then(|each| each.checked_mul(count));
        if needed.is_none_or(|needed| needed > held / 4) {
            return Ok(None);
        }
        let count = usize::try_from(count).map_err(|_| memory)?;
        let mut starts = Vec::new();
        starts.try_reserve_exact(count).map_err(|_| memory)?;
        starts.push(0_u64);
        for (dimension, stride) in dimensions.filter(|(dimension, _)| *dimension > 1) {
            let stride = stride.checked_mul(width).ok_or(BareError::internal())?;
            let before = starts.len();
            for index in 1..dimension {
                for at in 0..before {
                    let start = starts.get(at).copied().unwrap_or_default();
                    // The array was validated to lie within the blob, so the offset fits in 64 bits. There is room for
                    // `count` offsets.
                    starts.push(start.wrapping_add(index.wrapping_mul(stride)));
                }
            }
        }
        sort_by(&mut starts, Ord::cmp);
        starts.dedup();
        let width = usize::try_from(width).map_err(|_| memory)?;
        let length = starts.len().checked_mul(width).ok_or(memory)?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| memory)?;
        Ok(Some(Self { starts, bytes }))
    }

    /// Picks the elements that begin in `chunk`, the bytes of the blob from the offset `at` on: a whole number of elements
    /// of `width` bytes. Chunks must be passed in order.
    pub(super) fn take(&mut self, at: u64, chunk: &[u8], width: usize) -> Result<(), BareError> {
        let end = at.saturating_add(u64_from_usize(chunk.len()));
        let taken = self.bytes.len().checked_div(width).ok_or(BareError::internal())?;
        let left = self.starts.get(taken..).unwrap_or_default();
        for start in left.iter().take_while(|start| **start < end) {
            let within = start.checked_sub(at).and_then(|start| usize::try_from(start).ok());
            let element = within.and_then(|start| chunk.get(start..)?.get(..width));
            // Appending to `bytes` does not allocate, because `new` has reserved room for all elements.
            self.bytes.extend_from_slice(element.ok_or(BareError::internal())?);
        }
        Ok(())
    }

    /// Returns the element of `width` bytes at offset `start` of the blob, or `None` if it was not picked.
    fn element(&self, start: u64, width: usize) -> Option<&[u8]> {
        let offset = self.starts.binary_search(&start).ok()?.checked_mul(width)?;
        self.bytes.get(offset..)?.get(..width)
    }
}

impl Elements {
    /// Returns the element of `width` bytes at offset `start` of the blob.
    fn element(&self, start: u64, width: usize) -> Option<&[u8]> {
        match self {
            Self::All(bytes) => bytes.get(usize::try_from(start).ok()?..)?.get(..width),
            Self::Picked(picked) => picked.element(start, width),
        }
    }
}

/// A dimension, and the index of the next element along it.
struct Axis {
    dimension: u64,
    /// The distance in bytes from one index to the next.
    stride: u64,
    index: u64,
}

impl Strided {
    /// Creates an array from its `elements`, of `width` bytes each. `dimensions` are sizes and strides in elements,
    /// outermost first. The array must not be empty.
    pub(super) fn new(
        elements: Elements,
        dimensions: impl Iterator<Item = (u64, u64)>,
        width: u64,
    ) -> Result<Self, BareError> {
        let internal = BareError::internal();
        let mut axes = Vec::new();
        // Dimensions of size 1 are left out: a file may have many, and each of them would cost time for every element.
        for (dimension, stride) in dimensions.filter(|(dimension, _)| *dimension > 1) {
            axes.try_reserve(1).map_err(|_| BareError::from(OutOfMemory))?;
            let stride = stride.checked_mul(width).ok_or(internal)?;
            axes.push(Axis { dimension, stride, index: 0 });
        }
        axes.reverse();
        Ok(Self { elements, width: usize::try_from(width).map_err(|_| internal)?, axes })
    }

    /// Fills `room` with the bytes of the row-major array from `position` on, which may be within an element.
    pub(super) fn read(&mut self, position: u64, room: &mut [u8]) -> Result<(), BareError> {
        let internal = BareError::internal();
        let position = usize::try_from(position).map_err(|_| internal)?;
        let mut within = position.checked_rem(self.width).ok_or(internal)?;
        let mut ordinal = u64_from_usize(position.checked_div(self.width).ok_or(internal)?);
        let mut start = 0_u64;
        for axis in &mut self.axes {
            axis.index = ordinal.checked_rem(axis.dimension).ok_or(internal)?;
            ordinal = ordinal.checked_div(axis.dimension).ok_or(internal)?;
            start = start.wrapping_add(axis.index.wrapping_mul(axis.stride));
        }
        let mut rest = room;
        while !rest.is_empty() {
            let element = self.elements.element(start, self.width);
            let element = element.and_then(|bytes| bytes.get(within..)).ok_or(internal)?;
            let length = element.len().min(rest.len());
            let (filled, more) = rest.split_at_mut_checked(length).ok_or(internal)?;
            filled.copy_from_slice(element.get(..length).ok_or(internal)?);
            (rest, within) = (more, 0);
            for axis in &mut self.axes {
                axis.index = axis.index.wrapping_add(1);
                start = start.wrapping_add(axis.stride);
                if axis.index < axis.dimension {
                    break;
                }
                start = start.wrapping_sub(axis.dimension.wrapping_mul(axis.stride));
                axis.index = 0;
            }
        }
        Ok(())
    }
}
