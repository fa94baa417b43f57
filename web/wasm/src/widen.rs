//! Elements of any kind as `f64`.

use half::{bf16, f16};
use zten::tools::StorageType;

use crate::element::Kind;

/// Appends the little-endian elements in `bytes` to `out`: a complex one as its magnitude, a
/// bool as 0 or 1. Integers beyond 53 bits are rounded.
pub(crate) fn widen(kind: Kind, bytes: &[u8], out: &mut Vec<f64>) {
    use StorageType as T;
    match kind {
        Kind::Fp8(kind) => out.extend(bytes.iter().map(|code| f64::from(kind.decode(*code)))),
        Kind::Complex(part) => {
            let mut parts = Vec::new();
            widen(Kind::Plain(part), bytes, &mut parts);
            let (pairs, _) = parts.as_chunks::<2>();
            out.extend(pairs.iter().map(|[real, imaginary]| real.hypot(*imaginary)));
        }
        Kind::Plain(T::F64) => each(bytes, out, f64::from_le_bytes),
        Kind::Plain(T::F32) => each(bytes, out, |bytes| f32::from_le_bytes(bytes).into()),
        Kind::Plain(T::F16) => each(bytes, out, |bytes| f16::from_le_bytes(bytes).to_f64()),
        Kind::Plain(T::Bf16) => each(bytes, out, |bytes| bf16::from_le_bytes(bytes).to_f64()),
        Kind::Plain(T::I64) => each(bytes, out, |bytes| signed(i64::from_le_bytes(bytes))),
        Kind::Plain(T::I32) => each(bytes, out, |bytes| i32::from_le_bytes(bytes).into()),
        Kind::Plain(T::I16) => each(bytes, out, |bytes| i16::from_le_bytes(bytes).into()),
        Kind::Plain(T::I8) => each(bytes, out, |bytes| i8::from_le_bytes(bytes).into()),
        Kind::Plain(T::U64) => each(bytes, out, |bytes| unsigned(u64::from_le_bytes(bytes))),
        Kind::Plain(T::U32) => each(bytes, out, |bytes| u32::from_le_bytes(bytes).into()),
        Kind::Plain(T::U16) => each(bytes, out, |bytes| u16::from_le_bytes(bytes).into()),
        Kind::Plain(T::U8) => each(bytes, out, |[byte]| byte.into()),
        Kind::Plain(T::Bool) => each(bytes, out, |[byte]| f64::from(byte != 0)),
    }
}

fn each<const N: usize>(bytes: &[u8], out: &mut Vec<f64>, read: impl Fn([u8; N]) -> f64) {
    out.extend(bytes.as_chunks::<N>().0.iter().map(|bytes| read(*bytes)));
}

#[expect(clippy::cast_precision_loss, reason = "rounded to the nearest, as it says")]
pub(crate) fn signed(number: i64) -> f64 {
    number as f64
}

#[expect(clippy::cast_precision_loss, reason = "rounded to the nearest, as it says")]
pub(crate) fn unsigned(number: u64) -> f64 {
    number as f64
}
