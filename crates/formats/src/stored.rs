//! How tensors lie in a file.

use super::Input;
use super::place::Place;
use super::tensor::Tensor;

/// How a tensor lies in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The first byte of its elements, or of the member of an archive that has them behind a header of their own.
    pub offset: u64,
    /// How many bytes that are.
    pub length: u64,
    /// They are deflated.
    pub is_deflated: bool,
    /// They are big-endian.
    pub is_big: bool,
    /// The first index is the one that moves fastest.
    pub columns_first: bool,
}

impl Input {
    /// How one of the tensors lies in the file.
    pub fn stored(&self, tensor: &Tensor) -> Stored {
        let plain = Stored {
            offset: tensor.place.offset(),
            length: tensor.bytes,
            is_deflated: false,
            is_big: false,
            columns_first: false,
        };
        match tensor.place {
            Place::Extent(_) => plain,
            Place::Array(array) => Stored {
                offset: array.start,
                is_big: array.is_big,
                columns_first: array.columns_first,
                ..plain
            },
            Place::Member(packed) => Stored {
                length: packed.member.packed,
                is_deflated: packed.member.deflated,
                is_big: packed.array.is_big,
                columns_first: packed.array.columns_first,
                ..plain
            },
        }
    }
}
