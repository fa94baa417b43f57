//! [`RemoteFile`], a remote file for programs that block while they wait for bytes, and the readahead of its blocks.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinHandle;
use zten::ReadAt;
use zten::num::u64_from_usize;
use zten::shards::Want;

use crate::error::RemoteError;
use crate::name::RemoteName;
use crate::network::Network;
use crate::object::RemoteObject;
use crate::options::RemoteOptions;
use crate::plan::{BLOCK, Plan};

/// The number of bytes at the start of a file that are fetched together and kept in memory, because opening a file reads them more
/// than once.
const HEAD: u64 = 64;
/// The divisor for readahead without a plan: a read that continues a sequential run of `n` bytes fetches `n / RUN` bytes, but at
/// most a [`BLOCK`], if this is more than the read asks for. So at most a twentieth of the transfer is wasted if the caller stops
/// reading.
const RUN: u64 = 20;
/// The largest number of blocks that are fetched ahead at a time: blocks of which the caller has read nothing yet.
const IN_FLIGHT: usize = 4;
/// The largest number of blocks of a file in memory, including blocks that are still being fetched.
const HELD: usize = 8;

/// An open remote file. All reads are of the version of the file that was opened. A network thread fetches the ranges that
/// [`plan`](Self::plan) has announced while the caller processes earlier bytes. Without a plan, it fetches ahead what a long
/// sequence of reads, each from the end of the last one, will probably read. At most 8 blocks of 4 MiB are held in memory.
#[derive(Debug)]
pub struct RemoteFile {
    network: Arc<Network>,
    object: RemoteObject,
    ahead: Mutex<Ahead>,
}

/// The state of readahead: the plan, and the blocks that were fetched for it.
#[derive(Debug, Default)]
struct Ahead {
    plan: Plan,
    /// The index in `plan` of the next block to fetch ahead.
    next: usize,
    /// The index of the planned block at which fetching ahead stops, because other files are read before it.
    end: usize,
    /// For each planned block, its offset in the file and its index in `plan`, sorted by the offset.
    by_start: Vec<(u64, usize)>,
    /// For each planned block, whether fetching it has begun.
    begun: Vec<bool>,
    /// Blocks in memory and in flight, in the order in which fetching began.
    held: VecDeque<Block>,
    /// The first [`HEAD`] bytes of the file. Empty until a read asks for bytes that all lie within them.
    head: Vec<u8>,
    run: SequentialRun,
}

/// The reads since the caller last jumped to another offset, which therefore follow each other without a gap. The longer this
/// run is, the more bytes after it are fetched ahead. Reads of ranges that the caller has announced as a plan do not count.
#[derive(Debug, Default)]
struct SequentialRun {
    /// The offset in the file at which the run ends. A read that begins there extends the run.
    end: u64,
    /// The number of bytes that were read in this run so far, including those that were fetched ahead.
    bytes: u64,
}

#[derive(Debug)]
struct Block {
    range: Range<u64>,
    state: BlockState,
    is_used: bool,
}

#[derive(Debug)]
enum BlockState {
    Coming(JoinHandle<Result<Vec<u8>, RemoteError>>),
    Here(Vec<u8>),
}

/// The network thread, and the remote object from which blocks are fetched.
#[derive(Clone, Copy)]
struct Origin<'r> {
    network: &'r Network,
    object: &'r RemoteObject,
}

impl RemoteFile {
    /// Opens the remote file `name`: fetches its last 64 KiB, and learns its length and version from the response. Starts a thread
    /// that does all requests for the file.
    ///
    /// # Errors
    /// The file does not exist, a request fails, or the thread cannot be started.
    pub fn open(name: &RemoteName, options: &RemoteOptions) -> Result<Self, RemoteError> {
        let network = Network::new()?;
        let object = network.wait(RemoteObject::open(name, options))?;
        Ok(Self::new(Arc::new(network), object))
    }

    fn new(network: Arc<Network>, object: RemoteObject) -> Self {
        Self { network, object, ahead: Mutex::default() }
    }

    /// Opens the sibling file `want` as [`RemoteObject::find`] does. Both files share one network thread and its connections.
    ///
    /// # Errors
    /// The errors of [`RemoteObject::find`].
    pub fn find(&self, want: &Want) -> Result<Option<Self>, RemoteError> {
        let found = self.network.wait(self.object.find(want))?;
        Ok(found.map(|object| Self::new(Arc::clone(&self.network), object)))
    }

