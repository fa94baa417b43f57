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
    /// The names of the tensors in `pairs`, one after another. The pairs contain the spans of their names.
    pub(crate) names: Vec<u8>,
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
    /// The length of each of the two in bytes.
    pub(crate) length: u64,
}

/// The file and the offset of the bytes of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CopyPlace {
    /// The ordinal of the file in the table of shards.
    pub(crate) file: u32,
    /// The offset of the bytes in the file.
    pub(crate) offset: u64,
}

impl Copies {
    /// Returns the size in bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let pairs = self.pairs.capacity().saturating_mul(size_of::<CopyPair>());
        self.names.capacity().saturating_add(pairs)
    }
}
