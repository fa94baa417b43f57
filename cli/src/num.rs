//! Conversions of numbers that lose nothing.

/// A number of bytes or elements in memory.
pub(crate) fn u64_from_usize(number: usize) -> u64 {
    // No address space is wider than 64 bits.
    u64::try_from(number).unwrap_or(u64::MAX)
}
