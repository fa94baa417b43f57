//! The table of shards of a file that is being written. v2 §7.1.

use alloc::vec::Vec;
use core::ops::Range;

use super::names::places;
use crate::cbor::{Output, fault, key};
use crate::digest::{Digest, Spelled};
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::v2::{ShardKey, blobs_end, validate_shard_name, validate_shards};
use crate::limits::Limits;
use crate::manifest::ShardTable;
use crate::names::by_length;
use crate::num::{Assured as _, len_u32, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule};

/// What a root says of a shard, beside its name: v2 §7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardRecord {
    /// Bytes of the file, 48 or more.
    pub size: u64,
    /// The digest of the whole file, by an algorithm that is known in 2.
    pub digest: Digest<'static>,
}

/// The shards that have been listed, or begun.
#[derive(Debug, Default)]
pub(super) struct ShardList {
    /// Name and fields of each, one after another; of one that has not ended, the name.
    entries: Output,
    /// In the order of the names.
    rows: Vec<ListedShard>,
    begun: u64,
    /// Bytes of all that have ended.
    bytes: u64,
}

#[derive(Clone, Debug)]
struct ListedShard {
    entry: Range<u32>,
    /// Where its blobs end, if it has ended.
    blobs_end: Option<u64>,
}

/// More bytes than the fields of a shard take.
const FIELDS: u64 = 128;

impl ShardList {
    /// Those of a file that is appended to: its table, and what is in that.
    pub(super) fn from_table(shards: ShardTable<'_>, entries: &[u8]) -> Result<Self, OutOfMemory> {
        let mut list = Self::default();
        list.entries.raw(entries)?;
        list.rows.try_reserve_exact(shards.len()).map_err(|_| OutOfMemory)?;
        let starts = places(entries, entries.len());
        let ends = places(entries, entries.len()).skip(1).chain([len_u32(entries.len())]);
        for ((shard, start), end) in shards.zip(starts).zip(ends) {
            list.bytes = list.bytes.saturating_add(shard.size());
            list.rows
                .push(ListedShard { entry: start..end, blobs_end: Some(blobs_end(shard.size())) });
        }
        Ok(list)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether there are some that have begun and not ended.
    pub(super) fn is_unfinished(&self) -> bool {
        self.begun > 0
    }

    /// Bytes of all that have ended.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// As many bytes as the table takes, or a few more.
    pub(super) fn bound(&self) -> u64 {
        let begun = self.begun.saturating_mul(FIELDS);
        u64_from_usize(self.entries.len()).saturating_add(begun)
    }

    /// Where the blobs of the shard of that name end at the latest, if it is listed and has ended.
    pub(super) fn blobs_end(&self, name: &str) -> Option<u64> {
        self.rows.get(self.place(name).ok()?)?.blobs_end
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| by_length(self.name(row), name.as_bytes()))
    }

    fn name(&self, row: &ListedShard) -> &[u8] {
        let entry = self.entries.as_bytes().get(usize_from_u32(row.entry.start)..).assured();
        key(entry).map(|(_, name)| name).assured()
    }

    /// Adds a shard that has begun.
    ///
    /// # Errors
    /// `shard-name`, `limit-shards`; [`Misuse::ShardName`]; [`OutOfMemory`].
    pub(super) fn begin(&mut self, name: &str, limits: &Limits) -> Result<(), Error> {
        validate_shard_name(name.as_bytes()).map_err(|error| {
            let fault = fault(error);
            Error::nowhere(fault.kind).found(fault.found)
        })?;
        let Err(place) = self.place(name) else { return Err(Error::misuse(Misuse::ShardName)) };
        let count = u64_from_usize(self.rows.len()).saturating_add(1);
        if count > limits.shards().into() {
            return Err(Error::nowhere(Limit::Shards).found(count));
        }
        self.rows.try_reserve(1).map_err(|_| OutOfMemory)?;
        let start = len_u32(self.entries.len());
        self.entries.text(name)?;
        let entry = start..len_u32(self.entries.len());
        self.rows.insert(place, ListedShard { entry, blobs_end: None });
        self.begun = self.begun.saturating_add(1);
        Ok(())
    }

    /// Takes back one that has begun.
    pub(super) fn abandon(&mut self, name: &str) {
        if let Ok(place) = self.place(name) {
            self.rows.remove(place);
            self.begun = self.begun.saturating_sub(1);
        }
    }

    /// Lists a shard that has begun: its fields are validated as a reader does.
    ///
    /// # Errors
    /// `shard-size`, `digest-form`; [`Misuse::UnknownShard`]; [`OutOfMemory`].
    pub(super) fn end(
        &mut self,
        name: &str,
        record: &ShardRecord,
        limits: &Limits,
    ) -> Result<(), Error> {
        let begun = |row: &ListedShard| row.blobs_end.is_none();
        let place = self.place(name).ok().filter(|place| self.rows.get(*place).is_some_and(begun));
        let place = place.ok_or(Error::misuse(Misuse::UnknownShard))?;
        let digest = Spelled::new(&record.digest).ok_or(Error::nowhere(Rule::DigestForm))?;
        let mut table = Output::default();
        table.map(1)?;
        let head = table.len();
        table.text(name)?;
        table.map(2)?;
        ShardKey::size.write(&mut table)?;
        table.uint(record.size)?;
        ShardKey::digest.write(&mut table)?;
        table.text(digest.as_str())?;
        validate_shards(limits, table.as_bytes()).map_err(|error| {
            let fault = fault(error);
            Error::nowhere(fault.kind).found(fault.found)
        })?;
        let start = len_u32(self.entries.len());
        self.entries.raw(table.as_bytes().get(head..).assured())?;
        let entry = start..len_u32(self.entries.len());
        if let Some(row) = self.rows.get_mut(place) {
            *row = ListedShard { entry, blobs_end: Some(blobs_end(record.size)) };
        }
        self.begun = self.begun.saturating_sub(1);
        self.bytes = self.bytes.saturating_add(record.size);
        Ok(())
    }

    /// Writes the table: a map of all that have ended.
    pub(super) fn write(&self, out: &mut Output) -> Result<(), OutOfMemory> {
        out.map(u64_from_usize(self.rows.len()))?;
        for row in &self.rows {
            let range = usize_from_u32(row.entry.start)..usize_from_u32(row.entry.end);
            out.raw(self.entries.as_bytes().get(range).assured())?;
        }
        Ok(())
    }
}
