//! Finding what has been before.
//!
//! Most bytes of tensors are noise, and what a match of a few bytes saves there is less than
//! telling it costs. So matches are weighed, by what their bytes would cost as literals.

use alloc::vec::Vec;

use super::huffman::Lengths;
use super::sequences::Sequence;
use crate::num::{DebugExpect as _, len_u32, low_u32, usize_from_u32};

/// Bytes by which places are looked up. Shorter matches are found by chance, and at the last
/// distance.
const LOOKED_UP: u32 = 6;
/// The shortest match.
pub(super) const SHORTEST: usize = 4;
/// A match so long is taken, whatever the next place may have.
const ENOUGH: u32 = 48;
/// Bits to tell a match, beyond those of its distance.
const TELLING: u32 = 13;
/// Bits to tell a match at the last distance.
const REPEATING: u32 = 9;
/// The least that a literal counts for. In a block of many matches, literals are the bytes that
/// no match was found for, and so rarer than in the block as a whole.
const LITERAL: u8 = 4;
/// The logarithm of the bytes without a match after which places are left out, ever more of them.
const PATIENCE: u32 = 6;
/// Bits of a remembered place that say what stands there; the others count places.
const TAG: u32 = 8;
const TAGS: u32 = (1 << TAG) - 1;
/// The fewest places that are remembered.
const FEWEST: usize = 1 << 10;

/// The effort of the search for matches.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// The number of places that are remembered, as a power of two.
    pub(super) log: u32,
    /// The number of places that each search looks at; a power of two.
    pub(super) places: usize,
    /// The number of places at the end of a match that are remembered.
    pub(super) passed: usize,
    /// True if the next place is tried before a match is taken.
    pub(super) lazy: bool,
}

/// A match, and how many bits it saves.
#[derive(Clone, Copy)]
struct Match {
    distance: u32,
    length: u32,
    gain: u32,
}

/// Remembers places by what stands there: in rows, by hash, the latest first.
///
/// Whatever is found there is compared with what is looked for. So places may be long gone, and
/// are counted modulo a number that is larger than the window.
pub(super) struct Finder {
    rows: Vec<u32>,
    effort: Effort,
    /// The farthest a match may be.
    window: u32,
    /// Place of the first byte that is given.
    origin: u32,
    /// The distance of the match before.
    last: u32,
}

impl Finder {
    /// A finder in `bytes` bytes, of matches at most `window` back. None if there is no memory.
    pub(super) fn new(effort: Effort, bytes: usize, window: usize) -> Option<Self> {
        let places = bytes.checked_next_power_of_two()?.max(FEWEST);
        let places = places.min(1_usize.wrapping_shl(effort.log));
        let mut rows = Vec::new();
        rows.try_reserve_exact(places).ok()?;
        rows.resize(places, 0);
        Some(Self { rows, effort, window: len_u32(window), origin: 0, last: 1 })
    }

    /// Begins anew: nothing has been before.
    pub(super) fn clear(&mut self) {
        self.rows.fill(0);
        (self.origin, self.last) = (0, 1);
    }

    /// The first `bytes` bytes will not be given any more.
    pub(super) fn forget(&mut self, bytes: usize) {
        self.origin = self.origin.wrapping_add(len_u32(bytes));
    }

    /// Divides what is from `start` on into sequences and literals; what comes before has been
    /// divided earlier. `lengths` are those of codes for its bytes.
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

    /// A place as it is remembered, and where.
    #[inline(always)]
    fn row(&mut self, at: usize, word: u64) -> (u32, &mut [u32]) {
        // The golden ratio, whose multiples spread evenly.
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

    /// The match here that saves the most. Remembers the place.
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
            // It has to be longer: what is farther is not told in fewer bits.
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

/// Puts a place first, and the last one out.
#[inline(always)]
fn remember(row: &mut [u32], mut place: u32) {
    for old in row {
        place = core::mem::replace(old, place);
    }
}

/// The match at a distance, if it saves more bits than `telling` it takes.
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

/// The 8 bytes at a place.
#[inline(always)]
fn word(data: &[u8], at: usize) -> Option<u64> {
    data.get(at..)?.first_chunk().copied().map(u64::from_le_bytes)
}

/// Returns the number of leading bytes that are the same.
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
