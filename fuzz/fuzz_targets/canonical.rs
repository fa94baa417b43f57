//! Checks on any bytes as a file that equal contents have one canonical file.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |file: &[u8]| {
    zten_testkit::oracles::canonical(file);
});
