//! Compares `zten-zstd` with libzstd and `ruzstd` on frames and on content.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    zten_fuzz::zstd(input);
});
