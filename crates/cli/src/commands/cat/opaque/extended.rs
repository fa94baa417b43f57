//! Decimal text of numbers in the extended precision of x86: 64 bits of significand, 15 of exponent.

use std::cmp::Ordering;

/// The exponent field of infinities and NaN in the x86 extended-precision format.
const SPECIAL: u16 = 0x7fff;
/// The number to subtract from the exponent field to get the power of two of the last bit of the significand.
const BIAS: i32 = 16_383 + 63;
/// The highest bit of the 64-bit significand, in front of the binary point. Unlike `f64`, the x86 format stores this bit.
const LEADING: u64 = 1 << 63;

/// Returns the number in `bytes`, little-endian, in 10 bytes or padded to 12 or 16 bytes, with the fewest digits that distinguish
/// it from other numbers, in the notation of Rust's floats. Returns `None` for bytes that are no such number.
///
/// A long double of 16 bytes is a number of 113 bits on other machines, and the name of the type does not tell which. Such a
/// number has bits in the padding of x86, unless it is smaller than any normal number.
pub(super) fn shown(bytes: &[u8]) -> Option<String> {
    let (number, padding) = bytes.split_at_checked(10)?;
    if bytes.len() == 16 && padding.iter().any(|byte| *byte != 0) {
        return None;
    }
    let significand = u64::from_le_bytes(*number.first_chunk()?);
    let field = u16::from_le_bytes(*number.last_chunk()?);
    let (sign, exponent) = (if field > SPECIAL { "-" } else { "" }, field & SPECIAL);
    let is_normal = significand >= LEADING;
    match (exponent, significand) {
        (SPECIAL, LEADING) => return Some(format!("{sign}inf")),
        (SPECIAL, _) => return is_normal.then(|| "NaN".to_owned()),
        (0, 0) => return Some(format!("{sign}0.0")),
        (1.., _) if !is_normal => return None,
        _ => {}
    }
    let power = i32::from(exponent.max(1)).saturating_sub(BIAS);
    let (digits, point) = shortest(significand, power, significand == LEADING && exponent > 1);
    Some(format!("{sign}{}", decimal(&digits, point)))
}

/// Formats the number 0.DIGITS times ten to the power of `point`.
fn decimal(digits: &str, point: i32) -> String {
    let first = point.saturating_sub(1);
    if !(-5..16).contains(&first) {
        let (one, more) = digits.split_at(1);
        let point = if more.is_empty() { "" } else { "." };
        return format!("{one}{point}{more}e{first}");
    }
    let Ok(whole) = usize::try_from(point) else {
        let zeros = usize::try_from(point.unsigned_abs()).unwrap_or_default();
        return format!("0.{}{digits}", "0".repeat(zeros));
    };
    match digits.split_at_checked(whole) {
        Some((whole, fraction)) => {
            let whole = if whole.is_empty() { "0" } else { whole };
            let fraction = if fraction.is_empty() { "0" } else { fraction };
            format!("{whole}.{fraction}")
        }
        None => format!("{digits}{}.0", "0".repeat(whole.saturating_sub(digits.len()))),
    }
}

