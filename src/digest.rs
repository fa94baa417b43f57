//! The form of digests over stored bytes (in 2, over decoded bytes): v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4.

mod hasher;

pub(crate) use hasher::{Hasher, Sum};
pub use hasher::{Mismatch, Verified};

use crate::debug_summary::Start;

/// A digest of a component's stored bytes (in 2, of its decoded bytes), as the manifest gives it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Digest<'m> {
    /// SHA-256.
    Sha256([u8; 32]),
    /// CRC-32C (Castagnoli).
    Crc32c(u32),
    /// XXH3-64 with seed 0 (2 only).
    Xxh3(u64),
    /// The whole text of a digest of an unknown algorithm, which cannot be verified.
    Unverifiable(&'m str),
}

impl core::fmt::Debug for Digest<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Sha256(sum) => f.debug_tuple("Sha256").field(sum).finish(),
            Self::Crc32c(sum) => f.debug_tuple("Crc32c").field(sum).finish(),
            Self::Xxh3(sum) => f.debug_tuple("Xxh3").field(sum).finish(),
            Self::Unverifiable(text) => f.debug_tuple("Unverifiable").field(&Start(text)).finish(),
        }
    }
}

impl core::fmt::Display for Digest<'_> {
    /// Writes the digest as a manifest spells it, in lower-case digits: `sha256:8f4a…`. A digest of an unknown
    /// algorithm is written as the text of the file, whatever characters the text has.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if let Self::Unverifiable(text) = self {
            return f.write_str(text);
        }
        let (sum, length) = self.sum();
        write!(f, "{}:", self.algorithm())?;
        sum.iter().take(length).try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl<'m> Digest<'m> {
    /// Returns the bytes of the digest, followed by zeros up to a length of 32 bytes, and the number of bytes that belong to the
    /// digest: 0 for an unknown algorithm.
    pub(crate) fn sum(&self) -> ([u8; 32], usize) {
        fn padded<const N: usize>(sum: [u8; N]) -> ([u8; 32], usize) {
            let mut bytes = [0; 32];
            bytes.iter_mut().zip(sum).for_each(|(to, from)| *to = from);
            (bytes, N)
        }
        match self {
            Self::Sha256(sum) => (*sum, 32),
            Self::Crc32c(sum) => padded(sum.to_be_bytes()),
            Self::Xxh3(sum) => padded(sum.to_be_bytes()),
            Self::Unverifiable(_) => padded([]),
        }
    }

    /// Returns the first four bytes of the digest as a big-endian number; 0 for an unknown algorithm.
    pub(crate) fn head(&self) -> u32 {
        let ([a, b, c, d, ..], _) = self.sum();
        u32::from_be_bytes([a, b, c, d])
    }

    /// Reads a digest of a 1.x file; returns `None` if the digest is malformed.
    pub(crate) fn read_v1(text: &'m str) -> Option<Self> {
        let is_named = text.find(':').is_some_and(|colon| colon > 0);
        Self::known_or(text, is_named.then_some(Self::Unverifiable(text)))
    }

    /// Reads a checksum of a 0.1 file. 0.1 does not define the form of other algorithms than SHA-256 and CRC-32C, so any other text
    /// is an unverifiable digest. Returns `None` if the digits of one of these two are malformed.
    pub(crate) fn read_v0(text: &'m str) -> Option<Self> {
        Self::known_or(text, Some(Self::Unverifiable(text)))
    }

    /// Reads a digest of a file of 2: the algorithm in lower-case letters and digits, a colon, and lower-case
    /// hexadecimal digits: v2 §3.4. Returns `None` if the text is malformed. A `crc32c` is unverifiable in 2.
    pub(crate) fn read_v2(text: &'m str) -> Option<Self> {
        let (algorithm, digits) = text.split_once(':')?;
        let named = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
        let lower = |byte: u8| matches!(byte, b'a'..=b'f' | b'0'..=b'9');
        let formed = !algorithm.is_empty() && algorithm.bytes().all(named);
        if !formed || digits.is_empty() || !digits.bytes().all(lower) {
            return None;
        }
        match algorithm {
            "xxh3" => bytes(digits).map(|sum| Self::Xxh3(u64::from_be_bytes(sum))),
            "sha256" => bytes(digits).map(Self::Sha256),
            _ => Some(Self::Unverifiable(text)),
        }
    }

    /// Returns whether `text` is a well-formed XXH3 digest of generation 2: `xxh3:` and 16 lower-case hexadecimal digits. Faster
    /// than [`read_v2`](Self::read_v2).
    #[inline]
    pub(crate) fn is_known_v2(text: &[u8]) -> bool {
        let Ok(text) = <&[u8; 21]>::try_from(text) else { return false };
        let (algorithm, digits) = text.split_at(5);
        algorithm == b"xxh3:" && all_digits::<LOWER>(digits)
    }

    /// Returns whether `text` is a well-formed digest by SHA-256 or CRC-32C, the algorithms of 1.x. Faster than
    /// [`read_v1`](Self::read_v1).
    #[inline]
    pub(crate) fn is_known(text: &[u8]) -> bool {
        match text.split_first_chunk::<7>() {
            Some((b"sha256:", digits)) => digits.len() == 64 && all_digits::<ANY>(digits),
            Some((b"crc32c:", digits)) => {
                let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
                digits.len() == 8 && all_digits::<ANY>(digits)
            }
            _ => false,
        }
    }

    /// Reads `text` as a digest by SHA-256 or CRC-32C, the algorithms of 1.x, and returns `None` if its digits are malformed.
    /// Returns `other` if `text` does not begin with the name of one of these algorithms and a colon.
    fn known_or(text: &'m str, other: Option<Self>) -> Option<Self> {
        if let Some(digits) = text.strip_prefix("sha256:") {
            return bytes(digits).map(Self::Sha256);
        }
        let Some(digits) = text.strip_prefix("crc32c:") else { return other };
        let digits = digits.strip_prefix("0x").unwrap_or(digits);
        bytes(digits).map(|bytes| Self::Crc32c(u32::from_be_bytes(bytes)))
    }

    /// Returns the name of the algorithm: `sha256`, `crc32c`, `xxh3`, or for an unknown algorithm the text before the colon.
    pub fn algorithm(&self) -> &'m str {
        match self {
            Self::Sha256(_) => "sha256",
            Self::Crc32c(_) => "crc32c",
            Self::Xxh3(_) => "xxh3",
            Self::Unverifiable(text) => text.split_once(':').map_or(text, |(name, _)| name),
        }
    }
}

