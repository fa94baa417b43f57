//! One element: how many bytes it takes, and how it is written down.

use std::fmt::Debug;
use std::io::{self, Write};

use zten::Component;
use zten::element::{F4E2M1, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0};
use zten::tools::{ElementType, LogicalType, StorageType};

/// What is written for one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What its storage type says.
    Plain(StorageType),
    /// A float whose code is a byte.
    Fp8(Fp8),
    /// A real and an imaginary part.
    Complex(StorageType),
}

/// The kinds of floats whose code is a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fp8 {
    /// `f8_e4m3fn`
    E4M3Fn,
    /// `f8_e5m2`
    E5M2,
    /// `f8_e4m3fnuz`
    E4M3Fnuz,
    /// `f8_e5m2fnuz`
    E5M2Fnuz,
    /// `f8_e8m0`
    E8M0,
    /// `f4_e2m1`, one a byte, in its low half: two share one as they are stored
    E2M1,
}

impl Fp8 {
    /// The kind that a logical type is, if it is one.
    fn from_logical(logical: LogicalType) -> Option<Self> {
        Some(match logical {
            LogicalType::F8E4M3Fn => Self::E4M3Fn,
            LogicalType::F8E5M2 => Self::E5M2,
            LogicalType::F8E4M3Fnuz => Self::E4M3Fnuz,
            LogicalType::F8E5M2Fnuz => Self::E5M2Fnuz,
            LogicalType::F8E8M0 => Self::E8M0,
            _ => return None,
        })
    }

    /// The value of a code.
    pub fn decode(self, code: u8) -> f32 {
        match self {
            Self::E4M3Fn => F8E4M3Fn::from_bits(code).to_f32(),
            Self::E5M2 => F8E5M2::from_bits(code).to_f32(),
            Self::E4M3Fnuz => F8E4M3Fnuz::from_bits(code).to_f32(),
            Self::E5M2Fnuz => F8E5M2Fnuz::from_bits(code).to_f32(),
            Self::E8M0 => F8E8M0::from_bits(code).to_f32(),
            Self::E2M1 => F4E2M1::from_bits(code).to_f32(),
        }
    }
}

/// For whom an element is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// For people: `1.0+2.0j`, `NaN`.
    Text,
    /// For programs: `[1.0,2.0]`, `"NaN"`.
    Json,
}

impl Kind {
    /// What a component holds; none where it cannot be read, or two elements share a byte. Of a type
    /// that is not known, the elements of the dtype are.
    pub fn of_component(component: &Component<'_>) -> Option<Self> {
        let element = component.element_type();
        let (ElementType::Logical(logical) | ElementType::UnknownOnLogical(_, logical)) = element
        else {
            return element.storage().map(Self::Plain);
        };
        Some(match logical {
            LogicalType::Complex64 => Self::Complex(StorageType::F32),
            LogicalType::Complex128 => Self::Complex(StorageType::F64),
            // Two share a byte.
            LogicalType::F4E2M1 => return None,
            logical => match Fp8::from_logical(logical) {
                Some(kind) => Self::Fp8(kind),
                None => Self::Plain(logical.storage()),
            },
        })
    }

    /// Bytes of one.
    pub fn width(self) -> usize {
        match self {
            Self::Plain(storage) => usize::from(storage.width()),
            Self::Fp8(_) => 1,
            Self::Complex(part) => 2 * usize::from(part.width()),
        }
    }

    /// As the NumPy format calls it. There is no name for bf16 and FP8: the one is two bytes of
    /// void, the others are unsigned.
    pub fn numpy(self) -> &'static str {
        match self {
            Self::Plain(StorageType::F64) => "<f8",
            Self::Plain(StorageType::F32) => "<f4",
            Self::Plain(StorageType::F16) => "<f2",
            Self::Plain(StorageType::Bf16) => "<V2",
            Self::Plain(StorageType::I64) => "<i8",
            Self::Plain(StorageType::I32) => "<i4",
            Self::Plain(StorageType::I16) => "<i2",
            Self::Plain(StorageType::I8) => "|i1",
            Self::Plain(StorageType::U64) => "<u8",
            Self::Plain(StorageType::U32) => "<u4",
            Self::Plain(StorageType::U16) => "<u2",
            Self::Plain(StorageType::U8) | Self::Fp8(_) => "|u1",
            Self::Plain(StorageType::Bool) => "|b1",
            Self::Complex(StorageType::F32) => "<c8",
            Self::Complex(_) => "<c16",
        }
    }

    /// Writes down the element in `bytes`, which are as many as it takes.
    pub fn write(self, out: &mut dyn Write, bytes: &[u8], style: Style) -> io::Result<()> {
        match self {
            Self::Plain(storage) => number(out, storage, bytes, style),
            Self::Fp8(kind) => {
                let code = bytes.first().copied().unwrap_or_default();
                float(out, kind.decode(code), style)
            }
            Self::Complex(part) => {
                let (real, imaginary) = bytes.split_at(bytes.len() / 2);
                if style == Style::Json {
                    out.write_all(b"[")?;
                    number(out, part, real, style)?;
                    out.write_all(b",")?;
                    number(out, part, imaginary, style)?;
                    return out.write_all(b"]");
                }
                number(out, part, real, style)?;
                let mut text = Vec::new();
                number(&mut text, part, imaginary, style)?;
                if text.first() != Some(&b'-') {
                    out.write_all(b"+")?;
                }
                out.write_all(&text)?;
                out.write_all(b"j")
            }
        }
    }
}

