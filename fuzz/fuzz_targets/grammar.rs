//! Any bytes as a choice among the files of generation 2 that a grammar has, and what damages them.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |choices: &[u8]| {
    zten_testkit::oracles::grammar(choices);
});
