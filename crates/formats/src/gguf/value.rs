//! A value of the metadata, as CBOR.

use zten::attributes::Encoder;

use crate::cbor::int;
use crate::cursor::Cursor;
use crate::rules::Rule;
use crate::trouble::Trouble;

/// Types of values.
const U8: u32 = 0;
const I8: u32 = 1;
const U16: u32 = 2;
const I16: u32 = 3;
pub(super) const U32: u32 = 4;
const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
const STRING: u32 = 8;
const ARRAY: u32 = 9;
const U64: u32 = 10;
const I64: u32 = 11;
const F64: u32 = 12;

/// The bits of the one NaN that the canonical form has.
const CANONICAL_NAN: u64 = 0x7ff8_0000_0000_0000;

/// Arrays within arrays, the outermost being the first.
const DEPTH: usize = 16;

/// Copies a value of that type, and says whether there is a NaN in it that is not the one of the
/// canonical form. An array is copied as far as there are elements: what it claims to have costs
/// nothing.
pub(super) fn copy(cursor: &mut Cursor<'_>, kind: u32, out: &mut Encoder) -> Result<bool, Trouble> {
    // The type and number of the elements that are still to come in each open array.
    let mut open: Vec<(u32, u64)> = Vec::new();
    let mut kind = kind;
    let mut other_nan = false;
    let mut scratch = Vec::new();
    loop {
        if kind == ARRAY {
            let start = cursor.at();
            let (elements, length) = (cursor.u32()?, cursor.u64()?);
            if open.len() >= DEPTH {
                let sentence = format!("arrays lie within each other more than {DEPTH} deep");
                return Err(Trouble::refused_at(Rule::GgufDepth, sentence, start));
            }
            if elements > F64 {
                return Err(unknown(elements, start));
            }
            out.array(length)?;
            open.push((elements, length));
        } else {
            other_nan |= scalar(cursor, kind, out, &mut scratch)?;
        }
        // Arrays that have all their elements are closed.
        while open.pop_if(|(_, left)| *left == 0).is_some() {}
        let Some((elements, left)) = open.last_mut() else {
            return Ok(other_nan);
        };
        *left = left.saturating_sub(1);
        kind = *elements;
    }
}

/// Copies a value that is no array.
fn scalar(
    cursor: &mut Cursor<'_>,
    kind: u32,
    out: &mut Encoder,
    scratch: &mut Vec<u8>,
) -> Result<bool, Trouble> {
    let start = cursor.at();
    match kind {
        U8 => out.uint(cursor.u8()?.into()),
        I8 => int(out, i8::from_le_bytes(cursor.bytes()?).into()),
        U16 => out.uint(cursor.u16()?.into()),
        I16 => int(out, i16::from_le_bytes(cursor.bytes()?).into()),
        U32 => out.uint(cursor.u32()?.into()),
        I32 => int(out, i32::from_le_bytes(cursor.bytes()?).into()),
        U64 => out.uint(cursor.u64()?),
        I64 => int(out, i64::from_le_bytes(cursor.bytes()?)),
        F32 => return float(widened(f32::from_le_bytes(cursor.bytes()?)), out),
        F64 => return float(f64::from_le_bytes(cursor.bytes()?), out),
        BOOL => match cursor.u8()? {
            value @ (0 | 1) => out.bool(value == 1),
            _ => {
                return Err(Trouble::refused_at(
                    Rule::GgufBoolValue,
                    "a bool is neither 0 nor 1",
                    start,
                ));
            }
        },
        STRING => {
            let length = cursor.u64()?;
            scratch.clear();
            cursor.append(length, scratch)?;
            // A string that is not UTF-8 is a byte string.
            match str::from_utf8(scratch) {
                Ok(text) => out.text(text),
                Err(_) => out.bytes(scratch),
            }
        }
        _ => return Err(unknown(kind, start)),
    }?;
    Ok(false)
}

/// The same number as an `f64`, a NaN with the same bits and zeros behind them.
fn widened(value: f32) -> f64 {
    if !value.is_nan() {
        return value.into();
    }
    let bits = u64::from(value.to_bits());
    f64::from_bits(bits >> 31 << 63 | 0x7ff << 52 | (bits & 0x7f_ffff) << 29)
}

/// Copies a float, and says whether it is a NaN that the canonical form does not have.
fn float(value: f64, out: &mut Encoder) -> Result<bool, Trouble> {
    out.float(value)?;
    Ok(value.is_nan() && value.to_bits() != CANONICAL_NAN)
}

fn unknown(kind: u32, at: u64) -> Trouble {
    Trouble::refused_at(Rule::GgufValueType, format!("the type {kind} of a value is not known"), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_nan_is_kept() {
        for bits in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff, 0x3f80_0000, 0xff80_0000] {
            let wide = widened(f32::from_bits(bits)).to_bits();
            // Sign, the end of the exponent, and the fraction are those of the narrower one.
            assert_eq!(
                (wide >> 63, wide >> 29 & 0x7f_ffff),
                ((bits >> 31).into(), (bits & 0x7f_ffff).into())
            );
            assert_eq!(f64::from_bits(wide).is_nan(), f32::from_bits(bits).is_nan(), "{bits:#x}");
        }
    }
}
