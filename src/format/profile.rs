//! What attributes and shape ask of the parts of an object of a profile: v2 §5.2.

use crate::element::StorageType;

/// A profile, and how many elements its parts have. A number that does not fit in 64 bits, or is not
/// whole, is none: no part has as many.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Profile {
    /// `zt.mx/1`, with so many scales.
    Mx { scales: u64 },
    /// `zt.quant_group/1`.
    QuantGroup(QuantGroup),
    /// `gguf.NAME/1`, of so many bytes.
    Gguf { bytes: Option<u64> },
}

/// What is asked of the parts of `zt.quant_group/1`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuantGroup {
    /// The unsigned type of a word of codes, and how many codes it holds.
    pub(crate) word: StorageType,
    pub(crate) per_word: u64,
    pub(crate) words: Option<u64>,
    pub(crate) scales: Factors,
    pub(crate) scale_form: ScaleForm,
    pub(crate) zeros: Zeros,
}

/// How many scales there are. Where `group_size` is 0, the text of the profile asks for one a lane,
/// and its size for one an element: either will do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors {
    pub(crate) by_size: Option<u64>,
    pub(crate) by_text: Option<u64>,
}

/// What scales are: `scale_form`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScaleForm {
    /// `f32_factors`: any floats.
    F32,
    /// `f16_factors`: of two bytes.
    F16,
    /// `e8m0_exponent`.
    E8M0,
}

/// Whether there is a part `zeros`: `zero_point`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zeros {
    /// There is none.
    Absent,
    /// One element for each scale.
    Plain,
    /// In words, as the codes are.
    Packed,
}
