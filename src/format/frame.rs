//! The container: magic, footer, and where the manifest lies.
//!
//! ```text
//! 0.1   ZTEN0001 | blobs at multiples of 64 | manifest | size of the manifest (u64 LE)
//! 1.x   ZTEN1000 | blobs at multiples of 64 | manifest | size of the manifest (u64 LE) | ZTEN1000
//! ```
//!
//! v0.1 §2 and §3, v1.1 I.1, v1.2 §4. The records below are the only description of these bytes.

use core::ops::Range;

use nom::combinator::{all_consuming, map_opt};
use nom::{IResult, Parser as _};
use zerocopy::byteorder::little_endian::U64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::Dialect;
#[cfg(feature = "v0")]
use super::v0_1;
#[cfg(feature = "v1")]
use super::v1;
use crate::error::Error;
use crate::limits::{Limits, format};
use crate::num::{Assured as _, u64_from_usize};
use crate::rules::{Limit, Rule, Unsupported};

/// The first 8 bytes of a file, and the last 8 of a 1.x file.
#[derive(
    FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy, PartialEq, Eq, Debug,
)]
#[repr(transparent)]
struct Magic([u8; 8]);

impl Magic {
    const V0: Self = Self(*b"ZTEN0001");
    const V1: Self = Self(*b"ZTEN1000");
    const V2: Self = Self([0x89, b'Z', b'T', b'2', b'\r', b'\n', 0x1a, b'\n']);
}

/// The end of a 0.1 file: v0.1 §3.3.2.
#[cfg(feature = "v0")]
#[derive(FromBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct FooterV0 {
    manifest_size: U64,
}

/// The end of a 1.x file: v1.1 I.1, v1.2 §4.
#[cfg(feature = "v1")]
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned, Clone, Copy)]
#[repr(C)]
struct FooterV1 {
    manifest_size: U64,
    magic: Magic,
}

const HEADER: u64 = u64_from_usize(size_of::<Magic>());

/// One fixed record, as a nom parser.
fn record<'b, T: FromBytes + Unaligned>(input: &'b [u8]) -> IResult<&'b [u8], T> {
    map_opt(nom::bytes::complete::take(size_of::<T>()), |bytes: &'b [u8]| {
        T::read_from_bytes(bytes).ok()
    })
    .parse(input)
}

/// Exactly one fixed record and nothing more.
fn only<T: FromBytes + Unaligned>(bytes: &[u8]) -> Option<T> {
    all_consuming(record).parse(bytes).ok().map(|(_, record)| record)
}

/// Which of the two containers a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Container {
    /// `ZTEN0001`.
    #[cfg(feature = "v0")]
    V0,
    /// `ZTEN1000`.
    #[cfg(feature = "v1")]
    V1,
}

impl Container {
    /// The range of the header in a file of `file_len` bytes.
    pub(crate) fn header_range(file_len: u64) -> Result<Range<u64>, Error> {
        if file_len < HEADER {
            return Err(Error::new(Rule::FileSize, file_len).found(file_len));
        }
        Ok(0..HEADER)
    }

    /// Reads the header.
    pub(crate) fn read(header: &[u8]) -> Result<Self, Error> {
        match only::<Magic>(header) {
            #[cfg(feature = "v0")]
            Some(Magic::V0) => Ok(Self::V0),
            #[cfg(feature = "v1")]
            Some(Magic::V1) => Ok(Self::V1),
            #[cfg(not(feature = "v0"))]
            Some(Magic::V0) => Err(Error::new(Unsupported::Feature, 0)),
            #[cfg(not(feature = "v1"))]
            Some(Magic::V1) => Err(Error::new(Unsupported::Feature, 0)),
            Some(Magic::V2) => Err(Error::new(Unsupported::ContainerV2, 0)),
            _ => Err(Error::new(Rule::HeaderMagic, 0)),
        }
    }

    /// The dialect of its manifest, as far as the container tells.
    pub(crate) fn dialect(self) -> &'static Dialect {
        match self {
            #[cfg(feature = "v0")]
            Self::V0 => &v0_1::V0_1,
            #[cfg(feature = "v1")]
            Self::V1 => &v1::V1_2,
        }
    }

    fn footer_len(self) -> u64 {
        match self {
            #[cfg(feature = "v0")]
            Self::V0 => u64_from_usize(size_of::<FooterV0>()),
            #[cfg(feature = "v1")]
            Self::V1 => u64_from_usize(size_of::<FooterV1>()),
        }
    }

    /// The range of the footer in a file of `file_len` bytes.
    pub(crate) fn footer_range(self, file_len: u64) -> Result<Range<u64>, Error> {
        match file_len.checked_sub(self.footer_len()) {
            Some(start) if start >= HEADER => Ok(start..file_len),
            _ => Err(Error::new(Rule::FileSize, file_len).found(file_len)),
        }
    }
}

/// Where the manifest lies: after the header, before the footer, and no longer than the limits.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    container: Container,
    manifest: Range<u64>,
}

impl Frame {
    /// Reads the footer, which lies at `range`.
    pub(crate) fn read(
        container: Container,
        footer: &[u8],
        range: Range<u64>,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let truncated = Error::new(Rule::FileSize, range.end).found(range.end);
        let size = match container {
            #[cfg(feature = "v0")]
            Container::V0 => only::<FooterV0>(footer).ok_or(truncated)?.manifest_size,
            #[cfg(feature = "v1")]
            Container::V1 => {
                let footer = only::<FooterV1>(footer).ok_or(truncated)?;
                if footer.magic != Magic::V1 {
                    let offset = range.end.checked_sub(HEADER).assured();
                    return Err(Error::new(Rule::FooterMagic, offset));
                }
                footer.manifest_size
            }
        };
        let size = size.get();
        if size > format::MANIFEST_CAP {
            return Err(Error::new(Rule::ManifestCap, range.start).found(size));
        }
        if size > limits.manifest() {
            return Err(Error::new(Limit::Manifest, range.start).found(size));
        }
        match range.start.checked_sub(size) {
            Some(start) if start >= HEADER => Ok(Self { container, manifest: start..range.start }),
            _ => Err(Error::new(Rule::ManifestBounds, range.start).found(size)),
        }
    }

    pub(crate) fn container(&self) -> Container {
        self.container
    }

    /// The bytes of the file that are the manifest.
    pub(crate) fn manifest(&self) -> &Range<u64> {
        &self.manifest
    }
}

/// The header of a 1.x file.
#[cfg(feature = "write")]
pub(crate) fn header_v1() -> [u8; size_of::<Magic>()] {
    Magic::V1.0
}

/// Bytes of the footer of a 1.x file.
#[cfg(feature = "write")]
pub(crate) const FOOTER_V1: usize = size_of::<FooterV1>();

/// The footer of a 1.x file whose manifest has so many bytes.
#[cfg(feature = "write")]
pub(crate) fn footer_v1(manifest_size: u64) -> [u8; FOOTER_V1] {
    let mut bytes = [0; FOOTER_V1];
    let footer = FooterV1 { manifest_size: U64::new(manifest_size), magic: Magic::V1 };
    // It fits: the length is its own.
    let _ = footer.write_to(&mut bytes);
    bytes
}
