//! Files of other formats.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    zten_oracles::foreign(file);
});
