//! Shards: other files that hold blobs, as the manifest lists them, and which of them is read from.
//! v2 §7.1.

use super::index::utf8;
use super::{Component, Manifest, ManifestRef, Object};
use crate::brief::Start;
use crate::digest::Digest;
use crate::error::{Error, ErrorKind};
use crate::format::ShardRecord;
use crate::rules::Unsupported;

/// Another file that holds blobs of this one, as the table `shards` gives it: v2 §7.1.
///
/// [`Manifest::bind_shards`] finds the files.
#[derive(Clone, Copy)]
pub struct Shard<'a> {
    name: &'a str,
    size: u64,
    digest: Digest<'a>,
    offset: u64,
}

impl<'a> Shard<'a> {
    /// Its name: 1 to 64 letters, digits, `.`, `_` and `-`, the first of them no dot. A label and
    /// not a path.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Bytes of the file, 48 or more.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The digest of the whole file.
    pub fn digest(&self) -> Digest<'a> {
        self.digest
    }

    /// Where in the file that lists it its name stands: where errors point that are about the shard
    /// as a whole.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// An error of the shard as a whole.
    pub(crate) fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(kind, self.offset)
    }
}

impl core::fmt::Debug for Shard<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Shard")
            .field("name", &Start(self.name))
            .field("size", &self.size)
            .field("digest", &self.digest)
            .finish()
    }
}

/// The shards that a manifest lists, in its order.
#[derive(Clone)]
pub struct ShardTable<'a> {
    manifest: ManifestRef<'a>,
    left: core::slice::Iter<'a, ShardRecord>,
}

impl core::fmt::Debug for ShardTable<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ShardTable").field("len", &self.left.len()).finish()
    }
}

impl<'a> Iterator for ShardTable<'a> {
    type Item = Shard<'a>;

    fn next(&mut self) -> Option<Shard<'a>> {
        self.left.next().map(|record| self.manifest.shard(record))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl ExactSizeIterator for ShardTable<'_> {}

impl<B: AsRef<[u8]>> Manifest<B> {
    /// The shards that it lists (2), whether a component is in them or not: v2 §7.1.
    pub fn shards(&self) -> ShardTable<'_> {
        self.parts().shards()
    }
}

impl<'a> ManifestRef<'a> {
    pub(crate) fn shards(self) -> ShardTable<'a> {
        ShardTable { manifest: self, left: self.index().shards.iter() }
    }

    fn shard(&self, record: &ShardRecord) -> Shard<'a> {
        let text = |at| utf8(self.records().text(at));
        let digest = text(record.digest);
        Shard {
            name: text(record.name),
            size: record.size,
            // It was well-formed: of bytes that have changed since, nothing can be verified.
            digest: Digest::read_v2(digest).unwrap_or(Digest::Unverifiable(digest)),
            offset: self.extent().end.saturating_sub(record.name.left().into()),
        }
    }

    /// Bytes of the file and of all its shards.
    #[cfg(feature = "write")]
    pub(crate) fn all_bytes(&self) -> u64 {
        let add = |sum: u64, shard: Shard<'_>| sum.saturating_add(shard.size);
        self.shards().fold(self.file_len(), add)
    }

    /// The error of a file that lists a shard where none has been found.
    pub(crate) fn missing_shard(&self) -> Option<Error> {
        self.shards().next().map(|shard| shard.error(Unsupported::Shard))
    }
}

impl Component<'_> {
    /// Returns whether its blob is not in that shard.
    #[cold]
    pub(super) fn is_outside_of(self, current_shard: &str) -> bool {
        self.shard() != Some(current_shard)
    }

    /// The same component, to be read from the file that its blob is in.
    pub(crate) fn in_own_file(mut self) -> Self {
        self.parts.current_shard = self.shard();
        self
    }
}

impl Object<'_> {
    /// The same object, of which those components can be read that are in the shard of that name.
    pub(crate) fn in_shard_named(mut self, name: &str) -> Self {
        let mut shards = self.components().filter_map(|component| component.shard());
        // No shard has the empty name.
        self.parts.current_shard = Some(shards.find(|shard| *shard == name).unwrap_or_default());
        self
    }
}
