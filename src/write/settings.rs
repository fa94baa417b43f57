//! Settings for writing: generation, digests, the canonical form, and the limits of the readers.

use core::cmp::Ordering;

use super::compress::Level;
use crate::digest::Digest;
use crate::digest::Sum;
use crate::error::{BareError, Misuse};
use crate::formats::ztensor::{Writing, written};
use crate::limits::{Limits, OpenOptions};
use crate::names::by_length;
use crate::rules::Generation;

/// The algorithm of the digest of each component, over its stored bytes in 1.2 (v1.2 §1) and over its decoded bytes in
/// 2 (v2 §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksum {
    /// Writes no digest.
    None,
    /// CRC-32C, which finds accidental changes (1.2 only).
    Crc32c,
    /// SHA-256.
    #[default]
    Sha256,
    /// XXH3-64, which finds accidental changes (2 only).
    Xxh3,
}

/// Settings for writing a file. By default the file is of 1.2, and each component gets a sha256 (in 2 an xxh3). Objects
/// may be written in any order. The file stays within the default [`Limits`], or the limits that a file to append to
/// was opened with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    generation: Option<Generation>,
    checksum: Option<Checksum>,
    alignment: Option<u64>,
    pub(super) canonical: bool,
    sharing: bool,
    hashing_thread: bool,
    limits: Option<Limits>,
    pub(super) level: Option<Level>,
}

/// The largest alignment of blobs in bytes that can be set.
const MOST: u64 = 1 << 30;

impl WriteOptions {
    /// Returns these settings for a file of another generation: [`V1_2`](Generation::V1_2) or [`V2`](Generation::V2).
    /// Appending to a file keeps the generation of the file instead.
    #[must_use]
    pub fn generation(mut self, generation: Generation) -> Self {
        self.generation = Some(generation);
        self
    }

    /// Returns whether a new file with these settings is of `generation`.
    pub fn is_generation(&self, generation: Generation) -> bool {
        self.generation.unwrap_or(Generation::V1_2) == generation
    }

    /// Returns these settings with another algorithm for digests.
    #[must_use]
    pub fn checksum(mut self, checksum: Checksum) -> Self {
        self.checksum = Some(checksum);
        self
    }

    /// Returns these settings with blobs at multiples of `bytes`: a power of two, at least 64 in 1.2 and 4096 in 2,
    /// which are the defaults, and at most 1 GiB. The canonical form has an alignment of its own.
    #[must_use]
    pub fn alignment(mut self, bytes: u64) -> Self {
        self.alignment = Some(bytes);
        self
    }

    /// Returns these settings for a file in which components with equal bytes share a blob (2 only; files in canonical
    /// form always share blobs). A component shares a blob if all of its bytes are given at once, or if its sha256 is
    /// [announced](super::NewComponent::with_known_sha256). Sharing takes a sha256 of all bytes, and at most 150 bytes
    /// of memory for each blob.
    #[must_use]
    pub fn sharing(mut self) -> Self {
        self.sharing = true;
        self
    }

    /// Returns these settings with compression of all tensors that are [added](super::Writer::add) or
    /// [begun](super::Writer::begin) by their elements.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Returns these settings with a second thread, which computes the sha256 or crc32c of bytes while they are written:
    /// of each piece of at least 256 KiB, if the component is not compressed. Without the thread, or if it cannot be
    /// started, a piece is hashed and then written.
    #[cfg(feature = "std")]
    #[must_use]
    pub fn hashing_thread(mut self) -> Self {
        self.hashing_thread = true;
        self
    }

