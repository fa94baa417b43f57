//! Whether a file may have shards, as far as the names beside it tell: no byte of it is read.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zten_shards::{BLOBS, parent};

/// The folders of files, each of which is listed once.
#[derive(Debug, Default)]
pub(super) struct Neighbours(HashMap<PathBuf, Folder>);

#[derive(Debug)]
enum Folder {
    /// What is in it, as far as it may be a shard, is called so, in order.
    Listed(Vec<Vec<u8>>),
    /// It may hold a shard of any file.
    Any,
}

impl Neighbours {
    /// Whether there is something beside the file that may be a shard of it.
    pub(super) fn may_be_shards(&mut self, file: &Path) -> bool {
        let folder = parent(file);
        let folder = self
            .0
            .entry(folder.to_owned())
            .or_insert_with(|| Folder::list(folder).unwrap_or(Folder::Any));
        let Folder::Listed(names) = folder else { return true };
        let mut start = file.file_stem().unwrap_or_default().as_encoded_bytes().to_vec();
        start.push(b'-');
        let at = names.partition_point(|name| *name < start);
        names.get(at).is_some_and(|name| name.starts_with(&start))
    }
}

impl Folder {
    fn list(folder: &Path) -> io::Result<Self> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            if name == BLOBS {
                return Ok(Self::Any);
            }
            let name = name.as_encoded_bytes();
            if name.ends_with(b".zt") && name.contains(&b'-') {
                names.push(name.to_vec());
            }
        }
        names.sort_unstable();
        Ok(Self::Listed(names))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.zt", "a-1.zt", "ab.zt", "abc-1.txt", "b.zt", "b-", "c-d.zt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let mut neighbours = Neighbours::default();
        let mut may = |name: &str| neighbours.may_be_shards(&folder.path().join(name));
        let found = ["a.zt", "ab.zt", "abc.zt", "b.zt", "c.zt", "c-d.zt", "d.zt"].map(&mut may);
        assert_eq!(found, [true, false, false, false, true, false, false]);
        fs::create_dir(folder.path().join(BLOBS)).unwrap();
        assert!(Neighbours::default().may_be_shards(&folder.path().join("d.zt")));
        assert!(Neighbours::default().may_be_shards(Path::new("no such folder/d.zt")));
    }
}
