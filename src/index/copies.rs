//! Tensors that are in two files of one model, which a check compares.

use alloc::vec::Vec;

use super::Span;
use crate::rules::Row;

/// Pairs of tensors with the same name, dtype and shape in two files that an index names. Opening compares no bytes, so a
/// check of the file compares them.
#[derive(Debug)]
pub(crate) struct Copies {
    /// The rule that is broken if the bytes of a pair differ.
    pub(crate) rule: &'static Row,
    /// The names of the tensors in `pairs`, one after another. Each pair contains the span of its name.
    pub(crate) names: Vec<u8>,
    /// The pairs of tensors to compare.
    pub(crate) pairs: Vec<CopyPair>,
}

/// Two tensors of the same name, dtype and shape in two files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyPair {
    /// The name of both tensors.
    pub(crate) name: Span,
    /// Whether the index says that the tensor is in the file of `first`. If not, the index does not name the tensor.
    pub(crate) is_selected: bool,
    pub(crate) first: CopyPlace,
    pub(crate) second: CopyPlace,
    /// The length in bytes of each of the two tensors.
    pub(crate) length: u64,
}

/// The position of the bytes of a tensor: a file of the model, and an offset in that file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyPlace {
    /// The ordinal of the file that holds the tensor, among the files that the index of the model names.
    pub(crate) file: u32,
    /// The offset in that file of the first byte of the tensor.
    pub(crate) offset: u64,
}

impl Copies {
    /// Returns the number of bytes that the names of the tensors and the list of pairs of tensors take on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let pairs = self.pairs.capacity().saturating_mul(size_of::<CopyPair>());
        self.names.capacity().saturating_add(pairs)
    }
}
