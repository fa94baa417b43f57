//! Widths and text forms of single elements.

use core::fmt;
use std::format;
use std::io::{self, Write};
use std::vec::Vec;

use crate::element::{F4E2M1, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0};
use crate::element::{LogicalType, StorageType, name_of_not_finite};
use crate::manifest::{Component, ElementType};
use half::{bf16, f16};

/// How the bytes of an element become a number: the type of the number, or of its two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// The element is a value of this storage type.
    Plain(StorageType),
    /// The element is a float that is stored as a code of one byte.
    Fp8(Fp8),
    /// The element is a real and an imaginary part, each of this storage type.
    Complex(StorageType),
}

/// A floating-point format whose elements are handled as codes of one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fp8 {
    /// The format of the logical type `f8_e4m3fn`.
    E4M3Fn,
    /// The format of the logical type `f8_e5m2`.
    E5M2,
    /// The format of the logical type `f8_e4m3fnuz`.
    E4M3Fnuz,
    /// The format of the logical type `f8_e5m2fnuz`.
    E5M2Fnuz,
    /// The format of the logical type `f8_e8m0`.
    E8M0,
    /// The format of the logical type `f4_e2m1`, unpacked to one element per byte in the low half. In a file, two elements share
    /// a byte.
    E2M1,
}

impl Fp8 {
    /// Returns the format of the logical type `logical`, or `None` if its elements are not floats that take one byte each.
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

    /// Returns the float for which `code` stands in this format.
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

/// The text form of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The form for people: `1.0+2.0j`, `NaN`.
    Text,
    /// The form for programs: `[1.0,2.0]`, `{"$float":"NaN"}`.
    Json,
}

impl NumberKind {
    /// Returns the kind of the elements of `component`. Returns `None` if the elements cannot be read, or two elements share a
    /// byte. For an unknown logical type, returns the kind of its storage type.
    pub fn of_component(component: &Component<'_>) -> Option<Self> {
        let element = component.element_type();
        let (ElementType::Logical(logical) | ElementType::UnknownOnLogical(_, logical)) = element
        else {
            return element.storage().map(Self::Plain);
        };
        Some(match logical {
            LogicalType::Complex64 => Self::Complex(StorageType::F32),
            LogicalType::Complex128 => Self::Complex(StorageType::F64),
            // Two elements share a byte, so no element has bytes of its own.
            LogicalType::F4E2M1 => return None,
            logical => match Fp8::from_logical(logical) {
                Some(kind) => Self::Fp8(kind),
                None => Self::Plain(logical.storage()),
            },
        })
    }

    /// Returns the width of an element in bytes.
    pub fn width(self) -> usize {
        match self {
            Self::Plain(storage) => usize::from(storage.width()),
            Self::Fp8(_) => 1,
            Self::Complex(part) => 2 * usize::from(part.width()),
        }
    }

    /// Returns the name of the type in NumPy files. NumPy has no bf16 and FP8 types: bf16 becomes two bytes of void, and
    /// FP8 becomes unsigned bytes.
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

