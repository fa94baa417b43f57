//! The rules that attributes and shape of an object make for its components: v2 §5.2.

use super::Role;
use crate::element::{LogicalType, StorageType};

/// The components that an object of a profile has to have.
pub(crate) type Profile = [Option<PartRule>; 3];

/// A component of that role, the types of its elements, and the number of them. A number that does not fit in 64
/// bits, or is not whole, is none: no component has as many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartRule {
    pub(crate) role: Role,
    pub(crate) types: Types,
    pub(crate) count: Count,
}

/// The types that the elements of a component may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// Elements of `zt.mx/1`, which can have scales in common.
    Mx,
    /// Scales `e8m0_exponent`.
    E8M0,
    /// Scales `f32_factors`: any floats.
    Floats,
    /// Scales `f16_factors`: floats of two bytes.
    Halves,
    /// Bytes.
    U8,
    /// Words of codes: integers as wide as that one, signed or not.
    Word(StorageType),
    /// Any without a logical type.
    Plain,
}

/// The number of elements of a component.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    /// One number.
    Exactly(Option<u64>),
    /// Either of two.
    Either(Option<u64>, Option<u64>),
    /// One for so many scales.
    PerScales(u64),
}

impl Types {
    /// Returns whether elements may have those types.
    pub(crate) fn allow(self, storage: StorageType, logical: Option<LogicalType>) -> bool {
        use LogicalType as L;
        use StorageType as S;
        match (self, logical) {
            (Self::Mx, Some(logical)) => matches!(logical, L::F4E2M1 | L::F8E4M3Fn | L::F8E5M2),
            (Self::E8M0, logical) => logical == Some(L::F8E8M0),
            (_, Some(_)) => false,
            (Self::Mx, None) => storage == S::I8,
            (Self::Floats, None) => matches!(storage, S::F64 | S::F32 | S::F16 | S::Bf16),
            (Self::Halves, None) => matches!(storage, S::F16 | S::Bf16),
            (Self::U8, None) => storage == S::U8,
            (Self::Word(word), None) => storage.is_integer() && storage.width() == word.width(),
            (Self::Plain, None) => true,
        }
    }
}
