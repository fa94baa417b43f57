//! The heap usage of a function.

use std::sync::OnceLock;

/// Runs a function, and returns the most heap that was in use at once, in bytes.
pub type Meter = fn(&mut dyn FnMut()) -> u64;

static METER: OnceLock<Meter> = OnceLock::new();

/// Sets what measures the heap, once for a program: it owns the allocator, which this package leaves to it.
pub fn measure_heap_by(meter: Meter) {
    METER.get_or_init(|| meter);
}

/// Returns the most heap that was in use at once, in bytes.
pub(crate) fn peak<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let meter = METER.get().expect("`measure_heap_by` has been called");
    let (mut run, mut result) = (Some(run), None);
    let bytes = meter(&mut || result = run.take().map(|run| run()));
    (bytes, result.expect("what was to be measured has run"))
}
