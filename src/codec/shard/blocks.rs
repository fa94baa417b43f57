//! Blocks of a shard, with their sums from when the digest of the shard was compared.
//!
//! A source may give other bytes at a second read: a server that lies, or a file that changes. So each later read is
//! compared with these sums, whatever is read, in which order.

use alloc::vec::Vec;
use core::ops::Range;

use crate::codec::hasher::Sum;
use crate::codec::reader::extend;
use crate::codec::{ReadAt, ReadError};
use crate::digest::Digest;
use crate::error::{Error, OutOfMemory};
use crate::num::u64_from_usize;

/// Bytes of a block, at most. Blocks end with their blob, so that small blobs are not read with their neighbors.
const BLOCK: usize = 256 << 10;

/// A block, and its sum.
#[derive(Clone, Copy, Debug)]
struct Block {
    start: u64,
    end: u64,
    sum: Digest<'static>,
}

/// Sums of a verified shard: one for each 256 KiB of those blobs that no digest of their own protects as well as the
/// digest of the shard does.
#[derive(Clone, Debug)]
pub struct VerifiedBlocks(Vec<Block>);

impl VerifiedBlocks {
    /// The block that the byte is in, or the start of the next one.
    fn find(&self, at: u64) -> Result<&Block, u64> {
        let place = self.0.partition_point(|block| block.end <= at);
        match self.0.get(place) {
            Some(block) if block.start <= at => Ok(block),
            next => Err(next.map_or(u64::MAX, |block| block.start)),
        }
    }
}

/// The algorithm of the sums. Bytes are chosen by whoever wrote the shard, so it has to withstand that. Without the
/// feature `digest`, no digest that does can be verified either.
fn sum() -> Sum {
    #[cfg(feature = "digest")]
    return Sum::sha256();
    #[cfg(not(feature = "digest"))]
    Sum::xxh3()
}

/// Computes the sums of blobs while all bytes of a shard go by.
pub(super) struct Recorder<I> {
    blocks: I,
    current: Option<Range<u64>>,
    sum: Sum,
    /// Bytes that have gone by.
    position: u64,
    done: Vec<Block>,
}

/// A recorder for those blobs, which are in order and disjoint.
pub(super) fn record(
    blobs: impl Iterator<Item = Range<u64>>,
) -> Recorder<impl Iterator<Item = Range<u64>>> {
    let mut blocks = blobs.flat_map(|blob| {
        let end = blob.end;
        blob.step_by(BLOCK)
            .map(move |start| start..start.saturating_add(u64_from_usize(BLOCK)).min(end))
    });
    let current = blocks.next();
    Recorder { blocks, current, sum: sum(), position: 0, done: Vec::new() }
}

impl<I: Iterator<Item = Range<u64>>> Recorder<I> {
    /// Takes the next bytes of the shard.
    pub(super) fn update(&mut self, mut bytes: &[u8]) -> Result<(), OutOfMemory> {
        while let Some(block) = self.current.clone()
            && !bytes.is_empty()
        {
            let is_inside = block.start <= self.position;
            let until = if is_inside { block.end } else { block.start };
            let left = until.saturating_sub(self.position);
            let length = usize::try_from(left).unwrap_or(bytes.len()).min(bytes.len());
            let (own, rest) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
            if is_inside {
                self.sum.update(own);
            }
            self.position = self.position.saturating_add(u64_from_usize(length));
            bytes = rest;
            if is_inside && self.position == block.end {
                self.done.try_reserve(1).map_err(|_| OutOfMemory)?;
                let sum = core::mem::replace(&mut self.sum, sum()).finish();
                self.done.push(Block { start: block.start, end: block.end, sum });
                self.current = self.blocks.next();
            }
        }
        self.position = self.position.saturating_add(u64_from_usize(bytes.len()));
        Ok(())
    }

    /// The sums of all blobs that have gone by.
    pub(super) fn finish(self) -> VerifiedBlocks {
        VerifiedBlocks(self.done)
    }
}

/// Reads a shard. Once the digest of that has been compared, no other bytes are read than were compared.
pub struct ShardReader<'s, S> {
    source: &'s S,
    blocks: Option<&'s VerifiedBlocks>,
    /// The error where a block is another than before.
    changed: Error,
    recent: Recent,
}

