//! The places where a file may be that another one names.

/// A place in the folder of a file, or below, where one may be that it names. The parts of it are the names of
/// files or end such a name: none is `.` or `..`, and none has a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardPath<'a> {
    /// A file beside it, whose name is its own up to the last dot ([`stem`]), and then this.
    Sibling(String),
    /// A path of these steps from the folder on.
    Below(Vec<&'a str>),
}

/// The name of a file without what begins at its last dot, unless that is its first character.
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