    /// Writes the element in `bytes`, which has the width of an element, as text in the form `style`.
    pub fn write(self, out: &mut dyn Write, bytes: &[u8], style: Style) -> io::Result<()> {
        match self {
            Self::Plain(storage) => number(out, storage, bytes, style),
            Self::Fp8(kind) => {
                let code = bytes.first().copied().unwrap_or_default();
                self.number(kind.decode(code).into()).write(out, style)
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

/// Returns the first `N` bytes, or zeros if there are fewer bytes.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.first_chunk().copied().unwrap_or([0; N])
}

fn number(out: &mut dyn Write, storage: StorageType, bytes: &[u8], style: Style) -> io::Result<()> {
    match storage {
        StorageType::F64 | StorageType::F32 | StorageType::F16 | StorageType::Bf16 => {
            let value = match storage {
                StorageType::F64 => f64::from_le_bytes(first(bytes)),
                StorageType::F32 => f32::from_le_bytes(first(bytes)).into(),
                StorageType::F16 => f16::from_le_bytes(first(bytes)).to_f64(),
                _ => bf16::from_le_bytes(first(bytes)).to_f64(),
            };
            Number { kind: NumberKind::Plain(storage), value }.write(out, style)
        }
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

impl NumberKind {
    /// Appends the values of the little-endian elements in `bytes` to `out`: of a complex one its magnitude, of a
    /// bool 0 or 1. Integers beyond 53 bits are rounded.
    pub fn values(self, bytes: &[u8], out: &mut Vec<f64>) {
        use StorageType as T;
        match self {
            Self::Fp8(kind) => out.extend(bytes.iter().map(|code| f64::from(kind.decode(*code)))),
            Self::Complex(part) => {
                let mut parts = Vec::new();
                Self::Plain(part).values(bytes, &mut parts);
                let (pairs, _) = parts.as_chunks::<2>();
                out.extend(pairs.iter().map(|[real, imaginary]| real.hypot(*imaginary)));
            }
            Self::Plain(T::F64) => push(bytes, out, f64::from_le_bytes),
            Self::Plain(T::F32) => push(bytes, out, |bytes| f32::from_le_bytes(bytes).into()),
            Self::Plain(T::F16) => push(bytes, out, |bytes| f16::from_le_bytes(bytes).to_f64()),
            Self::Plain(T::Bf16) => push(bytes, out, |bytes| bf16::from_le_bytes(bytes).to_f64()),
            Self::Plain(T::I64) => push(bytes, out, |bytes| signed(i64::from_le_bytes(bytes))),
            Self::Plain(T::I32) => push(bytes, out, |bytes| i32::from_le_bytes(bytes).into()),
            Self::Plain(T::I16) => push(bytes, out, |bytes| i16::from_le_bytes(bytes).into()),
            Self::Plain(T::I8) => push(bytes, out, |bytes| i8::from_le_bytes(bytes).into()),
            Self::Plain(T::U64) => push(bytes, out, |bytes| unsigned(u64::from_le_bytes(bytes))),
            Self::Plain(T::U32) => push(bytes, out, |bytes| u32::from_le_bytes(bytes).into()),
            Self::Plain(T::U16) => push(bytes, out, |bytes| u16::from_le_bytes(bytes).into()),
            Self::Plain(T::U8) => push(bytes, out, |[byte]| byte.into()),
            Self::Plain(T::Bool) => push(bytes, out, |[byte]| f64::from(byte != 0)),
        }
    }

    /// Returns `value` for display with the digits that this type needs.
    pub fn number(self, value: f64) -> Number {
        Number { kind: self, value }
    }

    /// Returns the number of fraction bits and the exponent of the smallest normal number, if this is a float narrower than `f32`.
    /// Returns `None` for every other type, and for `f8_e8m0`.
    fn precision(self) -> Option<(i32, i32)> {
        Some(match self {
            Self::Plain(StorageType::F16) => (10, -14),
            Self::Plain(StorageType::Bf16) => (7, -126),
            Self::Fp8(Fp8::E4M3Fn) => (3, -6),
            Self::Fp8(Fp8::E5M2) => (2, -14),
            Self::Fp8(Fp8::E4M3Fnuz) => (3, -7),
            Self::Fp8(Fp8::E5M2Fnuz) => (2, -15),
            Self::Fp8(Fp8::E2M1) => (1, 0),
            // All E8M0 values are powers of two, which are easier to recognize with all digits.
            Self::Fp8(Fp8::E8M0) | Self::Plain(_) | Self::Complex(_) => return None,
        })
    }
}

fn push<const N: usize>(bytes: &[u8], out: &mut Vec<f64>, read: impl Fn([u8; N]) -> f64) {
    out.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| read(*bytes)));
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "rounded to the nearest")]
fn signed(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "rounded to the nearest")]
fn unsigned(number: u64) -> f64 {
    number as f64
}

/// The value of an element, displayed with the fewest digits that distinguish it from the other numbers of its type: 0.1 for
/// the `f16` 0.0999755859375. Whole numbers below 2^16 are displayed in full.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    kind: NumberKind,
    value: f64,
}

