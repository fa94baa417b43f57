//! Compares zten's CBOR decoder with two others on any bytes as the value of an attribute.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |item: &[u8]| {
    zten_testkit::oracles::cbor(item);
});
