//! The container of zTensor files: the magic, the footer, and the range of the manifest in the file.
//!
//! ```text
//! 0.1   ZTEN0001 | blobs at multiples of 64 | manifest | size of the manifest (u64 LE)
//! 1.x   ZTEN1000 | blobs at multiples of 64 | manifest | size of the manifest (u64 LE) | ZTEN1000
//! 2     89 5A 54 32 0D 0A 1A 0A | blobs at multiples of 4096, one of them the manifest | footer
//! ```
//!
//! v0.1 §2 and §3, v1.1 I.1, v1.2 §4, v2 §2. The records below are the only description of these bytes.

use core::ops::Range;

use nom::combinator::{all_consuming, map_opt};
use nom::{IResult, Parser as _};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Dialect, v0_1, v1, v2};
use crate::error::BareError;
use crate::limits::{Limits, format};
use crate::num::u64_from_usize;
use crate::rules::{Limit, Rule, Unsupported};

/// The magic: the first 8 bytes of a file, and in 1.x also the last 8.
#[derive(
    FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Eq, Debug,
)]
#[repr(transparent)]
struct Magic([u8; 8]);

impl Magic {
    const V0: Self = Self(*b"ZTEN0001");
    const V1: Self = Self(*b"ZTEN1000");
    const V2: Self = Self([0x89, b'Z', b'T', b'2', b'\r', b'\n', 0x1a, b'\n']);

    /// Checks that this magic, which the last 8 bytes of a file of `file_len` bytes hold, is `wanted`.
    fn check_footer_magic(self, wanted: Self, file_len: u64) -> Result<(), BareError> {
        let offset = file_len.saturating_sub(HEADER);
        if self == wanted { Ok(()) } else { Err(BareError::new(Rule::FooterMagic, offset)) }
    }
}

/// The footer of a 1.x file: v1.1 I.1, v1.2 §4.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct FooterV1 {
    manifest_size: U64,
    magic: Magic,
}

/// The footer of a file of generation 2: v2 §2.3. In a data shard, the offset, length and hash of the manifest are 0.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct FooterV2 {
    manifest_offset: U64,
    manifest_size: U64,
    manifest_hash: U64,
    version: U32,
    reserved: U32,
    magic: Magic,
}

/// The version number that each footer of generation 2 holds.
const VERSION_V2: u32 = 2;

/// Checks that `size`, the size of a manifest in bytes, exceeds neither the maximum of the format (`manifest-cap`) nor the
/// limit of the caller (`limit-manifest`). `at` is the offset in the file of the field with the size, for errors.
fn check_manifest_size(size: u64, at: u64, limits: &Limits) -> Result<(), BareError> {
    if size > format::MANIFEST_CAP {
        return Err(BareError::new(Rule::ManifestCap, at).found(size));
    }
    if size > limits.manifest() {
        return Err(BareError::new(Limit::Manifest, at).found(size));
    }
    Ok(())
}

/// The length in bytes of the header of a zTensor file, which consists of the magic.
pub(crate) const HEADER: u64 = u64_from_usize(size_of::<Magic>());

/// Parses a record of fixed size at the start of `input`, as a nom parser.
fn record<'b, T: FromBytes + Unaligned>(input: &'b [u8]) -> IResult<&'b [u8], T> {
    map_opt(nom::bytes::complete::take(size_of::<T>()), |bytes: &'b [u8]| {
        T::read_from_bytes(bytes).ok()
    })
    .parse(input)
}

/// Parses `bytes` as one record of fixed size. Returns `None` if `bytes` has another length.
fn parse_record<T: FromBytes + Unaligned>(bytes: &[u8]) -> Option<T> {
    all_consuming(record).parse(bytes).ok().map(|(_, record)| record)
}

/// The container of a file: the arrangement of header, blobs, manifest and footer. The magic tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// The container of generation 0.1, with the magic `ZTEN0001`.
    V0,
    /// The container of generations 1.x, with the magic `ZTEN1000`.
    V1,
    /// The container of generation 2, with the magic of that generation.
    V2,
}

impl Container {
    /// Returns the range of the header, the first 8 bytes, in a file of `file_len` bytes.
    ///
    /// # Errors
    /// `file-size` if the file is shorter.
    pub(crate) fn header_range(file_len: u64) -> Result<Range<u64>, BareError> {
        if file_len < HEADER {
            return Err(BareError::new(Rule::FileSize, file_len).found(file_len));
        }
        Ok(0..HEADER)
    }

