//! Validating that no cell of a list of coordinates has two values: v2 §5.2.

use alloc::vec::Vec;

use crate::codec::{Locate, ReadAt, ReadError};
use crate::element::{ByteOrder, StorageType};
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::Format;
use crate::layout::{BadIndex, Widened};
use crate::limits::Limits;
use crate::manifest::{Component, Dimensions, Object};
use crate::num::u64_from_usize;
use crate::rules::{Limit, Rule};

/// The cells of a list of coordinates, as those come: 8 bytes each, which grow as bytes do.
///
/// A cell is its place in row-major order. The product of the shape is below 2^64, so that any cell
/// is a `u64`.
#[derive(Debug)]
pub(crate) struct CellList<D> {
    storage: StorageType,
    found: Vec<u64>,
    count: usize,
    /// The dimensions whose coordinates are to come.
    dimensions: D,
    /// The current dimension, and the value whose coordinate comes next.
    size: u64,
    at: usize,
}

impl<D: Iterator<Item = u64>> CellList<D> {
    /// Those of so many values.
    ///
    /// # Errors
    /// `limit-decoded`.
    pub(crate) fn new(
        dimensions: D,
        storage: StorageType,
        count: u64,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let bytes = count.saturating_mul(u64_from_usize(size_of::<u64>()));
        let count = usize::try_from(count).ok().filter(|_| bytes <= limits.decoded());
        let count = count.ok_or(Error::nowhere(Limit::Decoded).found(bytes))?;
        Ok(Self { storage, found: Vec::new(), count, dimensions, size: 0, at: count })
    }

    /// Takes some of the little-endian coordinates, all of the first dimension, then all of the
    /// second: a whole number, each found to be within its dimension.
    pub(crate) fn add(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let indices = Widened::new(chunk, self.storage, ByteOrder::Little);
        let needed = self.found.len().saturating_add(indices.len()).min(self.count);
        if needed > self.found.capacity() {
            let doubled = self.found.capacity().saturating_mul(2).min(self.count);
            let target = doubled.max(needed);
            let more = target.saturating_sub(self.found.len());
            self.found.try_reserve_exact(more).map_err(|_| OutOfMemory)?;
        }
        self.found.resize(needed, 0);
        let mut dimensions_left = true;
        indices.for_each(|index| {
            if self.at == self.count {
                match self.dimensions.next() {
                    Some(size) => (self.at, self.size) = (0, size),
                    None => dimensions_left = false,
                }
            }
            if let Some(cell) = self.found.get_mut(self.at) {
                *cell = cell.wrapping_mul(self.size).wrapping_add(index);
            }
            self.at = self.at.saturating_add(1);
        });
        if dimensions_left { Ok(()) } else { Err(Error::internal()) }
    }

    /// The first cell, in row-major order, that is there twice, once all have come. They are sorted,
    /// if they are not.
    pub(crate) fn repeated(&mut self) -> Option<u64> {
        repeated(&mut self.found)
    }
}

/// The cells of an object that is read.
pub(super) struct Cells<'a> {
    coords: Component<'a>,
    list: CellList<Dimensions<'a>>,
}

impl<'a> Cells<'a> {
    /// Those of an object that may have none twice; else none.
    ///
    /// # Errors
    /// `limit-decoded`.
    pub(super) fn new(object: &Object<'a>, limits: &Limits) -> Result<Option<Self>, Error> {
        if object.format() != Format::SparseCoo || !object.dialect().single_cells {
            return Ok(None);
        }
        let coords = object.component("coords");
        let Some((coords, storage)) = coords.and_then(|own| Some((own, own.storage_type()?)))
        else {
            return Ok(None);
        };
        let rank = u64::from(object.shape().rank());
        let indices =
            coords.decoded_length().and_then(|all| all.checked_div(storage.width().into()));
        let count = indices.and_then(|indices| indices.checked_div(rank));
        let count = count.ok_or(Error::internal().at(coords.place()))?;
        let list =
            CellList::new(object.shape().iter(), storage, count, limits).map_err(|over| {
                let found = count.saturating_mul(u64_from_usize(size_of::<u64>()));
                let own = Error::new(over.kind(), coords.extent().offset()).found(found);
                own.at(coords.place())
            })?;
        Ok(Some(Self { coords, list }))
    }

    /// Takes some of the little-endian coordinates: a whole number.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub(super) fn add(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.list.add(chunk).map_err(|error| error.at(self.coords.place()))
    }

    /// Validates that no two are the same, once all have come. Where two are, the coordinates are
    /// read again to find where.
    ///
    /// # Errors
    /// `coo-cell-repeated`; whatever the source fails with.
    pub(super) fn finish<L: Locate>(
        mut self,
        files: L,
        limits: &Limits,
    ) -> Result<(), ReadError<<L::Source as ReadAt>::Error>> {
        let Some(cell) = self.list.repeated() else { return Ok(()) };
        let coords = self.coords;
        drop(self);
        let supply = Error::misuse(Misuse::Supply).at(coords.place());
        let mut again = Self::new(&coords.object(), limits)?.ok_or(supply)?;
        let (component, source) = files.locate(&coords)?;
        let mut content = component.content(source, limits)?;
        while let Some(chunk) = content.next_chunk()? {
            again.add(chunk)?;
        }
        let mut same = again.list.found.iter().enumerate().filter(|(_, other)| **other == cell);
        // Unless the source has given others before.
        let (value, _) = same.nth(1).ok_or(supply)?;
        let value = u64_from_usize(value);
        let bad = BadIndex { rule: Rule::CellRepeated, at: value, found: value };
        Err(bad.error(&component).into())
    }
}

/// The first cell, in row-major order, that is there twice. They are sorted, if they are not.
fn repeated(cells: &mut [u64]) -> Option<u64> {
    fn pairs(cells: &[u64]) -> impl Iterator<Item = (&u64, &u64)> {
        cells.iter().zip(cells.iter().skip(1))
    }
    if pairs(cells).all(|(cell, next)| cell < next) {
        return None;
    }
    cells.sort_unstable();
    pairs(cells).find(|(cell, next)| cell == next).map(|(cell, _)| *cell)
}
