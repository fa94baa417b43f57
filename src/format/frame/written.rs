//! How files begin and end that are written. Of 0.1, none are.

use zerocopy::byteorder::little_endian::U32;
use zerocopy::byteorder::little_endian::U64;
use zerocopy::{Immutable, IntoBytes};

use super::{Container, FooterV1, Frame, Magic};
use super::{FooterV2, VERSION_V2};
use crate::format::Generation;
use crate::num::u64_from_usize;

/// What stands at the end of a file, with room for any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footer {
    bytes: [u8; Self::MOST],
    length: usize,
}

impl Footer {
    const MOST: usize = 40;

    fn new(record: &(impl IntoBytes + Immutable)) -> Self {
        let mut bytes = [0; Self::MOST];
        for (to, from) in bytes.iter_mut().zip(record.as_bytes()) {
            *to = *from;
        }
        Self { bytes, length: size_of_val(record) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or(&self.bytes)
    }
}

impl Container {
    /// The container of a generation that is written.
    pub(crate) fn written(generation: Generation) -> Self {
        match generation {
            Generation::V2 => Self::V2,
            _ => Self::V1,
        }
    }

    pub(crate) fn header(self) -> [u8; size_of::<Magic>()] {
        match self {
            Self::V0 => Magic::V0.0,
            Self::V1 => Magic::V1.0,
            Self::V2 => Magic::V2.0,
        }
    }

    /// The footer of a data shard: v2 §7.2.
    pub(crate) fn footer_of_shard() -> Footer {
        Footer::new(&FooterV2 {
            manifest_offset: U64::ZERO,
            manifest_size: U64::ZERO,
            manifest_hash: U64::ZERO,
            version: U32::new(VERSION_V2),
            reserved: U32::ZERO,
            magic: Magic::V2,
        })
    }

    /// The footer of a file whose manifest begins at `start`.
    pub(crate) fn footer(self, start: u64, manifest: &[u8]) -> Footer {
        let size = U64::new(u64_from_usize(manifest.len()));
        if self == Self::V2 {
            Footer::new(&FooterV2 {
                manifest_offset: U64::new(start),
                manifest_size: size,
                manifest_hash: U64::new(twox_hash::XxHash3_64::oneshot(manifest)),
                version: U32::new(VERSION_V2),
                reserved: U32::ZERO,
                magic: Magic::V2,
            })
        } else {
            let _ = start;
            Footer::new(&FooterV1 { manifest_size: size, magic: Magic::V1 })
        }
    }
}

impl Frame {
    /// The reserved field of the footer, and where it stands, if it is not 0.
    pub(crate) fn reserved(&self) -> Option<(u64, u32)> {
        (self.reserved != 0).then(|| (self.blobs_end.saturating_add(28), self.reserved))
    }

    /// Where what is appended to the file goes: in 1.x in the place of its manifest; in 2 nothing of
    /// it is given up. v2 §2.5.
    pub(crate) fn appends_at(&self) -> u64 {
        match self.container {
            Container::V2 => self.file_len(),
            _ => self.manifest.start,
        }
    }
}
