//! The parts of finite state entropy (FSE) that decoding and encoding share: RFC 8878 §4.1.

/// The base-2 logarithm of the number of states of the smallest table that can be described: RFC 8878 §4.1.1.
pub(crate) const SMALLEST_LOG: u32 = 5;
/// The number of states of the largest table: RFC 8878 §3.1.1.3.2.1.
pub(crate) const LARGEST: usize = 512;

/// Returns the symbol of each of `2^log` states. `shares` are the numbers of states of each symbol: §4.1.1. A share of −1
/// is a single state, for a symbol whose frequency is worth less than one.
pub(crate) fn spread(log: u32, shares: &[i16]) -> [u8; LARGEST] {
    let size = 1_usize.wrapping_shl(log);
    let mask = size.wrapping_sub(1);
    let mut owners = [0_u8; LARGEST];
    // Symbols with a share of −1 get the last states.
    let mut end = size;
    for (symbol, _) in (0..=u8::MAX).zip(shares).filter(|(_, share)| **share < 0) {
        end = end.wrapping_sub(1);
        if let Some(owner) = owners.get_mut(end) {
            *owner = symbol;
        }
    }
    let step = (size >> 1).wrapping_add(size >> 3).wrapping_add(3);
    let mut at = 0_usize;
    for (symbol, share) in (0..=u8::MAX).zip(shares) {
        for _ in 0..*share {
            if let Some(owner) = owners.get_mut(at) {
                *owner = symbol;
            }
            at = at.wrapping_add(step) & mask;
            while at >= end && end > 0 {
                at = at.wrapping_add(step) & mask;
            }
        }
    }
    owners
}

/// The encoding of a share while `left` states are left. Its values go up to `left + 1`, which do not need all numbers of
/// `bits` bits, so the lowest `saved` values take one bit less.
pub(crate) struct Telling {
    pub(crate) bits: u32,
    /// The value of the highest bit of a number of `bits` bits.
    pub(crate) half: u32,
    pub(crate) saved: u32,
}

impl Telling {
    pub(crate) fn new(left: u32) -> Self {
        let most = left.wrapping_add(1);
        let bits = u32::BITS.wrapping_sub(most.leading_zeros());
        let half = 1_u32.wrapping_shl(bits.wrapping_sub(1));
        let saved = half.wrapping_shl(1).wrapping_sub(1).wrapping_sub(most);
        Self { bits, half, saved }
    }
}
