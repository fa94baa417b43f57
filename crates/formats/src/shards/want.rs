//! The files that another one names.

use std::fmt;
use std::io;
use std::path::Path;

use super::shard_path::ShardPath;
use super::wanted::{NAME, Wanted};
use super::{IS_LINK, Links, ShardFile, first, link_target, parent};

/// A file that another one names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// A shard of a zTensor file.
    Shard(Wanted),
    /// A file of that name, beside an index or the first of several GGUF files.
    Sibling(Sibling),
}

/// The name of a file of safetensors or GGUF beside one that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sibling(String);

impl Sibling {
    /// Checks a name; none where it leads somewhere else, has characters that a URL is read without, or is of no such file.
    pub fn new(name: &str) -> Option<Self> {
        let is_name = name.len() <= NAME
            && !name.starts_with('.')
            && [".safetensors", ".gguf"].iter().any(|suffix| name.ends_with(suffix))
            && !name.contains(['/', '\\', ':'])
            && !name.contains(char::is_control);
        is_name.then(|| Self(name.to_owned()))
    }
}

impl Want {
    /// Reads what [`Display`](fmt::Display) has written.
    pub fn read(text: &str) -> Option<Self> {
        match text.strip_prefix("sibling ") {
            Some(name) => Sibling::new(name).map(Self::Sibling),
            None => Wanted::read(text.strip_prefix("shard ")?).map(Self::Shard),
        }
    }

    /// Returns the name in the file that names it.
    pub fn name(&self) -> &str {
        match self {
            Self::Shard(wanted) => wanted.name(),
            Self::Sibling(Sibling(name)) => name,
        }
    }

    /// Returns the places where it may be: the first file that is there is it.
    pub fn places(&self) -> Vec<ShardPath<'_>> {
        match self {
            Self::Shard(wanted) => wanted.places().into(),
            Self::Sibling(Sibling(name)) => vec![ShardPath::Below(vec![name])],
        }
    }

    /// Opens it; none where there is no regular file that can be it.
    ///
    /// # Errors
    /// The errors of [`open`](super::open); that a sibling is a link which is not followed.
    pub fn open(&self, root: &Path, links: Links) -> io::Result<Option<ShardFile>> {
        let found = first(root, &self.places(), self.name(), links)?;
        if let (None, Self::Sibling(Sibling(name))) = (&found, self)
            && let Some(target) = link_target(parent(root), name)
        {
            return Err(io::Error::other(format!("{IS_LINK}{target}")));
        }
        Ok(found)
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

    #[test]
    fn names_are_no_paths() {
        assert!(Sibling::new("model-00001-of-00002.safetensors").is_some());
        let long = format!("{}.safetensors", "x".repeat(NAME));
        for name in
            ["", ".safetensors", "../a.safetensors", "/a.safetensors", "a/b.safetensors", &long]
        {
            assert!(Sibling::new(name).is_none(), "{name}");
        }
        for name in
            ["a.bin", "a.safetensors.", "C:a.safetensors", "a\\b.safetensors", "a\0.safetensors"]
        {
            assert!(Sibling::new(name).is_none(), "{name}");
        }
        for character in ('\0'..='\u{9f}').filter(|character| character.is_control()) {
            assert!(Sibling::new(&format!("a{character}b.safetensors")).is_none(), "{character:?}");
        }
    }

    #[test]
    fn what_is_wanted_is_read() {
        for text in ["shard s xxh3 00", "sibling a b.safetensors"] {
            assert_eq!(Want::read(text).unwrap().to_string(), text);
        }
        for wrong in ["", "shard", "s xxh3 00", "sibling ../a.safetensors", "sibling"] {
            assert!(Want::read(wrong).is_none(), "{wrong}");
        }
    }
}
