//! The threads that work on the objects of a file.

use std::hint::black_box;
use std::sync::OnceLock;
use std::thread::available_parallelism;

static COUNT: OnceLock<usize> = OnceLock::new();

/// Returns the number of threads that work on objects. Starts them if neither [`start`] nor [`none`] was called before.
pub(crate) fn count() -> usize {
    *COUNT.get_or_init(rayon::current_num_threads)
}

/// Makes [`count`] return 1, so that this process does all work on the calling thread. Has no effect if the number of threads is
/// already known.
pub(crate) fn none() {
    let _ = COUNT.set(1);
}

/// Returns the number of threads to start: `RAYON_NUM_THREADS` if it is a number above 0, otherwise the number of processors that
/// this process may use, or 1 if this number is unknown.
pub(crate) fn wanted() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    let processors = || available_parallelism().map_or(1, usize::from);
    asked.filter(|number| *number > 0).unwrap_or_else(processors)
}

/// Starts `number` threads, and returns when each of them runs and has allocated memory for the first time. If they cannot be
/// started, [`count`] returns 1.
pub(crate) fn start(number: usize) {
    match rayon::ThreadPoolBuilder::new().num_threads(number).build_global() {
        Ok(()) => {
            // The first allocation of a thread makes the C library set up an arena, which may take system calls that a confined
            // process may not make.
            rayon::broadcast(|_| drop(black_box(Vec::<u8>::with_capacity(1 << 10))));
            let _ = COUNT.set(number);
        }
        Err(_) => none(),
    }
}
