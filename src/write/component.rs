//! Validating the bytes of one component as they come.

use core::num::NonZeroUsize;

use super::declare::Resolved;
use crate::codec::validate_bools;
use crate::element::StorageType;
use crate::error::{Error, Place};
use crate::layout::BadIndex;
use crate::rules::Rule;
use crate::verify::Sparse;

/// The current component.
pub(super) struct Stream<'a> {
    pub(super) role: &'a str,
    pub(super) resolved: Resolved<'a>,
    pub(super) place: Place,
    /// Decoded bytes that are still to come.
    pub(super) left: u64,
    /// The first bytes of an index whose others are still to come.
    pub(super) part: ([u8; 8], usize),
    /// Whether the last high nibble has to be 0, and the last byte that came.
    pub(super) odd: bool,
    pub(super) last: u8,
}

impl Stream<'_> {
    /// Validates some of the bytes, as a reader will.
    pub(super) fn validate(
        &mut self,
        piece: &[u8],
        sparse: &mut Sparse<impl Iterator<Item = u64> + Clone>,
    ) -> Result<(), Error> {
        if self.resolved.storage == StorageType::Bool {
            validate_bools(piece, None, Rule::BoolValue.into())
                .map_err(|error| error.at(self.place))?;
        }
        if sparse.asks() {
            self.indices(piece, sparse)?;
        }
        self.last = piece.last().copied().unwrap_or(self.last);
        Ok(())
    }

    /// Validates indices, of which any number of bytes may have come.
    fn indices(
        &mut self,
        mut piece: &[u8],
        sparse: &mut Sparse<impl Iterator<Item = u64> + Clone>,
    ) -> Result<(), Error> {
        let (place, storage) = (self.place, self.resolved.storage);
        let mut validate = |whole: &[u8]| sparse.validate(whole).map_err(|bad| refused(bad, place));
        let internal = Error::internal().at(place);
        let (bytes, held) = &mut self.part;
        let part = bytes.get_mut(..storage.width().into()).ok_or(internal)?;
        if *held > 0 {
            for slot in part.iter_mut().skip(*held) {
                let Some((byte, rest)) = piece.split_first() else { return Ok(()) };
                *slot = *byte;
                *held = held.saturating_add(1);
                piece = rest;
            }
            validate(part)?;
            *held = 0;
        }
        let rest = piece.len() % NonZeroUsize::from(storage.divisor());
        let (whole, rest) =
            piece.split_at_checked(piece.len().saturating_sub(rest)).ok_or(internal)?;
        validate(whole)?;
        for (slot, byte) in part.iter_mut().zip(rest) {
            *slot = *byte;
        }
        *held = rest.len();
        Ok(())
    }

    /// Validates what only the last byte shows.
    pub(super) fn settle(
        &self,
        sparse: &mut Sparse<impl Iterator<Item = u64> + Clone>,
    ) -> Result<(), Error> {
        sparse.finish().map_err(|bad| refused(bad, self.place))?;
        if self.odd && self.last > 15 {
            let error = Error::nowhere(Rule::NibbleValue).found(self.last.into());
            return Err(error.at(self.place));
        }
        Ok(())
    }
}

/// The error of an index that is not in a file yet.
fn refused(bad: BadIndex, place: Place) -> Error {
    Error::nowhere(bad.kind).found(bad.found).at(place)
}
