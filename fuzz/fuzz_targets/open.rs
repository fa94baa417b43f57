//! Opens any bytes as a file, in all ways, and reads all content.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |file: &[u8]| {
    zten_testkit::oracles::open(file);
});
