//! Opens indices of safetensors files, with the files that they list.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::{Format, file_format};

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    file_format(Format::Index, input);
});
