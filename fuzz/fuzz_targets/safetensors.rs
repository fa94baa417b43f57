//! Opens safetensors files: the input is a whole file, or a header and data.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::{Format, file_format};

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    file_format(Format::Safetensors, input);
});