/// Returns the digits and the power of ten, as [`decimal`] takes them, of the shortest decimal number that is closer to
/// `significand` times two to `power` than to any other number. `is_least` says that the next smaller number is half as far
/// away as the next larger one.
///
/// This is the algorithm of Steele and White, as NumPy uses it.
fn shortest(significand: u64, power: i32, is_least: bool) -> (String, i32) {
    let is_even = significand.is_multiple_of(2);
    let [up, down] = [power, power.saturating_neg()]
        .map(|power| u32::try_from(power).unwrap_or_default().saturating_add(1));
    // The number is `rest / unit`. A decimal number that is less than `above / unit` larger or `below / unit` smaller is
    // closer to this number than to its neighbors.
    let (mut rest, mut unit) = (Big::new(significand), Big::new(1));
    let (mut above, mut below) = (Big::new(1), Big::new(1));
    let wider = u32::from(is_least);
    rest.shift(up.saturating_add(wider));
    unit.shift(down.saturating_add(wider));
    above.shift(up.saturating_sub(1).saturating_add(wider));
    below.shift(up.saturating_sub(1));
    let bits = power.saturating_add(64).saturating_sub_unsigned(significand.leading_zeros());
    // An estimate of the power of ten, which may be one too small. The next step corrects it.
    let mut point = floor_log10(bits.saturating_sub(1)).saturating_add(1);
    unit.scale(point);
    for big in [&mut rest, &mut above, &mut below] {
        big.scale(point.saturating_neg());
    }
    let reaches = |rest: &Big, above: &Big, unit: &Big| match rest.plus(above).compare(unit) {
        Ordering::Greater => true,
        Ordering::Equal => is_even,
        Ordering::Less => false,
    };
    if reaches(&rest, &above, &unit) {
        point = point.saturating_add(1);
        unit.multiply(10);
    }
    let mut digits = String::new();
    loop {
        for big in [&mut rest, &mut above, &mut below] {
            big.multiply(10);
        }
        let mut digit = 0_u8;
        while rest.compare(&unit) != Ordering::Less {
            rest.subtract(&unit);
            digit = digit.saturating_add(1);
        }
        let low = match rest.compare(&below) {
            Ordering::Less => true,
            Ordering::Equal => is_even,
            Ordering::Greater => false,
        };
        let high = reaches(&rest, &above, &unit);
        let goes_up = match (low, high) {
            (_, false) => false,
            (false, true) => true,
            (true, true) => rest.plus(&rest).compare(&unit) != Ordering::Less,
        };
        digits.push(char::from(b'0'.saturating_add(digit).saturating_add(goes_up.into())));
        if low || high {
            return (digits, point);
        }
    }
}

/// Returns the exponent of the largest power of ten that is at most two to the power of `bits`.
fn floor_log10(bits: i32) -> i32 {
    // The decimal logarithm of 2, in units of 2^-32. It is exact enough for 20,000 bits, and `shortest` corrects a result
    // that is one too small.
    const LOG: i64 = 1_292_913_986;
    i32::try_from((i64::from(bits).saturating_mul(LOG)) >> 32).unwrap_or_default()
}

/// A natural number of any size, as digits of 32 bits: the least significant digit first, without zero digits at the end.
#[derive(Clone, Debug)]
struct Big(Vec<u32>);

impl Big {
    fn new(number: u64) -> Self {
        let mut new = Self(vec![low(number), low(number >> 32)]);
        new.trim();
        new
    }

    fn trim(&mut self) {
        while self.0.pop_if(|last| *last == 0).is_some() {}
    }

    fn multiply(&mut self, factor: u32) {
        let mut carry = 0_u64;
        for limb in &mut self.0 {
            // A product of 32 bits each, and a carry, fit in 64 bits.
            carry = u64::from(*limb).saturating_mul(factor.into()).saturating_add(carry);
            *limb = low(carry);
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(low(carry));
        }
    }

    /// Multiplies the number by two to the power of `bits`.
    fn shift(&mut self, bits: u32) {
        self.multiply(1_u32.wrapping_shl(bits % 32));
        let limbs = usize::try_from(bits / 32).unwrap_or_default();
        self.0.splice(0..0, std::iter::repeat_n(0, limbs));
    }

    /// Multiplies the number by ten to the power of `power` if `power` is positive.
    fn scale(&mut self, power: i32) {
        let power = u32::try_from(power).unwrap_or_default();
        for _ in 0..power / 9 {
            self.multiply(1_000_000_000);
        }
        for _ in 0..power % 9 {
            self.multiply(10);
        }
    }

