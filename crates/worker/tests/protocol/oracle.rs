//! The promises of the protocol between a pool and its workers, which hold for any bytes. A test checks them with random
//! bytes, and a fuzz target with those of a fuzzer.

use zten_worker::process::{Greeting, Process, Received, pair};
use zten_worker::protocol::{Exchange, Incoming, call, reply};

/// The largest length of an answer in bytes.
const MOST: usize = 1000;

/// Checks the promises for `input`. The first byte chooses the promise, and the others are packets or an answer.
///
/// # Panics
/// Panics if a promise does not hold.
pub(crate) fn protocol(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else { return };
    match choice % 4 {
        0 => replies(rest),
        1 => calls(rest),
        2 => greeting(rest),
        _ => outcome(rest),
    }
}

/// Splits `bytes` into packets. Each packet follows a byte with its length.
fn packets(mut bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    std::iter::from_fn(move || {
        let (length, rest) = bytes.split_first()?;
        let (packet, after) = rest.split_at(usize::from(*length).min(rest.len()));
        bytes = after;
        Some(packet.to_vec())
    })
}

/// Checks that a pool accepts at most one outcome, within the limits, from the packets of a worker that was taken over.
fn replies(bytes: &[u8]) {
    let mut exchange = Exchange::new(7, MOST);
    for packet in packets(bytes) {
        match exchange.add(&mut Received::from_bytes(packet)) {
            Ok(None) => {}
            Ok(Some(Ok(answer))) => return assert!(answer.len() <= MOST),
            Ok(Some(Err(text))) => return assert!(text.len() <= 8 << 10),
            Err(_) => return,
        }
    }
}

/// Checks that a worker takes no job with files from packets without descriptors.
fn calls(bytes: &[u8]) {
    let mut incoming = Incoming::default();
    for packet in packets(bytes) {
        match incoming.add(&mut Received::from_bytes(packet)) {
            Ok(None) => {}
            Ok(Some(arrived)) => assert!(arrived.work.files.is_empty()),
            Err(_) => return,
        }
    }
}

/// Checks that a worker greets once, and is ready only if it says so.
fn greeting(bytes: &[u8]) {
    let (own, _theirs) = pair().expect("sockets");
    let mut process = Process::at(own, zten_worker::sandbox::Budget::default());
    let greeting = process.greeting(&mut Received::from_bytes(bytes.to_vec()));
    let is_ready = matches!(greeting, Ok(Greeting::Ready { .. }));
    assert_eq!(process.is_ready(), is_ready);
    if is_ready {
        assert!(process.greeting(&mut Received::from_bytes(bytes.to_vec())).is_err());
    }
}

/// Checks that an outcome and a call arrive as they were sent if both ends are honest. A long text of an error may be cut.
fn outcome(bytes: &[u8]) {
    let outcomes = [Ok(bytes.to_vec()), Err(String::from_utf8_lossy(bytes).into_owned())];
    for sent in outcomes {
        let mut exchange = Exchange::new(7, bytes.len());
        let mut received = None;
        let add = |packet: &[u8]| {
            assert!(received.is_none(), "packets after the outcome");
            received = exchange.add(&mut Received::from_bytes(packet.to_vec()))?;
            Ok(())
        };
        reply(7, &sent, add).expect("a valid outcome");
        let received = received.expect("the outcome is complete");
        match (&sent, &received) {
            (Err(sent), Err(received)) => assert!(sent.starts_with(received.as_str())),
            _ => assert_eq!(sent, received),
        }
    }
    let (function, argument) = bytes.split_at(bytes.len().min(3));
    let function = String::from_utf8_lossy(function);
    let mut incoming = Incoming::default();
    let mut arrived = None;
    for packet in call(9, &function, argument, Vec::new()).expect("a short call") {
        assert!(arrived.is_none(), "packets after the call");
        let mut received = Received::from_bytes(packet.bytes().to_vec());
        arrived = incoming.add(&mut received).expect("a valid call");
    }
    let arrived = arrived.expect("the call is complete");
    assert_eq!((arrived.number, &*arrived.function), (9, &*function));
    assert_eq!(arrived.work.argument, argument);
}
