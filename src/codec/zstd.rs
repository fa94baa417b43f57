//! Zstandard: RFC 8878. The frames are walked first, all of them, and then decoded block by block.
//!
//! The decoder of blocks is told a window no larger than what the manifest declares: so memory
//! follows the window or the declared size, whichever is smaller, and what has come out is known
//! after each block.

mod block;
#[cfg_attr(any(feature = "zstd-fast", feature = "zstd-ruzstd"), path = "zstd/foreign.rs")]
mod decoder;
mod frame;

use alloc::vec::Vec;

use self::decoder::Decoder;
use self::frame::{Block, Header, Walk};
use super::{ReadAt, ReadError};
use crate::error::{Error, OutOfMemory};
use crate::limits::Limits;
use crate::manifest::Extent;
use crate::num::wide;
use crate::rules::{Limit, Rule};

/// The frames of one component, being decoded.
pub(super) struct Frames {
    walk: Walk,
    /// Decoded bytes that the manifest declares, or how many there may be.
    most: u64,
    declared: bool,
    produced: u64,
    decoder: Decoder,
    frame: Option<Frame>,
    /// The block at hand, as it is stored.
    block: Vec<u8>,
}

/// The frame that is being decoded.
struct Frame {
    header: Header,
    produced: u64,
}

/// The decoder could not go on.
#[derive(Clone, Copy, Debug)]
enum Broken {
    /// The block is not one.
    Corrupt,
    /// It makes more than there may be.
    TooLong,
    /// Memory could not be had.
    #[cfg_attr(
        any(feature = "zstd-fast", feature = "zstd-ruzstd"),
        expect(dead_code, reason = "the others abort")
    )]
    Memory,
}

impl Frames {
    /// Walks the frames of a component, all of them, before any is decoded.
    pub(super) fn open<R: ReadAt>(
        source: &R,
        extent: Extent,
        expected: Option<u64>,
        limits: &Limits,
    ) -> Result<Self, ReadError<R::Error>> {
        let over = |bytes| Error::new(Limit::Decoded, extent.offset()).found(bytes);
        if let Some(expected) = expected.filter(|expected| *expected > limits.decoded()) {
            return Err(over(expected).into());
        }
        let most = expected.unwrap_or(limits.decoded());
        let mut walk = Walk::new(extent, limits.window());
        let mut claimed = 0_u64;
        while let Some(header) = walk.header(source)? {
            claimed = claimed.saturating_add(header.content_size.unwrap_or(0));
            if expected.is_none() && claimed > most {
                return Err(over(claimed).into());
            }
            while !walk.block(source, &header)?.last {}
            walk.checksum(&header)?;
        }
        Ok(Self {
            walk: Walk::new(extent, limits.window()),
            most,
            declared: expected.is_some(),
            produced: 0,
            decoder: Decoder::new(),
            frame: None,
            block: Vec::new(),
        })
    }

    /// How many bytes may still come.
    pub(super) fn left(&self) -> u64 {
        self.most.saturating_sub(self.produced)
    }

    /// Decodes into `buffer` until it is full or the component ends; how many bytes it is.
    /// `tap` sees the stored bytes, in order.
    pub(super) fn read<R: ReadAt>(
        &mut self,
        source: &R,
        buffer: &mut [u8],
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<usize, ReadError<R::Error>> {
        let mut filled = 0_usize;
        while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            if self.frame.is_none() {
                if !self.begin(source, tap)? {
                    break;
                }
                continue;
            }
            let read = self.decoder.read(rest).map_err(|broken| self.error(broken))?;
            filled = filled.saturating_add(read);
            if let Some(frame) = &mut self.frame {
                frame.produced = frame.produced.saturating_add(wide(read));
            }
            self.produced = self.produced.saturating_add(wide(read));
            if self.produced.saturating_add(self.decoder.pending()) > self.most {
                return Err(self.error(Broken::TooLong).into());
            }
            if read > 0 {
                continue;
            }
            if self.decoder.is_finished() {
                self.end()?;
            } else {
                self.block(source, tap)?;
            }
        }
        Ok(filled)
    }

    /// Begins the next frame, if there is one. At the end, judges the size of the whole.
    fn begin<R: ReadAt>(
        &mut self,
        source: &R,
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<bool, ReadError<R::Error>> {
        let before = self.walk.position();
        let Some(header) = self.walk.header(source)? else {
            if self.declared && self.produced != self.most {
                let error = Error::new(Rule::DecodedSize, self.walk.start());
                return Err(error.found(self.produced).into());
            }
            return Ok(false);
        };
        let after = self.walk.position();
        self.fetch(source, before, after.saturating_sub(before))?;
        tap(&self.block);
        let left = self.left();
        self.decoder.begin(&header, left).map_err(|broken| self.error(broken))?;
        self.frame = Some(Frame { header, produced: 0 });
        Ok(true)
    }

    /// Decodes the next block of the frame.
    fn block<R: ReadAt>(
        &mut self,
        source: &R,
        tap: &mut impl FnMut(&[u8]),
    ) -> Result<(), ReadError<R::Error>> {
        let Some(header) = self.frame.as_ref().map(|frame| frame.header) else {
            return Ok(());
        };
        let before = self.walk.position();
        let Block { last, .. } = self.walk.block(source, &header)?;
        if last {
            self.walk.checksum(&header)?;
        }
        self.fetch(source, before, self.walk.position().saturating_sub(before))?;
        tap(&self.block);
        block::judge(&self.block, &header, before)?;
        Ok(self.decoder.block(&self.block).map_err(|broken| self.error(broken))?)
    }

    /// Judges the frame that has ended.
    fn end(&mut self) -> Result<(), Error> {
        let Some(frame) = self.frame.take() else {
            return Ok(());
        };
        let header = frame.header;
        if let Some(size) = header.content_size.filter(|size| *size != frame.produced) {
            return Err(Error::new(Rule::ZstdContentSize, header.at).found(size));
        }
        if header.checksum && !self.decoder.matches_checksum() {
            return Err(Error::new(Rule::ZstdChecksum, header.at));
        }
        Ok(())
    }

    /// Fetches stored bytes: at most a header, or a block and a checksum.
    fn fetch<R: ReadAt>(
        &mut self,
        source: &R,
        offset: u64,
        length: u64,
    ) -> Result<(), ReadError<R::Error>> {
        let length = usize::try_from(length).map_err(|_| Error::from(OutOfMemory))?;
        self.block.clear();
        self.block.try_reserve_exact(length).map_err(|_| Error::from(OutOfMemory))?;
        if let Some(held) = self.walk.held(offset, length) {
            self.block.extend_from_slice(held);
            return Ok(());
        }
        self.block.resize(length, 0);
        source.read_at(offset, &mut self.block).map_err(ReadError::Source)
    }

    #[cold]
    fn error(&self, broken: Broken) -> Error {
        match broken {
            Broken::Corrupt => self.walk.corrupt(),
            Broken::Memory => Error::from(OutOfMemory),
            Broken::TooLong => {
                let rule: crate::error::ErrorKind =
                    if self.declared { Rule::DecodedSize.into() } else { Limit::Decoded.into() };
                Error::new(rule, self.walk.start()).found(self.most.saturating_add(1))
            }
        }
    }
}
