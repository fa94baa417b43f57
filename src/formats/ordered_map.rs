//! A sorted map for keys that come from an untrusted file.
//!
//! `HashMap` needs `std` for its random seeds; without them, an attacker can choose keys that collide. `BTreeMap` ends
//! the process if an allocation fails.

use alloc::vec::Vec;
use core::borrow::Borrow;

use super::error::FormatError;

/// The largest number of entries in a chunk of a map. It bounds the number of entries that move when a key is inserted.
const CHUNK: usize = 512;

/// A map that keeps its entries sorted by their keys, in chunks. Finding a key takes logarithmic time.
#[derive(Debug)]
pub(super) struct OrderedMap<K, V> {
    /// Chunks of 1 to [`CHUNK`] entries.
    chunks: Vec<Vec<(K, V)>>,
    /// The number of entries in all chunks.
    len: usize,
}

impl<K, V> Default for OrderedMap<K, V> {
    fn default() -> Self {
        Self { chunks: Vec::new(), len: 0 }
    }
}

impl<K: Ord, V> OrderedMap<K, V> {
    /// Returns the number of entries of the map.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the keys in ascending order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &K> {
        self.chunks.iter().flatten().map(|(key, _)| key)
    }

    /// Returns the index of the only chunk that may have `key`: the last chunk whose first key is not larger than `key`, or
    /// the first chunk if there is none.
    fn chunk_of<Q: Ord + ?Sized>(&self, key: &Q) -> usize
    where
        K: Borrow<Q>,
    {
        let begins_before =
            |chunk: &Vec<(K, V)>| chunk.first().is_some_and(|(first, _)| first.borrow() <= key);
        self.chunks.partition_point(begins_before).saturating_sub(1)
    }

    /// Returns the value of `key`, or `None` if the map does not have the key.
    pub(super) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let at = chunk.binary_search_by(|(other, _)| other.borrow().cmp(key)).ok()?;
        chunk.get(at).map(|(_, value)| value)
    }

    /// Sets the value of `key` to `value`, and adds the key if the map does not have it.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn insert(&mut self, key: K, value: V) -> Result<(), FormatError> {
        let memory = |_| FormatError::memory();
        let mut ordinal = self.chunk_of(&key);
        if self.chunks.is_empty() {
            self.chunks.try_reserve(1).map_err(memory)?;
            self.chunks.push(Vec::new());
        }
        let Some(chunk) = self.chunks.get_mut(ordinal) else { return Ok(()) };
        let mut place = match chunk.binary_search_by(|(other, _)| other.cmp(&key)) {
            Ok(at) => {
                if let Some((_, old)) = chunk.get_mut(at) {
                    *old = value;
                }
                return Ok(());
            }
            Err(place) => place,
        };
        if chunk.len() >= CHUNK {
            // Keys mostly ascend. Then the full chunk stays as it is, and no entry is moved.
            let kept = if place == chunk.len() { place } else { CHUNK / 2 };
            let mut upper = Vec::new();
            upper.try_reserve(CHUNK).map_err(memory)?;
            self.chunks.try_reserve(1).map_err(memory)?;
            if let Some(chunk) = self.chunks.get_mut(ordinal) {
                upper.extend(chunk.drain(kept..));
            }
            let after = ordinal.saturating_add(1);
            self.chunks.insert(after, upper);
            if place > kept || kept == CHUNK {
                (ordinal, place) = (after, place.saturating_sub(kept));
            }
        }
        if let Some(chunk) = self.chunks.get_mut(ordinal) {
            chunk.try_reserve(1).map_err(memory)?;
            chunk.insert(place, (key, value));
            self.len = self.len.saturating_add(1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::{CHUNK, OrderedMap};

    #[test]
    fn it_holds_what_a_tree_holds() {
        let count = 5 * u64::try_from(CHUNK).unwrap();
        let orders: [fn(u64) -> u64; 3] =
            [|at| at, |at| u64::MAX - at, |at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52];
        for order in orders {
            let (mut map, mut tree) = (OrderedMap::default(), BTreeMap::new());
            for at in 0..count {
                map.insert(order(at), at).unwrap();
                tree.insert(order(at), at);
            }
            assert_eq!(map.len(), tree.len());
            assert!(map.keys().eq(tree.keys()));
            assert!((0..count).all(|at| map.get(&order(at)) == tree.get(&order(at))));
            assert!((0..count).all(|at| map.get(&(at << 20)) == tree.get(&(at << 20))));
        }
        assert_eq!(OrderedMap::<u64, u8>::default().get(&0), None);
    }
}
