//! Shards of zTensor files that are looked for, by their names and digests.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use core::fmt;

use crate::manifest::Shard;

use super::shard_path::ShardPath;

/// The name of the folder, in the folder of the file that lists shards, whose files are named by their digests.
pub const BLOBS: &str = "blobs";
/// The largest length in bytes of the name of a sibling file, and of the name of a file or folder below `blobs`.
pub const NAME: usize = 255;

/// A shard of a zTensor file that is looked for: the name of the shard, and the algorithm and the digits of the digest that the
/// zTensor file lists for the shard. None of these texts has characters that could lead a path out of its folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub(super) name: String,
    pub(super) algorithm: String,
    pub(super) digits: String,
}

impl Wanted {
    /// Creates a shard to look for. Returns `None` if `name`, `algorithm` or `digits` contains characters that are not allowed
    /// in the name of a shard's file, or is too long.
    pub(super) fn new(name: &str, algorithm: &str, digits: &str) -> Option<Self> {
        let is_name = |text: &str, most: usize, allowed: &dyn Fn(u8) -> bool| {
            (1..=most).contains(&text.len()) && text.bytes().all(allowed)
        };
        let label = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let valid = is_name(name, 64, &label)
            && !name.starts_with('.')
            && is_name(algorithm, NAME, &lower)
            && is_name(digits, NAME, &lower);
        let [name, algorithm, digits] = [name, algorithm, digits].map(str::to_owned);
        valid.then_some(Self { name, algorithm, digits })
    }

    /// Returns what is looked for to find `shard`. Returns `None` if `shard` has no digest, or if its name or digest cannot be
    /// the name of a file.
    pub fn from_shard(shard: &Shard<'_>) -> Option<Self> {
        let digest = shard.digest()?.to_string();
        let (algorithm, digits) = digest.split_once(':')?;
        Self::new(shard.name(), algorithm, digits)
    }

    /// Returns the name of the shard in the file that lists the shard.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the paths at which the shard may be, in the order in which they are tried.
    pub fn paths(&self) -> [ShardPath<'_>; 2] {
        let by_digest = vec![BLOBS, &self.algorithm, &self.digits];
        [ShardPath::Sibling(format!("-{}.zt", self.name)), ShardPath::Below(by_digest)]
    }

    /// Parses the text that the [`Display`](fmt::Display) implementation writes. Returns `None` for any other text.
    pub fn read(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let (name, algorithm, digits) = (words.next()?, words.next()?, words.next()?);
        Self::new(name, algorithm, digits).filter(|_| words.next().is_none())
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.name, self.algorithm, self.digits)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::Wanted;

    #[test]
    fn names_are_no_paths() {
        assert!(Wanted::new("00001-of-00002", "xxh3", "0123456789abcdef").is_some());
        for name in ["", ".", "..", ".s", "a/b", "/a", "a\\b", "a b", "a\n", "ä", &"s".repeat(65)]
        {
            assert!(Wanted::new(name, "xxh3", "00").is_none(), "{name:?}");
        }
        for word in ["", ".", "..", "a/b", "A", "-", "0 0", &"0".repeat(256)] {
            assert!(Wanted::new("s", word, "00").is_none(), "{word:?}");
            assert!(Wanted::new("s", "xxh3", word).is_none(), "{word:?}");
        }
    }

    #[test]
    fn what_is_listed_is_read() {
        let wanted = Wanted::new("s", "xxh3", "00").unwrap();
        assert_eq!(Wanted::read(&wanted.to_string()), Some(wanted));
        for wrong in ["", "s xxh3", "s xxh3 00 1", "../s xxh3 00", "s  xxh3 00", "s xxh3 ../00"] {
            assert_eq!(Wanted::read(wrong), None, "{wrong:?}");
        }
    }
}
