//! The attributes of a `quantized_group`: v1.1 III.4, v1.2 §3.

use crate::cbor::{Attributes, Value};
use crate::element::StorageType;
use crate::error::{Error, Misuse, Place};

/// How weights are quantized: the attributes `bits`, `group_size` and `packing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantization {
    group_size: u64,
    packing: Packing,
}

/// How codes are packed into words: the attribute `packing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Packing {
    /// `8_per_i32`: codes of 4 bits.
    EightPerI32,
    /// `4_per_i32`: codes of 8 bits.
    FourPerI32,
    /// `2_per_u8`: codes of 4 bits.
    TwoPerU8,
    /// `1_per_u8`: codes of 8 bits.
    OnePerU8,
}

/// Packing, its name, codes in a word, the type of a word, bits of a code.
const PACKING: [(Packing, &str, u8, StorageType, u8); 4] = [
    (Packing::EightPerI32, "8_per_i32", 8, StorageType::I32, 4),
    (Packing::FourPerI32, "4_per_i32", 4, StorageType::I32, 8),
    (Packing::TwoPerU8, "2_per_u8", 2, StorageType::U8, 4),
    (Packing::OnePerU8, "1_per_u8", 1, StorageType::U8, 8),
];

impl Packing {
    fn row(self) -> &'static (Self, &'static str, u8, StorageType, u8) {
        let [eight_i32, four_i32, two_u8, one_u8] = &PACKING;
        match self {
            Self::EightPerI32 => eight_i32,
            Self::FourPerI32 => four_i32,
            Self::TwoPerU8 => two_u8,
            Self::OnePerU8 => one_u8,
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        PACKING.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// Its name: `8_per_i32`.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// Codes in a word: 1, 2, 4 or 8.
    pub fn codes(self) -> u8 {
        self.row().2
    }

    /// The type of a word: the storage type of `packed_weight`.
    pub fn word(self) -> StorageType {
        self.row().3
    }

    /// Bits of a code: 4 or 8.
    pub fn bits(self) -> u8 {
        self.row().4
    }
}

impl Quantization {
    /// Reads the attributes of the object at `place`.
    pub(super) fn read(attributes: Option<Attributes<'_>>, place: Place) -> Result<Self, Error> {
        let read = |attributes: Attributes<'_>| {
            let bits = uint(&attributes, "bits").filter(|bits| (1..=32).contains(bits))?;
            let group_size = uint(&attributes, "group_size").filter(|size| *size > 0)?;
            let packing = match attributes.item("packing")?.value() {
                Value::Text(name) => Packing::from_name(name.as_str()?)?,
                _ => return None,
            };
            // The name says how many codes there are in a word: `bits` must say the same.
            (bits == u64::from(packing.bits())).then_some(Self { group_size, packing })
        };
        attributes.and_then(read).ok_or_else(|| misfit(place))
    }

    /// The attribute `bits`: bits of a code, 4 or 8.
    pub fn bits(&self) -> u8 {
        self.packing.bits()
    }

    /// The attribute `group_size`: how many inputs, one after the other, have a scale and a zero
    /// point in common. 1 or more; it may be more than there are inputs.
    pub fn group_size(&self) -> u64 {
        self.group_size
    }

    /// The attribute `packing`.
    pub fn packing(&self) -> Packing {
        self.packing
    }
}

/// An unsigned integer of the attributes, and nothing that might be taken for one.
fn uint(attributes: &Attributes<'_>, key: &str) -> Option<u64> {
    match attributes.item(key)?.value() {
        Value::Uint(number) => Some(number),
        _ => None,
    }
}

/// The attributes, or what is at `place`, do not make a quantized matrix.
pub(super) fn misfit(place: Place) -> Error {
    Error::misuse(Misuse::Quantization).at(place)
}
