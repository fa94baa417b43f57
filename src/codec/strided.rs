//! Elements that lie by strides, in column-major order among them, handed out in row-major order.

use alloc::vec::Vec;

use crate::error::{BareError, OutOfMemory};
use crate::num::u64_from_usize;

/// All bytes that an array lies in, which have been read and verified.
pub(super) struct Strided {
    bytes: Vec<u8>,
    /// Bytes of an element.
    width: usize,
    /// The dimensions of two or more, innermost first.
    axes: Vec<Axis>,
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
        bytes: Vec<u8>,
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
        Ok(Self { bytes, width: usize::try_from(width).map_err(|_| internal)?, axes })
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
            let behind = usize::try_from(start).ok().and_then(|start| self.bytes.get(start..));
            let element = behind.and_then(|bytes| bytes.get(within..self.width)).ok_or(internal)?;
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
