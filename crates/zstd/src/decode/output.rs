//! What has been decoded: as much of it as later matches may refer to, and what has not been read.

use alloc::vec::Vec;
use zten_num::Assured as _;

use super::Flaw;

/// Bytes that are copied in one go, and room behind the last byte for doing so.
const WILD: usize = 16;
/// Matches up to so many bytes are copied in pieces of [`WILD`].
const SHORT: usize = 256;
/// Room for no more than so many bytes in all comes in steps of eight times as much, for more in
/// steps of four times as much: the room before is still there while bytes are moved.
const LITTLE: usize = 512 << 10;

/// Decoded bytes in a row.
#[derive(Default)]
pub(super) struct Output {
    /// Bytes that matches may refer to, and that a block makes at most.
    window: usize,
    block: usize,
    bytes: Vec<u8>,
    /// Where the decoded bytes end, and where those begin that are still to be read.
    end: usize,
    unread: usize,
}

impl Output {
    /// Forgets all bytes, for a frame of that window and those blocks.
    pub(super) fn begin(&mut self, window: usize, block: usize) {
        (self.window, self.block, self.end, self.unread) = (window, block, 0, 0);
    }

    /// Bytes that a match can refer to.
    pub(super) fn len(&self) -> usize {
        self.end
    }

    /// Makes room for `more` bytes of the `left` that are to come, keeping a window. All that is
    /// there has been read.
    ///
    /// Memory is at most one and a half windows and a block, and what all the bytes take if that
    /// is less.
    pub(super) fn room(&mut self, more: usize, left: usize) -> Result<(), Flaw> {
        let Self { window, block, .. } = *self;
        let needs = |end: usize, more: usize| end.saturating_add(more).saturating_add(WILD);
        let have = self.bytes.len();
        if needs(self.end, more) <= have {
            return Ok(());
        }
        // Half a window lies between two moves of the window, however little a block makes that
        // asks for the room of a full one.
        let most = needs(window, block.saturating_add(window >> 1));
        if needs(self.end, more) > most {
            let gone = self.end.saturating_sub(window);
            self.bytes.copy_within(gone..self.end, 0);
            self.end = self.end.saturating_sub(gone);
            self.unread = self.end;
        }
        let needed = needs(self.end, more);
        if needed <= have {
            return Ok(());
        }
        let step = if most <= LITTLE { 3 } else { 2 };
        let mut target = most.min(needs(self.end, left));
        while target >> step >= needed {
            target >>= step;
        }
        let reserved = self.bytes.try_reserve_exact(target.saturating_sub(have));
        reserved.map_err(|_| Flaw::Memory)?;
        self.bytes.resize(target, 0);
        Ok(())
    }

    /// Adds so many bytes, for which there is room, and which are to be written.
    pub(super) fn add(&mut self, count: usize) -> &mut [u8] {
        let begin = self.end;
        self.end = begin.saturating_add(count);
        self.bytes.get_mut(begin..self.end).assured()
    }

