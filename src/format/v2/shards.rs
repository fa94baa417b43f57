//! `shards`: other files that hold blobs, by name. v2 §7.1.

use alloc::vec::Vec;

use nom::Parser as _;

use super::values::DigestText;
use crate::cbor::{
    Checked, Entries, Fault, Input, Parsed, Remaining, UNLIMITED, key, map_head, pass, seek, text,
    uint,
};
use crate::digest::Digest;
use crate::error::OutOfMemory;
use crate::format::claims::{Claims, Walk};
use crate::format::shape::Uint;
use crate::format::slots::Slot;
use crate::format::table::table;
use crate::names::by_length;
use crate::num::{Assured as _, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule};

table! {
    /// One shard: v2 §7.1.
    Shard<'m>, keys ShardKey, within 2 levels of deterministic CBOR, else Rule::ShardType;
    // key       slot    type        presence                            else
    "size"   => size:   Uint,       required(Rule::ShardSizeMissing),   else Rule::ShardSizeType;
    "digest" => digest: DigestText, required(Rule::ShardDigestMissing), else Rule::DigestType;
}

/// The shortest file of this container: v2 §2.1.
const SHORTEST: u64 = 48;
/// Bytes of the footer, before which all blobs end.
const FOOTER: u64 = 40;

/// Where the table of shards is; each has been validated.
#[derive(Clone, Copy)]
pub(crate) struct Table(pub(super) Remaining);

impl<'m> Slot<'m> for Table {
    const BLANK: Self = Self(Remaining::END);

    fn parse<C: Claims<'m>>(
        walk: &mut Walk<'_, C>,
        wrong: Rule,
        at: Input<'m>,
    ) -> Parsed<'m, Self> {
        walk.prove(at, 1)?;
        let (mut input, mut entries) = map_head(wrong, UNLIMITED).parse(at)?;
        while entries.next(input) {
            let (value, name) = key(input)?;
            validate_name(input, name)?;
            (input, ()) = Shard::read(walk, value, |_, shard| {
                let Uint { remaining, value } = shard.size;
                if value < SHORTEST {
                    return Err(Fault::with(Rule::ShardSize, remaining, value).into());
                }
                Ok(())
            })?;
        }
        Ok((entries.end(input, at, Limit::Keys)?, Self(Remaining::of(at))))
    }
}

/// Validates the name of a shard, whose head is at `at`: v2 §7.1.
fn validate_name(at: Input<'_>, name: &[u8]) -> Checked<()> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    if matches!(name, [first, ..] if *first != b'.') && name.len() <= 64 && name.iter().all(plain) {
        return Ok(());
    }
    let length = u64_from_usize(name.len());
    Err(Fault::with(Rule::ShardName, Remaining::of(at), length).into())
}

/// Validates the name of a shard that is to be written.
#[cfg(feature = "write")]
pub(crate) fn validate_shard_name(name: &[u8]) -> Checked<()> {
    validate_name(name, name)
}

/// What the table says of a shard.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'m> {
    /// Where its name stands.
    pub(crate) at: Remaining,
    pub(crate) name: &'m str,
    pub(crate) size: u64,
    pub(crate) digest: Digest<'m>,
}

impl Entry<'_> {
    /// Where its blobs end at the latest.
    pub(crate) fn blobs_end(&self) -> u64 {
        self.size.saturating_sub(FOOTER)
    }
}

/// The entries of a table that has been validated, in its order.
#[derive(Clone)]
pub(crate) struct Listed<'m> {
    input: Input<'m>,
    entries: Entries,
}

impl<'m> Listed<'m> {
    /// Those of the table at `table`, or none.
    pub(crate) fn new(manifest: Input<'m>, table: Option<Remaining>) -> Self {
        let none = (<Input<'_>>::default(), Entries::NONE);
        let head = |table| map_head(Rule::ShardsType, UNLIMITED).parse(seek(manifest, table));
        let (input, entries) = table.map_or(none, |table| head(table).assured_or(none));
        Self { input, entries }
    }

    /// How many are left.
    pub(crate) fn len(&self) -> u32 {
        self.entries.claimed().assured()
    }
}

impl<'m> Iterator for Listed<'m> {
    type Item = Entry<'m>;

    fn next(&mut self) -> Option<Entry<'m>> {
        self.entries.next(self.input).then_some(())?;
        let at = Remaining::of(self.input);
        let (value, name) = key(self.input).assured();
        let size = ShardKey::size.field().find(value).assured();
        let size = uint(Rule::ShardSizeType).parse(size).assured().1;
        let digest = ShardKey::digest.field().find(value).assured();
        let digest = text(Rule::DigestType).parse(digest).assured().1;
        self.input = pass(value).assured();
        let digest = core::str::from_utf8(digest).ok().and_then(Digest::read_v2);
        Some(Entry {
            at,
            name: core::str::from_utf8(name).assured(),
            size,
            digest: digest.assured_or(Digest::Unverifiable("")),
        })
    }
}

/// The shards of a manifest that has been validated, to be found by their names.
#[derive(Debug)]
pub(crate) struct Shards<'m> {
    manifest: Input<'m>,
    /// Where each name stands, in the order of the names.
    names: Vec<Remaining>,
    /// Where the blobs of each end.
    ends: Vec<u64>,
}

impl<'m> Shards<'m> {
    /// Those in the table at `table`, or none.
    pub(crate) fn read(manifest: Input<'m>, table: Option<Remaining>) -> Result<Self, OutOfMemory> {
        let mut shards = Self { manifest, names: Vec::new(), ends: Vec::new() };
        let listed = Listed::new(manifest, table);
        let count = usize_from_u32(listed.len());
        shards.names.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
        shards.ends.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
        for entry in listed.take(count) {
            shards.names.push(entry.at);
            shards.ends.push(entry.blobs_end());
        }
        Ok(shards)
    }

    /// The place of the shard of that name in the table, and where its blobs end at the latest.
    pub(crate) fn find(&self, name: &[u8]) -> Option<(usize, u64)> {
        let order = |place: &Remaining| {
            let other = key(seek(self.manifest, *place)).assured().1;
            by_length(other, name)
        };
        let place = self.names.binary_search_by(order).ok()?;
        self.end(place).map(|end| (place, end))
    }

    /// Where the blobs of the shard at a place in the table end at the latest.
    pub(crate) fn end(&self, place: usize) -> Option<u64> {
        self.ends.get(place).copied()
    }
}
