//! Floats of one type as those of another, rounded once: to the nearest, of two that are as near to the even one.

use std::cell::Cell;
use std::fmt;
use std::io;

use zten::half::{bf16, f16};
use zten::{DType, Layout, Tensor};

use crate::args::Float;

impl Float {
    pub(crate) const ALL: [Self; 4] = [Self::F16, Self::Bf16, Self::F32, Self::F64];

    /// The type of the elements of a dense tensor, if they are floats.
    pub(crate) fn of(object: &Tensor<'_>) -> Option<Self> {
        let data = object.component("data").filter(|_| object.layout() == Layout::Dense)?;
        Self::ALL.into_iter().find(|own| own.dtype() == data.dtype())
    }

    pub(crate) fn dtype(self) -> DType {
        match self {
            Self::F16 => DType::F16,
            Self::Bf16 => DType::BF16,
            Self::F32 => DType::F32,
            Self::F64 => DType::F64,
        }
    }

    /// Bits of the exponent and of the fraction.
    fn bits(self) -> (u32, u32) {
        match self {
            Self::F16 => (5, 10),
            Self::Bf16 => (8, 7),
            Self::F32 => (8, 23),
            Self::F64 => (11, 52),
        }
    }

    fn width(self) -> usize {
        match self {
            Self::F16 | Self::Bf16 => 2,
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// The element of those little-endian bytes, which every `f64` can hold exactly.
    fn read(self, bytes: &[u8]) -> f64 {
        let mut all = [0; 8];
        all.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        let [a, b, c, d, ..] = all;
        match self {
            Self::F16 => f16::from_le_bytes([a, b]).to_f64(),
            Self::Bf16 => bf16::from_le_bytes([a, b]).to_f64(),
            Self::F32 => f32::from_le_bytes([a, b, c, d]).into(),
            Self::F64 => f64::from_le_bytes(all),
        }
    }

    /// The bits of the nearest number; infinity where that is beyond the largest. Of NaN the sign and the first bits of the
    /// payload are kept.
    ///
    /// The conversions of `half` are not used: they may look at the first 32 bits of a double alone, and see a tie where
    /// there is none.
    fn nearest(self, value: f64) -> u64 {
        let (exponent, fraction) = self.bits();
        let mask = |bits: u32| (1_u64 << bits) - 1;
        let (bits, infinity) = (value.to_bits(), mask(exponent) << fraction);
        let dropped = 52 - fraction;
        let sign = bits >> 63 << (exponent + fraction);
        let (own, own_fraction) = (bits >> 52 & 0x7ff, bits & mask(52));
        if value.is_nan() {
            return sign | infinity | 1 << (fraction - 1) | own_fraction >> dropped;
        }
        if self == Self::F64 {
            return bits;
        }
        if value.is_infinite() {
            return sign | infinity;
        }
        // The exponent in the bias of the result, or how far below its least one it is.
        let offset = 1023 - mask(exponent - 1);
        let (biased, below) = match own.checked_sub(offset) {
            Some(biased @ 1..) => (biased, 0),
            _ => (1, offset + 1 - own),
        };
        let significand = if own == 0 { own_fraction } else { own_fraction | 1 << 52 };
        let shift = (u64::from(dropped) + below).min(63);
        let (kept, rest) = (significand >> shift, significand & ((1 << shift) - 1));
        let half = 1 << (shift - 1);
        let up = rest > half || rest == half && kept & 1 == 1;
        // The bit in front of the fraction, where there is one, adds 1 to the exponent; so does a fraction that overflows.
        let magnitude = ((biased - 1) << fraction) + kept + u64::from(up);
        sign | magnitude.min(infinity)
    }

    /// The bits of the nearest number. A finite number beyond the largest becomes that if `saturates`.
    ///
    /// # Errors
    /// The number is beyond the largest, and is noted.
    fn rounded(
        self,
        value: f64,
        (saturates, overflow): (bool, &Cell<Option<f64>>),
    ) -> io::Result<u64> {
        let bits = self.nearest(value);
        if !self.is_infinite(bits) || !value.is_finite() {
            return Ok(bits);
        }
        if !saturates {
            overflow.set(Some(value));
            return Err(io::Error::other("overflow"));
        }
        // The number below infinity is the largest one.
        Ok(bits - 1)
    }

    /// Appends the nearest numbers to `out`, as [`rounded`](Self::rounded) does.
    ///
    /// # Errors
    /// A number is beyond the largest, and is noted.
    pub(crate) fn append(
        self,
        values: &[f64],
        out: &mut Vec<u8>,
        beyond: (bool, &Cell<Option<f64>>),
    ) -> io::Result<()> {
        let bytes = values.len().saturating_mul(self.width());
        out.try_reserve(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        for value in values {
            let bits = self.rounded(*value, beyond)?.to_le_bytes();
            out.extend_from_slice(bits.get(..self.width()).unwrap_or_default());
        }
        Ok(())
    }

    /// Returns whether those bits are infinite.
    fn is_infinite(self, bits: u64) -> bool {
        let (exponent, fraction) = self.bits();
        bits & ((1 << (exponent + fraction)) - 1) == ((1 << exponent) - 1) << fraction
    }
}

/// A conversion of elements.
#[derive(Clone, Copy)]
pub(crate) struct Cast<'a> {
    from: Float,
    to: Float,
    /// True if what is beyond the largest number becomes that.
    saturates: bool,
    overflow: &'a Cell<Option<f64>>,
}

/// Elements that are converted in one go.
const PIECE: usize = 512;

impl<'a> Cast<'a> {
    /// The place of the conversion of a tensor among those from each type: it is dense, and of another type of floats.
    pub(crate) fn of(object: &Tensor<'_>, all: &[Self; 4]) -> Option<usize> {
        let own = Float::of(object)?;
        all.iter().position(|cast| cast.from == own && cast.from != cast.to)
    }

    /// Returns the conversions from each type, which note the first number that overflows.
    pub(crate) fn all(to: Float, saturates: bool, overflow: &'a Cell<Option<f64>>) -> [Self; 4] {
        Float::ALL.map(|from| Self { from, to, saturates, overflow })
    }

    /// Hands on what the elements of a chunk become, of which it holds whole ones.
    ///
    /// # Errors
    /// The error of `take`; an error where a number is beyond the largest of the type, which is then noted.
    pub(crate) fn chunk<E: From<io::Error>>(
        &self,
        chunk: &[u8],
        take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let width = self.to.width();
        let mut out = [0; PIECE * 8];
        for piece in chunk.chunks(self.from.width() * PIECE) {
            let elements = piece.chunks_exact(self.from.width());
            let (out, _) = out.split_at_mut(elements.len() * width);
            for (to, from) in out.chunks_exact_mut(width).zip(elements) {
                let value = self.from.read(from);
                let bits = self.to.rounded(value, (self.saturates, self.overflow))?;
                to.iter_mut().zip(bits.to_le_bytes()).for_each(|(to, from)| *to = from);
            }
            take(out)?;
        }
        Ok(())
    }
}

/// Says what is beyond the largest number of a type.
pub(crate) fn overflow(value: f64, to: impl fmt::Display) -> String {
    format!("{value:?} exceeds the largest {to}; --saturate replaces it by that")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All bits of a type in the order of their numbers, without the sign.
    fn value(to: Float, bits: u64) -> f64 {
        to.read(&bits.to_le_bytes())
    }

    /// Every half, and what lies just beside each tie between two.
    #[test]
    fn ties_go_to_the_even_number_and_all_else_to_the_nearest() {
        for to in [Float::F16, Float::Bf16] {
            let (exponent, fraction) = to.bits();
            let infinity = ((1_u64 << exponent) - 1) << fraction;
            for bits in 0..infinity {
                let (low, sign) = (value(to, bits), 1 << 15);
                assert_eq!(to.nearest(low), bits);
                assert_eq!(to.nearest(-low), bits | sign);
                // What would be next, if there were no largest number.
                let high = if bits + 1 == infinity {
                    low + (low - value(to, bits - 1))
                } else {
                    value(to, bits + 1)
                };
                let tie = f64::midpoint(low, high);
                let (below, above) = (tie.next_down(), tie.next_up());
                assert_eq!(to.nearest(below), bits, "{to:?} {bits:x}");
                assert_eq!(to.nearest(tie), bits + (bits & 1), "{to:?} {bits:x}");
                assert_eq!(to.nearest(above), bits + 1, "{to:?} {bits:x}");
            }
            assert_eq!(to.nearest(f64::MAX), infinity);
            assert_eq!(to.nearest(f64::NEG_INFINITY), infinity | 1 << 15);
            assert_eq!(to.nearest(5e-324), 0);
            assert_eq!(to.nearest(-0.0), 1 << 15);
        }
    }

    /// The hardware rounds the same way.
    #[test]
    fn singles_are_those_of_the_machine() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..1 << 20 {
            let double = f64::from_bits(rng.u64(..));
            let near = f64::from(f32::from_bits(rng.u32(..)));
            let nearby = f64::from_bits(near.to_bits() ^ rng.u64(..1 << 30));
            for value in [double, near, nearby] {
                #[expect(clippy::cast_possible_truncation, reason = "it is what is compared")]
                let wanted = value as f32;
                let own = f32::from_bits(u32::try_from(Float::F32.nearest(value)).unwrap());
                let same = own.to_bits() == wanted.to_bits();
                assert!(same || own.is_nan() && wanted.is_nan(), "{value:?}");
                assert!(Float::F64.nearest(value) == value.to_bits() || value.is_nan());
            }
        }
    }

    /// Twice rounded, it would be another number.
    #[test]
    fn nothing_is_rounded_twice() {
        let value = 1.0 + 2_f64.powi(-11) + 2_f64.powi(-40);
        assert_eq!(Float::F16.nearest(value), 0x3c01);
        #[expect(clippy::cast_possible_truncation, reason = "it is what is compared")]
        let twice = Float::F16.nearest((value as f32).into());
        assert_eq!(twice, 0x3c00);
    }

    fn cast(from: Float, to: Float, saturates: bool, bytes: &[u8]) -> (Vec<u8>, Option<f64>) {
        let (overflow, mut out) = (Cell::new(None), Vec::new());
        let cast = Cast { from, to, saturates, overflow: &overflow };
        let cast = cast.chunk::<io::Error>(bytes, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        });
        assert_eq!(cast.is_err(), overflow.get().is_some());
        (out, overflow.get())
    }

    #[test]
    fn what_is_beyond_the_largest_is_noted_or_becomes_it() {
        let values = [1.0_f32, 65_519.9, 65_520.0, f32::INFINITY, -1e30];
        let bytes: Vec<u8> = values.into_iter().flat_map(f32::to_le_bytes).collect();
        assert_eq!(cast(Float::F32, Float::F16, false, &bytes).1, Some(65_520.0));
        let (out, none) = cast(Float::F32, Float::F16, true, &bytes);
        assert_eq!(none, None);
        let halves: Vec<_> =
            out.chunks(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
        assert_eq!(halves, [0x3c00, 0x7bff, 0x7bff, 0x7c00, 0xfbff]);
    }

    #[test]
    fn there_and_back_is_the_same_for_every_half() {
        for from in [Float::F16, Float::Bf16] {
            let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
            for through in [Float::F32, Float::F64] {
                let (wide, _) = cast(from, through, false, &all);
                let (again, _) = cast(through, from, false, &wide);
                for (one, other) in all.chunks(2).zip(again.chunks(2)) {
                    let nan = from.read(one).is_nan() && from.read(other).is_nan();
                    assert!(one == other || nan, "{one:?} {other:?}");
                }
            }
        }
    }
}
