//! Every number that bounds what a file may cost, and what a caller may tolerate.

use crate::error::{Error, Misuse};

/// Magic, blobs and footers are aligned to, or counted in, these.
pub(crate) mod format {
    /// Every blob starts at a multiple of this: v0.1 §3.2, v1.1 I.2, v1.2 §4.
    pub(crate) const ALIGNMENT: u64 = 64;
    /// In generation 2: v2 §2.4.
    pub(crate) const ALIGNMENT_V2: u64 = 4096;
    /// In canonical files of generation 2: v2 §6.3.
    #[cfg(feature = "write")]
    pub(crate) const CANONICAL_ALIGNMENT_V2: u64 = 65536;
    /// The longest manifest: v1.1 IV.1 step 4, v1.2 §5 step 4, v2 §3.1; policy for 0.1.
    pub(crate) const MANIFEST_CAP: u64 = 1 << 30;
    /// The deepest nesting that the decoder keeps counters for.
    pub(crate) const DEPTH_CAP: u8 = 64;
    /// The deepest nesting in generation 2: v2 §3.1.
    pub(crate) const DEPTH_V2: u8 = 32;
    /// The nesting of the format itself, which no limit may go below.
    pub(crate) const DEPTH_FLOOR: u8 = 6;
    /// Bytes of a chunk of content, at most.
    pub(crate) const CHUNK_CAP: u32 = 64 << 10;
    /// Bytes of the largest element, which a chunk is a multiple of.
    pub(crate) const CHUNK_FLOOR: u32 = 16;
}

/// How much a file may ask for. Each limit is spent before memory or time is.
///
/// ```
/// let limits = zten::Limits::default().with_keys(64);
/// assert_eq!(limits.keys(), 64);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    manifest: u64,
    depth: u8,
    rank: u32,
    keys: u32,
    shards: u32,
    window: u64,
    decoded: u64,
    decoded_total: Option<u64>,
    chunk: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            manifest: format::MANIFEST_CAP,
            depth: format::DEPTH_CAP,
            rank: 64,
            keys: 4096,
            shards: 1024,
            window: 128 << 20,
            decoded: 4 << 30,
            decoded_total: None,
            chunk: format::CHUNK_CAP,
        }
    }
}

impl Limits {
    /// The names that [`with_named`](Self::with_named) knows.
    pub const NAMES: &'static [&'static str] =
        &["manifest", "depth", "rank", "keys", "shards", "window", "decoded", "decoded-total"];

    /// Limits for a reader with little memory: manifest 1 MiB, window 256 KiB, decoded 8 MiB,
    /// chunks of 1 KiB.
    pub fn embedded() -> Self {
        Self { manifest: 1 << 20, window: 256 << 10, decoded: 8 << 20, ..Self::default() }
            .with_chunk(1 << 10)
    }

    /// These limits with content read in chunks of at most so many bytes, from 16 to 64 KiB, and
    /// a multiple of 16. It bounds no file, but what reading one takes at a time where the
    /// source does not lend its bytes.
    #[must_use]
    pub fn with_chunk(mut self, bytes: u32) -> Self {
        let bytes = bytes.clamp(format::CHUNK_FLOOR, format::CHUNK_CAP);
        self.chunk = bytes & !(format::CHUNK_FLOOR - 1);
        self
    }

    /// These limits with another number of bytes of manifest; at most 1 GiB, for which the index is
    /// built.
    #[must_use]
    pub fn with_manifest(mut self, bytes: u64) -> Self {
        self.manifest = bytes.min(format::MANIFEST_CAP);
        self
    }

    /// These limits with another number of levels of nesting: at least 6, which the format itself
    /// takes, and at most 64, for which the decoder is built.
    #[must_use]
    pub fn with_depth(mut self, levels: u8) -> Self {
        self.depth = levels.clamp(format::DEPTH_FLOOR, format::DEPTH_CAP);
        self
    }

    /// These limits with another number of dimensions.
    #[must_use]
    pub fn with_rank(mut self, dimensions: u32) -> Self {
        self.rank = dimensions;
        self
    }

    /// These limits with another number of keys of a map.
    #[must_use]
    pub fn with_keys(mut self, keys: u32) -> Self {
        self.keys = keys;
        self
    }

    /// These limits with another number of shards (2) that are looked for.
    #[must_use]
    pub fn with_shards(mut self, shards: u32) -> Self {
        self.shards = shards;
        self
    }

    /// These limits with another number of bytes of a zstd window.
    #[must_use]
    pub fn with_window(mut self, bytes: u64) -> Self {
        self.window = bytes;
        self
    }

    /// These limits with another number of bytes that a compressed component decodes to.
    #[must_use]
    pub fn with_decoded(mut self, bytes: u64) -> Self {
        self.decoded = bytes;
        self
    }

    /// These limits with another number of bytes that all compressed components decode to together,
    /// and that all components take where blobs are shared, if it is more than the file has.
    #[must_use]
    pub fn with_decoded_total(mut self, bytes: u64) -> Self {
        self.decoded_total = Some(bytes);
        self
    }

    /// These limits with one changed, by its name in the catalogue (without `limit-`), as
    /// a command line gives it.
    ///
    /// # Errors
    /// [`Misuse::Limit`] where there is no such limit, or where it cannot be that number:
    /// `manifest` is at most 1 GiB and `depth` from 6 to 64; neither can be raised, because
    /// the index and the decoder are built for them.
    pub fn with_named(mut self, name: &str, value: u64) -> Result<Self, Error> {
        let misuse = Error::misuse(Misuse::Limit);
        match name {
            "manifest" if value <= format::MANIFEST_CAP => self.manifest = value,
            "depth" => {
                let depth = u8::try_from(value).map_err(|_| misuse)?;
                if !(format::DEPTH_FLOOR..=format::DEPTH_CAP).contains(&depth) {
                    return Err(misuse);
                }
                self.depth = depth;
            }
            "rank" => self.rank = u32::try_from(value).map_err(|_| misuse)?,
            "keys" => self.keys = u32::try_from(value).map_err(|_| misuse)?,
            "shards" => self.shards = u32::try_from(value).map_err(|_| misuse)?,
            "window" => self.window = value,
            "decoded" => self.decoded = value,
            "decoded-total" => self.decoded_total = Some(value),
            _ => return Err(misuse),
        }
        Ok(self)
    }

    /// Bytes of manifest. Default, and most: 1 GiB.
    pub fn manifest(&self) -> u64 {
        self.manifest
    }

    /// Levels of nesting in the manifest's CBOR, the root being level 1. Default, and most: 64.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Dimensions of a shape. Default 64.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Keys of any interpreted map but `objects`. Default 4,096.
    pub fn keys(&self) -> u32 {
        self.keys
    }

    /// Shards of a file (2) that are looked for. Default 1,024.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// Bytes of a zstd frame's window. Default 128 MiB.
    pub fn window(&self) -> u64 {
        self.window
    }

    /// Bytes that a compressed component decodes to, and that the cells of a list of coordinates of
    /// 2 take while they are validated, 8 each. Default 4 GiB.
    pub fn decoded(&self) -> u64 {
        self.decoded
    }

    /// Bytes of a chunk of content, at most. Default, and most: 64 KiB.
    pub fn chunk(&self) -> u32 {
        self.chunk
    }

    /// Bytes that all compressed components of a file of `file_len` bytes decode to together, and that
    /// all components take where blobs are shared. Default 64 GiB and 64 times the file.
    pub fn decoded_total(&self, file_len: u64) -> u64 {
        let default = file_len.saturating_mul(64).saturating_add(64 << 30);
        self.decoded_total.unwrap_or(default)
    }

    /// Bytes that all components in a file of `file_len` bytes take together, whose blobs may be shared:
    /// without sharing, no more than the file.
    pub(crate) fn shared_total(&self, file_len: u64) -> u64 {
        self.decoded_total(file_len).max(file_len)
    }
}

