//! What reading a component validates on the way.

use super::Reading;
use crate::codec::bools::validate_bools;
use crate::codec::hasher::Hasher;
use crate::element::StorageType;
use crate::error::Error;
use crate::format::Encoding;
use crate::num::u64_from_usize;
use crate::rules::Rule;

impl Reading<'_> {
    /// Validates a chunk, and goes on behind it.
    pub(super) fn pass(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.validate(chunk)?;
        self.last = chunk.last().copied().unwrap_or(self.last);
        self.position = self.position.saturating_add(u64_from_usize(chunk.len()));
        Ok(())
    }

    /// Validates what only the end shows.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.whole()?;
        self.last_nibble()?;
        // There is a hasher as long as the end has not come.
        match self.hasher.take().map(Hasher::finish) {
            Some(Ok(verified)) => self.verified = Some(verified),
            Some(Err(mismatch)) => {
                self.mismatch = Some(mismatch);
                let error = Error::new(Rule::DigestMismatch, self.component.extent().offset());
                return Err(error.found(mismatch.heads()).at(self.component.place()));
            }
            None => {}
        }
        Ok(())
    }

    /// Components of 1.x hold whole elements, which only decoding shows where the manifest does
    /// not give their size.
    fn whole(&self) -> Result<(), Error> {
        let unit = self.component.unit();
        let whole = unit.is_none_or(|unit| self.position.is_multiple_of(unit));
        if whole || !self.component.dialect().facts.whole_elements {
            return Ok(());
        }
        let error = Error::nowhere(Rule::WholeElements).found(self.position);
        Err(error.at(self.component.place()))
    }

    /// Bools of 1.x are 0 or 1: v1.1 II.4, v1.2 §2.
    fn validate(&self, bytes: &[u8]) -> Result<(), Error> {
        if let Some(rule) = self.component.dialect().bool_value
            && self.storage == StorageType::Bool
        {
            let checked = validate_bools(bytes, self.offset_of(self.position), rule);
            checked.map_err(|error| error.at(self.component.place()))?;
        }
        Ok(())
    }

    /// The high nibble of the last byte of an odd number of `f4_e2m1` is 0: v2 appendix A.
    fn last_nibble(&self) -> Result<(), Error> {
        let odd = self.component.packed_elements().is_some_and(|count| count & 1 == 1);
        if !odd || self.last < 16 {
            return Ok(());
        }
        let offset = self.position.checked_sub(1).and_then(|last| self.offset_of(last));
        let error = match offset {
            Some(offset) => Error::new(Rule::NibbleValue, offset),
            None => Error::nowhere(Rule::NibbleValue),
        };
        Err(error.found(self.last.into()).at(self.component.place()))
    }

    /// Where in the file a decoded byte is, if it is in the file.
    fn offset_of(&self, position: u64) -> Option<u64> {
        match self.component.encoding() {
            Encoding::Raw => self.component.extent().offset().checked_add(position),
            _ => None,
        }
    }
}
