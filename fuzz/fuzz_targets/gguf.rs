//! Opens GGUF files: the input is a whole file, or the parts of one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::{Format, file_format};

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    file_format(Format::Gguf, input);
});
