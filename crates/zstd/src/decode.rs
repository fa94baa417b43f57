//! Decoding frames. They are walked first, all of them, and then decoded block by block.
//!
//! The decoder of blocks is told a window no larger than what the frames may decode to: so memory
//! follows the window or that, whichever is smaller, and what has come out is known after each
//! block.

mod bits;
mod block;
mod decoder;
mod error;
mod fse;
mod header;
mod huffman;
mod literals;
mod output;
mod sequences;
mod streams;
mod walk;

use alloc::vec::Vec;
use core::ops::Range;

pub use self::block::Block;
pub use self::decoder::Decoder;
pub use self::error::{DecodeError, Flaw};
pub use self::header::Header;
use self::walk::FrameWalk;
use crate::Failure;
use crate::num::u64_from_usize;
use crate::xxh64::Xxh64;

/// The limits for decoding frames.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The largest window, in bytes.
    pub window: u64,
    /// The most bytes that all frames may decode to.
    pub decoded: u64,
    /// The number of bytes that they decode to, if it is known. It is checked against `decoded` first.
    pub declared: Option<u64>,
}

/// Decodes the blocks of one frame after the other. [`Decoder`] is ours; another can take its
/// place.
///
/// It fails with [`Flaw::Corrupt`], with [`Flaw::Decoded`] where there are more bytes than there may
/// be, or with [`Flaw::Memory`]; and is never used after an error.
pub trait BlockDecoder: Default {
    /// Begins a frame of that header, which may decode to at most `most` bytes.
    ///
    /// # Errors
    /// A frame that the decoder cannot begin.
    fn begin(&mut self, header: &Header, most: u64) -> Result<(), Flaw>;

    /// Decodes one block. All bytes that could be read have been.
    ///
    /// # Errors
    /// A frame that cannot be decoded.
    fn block(&mut self, block: &Block<'_>) -> Result<(), Flaw>;

    /// Takes decoded bytes: as many as the buffer holds, or as there are.
    ///
    /// # Errors
    /// A failure of the decoder.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Flaw>;

    /// Returns the number of decoded bytes that can be read now.
    fn pending(&self) -> u64;
}

/// Frames, one after the other, that are being decoded.
pub struct Frames<D = Decoder> {
    walk: FrameWalk,
    /// Decoded bytes that are declared, or how many there may be.
    most: u64,
    declared: bool,
    produced: u64,
    /// True if there is one frame only, and it has a checksum.
    one_with_checksum: bool,
    decoder: D,
    frame: Option<Frame>,
    /// The stored bytes that were fetched last.
    stored: Vec<u8>,
}

/// The frame that is being decoded.
struct Frame {
    header: Header,
    produced: u64,
    /// True if its last block has been decoded.
    last: bool,
    sum: Xxh64,
}

impl<D: BlockDecoder> Frames<D> {
    /// Walks the frames that stand in `source` at `stored`, all of them, before any is decoded.
    /// `source` fills a buffer with the bytes from a position on.
    ///
    /// # Errors
    /// Whatever the source fails with, and what can be validated without decoding.
    pub fn open<E>(
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        stored: Range<u64>,
        bounds: Bounds,
    ) -> Result<Self, Failure<E, DecodeError>> {
        let over = |bytes| DecodeError::new(Flaw::Decoded, stored.start).found(bytes);
        if let Some(declared) = bounds.declared.filter(|declared| *declared > bounds.decoded) {
            return Err(over(declared).into());
        }
        let most = bounds.declared.unwrap_or(bounds.decoded);
        let mut walk = FrameWalk::new(&stored, bounds.window);
        let mut claimed = 0_u64;
        let mut one_with_checksum = None;
        while let Some(header) = walk.header(source)? {
            one_with_checksum = Some(one_with_checksum.is_none() && header.checksum);
            claimed = claimed.saturating_add(header.content_size.unwrap_or(0));
            if bounds.declared.is_none() && claimed > most {
                return Err(over(claimed).into());
            }
            while !walk.block(source, &header)? {}
        }
        Ok(Self {
            walk: walk.anew(),
            most,
            declared: bounds.declared.is_some(),
            produced: 0,
            one_with_checksum: one_with_checksum == Some(true),
            decoder: D::default(),
            frame: None,
            stored: Vec::new(),
        })
    }

