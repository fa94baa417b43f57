//! Applies an arbitrary patch, or one with arbitrary streams, to a base.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::patch_apply;

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    patch_apply(input);
});
