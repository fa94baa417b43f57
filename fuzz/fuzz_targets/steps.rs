//! Any bytes as a file, which comes whole and in pieces. The last four bytes are the pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let (file, splits) = input.split_at(input.len().saturating_sub(4));
    zten_oracles::steps(file, splits);
});
