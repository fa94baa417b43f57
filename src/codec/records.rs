//! Reading one field of records.

use alloc::vec::Vec;

use crate::error::{BareError, Error, OutOfMemory};
use crate::index::RecordField;
use crate::num::u64_from_usize;
use crate::read_at::extend;

/// The largest number of decoded bytes that [`Records`] holds in memory at once. A single record may be longer.
pub(super) const RECORDS: usize = 64 << 10;

/// The state of reading one field of all records: the position of the field, and the decoded bytes that hold the current
/// record.
pub(super) struct Records {
    /// The size of a record in bytes.
    record: u64,
    /// The offset of the field in each record, in bytes.
    offset: u64,
    /// The size of the field in bytes.
    size: u64,
    /// The bytes that were decoded last. The content is the records one after the other.
    bytes: Vec<u8>,
    /// The offset in the decoded content of the first byte of `bytes`.
    start: u64,
    /// The number of bytes of the field that have been handed out, summed over all records so far.
    taken: u64,
}

impl Records {
    /// Prepares to read `field` from the first record on.
    pub(super) fn new(field: RecordField) -> Result<Self, BareError> {
        let RecordField { record, offset, size } = field;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(RECORDS).map_err(|_| OutOfMemory)?;
        Ok(Self { record, offset, size, bytes, start: 0, taken: 0 })
    }

    /// Fills `room` with the next bytes of the field, and returns their number. If `room` is empty, decodes the rest of the
    /// content, so that the checksum of the content covers it, and returns 0. `decode` decodes the next bytes of the content
    /// to the front of a buffer, and returns their number. The first argument of `decode` is the number of bytes that it has
    /// decoded before.
    pub(super) fn read(
        &mut self,
        room: &mut [u8],
        mut decode: impl FnMut(u64, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<usize, Error> {
        let internal = BareError::internal();
        if room.is_empty() {
            while self.decode(&mut decode)? > 0 {}
            return Ok(0);
        }
        let mut rest = &mut *room;
        while !rest.is_empty() {
            let record = self.taken.checked_div(self.size).ok_or(internal)?;
            let within = self.taken.checked_rem(self.size).ok_or(internal)?;
            let first = record.checked_mul(self.record).ok_or(internal)?;
            let at = first.saturating_add(self.offset).saturating_add(within);
            let held = at.checked_sub(self.start).and_then(|skipped| {
                let skipped = usize::try_from(skipped).ok()?;
                self.bytes.get(skipped..).filter(|held| !held.is_empty())
            });
            let Some(held) = held else {
                if self.decode(&mut decode)? == 0 {
                    return Err(internal.into());
                }
                continue;
            };
            let left = usize::try_from(self.size.saturating_sub(within)).unwrap_or(usize::MAX);
            let length = held.len().min(left).min(rest.len());
            let (filled, more) = rest.split_at_mut_checked(length).ok_or(internal)?;
            filled.copy_from_slice(held.get(..length).ok_or(internal)?);
            self.taken = self.taken.saturating_add(u64_from_usize(length));
            rest = more;
        }
        Ok(room.len())
    }

    /// Replaces the decoded bytes with the next bytes of the content, and returns their number.
    fn decode(
        &mut self,
        decode: &mut impl FnMut(u64, &mut [u8]) -> Result<usize, Error>,
    ) -> Result<usize, Error> {
        self.start = self.start.saturating_add(u64_from_usize(self.bytes.len()));
        extend(&mut self.bytes, RECORDS)?;
        let length = decode(self.start, &mut self.bytes)?;
        self.bytes.truncate(length);
        Ok(length)
    }
}