    /// Returns the container whose magic is in `header`, the first 8 bytes of a file.
    ///
    /// # Errors
    /// `header-magic`.
    pub(crate) fn read(header: &[u8]) -> Result<Self, BareError> {
        match parse_record::<Magic>(header) {
            Some(Magic::V0) => Ok(Self::V0),
            Some(Magic::V1) => Ok(Self::V1),
            Some(Magic::V2) => Ok(Self::V2),
            _ => Err(BareError::new(Rule::HeaderMagic, 0)),
        }
    }

    /// Returns the dialect of a manifest in this container. For `ZTEN1000` it is 1.2, until the manifest tells its version.
    pub(crate) fn dialect(self) -> &'static Dialect {
        match self {
            Self::V0 => &v0_1::V0_1,
            Self::V1 => &v1::V1_2,
            Self::V2 => &v2::V2,
        }
    }

    fn footer_len(self) -> u64 {
        match self {
            // The footer of generation 0.1 is the size of the manifest, and nothing else: v0.1 §3.3.2.
            Self::V0 => u64_from_usize(size_of::<U64>()),
            Self::V1 => u64_from_usize(size_of::<FooterV1>()),
            Self::V2 => u64_from_usize(size_of::<FooterV2>()),
        }
    }

    /// Returns the range of the footer in a file of `file_len` bytes.
    ///
    /// # Errors
    /// `file-size` if the file is too short for header and footer.
    pub(crate) fn footer_range(self, file_len: u64) -> Result<Range<u64>, BareError> {
        match file_len.checked_sub(self.footer_len()) {
            Some(start) if start >= HEADER => Ok(start..file_len),
            _ => Err(BareError::new(Rule::FileSize, file_len).found(file_len)),
        }
    }

    pub(crate) fn header(self) -> [u8; size_of::<Magic>()] {
        match self {
            Self::V0 => Magic::V0.0,
            Self::V1 => Magic::V1.0,
            Self::V2 => Magic::V2.0,
        }
    }

    /// Returns the footer of a file of 1.x or 2 with this `manifest`, which begins at the offset `start`. In generation 2, an
    /// empty manifest means a data shard.
    pub(crate) fn footer(self, start: u64, manifest: &[u8]) -> Footer {
        let manifest_size = U64::new(u64_from_usize(manifest.len()));
        if self != Self::V2 {
            return Footer::new(&FooterV1 { manifest_size, magic: Magic::V1 });
        }
        // A data shard has no manifest, and the hash field is 0: v2 §7.2.
        let hash = if manifest.is_empty() { 0 } else { twox_hash::XxHash3_64::oneshot(manifest) };
        Footer::new(&FooterV2 {
            manifest_offset: U64::new(start),
            manifest_size,
            manifest_hash: U64::new(hash),
            version: U32::new(VERSION_V2),
            reserved: U32::ZERO,
            magic: Magic::V2,
        })
    }
}

/// What the magic and the footer of a file say: where the manifest lies, and its hash. The range of the manifest has been
/// checked: it lies between header and footer, and its size does not exceed the limits.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) container: Container,
    /// The range of the manifest in the file; empty for a data shard, and in 0.1 and 1.x if the footer gives the size 0.
    pub(crate) manifest: Range<u64>,
    /// The XXH3 hash of 64 bits that the manifest must have; `None` in a data shard, which has no manifest, and in 0.1 and
    /// 1.x, whose footers have no hash.
    hash: Option<u64>,
    /// The offset in the file at or before which all blobs must end.
    pub(crate) blobs_end: u64,
    /// The reserved field of the footer of generation 2, which readers ignore; 0 in other generations.
    reserved: u32,
}

impl Frame {
    /// Returns the length in bytes of the file: the offset at which its footer ends.
    pub(crate) fn file_len(&self) -> u64 {
        let footer = self.blobs_end.max(self.manifest.end);
        footer.saturating_add(self.container.footer_len())
    }