/// The first bytes, as many as a number takes.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

fn number(out: &mut dyn Write, storage: StorageType, bytes: &[u8], style: Style) -> io::Result<()> {
    match storage {
        StorageType::F64 => float(out, f64::from_le_bytes(first(bytes)), style),
        StorageType::F32 => float(out, f32::from_le_bytes(first(bytes)), style),
        StorageType::F16 => float(out, half::f16::from_le_bytes(first(bytes)).to_f32(), style),
        StorageType::Bf16 => float(out, half::bf16::from_le_bytes(first(bytes)).to_f32(), style),
        StorageType::I64 => write!(out, "{}", i64::from_le_bytes(first(bytes))),
        StorageType::I32 => write!(out, "{}", i32::from_le_bytes(first(bytes))),
        StorageType::I16 => write!(out, "{}", i16::from_le_bytes(first(bytes))),
        StorageType::I8 => write!(out, "{}", i8::from_le_bytes(first(bytes))),
        StorageType::U64 => write!(out, "{}", u64::from_le_bytes(first(bytes))),
        StorageType::U32 => write!(out, "{}", u32::from_le_bytes(first(bytes))),
        StorageType::U16 => write!(out, "{}", u16::from_le_bytes(first(bytes))),
        StorageType::U8 => write!(out, "{}", u8::from_le_bytes(first(bytes))),
        StorageType::Bool => write!(out, "{}", first::<1>(bytes) != [0]),
    }
}

/// A float, with as many digits as tell it from its neighbours. `NaN`, `inf` and `-inf` are
/// strings in JSON, which has no numbers for them.
fn float(
    out: &mut dyn Write,
    value: impl Debug + Copy + Into<f64>,
    style: Style,
) -> io::Result<()> {
    if style == Style::Json && !value.into().is_finite() {
        write!(out, "\"{value:?}\"")
    } else {
        write!(out, "{value:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(kind: Kind, bytes: &[u8], style: Style) -> String {
        let mut out = Vec::new();
        kind.write(&mut out, bytes, style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers() {
        let plain = |storage, bytes: &[u8]| written(Kind::Plain(storage), bytes, Style::Text);
        assert_eq!(plain(StorageType::U64, &[255; 8]), "18446744073709551615");
        assert_eq!(plain(StorageType::I64, &[0, 0, 0, 0, 0, 0, 0, 128]), "-9223372036854775808");
        assert_eq!(plain(StorageType::I8, &[255]), "-1");
        assert_eq!(plain(StorageType::Bool, &[7]), "true");
        assert_eq!(plain(StorageType::F32, &1e30_f32.to_le_bytes()), "1e30");
        assert_eq!(plain(StorageType::F32, &0.1_f32.to_le_bytes()), "0.1");
        assert_eq!(plain(StorageType::F64, &(-0.0_f64).to_le_bytes()), "-0.0");
        assert_eq!(plain(StorageType::F16, &[0, 0x7c]), "inf");
        assert_eq!(plain(StorageType::Bf16, &[0x80, 0x3f]), "1.0");
    }

    #[test]
    fn complex() {
        let bytes = [1.0_f32.to_le_bytes(), (-2.5_f32).to_le_bytes()].concat();
        let kind = Kind::Complex(StorageType::F32);
        assert_eq!(written(kind, &bytes, Style::Text), "1.0-2.5j");
        assert_eq!(written(kind, &bytes, Style::Json), "[1.0,-2.5]");
        let bytes = [f32::NEG_INFINITY.to_le_bytes(), f32::NAN.to_le_bytes()].concat();
        assert_eq!(written(kind, &bytes, Style::Text), "-inf+NaNj");
        assert_eq!(written(kind, &bytes, Style::Json), "[\"-inf\",\"NaN\"]");
    }
}
