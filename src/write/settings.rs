//! Settings for writing: generation, digests, the canonical form, and the limits of the readers.

use core::cmp::Ordering;

use super::compress::Level;
use crate::codec::Sum;
use crate::digest::Digest;
use crate::error::{BareError, Misuse};
use crate::format::{Writing, written};
use crate::limits::{Limits, OpenOptions};
use crate::names::by_length;
use crate::rules::Generation;

/// The digest that each component gets: over its stored bytes in 1.2 (v1.2 §1), over its decoded ones
/// in 2 (v2 §3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksum {
    /// None.
    None,
    /// CRC-32C, which finds accidents: 1.2 only.
    Crc32c,
    /// SHA-256.
    #[default]
    Sha256,
    /// XXH3-64, which finds accidents: 2 only.
    Xxh3,
}

/// Settings for writing a file. By default it is of 1.2, and each component gets a sha256; in 2 an
/// xxh3. Objects come in any order, and nothing exceeds the default [`Limits`], or those that a file
/// was opened with that is appended to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    generation: Option<Generation>,
    checksum: Option<Checksum>,
    alignment: Option<u64>,
    pub(super) canonical: bool,
    sharing: bool,
    limits: Option<Limits>,
    pub(super) level: Option<Level>,
}

/// The largest alignment that can be asked for.
const MOST: u64 = 1 << 30;

impl WriteOptions {
    /// Returns these settings for a file of another generation: [`V1_2`](Generation::V1_2) or
    /// [`V2`](Generation::V2). What is appended to a file is of the generation of that file, whatever
    /// is set.
    #[must_use]
    pub fn generation(mut self, generation: Generation) -> Self {
        self.generation = Some(generation);
        self
    }

    /// Returns these settings with other digests.
    #[must_use]
    pub fn checksum(mut self, checksum: Checksum) -> Self {
        self.checksum = Some(checksum);
        self
    }

    /// Returns these settings with blobs at multiples of so many bytes: a power of two, at least 64 in 1.2 and
    /// 4096 in 2, which are the defaults, and at most 1 GiB. The canonical form has its own.
    #[must_use]
    pub fn alignment(mut self, bytes: u64) -> Self {
        self.alignment = Some(bytes);
        self
    }

    /// Returns these settings, for a file in which components of equal bytes share a blob (2 only; in canonical
    /// form they do in any case). That is known before a component is written where all of its bytes
    /// are given at once, or its digest is [announced](super::NewComponent::with_known_sha256). It takes a
    /// sha256 of all bytes, and at most 150 bytes of memory a blob.
    #[must_use]
    pub fn sharing(mut self) -> Self {
        self.sharing = true;
        self
    }

    /// Returns these settings, with all tensors compressed that are [added](super::Writer::add) or
    /// [begun](super::Writer::begin) by their elements.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Returns these settings for readers that have other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Returns these settings, for a file in canonical form: one content has one file
    /// (`docs/canonical.md`). Objects and components must then come in
    /// [`canonical_order`](super::canonical_order), in 2 in the order of their bytes; none of them is
    /// compressed, and all get a sha256, in 2 an xxh3.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.canonical = true;
        self
    }

    /// Returns the target for a new file.
    pub(super) fn target(&self) -> Result<Target, BareError> {
        let writing = written(self.generation.unwrap_or(Generation::V1_2));
        self.target_of(writing.ok_or(BareError::misuse(Misuse::Settings))?)
    }

    /// Returns the target for a file of a generation that is written so.
    pub(super) fn target_of(&self, writing: &'static Writing) -> Result<Target, BareError> {
        let decoded = writing.digests_decoded;
        let own = if decoded { Checksum::Xxh3 } else { Checksum::Sha256 };
        let checksum = self.checksum.filter(|_| !self.canonical).unwrap_or(own);
        let known = match checksum {
            Checksum::None | Checksum::Sha256 => true,
            Checksum::Crc32c => !decoded,
            Checksum::Xxh3 => decoded,
        };
        let least = writing.dialect.facts.alignment;
        let canonical = self.canonical.then_some(writing.canonical_alignment);
        let alignment = canonical.or(self.alignment).unwrap_or(least);
        let shares = writing.dialect.facts.shares_blobs;
        if !known
            || self.sharing && !shares
            || !alignment.is_power_of_two()
            || !(least..=MOST).contains(&alignment)
        {
            return Err(BareError::misuse(Misuse::Settings));
        }
        let canonical = self.canonical;
        let sharing = self.sharing || canonical && shares;
        Ok(Target { writing, checksum, alignment, canonical, sharing })
    }

    /// The options of those who will read a new file.
    pub(super) fn options(&self) -> OpenOptions {
        let options = OpenOptions::default().limits(self.limits.unwrap_or_default());
        if self.canonical { options.canonical() } else { options }
    }

    /// The options of those who will read a file that was opened with `old`, and is appended to.
    pub(super) fn options_for_append(&self, old: &OpenOptions) -> OpenOptions {
        old.any_form().limits(self.limits.unwrap_or(*old.limit()))
    }
}

impl Checksum {
    /// The digest of nothing so far, if there is to be one.
    pub(super) fn sum(self) -> Option<Sum> {
        match self {
            Self::None => None,
            Self::Crc32c => Some(Sum::crc32c()),
            Self::Sha256 => Some(Sum::sha256()),
            Self::Xxh3 => Some(Sum::xxh3()),
        }
    }

    /// A digest that stands for one that is not known yet. It is not computed: a sha256 of nothing takes a third of the
    /// time of an empty object (`benches/write`).
    pub(super) fn unknown(self) -> Option<Digest<'static>> {
        match self {
            Self::None => None,
            Self::Crc32c => Some(Digest::Crc32c(0)),
            Self::Sha256 => Some(Digest::Sha256([0; 32])),
            Self::Xxh3 => Some(Digest::Xxh3(0)),
        }
    }
}

/// Settings that go together, for the file that is being written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) writing: &'static Writing,
    pub(super) checksum: Checksum,
    /// A power of two.
    pub(super) alignment: u64,
    pub(super) canonical: bool,
    /// True if components of equal bytes share a blob.
    pub(super) sharing: bool,
}

impl Target {
    /// Checks that the file may have shards.
    ///
    /// # Errors
    /// [`Misuse::NoShards`].
    pub(super) fn has_shards(&self) -> Result<(), BareError> {
        if self.canonical || !self.writing.dialect.has_shards {
            return Err(BareError::misuse(Misuse::NoShards));
        }
        Ok(())
    }

    /// The next place for a blob; none beyond the last that there is.
    pub(super) fn aligned(&self, position: u64) -> Option<u64> {
        let rest = self.alignment.wrapping_sub(1);
        Some(position.checked_add(rest)? & !rest)
    }

    /// The order in which names of objects, and roles in an object, come in canonical form.
    pub(super) fn order(&self, a: &[u8], b: &[u8]) -> Ordering {
        if self.writing.deterministic { a.cmp(b) } else { by_length(a, b) }
    }
}
