//! A contestant of a race. It does its work for each line of input, and answers with the nanoseconds that the work took. Each
//! contestant is a separate process, so that none gets the heap of another.

use std::hint::black_box;
use std::io::{self, BufRead as _, Write as _};
use std::time::{Duration, Instant};

/// The shortest duration of the work for one answer. Shorter work is done several times.
const LEAST: Duration = Duration::from_millis(4);

/// Serves work that is timed as a whole. Dropping the result counts in the time.
pub(crate) fn serve<T>(mut work: impl FnMut() -> T) {
    serve_timed(|| {
        let start = Instant::now();
        _ = black_box(work());
        start.elapsed()
    });
}

/// Serves work that times itself. The first line of the answer is the largest heap in bytes.
///
/// # Panics
/// The parent has ended.
pub(crate) fn serve_timed(mut work: impl FnMut() -> Duration) {
    let heap = allocation_counter::measure(|| _ = black_box(work())).bytes_max;
    let once = work();
    let times = LEAST.as_nanos().div_ceil(once.as_nanos().max(1)).clamp(1, 1 << 20);
    let times = u32::try_from(times).expect("few");
    let mut out = io::stdout().lock();
    let mut say = |text: String| {
        writeln!(out, "{text}").and_then(|()| out.flush()).expect("somebody who listens");
    };
    say(heap.to_string());
    for line in io::stdin().lock().lines() {
        line.expect("somebody who asks");
        let total: Duration = (0..times).map(|_| work()).sum();
        say(format!("{}", total.as_secs_f64() * 1e9 / f64::from(times)));
    }
}