    /// Returns these settings for a file that readers open with `limits`: what exceeds these limits is not written.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Returns these settings for a file in canonical form: for given content there is exactly one such file (`docs/canonical.md`).
    /// Objects and components must then be written in [`canonical_order`](super::canonical_order), in 2 in the order of
    /// their bytes. Components are not compressed, and all get a sha256 (in 2 an xxh3).
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.canonical = true;
        self
    }

    /// Returns the checked settings for a new file.
    pub(super) fn target(&self) -> Result<Target, BareError> {
        let writing = written(self.generation.unwrap_or(Generation::V1_2));
        self.target_of(writing.ok_or(BareError::misuse(Misuse::Settings))?)
    }

    /// Returns the checked settings for a file of the generation that `writing` describes.
    pub(super) fn target_of(&self, writing: &'static Writing) -> Result<Target, BareError> {
        let decoded = writing.dialect.facts.digests_decoded;
        let own = if decoded { Checksum::Xxh3 } else { Checksum::Sha256 };
        let checksum = self.checksum.filter(|_| !self.canonical).unwrap_or(own);
        let known = match checksum {
            Checksum::None | Checksum::Sha256 => true,
            Checksum::Crc32c => !decoded,
            Checksum::Xxh3 => decoded,
        };
        let least = writing.dialect.facts.container.alignment;
        let canonical = self.canonical.then_some(writing.canonical_alignment);
        let alignment = canonical.or(self.alignment).unwrap_or(least);
        let shares = writing.dialect.facts.container.shares_blobs;
        if !known
            || self.sharing && !shares
            || !alignment.is_power_of_two()
            || !(least..=MOST).contains(&alignment)
        {
            return Err(BareError::misuse(Misuse::Settings));
        }
        let canonical = self.canonical;
        let sharing = self.sharing || canonical && shares;
        let hashing_thread = self.hashing_thread;
        Ok(Target { writing, checksum, alignment, canonical, sharing, hashing_thread })
    }

    /// Returns the options for reading a new file.
    pub(super) fn options(&self) -> OpenOptions {
        let options = OpenOptions::default().limits(self.limits.unwrap_or_default());
        if self.canonical { options.canonical() } else { options }
    }

    /// Returns the options for reading a file again that was opened with `old`, after it has been appended to.
    pub(super) fn options_for_append(&self, old: &OpenOptions) -> OpenOptions {
        old.any_form().limits(self.limits.unwrap_or(*old.limit()))
    }
}

impl Checksum {
    /// Creates an empty hasher of this algorithm; `None` for [`Checksum::None`].
    pub(super) fn sum(self) -> Option<Sum> {
        match self {
            Self::None => None,
            Self::Crc32c => Some(Sum::crc32c()),
            Self::Sha256 => Some(Sum::sha256()),
            Self::Xxh3 => Some(Sum::xxh3()),
        }
    }

    /// Returns a placeholder for a digest that is not known yet. The placeholder is a constant, because the sha256 of
    /// no bytes takes a third of the time of writing an empty object (`benches/write`).
    pub(super) fn unknown(self) -> Option<Digest<'static>> {
        match self {
            Self::None => None,
            Self::Crc32c => Some(Digest::Crc32c(0)),
            Self::Sha256 => Some(Digest::Sha256([0; 32])),
            Self::Xxh3 => Some(Digest::Xxh3(0)),
        }
    }
}

/// The settings of the file that is being written, which have been checked against each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) writing: &'static Writing,
    pub(super) checksum: Checksum,
    /// The alignment of blobs in bytes: a power of two.
    pub(super) alignment: u64,
    pub(super) canonical: bool,
    /// Whether components with equal bytes share a blob.
    pub(super) sharing: bool,
    /// Whether a second thread computes the digests of large pieces. Always false without `std`.
    pub(super) hashing_thread: bool,
}

impl Target {
    /// Checks that the file may have shards.
    ///
    /// # Errors
    /// [`Misuse::NoShards`], if the file may not have shards.
    pub(super) fn has_shards(&self) -> Result<(), BareError> {
        if self.canonical || !self.writing.dialect.has_shards {
            return Err(BareError::misuse(Misuse::NoShards));
        }
        Ok(())
    }

    /// Returns the first multiple of the alignment at or after the offset `position`, or `None` on overflow.
    pub(super) fn aligned(&self, position: u64) -> Option<u64> {
        let rest = self.alignment.wrapping_sub(1);
        Some(position.checked_add(rest)? & !rest)
    }

    /// Compares two names of objects, or two roles, in the order of the canonical form.
    pub(super) fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.writing.deterministic { a.cmp(b) } else { by_length(a, b) }
    }
}