    fn plus(&self, other: &Self) -> Self {
        let length = self.0.len().max(other.0.len());
        let both = [self, other].map(|big| big.0.iter().copied().chain(std::iter::repeat(0)));
        let [one, other] = both;
        let (mut sum, mut carry) = (Vec::with_capacity(length.saturating_add(1)), 0_u64);
        for (one, other) in one.zip(other).take(length) {
            carry = u64::from(one).saturating_add(other.into()).saturating_add(carry);
            sum.push(low(carry));
            carry >>= 32;
        }
        sum.push(low(carry));
        let mut sum = Self(sum);
        sum.trim();
        sum
    }

    /// Subtracts `other`, which must not be larger than this number.
    fn subtract(&mut self, other: &Self) {
        let mut borrowed = false;
        let others = other.0.iter().copied().chain(std::iter::repeat(0));
        for (limb, other) in self.0.iter_mut().zip(others) {
            let (first, one) = limb.overflowing_sub(other);
            let (rest, another) = first.overflowing_sub(borrowed.into());
            *limb = rest;
            borrowed = one || another;
        }
        self.trim();
    }

    fn compare(&self, other: &Self) -> Ordering {
        let lengths = self.0.len().cmp(&other.0.len());
        lengths.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

/// Returns the low 32 bits of `number`.
fn low(number: u64) -> u32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(field: u16, significand: u64) -> Vec<u8> {
        [&significand.to_le_bytes()[..], &field.to_le_bytes(), &[0; 6]].concat()
    }

    #[test]
    fn digits() {
        for (field, significand, wanted) in [
            (0x3fff, LEADING, "1.0"),
            (0xbfff, LEADING, "-1.0"),
            (0x4000, 0xc000_0000_0000_0000, "3.0"),
            (0x3ffe, 0xc000_0000_0000_0000, "0.75"),
            // The number 0.1 in extended precision, and 0.1 in double precision, which is less exact, as an extended
            // number.
            (0x3ffb, 0xcccc_cccc_cccc_cccd, "0.1"),
            (0x3ffb, 0xcccc_cccc_cccc_d000, "0.10000000000000000555"),
            // Pi.
            (0x4000, 0xc90f_daa2_2168_c235, "3.1415926535897932385"),
            (0x4022, 0x9c40_0000_0000_0000, "41943040000.0"),
            (0x403f, LEADING, "1.8446744073709551616e19"),
            (0x4030, LEADING, "562949953421312.0"),
            // The largest number, the smallest normal number, and the smallest number above 0.
            (0x7ffe, u64::MAX, "1.189731495357231765e4932"),
            (1, LEADING, "3.3621031431120935063e-4932"),
            (0, 1, "4e-4951"),
            (0, 0, "0.0"),
            (0x8000, 0, "-0.0"),
            (0x7fff, LEADING, "inf"),
            (0xffff, LEADING, "-inf"),
            (0x7fff, u64::MAX, "NaN"),
        ] {
            let bytes = number(field, significand);
            for length in [10, 12, 16] {
                assert_eq!(shown(&bytes[..length]).as_deref(), Some(wanted));
            }
        }
        // No processor of today makes numbers without their leading bit.
        assert_eq!(shown(&number(0x3fff, 1)), None);
        assert_eq!(shown(&number(0x7fff, 0)), None);
        let mut padded = number(0x3fff, LEADING);
        padded[15] = 1;
        assert_eq!(shown(&padded), None);
        assert_eq!(shown(&padded[..12]).as_deref(), Some("1.0"));
    }

    /// Checks that the digits of a double in extended precision parse to the same double. Extended precision needs more
    /// digits than a double, because its numbers are closer together.
    #[test]
    fn doubles_are_read_back() {
        let mut rng = fastrand::Rng::with_seed(3);
        for _ in 0..2000 {
            let double = f64::from_bits(rng.u64(1 << 52..0x7ff << 52));
            let bits = double.to_bits();
            let field = u16::try_from(bits >> 52).unwrap() + (16_383 - 1023);
            let text = shown(&number(field, LEADING | bits << 11)).unwrap();
            assert_eq!(text.parse::<f64>().unwrap().to_bits(), bits, "{text}");
        }
    }
}
