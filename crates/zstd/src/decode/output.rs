//! The decoded bytes: those that have not been read, and those that later matches may refer to.

use alloc::vec::Vec;

use super::Flaw;
use crate::num::{DebugExpect as _, len_u32};

/// The number of bytes that are copied at once. Copies have a fixed size, and may write more bytes than the match has: the
/// next bytes overwrite them.
const WILD: usize = 16;
/// The number of bytes that are copied at once if the distance of a match is below [`WILD`].
const WORD: usize = 8;
/// The number of bytes in each of the two copies of a match of at most [`WORD`] bytes.
const HALF: usize = 4;
/// The number of bytes after the last decoded byte into which copies of fixed size may write too far.
const SLACK: usize = 2 * WILD;
/// The longest match in bytes that is copied in pieces of fixed size.
const SHORT: usize = 256;
/// The largest total size in bytes for which room grows eightfold. Larger room grows fourfold, because the old room is
/// still allocated while bytes are moved to the new.
const LITTLE: usize = 512 << 10;

/// A buffer of decoded bytes that is used as a ring. If a block does not fit at the end, it begins at the front. A match
/// may then refer to the bytes before it, and to the older bytes at the end of the ring.
#[derive(Default)]
pub(super) struct Output {
    /// The largest distance of a match, in bytes.
    window: usize,
    /// The largest size of a decoded block, in bytes.
    block: usize,
    bytes: Vec<u8>,
    /// The index in `bytes` of the end of the decoded bytes.
    end: usize,
    /// The index in `bytes` of the first decoded byte that has not been read.
    unread: usize,
    /// The index in `bytes` of the end of the bytes that were decoded before the ring returned to the front; 0 if the
    /// ring has not returned.
    older: usize,
}

impl Output {
    /// Forgets all bytes, and prepares for a frame with this window and block size.
    pub(super) fn begin(&mut self, window: usize, block: usize) {
        (self.window, self.block) = (window, block);
        (self.end, self.unread, self.older) = (0, 0, 0);
    }

    /// Returns the number of decoded bytes to which a match can refer. It may exceed the window.
    pub(super) fn len(&self) -> usize {
        self.older.saturating_add(self.end)
    }

    /// Makes room for a block of `more` bytes, and keeps a window of older bytes. `left` is the number of bytes that the
    /// frame may still decode to, including this block. All decoded bytes must have been read.
    ///
    /// Memory is at most a window, a block and 64 bytes, or what all bytes of the frame take if that is less. While memory grows,
    /// the old memory may exist together with the new.
    pub(super) fn room(&mut self, more: usize, left: usize) -> Result<(), Flaw> {
        let needs = |end: usize, more: usize| end.saturating_add(more).saturating_add(SLACK);
        let have = self.bytes.len();
        if needs(self.end, more) <= have {
            return Ok(());
        }
        // Copies that write too many bytes must not reach the bytes that a match may still refer to.
        let most = needs(self.window, self.block).saturating_add(SLACK);
        if needs(self.end, more) > most {
            (self.older, self.end, self.unread) = (self.end, 0, 0);
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

    /// Adds `count` bytes, for which there must be room, and returns them for writing.
    pub(super) fn add(&mut self, count: usize) -> &mut [u8] {
        let begin = self.end;
        self.end = begin.saturating_add(count);
        self.bytes.get_mut(begin..self.end).debug_expect()
    }

    /// Adds `bytes`, for which there must be room.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.add(bytes.len()).copy_from_slice(bytes);
    }

    /// Adds `count` copies of `byte`, for which there must be room.
    pub(super) fn fill(&mut self, byte: u8, count: usize) {
        let end = self.end.saturating_add(count);
        if let Some(room) = self.bytes.get_mut(self.end..end) {
            room.fill(byte);
        }
        self.end = end;
    }

    /// Returns the buffer as a [`Tail`], for adding bytes in many small steps from the index [`end`](Self::end) on.
    /// Returns `None` before [`room`](Self::room) has made room.
    #[inline(always)]
    pub(super) fn tail(&mut self) -> Option<Tail<'_>> {
        let most = self.bytes.len().checked_sub(SLACK)?;
        Some(Tail { bytes: &mut self.bytes, most, older: self.older })
    }

    /// Returns the index in the buffer of the end of the decoded bytes.
    pub(super) fn end(&self) -> usize {
        self.end
    }

    /// Sets the end of the decoded bytes to `end`, after bytes were added to the tail.
    pub(super) fn end_at(&mut self, end: usize) {
        self.end = end;
    }

    /// Returns the decoded bytes that have not been read.
    pub(super) fn pending(&self) -> &[u8] {
        self.bytes.get(self.unread..self.end).debug_expect()
    }

    /// Marks the next `count` bytes as read.
    pub(super) fn pass(&mut self, count: usize) {
        self.unread = self.unread.saturating_add(count).min(self.end);
    }
}

