//! The ranges that are read of each of several files, in their order.

use std::collections::HashMap;
use std::ops::Range;

use zten::Component;

/// The ranges of a file that are read one after another before another file is, then those after that, and so on.
pub type Runs = Vec<Vec<Range<u64>>>;

/// Returns the ranges that are read of a file (none) and of its shards, by their names, if components are read in that
/// order. Ranges that there is no memory for are left out.
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
