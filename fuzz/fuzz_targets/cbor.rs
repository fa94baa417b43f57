//! Any bytes as the value of an attribute: our decoder of CBOR beside two others.
#![no_main]

libfuzzer_sys::fuzz_target!(init: zten_fuzz::measure_heap(), |item: &[u8]| {
    zten_testkit::oracles::cbor(item);
});
