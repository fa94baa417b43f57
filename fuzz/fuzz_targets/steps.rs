//! Opens any bytes as a file: as a whole, in pieces, and from a source whose bytes differ between reads. The last four bytes of
//! the input choose the pieces and the differences.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |input: &[u8]| {
    let (file, splits) = input.split_at(input.len().saturating_sub(4));
    zten_testkit::oracles::steps(file, splits);
    zten_testkit::oracles::lies(file, zten_testkit::oracles::Plan::Often(splits));
});
