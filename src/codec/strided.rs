//! Elements that lie by strides, in column-major order among them, handed out in row-major order.

use alloc::vec::Vec;

use crate::error::{BareError, OutOfMemory};
use crate::num::{sort_by, u64_from_usize};

/// The elements of an array, which have been read and verified.
pub(super) struct Strided {
    elements: Elements,
    /// Bytes of an element.
    width: usize,
    /// The dimensions of two or more, innermost first.
    axes: Vec<Axis>,
}

/// The bytes of elements that are held.
pub(super) enum Elements {
    /// All bytes that the array lies in.
    All(Vec<u8>),
    /// The elements alone.
    Picked(Picked),
}

/// The elements of an array that lie far apart, each of them once.
#[derive(Default)]
pub(super) struct Picked {
    /// Where they lie in the blob, ascending.
    starts: Vec<u64>,
    /// The bytes of the first of them, as many as have come.
    bytes: Vec<u8>,
}

impl Picked {
    /// Prepares to pick the `count` elements of an array out of the bytes that it lies in, where they take so many fewer
    /// bytes than those that it pays to keep a list of their places.
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
                    // Within the blob, whose end is a `u64`. There is room for all of them.
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

    /// Picks the elements that are in a chunk of the blob: a whole number of elements, the first of which lies at `at`.
    pub(super) fn take(&mut self, at: u64, chunk: &[u8], width: usize) -> Result<(), BareError> {
        let end = at.saturating_add(u64_from_usize(chunk.len()));
        let taken = self.bytes.len().checked_div(width).ok_or(BareError::internal())?;
        let left = self.starts.get(taken..).unwrap_or_default();
        for start in left.iter().take_while(|start| **start < end) {
            let within = start.checked_sub(at).and_then(|start| usize::try_from(start).ok());
            let element = within.and_then(|start| chunk.get(start..)?.get(..width));
            // There is room for all of them.
            self.bytes.extend_from_slice(element.ok_or(BareError::internal())?);
        }
        Ok(())
    }

    /// The element that lies at `start`.
    fn element(&self, start: u64, width: usize) -> Option<&[u8]> {
        let place = self.starts.binary_search(&start).ok()?.checked_mul(width)?;
        self.bytes.get(place..)?.get(..width)
    }
}

impl Elements {
    /// The element that lies at `start`.
    fn element(&self, start: u64, width: usize) -> Option<&[u8]> {
        match self {
            Self::All(bytes) => bytes.get(usize::try_from(start).ok()?..)?.get(..width),
            Self::Picked(picked) => picked.element(start, width),
        }
    }
}

/// A dimension, and the index in it of the next element.
struct Axis {
    dimension: u64,
    /// Bytes from one index to the next.
    stride: u64,
    index: u64,
}

impl Strided {
    /// The array of those dimensions and their strides in elements, which is not empty, and whose elements take `width` bytes
    /// each.
    pub(super) fn new(
        elements: Elements,
        dimensions: impl Iterator<Item = (u64, u64)>,
        width: u64,
    ) -> Result<Self, BareError> {
        let internal = BareError::internal();
        let mut axes = Vec::new();
        // Many dimensions of one would be work for each element.
        for (dimension, stride) in dimensions.filter(|(dimension, _)| *dimension > 1) {
            axes.try_reserve(1).map_err(|_| BareError::from(OutOfMemory))?;
            let stride = stride.checked_mul(width).ok_or(internal)?;
            axes.push(Axis { dimension, stride, index: 0 });
        }
        axes.reverse();
        Ok(Self { elements, width: usize::try_from(width).map_err(|_| internal)?, axes })
    }

    /// Fills `room` with the bytes from `position` on, which may be within an element.
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
