//! Reads the values of quantized tensors that are stored as several tensors: the input chooses the convention, the sizes and the content.
#![no_main]

use libfuzzer_sys::fuzz_target;
use zten_testkit::oracles::conventions;

fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    conventions(input);
});
