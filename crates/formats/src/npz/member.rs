//! The content of a member: decompressed, and all of it accounted for.

use std::io::{self, BufRead as _, BufReader, Read, Take};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::place::Member;
use crate::rules::Rule;
use crate::source::{Reader, Source};
use crate::trouble::Damage;
use zten::num::u64_from_usize;

/// Bytes of a member that are read at once. Its header takes less.
const WINDOW: u64 = 64 << 10;

impl Member {
    /// Its content, `size` bytes. `inflate` is there to be used again.
    pub(super) fn content<'i>(
        &self,
        source: &Source,
        size: u64,
        inflate: &'i mut Decompress,
    ) -> Content<'i> {
        let window = usize::try_from(self.packed.min(WINDOW)).unwrap_or_default();
        let packed = source.reader_at(self.start).take(self.packed);
        let packed = BufReader::with_capacity(window, packed);
        inflate.reset(false);
        let inflate = self.deflated.then_some(inflate);
        Content { packed, inflate, ended: false, crc: Crc::new(), wanted: self.crc, left: size }
    }
}

/// Reads the content of a member, as far as it is said to go.
pub(super) struct Content<'i> {
    packed: BufReader<Take<Reader>>,
    /// What decompresses it, if it is compressed.
    inflate: Option<&'i mut Decompress>,
    /// The compressed stream has ended.
    ended: bool,
    crc: Crc,
    wanted: u32,
    /// Bytes that are to come.
    left: u64,
}

impl Read for Content<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.left).unwrap_or(usize::MAX).min(out.len());
        let out = out.get_mut(..left).unwrap_or_default();
        if out.is_empty() {
            return Ok(0);
        }
        let read = self.unpack(out)?;
        if read == 0 {
            return Err(Damage::error(Rule::NpzLength, "it is shorter than is said"));
        }
        self.crc.update(out.get(..read).unwrap_or_default());
        self.left = self.left.saturating_sub(u64_from_usize(read));
        Ok(read)
    }
}

impl Content<'_> {
    /// The next bytes of the content; none where it ends.
    fn unpack(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(inflate) = &mut self.inflate else {
            return self.packed.read(out);
        };
        while !self.ended {
            let input = self.packed.fill_buf()?;
            let is_all = input.is_empty();
            let before = (inflate.total_in(), inflate.total_out());
            let status = inflate.decompress(input, out, FlushDecompress::None).map_err(|_| {
                Damage::error(Rule::NpzDeflate, "its compressed data cannot be decompressed")
            })?;
            let taken = inflate.total_in().saturating_sub(before.0);
            self.packed.consume(usize::try_from(taken).unwrap_or(usize::MAX));
            self.ended = status == Status::StreamEnd;
            let given = inflate.total_out().saturating_sub(before.1);
            if given > 0 {
                return Ok(usize::try_from(given).unwrap_or(usize::MAX));
            }
            if !self.ended && (is_all || taken == 0) {
                return Err(Damage::error(Rule::NpzDeflate, "its compressed data does not end"));
            }
        }
        Ok(0)
    }

    /// Validates what can be validated when all has been read: the checksum, and that the compressed
    /// data ends here, with its last byte.
    pub(super) fn end(mut self) -> io::Result<()> {
        if self.left > 0 || self.unpack(&mut [0])? > 0 {
            return Err(Damage::error(Rule::NpzLength, "it is longer than is said"));
        }
        if !self.packed.fill_buf()?.is_empty() {
            return Err(Damage::error(
                Rule::NpzDeflate,
                "there are bytes behind its compressed data",
            ));
        }
        if self.crc.sum() != self.wanted {
            return Err(Damage::error(Rule::NpzCrc, "it does not have its checksum"));
        }
        Ok(())
    }
}
