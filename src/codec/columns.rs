//! Elements that lie in column-major order, handed out in row-major order.

use alloc::vec::Vec;

use crate::error::{Error, OutOfMemory};
use crate::format::Shape;

/// All of an array, which has been read and verified.
pub(super) struct Columns {
    bytes: Vec<u8>,
    /// Bytes of an element.
    width: u64,
    /// The dimensions and the number of elements from one index of each to the next, innermost first.
    axes: Vec<(u64, u64)>,
}

impl Columns {
    /// The array of that shape, whose elements take `width` bytes each.
    pub(super) fn new(bytes: Vec<u8>, shape: Shape<'_>, width: u64) -> Result<Self, Error> {
        let mut axes = Vec::new();
        axes.try_reserve_exact(shape.len()).map_err(|_| Error::from(OutOfMemory))?;
        let mut stride = 1_u64;
        for dimension in shape {
            axes.push((dimension, stride));
            // No bytes are there where a stride is more than can be counted.
            stride = stride.saturating_mul(dimension);
        }
        axes.reverse();
        Ok(Self { bytes, width, axes })
    }

    /// Fills `room`, a whole number of elements, with those from the byte at `position` on.
    pub(super) fn read(&self, position: u64, room: &mut [u8]) -> Result<(), Error> {
        let internal = Error::internal();
        let width = usize::try_from(self.width).map_err(|_| internal)?;
        let (inner, outer) = self.axes.split_first().ok_or(internal)?;
        let (columns, stride) = *inner;
        let first = position.checked_div(self.width).ok_or(internal)?;
        let mut column = first.checked_rem(columns).ok_or(internal)?;
        let mut row = first.checked_div(columns).ok_or(internal)?;
        let mut rest = room;
        while !rest.is_empty() {
            let mut element = 0_u64;
            let mut ordinal = row;
            for (dimension, stride) in outer {
                let index = ordinal.checked_rem(*dimension).ok_or(internal)?;
                ordinal = ordinal.checked_div(*dimension).ok_or(internal)?;
                element = element.saturating_add(index.saturating_mul(*stride));
            }
            let left = usize::try_from(columns.saturating_sub(column)).unwrap_or(usize::MAX);
            let length = left.saturating_mul(width).min(rest.len());
            let (line, behind) = rest.split_at_mut_checked(length).ok_or(internal)?;
            for (index, to) in (column..).zip(line.chunks_exact_mut(width)) {
                let at = element.saturating_add(index.saturating_mul(stride));
                let at = usize::try_from(at.saturating_mul(self.width)).map_err(|_| internal)?;
                let from = self.bytes.get(at..).and_then(|bytes| bytes.get(..width));
                to.copy_from_slice(from.ok_or(internal)?);
            }
            (rest, column, row) = (behind, 0, row.saturating_add(1));
        }
        Ok(())
    }
}
