//! Computing digests, where the feature `digest` is built in.

use super::reader::Verified;
use crate::digest::Digest;

/// A digest that is being computed, and what it should be.
pub(super) enum Hasher {
    /// There is no digest.
    Absent,
    /// There is one that cannot be verified here.
    Unverifiable,
    #[cfg(feature = "digest")]
    Sha256(sha2::Sha256, [u8; 32]),
    #[cfg(feature = "digest")]
    Crc32c(crc::Digest<'static, u32, crc::Table<16>>, u32),
}

#[cfg(feature = "digest")]
static CRC32C: crc::Crc<u32, crc::Table<16>> =
    crc::Crc::<u32, crc::Table<16>>::new(&crc::CRC_32_ISCSI);

impl Hasher {
    pub(super) fn new(digest: Option<Digest<'_>>) -> Self {
        match digest {
            None => Self::Absent,
            #[cfg(feature = "digest")]
            Some(Digest::Sha256(wanted)) => Self::Sha256(sha2::Digest::new(), wanted),
            #[cfg(feature = "digest")]
            Some(Digest::Crc32c(wanted)) => Self::Crc32c(CRC32C.digest(), wanted),
            Some(_) => Self::Unverifiable,
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Absent | Self::Unverifiable => {
                let _ = bytes;
            }
            #[cfg(feature = "digest")]
            Self::Sha256(hasher, _) => sha2::Digest::update(hasher, bytes),
            #[cfg(feature = "digest")]
            Self::Crc32c(hasher, _) => hasher.update(bytes),
        }
    }

    /// What has come of it; none if the digest is another.
    #[cfg_attr(
        not(feature = "digest"),
        expect(clippy::unnecessary_wraps, reason = "only what is computed can be another")
    )]
    pub(super) fn finish(self) -> Option<Verified> {
        match self {
            Self::Absent => Some(Verified::NoDigest),
            Self::Unverifiable => Some(Verified::Unverifiable),
            #[cfg(feature = "digest")]
            Self::Sha256(hasher, wanted) => {
                let found: [u8; 32] = sha2::Digest::finalize(hasher).into();
                (found == wanted).then_some(Verified::Digest)
            }
            #[cfg(feature = "digest")]
            Self::Crc32c(hasher, wanted) => {
                (hasher.finalize() == wanted).then_some(Verified::Digest)
            }
        }
    }
}