    /// Drops the blocks that were fetched ahead, to free their memory while the caller does something else. Nothing more is
    /// fetched ahead until the next read, and the plan stays.
    pub fn pause(&self) {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner).forget();
    }

    /// Returns the length of the file in bytes.
    pub fn length(&self) -> u64 {
        self.object.length()
    }

    /// Returns the commit of the repository to which all requests are pinned, as [`RemoteObject::commit`] does.
    pub fn commit(&self) -> Option<&str> {
        self.object.commit()
    }

    /// Announces the ranges of the file that the caller will read, in their order, so that several blocks can be fetched ahead of
    /// the caller. `plan` replaces an earlier plan, whose blocks are dropped.
    ///
    /// # Errors
    /// [`RemoteError::BeyondEnd`] if a range of the plan ends after the end of the file.
    pub fn plan(&self, plan: Plan) -> Result<(), RemoteError> {
        let length = self.length();
        if plan.blocks().iter().any(|block| block.end > length) {
            return Err(RemoteError::BeyondEnd { length });
        }
        let mut by_start: Vec<_> =
            plan.blocks().iter().zip(0..).map(|(block, place)| (block.start, place)).collect();
        by_start.sort_unstable();
        let begun = vec![false; plan.blocks().len()];
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let head = std::mem::take(&mut ahead.head);
        *ahead = Ahead { plan, by_start, begun, head, ..Ahead::default() };
        Ok(())
    }

    /// Reads the bytes of `range`, and passes them to `take` in their order, in chunks of any length.
    ///
    /// # Errors
    /// [`RemoteError::BeyondEnd`] if the range exceeds the file, an error of a request, or an error of `take`.
    pub fn read_with<E: From<RemoteError>>(
        &self,
        range: Range<u64>,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        // Creating a reading checks that the range is within the file. It sends no request.
        drop(self.object.reading(range.clone())?);
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = range.start;
        if range.end <= HEAD && ahead.head.is_empty() {
            let head = 0..HEAD.min(self.length());
            ahead.head = self.network.wait(self.object.read(head))?;
        }
        if let Ok(start) = usize::try_from(at)
            && let Some(head) = ahead.head.get(start..).filter(|head| !head.is_empty())
        {
            let most = usize::try_from(range.end.saturating_sub(at)).unwrap_or(usize::MAX);
            let head = head.get(..most).unwrap_or(head);
            take(head)?;
            at = at.saturating_add(u64_from_usize(head.len()));
        }
        while at < range.end {
            ahead.begin(
                at,
                range.end.saturating_sub(at),
                Origin { network: &self.network, object: &self.object },
            );
            if let Some(place) = ahead.holding(at) {
                let bytes = ahead.bytes(place, at..range.end, &self.network)?;
                take(bytes)?;
                at = at.saturating_add(u64_from_usize(bytes.len()));
            } else {
                let end = ahead.first_after(at).min(range.end);
                let mut reading = self.object.reading(at..end)?;
                while let Some(bytes) = self.network.wait(reading.next())? {
                    take(&bytes)?;
                }
                at = end;
            }
        }
        Ok(())
    }
}

impl Ahead {
    /// Returns the index in `held` of the block that holds the byte at offset `at`.
    fn holding(&self, at: u64) -> Option<usize> {
        self.held.iter().position(|block| block.range.contains(&at))
    }

    /// Returns the index in the plan of the block that holds the byte at offset `at`. Returns `None` if no planned block holds the
    /// byte, or fetching the block has begun.
    fn planned(&self, at: u64) -> Option<usize> {
        let after = self.by_start.partition_point(|(start, _)| *start <= at);
        let (_, place) = self.by_start.get(after.checked_sub(1)?)?;
        let holds = self.plan.blocks().get(*place)?.contains(&at);
        (holds && self.begun.get(*place) == Some(&false)).then_some(*place)
    }

    /// Returns the smallest offset after `at` at which a block in memory or in flight begins, or `u64::MAX` if there is no such
    /// block. The caller has checked that no block holds `at` itself.
    fn first_after(&self, at: u64) -> u64 {
        let starts = self.held.iter().map(|block| block.range.start);
        starts.filter(|start| *start > at).min().unwrap_or(u64::MAX)
    }

