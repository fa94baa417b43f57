//! The table of shards of a file that is being written. v2 §7.1.

use alloc::string::String;
use alloc::vec::Vec;

use super::names::places;
use crate::cbor::{Output, fault};
use crate::digest::{Digest, Spelled};
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::blobs_end;
use crate::format::v2::{ShardKey, validate_shard_name, validate_shards};
use crate::limits::Limits;
use crate::manifest::Shard;
use crate::names::by_length;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
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
    /// In the order of the names.
    rows: Vec<ListedShard>,
    begun: u64,
    /// The bytes that the entries take, or a few more.
    bound: u64,
    /// Bytes of all that have ended.
    bytes: u64,
}

#[derive(Debug)]
struct ListedShard {
    name: String,
    /// The entry and the end of its blobs, if it has ended.
    ended: Option<(Output, u64)>,
}

impl ListedShard {
    /// One that has begun.
    fn new(name: &str) -> Result<Self, OutOfMemory> {
        let mut own = String::new();
        own.try_reserve_exact(name.len()).map_err(|_| OutOfMemory)?;
        own.push_str(name);
        Ok(Self { name: own, ended: None })
    }

    /// The bytes that its entry takes, or a few more.
    fn bound(&self) -> u64 {
        let begun = || u64_from_usize(self.name.len()).saturating_add(FIELDS);
        self.ended.as_ref().map_or_else(begun, |(entry, _)| u64_from_usize(entry.len()))
    }
}

/// More bytes than the head of a name and the fields of a shard take.
const FIELDS: u64 = 128;

impl ShardList {
    /// Those of a file that is appended to: its table, and what is in that.
    pub(super) fn from_table<'a>(
        shards: impl ExactSizeIterator<Item = Shard<'a>>,
        entries: &[u8],
    ) -> Result<Self, Error> {
        let mut list = Self { bound: u64_from_usize(entries.len()), ..Self::default() };
        list.rows.try_reserve_exact(shards.len()).map_err(|_| OutOfMemory)?;
        let starts = places(entries, entries.len());
        let ends = places(entries, entries.len()).skip(1).chain([len_u32(entries.len())]);
        for ((shard, start), end) in shards.zip(starts).zip(ends) {
            let mut entry = Output::default();
            let bytes = entries.get(usize_from_u32(start)..usize_from_u32(end));
            entry.raw(bytes.ok_or(Error::internal())?)?;
            list.bytes = list.bytes.saturating_add(shard.size());
            let ended = Some((entry, blobs_end(shard.size())));
            list.rows.push(ListedShard { ended, ..ListedShard::new(shard.name())? });
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
        self.bound
    }

    /// Where the blobs of the shard of that name end at the latest, if it is listed and has ended.
    pub(super) fn blobs_end(&self, name: &str) -> Option<u64> {
        self.rows.get(self.place(name).ok()?)?.ended.as_ref().map(|(_, end)| *end)
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.rows.binary_search_by(|row| by_length(row.name.as_bytes(), name.as_bytes()))
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
        let row = ListedShard::new(name)?;
        self.bound = self.bound.saturating_add(row.bound());
        self.rows.insert(place, row);
        self.begun = self.begun.saturating_add(1);
        Ok(())
    }

    /// Takes back one that has begun.
    pub(super) fn abandon(&mut self, name: &str) {
        if let Ok(place) = self.place(name) {
            let row = self.rows.remove(place);
            self.bound = self.bound.saturating_sub(row.bound());
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
        let place = self.place(name).ok();
        let row = place.and_then(|place| self.rows.get_mut(place));
        let row = row.filter(|row| row.ended.is_none());
        let row = row.ok_or(Error::misuse(Misuse::UnknownShard))?;
        let digest = Spelled::new(&record.digest).ok_or(Error::nowhere(Rule::DigestForm))?;
        let mut table = Output::default();
        table.map(1)?;
        let head = table.len();
        table.text(name)?;
        table.map(2)?;
        ShardKey::size.write(&mut table)?;
        table.uint(record.size)?;
        ShardKey::digest.write(&mut table)?;
        table.text_of(digest.as_bytes())?;
        validate_shards(limits, table.as_bytes()).map_err(|error| {
            let fault = fault(error);
            Error::nowhere(fault.kind).found(fault.found)
        })?;
        let mut entry = Output::default();
        entry.raw(table.as_bytes().get(head..).ok_or(Error::internal())?)?;
        self.bound = self.bound.saturating_sub(row.bound());
        row.ended = Some((entry, blobs_end(record.size)));
        self.bound = self.bound.saturating_add(row.bound());
        self.begun = self.begun.saturating_sub(1);
        self.bytes = self.bytes.saturating_add(record.size);
        Ok(())
    }

    /// Writes the table: a map of all that have ended.
    pub(super) fn write(&self, out: &mut Output) -> Result<(), OutOfMemory> {
        out.map(u64_from_usize(self.rows.len()))?;
        for row in &self.rows {
            // The root is written when none is unfinished.
            if let Some((entry, _)) = &row.ended {
                out.raw(entry.as_bytes())?;
            }
        }
        Ok(())
    }
}
