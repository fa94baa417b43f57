//! The element types of tensors in other formats.

use crate::element::{LogicalType, StorageType};

/// The element type of a tensor in a format other than zTensor, in terms of zTensor: a storage type or a logical type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FormatDType {
    /// A storage type without a logical type.
    Plain(StorageType),
    /// A logical type, which determines its storage type.
    Logical(LogicalType),
}

impl FormatDType {
    /// Returns the length in bytes of all elements of a tensor with the dimensions `shape`. Returns `None` if the length exceeds 64
    /// bits, or if the elements do not fill a whole number of bytes.
    pub(crate) fn bytes(self, shape: &[u64]) -> Option<u64> {
        let elements = elements(shape)?;
        let (elements, width) = match self {
            Self::Plain(storage) => (elements, storage.width().into()),
            // Two 4-bit elements share a byte.
            Self::Logical(LogicalType::F4E2M1) => {
                return (elements.checked_rem(2)? == 0).then_some(elements / 2);
            }
            Self::Logical(logical) => {
                let parts = u64::from(logical.ratio());
                (elements.checked_mul(parts)?, logical.storage().width().into())
            }
        };
        elements.checked_mul(width)
    }
}

/// Returns the number of elements of a tensor of the given shape. Returns `None` if the number exceeds 64 bits.
pub(super) fn elements(shape: &[u64]) -> Option<u64> {
    // Other readers multiply the dimensions in order, so for them the product overflows even if a later dimension is 0.
    // Such a shape is rejected.
    shape.iter().try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))
}
