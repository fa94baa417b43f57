//! Sends packets to both ends of the protocol of a pool and its workers.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/worker/tests/protocol/oracle.rs"]
mod oracle;

fuzz_target!(|input: &[u8]| {
    oracle::protocol(input);
});
