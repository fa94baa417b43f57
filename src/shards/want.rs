//! The shards and sibling files that a file names.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use super::shard_path::ShardPath;
use super::wanted::{NAME, Wanted};

/// A shard or sibling file that another file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// A shard of a zTensor file.
    Shard(Wanted),
    /// A file in the folder of an index, or of the first file of a split GGUF model.
    Sibling(Sibling),
}

/// The suffixes of sibling files that a file may name.
const SUFFIXES: [&str; 5] = [".safetensors", ".gguf", ".bin", ".pt", ".pth"];

/// The valid name of a safetensors, GGUF or PyTorch file in the folder of the file that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling(pub(super) String);

impl Sibling {
    /// Checks `name`. Returns `None` if the name leads out of the folder, contains control characters, which URL parsers drop,
    /// is too long, or does not end in `.safetensors`, `.gguf`, `.bin`, `.pt` or `.pth`.
    pub fn new(name: &str) -> Option<Self> {
        Self::is_name(name).then(|| Self(name.to_owned()))
    }

    /// Returns whether `name` passes the checks of [`new`](Self::new). The name of a hidden file, which begins with a dot, is
    /// allowed: because of its suffix, the name is neither `.` nor `..`.
    pub(crate) fn is_name(name: &str) -> bool {
        name.len() <= NAME
            && SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
            && !name.contains(['/', '\\', ':'])
            && !name.contains(char::is_control)
    }
}

impl Want {
    /// Parses the text that the [`Display`](fmt::Display) implementation writes. Returns `None` for any other text.
    pub fn read(text: &str) -> Option<Self> {
        match text.strip_prefix("sibling ") {
            Some(name) => Sibling::new(name).map(Self::Sibling),
            None => Wanted::read(text.strip_prefix("shard ")?).map(Self::Shard),
        }
    }

    /// Returns the name of this shard or sibling file in the file that names it.
    pub fn name(&self) -> &str {
        match self {
            Self::Shard(wanted) => wanted.name(),
            Self::Sibling(Sibling(name)) => name,
        }
    }

    /// Returns the paths at which this file may be, in the order in which they are tried.
    pub fn paths(&self) -> Vec<ShardPath<'_>> {
        match self {
            Self::Shard(wanted) => wanted.paths().into(),
            Self::Sibling(Sibling(name)) => vec![ShardPath::Below(vec![name])],
        }
    }
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shard(wanted) => write!(f, "shard {wanted}"),
            Self::Sibling(Sibling(name)) => write!(f, "sibling {name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString as _;

    #[test]
    fn names_that_lead_out_of_the_folder_are_rejected() {
        for name in ["model-00001-of-00002.safetensors", ".hidden.safetensors", "a..gguf"] {
            assert!(Sibling::new(name).is_some(), "{name}");
        }
        let long = format!("{}.safetensors", "x".repeat(NAME));
        for name in ["", "..", "../a.safetensors", "/a.safetensors", "a/b.safetensors", &long] {
            assert!(Sibling::new(name).is_none(), "{name}");
        }
        for name in
            ["a.txt", "a.safetensors.", "C:a.safetensors", "a\\b.safetensors", "a\0.safetensors"]
        {
            assert!(Sibling::new(name).is_none(), "{name}");
        }
        for character in ('\0'..='\u{9f}').filter(|character| character.is_control()) {
            assert!(Sibling::new(&format!("a{character}b.safetensors")).is_none(), "{character:?}");
        }
    }

    #[test]
    fn the_displayed_text_is_parsed_to_the_same_value() {
        for text in ["shard s xxh3 00", "sibling a b.safetensors"] {
            assert_eq!(Want::read(text).unwrap().to_string(), text);
        }
        for wrong in ["", "shard", "s xxh3 00", "sibling ../a.safetensors", "sibling"] {
            assert!(Want::read(wrong).is_none(), "{wrong}");
        }
    }
}
