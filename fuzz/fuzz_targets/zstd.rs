//! Frames and content: our decoder and encoder of zstd beside libzstd.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    zten_fuzz::zstd(input);
});
