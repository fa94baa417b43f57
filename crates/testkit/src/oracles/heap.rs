//! Measures the heap that a function uses.

use std::sync::OnceLock;

/// A function that runs the function it gets, and returns the largest number of bytes on the heap at one time
/// meanwhile.
pub type Meter = fn(&mut dyn FnMut()) -> u64;

static METER: OnceLock<Meter> = OnceLock::new();

/// Sets the function that measures the heap for all oracles. Only the first call in a process has an effect. The
/// program passes the function in, because it owns the allocator.
pub fn measure_heap_by(meter: Meter) {
    METER.get_or_init(|| meter);
}

/// Runs `run`, and returns the largest number of bytes on the heap at one time meanwhile, and the result of `run`. Panics if
/// [`measure_heap_by`] was not called before.
pub(crate) fn peak<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let meter = METER.get().expect("`measure_heap_by` must be called first");
    let (mut run, mut result) = (Some(run), None);
    let bytes = meter(&mut || result = run.take().map(|run| run()));
    (bytes, result.expect("the meter did not run the function"))
}
