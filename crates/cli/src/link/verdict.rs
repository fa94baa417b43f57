//! The part of a message of a worker to the broker that gives the verdict on a file, and the rules that the file breaks.

use serde::{Deserialize, Serialize};

/// The verdict and the rules in a message of a worker: numbers that the broker looks up, so that a worker cannot make up text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KindNumbers {
    pub(crate) verdict: u8,
    pub(crate) rule: Option<u16>,
    pub(crate) notes: Vec<u16>,
    pub(crate) other: Option<u8>,
}
