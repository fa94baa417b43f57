//! Appends to any bytes as a file. The last two bytes of the input choose the appended objects and a limit.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    if let Some((file, [addition, limit])) = input.split_last_chunk() {
        zten_testkit::oracles::append(file, (*addition).into(), (*limit).into());
    }
});
