//! Any bytes as a choice among the files of generation 2 that a grammar has, and what damages them.
#![no_main]

libfuzzer_sys::fuzz_target!(|choices: &[u8]| {
    zten_oracles::grammar(choices);
});
