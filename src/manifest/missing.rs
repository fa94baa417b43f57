//! A tensor that there is not, and what its name may have been meant to be.

use super::index::ManifestRef;
use crate::error::Error;

/// The error for a name that no tensor has, with the nearest name if one is near.
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

/// The distance of names. Of our own, because what other crates have takes memory for each
/// comparison, and aborts where there is none.
mod near {
    use crate::num::usize_from_u32;

    /// Names that are looked at, at most.
    pub(super) const NAMES: u32 = 65_536;
    /// Bytes of a name that is looked at, at most.
    const LONGEST: usize = 128;
    /// Comparisons of two bytes, at most.
    const WORK: u32 = 1 << 26;

    /// A search for the name that is nearest to another: by the fewest bytes to insert, to take
    /// away or to change.
    pub(super) struct Search<'n> {
        name: &'n [u8],
        /// The distance that would be nearer is below this.
        below: usize,
        work: usize,
    }

    impl<'n> Search<'n> {
        /// None where the name is too long.
        pub(super) fn new(name: &'n [u8]) -> Option<Self> {
            // With more than a third changed it is another name.
            let below = name.len().checked_div(3)?.checked_add(2)?;
            (name.len() <= LONGEST).then_some(Self { name, below, work: usize_from_u32(WORK) })
        }

        /// Returns whether `other` is nearer than all before, and if so keeps its distance.
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

        /// None where it is not near, or too long, or all work has been done.
        fn distance(&mut self, other: &[u8]) -> Option<usize> {
            // Distances of what has been read of the name to each start of the other.
            let mut row = [0_usize; LONGEST];
            let row = row.get_mut(..other.len())?;
            for (start, distance) in row.iter_mut().enumerate() {
                *distance = start.saturating_add(1);
            }
            let mut whole = other.len();
            for (read, byte) in self.name.iter().enumerate() {
                self.work = self.work.checked_sub(other.len().saturating_add(1))?;
                // Those to the empty start, in the row before and in this one.
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
            // As near up to a letter before its end, and not further.
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
