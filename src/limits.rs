//! Every number that bounds what a file may cost, and what a caller may tolerate.

use crate::error::{Error, Misuse};
use crate::num::enum_all;

/// Magic, blobs and footers are aligned to, or counted in, these.
pub(crate) mod format {
    /// Every blob starts at a multiple of this: v0.1 §3.2, v1.1 I.2, v1.2 §4.
    pub(crate) const ALIGNMENT: u64 = 64;
    /// The alignment of blobs in generation 2: v2 §2.4.
    pub(crate) const ALIGNMENT_V2: u64 = 4096;
    /// The alignment of blobs in canonical files of generation 2: v2 §6.3.
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

/// Declares [`Limits`]: those that one number tells, with their defaults, and the least and the most that they can be.
macro_rules! limits {
    (
        $(#[$outer:meta])* $limits:ident:
        $(
            $(#[$get:meta])* $name:ident: $type:ty = $default:expr, in ($least:expr, $most:expr);
            $(#[$set:meta])* $with:ident;
        )+
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $limits {
            $( $name: $type, )+
            decoded_total: Option<u64>,
            chunk: u32,
        }

        impl Default for $limits {
            fn default() -> Self {
                Self { $( $name: $default, )+ decoded_total: None, chunk: format::CHUNK_CAP }
            }
        }

        impl $limits {
            /// The names that [`with_named`](Self::with_named) knows.
            pub const NAMES: &'static [&'static str] =
                &[$( stringify!($name), )+ "decoded-total"];

            $(
                $(#[$set])*
                #[must_use]
                pub fn $with(mut self, most: $type) -> Self {
                    self.$name = most.clamp($least, $most);
                    self
                }

                $(#[$get])*
                pub fn $name(&self) -> $type {
                    self.$name
                }
            )+

            /// Returns these limits with one changed, by its name in the catalog (without `limit-`), as
            /// a command line gives it.
            ///
            /// # Errors
            /// [`Misuse::Limit`] where there is no such limit, or where it cannot be that number:
            /// `manifest` is at most 1 GiB and `depth` from 6 to 64; neither can be raised, because
            /// the index and the decoder are built for them.
            pub fn with_named(self, name: &str, value: u64) -> Result<Self, Error> {
                let limits = match name {
                    $( stringify!($name) => {
                        let most = <$type>::try_from(value).ok();
                        most.map(|most| self.$with(most)).filter(|limits| most == Some(limits.$name))
                    } )+
                    "decoded-total" => Some(self.with_decoded_total(value)),
                    _ => None,
                };
                limits.ok_or(Misuse::Limit.into())
            }
        }
    };
}

limits! {
    /// The cost that a file may ask for. Each limit is spent before memory or time is.
    ///
    /// ```
    /// let limits = zten::Limits::default().with_keys(64);
    /// assert_eq!(limits.keys(), 64);
    /// ```
    Limits:

    /// Bytes of manifest. Default, and most: 1 GiB.
    manifest: u64 = format::MANIFEST_CAP, in (0, format::MANIFEST_CAP);
    /// Returns these limits with another number of bytes of manifest; at most 1 GiB, for which the index is
    /// built.
    with_manifest;

    /// Levels of nesting in the manifest's CBOR, the root being level 1. Default, and most: 64.
    depth: u8 = format::DEPTH_CAP, in (format::DEPTH_FLOOR, format::DEPTH_CAP);
    /// Returns these limits with another number of levels of nesting: at least 6, which the format itself
    /// takes, and at most 64, for which the decoder is built.
    with_depth;

    /// Dimensions of a shape. Default 64.
    rank: u32 = 64, in (0, u32::MAX);
    /// Returns these limits with another number of dimensions.
    with_rank;

    /// Keys of any interpreted map but `objects`. Default 4,096.
    keys: u32 = 4096, in (0, u32::MAX);
    /// Returns these limits with another number of keys of a map.
    with_keys;

    /// Shards of a file (2) that are looked for. Default 1,024.
    shards: u32 = 1024, in (0, u32::MAX);
    /// Returns these limits with another number of shards (2) that are looked for.
    with_shards;

    /// Bytes of a zstd frame's window. Default 128 MiB.
    window: u64 = 128 << 20, in (0, u64::MAX);
    /// Returns these limits with another number of bytes of a zstd window.
    with_window;

    /// Bytes that a compressed component decodes to, that one with strides lies in or is read as, and that the rows or cells
    /// of a sparse object of 2 take while they are validated, 8 each. Default 4 GiB.
    decoded: u64 = 4 << 30, in (0, u64::MAX);
    /// Returns these limits with another number of bytes that a compressed component decodes to.
    with_decoded;
}

impl Limits {
    /// Limits for a reader with little memory: manifest 1 MiB, window 256 KiB, decoded 8 MiB,
    /// chunks of 1 KiB.
    pub fn embedded() -> Self {
        Self { manifest: 1 << 20, window: 256 << 10, decoded: 8 << 20, ..Self::default() }
            .with_chunk(1 << 10)
    }

    /// Returns these limits with content read in chunks of at most so many bytes, from 16 to 64 KiB, and
    /// a multiple of 16. It bounds no file, but what reading one takes at a time where the
    /// source does not lend its bytes.
    #[must_use]
    pub fn with_chunk(mut self, bytes: u32) -> Self {
        let bytes = bytes.clamp(format::CHUNK_FLOOR, format::CHUNK_CAP);
        self.chunk = bytes & !(format::CHUNK_FLOOR - 1);
        self
    }

    /// Returns these limits with another number of bytes that all compressed components decode to together,
    /// and that all components take where blobs are shared, if it is more than the file has.
    #[must_use]
    pub fn with_decoded_total(mut self, bytes: u64) -> Self {
        self.decoded_total = Some(bytes);
        self
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

enum_all! {
/// One kind of file that is rejected by default and can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tolerance with
    /// The name, as `--tolerate` takes it.
    pub fn name -> &'static str
{
    /// `narrow-indices`: integer index types other than `u64` in 1.2 files.
    NarrowIndices = "narrow-indices",
    /// `shared-blobs`: any number of components with the identical extent.
    SharedBlobs = "shared-blobs",
    /// `missing-zeros`: a quantized object without `zeros`, which is symmetric.
    MissingZeros = "missing-zeros",
}
}

impl Tolerance {
    /// All of them.
    pub const ALL: &'static [Self] = &Self::LIST;

    fn bit(self) -> u8 {
        1 << (self.ordinal() & 7)
    }
}

/// Options for opening a file: [`Limits`], [`Tolerance`]s, and the canonical form. The default
/// tolerates nothing and asks for no form.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    limits: Limits,
    tolerated: u8,
    canonical: bool,
}

impl OpenOptions {
    /// Returns these options with other limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns these options with one more kind of file accepted.
    #[must_use]
    pub fn tolerate(mut self, tolerance: Tolerance) -> Self {
        self.tolerated |= tolerance.bit();
        self
    }

    /// Returns these options with one more kind of file accepted, by its name.
    ///
    /// # Errors
    /// [`Misuse::Tolerance`] where there is none of that name.
    pub fn tolerate_named(self, name: &str) -> Result<Self, Error> {
        let known = Tolerance::ALL.iter().find(|tolerance| tolerance.name() == name);
        known.map(|t| self.tolerate(*t)).ok_or(Misuse::Tolerance.into())
    }

    pub(crate) fn tolerates(&self, tolerance: Tolerance) -> bool {
        self.tolerated & tolerance.bit() != 0 && !self.canonical
    }

    /// Returns these options, accepting the canonical form only: one content has one file, and no byte
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

    /// Returns these options, accepting any form.
    pub(crate) fn any_form(mut self) -> Self {
        self.canonical = false;
        self
    }

    pub(crate) fn is_canonical(&self) -> bool {
        cfg!(feature = "write") && self.canonical
    }

    /// The limits.
    pub fn limit(&self) -> &Limits {
        &self.limits
    }
}
