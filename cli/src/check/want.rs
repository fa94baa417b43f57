//! The other files that a file is to be given before its content is validated.

use std::fmt;
use std::io;
use std::path::Path;

use zten_shards::{NAME, ShardFile, Wanted, open_in, parent};

/// A file that another one names.
#[derive(Clone, Debug)]
pub(super) enum Want {
    /// A shard of a zTensor file.
    Shard(Wanted),
    /// A file of that name, beside an index.
    Beside(Beside),
}

/// The name of a file beside an index.
#[derive(Clone, Debug)]
pub(super) struct Beside(String);

impl Beside {
    /// None where it leads somewhere else, or is of no file that an index names.
    pub(super) fn new(name: &str) -> Option<Self> {
        let is_name = name.len() <= NAME
            && !name.starts_with('.')
            && name.ends_with(".safetensors")
            && !name.contains(['/', '\\', ':', '\0']);
        is_name.then(|| Self(name.to_owned()))
    }
}

impl Want {
    /// Reads what [`Display`](fmt::Display) has written.
    #[cfg(target_os = "linux")]
    pub(super) fn read(text: &str) -> Option<Self> {
        match text.strip_prefix("beside ") {
            Some(name) => Beside::new(name).map(Self::Beside),
            None => Wanted::read(text.strip_prefix("shard ")?).map(Self::Shard),
        }
    }

    /// Opens it; none where there is no regular file that can be it.
    pub(super) fn open(&self, path: &Path) -> io::Result<Option<ShardFile>> {
        match self {
            Self::Shard(wanted) => zten_shards::open(path, wanted),
            Self::Beside(Beside(name)) => open_in(parent(path), name),
        }
    }
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shard(wanted) => write!(f, "shard {wanted}"),
            Self::Beside(Beside(name)) => write!(f, "beside {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_paths() {
        assert!(Beside::new("model-00001-of-00002.safetensors").is_some());
        let long = format!("{}.safetensors", "x".repeat(NAME));
        for name in
            ["", ".safetensors", "../a.safetensors", "/a.safetensors", "a/b.safetensors", &long]
        {
            assert!(Beside::new(name).is_none(), "{name}");
        }
        for name in
            ["a.bin", "a.safetensors.", "C:a.safetensors", "a\\b.safetensors", "a\0.safetensors"]
        {
            assert!(Beside::new(name).is_none(), "{name}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn what_is_wanted_is_read() {
        for text in ["shard s xxh3 00", "beside a b.safetensors"] {
            assert_eq!(Want::read(text).unwrap().to_string(), text);
        }
        for wrong in ["", "shard", "s xxh3 00", "beside ../a.safetensors", "beside"] {
            assert!(Want::read(wrong).is_none(), "{wrong}");
        }
    }
}
