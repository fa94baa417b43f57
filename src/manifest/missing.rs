//! Creating the error for a missing tensor, which suggests the most similar name of the file.

use super::index::ManifestRef;
use crate::error::Error;

/// Creates the error for `name`, which no tensor of `manifest` has. The error suggests the most similar name, unless all
/// names that are compared differ much from `name`, or `name` is too long to be compared.
#[cold]
pub(super) fn missing(name: &str, manifest: ManifestRef<'_>) -> Error {
    Error::no_tensor(name, nearest(name, manifest))
}

fn nearest<'a>(name: &str, manifest: ManifestRef<'a>) -> Option<&'a str> {
    let mut search = near::Search::new(name.as_bytes())?;
    let mut found = None;
    for ordinal in 0..manifest.len().min(near::NAMES) {
        let other = manifest.name(ordinal);
        if search.is_nearer(other) {
            found = Some(other);
        }
    }
    core::str::from_utf8(found?).ok()
}

/// The edit distance of names. Other crates allocate memory for each comparison, and abort if there is no memory.
mod near {
    use crate::num::usize_from_u32;

    /// The largest number of names of a file that are compared with the missing name.
    pub(super) const NAMES: u32 = 65_536;
    /// The largest length in bytes of a name that is compared, and of the missing name.
    const LONGEST: usize = 128;
    /// The largest number of comparisons of two bytes in a search: it bounds the time for files with many names.
    const WORK: u32 = 1 << 26;

    /// A search for the name with the smallest distance from another name: the number of bytes to insert, delete or
    /// change.
    pub(super) struct Search<'n> {
        name: &'n [u8],
        /// The edit distance that the next name must be below to be nearer than all names before it.
        below: usize,
        work: usize,
    }

    impl<'n> Search<'n> {
        /// Creates a search for names that are similar to `name`; `None` if `name` is longer than [`LONGEST`].
        pub(super) fn new(name: &'n [u8]) -> Option<Self> {
            // A name with more than about a third of its bytes changed is not offered.
            let below = name.len().checked_div(3)?.checked_add(2)?;
            (name.len() <= LONGEST).then_some(Self { name, below, work: usize_from_u32(WORK) })
        }

        /// Returns whether `other` is nearer to the missing name than all names before. If so, stores its distance.
        pub(super) fn is_nearer(&mut self, other: &[u8]) -> bool {
            if other.len().abs_diff(self.name.len()) >= self.below {
                return false;
            }
            match self.distance(other) {
                Some(distance) if distance < self.below => {
                    self.below = distance;
                    true
                }
                _ => false,
            }
        }

        /// Returns the edit distance of `other` from the missing name; `None` if `other` is not nearer than all names before
        /// or is too long, or if the search has made [`WORK`] comparisons.
        fn distance(&mut self, other: &[u8]) -> Option<usize> {
            // The distances between the part of `name` that has been read and each start of `other`.
            let mut row = [0_usize; LONGEST];
            let row = row.get_mut(..other.len())?;
            for (start, distance) in row.iter_mut().enumerate() {
                *distance = start.saturating_add(1);
            }
            let mut whole = other.len();
            for (read, byte) in self.name.iter().enumerate() {
                self.work = self.work.checked_sub(other.len().saturating_add(1))?;
                // The distances to the empty start of `other`, in the row before and in this row.
                let (mut diagonal, mut left) = (read, read.saturating_add(1));
                let mut least = left;
                for (distance, at) in row.iter_mut().zip(other) {
                    let changed = diagonal.saturating_add(usize::from(byte != at));
                    diagonal = *distance;
                    left = changed.min(left.min(*distance).saturating_add(1));
                    *distance = left;
                    least = least.min(left);
                }
                whole = left;
                if least >= self.below {
                    return None;
                }
            }
            Some(whole)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::Search;

        fn distance(one: &str, other: &str) -> Option<usize> {
            let mut search = Search::new(one.as_bytes()).unwrap();
            search.below = usize::MAX;
            search.distance(other.as_bytes())
        }

        #[test]
        fn distances_are_what_they_are() {
            for (one, other, edits) in [
                ("", "", 0),
                ("", "abc", 3),
                ("abc", "", 3),
                ("kitten", "sitting", 3),
                ("flaw", "lawn", 2),
                ("layers.0.weight", "layers.0.weights", 1),
                ("layers.0.weight", "layers.0.weight", 0),
            ] {
                assert_eq!(distance(one, other), Some(edits), "{one} {other}");
            }
        }

        #[test]
        fn the_nearest_stays() {
            let mut search = Search::new(b"layers.10.weight").unwrap();
            assert!(!search.is_nearer(b"output.bias"));
            assert!(search.is_nearer(b"layers.20.weigh"));
            assert!(search.is_nearer(b"layers.11.weight"));
            assert!(!search.is_nearer(b"layers.12.weight"));
            // The distance of this name, 2, equals that of the nearest name so far. Only its last letter shows this,
            // because the distance without the last letter is 1.
            let mut search = Search::new(b"layers.10.weight").unwrap();
            assert!(search.is_nearer(b"layers.10.weixxx") && search.is_nearer(b"layers.10.weigxx"));
            assert!(!search.is_nearer(b"layers.10.weighxy"));
            assert!(!search.is_nearer(&[b'x'; 129]));
            assert!(Search::new(&[b'x'; 129]).is_none());
        }

        #[test]
        fn work_ends() {
            let name = [b'a'; 128];
            let mut search = Search::new(&name).unwrap();
            search.below = usize::MAX;
            assert_eq!((0..10_000).filter(|_| search.distance(&name).is_some()).count(), 4064);
        }
    }
}
