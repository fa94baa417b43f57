//! The types of the elements of tensors in other formats.

use zten::tools::{LogicalType, StorageType};

/// The type of the elements of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A storage type that stands for itself.
    Plain(StorageType),
    /// A logical type.
    Logical(LogicalType),
}

impl Kind {
    /// Bytes of all elements of a shape; none where these cannot be counted.
    pub(crate) fn bytes(self, shape: &[u64]) -> Option<u64> {
        let elements = elements(shape)?;
        let (elements, width) = match self {
            Self::Plain(storage) => (elements, storage.width().into()),
            // Two share a byte.
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

/// The elements of a shape; none where these cannot be counted.
pub(super) fn elements(shape: &[u64]) -> Option<u64> {
    // Readers multiply dimensions in order, and one of 0 does not mend what has overflowed before it.
    shape.iter().try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))
}
