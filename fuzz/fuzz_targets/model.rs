//! Writes the file of a generated model, reads the file again, and damages it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::Model;

fuzz_target!(init: zten_fuzz::measure_heap(), |model: Model| {
    zten_testkit::oracles::model(&model);
});
