//! The content digest, which identifies the tensors of a file however the file is laid out. v2 §6.4.

use core::fmt;

use crate::digest::Digest;
use crate::digest::Sum;
use crate::error::Location;
use crate::formats::ztensor::content;
use crate::manifest::Manifest;
use crate::rules::Generation;

/// The algorithm of a content digest: XXH3-64 or SHA-256. A content digest covers the content of all tensors of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DigestAlgorithm {
    /// XXH3-64 with seed 0. It finds accidental changes, but does not resist attackers.
    Xxh3,
    /// SHA-256.
    #[cfg(feature = "digest")]
    Sha256,
}

/// The reason why a file has no content digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoContentDigest {
    /// The file is not a zTensor file of generation 2, or is a data shard, which has no manifest.
    NotDefined,
    /// The component at this location has no digest.
    Undigested(Location),
    /// The digest of the component at this location is weaker than the content digest would be, or of an unknown
    /// algorithm.
    WeakPart(Location),
    /// The bytes of the manifest have changed since they were validated.
    Internal,
}

impl NoContentDigest {
    /// Returns the location of the component that has no digest, or too weak a digest. For any other reason, the location names no
    /// component.
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
            Self::Undigested(_) => "no content digest: a component has no digest",
            Self::WeakPart(_) => {
                "no content digest: the digest of a component is weaker than the content digest, or of an unknown algorithm"
            }
        })
    }
}

impl core::error::Error for NoContentDigest {}

impl<B: AsRef<[u8]>> Manifest<B> {
    /// Returns the content digest (2). It covers names, shapes, layouts, attributes of objects, types, and the digests
    /// of components as the manifest spells them, but not the attributes of the file. Files of equal tensors have equal
    /// content digests wherever their blobs lie, if the digests of their components are of the same algorithm. The
    /// content digest is never stored. v2 §6.4.
    ///
    /// The content digest is computed from the manifest alone, so it identifies the content of the file only if the
    /// digests of all components have been verified. An attacker who finds other content with the same digests of
    /// components has the same content digest, so a sha256 is returned only if each component has a sha256.
    ///
    /// No memory is allocated, and time is linear in the size of the manifest.
    ///
    /// ```
    /// use zten::verify::DigestAlgorithm;
    /// let archive = zten::open("corpus/v2/2.1/walk.zt")?;
    /// let digest = archive.manifest().content_digest(DigestAlgorithm::Xxh3).unwrap();
    /// assert_eq!(digest.to_string(), "xxh3:b362c9344aa222a2");
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`NoContentDigest`], if the file has no content digest of this strength.
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
    /// Returns whether the component's digest `digest` is at least as strong as this algorithm.
    fn may_cover(self, digest: &Digest<'_>) -> bool {
        match digest {
            Digest::Sha256(_) => true,
            Digest::Xxh3(_) => self == Self::Xxh3,
            _ => false,
        }
    }
}
