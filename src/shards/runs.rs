//! The order in which ranges of several files are read.

use alloc::vec::Vec;
use core::ops::Range;
use std::collections::HashMap;

use crate::manifest::Component;

/// The ranges of one file in the order of reading, grouped into runs: between two runs, ranges of other files are read.
pub type Runs = Vec<Vec<Range<u64>>>;

/// Returns the ranges of each file that are read if `components` are read in order. The key is the name of a shard, or `None`
/// for the file itself. Ranges are left out if memory is out, since the result only tells a source which bytes to fetch ahead.
pub fn runs<'a>(
    components: impl IntoIterator<Item = Component<'a>>,
) -> HashMap<Option<&'a str>, Runs> {
    let mut all = HashMap::<_, Runs>::new();
    let mut last = None;
    for component in components {
        let shard = component.shard();
        let runs = all.entry(shard).or_default();
        if last != Some(shard) && runs.try_reserve(1).is_ok() {
            runs.push(Vec::new());
        }
        last = Some(shard);
        if let Some(run) = runs.last_mut()
            && run.try_reserve(1).is_ok()
        {
            run.push(component.extent().range());
        }
    }
    all
}
