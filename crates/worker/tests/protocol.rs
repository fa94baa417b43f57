//! Tests the protocol between a pool and its workers from both ends with random bytes. `fuzz/fuzz_targets/worker.rs` runs the same
//! checks with the bytes of libFuzzer.
#![cfg(target_os = "linux")]
#![allow(clippy::allow_attributes, missing_docs, reason = "a test that panics has failed")]

#[path = "protocol/oracle.rs"]
mod oracle;

#[test]
fn every_message_is_within_limits() {
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..200_000 {
        let choice = random.u8(..);
        // Small numbers are the tags and lengths of messages.
        let most = if random.bool() { 3 } else { u8::MAX };
        let length = random.usize(..100);
        let rest = std::iter::repeat_with(|| random.u8(..=most)).take(length);
        let input: Vec<u8> = std::iter::once(choice).chain(rest).collect();
        oracle::protocol(&input);
    }
    for length in [0, 1, 63 << 10, (64 << 10) + 1, 200 << 10] {
        oracle::protocol(&[vec![3], vec![b'x'; length]].concat());
    }
}
