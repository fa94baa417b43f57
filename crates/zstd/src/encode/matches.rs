//! Finding matches.
//!
//! Most bytes of tensors are noise, in which a short match costs more bits than it saves. A match is therefore taken only
//! if it costs less than its bytes would cost as literals.

use alloc::vec::Vec;

use super::huffman::Lengths;
use super::sequences::Sequence;
use crate::num::{DebugExpect as _, len_u32, low_u32, usize_from_u32};

/// The number of bytes that are hashed to look up earlier positions with the same bytes. Shorter matches are found
/// only by chance, and at the distance of the last match.
const LOOKED_UP: u32 = 6;
/// The length in bytes of the shortest match.
pub(super) const SHORTEST: usize = 4;
/// The length in bytes of a match that is taken without trying the next position.
const ENOUGH: u32 = 48;
/// The estimated cost of a match in bits, in addition to the bits of its distance.
const TELLING: u32 = 13;
/// The estimated cost in bits of a match at the same distance as the match before.
const REPEATING: u32 = 9;
/// The lowest estimated cost of a literal in bits. In a block of many matches, literals are the bytes without a match,
/// which are rarer than in the block as a whole and so have longer codes.
const LITERAL: u8 = 4;
/// The base-2 logarithm of the number of bytes without a match after which the search begins to skip positions. The longer the
/// search finds no match, the more positions it skips, because the data is probably noise.
const PATIENCE: u32 = 6;
/// The number of low bits of an entry that are a hash of the bytes there. The other bits are the position.
const TAG: u32 = 8;
/// The mask of the low bits of an entry that are a hash.
const TAGS: u32 = (1 << TAG) - 1;
/// The smallest number of positions for which a [`Finder`] has memory.
const FEWEST: usize = 1 << 10;

/// The effort of the search for matches.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// The base-2 logarithm of the largest number of positions that the [`Finder`] remembers.
    pub(super) log: u32,
    /// The number of remembered positions with the same hash that each search tries; a power of two.
    pub(super) places: usize,
    /// The number of positions at the end of a match that are added to the memory of the [`Finder`]. The positions before
    /// them in the match are skipped.
    pub(super) passed: usize,
    /// Whether a match is taken only after the next position has been searched for a better match.
    pub(super) lazy: bool,
}

/// A match, and the estimated number of bits that it saves.
#[derive(Clone, Copy)]
struct Match {
    distance: u32,
    length: u32,
    gain: u32,
}

/// A memory of earlier positions by a hash of their bytes. Each row has the positions with equal hashes, the latest first.
///
/// A position that is found is compared with the data, so it may be outdated. Positions therefore wrap at a number that is
/// larger than the window.
pub(super) struct Finder {
    rows: Vec<u32>,
    effort: Effort,
    /// The largest distance of a match, in bytes.
    window: u32,
    /// The position of the first byte of the data that the caller passes to the methods.
    origin: u32,
    /// The distance of the last match, in bytes.
    last: u32,
}

impl Finder {
    /// Creates a finder for data of `bytes` bytes, and matches at most `window` bytes back. Returns `None` if memory is
    /// out.
    pub(super) fn new(effort: Effort, bytes: usize, window: usize) -> Option<Self> {
        let places = bytes.checked_next_power_of_two()?.max(FEWEST);
        let places = places.min(1_usize.wrapping_shl(effort.log));
        let mut rows = Vec::new();
        rows.try_reserve_exact(places).ok()?;
        rows.resize(places, 0);
        Some(Self { rows, effort, window: len_u32(window), origin: 0, last: 1 })
    }

    /// Forgets all positions, for another frame.
    pub(super) fn clear(&mut self) {
        self.rows.fill(0);
        (self.origin, self.last) = (0, 1);
    }

    /// Tells the finder that the caller has dropped the first `bytes` bytes of the data that it passes to the methods.
    pub(super) fn forget(&mut self, bytes: usize) {
        self.origin = self.origin.wrapping_add(len_u32(bytes));
    }

    /// Divides the bytes of `data` from the index `start` on into sequences and literals. Earlier bytes have been divided
    /// before. `lengths` are the code lengths of the block's bytes, as estimates of what literals cost.
    pub(super) fn divide(
        &mut self,
        data: &[u8],
        start: usize,
        lengths: &Lengths,
        sequences: &mut Vec<Sequence>,
        literals: &mut Vec<u8>,
    ) {
        let prices = lengths.map(|length| length.max(LITERAL));
        let (mut done, mut at) = (start, start);
        while let Some(word) = word(data, at) {
            let Some(mut best) = self.best(data, at, word, &prices) else {
                let skipped = at.wrapping_sub(done) >> PATIENCE;
                at = at.saturating_add(skipped).saturating_add(1);
                continue;
            };
            let mut tried = at.saturating_add(1);
            while self.effort.lazy
                && best.length < ENOUGH
                && let Some(word) = self::word(data, tried)
            {
                let next = self.best(data, tried, word, &prices);
                let place = tried;
                tried = tried.saturating_add(1);
                let Some(next) = next.filter(|next| next.gain > best.gain) else { break };
                (best, at) = (next, place);
            }
            let Match { distance, length, .. } = best;
            let before = data.get(done..at).debug_expect();
            literals.extend_from_slice(before);
            sequences.push(Sequence { literals: len_u32(before.len()), length, distance });
            self.last = distance;
            done = at.saturating_add(usize_from_u32(length));
            for passed in done.saturating_sub(self.effort.passed).max(tried)..done {
                if let Some(word) = self::word(data, passed) {
                    let (place, row) = self.row(passed, word);
                    remember(row, place);
                }
            }
            at = done;
        }
        literals.extend_from_slice(data.get(done..).debug_expect());
    }

