//! Any bytes as a file: one content has one file.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    zten_oracles::canonical(file);
});