/// Reads exactly `2 × N` hexadecimal digits of either case. Returns `None` for any other text.
#[inline]
fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else {
        return None;
    };
    if pairs.len() != N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let [high, low] = [*high, *low].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? << 4 | low?).ok()?;
    }
    Some(bytes)
}

/// The value of `CASE` with which [`all_digits`] accepts letters of both cases: the bit that makes a letter lower-case.
const ANY: u8 = 0x20;
/// The value of `CASE` with which [`all_digits`] accepts lower-case letters only: no bit is changed.
const LOWER: u8 = 0;

/// Returns whether all of `bytes` are hexadecimal digits. `CASE` holds the bits that are set in a letter before it is compared
/// with `a` to `f`. The loop has no branch, so that the compiler checks many bytes at once.
#[inline]
fn all_digits<const CASE: u8>(bytes: &[u8]) -> bool {
    let wrong = bytes.iter().fold(0, |wrong, byte| {
        let decimal = byte.wrapping_sub(b'0') < 10;
        let letter = (byte | CASE).wrapping_sub(b'a') < 6;
        wrong | u8::from(!decimal) & u8::from(!letter)
    });
    wrong == 0
}

/// The text of a digest in a manifest: `sha256:8f4a…` in lower-case digits; `crc32c:0x8F4A…` in
/// upper-case ones, as the reference writers spell it.
pub(crate) struct DigestText {
    text: [u8; Self::MOST],
    length: usize,
}

impl DigestText {
    /// The length in bytes of the longest text, which is that of a SHA-256 digest.
    const MOST: usize = "sha256:".len() + 64;

    /// Creates the text of `digest`, or returns `None` if its algorithm is unknown.
    pub(crate) fn new(digest: &Digest<'_>) -> Option<Self> {
        match digest {
            Digest::Sha256(sum) => Self::of(b"sha256:", *sum, b'a'),
            Digest::Crc32c(sum) => Self::of(b"crc32c:0x", sum.to_be_bytes(), b'A'),
            Digest::Xxh3(sum) => Self::of(b"xxh3:", sum.to_be_bytes(), b'a'),
            Digest::Unverifiable(_) => None,
        }
    }

    /// Creates a text of `prefix` and the hexadecimal digits of `sum`. `letter` is the digit of value 10, in the case
    /// to use.
    fn of<const P: usize, const N: usize>(
        prefix: &[u8; P],
        sum: [u8; N],
        letter: u8,
    ) -> Option<Self> {
        let digit = |value: u8| {
            let base = if value < 10 { b'0' } else { letter.wrapping_sub(10) };
            value.wrapping_add(base)
        };
        let mut text = [0; Self::MOST];
        let (head, digits) = text.split_first_chunk_mut()?;
        *head = *prefix;
        for (pair, byte) in digits.as_chunks_mut().0.iter_mut().zip(sum) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        Some(Self { text, length: P.saturating_add(N.saturating_mul(2)) })
    }

    /// Returns the text, which is ASCII.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.text.get(..self.length).unwrap_or_default()
    }
}
