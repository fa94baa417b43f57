//! Any bytes as a file: what opens it, and what can be read of it.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    zten_oracles::open(file);
});
