//! Types, and elements that are valid for them: v2 §5.

use arbitrary::{Result, Unstructured};

/// What the elements of a part are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type {
    pub(super) dtype: &'static str,
    pub(super) logical: Option<&'static str>,
    /// Bits of each element.
    bits: usize,
}

const fn plain(dtype: &'static str, bits: usize) -> Type {
    Type { dtype, logical: None, bits }
}

const fn logical(dtype: &'static str, name: &'static str, bits: usize) -> Type {
    Type { dtype, logical: Some(name), bits }
}

pub(super) const U8: Type = plain("u8", 8);
pub(super) const F16: Type = plain("f16", 16);
pub(super) const U32: Type = plain("u32", 32);
pub(super) const U64: Type = plain("u64", 64);
pub(super) const E8M0: Type = logical("u8", "f8_e8m0", 8);

/// Of the elements of blocks with a scale.
pub(super) const BLOCKS: [Type; 4] = [
    logical("u8", "f4_e2m1", 4),
    logical("u8", "f8_e4m3fn", 8),
    logical("u8", "f8_e5m2", 8),
    plain("i8", 8),
];

/// Of all.
pub(super) const ALL: [Type; 21] = [
    plain("f64", 64),
    plain("f32", 32),
    F16,
    plain("bf16", 16),
    plain("i64", 64),
    plain("i32", 32),
    plain("i16", 16),
    plain("i8", 8),
    U64,
    U32,
    plain("u16", 16),
    U8,
    logical("u8", "bool", 8),
    logical("u8", "f8_e4m3fn", 8),
    logical("u8", "f8_e5m2", 8),
    logical("u8", "f8_e4m3fnuz", 8),
    logical("u8", "f8_e5m2fnuz", 8),
    E8M0,
    logical("u8", "f4_e2m1", 4),
    logical("f32", "complex64", 64),
    logical("f64", "complex128", 128),
];

impl Type {
    /// So many elements.
    pub(super) fn elements(self, u: &mut Unstructured<'_>, count: usize) -> Result<Vec<u8>> {
        let length = (count * self.bits).div_ceil(8);
        let mut bytes = vec![0; length];
        u.fill_buffer(&mut bytes)?;
        if self.logical == Some("bool") {
            for byte in &mut bytes {
                *byte &= 1;
            }
        }
        if !(count * self.bits).is_multiple_of(8)
            && let Some(last) = bytes.last_mut()
        {
            *last &= 0x0f;
        }
        Ok(bytes)
    }
}
