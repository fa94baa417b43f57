//! Front ends: an archive is what was pushed, and nothing is read beyond the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::Front;

fuzz_target!(init: zten_fuzz::measure_heap(), |front: Front| {
    zten_testkit::oracles::front(&front);
});
