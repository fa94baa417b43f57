//! The content digest: what tensors a file holds, however they are laid out. v2 §6.4.

use core::fmt;

use super::hasher::Sum;
use crate::digest::Digest;
use crate::error::Location;
use crate::format::content;
use crate::manifest::Manifest;
use crate::rules::Generation;

/// The algorithm of a content digest.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DigestAlgorithm {
    /// XXH3-64 with seed 0: for accidents only.
    Xxh3,
    /// SHA-256.
    #[cfg(feature = "digest")]
    Sha256,
}

/// The reason why a file has no content digest.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoContentDigest {
    /// The file is of another generation than 2, or a data shard.
    NotDefined,
    /// The part at that place has no digest.
    Undigested(Location),
    /// The digest of the part at that place is weaker than the content digest would be, or of an
    /// algorithm that is not known.
    WeakPart(Location),
    /// The manifest is not what was validated: its holder gives other bytes by now.
    Internal,
}

impl NoContentDigest {
    /// The place of the part that is to blame, if one is.
    pub fn location(&self) -> Location {
        match self {
            Self::NotDefined | Self::Internal => Location::default(),
            Self::Undigested(location) | Self::WeakPart(location) => *location,
        }
    }
}

impl fmt::Display for NoContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotDefined => "no content digest: only files of generation 2 have one",
            Self::Internal => "internal error: the manifest changed since it was validated",
            Self::Undigested(_) => "no content digest: the part has no digest",
            Self::WeakPart(_) => {
                "no content digest: the digest of the part is weaker, or of an unknown algorithm"
            }
        })
    }
}

impl core::error::Error for NoContentDigest {}

impl<B: AsRef<[u8]>> Manifest<B> {
    /// The content digest (2): over names, shapes, layouts, attributes of objects, types, and the
    /// digests of the parts as the manifest spells them. Files of equal tensors have equal ones
    /// wherever their blobs lie, if their parts' digests are of the same algorithm; attributes of
    /// the file are not in it. It is never stored. v2 §6.4.
    ///
    /// It follows from the manifest alone: it says what is in the file if the digests of the parts
    /// have been verified. Another content with the same digests of the parts has the same content
    /// digest. So a sha256 is given only where each part has a sha256.
    ///
    /// Nothing is allocated; time is linear in the manifest.
    ///
    /// ```
    /// use zten::tools::DigestAlgorithm;
    /// let archive = zten::open("corpus/v2/2.1/walk.zt")?;
    /// let digest = archive.manifest().content_digest(DigestAlgorithm::Xxh3).unwrap();
    /// assert_eq!(digest.to_string(), "xxh3:b362c9344aa222a2");
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`NoContentDigest`].
    #[doc(hidden)]
    pub fn content_digest(
        &self,
        algorithm: DigestAlgorithm,
    ) -> Result<Digest<'static>, NoContentDigest> {
        if self.generation() != Some(Generation::V2) || self.is_data_shard() {
            return Err(NoContentDigest::NotDefined);
        }
        for part in self.tensors().flat_map(|object| object.components()) {
            let digest = part.digest().ok_or(NoContentDigest::Undigested(part.location()))?;
            if !algorithm.may_cover(&digest) {
                return Err(NoContentDigest::WeakPart(part.location()));
            }
        }
        let mut sum = match algorithm {
            DigestAlgorithm::Xxh3 => Sum::xxh3(),
            #[cfg(feature = "digest")]
            DigestAlgorithm::Sha256 => Sum::sha256(),
        };
        let fed = content(self.as_bytes(), |bytes| sum.update(bytes));
        fed.map_err(|_| NoContentDigest::Internal)?;
        Ok(sum.finish())
    }
}

impl DigestAlgorithm {
    /// Returns whether a part's digest is at least as strong as this algorithm.
    fn may_cover(self, digest: &Digest<'_>) -> bool {
        match digest {
            Digest::Sha256(_) => true,
            Digest::Xxh3(_) => self == Self::Xxh3,
            _ => false,
        }
    }
}
