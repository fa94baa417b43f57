//! Blobs that have been written, by what they hold: components of equal bytes share one.
//!
//! What has gone into a sink cannot be read again, and equal XXH3 is no proof of equal bytes. Equal
//! SHA-256 and length is taken for one: an attacker who can make two such could forge any digest.

use alloc::vec::Vec;

use crate::error::OutOfMemory;

/// SHA-256 of decoded bytes.
pub(super) type Identity = [u8; 32];

/// A blob that has been written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    pub(super) identity: Identity,
    pub(super) offset: u64,
    /// Stored bytes.
    pub(super) length: u64,
    /// Decoded bytes, and whether it is compressed.
    pub(super) decoded: u64,
    pub(super) compressed: bool,
}

/// Blobs by identity, in a table that is at most half full: about 200 bytes a blob.
#[derive(Debug, Default)]
pub(super) struct Blobs {
    slots: Vec<Option<Shared>>,
    count: usize,
}

impl Blobs {
    /// The blob that holds those decoded bytes.
    pub(super) fn find(&self, identity: &Identity, decoded: u64) -> Option<Shared> {
        let found = self.near(identity).map_while(|place| self.slots.get(place).copied().flatten());
        let mut same = found.filter(|blob| blob.identity == *identity && blob.decoded == decoded);
        same.next()
    }

    /// Adds one that is not there.
    pub(super) fn add(&mut self, blob: Shared) -> Result<(), OutOfMemory> {
        if self.count.saturating_mul(2) >= self.slots.len() {
            let size = self.slots.len().saturating_mul(2).max(16);
            let mut slots = Vec::new();
            slots.try_reserve_exact(size).map_err(|_| OutOfMemory)?;
            slots.resize(size, None);
            let old = core::mem::replace(&mut self.slots, slots);
            self.count = 0;
            old.into_iter().flatten().for_each(|blob| self.put(blob));
        }
        self.put(blob);
        Ok(())
    }

    fn put(&mut self, blob: Shared) {
        let free = |place: &usize| matches!(self.slots.get(*place), Some(None));
        let place = self.near(&blob.identity).find(free);
        if let Some(slot) = place.and_then(|place| self.slots.get_mut(place)) {
            *slot = Some(blob);
            self.count = self.count.saturating_add(1);
        }
    }

    /// The slots for an identity, nearest first.
    fn near(&self, [a, b, c, d, ..]: &Identity) -> impl Iterator<Item = usize> + use<> {
        let home = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or_default();
        let (count, mask) = (self.slots.len(), self.slots.len().wrapping_sub(1));
        (0..count).map(move |step| home.wrapping_add(step) & mask)
    }
}
