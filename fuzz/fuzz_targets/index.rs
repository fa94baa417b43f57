//! Indices of safetensors files, and the files beside them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_oracles::{Format, file_format};

fuzz_target!(|input: &[u8]| {
    file_format(Format::Index, input);
});