    /// Adds bytes, for which there is room.
    #[inline(always)]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let end = self.end.saturating_add(bytes.len());
        if let Some(room) = self.bytes.get_mut(self.end..end) {
            room.copy_from_slice(bytes);
        }
        self.end = end;
    }

    /// Adds the bytes `own`, for which there is room, which are the first of `bytes`.
    #[inline(always)]
    pub(super) fn push_front(&mut self, bytes: &[u8], own: &[u8]) {
        if own.len() <= WILD
            && let Some(from) = bytes.first_chunk::<WILD>()
            && let Some(to) = self.bytes.get_mut(self.end..).and_then(<[u8]>::first_chunk_mut)
        {
            *to = *from;
            self.end = self.end.wrapping_add(own.len());
            return;
        }
        self.push(own);
    }

    /// Adds a byte so many times; there is room.
    pub(super) fn fill(&mut self, byte: u8, count: usize) {
        let end = self.end.saturating_add(count);
        if let Some(room) = self.bytes.get_mut(self.end..end) {
            room.fill(byte);
        }
        self.end = end;
    }

    /// Adds `length` bytes, for which there is room, from `distance` bytes back, where there are
    /// some: those that are added may be among them.
    #[inline(always)]
    pub(super) fn repeat(&mut self, distance: usize, length: usize) {
        let (mut from, mut to) = (self.end.wrapping_sub(distance), self.end);
        self.end = self.end.wrapping_add(length);
        if distance >= WILD && length <= SHORT {
            while to < self.end {
                let piece = self.bytes.get(from..).and_then(<[u8]>::first_chunk::<WILD>).copied();
                let room = self.bytes.get_mut(to..).and_then(<[u8]>::first_chunk_mut);
                if let (Some(piece), Some(room)) = (piece, room) {
                    *room = piece;
                }
                (from, to) = (from.wrapping_add(WILD), to.wrapping_add(WILD));
            }
            return;
        }
        // What has been copied repeats as what it was copied from: each time there is more.
        while to < self.end {
            let count = to.wrapping_sub(from).min(self.end.wrapping_sub(to));
            self.bytes.copy_within(from..from.wrapping_add(count), to);
            to = to.wrapping_add(count);
        }
    }

    /// Bytes that have not been read.
    pub(super) fn pending(&self) -> &[u8] {
        self.bytes.get(self.unread..self.end).assured()
    }

    /// Marks so many of them as read.
    pub(super) fn pass(&mut self, count: usize) {
        self.unread = self.unread.saturating_add(count).min(self.end);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::Output;

    #[test]
    fn matches_repeat_what_was_there() {
        for distance in 1..40_usize {
            for length in [0, 1, 2, 15, 16, 17, 40, 255, 256, 257, 1000] {
                let mut wanted: Vec<u8> = (0..40).collect();
                let mut output = Output::default();
                output.begin(4096, 4096);
                assert!(output.room(40, 2000).is_ok());
                output.push(&wanted);
                output.pass(40);
                assert!(output.room(length, 2000).is_ok());
                output.repeat(distance, length);
                for _ in 0..length {
                    wanted.push(wanted[wanted.len() - distance]);
                }
                assert_eq!(output.pending(), &wanted[40..], "{distance} {length}");
            }
        }
    }

    /// Blocks that make little ask for as much room as those that make much, not knowing.
    #[test]
    fn a_window_is_moved_once_in_half_a_window() {
        for (window, block) in [(1 << 10, 1 << 10), (128 << 10, 128 << 10), (256 << 10, 128 << 10)]
        {
            let mut output = Output::default();
            output.begin(window, block);
            let (mut made, mut moves) = (0, 0);
            while made < 4 * window {
                let before = output.len();
                assert!(output.room(block, 8 * window).is_ok());
                moves += usize::from(output.len() < before);
                output.fill(7, 3);
                output.pass(3);
                made += 3;
            }
            assert!((4..=8).contains(&moves), "{moves} moves of {window} bytes");
        }
    }

    #[test]
    fn a_window_is_kept() {
        let (window, block) = (100_usize, 60_usize);
        let mut output = Output::default();
        output.begin(window, block);
        let mut all = Vec::new();
        for round in 0..50_u8 {
            assert!(output.room(block, 3000).is_ok());
            let piece: Vec<u8> = (0..60).map(|byte| byte ^ round).collect();
            output.push(&piece[..20]);
            output.fill(round, 20);
            all.extend_from_slice(&piece[..20]);
            all.resize(all.len() + 20, round);
            let distance = output.len().min(window);
            output.repeat(distance, 20);
            let from = all.len() - distance;
            all.extend_from_within(from..from + 20);
            assert_eq!(output.pending(), &all[all.len() - 60..]);
            output.pass(60);
            let most = window + window / 2 + block + 16;
            assert!(output.bytes.len() <= most && output.pending().is_empty());
        }
    }
}
