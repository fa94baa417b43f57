//! Lists of digests.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    zten_oracles::digests(input);
});
