//! Any bytes as a file that is appended to. The last two bytes are what, and with which limit.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    if let Some((file, [addition, limit])) = input.split_last_chunk() {
        zten_testkit::oracles::append(file, (*addition).into(), (*limit).into());
    }
});
