//! What is to be written: written, read again, damaged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_oracles::Model;

fuzz_target!(|model: Model| {
    zten_oracles::model(&model);
});