/// A match: its distance, and its length. If the length exceeds the distance, the match repeats bytes that it has itself
/// added.
#[derive(Clone, Copy)]
pub(super) struct Match {
    pub(super) distance: usize,
    pub(super) length: usize,
}

/// The end of the decoded bytes, to which bytes are added. It is separate from [`Output`], so that its fields stay in
/// registers.
pub(super) struct Tail<'o> {
    bytes: &'o mut [u8],
    /// The largest index at which a copy of fixed size may begin: [`SLACK`] before the end of the buffer.
    most: usize,
    older: usize,
}

impl Tail<'_> {
    /// Writes the first `own` of `bytes` at the index `begin`, where there must be room. Up to [`WILD`] bytes of
    /// `bytes` may be written even if `own` is smaller.
    #[inline(always)]
    pub(super) fn push_front(&mut self, begin: usize, bytes: &[u8], own: usize) {
        match bytes.first_chunk::<WILD>() {
            Some(from) if own <= WILD && begin <= self.most => self.put(begin, *from),
            _ => push(self.bytes, begin, bytes.get(..own).debug_expect()),
        }
    }

    /// Writes the bytes of the match `found` at the index `begin`, where there must be room. Returns false if the match
    /// refers to bytes before the first decoded byte.
    #[inline(always)]
    #[must_use]
    pub(super) fn repeat(&mut self, begin: usize, found: Match) -> bool {
        let Match { distance, length } = found;
        let Some(from) = begin.checked_sub(distance) else {
            return repeat_older(self.bytes, begin, self.older, found);
        };
        if length > SHORT || begin > self.most {
            repeat_long(self.bytes, begin, found);
            return true;
        }
        let mut done = 0;
        if distance >= WILD {
            self.copy_both(from, begin);
            done = SLACK;
            while done < length {
                self.copy::<WILD>(from.wrapping_add(done), begin.wrapping_add(done));
                done = done.wrapping_add(WILD);
            }
        } else if distance >= WORD {
            if length <= WORD {
                // The last match probably had the same distance and wrote these bytes. Reading them in the same pieces in
                // which they were written lets the processor forward them without waiting for memory.
                let last = length.saturating_sub(HALF);
                let second = self.get::<HALF>(from.wrapping_add(last));
                self.copy::<HALF>(from, begin);
                self.put(begin.wrapping_add(last), second);
                return true;
            }
            while done < length {
                self.copy::<WORD>(from.wrapping_add(done), begin.wrapping_add(done));
                done = done.wrapping_add(WORD);
            }
        } else {
            // The bytes of the match repeat the first `distance` bytes, so they are made from one word.
            let (word, step) = period(u64::from_le_bytes(self.get(from)), distance);
            while done < length {
                self.put(begin.wrapping_add(done), word.to_le_bytes());
                done = done.wrapping_add(step);
            }
        }
        true
    }

    /// Copies [`SLACK`] bytes from the index `from` to the index `to`, one half after the other.
    #[inline(always)]
    fn copy_both(&mut self, from: usize, to: usize) {
        self.copy::<WILD>(from, to);
        let second = self.bytes.get(from..).and_then(<[u8]>::first_chunk::<SLACK>);
        let second = second.and_then(|both| both.last_chunk::<WILD>()).copied();
        let room = self.bytes.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<SLACK>);
        let room = room.and_then(|both| both.last_chunk_mut::<WILD>());
        if let (Some(second), Some(room)) = (second, room) {
            *room = second;
        }
    }

    #[inline(always)]
    fn copy<const COUNT: usize>(&mut self, from: usize, to: usize) {
        let piece = self.get::<COUNT>(from);
        self.put(to, piece);
    }

    #[inline(always)]
    fn get<const COUNT: usize>(&self, from: usize) -> [u8; COUNT] {
        let piece = self.bytes.get(from..).and_then(<[u8]>::first_chunk).copied();
        piece.debug_expect_or([0; COUNT])
    }

    #[inline(always)]
    fn put<const COUNT: usize>(&mut self, to: usize, piece: [u8; COUNT]) {
        if let Some(room) = self.bytes.get_mut(to..).and_then(<[u8]>::first_chunk_mut) {
            *room = piece;
        }
    }
}

// The rare cases are in functions of their own that are not inlined, so that the common case keeps its values in registers.

#[inline(never)]
fn push(bytes: &mut [u8], begin: usize, own: &[u8]) {
    if let Some(room) = bytes.get_mut(begin..begin.wrapping_add(own.len())) {
        room.copy_from_slice(own);
    }
}