    /// Walks the frames again, of which none has been decoded yet: where each stands, and what it says that it
    /// decodes to. `each` says whether to go on.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn places<E>(
        &self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        mut each: impl FnMut(Range<u64>, Option<u64>) -> bool,
    ) -> Result<(), Failure<E, DecodeError>> {
        let mut walk = self.walk.anew();
        while let Some(header) = walk.header(source)? {
            while !walk.block(source, &header)? {}
            if !each(header.at..walk.position(), header.content_size) {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether there is one frame only, and it has a checksum.
    pub fn is_one_with_checksum(&self) -> bool {
        self.one_with_checksum
    }

    /// Returns the number of bytes that may still be decoded.
    pub fn left(&self) -> u64 {
        self.most.saturating_sub(self.produced)
    }

    /// Decodes into `buffer` until it is full or the frames end; how many bytes it is. `tap` sees
    /// the stored bytes, in order.
    ///
    /// # Errors
    /// Whatever the source fails with, and what decoding shows. After an error, nothing more can
    /// be read.
    pub fn read<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        buffer: &mut [u8],
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<usize, Failure<E, DecodeError>> {
        let mut filled = 0_usize;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if self.frame.is_none() {
                if self.begin(source, tap)? {
                    continue;
                }
                break;
            }
            let read = self.decoder.read(rest).map_err(|flaw| self.error(flaw))?;
            filled = filled.saturating_add(read);
            self.produced = self.produced.saturating_add(u64_from_usize(read));
            if self.produced.saturating_add(self.decoder.pending()) > self.most {
                return Err(self.error(Flaw::Decoded).into());
            }
            let decoded = rest.get(..read).ok_or_else(|| self.error(Flaw::Corrupt))?;
            let missing = self.error(Flaw::Corrupt);
            let frame = self.frame.as_mut().ok_or(missing)?;
            frame.produced = frame.produced.saturating_add(u64_from_usize(read));
            if frame.header.checksum {
                frame.sum.update(decoded);
            }
            if read > 0 {
                continue;
            }
            if frame.last {
                self.end()?;
            } else {
                self.block(source, tap)?;
            }
        }
        Ok(filled)
    }

    /// Begins the next frame, if there is one. At the end, validates the size of the whole.
    fn begin<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<bool, Failure<E, DecodeError>> {
        let at = self.walk.position();
        let Some(header) = self.walk.header(source)? else {
            if self.declared && self.produced != self.most {
                let error = DecodeError::new(Flaw::Declared, self.walk.start());
                return Err(error.found(self.produced).into());
            }
            return Ok(false);
        };
        self.fetch(source, at)?;
        tap(&self.stored);
        let left = self.left();
        self.decoder.begin(&header, left).map_err(|flaw| self.error(flaw))?;
        self.frame = Some(Frame { header, produced: 0, last: false, sum: Xxh64::new() });
        Ok(true)
    }

    /// Decodes the next block of the frame.
    fn block<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<(), Failure<E, DecodeError>> {
        let at = self.walk.position();
        let Some(frame) = &mut self.frame else {
            return Ok(());
        };
        frame.last = self.walk.block(source, &frame.header)?;
        let most = frame.header.largest_block();
        self.fetch(source, at)?;
        tap(&self.stored);
        let block = Block::parse(&self.stored, at, most)?;
        Ok(self.decoder.block(&block).map_err(|flaw| self.error(flaw))?)
    }

    /// Validates the frame that has ended.
    fn end(&mut self) -> Result<(), DecodeError> {
        let Some(Frame { header, produced, sum, .. }) = self.frame.take() else {
            return Ok(());
        };
        if let Some(size) = header.content_size.filter(|size| *size != produced) {
            return Err(DecodeError::new(Flaw::ContentSize, header.at).found(size));
        }
        // What was fetched last is the last block, and the checksum.
        let stored = self.stored.last_chunk().map(|sum| u32::from_le_bytes(*sum));
        if header.checksum && stored != Some(sum.low()) {
            return Err(DecodeError::new(Flaw::Checksum, header.at));
        }
        Ok(())
    }

    /// Fetches what the walk has passed over since `at`: at most a header, or a block and a
    /// checksum.
    fn fetch<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        at: u64,
    ) -> Result<(), Failure<E, DecodeError>> {
        let memory = DecodeError::new(Flaw::Memory, at);
        let length = usize::try_from(self.walk.position().saturating_sub(at));
        let length = length.map_err(|_| memory)?;
        self.stored.clear();
        self.stored.try_reserve_exact(length).map_err(|_| memory)?;
        // No byte is read twice: a source that gave another header would have the block end
        // elsewhere than it has been walked.
        let ahead = self.walk.ahead(at, length);
        self.stored.extend_from_slice(ahead);
        let (at, first) = (at.saturating_add(u64_from_usize(ahead.len())), ahead.len());
        self.stored.resize(length, 0);
        match self.stored.get_mut(first..) {
            Some(rest) if !rest.is_empty() => source(at, rest).map_err(Failure::Callback),
            _ => Ok(()),
        }
    }

    /// Returns the error for a flaw that the decoder found: at the current position of the walk, but at
    /// the first frame if there are too many bytes.
    #[cold]
    fn error(&self, flaw: Flaw) -> DecodeError {
        if flaw != Flaw::Decoded {
            return DecodeError::new(flaw, self.walk.position());
        }
        let flaw = if self.declared { Flaw::Declared } else { Flaw::Decoded };
        DecodeError::new(flaw, self.walk.start()).found(self.most.saturating_add(1))
    }
}

impl<C> From<DecodeError> for Failure<C, DecodeError> {
    fn from(error: DecodeError) -> Self {
        Self::Codec(error)
    }
}

/// Decodes all frames, which follow one another and are followed by nothing.
///
/// # Errors
/// Bytes that cannot be decoded within the bounds.
pub fn decode(frames: &[u8], bounds: Bounds) -> Result<Vec<u8>, DecodeError> {
    const PIECE: usize = 64 << 10;
    let mut source = |at: u64, buffer: &mut [u8]| {
        let from = usize::try_from(at).ok().and_then(|at| frames.get(at..));
        let from = from.ok_or(DecodeError::new(Flaw::Truncated, at))?;
        buffer.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        Ok(())
    };
    let stored = 0..u64_from_usize(frames.len());
    let opened = Frames::<Decoder>::open(&mut source, stored, bounds);
    let mut frames = opened.map_err(Failure::either)?;
    let mut all = Vec::new();
    loop {
        let filled = all.len();
        // Room for a byte more than is to come: where there is none, nothing would be read.
        let room = usize::try_from(frames.left()).unwrap_or(PIECE).min(PIECE).saturating_add(1);
        let reserved = all.try_reserve(room);
        reserved.map_err(|_| DecodeError::new(Flaw::Memory, 0))?;
        all.resize(filled.saturating_add(room), 0);
        let rest = all.get_mut(filled..).ok_or(DecodeError::new(Flaw::Corrupt, 0))?;
        let read = frames.read(&mut source, rest, &mut |_| ()).map_err(Failure::either)?;
        all.truncate(filled.saturating_add(read));
        if read < room {
            return Ok(all);
        }
    }
}
