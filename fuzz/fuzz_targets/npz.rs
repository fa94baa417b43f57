//! Archives of NumPy arrays: whole files, or members.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_oracles::{Format, file_format};

fuzz_target!(|input: &[u8]| {
    file_format(Format::Npz, input);
});
