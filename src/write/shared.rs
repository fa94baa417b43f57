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

/// Blobs by identity, in sorted runs, each longer than all after it: there are few of them, whatever the
/// identities are. A hash table's slots could be aimed at, for anyone can compute SHA-256.
#[derive(Debug, Default)]
pub(super) struct Blobs(Vec<Vec<Shared>>);

impl Blobs {
    /// The blob that holds those decoded bytes.
    pub(super) fn find(&self, identity: &Identity, decoded: u64) -> Option<Shared> {
        self.0.iter().find_map(|run| {
            let place = run.binary_search_by(|blob| blob.key().cmp(&(*identity, decoded)));
            run.get(place.ok()?).copied()
        })
    }

    /// Adds one that is not there.
    pub(super) fn add(&mut self, blob: Shared) -> Result<(), OutOfMemory> {
        let mut run = Vec::new();
        run.try_reserve_exact(1).map_err(|_| OutOfMemory)?;
        run.push(blob);
        while let Some(mut longer) = self.0.pop_if(|last| last.len() <= run.len()) {
            longer.try_reserve(run.len()).map_err(|_| OutOfMemory)?;
            longer.extend_from_slice(&run);
            longer.sort_unstable_by_key(Shared::key);
            run = longer;
        }
        self.0.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.0.push(run);
        Ok(())
    }
}

impl Shared {
    fn key(&self) -> (Identity, u64) {
        (self.identity, self.decoded)
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::vec::Vec;

    use super::{Blobs, Identity, Shared};

    fn blob(number: u64, offset: u64) -> Shared {
        let mut identity = Identity::default();
        // Most of them begin with the same bytes.
        identity[24..].copy_from_slice(&number.to_be_bytes());
        Shared { identity, offset, length: 1, decoded: number % 3, compressed: false }
    }

    #[test]
    fn each_is_found_in_few_runs() {
        let (mut blobs, mut wanted) = (Blobs::default(), BTreeMap::new());
        let mut random = fastrand::Rng::with_seed(5);
        for offset in 0..3_000 {
            let blob = blob(random.u64(..2_000), offset);
            let found = blobs.find(&blob.identity, blob.decoded).map(|found| found.offset);
            assert_eq!(found, wanted.get(&blob.key()).copied());
            if found.is_none() {
                blobs.add(blob).unwrap();
                wanted.insert(blob.key(), offset);
            }
            let lengths = blobs.0.iter().map(Vec::len);
            assert!(lengths.clone().is_sorted_by(|longer, shorter| longer > shorter));
            assert_eq!(lengths.sum::<usize>(), wanted.len());
        }
        assert!(wanted.len() > 1_000 && blobs.0.len() <= 11);
        let (identity, decoded) = blob(7, 0).key();
        assert!(blobs.find(&identity, decoded + 1).is_none(), "another length");
    }
}
