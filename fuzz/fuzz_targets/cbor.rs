//! Any bytes as the value of an attribute: our decoder of CBOR beside two others.
#![no_main]

libfuzzer_sys::fuzz_target!(|item: &[u8]| {
    zten_oracles::cbor(item);
});
