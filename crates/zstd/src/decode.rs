//! Decoding frames. First all frames are walked and their headers checked, and then they are decoded block by block.
//!
//! The decoder of blocks gets a window no larger than the number of bytes that the frame may decode to. The memory for decoded
//! bytes is therefore bounded by the window and a block, or by that number if it is smaller. The number of decoded bytes is checked
//! after each block.

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
pub use self::header::FrameHeader;
use self::walk::FrameWalk;
use crate::CallbackFailure;
use crate::num::u64_from_usize;
use crate::xxh64::Xxh64;

/// The bounds for decoding frames.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The largest window, in bytes, that a frame may require.
    pub window: u64,
    /// The largest number of bytes that all frames together may decode to.
    pub decoded: u64,
    /// The number of bytes that all frames must decode to, if it is known. It must not exceed `decoded`.
    pub declared: Option<u64>,
}

/// A decoder of the blocks of frames, one frame after the other. [`Decoder`] is the decoder of this crate.
///
/// Errors are [`Flaw::Corrupt`], [`Flaw::Decoded`] if there are more bytes than allowed, and [`Flaw::Memory`]. A decoder is
/// not used again after an error.
pub trait BlockDecoder: Default {
    /// Begins a frame with `header`, which may decode to at most `most` bytes.
    ///
    /// # Errors
    /// The decoder cannot begin the frame.
    fn begin(&mut self, header: &FrameHeader, most: u64) -> Result<(), Flaw>;

