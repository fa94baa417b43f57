//! Opens checkpoints of PyTorch: the input is a whole file, or an archive of tensors and other values.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::{Format, file_format};

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    file_format(Format::Torch, input);
});
