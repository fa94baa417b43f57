//! Any bytes as a file: what opens it, and what can be read of it.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |file: &[u8]| {
    zten_testkit::oracles::open(file);
});
