//! Plans: which ranges of a file will be read, and in which order. A plan cuts the ranges into blocks, each of which one request
//! fetches.

use std::ops::Range;

/// The largest size in bytes of a block, which is a range that one request fetches.
pub(crate) const BLOCK: u64 = 4 << 20;
/// The largest gap in bytes between two ranges that one request fetches together. The bytes of the gap are fetched too,
/// which costs less than a second request.
const GAP: u64 = 4096;
/// The largest number of blocks in a plan, which bounds its memory. Ranges after the last block are not planned.
const BLOCKS: usize = 1 << 18;

/// The ranges of a file that will be read, in the order of reading, as blocks of at most 4 MiB. A block may hold several short
/// ranges, if each one begins at the end of the range before it, or after a small gap, and no other file is read between them. A
/// longer range takes several blocks.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    blocks: Vec<Range<u64>>,
    /// The indices of the blocks at which a new run starts. Other files are read before these blocks, so fetching ahead stops
    /// there. The first run, which starts at block 0, has no entry.
    interrupted: Vec<usize>,
    /// The sum of the lengths of all blocks in bytes.
    fetched: u64,
}

impl Plan {
    /// Creates a plan without ranges.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a plan of several `runs`, each of which is a list of ranges. The ranges of a run are read one after another. Other
    /// files are read between two runs.
    pub fn of_runs<R: IntoIterator<Item = Range<u64>>>(runs: impl IntoIterator<Item = R>) -> Self {
        let mut plan = Self::new();
        for run in runs {
            plan.interrupt();
            run.into_iter().for_each(|range| plan.add(range));
        }
        plan
    }

    /// Adds `range` to the end of the plan. An empty range is ignored. If memory runs out, or the plan has the largest number of
    /// blocks, the range or its end is left out: these bytes can still be read, but are not fetched ahead.
    pub fn add(&mut self, range: Range<u64>) {
        let length = range.end.saturating_sub(range.start);
        if length == 0 {
            return;
        }
        let mut start = range.start;
        if self.is_interrupted() {
            // The first range after an interruption starts a block of its own, even if it is adjacent to the last block.
        } else if let Some(last) = self.blocks.last_mut() {
            let gap = range.start.saturating_sub(last.end);
            // A gap may be at most a twentieth of the range after it, so that at most a twentieth of all fetched bytes is
            // wasted.
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

    /// Ends the current run of ranges. The caller will read other files before the ranges that are added next, so these ranges are
    /// not fetched ahead until one of them is read.
    pub fn interrupt(&mut self) {
        let is_new = !self.blocks.is_empty() && !self.is_interrupted();
        if is_new && self.interrupted.try_reserve(1).is_ok() {
            self.interrupted.push(self.blocks.len());
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.last() == Some(&self.blocks.len())
    }

    /// Returns the index after the last block of the run that holds block number `block`.
    pub(crate) fn run_end(&self, block: usize) -> usize {
        let next = self.interrupted.partition_point(|start| *start <= block);
        self.interrupted.get(next).copied().unwrap_or(self.blocks.len())
    }

    /// Returns the blocks of each run: blocks between which no other file is read.
    pub fn runs(&self) -> impl Iterator<Item = &[Range<u64>]> {
        let starts = std::iter::once(0).chain(self.interrupted.iter().copied());
        let runs = starts.map(|start| self.blocks.get(start..self.run_end(start)));
        runs.flatten().filter(|run| !run.is_empty())
    }

    /// Returns all blocks of the plan as ranges of the file, in the order of reading. No block is empty.
    pub fn blocks(&self) -> &[Range<u64>] {
        &self.blocks
    }

    /// Returns the sum of the lengths of all blocks in bytes, including the gaps that are fetched along with ranges.
    pub fn bytes(&self) -> u64 {
        self.fetched
    }
}

impl FromIterator<Range<u64>> for Plan {
    fn from_iter<I: IntoIterator<Item = Range<u64>>>(ranges: I) -> Self {
        Self::of_runs([ranges])
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
    fn adjacent_ranges_are_merged() {
        assert_eq!(blocks(&[0..1000, 1000..2000, 2050..4000]), [0..4000]);
        // The gap is more than a twentieth of the range after it, or longer than `GAP`, so the ranges are not merged.
        assert_eq!(blocks(&[0..1000, 1100..1200]), [0..1000, 1100..1200]);
        assert_eq!(blocks(&[0..9, 10_000..3 << 20]), [0..9, 10_000..3 << 20]);
        // Ranges out of order are not merged.
        assert_eq!(blocks(&[5..9, 0..5, 3..3]), [5..9, 0..5]);
    }

    #[test]
    fn runs_are_not_merged() {
        let mut plan = Plan::new();
        plan.interrupt();
        for range in [0..10, 10..20] {
            plan.add(range);
        }
        plan.interrupt();
        plan.interrupt();
        plan.add(20..BLOCK * 2);
        plan.interrupt();
        let runs: Vec<_> = plan.runs().map(<[_]>::to_vec).collect();
        assert_eq!(runs, [vec![0..20], vec![20..20 + BLOCK, 20 + BLOCK..BLOCK * 2]]);
        assert_eq!([0, 1, 2].map(|block| plan.run_end(block)), [1, 3, 3]);
        assert_eq!(Plan::new().runs().count(), 0);
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