    /// Prepares for a read of `bytes` bytes at offset `at`: starts fetching the planned block that holds the byte at `at`, and
    /// the planned blocks after this block. If the byte is neither in a block in memory or in flight nor in a planned block that
    /// is still to be fetched, calls [`begin_run`](Self::begin_run), which records the read and may start fetching without a
    /// plan.
    fn begin(&mut self, at: u64, bytes: u64, from: Origin<'_>) {
        if self.holding(at).is_none() {
            match self.planned(at) {
                // The read skipped planned blocks. Fetching ahead goes on from this block, and the skipped blocks are fetched if
                // they are read later.
                Some(place) => {
                    self.next = place;
                    self.end = self.plan.run_end(place);
                    self.held.retain(|block| !block.is_used);
                    while self.held.len() >= IN_FLIGHT {
                        self.held.pop_front();
                    }
                    self.begin_next(from);
                }
                None => self.begin_run(at, bytes, from),
            }
        }
        let coming = |held: &VecDeque<Block>| held.iter().filter(|block| !block.is_used).count();
        while coming(&self.held) < IN_FLIGHT && self.next < self.end {
            if self.held.len() >= HELD {
                let Some(used) = self.held.iter().position(|block| block.is_used) else { break };
                self.held.remove(used);
            }
            self.begin_next(from);
        }
    }

    /// Starts fetching the next planned block, unless fetching this block has begun before.
    fn begin_next(&mut self, from: Origin<'_>) {
        let place = self.next;
        self.next = self.next.saturating_add(1);
        let Some(begun) = self.begun.get_mut(place).filter(|begun| !**begun) else { return };
        *begun = true;
        if let Some(range) = self.plan.blocks().get(place).cloned() {
            self.fetch(range, from);
        }
    }

    /// Records a read of `bytes` bytes at offset `at` that no plan announced. If there is no plan and the read continues a
    /// sequential run that is long enough, starts fetching a block that begins at `at`.
    fn begin_run(&mut self, at: u64, bytes: u64, from: Origin<'_>) {
        let run = if at == self.run.end { self.run.bytes } else { 0 };
        let most = run.checked_div(RUN).unwrap_or_default().min(BLOCK);
        let mut end = at.saturating_add(bytes);
        if most > bytes && self.plan.blocks().is_empty() {
            end = at.saturating_add(most).min(from.object.length());
            if self.held.len() >= HELD {
                self.held.pop_front();
            }
            self.fetch(at..end, from);
        }
        self.run = SequentialRun { end, bytes: run.saturating_add(end.saturating_sub(at)) };
    }

    /// Drops all blocks in memory and in flight. Blocks of which the caller has read nothing are fetched again when they
    /// are needed.
    fn forget(&mut self) {
        for block in std::mem::take(&mut self.held).iter().filter(|block| !block.is_used) {
            let place = self.by_start.binary_search_by_key(&block.range.start, |(start, _)| *start);
            let place = place.ok().and_then(|at| self.by_start.get(at));
            if let Some(begun) = place.and_then(|(_, place)| self.begun.get_mut(*place)) {
                *begun = false;
            }
        }
        self.end = 0;
    }

    fn fetch(&mut self, range: Range<u64>, Origin { network, object }: Origin<'_>) {
        let (object, wanted) = (object.clone(), range.clone());
        let coming = network.begin(async move { object.read(wanted).await });
        self.held.push_back(Block { range, state: BlockState::Coming(coming), is_used: false });
    }

    /// Returns the bytes of `range`, a range of the file, that the block `held[place]` has. Waits until the block has been fetched.
    fn bytes(
        &mut self,
        place: usize,
        range: Range<u64>,
        network: &Network,
    ) -> Result<&[u8], RemoteError> {
        let Some(block) = self.held.get_mut(place) else { return Err(RemoteError::OtherRange) };
        block.is_used = true;
        if let BlockState::Coming(coming) = &mut block.state {
            match network.wait_for(coming) {
                Ok(bytes) => block.state = BlockState::Here(bytes),
                Err(error) => {
                    self.held.remove(place);
                    return Err(error);
                }
            }
        }
        let Some(Block { range: whole, state: BlockState::Here(bytes), .. }) = self.held.get(place)
        else {
            return Err(RemoteError::OtherRange);
        };
        let within = |at: u64| {
            usize::try_from(at.saturating_sub(whole.start)).unwrap_or(usize::MAX).min(bytes.len())
        };
        let found = bytes.get(within(range.start)..within(range.end)).unwrap_or_default();
        if found.is_empty() { Err(RemoteError::OtherRange) } else { Ok(found) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let BlockState::Coming(coming) = &self.state {
            coming.abort();
        }
    }
}

impl ReadAt for RemoteFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        let beyond = || RemoteError::BeyondEnd { length: self.length() };
        let end = offset.checked_add(u64_from_usize(buffer.len())).ok_or_else(beyond)?;
        let mut left = buffer;
        self.read_with(offset..end, |bytes| {
            let rest = std::mem::take(&mut left);
            let (filled, rest) = rest.split_at_mut_checked(bytes.len()).ok_or_else(beyond)?;
            filled.copy_from_slice(bytes);
            left = rest;
            Ok::<(), RemoteError>(())
        })?;
        Ok(())
    }
}
