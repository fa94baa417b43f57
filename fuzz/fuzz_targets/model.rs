//! Models of a file, which is written, read again, and damaged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_oracles::Model;

fuzz_target!(|model: Model| {
    zten_oracles::model(&model);
});
