//! How much one confined process is given to do: what it may take follows from that.

use super::message::FILES;
use crate::args::Check;
use crate::check::entries::ANY;
use crate::check::validate::task;
use crate::objects::WORTH_IT;
use crate::sandbox::{Later, Share};
use crate::threads;

/// Bytes of files that are sent at a time to one process, but for a single one.
pub(super) const ROOM: u64 = 16 << 20;
/// Files for one process, none of which is longer than that: then another one is started, so that the
/// processor time that any of them may take has a bound.
const SMALL: usize = 4096;

/// The longest file that a process is started for, where there is one of that length.
pub(super) fn longest(length: u64) -> u64 {
    length.max(WORTH_IT).checked_next_power_of_two().unwrap_or(u64::MAX)
}

/// What a process that is sent files of at most so many bytes may do.
pub(super) fn of(args: &Check, longest: u64) -> Share {
    let jobs = usize::from(args.jobs.unwrap_or(1));
    let threads = threads::wanted().checked_div(jobs).unwrap_or(1);
    // Those that are checked, those ahead, and what is open anyway.
    let open = u64::try_from(2 * FILES).unwrap_or(u64::MAX).saturating_add(32);
    Share {
        task: task(args),
        longest,
        later: if longest == ANY { Later::Headers } else { Later::Nothing },
        files: if longest <= ROOM { SMALL } else { FILES },
        // A file that is shorter is worth no threads.
        threads: if longest <= WORTH_IT { 1 } else { threads.max(1) },
        descriptors: open.saturating_add(args.strictness.options().limit().shards().into()),
    }
}
