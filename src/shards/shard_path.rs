//! The paths at which a shard or sibling file may lie.

use alloc::string::String;
use alloc::vec::Vec;

/// A path at which a shard or sibling file may lie, relative to the folder of the file that names the shard or sibling. No step
/// of the path is `.` or `..`, or contains a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardPath<'a> {
    /// A sibling file: its name is the [`stem`] of the naming file, followed by this text.
    Sibling(String),
    /// A path that leads from the folder of the naming file through these steps.
    Below(Vec<&'a str>),
}

/// Returns `name` without its suffix: the part before the last dot, or the whole name if the only dot comes first.
pub fn stem(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::stem;

    #[test]
    fn stems_are_those_of_paths() {
        for name in ["model.zt", "a.b.zt", "model", ".zt", ".a.zt", "a.", "..a", "a b.zt"] {
            assert_eq!(Path::new(name).file_stem().unwrap(), stem(name), "{name}");
        }
    }
}
