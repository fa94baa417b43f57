//! Opens archives through the builder of the index, as parsers of other formats do: an archive has exactly the pushed
//! tensors, and reads stay within the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::Calls;

fuzz_target!(init: zten_fuzz::measure_heap(), |calls: Calls| {
    zten_testkit::oracles::builder(&calls);
});
