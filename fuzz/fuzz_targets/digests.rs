//! Parses and writes lists of digests.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    zten_testkit::oracles::digests(input);
});
