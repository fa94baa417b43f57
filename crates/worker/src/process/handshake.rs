//! The first messages between a broker and a worker: how the worker confines itself, and whether it could.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use zten_sandbox::Budget;

use super::{Assembly, MessagePart, Received, invalid, split_at_most, write};
use crate::Confinement;

/// The largest length in bytes of the first message to a worker. The settings in it may be the arguments of a command, which are a
/// few hundred KiB at most.
const SETTINGS: usize = 16 << 20;
/// The largest length in bytes of the text that says why a layer of the confinement is missing.
const REASON: usize = 4 << 10;

/// The first message from the broker to a worker, which the worker receives before its first file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Start<T> {
    /// How strictly the worker has to confine itself.
    pub confinement: Confinement,
    /// The limits on the resources of the worker, which it sets itself when it is confined.
    #[serde(with = "BudgetFields")]
    pub budget: Budget,
    /// Settings of the program for its workers, such as the arguments of a command. A [`Pool`](crate::Pool) has none.
    pub settings: T,
}

/// A copy of the fields of [`Budget`], from which `serde` derives how a budget is sent.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Budget")]
struct BudgetFields {
    memory: Option<u64>,
    seconds: Option<u64>,
    file: Option<u64>,
    descriptors: u64,
}

impl<T: Serialize> Start<T> {
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(io::Error::other)
    }
}

/// The first message from a worker to its broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Greeting {
    /// The worker is ready for its first file.
    Ready {
        /// The number of bytes of address space that the worker used when it was confined, or `None` if it is not confined.
        memory: Option<u64>,
        /// The first layer of the confinement that the system lacks, and the reason. `None` if no layer is missing, or the worker
        /// was not to be confined.
        missing: Option<String>,
    },
    /// The worker cannot be confined as required, for the reason in the text, and ends.
    NotConfined(String),
}

/// Receives the first message of the broker on standard input, before this process is confined.
///
/// # Errors
/// The message is incomplete or invalid: the process was not started by a broker.
pub fn receive_start<T: DeserializeOwned>() -> io::Result<Start<T>> {
    let mut bytes = Assembly::new(SETTINGS);
    loop {
        let mut received = Received::receive(io::stdin())?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let part: MessagePart<'_> = received.message()?.ok_or_else(|| invalid("no start"))?;
        if let Some(bytes) = bytes.add(&part)? {
            return postcard::from_bytes(&bytes).map_err(io::Error::other);
        }
    }
}

/// Confines this process as `start` asks, and greets the broker. `threads` starts the threads that the process needs, because
/// none can be started later. Returns whether the process may go on: otherwise it must end without reading a file.
///
/// # Errors
/// The broker has ended.
pub fn confine<T>(start: &Start<T>, threads: impl FnOnce()) -> io::Result<bool> {
    let greet = |greeting: &Greeting| {
        write(io::stdin(), &postcard::to_allocvec(greeting).map_err(io::Error::other)?)
    };
    if !start.confinement.confines() {
        threads();
        greet(&Greeting::Ready { memory: None, missing: None })?;
        return Ok(true);
    }
    let memory = zten_sandbox::memory_in_use();
    let report = zten_sandbox::confine(&start.budget, threads);
    let missing = report.complete().err().map(|why| split_at_most(&why, REASON).0.to_owned());
    match missing {
        Some(why) if start.confinement == Confinement::Require => {
            greet(&Greeting::NotConfined(why))?;
            Ok(false)
        }
        missing => {
            greet(&Greeting::Ready { memory: Some(memory), missing })?;
            Ok(true)
        }
    }
}
