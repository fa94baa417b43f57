//! A reader of the file that a component is in, which compares the bytes of a verified shard again.

use alloc::vec::Vec;
use core::ops::Range;

use super::{ReadAt, extend};
use crate::digest::{Digest, Sum};
use crate::error::{BareError, Error};
use crate::num::u64_from_usize;
use crate::rules::Rule;

/// The maximum size of a block in bytes. A block ends with its blob, so that small blobs are not read with their
/// neighbors.
pub(crate) const BLOCK: usize = 256 << 10;

/// A range of a shard, and the digest of the bytes in it, by which later reads of the range are compared.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) range: Range<u64>,
    pub(crate) sum: Digest<'static>,
}

/// The block sums of a verified shard: one for each 256 KiB of the blobs whose own digests are missing, or weaker than
/// the digest of the shard.
#[derive(Clone, Debug)]
pub struct VerifiedBlocks(pub(crate) Vec<Block>);

impl VerifiedBlocks {
    /// Returns the block that holds the byte at offset `at` of the shard. If no block does, the error is the offset at which the
    /// next block starts, or `u64::MAX` after the last block.
    fn find(&self, at: u64) -> Result<&Block, u64> {
        let position = self.0.partition_point(|block| block.range.end <= at);
        match self.0.get(position) {
            Some(block) if block.range.start <= at => Ok(block),
            next => Err(next.map_or(u64::MAX, |block| block.range.start)),
        }
    }
}

/// Returns an empty sum of the algorithm for blocks. An attacker may have chosen the bytes of the shard, so the
/// algorithm must resist collisions. Without the feature `digest` no such algorithm is available, and shards whose
/// digest needs one cannot be verified either.
pub(crate) fn sum() -> Sum {
    #[cfg(feature = "digest")]
    return Sum::sha256();
    #[cfg(not(feature = "digest"))]
    Sum::xxh3()
}

/// A reader of the file that a component is in. If the file is a shard whose digest has been compared, the reader fails
/// instead of returning other bytes than the compared ones, except in blobs that [`VerifiedBlocks`] do not cover: their own
/// digests are compared when they are read.
#[doc(hidden)]
pub struct Located<'s> {
    source: &'s dyn ReadAt,
    /// The block sums of the shard; `None` if the shard has not been verified, or if the file is no shard.
    blocks: Option<&'s VerifiedBlocks>,
    /// The offset in the root file of the shard's entry in the table, at which errors of the shard are reported.
    offset: u64,
    recent: Recent,
}

/// A block that has been read and compared with its digest. `bytes` is empty if no block has been loaded.
#[derive(Default)]
struct Loaded {
    start: u64,
    bytes: Vec<u8>,
}

/// The last two blocks that were read only in part. Two, because zstd frames and the table of their sizes are read in
/// turn.
#[cfg(feature = "std")]
type Recent = std::sync::Mutex<[Loaded; 2]>;
#[cfg(not(feature = "std"))]
type Recent = core::cell::RefCell<[Loaded; 2]>;

impl core::fmt::Debug for Located<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Located").field("verified", &self.blocks.is_some()).finish()
    }
}

impl<'s> Located<'s> {
    /// Creates a reader of a file that is no shard.
    #[inline]
    pub(crate) fn file(source: &'s dyn ReadAt) -> Self {
        Self { source, blocks: None, offset: 0, recent: Recent::default() }
    }

    /// Creates a reader of a shard, whose entry in the table is at `offset`. `blocks` are its block sums, or `None` if the
    /// shard has not been verified.
    pub(crate) fn shard(
        source: &'s dyn ReadAt,
        blocks: Option<&'s VerifiedBlocks>,
        offset: u64,
    ) -> Self {
        Self { blocks, offset, ..Self::file(source) }
    }

    /// Returns the error for a block whose bytes differ from the verified bytes.
    #[cold]
    fn changed(&self) -> BareError {
        BareError::new(Rule::ShardDigest, self.offset)
    }

    /// Returns `length` bytes at `offset` without copying them, if the source has them in memory and no block covers
    /// them.
    pub(crate) fn lent(&self, offset: u64, length: usize) -> Option<&'s [u8]> {
        let end = offset.saturating_add(u64_from_usize(length));
        // Bytes that have to be compared are copied first, because a source may lend other bytes at the next call.
        let is_free =
            self.blocks.is_none_or(|blocks| blocks.find(offset).is_err_and(|next| end <= next));
        let lent = if is_free { self.source.bytes_at(offset, length) } else { None };
        lent.filter(|bytes| bytes.len() == length)
    }

    /// Reads all of `block` into `bytes`, and compares their digest with that of the block.
    fn load(&self, block: &Block, bytes: &mut [u8]) -> Result<(), Error> {
        self.source.read_at(block.range.start, bytes)?;
        let mut sum = sum();
        sum.update(bytes);
        if sum.finish() == block.sum { Ok(()) } else { Err(self.changed().into()) }
    }

    /// Reads the bytes of `block` from offset `at` on into `part`. Not inlined, so that the growing buffer stays out of
    /// the loop that reads other ranges.
    #[inline(never)]
    fn part(&self, block: &Block, at: u64, part: &mut [u8]) -> Result<(), Error> {
        #[cfg(feature = "std")]
        let recent = self.recent.lock();
        #[cfg(not(feature = "std"))]
        let recent = self.recent.try_borrow_mut();
        let Ok(mut recent) = recent else { return Err(BareError::internal().into()) };
        let [latest, other] = &mut *recent;
        let Range { start, end } = block.range;
        let is_it = |loaded: &Loaded| loaded.start == start && !loaded.bytes.is_empty();
        if !is_it(latest) {
            core::mem::swap(latest, other);
        }
        if !is_it(latest) {
            // The bytes are kept only after they have been compared: an error leaves `latest` empty.
            let mut bytes = core::mem::take(&mut latest.bytes);
            let length = usize::try_from(end.saturating_sub(start)).unwrap_or(BLOCK);
            bytes.truncate(length);
            extend(&mut bytes, length)?;
            self.load(block, &mut bytes)?;
            *latest = Loaded { start, bytes };
        }
        let within = usize::try_from(at.saturating_sub(start)).unwrap_or(BLOCK);
        let bytes = latest.bytes.get(within..).and_then(|bytes| bytes.get(..part.len()));
        part.copy_from_slice(bytes.ok_or_else(|| self.changed())?);
        Ok(())
    }
}

impl ReadAt for Located<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let Some(blocks) = self.blocks else {
            return self.source.read_at(offset, buffer);
        };
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let found = blocks.find(at);
            let until = found.map_or_else(|next| next, |block| block.range.end);
            let left = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            let length = left.min(rest.len());
            let Some((own, behind)) = rest.split_at_mut_checked(length) else { break };
            match found {
                Err(_) => self.source.read_at(at, own)?,
                Ok(block) if at == block.range.start && length == left => self.load(block, own)?,
                Ok(block) => self.part(block, at, own)?,
            }
            (at, rest) = (at.saturating_add(u64_from_usize(length)), behind);
        }
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.lent(offset, length)
    }

    fn gap(&self) -> u64 {
        self.source.gap()
    }

    fn identity(&self) -> Option<[u64; 2]> {
        self.source.identity()
    }
}
