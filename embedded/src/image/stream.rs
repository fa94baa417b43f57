//! Reads elements of components that cannot be borrowed.

use zten::{Component, DType, element::F8E4M3Fn, verify::Verified};

use super::failure::Failure;

/// Reads all of a component in chunks, and calls `take` with each element. The digest is known to match only when the function has
/// returned without an error. Fails if the elements are neither 8-bit floats (E4M3) nor `f32`, and, after all calls of `take`, if
/// the component has no digest that can be verified.
pub fn for_each(component: &Component<'_>, take: &mut dyn FnMut(f32)) -> Result<(), Failure> {
    let fp8 = match component.dtype() {
        DType::F8E4M3Fn => true,
        DType::F32 => false,
        _ => return Err(Failure::NotThatNetwork),
    };
    let mut reader = component.reader()?;
    while let Some(chunk) = reader.next_chunk()? {
        if fp8 {
            for byte in chunk {
                take(F8E4M3Fn::from_bits(*byte).to_f32());
            }
        } else {
            for bytes in chunk.as_chunks().0 {
                take(f32::from_le_bytes(*bytes));
            }
        }
    }
    match reader.verified() {
        Some(Verified::Digest) => Ok(()),
        _ => Err(Failure::Unverified),
    }
}
