//! The tensors of foreign files.

use super::kind::Kind;
use super::place::Place;

/// One tensor of a foreign file.
#[derive(Debug)]
pub struct Tensor {
    /// Its name, as the file gives it.
    pub name: String,
    /// Its dimensions, the slowest first.
    pub shape: Vec<u64>,
    /// What its elements are.
    pub kind: Kind,
    /// Bytes that reading it hands out: row-major and little-endian.
    pub bytes: u64,
    pub(super) place: Place,
}
