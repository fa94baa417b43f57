//! The heap usage of a function.

/// The most heap that was in use at once, in bytes.
pub(crate) fn peak<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(run()));
    (info.bytes_max, result.expect("what was to be measured has run"))
}
