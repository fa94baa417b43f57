//! The hash that names are found by.

use crate::hash::Seeds;

/// Ordinals fit in 26 bits: an object takes 29 bytes at least, and a manifest has 2^30.
pub(super) const ORDINAL_BITS: u32 = 26;
/// The bits of an entry that are ordinal; those above are hash.
pub(super) const ORDINAL: u64 = (1 << ORDINAL_BITS) - 1;

/// Reads the name of an ordinal.
pub(super) trait Read<'m>: Fn(u32) -> &'m [u8] {}
impl<'m, F: Fn(u32) -> &'m [u8]> Read<'m> for F {}

/// A hash for spreading names, not for defence: equal hashes are settled by the names
/// themselves, in time that no choice of names makes worse than linear in their bytes.
#[inline]
pub(crate) fn hash(name: &[u8]) -> u64 {
    Seeds::KNOWN.hash(name) & !ORDINAL
}
