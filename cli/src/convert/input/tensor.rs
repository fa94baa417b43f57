//! The tensors of foreign files.

use super::kind::Kind;
use super::place::Place;

/// One tensor of a foreign file.
#[derive(Debug)]
pub(crate) struct Tensor {
    /// Its name, as the file gives it.
    pub(crate) name: String,
    /// Its dimensions, the slowest first.
    pub(crate) shape: Vec<u64>,
    /// What its elements are.
    pub(crate) kind: Kind,
    /// Bytes that reading it hands out: row-major and little-endian.
    pub(crate) bytes: u64,
    pub(super) place: Place,
}
