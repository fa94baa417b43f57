//! The four kinds of 8-bit floats: OCP 8-bit Floating Point Specification, and the `fnuz` kinds
//! of arXiv 2206.02915. Every value of theirs is an `f32`, so nothing is rounded.

use zten::LogicalType;

/// How the 8 bits are divided, and what is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fp8 {
    mantissa: u8,
    bias: i32,
    special: Special,
}

/// What the kinds do at their upper end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Special {
    /// As IEEE 754: the largest exponent is for infinities and NaN.
    Ieee,
    /// All ones is NaN; no infinity.
    Finite,
    /// Negative zero is NaN; no infinity.
    FiniteUnsignedZero,
}

impl Fp8 {
    /// The kind that a logical type is, if it is one.
    pub(crate) fn of(logical: LogicalType) -> Option<Self> {
        let (mantissa, bias, special) = match logical {
            LogicalType::F8E4M3Fn => (3, 7, Special::Finite),
            LogicalType::F8E5M2 => (2, 15, Special::Ieee),
            LogicalType::F8E4M3Fnuz => (3, 8, Special::FiniteUnsignedZero),
            LogicalType::F8E5M2Fnuz => (2, 16, Special::FiniteUnsignedZero),
            _ => return None,
        };
        Some(Self { mantissa, bias, special })
    }

    /// The value of a code.
    pub(crate) fn decode(self, code: u8) -> f32 {
        let magnitude = code & 0x7f;
        let exponent = i32::from(magnitude >> self.mantissa);
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        let positive = match self.special {
            Special::Ieee if magnitude == 0x7c => f32::INFINITY,
            Special::Ieee if magnitude > 0x7c => f32::NAN,
            Special::Finite if magnitude == 0x7f => f32::NAN,
            Special::FiniteUnsignedZero if code == 0x80 => f32::NAN,
            _ if exponent == 0 => self.scaled(fraction, 1),
            _ => self.scaled(fraction | 1 << self.mantissa, exponent),
        };
        if code & 0x80 == 0 { positive } else { -positive }
    }

    /// `digits` in units of the last place at that exponent.
    fn scaled(self, digits: u8, exponent: i32) -> f32 {
        let power = exponent - self.bias - i32::from(self.mantissa);
        // From 2^-18 to 2^13: powers of two that an f32 holds exactly.
        f32::from(digits) * 2_f32.powi(power)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(logical: LogicalType) -> Vec<f32> {
        let kind = Fp8::of(logical).unwrap();
        (0..=255).map(|code| kind.decode(code)).collect()
    }

    /// All codes of a kind: codes of ones and of the largest, of the least normal number and of
    /// the least, and which codes are not a number.
    fn known(logical: LogicalType, values: [(u8, f32); 4], nan: &[u8]) {
        let all = all(logical);
        for (code, value) in values {
            assert_eq!(all[usize::from(code)].to_bits(), value.to_bits(), "{logical:?} {code:#x}");
        }
        for code in 0..=255_u8 {
            assert_eq!(all[usize::from(code)].is_nan(), nan.contains(&code), "{code:#x}");
        }
        // Codes rise as values do, and the upper half mirrors the lower.
        for code in 1..0x80 {
            let (before, value) = (all[code - 1], all[code]);
            assert!(value > before || value.is_nan() || before.is_nan(), "{code:#x}");
            let mirrored = all[code + 0x80];
            assert!(
                mirrored.to_bits() == (-value).to_bits() || (mirrored.is_nan() && value.is_nan()),
                "{code:#x}"
            );
        }
        assert_eq!(all[0].to_bits(), 0);
    }

    #[test]
    fn e4m3fn() {
        let values = [(0x38, 1.0), (0x7e, 448.0), (0x08, 0.015_625), (0x01, 0.001_953_125)];
        known(LogicalType::F8E4M3Fn, values, &[0x7f, 0xff]);
        assert_eq!(all(LogicalType::F8E4M3Fn)[0x80].to_bits(), (-0.0_f32).to_bits());
    }

    #[test]
    fn e5m2() {
        let least = 1.0 / 65_536.0;
        let values = [(0x3c, 1.0), (0x7b, 57_344.0), (0x04, 4.0 * least), (0x01, least)];
        known(LogicalType::F8E5M2, values, &[0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff]);
        let infinity = |code: usize| all(LogicalType::F8E5M2)[code].is_infinite();
        assert!(infinity(0x7c) && infinity(0xfc));
    }

    #[test]
    fn e5m2_is_the_upper_half_of_an_f16() {
        let kind = Fp8::of(LogicalType::F8E5M2).unwrap();
        for code in 0..=255_u8 {
            let wide = half::f16::from_bits(u16::from(code) << 8).to_f32();
            let value = kind.decode(code);
            assert!(
                value.to_bits() == wide.to_bits() || (value.is_nan() && wide.is_nan()),
                "{code:#x}"
            );
        }
    }

    #[test]
    fn e4m3fnuz() {
        let values = [(0x40, 1.0), (0x7f, 240.0), (0x08, 0.007_812_5), (0x01, 0.000_976_562_5)];
        known(LogicalType::F8E4M3Fnuz, values, &[0x80]);
    }

    #[test]
    fn e5m2fnuz() {
        let least = 1.0 / 131_072.0;
        let values = [(0x40, 1.0), (0x7f, 57_344.0), (0x04, 4.0 * least), (0x01, least)];
        known(LogicalType::F8E5M2Fnuz, values, &[0x80]);
    }

    #[test]
    fn nothing_else_is_one() {
        assert_eq!(Fp8::of(LogicalType::Complex64), None);
    }
}
