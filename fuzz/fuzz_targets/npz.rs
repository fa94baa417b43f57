//! Opens `.npz` archives: the input is a whole file, or its members.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::{Format, file_format};

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    file_format(Format::Npz, input);
});
