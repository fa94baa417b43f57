//! What the elements of foreign tensors are.

use zten::{LogicalType, StorageType};

use super::block::Block;

/// What the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What their storage type says.
    Plain(StorageType),
    /// What their logical type says.
    Logical(LogicalType),
    /// Blocks that are kept as they are: `Block::format`, `Block::attributes`.
    Verbatim(&'static Block),
}

impl Kind {
    /// Bytes of all elements of a shape; none where these cannot be counted, or are no whole
    /// number of blocks in each row.
    pub fn bytes(self, shape: &[u64]) -> Option<u64> {
        let elements = if shape.contains(&0) {
            0
        } else {
            shape.iter().try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))?
        };
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
            Self::Verbatim(block) => {
                let row = shape.last().copied().unwrap_or(1);
                if row.checked_rem(block.elements)? != 0 {
                    return None;
                }
                (elements.checked_div(block.elements)?, block.bytes)
            }
        };
        elements.checked_mul(width)
    }
}
