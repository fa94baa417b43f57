//! Any bytes as a file, which comes whole, in pieces, and from a source that lies. The last four
//! bytes are the pieces and the lies.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    let (file, splits) = input.split_at(input.len().saturating_sub(4));
    zten_testkit::oracles::steps(file, splits);
    zten_testkit::oracles::lies(file, zten_testkit::oracles::Plan::Often(splits));
});
