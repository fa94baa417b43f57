//! Elements out of bytes that are not borrowed.

use zten::{
    Component, ElementType, Limits, LogicalType, ReadAt, StorageType, element::F8E4M3Fn,
    verify::Verified,
};

use crate::failure::Failure;
use crate::network::NotThatNetwork;

/// Reads all of a component in chunks and hands its elements to `take`. Only at the end it is
/// known whether they had the digest.
pub fn each<R: ReadAt>(
    component: &Component<'_>,
    source: R,
    limits: &Limits,
    take: &mut dyn FnMut(f32),
) -> Result<(), Failure>
where
    Failure: From<R::Error>,
{
    let fp8 = match component.element_type() {
        ElementType::Logical(LogicalType::F8E4M3Fn) => true,
        ElementType::Plain(StorageType::F32) => false,
        _ => return Err(NotThatNetwork.into()),
    };
    let mut content = component.content(source, limits)?;
    while let Some(chunk) = content.next_chunk()? {
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
    match content.verified() {
        Some(Verified::Digest) => Ok(()),
        _ => Err(Failure::Unverified),
    }
}
