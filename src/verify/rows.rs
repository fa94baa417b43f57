//! Validating that the indices of each sparse row are strictly ascending: v2 §5.2.

use alloc::vec::Vec;

use crate::codec::{Content, Locate, ReadAt, ReadError};
use crate::element::{ByteOrder, StorageType};
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::Format;
use crate::layout::{BadIndex, Widened};
use crate::limits::Limits;
use crate::manifest::{Component, Object};
use crate::rules::Rule;

/// Validates an object whose row pointers have been found to be in order, by reading them beside
/// the indices a second time.
pub(super) fn validate<L: Locate>(
    object: &Object<'_>,
    files: L,
    limits: &Limits,
) -> Result<(), ReadError<<L::Source as ReadAt>::Error>> {
    if object.format() != Format::SparseCsr || !object.dialect().single_cells {
        return Ok(());
    }
    let (Some(indices), Some(indptr)) = (object.component("indices"), object.component("indptr"))
    else {
        return Ok(());
    };
    let mut ends = Stream::open(&indptr, files, limits)?;
    let mut stream = Stream::open(&indices, files, limits)?;
    let mut row = Row::default();
    let mut end = ends.next()?;
    while let Some(index) = stream.next()? {
        // Pointers that do not lead on are those of empty rows.
        while end == Some(row.at) {
            row.last = None;
            end = ends.next()?;
        }
        if end.is_none() {
            // The source has given other pointers before.
            return Err(Error::misuse(Misuse::Supply).at(indptr.place()).into());
        }
        row.validate(index).map_err(|bad| bad.error(&indices))?;
    }
    Ok(())
}

/// How far the indices have come.
#[derive(Default)]
pub(crate) struct Row {
    at: u64,
    /// The index before, in the same row.
    last: Option<u64>,
}

impl Row {
    fn validate(&mut self, index: u64) -> Result<(), BadIndex> {
        if self.last.is_some_and(|last| last >= index) {
            return Err(BadIndex { rule: Rule::IndexOrder, at: self.at, found: index });
        }
        self.last = Some(index);
        self.at = self.at.saturating_add(1);
        Ok(())
    }
}

/// The indices of a component, one by one.
struct Stream<'a, S> {
    content: Content<'a, S>,
    storage: StorageType,
    /// A chunk, and how many of its bytes have been taken.
    chunk: Vec<u8>,
    taken: usize,
}

impl<'a, S: ReadAt> Stream<'a, S> {
    fn open(
        component: &Component<'a>,
        files: impl Locate<Source = S>,
        limits: &Limits,
    ) -> Result<Self, ReadError<S::Error>> {
        let (component, source) = files.locate(component)?;
        let content = component.content(source, limits)?;
        let storage = component.stored()?;
        Ok(Self { content, storage, chunk: Vec::new(), taken: 0 })
    }

    fn next(&mut self) -> Result<Option<u64>, ReadError<S::Error>> {
        if self.taken == self.chunk.len() {
            let Some(chunk) = self.content.next_chunk()? else { return Ok(None) };
            self.chunk.clear();
            self.chunk.try_reserve(chunk.len()).map_err(|_| Error::from(OutOfMemory))?;
            self.chunk.extend_from_slice(chunk);
            self.taken = 0;
        }
        let rest = self.chunk.get(self.taken..).ok_or(Error::internal())?;
        let index = Widened::new(rest, self.storage, ByteOrder::Little).next();
        self.taken = self.taken.saturating_add(self.storage.width().into());
        Ok(index)
    }
}
