//! Converting the values of GGUF metadata to CBOR.

use crate::cbor::Encoder;
use crate::formats::cbor::int;
use crate::formats::rules::Rule;

use super::input::{Input, Stop};

// The GGUF numbers of the types of metadata values.

pub(super) const U8: u32 = 0;
pub(super) const I8: u32 = 1;
pub(super) const U16: u32 = 2;
pub(super) const I16: u32 = 3;
pub(super) const U32: u32 = 4;
pub(super) const I32: u32 = 5;
pub(super) const F32: u32 = 6;
pub(super) const BOOL: u32 = 7;
pub(super) const STRING: u32 = 8;
pub(super) const ARRAY: u32 = 9;
pub(super) const U64: u32 = 10;
pub(super) const I64: u32 = 11;
pub(super) const F64: u32 = 12;

/// The largest nesting depth of arrays in a metadata value. An array of scalars has depth 1.
const DEPTH: usize = 16;

/// Reads the type of a metadata value and the value at `input`, and appends the value to `out` as CBOR. Elements of an array
/// are converted one by one, so a short file that claims a huge array costs neither memory nor time.
pub(super) fn copy(input: &mut Input<'_>, out: &mut Encoder) -> Result<(), Stop> {
    let mut kind = input.u32()?;
    // For each open array, the type of its elements and the number of elements that are still missing.
    let (mut open, mut depth) = ([(0, 0_u64); DEPTH], 0_usize);
    loop {
        if kind == ARRAY {
            let start = input.at();
            let (elements, length) = (input.u32()?, input.u64()?);
            let Some(slot) = open.get_mut(depth) else {
                let sentence = format_args!("arrays are nested more than {DEPTH} deep");
                return Err(Stop::at(Rule::GgufDepth, sentence, start));
            };
            if elements > F64 {
                return Err(unknown(elements, start));
            }
            out.array(length)?;
            *slot = (elements, length);
            depth = depth.saturating_add(1);
        } else {
            scalar(input, kind, out)?;
        }
        // The value may have been the last element of several arrays, so all complete arrays are closed before the next
        // value is read.
        kind = loop {
            let Some(last) = depth.checked_sub(1) else { return Ok(()) };
            match open.get_mut(last) {
                Some((elements, left)) if *left > 0 => {
                    *left = left.saturating_sub(1);
                    break *elements;
                }
                _ => depth = last,
            }
        };
    }
}

/// Reads a value whose type has the GGUF number `kind` and is not an array, and appends the value to `out` as CBOR.
fn scalar(input: &mut Input<'_>, kind: u32, out: &mut Encoder) -> Result<(), Stop> {
    let start = input.at();
    match kind {
        U8 => out.uint(u8::from_le_bytes(input.number()?).into()),
        I8 => int(out, i8::from_le_bytes(input.number()?).into()),
        U16 => out.uint(u16::from_le_bytes(input.number()?).into()),
        I16 => int(out, i16::from_le_bytes(input.number()?).into()),
        U32 => out.uint(input.u32()?.into()),
        I32 => int(out, i32::from_le_bytes(input.number()?).into()),
        U64 => out.uint(input.u64()?),
        I64 => int(out, i64::from_le_bytes(input.number()?)),
        F32 => out.float(widened(f32::from_le_bytes(input.number()?))),
        F64 => out.float(f64::from_le_bytes(input.number()?)),
        BOOL => match input.bytes()? {
            [value @ (0 | 1)] => out.bool(value == 1),
            [_] => {
                return Err(Stop::at(Rule::GgufBoolValue, "a bool is neither 0 nor 1", start));
            }
        },
        STRING => out.text(input.text("a string")?),
        _ => return Err(unknown(kind, start)),
    }?;
    Ok(())
}

/// Converts `value` to `f64`. A NaN keeps its sign and the bits of its fraction, followed by zeros: a plain conversion may
/// change them.
fn widened(value: f32) -> f64 {
    if !value.is_nan() {
        return value.into();
    }
    let bits = u64::from(value.to_bits());
    f64::from_bits(bits >> 31 << 63 | 0x7ff << 52 | (bits & 0x7f_ffff) << 29)
}

/// Returns the error for the unknown value type `kind` at the offset `at`.
fn unknown(kind: u32, at: u64) -> Stop {
    Stop::at(Rule::GgufValueType, format_args!("unknown value type {kind}"), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_nan_is_kept() {
        for bits in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff, 0x3f80_0000, 0xff80_0000] {
            let wide = widened(f32::from_bits(bits)).to_bits();
            // The sign and the first 23 bits of the fraction of the `f64` are equal to those of the `f32`.
            assert_eq!(
                (wide >> 63, wide >> 29 & 0x7f_ffff),
                ((bits >> 31).into(), (bits & 0x7f_ffff).into())
            );
            assert_eq!(f64::from_bits(wide).is_nan(), f32::from_bits(bits).is_nan(), "{bits:#x}");
        }
    }
}
