//! Recognizes the format of a file of any bytes.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    zten_testkit::oracles::recognize(input);
});
