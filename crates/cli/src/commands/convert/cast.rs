//! Conversion between floating-point types, rounded once: to the nearest number, ties to even.

use std::cell::Cell;
use std::fmt;
use std::io;

use zten::half::{bf16, f16};
use zten::{Layout, Tensor};

use crate::args::Float;

impl Float {
    /// Returns the type of the elements of a dense tensor, or `None` if the tensor is not dense or its elements are not floats.
    pub(crate) fn of(object: &Tensor<'_>) -> Option<Self> {
        let data = object.component("data").filter(|_| object.layout() == Layout::Dense)?;
        Self::ALL.into_iter().find(|own| own.dtype() == data.dtype())
    }

    /// Returns the number of bits of the exponent and of the fraction.
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

    /// Returns the element in the little-endian `bytes`. An `f64` holds every number of the four types exactly.
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

    /// Returns the bits of the number of this type that is nearest to `value`, and of two nearest numbers the even one;
    /// infinity if `value` rounds beyond the largest number. A NaN keeps its sign and the high bits of its payload, and becomes
    /// quiet.
    ///
    /// The conversions of `half` are not used: some look only at the high 32 bits of a double, and round a number just beside
    /// a tie as if it were a tie.
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
        // `biased` is the exponent with the bias of the result. A subnormal result has the exponent 1, and `below` is the
        // distance below 1.
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
        // The implicit bit of a normal number adds 1 to the exponent field, and so does a fraction that overflows by rounding.
        let magnitude = ((biased - 1) << fraction) + kept + u64::from(up);
        sign | magnitude.min(infinity)
    }

    /// Returns the bits of the number of this type that is nearest to `value`. Infinities stay infinities.
    ///
    /// # Errors
    /// The value is out of range and does not saturate, as `beyond` says. `beyond` then holds the value.
    fn rounded(self, value: f64, beyond: Beyond<'_>) -> io::Result<u64> {
        let bits = self.nearest(value);
        if !self.is_infinite(bits) || !value.is_finite() {
            return Ok(bits);
        }
        if !beyond.saturates {
            beyond.value.set(Some(value));
            return Err(io::Error::other("overflow"));
        }
        // The bits below those of infinity are the largest number.
        Ok(bits - 1)
    }

    /// Rounds `values` to this type, and appends their bytes to `out`.
    ///
    /// # Errors
    /// A value is out of range and does not saturate, as `beyond` says, or memory runs out.
    pub(crate) fn append(
        self,
        values: &[f64],
        out: &mut Vec<u8>,
        beyond: Beyond<'_>,
    ) -> io::Result<()> {
        let bytes = values.len().saturating_mul(self.width());
        out.try_reserve(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        for value in values {
            let bits = self.rounded(*value, beyond)?.to_le_bytes();
            out.extend_from_slice(bits.get(..self.width()).unwrap_or_default());
        }
        Ok(())
    }

    /// Returns whether `bits` of this type are an infinity.
    fn is_infinite(self, bits: u64) -> bool {
        let (exponent, fraction) = self.bits();
        bits & ((1 << (exponent + fraction)) - 1) == ((1 << exponent) - 1) << fraction
    }
}

/// What a conversion does with a finite value that is out of range: it rounds to more than the largest finite number of the new
/// type, or to less than the negative of that number.
#[derive(Clone, Copy)]
pub(crate) struct Beyond<'a> {
    /// True if the value becomes the largest number or its negative (`--saturate`). If false, the conversion fails.
    pub(crate) saturates: bool,
    /// The value at which the conversion failed, for the message; `None` if no value was out of range.
    pub(crate) value: &'a Cell<Option<f64>>,
}

/// A conversion of elements from one floating-point type to another.
#[derive(Clone, Copy)]
pub(crate) struct Cast<'a> {
    from: Float,
    to: Float,
    beyond: Beyond<'a>,
}

/// The number of elements that are converted at a time.
const PIECE: usize = 512;

impl<'a> Cast<'a> {
    /// Returns the index in `all` of the conversion that the elements of `object` need. Returns `None` if the object is not
    /// dense, its elements are not floats, or they have the target type already.
    pub(crate) fn of(object: &Tensor<'_>, all: &[Self; 4]) -> Option<usize> {
        let own = Float::of(object)?;
        all.iter().position(|cast| cast.from == own && cast.from != cast.to)
    }

    /// Returns a conversion to `to` from each type.
    pub(crate) fn all(to: Float, beyond: Beyond<'a>) -> [Self; 4] {
        Float::ALL.map(|from| Self { from, to, beyond })
    }

    /// Converts the elements in `chunk`, which holds a whole number of elements, and passes the bytes to `take` in pieces.
    ///
    /// # Errors
    /// The errors of `take`, or a value is out of range and does not saturate.
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
                let bits = self.to.rounded(value, self.beyond)?;
                to.iter_mut().zip(bits.to_le_bytes()).for_each(|(to, from)| *to = from);
            }
            take(out)?;
        }
        Ok(())
    }
}

/// Returns the message for a `value` outside the range of the type `to`.
pub(crate) fn overflow(value: f64, to: impl fmt::Display) -> String {
    format!(
        "{value:?} is outside the range of {to} (--saturate writes the nearest number in the range)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of type `to` that has the given bits.
    fn value(to: Float, bits: u64) -> f64 {
        to.read(&bits.to_le_bytes())
    }

    /// Checks every finite number of the 16-bit types, and the ties between neighbors with the doubles just beside each tie.
    #[test]
    fn ties_go_to_the_even_number_and_all_else_to_the_nearest() {
        for to in [Float::F16, Float::Bf16] {
            let (exponent, fraction) = to.bits();
            let infinity = ((1_u64 << exponent) - 1) << fraction;
            for bits in 0..infinity {
                let (low, sign) = (value(to, bits), 1 << 15);
                assert_eq!(to.nearest(low), bits);
                assert_eq!(to.nearest(-low), bits | sign);
                // Above the largest number, the neighbor that the type would have with a larger exponent.
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

    /// Compares conversions to `f32` with those of the hardware.
    #[test]
    fn singles_are_rounded_as_by_the_hardware() {
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

    /// Converts a number that would become another one if it were first rounded to `f32`.
    #[test]
    fn numbers_are_rounded_once() {
        let value = 1.0 + 2_f64.powi(-11) + 2_f64.powi(-40);
        assert_eq!(Float::F16.nearest(value), 0x3c01);
        #[expect(clippy::cast_possible_truncation, reason = "it is what is compared")]
        let twice = Float::F16.nearest((value as f32).into());
        assert_eq!(twice, 0x3c00);
    }

    fn cast(from: Float, to: Float, saturates: bool, bytes: &[u8]) -> (Vec<u8>, Option<f64>) {
        let (overflow, mut out) = (Cell::new(None), Vec::new());
        let cast = Cast { from, to, beyond: Beyond { saturates, value: &overflow } };
        let cast = cast.chunk::<io::Error>(bytes, &mut |bytes| {
            out.extend_from_slice(bytes);
            Ok(())
        });
        assert_eq!(cast.is_err(), overflow.get().is_some());
        (out, overflow.get())
    }

    #[test]
    fn numbers_beyond_the_largest_are_noted_or_saturate() {
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
    fn converting_to_a_wider_type_and_back_changes_no_number() {
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
