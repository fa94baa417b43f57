//! How to write: digests, the canonical form, and the limits of those who will read.

use crate::limits::{Limits, Options};

/// Which digest each component gets, over its stored bytes: v1.2 §1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Checksum {
    /// None.
    None,
    /// CRC-32C, which finds accidents.
    Crc32c,
    /// SHA-256.
    #[default]
    Sha256,
}

/// How a file is written. By default each component gets a sha256, objects come in any order,
/// and nothing goes beyond the default [`Limits`], or those that a file was opened with that is
/// appended to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    checksum: Checksum,
    canonical: bool,
    limits: Option<Limits>,
}

impl Settings {
    /// These settings with other digests.
    #[must_use]
    pub fn checksum(mut self, checksum: Checksum) -> Self {
        self.checksum = checksum;
        self
    }

    /// These settings for readers that have other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// These settings, for a file in canonical form: one content has one file
    /// (`docs/canonical.md`). Objects and components must then come in
    /// [`canonical_order`](super::canonical_order), none of them compressed, and all get a sha256.
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.canonical = true;
        self
    }

    pub(super) fn is_canonical(&self) -> bool {
        self.canonical
    }

    pub(super) fn sums(&self) -> Checksum {
        if self.canonical { Checksum::Sha256 } else { self.checksum }
    }

    /// The options of those who will read a new file.
    pub(super) fn options(&self) -> Options {
        let options = Options::default().limits(self.limits.unwrap_or_default());
        if self.canonical { options.canonical() } else { options }
    }

    /// The options of those who will read a file that was opened with `old`, and is appended to.
    pub(super) fn options_behind(&self, old: &Options) -> Options {
        old.any_form().limits(self.limits.unwrap_or(*old.limit()))
    }
}
