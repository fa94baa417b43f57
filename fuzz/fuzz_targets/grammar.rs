//! Generates files of generation 2 from a grammar, damages them, and opens them. The input makes all choices.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |choices: &[u8]| {
    zten_testkit::oracles::grammar(choices);
});
