//! The seekable format: frames of one size, each by itself, and behind them a table of their sizes.

use alloc::vec::Vec;

use super::{EncodeError, Encoder, Level};
use crate::Failure;
use crate::num::{len_u32, u64_from_usize};

/// Decoded bytes of a frame.
const FRAME: u64 = 1 << 20;
/// The magic of the skippable frame that the table is, and that at its end.
const SKIPPABLE: [u8; 4] = [0x5e, 0x2a, 0x4d, 0x18];
const SEEKABLE: [u8; 4] = [0xb1, 0xea, 0x92, 0x8f];
/// The flag that entries have checksums.
const CHECKSUMS: u8 = 0x80;
/// Bytes of an entry, and of what follows the entries.
const ENTRY: usize = 12;
const TAIL: u32 = 9;

/// Encodes bytes as frames of 1 MiB, each with a checksum, and a table of them with their checksums.
///
/// The table takes 12 bytes of memory a frame, as frames come.
pub struct Seekable {
    encoder: Option<Encoder>,
    /// Decoded bytes that no frame has been begun for, and those of the frame that are to come.
    left: u64,
    of_frame: u64,
    decoded: u32,
    stored: u64,
    table: Vec<u8>,
    count: u32,
}

impl Seekable {
    /// An encoder of exactly `decoded` bytes: memory as [`Encoder::new`].
    ///
    /// # Errors
    /// [`EncodeError::Memory`].
    pub fn new(level: Level, decoded: u64) -> Result<Self, EncodeError> {
        let first = decoded.min(FRAME);
        let encoder = (first > 0).then(|| Encoder::new(level, first)).transpose()?;
        let mut own = Self {
            encoder: encoder.map(Encoder::with_checksum),
            left: decoded,
            of_frame: 0,
            decoded: 0,
            stored: 0,
            table: Vec::new(),
            count: 0,
        };
        own.begin();
        Ok(own)
    }

    /// Begins a frame of what is left, if something is.
    fn begin(&mut self) {
        self.of_frame = self.left.min(FRAME);
        self.left = self.left.saturating_sub(self.of_frame);
        // At most 1 MiB.
        self.decoded = u32::try_from(self.of_frame).unwrap_or(0);
        self.stored = 0;
        if let Some(encoder) = &mut self.encoder {
            encoder.restart(self.of_frame);
        }
    }

    /// Takes bytes, and hands to `out` what can be written.
    ///
    /// # Errors
    /// Whatever `out` fails with; [`EncodeError::Length`] for more bytes than were announced;
    /// [`EncodeError::Memory`].
    pub fn write<E>(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), Failure<E, EncodeError>> {
        while !bytes.is_empty() {
            let Some(encoder) = self.encoder.as_mut().filter(|_| self.of_frame > 0) else {
                return Err(EncodeError::Length.into());
            };
            let room = usize::try_from(self.of_frame).unwrap_or(usize::MAX);
            let (now, later) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            let stored = &mut self.stored;
            encoder.write(now, &mut |bytes| counted(bytes, stored, out))?;
            self.of_frame = self.of_frame.saturating_sub(u64_from_usize(now.len()));
            bytes = later;
            if self.of_frame == 0 {
                let sum = encoder.end(&mut |bytes| counted(bytes, stored, out))?;
                self.note(sum)?;
                self.begin();
            }
        }
        Ok(())
    }

    /// Adds the entry of a frame that has ended.
    fn note(&mut self, sum: [u8; 4]) -> Result<(), EncodeError> {
        let stored = u32::try_from(self.stored).map_err(|_| EncodeError::Length)?;
        self.count = self.count.checked_add(1).ok_or(EncodeError::Length)?;
        self.table.try_reserve(ENTRY).map_err(|_| EncodeError::Memory)?;
        for bytes in [stored.to_le_bytes(), self.decoded.to_le_bytes(), sum] {
            self.table.extend_from_slice(&bytes);
        }
        Ok(())
    }

    /// Hands the table to `out`.
    ///
    /// # Errors
    /// Whatever `out` fails with; [`EncodeError::Length`] for fewer bytes than were announced, or
    /// more frames than a table counts bytes of.
    pub fn finish<E>(
        self,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), Failure<E, EncodeError>> {
        let follow = len_u32(self.table.len()).checked_add(TAIL);
        let follow = follow.filter(|_| self.of_frame == 0 && self.left == 0);
        let follow = follow.ok_or(EncodeError::Length)?.to_le_bytes();
        let count = self.count.to_le_bytes();
        let pieces: [&[u8]; 6] =
            [&SKIPPABLE, &follow, &self.table, &count, &[CHECKSUMS], &SEEKABLE];
        pieces.into_iter().try_for_each(out).map_err(Failure::Callback)
    }
}

/// Hands bytes to `out`, and counts them.
fn counted<E>(
    bytes: &[u8],
    stored: &mut u64,
    out: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    *stored = stored.saturating_add(u64_from_usize(bytes.len()));
    out(bytes)
}