    /// Parses `footer`, the bytes in the range `range` of a file with the container `container`, and finds the range of the
    /// manifest. The footer must end with the file.
    ///
    /// # Errors
    /// `file-size` if `footer` has another length than the container's footers; `manifest-cap`, `manifest-bounds`,
    /// `limit-manifest`; in 1.x and 2 also `footer-magic`; in generation 2 also `unsupported-version`, `data-shard` and
    /// `manifest-alignment`.
    pub(crate) fn read(
        container: Container,
        footer: &[u8],
        range: Range<u64>,
        limits: &Limits,
    ) -> Result<Self, BareError> {
        let truncated = BareError::new(Rule::FileSize, range.end).found(range.end);
        let size = match container {
            Container::V0 => parse_record::<U64>(footer).ok_or(truncated)?.get(),
            Container::V1 => {
                let footer = parse_record::<FooterV1>(footer).ok_or(truncated)?;
                footer.magic.check_footer_magic(Magic::V1, range.end)?;
                footer.manifest_size.get()
            }
            Container::V2 => {
                let footer = parse_record::<FooterV2>(footer).ok_or(truncated)?;
                footer.magic.check_footer_magic(Magic::V2, range.end)?;
                return Self::from_v2_footer(&footer, range.start, limits);
            }
        };
        // The manifest ends where the footer begins.
        let end = range.start;
        check_manifest_size(size, end, limits)?;
        let start = end.checked_sub(size).filter(|start| *start >= HEADER);
        let start = start.ok_or_else(|| BareError::new(Rule::ManifestBounds, end).found(size))?;
        Ok(Self { container, manifest: start..end, hash: None, blobs_end: start, reserved: 0 })
    }

    /// Finds the manifest by `footer`, a footer of generation 2 that begins at the offset `at` of the file: v2 §2.3, §2.4,
    /// §7.2.
    fn from_v2_footer(footer: &FooterV2, at: u64, limits: &Limits) -> Result<Self, BareError> {
        // The size is 8 bytes after the start of the footer, and the version 24 bytes after it.
        let (size_at, version_at) = (at.saturating_add(8), at.saturating_add(24));
        let version = footer.version.get();
        if version != VERSION_V2 {
            return Err(BareError::new(Unsupported::Version, version_at).found(version.into()));
        }
        let (start, size) = (footer.manifest_offset.get(), footer.manifest_size.get());
        let hash = footer.manifest_hash.get();
        let manifest = if size == 0 {
            if start != 0 || hash != 0 {
                return Err(BareError::new(Rule::DataShard, at));
            }
            at..at
        } else {
            check_manifest_size(size, size_at, limits)?;
            if start == 0 || !start.is_multiple_of(format::ALIGNMENT_V2) {
                return Err(BareError::new(Rule::ManifestAlignment, at).found(start));
            }
            let end = start.checked_add(size).filter(|end| *end <= at);
            start..end.ok_or_else(|| BareError::new(Rule::ManifestBounds, size_at).found(size))?
        };
        Ok(Self {
            container: Container::V2,
            manifest,
            hash: (size != 0).then_some(hash),
            blobs_end: at,
            reserved: footer.reserved.get(),
        })
    }

    /// Checks that the bytes `manifest` have the hash that the footer gives, if the footer gives a hash: v2 §2.3.
    pub(crate) fn validate_hash(&self, manifest: &[u8]) -> Result<(), BareError> {
        if let Some(hash) = self.hash
            && twox_hash::XxHash3_64::oneshot(manifest) != hash
        {
            return Err(BareError::new(Rule::ManifestHash, self.manifest.start));
        }
        Ok(())
    }

    /// Returns whether the file is a data shard: a file of generation 2 without a manifest. v2 §7.2.
    pub(crate) fn is_data_shard(&self) -> bool {
        self.container == Container::V2 && self.manifest.is_empty()
    }

    /// Returns the offset and the value of the footer's reserved field, if it is not 0.
    pub(crate) fn reserved(&self) -> Option<(u64, u32)> {
        (self.reserved != 0).then(|| (self.blobs_end.saturating_add(28), self.reserved))
    }

    /// Returns the offset at which appended bytes begin. In 1.x they replace the manifest. In 2 they follow the old footer,
    /// so that the old file stays complete: v2 §2.5.
    pub(crate) fn appends_at(&self) -> u64 {
        match self.container {
            Container::V2 => self.file_len(),
            _ => self.manifest.start,
        }
    }
}

/// The bytes of the footer of a file that is being written, in 1.x or 2. Files of 0.1 are not written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footer {
    bytes: [u8; size_of::<FooterV2>()],
    length: usize,
}

impl Footer {
    fn new(record: &(impl IntoBytes + Immutable)) -> Self {
        let mut bytes = [0; size_of::<FooterV2>()];
        for (to, from) in bytes.iter_mut().zip(record.as_bytes()) {
            *to = *from;
        }
        Self { bytes, length: size_of_val(record) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::{Container, Rule};

    #[test]
    fn a_header_is_enough_to_tell_by() {
        assert_eq!(Container::header_range(7).unwrap_err().kind, Rule::FileSize);
        assert_eq!(Container::header_range(8), Ok(0..8));
    }
}