/// Writes the bytes of the match `found` at the index `begin`. The match refers to bytes at the end of the ring,
/// which end at the index `older`, and may continue at the front of the ring. Returns false if the match refers to
/// bytes before the first byte of the ring.
#[inline(never)]
fn repeat_older(bytes: &mut [u8], begin: usize, older: usize, found: Match) -> bool {
    let Match { distance, length } = found;
    let back = distance.saturating_sub(begin);
    let Some(from) = older.checked_sub(back) else { return false };
    let (count, rest) = (length.min(back), length.saturating_sub(back));
    bytes.copy_within(from..from.wrapping_add(count), begin);
    if rest > 0 {
        repeat_long(bytes, begin.wrapping_add(count), Match { distance, length: rest });
    }
    true
}

/// Copies the bytes of a match to the index `begin`, and never writes beyond the end of the match.
#[inline(never)]
fn repeat_long(bytes: &mut [u8], begin: usize, found: Match) {
    let (mut to, end) = (begin, begin.wrapping_add(found.length));
    // The bytes that were just copied continue the repetition, so each step can copy more than the step before.
    let from = begin.wrapping_sub(found.distance);
    while to < end {
        let count = to.wrapping_sub(from).min(end.wrapping_sub(to));
        bytes.copy_within(from..from.wrapping_add(count), to);
        to = to.wrapping_add(count);
    }
}

/// Returns a word whose bytes repeat the first `count` (1 to 7) bytes of `word` over and over. Also returns how many
/// bytes of the new word to write, a multiple of `count`, so that writing the new word again continues the
/// repetition.
#[inline(always)]
fn period(word: u64, count: usize) -> (u64, usize) {
    const PERIODS: [(u64, usize); WORD] = [
        (0, 1),
        (0x0101_0101_0101_0101, 8),
        (0x0001_0001_0001_0001, 8),
        (0x0001_0000_0100_0001, 6),
        (0x0000_0001_0000_0001, 8),
        (0x0000_0100_0000_0001, 5),
        (0x0001_0000_0000_0001, 6),
        (0x0100_0000_0000_0001, 7),
    ];
    let bits = len_u32(count).wrapping_mul(8);
    let own = word & !u64::MAX.wrapping_shl(bits);
    let (copies, step) = PERIODS.get(count & 7).copied().debug_expect();
    (own.wrapping_mul(copies), step)
}

#[cfg(test)]
#[expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    reason = "numbers are small"
)]
mod tests {
    use alloc::vec::Vec;

    use super::{Match, Output};

    fn repeat(output: &mut Output, distance: usize, length: usize) {
        let end = output.end();
        assert!(output.tail().unwrap().repeat(end, Match { distance, length }));
        output.end_at(end + length);
    }

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
                repeat(&mut output, distance, length);
                for _ in 0..length {
                    wanted.push(wanted[wanted.len() - distance]);
                }
                assert_eq!(output.pending(), &wanted[40..], "{distance} {length}");
            }
        }
    }

    /// Checks that decoding into the ring gives the same bytes as decoding into a buffer of unlimited size, wherever the ring
    /// returns to the front of its buffer. Matches also refer to bytes from before the return.
    #[test]
    fn matches_reach_over_the_turn() {
        let mut state = 1_u32;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15);
            (state >> 8) as usize % below
        };
        for (window, block) in [(1, 1), (7, 100), (300, 200), (1000, 300), (2000, 2000)] {
            let mut output = Output::default();
            output.begin(window, block);
            let (mut all, mut turns) = (Vec::new(), 0);
            for round in 0..400_u32 {
                let before = output.end();
                assert!(output.room(block, 1 << 30).is_ok());
                turns += usize::from(output.end() < before);
                let start = all.len();
                while all.len() - start < block {
                    let room = block - (all.len() - start);
                    let own: Vec<u8> = (0..random(40)).map(|_| random(256) as u8).collect();
                    let own = &own[..own.len().min(room)];
                    output.push(own);
                    all.extend_from_slice(own);
                    let distance = 1 + random(window) / (1 + random(9));
                    let length = random(300).min(room - own.len());
                    if distance > all.len().min(window) {
                        continue;
                    }
                    assert!(distance <= output.len());
                    repeat(&mut output, distance, length);
                    for _ in 0..length {
                        all.push(all[all.len() - distance]);
                    }
                }
                assert!(output.pending() == &all[start..], "{window} {block}: block {round}");
                output.pass(block);
                assert!(output.bytes.len() <= window + block + 2 * super::SLACK);
            }
            assert!(turns > 9, "{turns} turns");
            let end = output.end();
            let beyond = Match { distance: output.len() + 1, length: 1 };
            assert!(!output.tail().unwrap().repeat(end, beyond));
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
            repeat(&mut output, distance, 20);
            let from = all.len() - distance;
            all.extend_from_within(from..from + 20);
            assert_eq!(output.pending(), &all[all.len() - 60..]);
            output.pass(60);
            let most = window + block + 64;
            assert!(output.bytes.len() <= most && output.pending().is_empty());
        }
    }
}
