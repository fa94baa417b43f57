//! What will be read, in which order: neighbours merged, and cut into blocks.

use std::ops::Range;

/// Bytes of a block, at most.
pub(crate) const BLOCK: u64 = 4 << 20;
/// Bytes between two ranges that are fetched rather than asked around, at most.
const GAP: u64 = 4096;
/// Blocks of a plan, at most: what follows is read as it is asked for.
const BLOCKS: usize = 1 << 18;

/// Ranges of a file in the order in which they will be read. Those that follow each other in the file too are one.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    blocks: Vec<Range<u64>>,
    fetched: u64,
}

impl Plan {
    /// Nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// A range that will be read after those before. Where there is no memory for more, or there are more than a plan
    /// holds, it is left out, which costs requests alone.
    pub fn add(&mut self, range: Range<u64>) {
        let length = range.end.saturating_sub(range.start);
        if length == 0 {
            return;
        }
        let mut start = range.start;
        if let Some(last) = self.blocks.last_mut() {
            let gap = range.start.saturating_sub(last.end);
            // Of what is fetched, a twentieth at most is not read.
            let is_small = gap <= GAP && gap.saturating_mul(20) <= length;
            if range.start >= last.end && is_small {
                let room = BLOCK.saturating_sub(last.end.saturating_sub(last.start));
                let taken = gap.saturating_add(length).min(room);
                last.end = last.end.saturating_add(taken);
                self.fetched = self.fetched.saturating_add(taken);
                start = start.max(last.end);
            }
        }
        while start < range.end && self.blocks.len() < BLOCKS && self.blocks.try_reserve(1).is_ok()
        {
            let end = start.saturating_add(BLOCK).min(range.end);
            self.blocks.push(start..end);
            self.fetched = self.fetched.saturating_add(end.saturating_sub(start));
            start = end;
        }
    }

    /// The blocks, none of which is empty.
    pub fn blocks(&self) -> &[Range<u64>] {
        &self.blocks
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> u64 {
        self.fetched
    }
}

impl FromIterator<Range<u64>> for Plan {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        let mut plan = Self::new();
        for range in ranges {
            plan.add(range);
        }
        plan
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one range is meant")]
mod tests {
    use super::*;

    fn blocks(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
        let plan: Plan = ranges.iter().cloned().collect();
        let sum: u64 = plan.blocks().iter().map(|block| block.end - block.start).sum();
        assert_eq!(plan.bytes(), sum);
        plan.blocks().to_vec()
    }

    #[test]
    fn neighbours_are_one() {
        assert_eq!(blocks(&[0..1000, 1000..2000, 2050..4000]), [0..4000]);
        // What lies between is more than a twentieth, or far.
        assert_eq!(blocks(&[0..1000, 1100..1200]), [0..1000, 1100..1200]);
        assert_eq!(blocks(&[0..9, 10_000..3 << 20]), [0..9, 10_000..3 << 20]);
        // Not in their order.
        assert_eq!(blocks(&[5..9, 0..5, 3..3]), [5..9, 0..5]);
    }

    #[test]
    fn blocks_are_of_one_size() {
        assert_eq!(blocks(&[1..BLOCK * 2]), [1..BLOCK + 1, BLOCK + 1..BLOCK * 2]);
        let merged = blocks(&[0..BLOCK - 10, BLOCK - 10..BLOCK * 2 + 5]);
        assert_eq!(merged, [0..BLOCK, BLOCK..BLOCK * 2, BLOCK * 2..BLOCK * 2 + 5]);
        let many = blocks(&[0..u64::MAX]);
        assert_eq!(many.len(), BLOCKS);
    }
}
