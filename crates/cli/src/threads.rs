//! The threads that work on the objects of a file.

use std::hint::black_box;
use std::sync::OnceLock;
use std::thread::available_parallelism;

static COUNT: OnceLock<usize> = OnceLock::new();

/// Returns the number of threads, with the caller. Starts them if neither [`start`] nor [`none`] was called.
pub(crate) fn count() -> usize {
    *COUNT.get_or_init(rayon::current_num_threads)
}

/// Limits this process to the thread that calls.
pub(crate) fn none() {
    let _ = COUNT.set(1);
}

/// Returns the number of threads to start: `RAYON_NUM_THREADS`, or that of the processors for this process.
pub(crate) fn wanted() -> usize {
    let asked = std::env::var("RAYON_NUM_THREADS").ok().and_then(|number| number.parse().ok());
    let processors = || available_parallelism().map_or(1, usize::from);
    asked.filter(|number| *number > 0).unwrap_or_else(processors)
}

/// Starts that many, and returns when each of them runs and has what it needs of the system.
pub(crate) fn start(number: usize) {
    match rayon::ThreadPoolBuilder::new().num_threads(number).build_global() {
        Ok(()) => {
            // The allocator may ask much when a thread comes to it for the first time.
            rayon::broadcast(|_| drop(black_box(Vec::<u8>::with_capacity(1 << 10))));
            let _ = COUNT.set(number);
        }
        Err(_) => none(),
    }
}
