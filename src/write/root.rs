//! The root of a manifest that is being written.

use super::settings::Target;
use super::shard_list::ShardList;
use crate::cbor::Output;
use crate::error::OutOfMemory;
use crate::format::v1::RootKey;
use crate::num::u64_from_usize;

/// The fields of the root beside `objects`, as CBOR.
#[derive(Debug, Default)]
pub(super) struct Root {
    /// Of 1.x.
    pub(super) version: Output,
    pub(super) attributes: Option<Output>,
    /// Keys and values that the file had before, and how many. In 2 they stand between `objects` and
    /// `attributes`.
    pub(super) others: Output,
    pub(super) count: u64,
    /// In 2, those before `shards`, those between that and `objects`, and those behind `attributes`.
    pub(super) first: Output,
    pub(super) before: Output,
    pub(super) after: Output,
    pub(super) shards: ShardList,
}

impl Root {
    /// How many keys it has, with those attributes.
    pub(super) fn keys(&self, attributes: Option<&Output>, target: &Target) -> u64 {
        let version = u64::from(!target.writing.deterministic);
        let attributes = u64::from(attributes.is_some());
        let attributes = attributes.saturating_add(u64::from(!self.shards.is_empty()));
        self.count.saturating_add(1).saturating_add(version).saturating_add(attributes)
    }

    /// As many bytes as it takes with those attributes, beside the entries of `objects`, or a few
    /// more.
    pub(super) fn bound(&self, attributes: Option<&Output>) -> u64 {
        /// The keys and heads that it has always, and the key of the attributes.
        const FIXED: u64 = 64;
        let others = [&self.version, &self.others, &self.first, &self.before, &self.after];
        let parts = others.into_iter().chain(attributes);
        let fixed = self.shards.bound().saturating_add(FIXED);
        parts.fold(fixed, |sum, part| sum.saturating_add(u64_from_usize(part.len())))
    }

    /// Writes what comes before the entries of `objects`, and what comes after them.
    pub(super) fn surround(
        &self,
        entries: &mut Output,
        objects: u64,
        target: &Target,
    ) -> Result<(), OutOfMemory> {
        let attributes = self.attributes.as_ref();
        let mut head = Output::default();
        head.map(self.keys(attributes, target))?;
        if target.writing.deterministic {
            use crate::format::v2::RootKey;

            head.raw(self.first.as_bytes())?;
            if !self.shards.is_empty() {
                RootKey::shards.write(&mut head)?;
                self.shards.write(&mut head)?;
            }
            head.raw(self.before.as_bytes())?;
            RootKey::objects.write(&mut head)?;
            head.map(objects)?;
            entries.raw(self.others.as_bytes())?;
            if let Some(attributes) = attributes {
                RootKey::attributes.write(entries)?;
                entries.raw(attributes.as_bytes())?;
            }
            entries.raw(self.after.as_bytes())?;
            return entries.prepend(head.as_bytes());
        }
        let own = |out: &mut Output| {
            RootKey::version.write(out)?;
            out.raw(self.version.as_bytes())?;
            if let Some(attributes) = attributes {
                RootKey::attributes.write(out)?;
                out.raw(attributes.as_bytes())?;
            }
            out.raw(self.others.as_bytes())
        };
        own(if target.canonical { &mut *entries } else { &mut head })?;
        RootKey::objects.write(&mut head)?;
        head.map(objects)?;
        entries.prepend(head.as_bytes())
    }
}
