//! Any bytes as a file: one content has one file.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |file: &[u8]| {
    zten_testkit::oracles::canonical(file);
});
