//! Shards: other files that hold blobs, as the manifest lists them. v2 §7.1.

use super::index::utf8;
use super::{Manifest, ManifestRef};
use crate::debug_summary::Start;
use crate::digest::Digest;
use crate::error::{BareError, ErrorKind};
use crate::index::ShardRecord;

/// A file that holds blobs of another file, as the table `shards` of that other file lists it: v2 §7.1.
///
/// [`Manifest::bind_shards`] finds the files.
#[derive(Clone, Copy)]
pub struct Shard<'a> {
    name: &'a str,
    size: u64,
    digest: Option<Digest<'a>>,
    offset: u64,
}

impl<'a> Shard<'a> {
    /// Returns the name of the shard in the table: 1 to 64 letters, digits, `.`, `_` and `-`, not beginning with a dot. The
    /// name is a label, not a path. For a sibling file of another format, it is the name of the file.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the size of the shard's file in bytes as the table gives it, 48 or more; for a sibling file of another format, any
    /// size that the file had when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns the digest over all bytes of the shard's file, as the table gives it; `None` in other formats than zTensor.
    pub fn digest(&self) -> Option<Digest<'a>> {
        self.digest
    }

    /// Returns the offset of the shard's name in the file that lists the shard, or 0 in other formats than zTensor. Errors about
    /// the shard as a whole have this offset.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Creates an error of kind `kind` about the shard as a whole, at the offset of its name.
    pub(crate) fn error(&self, kind: impl Into<ErrorKind>) -> BareError {
        BareError::new(kind, self.offset)
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

impl<B: AsRef<[u8]>> Manifest<B> {
    /// Returns all shards that the file lists (2), including shards without components: v2 §7.1. For a model of another format in
    /// several files, returns the sibling files.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = Shard<'_>> + Clone {
        self.parts().shards()
    }
}

impl<'a> ManifestRef<'a> {
    pub(crate) fn shards(self) -> impl ExactSizeIterator<Item = Shard<'a>> + Clone {
        self.index().shards.iter().map(move |record| self.shard_of(record))
    }

    /// Returns the shard with the ordinal `ordinal`, counted from 0, in the table of shards; `None` if there is no such shard.
    pub(crate) fn shard_at(self, ordinal: usize) -> Option<Shard<'a>> {
        self.index().shards.get(ordinal).map(|record| self.shard_of(record))
    }

    fn shard_of(self, record: &ShardRecord) -> Shard<'a> {
        let texts = self.as_bytes();
        let digest = (!record.digest.is_none()).then(|| utf8(record.digest.of(texts)));
        let offset = u64::from(record.source_offset);
        Shard {
            name: utf8(record.name.of(texts)),
            size: record.size,
            // The text was checked when the file was opened. If the caller's bytes have changed since, the digest
            // cannot be verified.
            digest: digest.map(|it| Digest::read_v2(it).unwrap_or(Digest::Unverifiable(it))),
            // A shard without a digest is a file of another format, whose parser keeps the name, so the name has no offset.
            offset: digest.map_or(0, |_| self.extent().start.saturating_add(offset)),
        }
    }

    /// Returns the total size in bytes of the file and all its shards.
    pub(crate) fn all_bytes(&self) -> u64 {
        let add = |sum: u64, shard: Shard<'_>| sum.saturating_add(shard.size);
        self.shards().fold(self.file_len(), add)
    }
}