    /// Decodes `block`. The caller has read all bytes of earlier blocks.
    ///
    /// # Errors
    /// The block cannot be decoded.
    fn block(&mut self, block: &Block<'_>) -> Result<(), Flaw>;

    /// Moves decoded bytes to `buffer`, until it is full or all decoded bytes are read. Returns their number.
    ///
    /// # Errors
    /// The decoder fails.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Flaw>;

    /// Returns the number of decoded bytes that can be read now.
    fn pending(&self) -> u64;
}

/// Frames that follow one another and are being decoded.
pub struct Frames<D = Decoder> {
    walk: FrameWalk,
    /// The number of bytes that all frames must decode to; if `declared` is false, the largest number that they may decode to.
    most: u64,
    /// Whether the number of bytes that all frames must decode to is known.
    declared: bool,
    produced: u64,
    /// Whether there is exactly one frame, and it has a checksum.
    one_with_checksum: bool,
    decoder: D,
    frame: Option<Frame>,
    /// The stored bytes of the block or header that was fetched last.
    stored: Vec<u8>,
}

/// The frame that is being decoded.
struct Frame {
    header: FrameHeader,
    produced: u64,
    /// Whether the last block of the frame has been decoded.
    last: bool,
    sum: Xxh64,
}

impl<D: BlockDecoder> Frames<D> {
    /// Creates a decoder of the frames at the positions `stored` of `source`. Walks over all frames and checks their
    /// headers before any frame is decoded. `source` fills a buffer with the bytes at a position.
    ///
    /// # Errors
    /// The errors of the source, and all errors that can be found without decoding.
    pub fn open<E>(
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        stored: Range<u64>,
        bounds: Bounds,
    ) -> Result<Self, CallbackFailure<E, DecodeError>> {
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

    /// Walks the frames again. Calls `each` with the position of each frame, and the decoded size that its header gives,
    /// until `each` returns false. Nothing may have been decoded yet.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn find_frames<E>(
        &self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        mut each: impl FnMut(Range<u64>, Option<u64>) -> bool,
    ) -> Result<(), CallbackFailure<E, DecodeError>> {
        let mut walk = self.walk.anew();
        while let Some(header) = walk.header(source)? {
            while !walk.block(source, &header)? {}
            if !each(header.at..walk.position(), header.content_size) {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether there is exactly one frame, and it has a checksum.
    pub fn is_one_with_checksum(&self) -> bool {
        self.one_with_checksum
    }

    /// Returns the number of bytes that may still be decoded from all frames together.
    pub fn left(&self) -> u64 {
        self.most.saturating_sub(self.produced)
    }

    /// Decodes into `buffer` until it is full or the frames end, and returns the number of bytes. Passes the stored bytes
    /// to `tap`, in order.
    ///
    /// # Errors
    /// The errors of the source, and of decoding. After an error nothing more can be read.
    pub fn read<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        buffer: &mut [u8],
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<usize, CallbackFailure<E, DecodeError>> {
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

    /// Begins the next frame, and returns true. After the last frame, checks the total decoded size, and returns false.
    fn begin<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<bool, CallbackFailure<E, DecodeError>> {
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
    ) -> Result<(), CallbackFailure<E, DecodeError>> {
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

    /// Checks the content size and the checksum of the frame that has ended.
    fn end(&mut self) -> Result<(), DecodeError> {
        let Some(Frame { header, produced, sum, .. }) = self.frame.take() else {
            return Ok(());
        };
        if let Some(size) = header.content_size.filter(|size| *size != produced) {
            return Err(DecodeError::new(Flaw::ContentSize, header.at).found(size));
        }
        // The bytes that were fetched last are the last block and the checksum.
        let stored = self.stored.last_chunk().map(|sum| u32::from_le_bytes(*sum));
        if header.checksum && stored != Some(sum.low()) {
            return Err(DecodeError::new(Flaw::Checksum, header.at));
        }
        Ok(())
    }

    /// Fetches the stored bytes from the position `at` up to the position that the walk has reached: at most a
    /// header, or a block and a checksum.
    fn fetch<E>(
        &mut self,
        source: &mut impl FnMut(u64, &mut [u8]) -> Result<(), E>,
        at: u64,
    ) -> Result<(), CallbackFailure<E, DecodeError>> {
        let memory = DecodeError::new(Flaw::Memory, at);
        let length = usize::try_from(self.walk.position().saturating_sub(at));
        let length = length.map_err(|_| memory)?;
        self.stored.clear();
        self.stored.try_reserve_exact(length).map_err(|_| memory)?;
        // Bytes that were read ahead are not read again: if the source returned another header the second time, the block
        // would end elsewhere than the walk has checked.
        let ahead = self.walk.ahead(at, length);
        self.stored.extend_from_slice(ahead);
        let (at, first) = (at.saturating_add(u64_from_usize(ahead.len())), ahead.len());
        self.stored.resize(length, 0);
        match self.stored.get_mut(first..) {
            Some(rest) if !rest.is_empty() => source(at, rest).map_err(CallbackFailure::Callback),
            _ => Ok(()),
        }
    }

    /// Returns the error for a flaw that the decoder of blocks found. Its position is the one that the walk has
    /// reached, or that of the first frame if the frames decode to too many bytes.
    #[cold]
    fn error(&self, flaw: Flaw) -> DecodeError {
        if flaw != Flaw::Decoded {
            return DecodeError::new(flaw, self.walk.position());
        }
        let flaw = if self.declared { Flaw::Declared } else { Flaw::Decoded };
        DecodeError::new(flaw, self.walk.start()).found(self.most.saturating_add(1))
    }
}

impl<C> From<DecodeError> for CallbackFailure<C, DecodeError> {
    fn from(error: DecodeError) -> Self {
        Self::Codec(error)
    }
}

/// Decodes all of `frames`, which must not be followed by other bytes.
///
/// # Errors
/// The bytes cannot be decoded within the bounds.
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
    let mut frames = opened.map_err(CallbackFailure::either)?;
    let mut all = Vec::new();
    loop {
        let filled = all.len();
        // The buffer has room for one byte more than are left: with an empty buffer, `read` would do nothing and not find
        // the end of the frames.
        let room = usize::try_from(frames.left()).unwrap_or(PIECE).min(PIECE).saturating_add(1);
        let reserved = all.try_reserve(room);
        reserved.map_err(|_| DecodeError::new(Flaw::Memory, 0))?;
        all.resize(filled.saturating_add(room), 0);
        let rest = all.get_mut(filled..).ok_or(DecodeError::new(Flaw::Corrupt, 0))?;
        let read = frames.read(&mut source, rest, &mut |_| ()).map_err(CallbackFailure::either)?;
        all.truncate(filled.saturating_add(read));
        if read < room {
            return Ok(all);
        }
    }
}
