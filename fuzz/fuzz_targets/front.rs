//! Opens archives through the interface for front ends: an archive has exactly the pushed tensors, and reads stay within the
//! file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::Front;

fuzz_target!(init: zten_fuzz::measure_heap(), |front: Front| {
    zten_testkit::oracles::front(&front);
});
