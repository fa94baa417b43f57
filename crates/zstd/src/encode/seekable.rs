//! Encoding the seekable format: independent frames of one size, followed by a table of their sizes.

use alloc::vec::Vec;

use super::{EncodeError, Encoder, Level};
use crate::CallbackFailure;
use crate::num::{len_u32, u64_from_usize};

/// The number of decoded bytes of each frame but the last, which may have fewer.
const FRAME: u64 = 1 << 20;
/// The magic at the start of the skippable frame that holds the seek table.
const SKIPPABLE: [u8; 4] = [0x5e, 0x2a, 0x4d, 0x18];
/// The magic at the end of the seek table.
const SEEKABLE: [u8; 4] = [0xb1, 0xea, 0x92, 0x8f];
/// The flag in the seek table that says that its entries have checksums.
const CHECKSUMS: u8 = 0x80;
/// The size in bytes of an entry of the seek table.
const ENTRY: usize = 12;
/// The number of bytes of the seek table after its entries: the number of frames, the flags and the magic.
const TAIL: u32 = 9;

/// An encoder of frames of 1 MiB, each with a checksum, and a table of their sizes and checksums.
///
/// The table takes 12 bytes of memory for each frame, and grows as frames are written.
pub struct Seekable {
    encoder: Option<Encoder>,
    /// The number of announced bytes for which no frame has begun.
    left: u64,
    /// The number of bytes that the current frame still lacks.
    of_frame: u64,
    decoded: u32,
    stored: u64,
    table: Vec<u8>,
    count: u32,
}

impl Seekable {
    /// Creates an encoder of exactly `decoded` bytes, with the memory of [`Encoder::new`]. For 0 bytes only the table is written,
    /// and no frame.
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

    /// Begins the next frame, if bytes are left.
    fn begin(&mut self) {
        self.of_frame = self.left.min(FRAME);
        self.left = self.left.saturating_sub(self.of_frame);
        // A frame has at most 1 MiB, so the number fits.
        self.decoded = u32::try_from(self.of_frame).unwrap_or(0);
        self.stored = 0;
        if let Some(encoder) = &mut self.encoder {
            encoder.restart(self.of_frame);
        }
    }

    /// Encodes `bytes`, and passes complete blocks to `out`.
    ///
    /// # Errors
    /// The errors of `out`; [`EncodeError::Length`] for more bytes than were announced; [`EncodeError::Memory`].
    pub fn write<E>(
        &mut self,
        mut bytes: &[u8],
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), CallbackFailure<E, EncodeError>> {
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

    /// Adds the seek table's entry for the frame that has ended. `sum` is the checksum of the frame.
    fn note(&mut self, sum: [u8; 4]) -> Result<(), EncodeError> {
        let stored = u32::try_from(self.stored).map_err(|_| EncodeError::Length)?;
        self.count = self.count.checked_add(1).ok_or(EncodeError::Length)?;
        self.table.try_reserve(ENTRY).map_err(|_| EncodeError::Memory)?;
        for bytes in [stored.to_le_bytes(), self.decoded.to_le_bytes(), sum] {
            self.table.extend_from_slice(&bytes);
        }
        Ok(())
    }

    /// Passes the seek table to `out`, after the last frame.
    ///
    /// # Errors
    /// The errors of `out`; [`EncodeError::Length`] for fewer bytes than were announced, or if the table is too long for
    /// its 32-bit length field.
    pub fn finish<E>(
        self,
        out: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), CallbackFailure<E, EncodeError>> {
        let follow = len_u32(self.table.len()).checked_add(TAIL);
        let follow = follow.filter(|_| self.of_frame == 0 && self.left == 0);
        let follow = follow.ok_or(EncodeError::Length)?.to_le_bytes();
        let count = self.count.to_le_bytes();
        let pieces: [&[u8]; 6] =
            [&SKIPPABLE, &follow, &self.table, &count, &[CHECKSUMS], &SEEKABLE];
        pieces.into_iter().try_for_each(out).map_err(CallbackFailure::Callback)
    }
}

/// Passes `bytes` to `out`, and adds their number to `stored`.
fn counted<E>(
    bytes: &[u8],
    stored: &mut u64,
    out: &mut impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    *stored = stored.saturating_add(u64_from_usize(bytes.len()));
    out(bytes)
}
