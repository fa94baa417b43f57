//! Any bytes as a file of a kind that is to be told.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    zten_testkit::oracles::recognize(input);
});