/// A block that has been read and compared; empty where none has.
#[derive(Default)]
struct Loaded {
    start: u64,
    bytes: Vec<u8>,
}

/// The last two blocks of which only a part was asked for: frames are read beside the table of their sizes.
#[derive(Default)]
struct Recent(
    #[cfg(feature = "std")] std::sync::Mutex<[Loaded; 2]>,
    #[cfg(not(feature = "std"))] core::cell::Cell<[Loaded; 2]>,
);

impl Recent {
    fn take(&self) -> [Loaded; 2] {
        #[cfg(feature = "std")]
        return self.0.lock().map(|mut loaded| core::mem::take(&mut *loaded)).unwrap_or_default();
        #[cfg(not(feature = "std"))]
        self.0.take()
    }

    fn put(&self, loaded: [Loaded; 2]) {
        #[cfg(feature = "std")]
        if let Ok(mut recent) = self.0.lock() {
            *recent = loaded;
        }
        #[cfg(not(feature = "std"))]
        self.0.set(loaded);
    }
}

impl<S> core::fmt::Debug for ShardReader<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ShardReader").field("verified", &self.blocks.is_some()).finish()
    }
}

impl<'s, S: ReadAt> ShardReader<'s, S> {
    pub(super) fn new(source: &'s S, blocks: Option<&'s VerifiedBlocks>, changed: Error) -> Self {
        Self { source, blocks, changed, recent: Recent::default() }
    }

    /// Reads a whole block.
    fn load(&self, block: &Block, bytes: &mut [u8]) -> Result<(), ReadError<S::Error>> {
        self.source.read_at(block.start, bytes).map_err(ReadError::Source)?;
        let mut sum = sum();
        sum.update(bytes);
        if sum.finish() == block.sum { Ok(()) } else { Err(self.changed.into()) }
    }

    /// Reads the part of a block that begins at `at`.
    fn part(&self, block: &Block, at: u64, part: &mut [u8]) -> Result<(), ReadError<S::Error>> {
        let mut recent = self.recent.take();
        let is_it = |loaded: &Loaded| loaded.start == block.start && !loaded.bytes.is_empty();
        let place = recent.iter().position(is_it);
        if place != Some(0) {
            recent.swap(0, 1);
        }
        let [latest, _] = &mut recent;
        if place.is_none() {
            let mut bytes = core::mem::take(&mut latest.bytes);
            let length = usize::try_from(block.end.saturating_sub(block.start));
            let length = length.unwrap_or(BLOCK);
            bytes.truncate(length);
            extend(&mut bytes, length)?;
            self.load(block, &mut bytes)?;
            *latest = Loaded { start: block.start, bytes };
        }
        let within = usize::try_from(at.saturating_sub(block.start)).unwrap_or(BLOCK);
        let bytes = latest.bytes.get(within..).and_then(|bytes| bytes.get(..part.len()));
        part.copy_from_slice(bytes.ok_or(self.changed)?);
        self.recent.put(recent);
        Ok(())
    }
}

impl<S: ReadAt> ReadAt for ShardReader<'_, S> {
    type Error = ReadError<S::Error>;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Self::Error> {
        let Some(blocks) = self.blocks else {
            return self.source.read_at(offset, buffer).map_err(ReadError::Source);
        };
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let found = blocks.find(at);
            let until = found.map_or_else(|next| next, |block| block.end);
            let left = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            let length = left.min(rest.len());
            let Some((own, behind)) = rest.split_at_mut_checked(length) else { break };
            match found {
                Err(_) => self.source.read_at(at, own).map_err(ReadError::Source)?,
                Ok(block) if at == block.start && length == left => self.load(block, own)?,
                Ok(block) => self.part(block, at, own)?,
            }
            (at, rest) = (at.saturating_add(u64_from_usize(length)), behind);
        }
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let end = offset.saturating_add(u64_from_usize(length));
        // What has to be compared is copied first: a source may lend other bytes to each who asks.
        let is_free =
            self.blocks.is_none_or(|blocks| blocks.find(offset).is_err_and(|next| end <= next));
        if is_free { self.source.bytes_at(offset, length) } else { None }
    }
}
