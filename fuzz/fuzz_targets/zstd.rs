//! Frames and content: `zten-zstd` beside libzstd and `ruzstd`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    zten_fuzz::zstd(input);
});