impl fmt::Display for Number {
    #[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "it was an f32")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use StorageType as T;
        let Self { kind, value } = *self;
        match (kind, kind.precision()) {
            (_, Some(precision)) => match Digits::of(value, precision) {
                Some(digits) => digits.fmt(f),
                None => write!(f, "{value:?}"),
            },
            (NumberKind::Plain(T::F32) | NumberKind::Fp8(_), _) => write!(f, "{:?}", value as f32),
            (NumberKind::Plain(T::F64) | NumberKind::Complex(_), _) => write!(f, "{value:?}"),
            (NumberKind::Plain(_), _) => write!(f, "{value}"),
        }
    }
}

impl Number {
    /// Writes the value to `out` in the form `style`. In JSON, NaN and the infinities are objects: `{"$float":"NaN"}`.
    fn write(self, out: &mut dyn Write, style: Style) -> io::Result<()> {
        match style {
            Style::Json if !self.value.is_finite() => {
                write!(out, "{{\"$float\":\"{}\"}}", name_of_not_finite(self.value))
            }
            _ => write!(out, "{self}"),
        }
    }
}

/// How to print a float as a decimal number of few digits: the value, the number of digits, and the power of ten.
struct Digits {
    value: f64,
    /// The number of digits after the first digit.
    more: i32,
    /// The power of ten by which the first digit is multiplied.
    exponent: i32,
}

impl Digits {
    /// Returns the shortest decimal number that is closer to `value` than to any other number with `fraction` fraction bits and
    /// the smallest normal exponent `least`. Returns `None` if `value` is a small whole number, not finite, or needs more
    /// digits.
    fn of(value: f64, (fraction, least): (i32, i32)) -> Option<Self> {
        // A relative error that is much larger than the rounding error of a product of two doubles, and much smaller than
        // half of the last digit.
        const ERROR: f64 = 1e-12;
        let size = value.abs();
        if !size.is_finite() || size == 0.0 || (size < 65536.0 && size.fract() == 0.0) {
            return None;
        }
        let exponent = i32::try_from(size.to_bits() >> 52).ok()?.saturating_sub(1023);
        let half = power_of_two(exponent.max(least).saturating_sub(fraction).saturating_sub(1));
        // The spacing of floats below a power of two is half of the spacing above it.
        let is_power = exponent > least && size.to_bits().trailing_zeros() >= 52;
        let low = size - if is_power { half / 2.0 } else { half };
        let between = low * (1.0 + ERROR)..(size + half) * (1.0 - ERROR);
        (0..5_u8).find_map(|more| {
            let text = format!("{size:.*e}", usize::from(more));
            let (digits, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            let whole = digits.bytes().filter(u8::is_ascii_digit);
            let whole = whole.fold(0.0, |sum, digit| sum * 10.0 + f64::from(digit & 15));
            let more = i32::from(more);
            let power = exponent.saturating_sub(more);
            let scale = 10_f64.powi(power.saturating_abs());
            let decimal = if power < 0 { whole / scale } else { whole * scale };
            let value = decimal.copysign(value);
            between.contains(&decimal).then_some(Self { value, more, exponent })
        })
    }
}

/// Returns 2 to the power of an exponent from −1022 to 1023.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(u64::from(exponent.saturating_add(1023).unsigned_abs()) << 52)
}