    /// Returns the entry for the position `at`, whose eight bytes are `word`, and the row in which it belongs.
    #[inline(always)]
    fn row(&mut self, at: usize, word: u64) -> (u32, &mut [u32]) {
        // The golden ratio as a factor spreads similar values evenly.
        const PRIME: u64 = 0x9e37_79b9_7f4a_7c15;
        let key = word.wrapping_shl(u64::BITS.wrapping_sub(8 * LOOKED_UP)).wrapping_mul(PRIME);
        let key = low_u32(key >> 32);
        let place = self.origin.wrapping_add(len_u32(at)).wrapping_shl(TAG);
        let shift = u32::BITS.wrapping_sub(self.rows.len().trailing_zeros());
        let places = self.effort.places;
        let start = usize_from_u32(key.wrapping_shr(shift)) & !places.wrapping_sub(1);
        let row = self.rows.get_mut(start..start.wrapping_add(places)).debug_expect();
        (place | key & TAGS, row)
    }

    /// Returns the match at the position `at` that saves the most bits, if one saves any. Also remembers the position.
    #[inline(always)]
    fn best(&mut self, data: &[u8], at: usize, word: u64, prices: &Lengths) -> Option<Match> {
        let window = self.window.min(len_u32(at));
        let mut best = weigh(data, at, self.last, word, REPEATING, prices);
        let (here, row) = self.row(at, word);
        for place in &*row {
            let difference = here.wrapping_sub(*place);
            let distance = difference >> TAG;
            if difference & TAGS != 0 || distance == 0 || distance > window {
                continue;
            }
            // A match at a larger distance costs more bits, so it must be longer than the best so far.
            if let Some(best) = best {
                let last = |at: usize| data.get(at.saturating_add(usize_from_u32(best.length)));
                if last(at) != last(at.saturating_sub(usize_from_u32(distance))) {
                    continue;
                }
            }
            let telling = TELLING.saturating_add(distance.ilog2());
            if let Some(found) = weigh(data, at, distance, word, telling, prices)
                && best.is_none_or(|best| found.gain > best.gain)
            {
                best = Some(found);
            }
        }
        remember(row, here);
        best
    }
}

/// Inserts `place` at the front of `row`, and drops the last entry.
#[inline(always)]
fn remember(row: &mut [u32], mut place: u32) {
    for old in row {
        place = core::mem::replace(old, place);
    }
}

/// Returns the match between the bytes at the index `at` and the bytes `distance` before, if there is one that saves
/// more bits than `telling`, the cost of encoding a match. `word` holds the eight bytes at `at`, and `prices` the
/// cost of each byte as a literal, in bits.
#[inline(always)]
fn weigh(
    data: &[u8],
    at: usize,
    distance: u32,
    word: u64,
    telling: u32,
    prices: &Lengths,
) -> Option<Match> {
    let from = at.checked_sub(usize_from_u32(distance))?;
    let there = self::word(data, from)?;
    let mut length = (there ^ word).trailing_zeros() >> 3;
    if usize_from_u32(length) < SHORTEST {
        return None;
    }
    let weighed = word.to_le_bytes().into_iter().take(usize_from_u32(length));
    let mut saved = 0_u32;
    for byte in weighed {
        let price = prices.get(usize::from(byte)).copied().debug_expect();
        saved = saved.wrapping_add(price.into());
    }
    if length == 8 {
        let more = len_u32(common(data.get(at..)?.get(8..)?, data.get(from..)?.get(8..)?));
        length = length.wrapping_add(more);
        saved = saved.saturating_add(more.wrapping_mul(LITERAL.into()));
    }
    let gain = saved.checked_sub(telling).filter(|gain| *gain > 0)?;
    Some(Match { distance, length, gain })
}

/// Returns the 8 bytes at the index `at` as a little-endian number, or `None` if `data` has fewer bytes from there on.
#[inline(always)]
fn word(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

/// Returns the number of bytes at the start of `here` and `there` that are equal.
fn common(here: &[u8], there: &[u8]) -> usize {
    let mut length = 0_usize;
    let (a, b) = (here.chunks_exact(8), there.chunks_exact(8));
    let rest = a.remainder();
    for (a, b) in a.zip(b) {
        if a != b {
            let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
            return length.saturating_add(same);
        }
        length = length.saturating_add(8);
    }
    let more = rest.iter().zip(there.get(length..).debug_expect());
    length.saturating_add(more.take_while(|(a, b)| a == b).count())
}