/// One kind of file that is refused by default and can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tolerance {
    /// `narrow-indices`: integer index types other than `u64` in 1.2 files.
    NarrowIndices,
    /// `shared-blobs`: any number of components with the identical extent.
    SharedBlobs,
    /// `missing-zeros`: a quantized object without `zeros`, which is symmetric.
    MissingZeros,
}

impl Tolerance {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::NarrowIndices, Self::SharedBlobs, Self::MissingZeros];

    /// Its name, as `--tolerate` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NarrowIndices => "narrow-indices",
            Self::SharedBlobs => "shared-blobs",
            Self::MissingZeros => "missing-zeros",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::NarrowIndices => 1,
            Self::SharedBlobs => 2,
            Self::MissingZeros => 4,
        }
    }
}

/// How strict to be: [`Limits`], [`Tolerance`]s, and the canonical form. The default tolerates
/// nothing and asks for no form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    limits: Limits,
    tolerated: u8,
    canonical: bool,
}

impl Options {
    /// These options with other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// These options with one more kind of file accepted.
    #[must_use]
    pub fn tolerate(mut self, tolerance: Tolerance) -> Self {
        self.tolerated |= tolerance.bit();
        self
    }

    /// These options with one more kind of file accepted, by its name.
    ///
    /// # Errors
    /// [`Misuse::Tolerance`] where there is none of that name.
    pub fn tolerate_named(self, name: &str) -> Result<Self, Error> {
        let known = Tolerance::ALL.iter().find(|tolerance| tolerance.name() == name);
        known.map(|t| self.tolerate(*t)).ok_or(Error::misuse(Misuse::Tolerance))
    }

    pub(crate) fn tolerates(&self, tolerance: Tolerance) -> bool {
        self.tolerated & tolerance.bit() != 0 && !self.canonical
    }

    /// These options, accepting the canonical form only: one content has one file, and no byte
    /// of it is free to change. No tolerance holds beside it. `docs/canonical.md` has the form.
    ///
    /// Opening validates all of it but the padding, which [`Verifier::padding`] does.
    ///
    /// [`Verifier::padding`]: crate::verify::Verifier::padding
    #[cfg(feature = "write")]
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.canonical = true;
        self
    }

    /// These options, accepting any form.
    #[cfg(feature = "write")]
    pub(crate) fn any_form(mut self) -> Self {
        self.canonical = false;
        self
    }

    #[cfg(feature = "write")]
    pub(crate) fn is_canonical(&self) -> bool {
        self.canonical
    }

    /// The limits.
    pub fn limit(&self) -> &Limits {
        &self.limits
    }
}
