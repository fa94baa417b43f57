//! The threads on which the objects of a large local file are read.

use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};
use zten::verify::Threads;

use crate::input::file::{FileWithShards, stored};
use crate::input::threads;

/// The stored bytes of a file from which several threads are faster than one, in spite of their start.
pub(crate) const WORTH_IT: u64 = 1 << 20;

/// The threads of rayon in this process, on which a check reads several objects at once.
struct Pool;

impl Threads for Pool {
    fn run(&self, count: u32, work: &(dyn Fn(u32) + Sync)) {
        (0..count).into_par_iter().for_each(work);
    }
}

/// Returns the threads for the objects of `archive`. Returns `None` if the objects are read one after another: the file is remote,
/// stores less than [`WORTH_IT`] bytes, or there is a single thread.
pub(crate) fn threads_for(archive: &FileWithShards) -> Option<&'static dyn Threads> {
    // A remote file is fetched ahead in the order of the manifest, so its objects are read in that order.
    let is_local = archive.source().is_local();
    let is_worth_it = is_local && stored(archive.manifest()) >= WORTH_IT && threads::count() >= 2;
    if is_worth_it { Some(&Pool) } else { None }
}