/// Writes the digits in the form that `Debug` gives a float.
impl fmt::Display for Digits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, more, exponent } = *self;
        let places = |places: i32| usize::try_from(places).unwrap_or_default();
        if (-4..16).contains(&exponent) {
            write!(f, "{value:.*}", places(more.saturating_sub(exponent).max(1)))
        } else {
            write!(f, "{value:.*e}", places(more))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString as _};

    use super::*;

    fn written(kind: NumberKind, bytes: &[u8], style: Style) -> String {
        let mut out = Vec::new();
        kind.write(&mut out, bytes, style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers() {
        let plain = |storage, bytes: &[u8]| written(NumberKind::Plain(storage), bytes, Style::Text);
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
        let kind = NumberKind::Complex(StorageType::F32);
        assert_eq!(written(kind, &bytes, Style::Text), "1.0-2.5j");
        assert_eq!(written(kind, &bytes, Style::Json), "[1.0,-2.5]");
        let bytes = [f32::NEG_INFINITY.to_le_bytes(), f32::NAN.to_le_bytes()].concat();
        assert_eq!(written(kind, &bytes, Style::Text), "-inf+NaNj");
        assert_eq!(
            written(kind, &bytes, Style::Json),
            r#"[{"$float":"-Infinity"},{"$float":"NaN"}]"#
        );
    }

    #[test]
    fn own_digits() {
        let f16 =
            |bits: u16| NumberKind::Plain(StorageType::F16).number(f16::from_bits(bits).into());
        let bf16 =
            |value: f64| NumberKind::Plain(StorageType::Bf16).number(bf16::from_f64(value).into());
        for (number, text) in [
            (f16(0x2e66), "0.1"),
            (f16(0xae66), "-0.1"),
            (f16(0x0001), "6e-8"),
            (f16(0x7bff), "65504.0"),
            (f16(0x3c01), "1.001"),
            (f16(0x8000), "-0.0"),
            (f16(0xfc00), "-inf"),
            (bf16(0.1), "0.1"),
            (bf16(1e-40), "9e-41"),
            (bf16(1e30), "1e30"),
            (bf16(1e6), "1000000.0"),
            (bf16(3.0e38), "3e38"),
            (bf16(257.0), "256.0"),
            (NumberKind::Fp8(Fp8::E4M3Fn).number(0.101_562_5), "0.1"),
            (NumberKind::Fp8(Fp8::E8M0).number(1024.0), "1024.0"),
            (NumberKind::Plain(StorageType::I8).number(-1.0), "-1"),
        ] {
            assert_eq!(number.to_string(), text);
        }
    }

    /// Checks, for every number of each narrow type, that its digits read back to it, and that fewer digits do not.
    #[test]
    #[expect(clippy::float_cmp, reason = "they are exact")]
    fn own_digits_read_back() {
        fn check(kind: NumberKind, numbers: impl Iterator<Item = f64>) {
            let finite = numbers.map(f64::abs).filter(|number| number.is_finite());
            let mut sorted: Vec<f64> = finite.collect();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            // The two numbers next to a decimal number, the nearest first, and whether the nearest is unique.
            let nearest = |decimal: f64| {
                let after = sorted.partition_point(|number| *number < decimal);
                let nearest = sorted.iter().skip(after.saturating_sub(1)).take(2);
                let mut nearest: Vec<_> =
                    nearest.map(|number| ((number - decimal).abs(), *number)).collect();
                nearest.sort_by(|one, other| one.0.total_cmp(&other.0));
                let is_alone = nearest.len() > 1 && nearest[0].0 < nearest[1].0;
                (nearest[0].1, is_alone)
            };
            for value in sorted.iter().copied() {
                let text = kind.number(-value).to_string();
                let read: f64 = text.parse().unwrap();
                assert_eq!(nearest(-read).0, value, "{kind:?} {text} {value}");
                let digits = text.split('e').next().unwrap().trim_start_matches(['-', '0', '.']);
                let digits = digits.trim_end_matches(".0").bytes().filter(u8::is_ascii_digit);
                if let Some(fewer) = digits.count().checked_sub(2).filter(|_| value.fract() != 0.0)
                {
                    let fewer: f64 = format!("{value:.fewer$e}").parse().unwrap();
                    assert_ne!(nearest(fewer), (value, true), "{kind:?} {text} {fewer}");
                }
            }
        }
        let halves = || (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f64());
        check(NumberKind::Plain(StorageType::F16), halves());
        let halves = || (0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f64());
        check(NumberKind::Plain(StorageType::Bf16), halves());
        for kind in [Fp8::E4M3Fn, Fp8::E5M2, Fp8::E4M3Fnuz, Fp8::E5M2Fnuz] {
            check(NumberKind::Fp8(kind), (0..=255).map(|code| kind.decode(code).into()));
        }
        check(NumberKind::Fp8(Fp8::E2M1), (0..16).map(|code| Fp8::E2M1.decode(code).into()));
    }
}
