//! Front ends: an archive is what was pushed, and nothing is read beyond the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_oracles::Front;

fuzz_target!(|front: Front| {
    zten_oracles::front(&front);
});
