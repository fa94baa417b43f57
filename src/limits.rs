//! The limits on what a file may cost, and the tolerances that a caller may set.

use crate::error::{Error, Misuse};
use crate::num::enum_all;

/// The constants of the zTensor formats: alignments of blobs, and bounds on sizes and on the depth of nesting.
pub(crate) mod format {
    /// The alignment of blobs in bytes before generation 2: v0.1 §3.2, v1.1 I.2, v1.2 §4.
    pub(crate) const ALIGNMENT: u64 = 64;
    /// The alignment of blobs in bytes in generation 2: v2 §2.4.
    pub(crate) const ALIGNMENT_V2: u64 = 4096;
    /// The alignment of blobs in bytes in canonical files of generation 2: v2 §6.3.
    pub(crate) const CANONICAL_ALIGNMENT_V2: u64 = 65536;
    /// The largest size of a manifest in bytes: v1.1 IV.1 step 4, v1.2 §5 step 4, v2 §3.1. For 0.1, which has no such rule,
    /// it is a decision of zten.
    pub(crate) const MANIFEST_CAP: u64 = 1 << 30;
    /// The largest depth of nesting of CBOR items in a manifest, for which the decoder has room.
    pub(crate) const DEPTH_CAP: u8 = 64;
    /// The largest depth of nesting of CBOR items in generation 2: v2 §3.1.
    pub(crate) const DEPTH_V2: u8 = 32;
    /// The depth of nesting of CBOR items that the format itself needs. The limit `depth` cannot be set below it.
    pub(crate) const DEPTH_FLOOR: u8 = 6;
    /// The largest size of a chunk of content in bytes.
    pub(crate) const CHUNK_CAP: u32 = 64 << 10;
    /// The size in bytes of the largest element. The size of a chunk is a multiple of it.
    pub(crate) const CHUNK_FLOOR: u32 = 16;
}

/// Declares [`Limits`]: each limit that is a single number, with its default and its smallest and largest value.
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
            /// The names of limits that [`with_named`](Self::with_named) accepts.
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

            /// Returns these limits with the limit `name` set to `value`. `name` is the name in the catalog without
            /// `limit-`, as on a command line.
            ///
            /// # Errors
            /// [`Misuse::Limit`] if there is no such limit, or if it cannot have this value: `manifest` is at most 1
            /// GiB and `depth` from 6 to 64, because the index and the decoder are built for these, and `rank`, `keys` and
            /// `shards` have 32 bits.
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
    /// The limits on what a file may cost. Each limit is checked before memory or time is spent.
    ///
    /// ```
    /// let limits = zten::Limits::default().with_keys(64);
    /// assert_eq!(limits.keys(), 64);
    /// ```
    Limits:

    /// Returns the largest size of the manifest in bytes that is accepted. The default and the largest possible limit are 1 GiB.
    manifest: u64 = format::MANIFEST_CAP, in (0, format::MANIFEST_CAP);
    /// Returns these limits with another limit, in bytes, on the size of the manifest: at most 1 GiB, for which the index is built.
    with_manifest;

    /// Returns the largest number of levels of nesting in the manifest's CBOR that is accepted; the root is level 1. The default
    /// and the largest possible limit are 64. Generation 2 itself allows at most 32 levels.
    depth: u8 = format::DEPTH_CAP, in (format::DEPTH_FLOOR, format::DEPTH_CAP);
    /// Returns these limits with another limit on the number of levels of nesting: at least 6, which the format itself needs, and
    /// at most 64, for which the decoder is built.
    with_depth;

    /// Returns the largest number of dimensions of a shape that is accepted. The default is 64. A shape of more than 4,096
    /// dimensions exceeds any limit.
    rank: u32 = 64, in (0, u32::MAX);
    /// Returns these limits with another limit on the number of dimensions of a shape.
    with_rank;

    /// Returns the largest number of keys of an interpreted map, except `objects`, that is accepted. The default is 4,096.
    keys: u32 = 4096, in (0, u32::MAX);
    /// Returns these limits with another limit on the number of keys of a map.
    with_keys;

    /// Returns the largest number of shards of a file (2) that is accepted. The default is 1,024.
    shards: u32 = 1024, in (0, u32::MAX);
    /// Returns these limits with another limit on the number of shards (2).
    with_shards;

    /// Returns the largest window in bytes of a zstd frame that is accepted. The default is 128 MiB.
    window: u64 = 128 << 20, in (0, u64::MAX);
    /// Returns these limits with another limit, in bytes, on the window of a zstd frame.
    with_window;

    /// Returns the largest memory in bytes that a single component or object may need: the decoded size of a compressed component,
    /// the blob and the elements of a strided component, and 8 bytes for each row or cell of a sparse object of 2 that is
    /// validated. The default is 4 GiB.
    decoded: u64 = 4 << 30, in (0, u64::MAX);
    /// Returns these limits with another limit, in bytes, on the memory for a single component or object.
    with_decoded;
}

impl Limits {
    /// Returns limits for a reader with little memory: manifest 1 MiB, window 256 KiB, decoded 8 MiB, chunks of 1 KiB.
    pub fn embedded() -> Self {
        Self { manifest: 1 << 20, window: 256 << 10, decoded: 8 << 20, ..Self::default() }
            .with_chunk(1 << 10)
    }

    /// Returns these limits with content read in chunks of at most `bytes` bytes, which is rounded down to a multiple of 16,
    /// but to 16 at least and 64 KiB at most. No file is rejected by this limit. It bounds how much is read at a time from a
    /// source that does not lend its bytes.
    #[must_use]
    pub fn with_chunk(mut self, bytes: u32) -> Self {
        let bytes = bytes.clamp(format::CHUNK_FLOOR, format::CHUNK_CAP);
        self.chunk = bytes & !(format::CHUNK_FLOOR - 1);
        self
    }

    /// Returns these limits with another number of bytes that all compressed components may decode to together, and
    /// that all components may have together if blobs are shared. The size of the file is always allowed for shared
    /// blobs.
    #[must_use]
    pub fn with_decoded_total(mut self, bytes: u64) -> Self {
        self.decoded_total = Some(bytes);
        self
    }

    /// Returns the largest size of a chunk of content in bytes. The default and the largest value are 64 KiB.
    pub fn chunk(&self) -> u32 {
        self.chunk
    }

    /// Returns the number of bytes that all compressed components of a file of `file_len` bytes may decode to together,
    /// and that all components may have together if blobs are shared. The default is 64 GiB plus 64 times the size of
    /// the file.
    pub fn decoded_total(&self, file_len: u64) -> u64 {
        let default = file_len.saturating_mul(64).saturating_add(64 << 30);
        self.decoded_total.unwrap_or(default)
    }

    /// Returns the number of bytes that all components in a file of `file_len` bytes may have together if blobs are
    /// shared: at least the size of the file, which components without sharing never exceed.
    pub(crate) fn shared_total(&self, file_len: u64) -> u64 {
        self.decoded_total(file_len).max(file_len)
    }
}

enum_all! {
/// A kind of file that is rejected by default, and can be accepted by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tolerance with
    /// Returns the name of the tolerance, which the option `--tolerate` of the command takes.
    pub fn name -> &'static str
{
    /// `narrow-indices`: integer index types other than `u64` in 1.2 files.
    NarrowIndices = "narrow-indices",
    /// `shared-blobs`: several components of a file of 0.1 or 1.x that have one blob, with the same offset and length. Without
    /// this tolerance they break `blob-overlap`, unless the blob is empty. Blobs that overlap only in part break it in any case.
    SharedBlobs = "shared-blobs",
    /// `missing-zeros`: a quantized object without `zeros`, which is symmetric.
    MissingZeros = "missing-zeros",
    /// `torch-global`: globals that zten does not know in a checkpoint of PyTorch. Nothing is imported or called: their objects
    /// are opaque, and the tensors are read. A check of the file still reports `torch-global`.
    TorchGlobal = "torch-global",
}
}

impl Tolerance {
    /// All tolerances.
    pub const ALL: &'static [Self] = &Self::LIST;

    fn bit(self) -> u8 {
        1 << (self.ordinal() & 7)
    }
}

/// Options for opening a file: [`Limits`], [`Tolerance`]s, and the canonical form. The default has no tolerances and
/// does not ask for the canonical form.
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

    /// Returns these options with `tolerance` added.
    #[must_use]
    pub fn tolerate(mut self, tolerance: Tolerance) -> Self {
        self.tolerated |= tolerance.bit();
        self
    }

    /// Returns these options with the tolerance called `name` added.
    ///
    /// # Errors
    /// [`Misuse::Tolerance`] if there is no tolerance called `name`.
    pub fn tolerate_named(self, name: &str) -> Result<Self, Error> {
        let known = Tolerance::ALL.iter().find(|tolerance| tolerance.name() == name);
        known.map(|t| self.tolerate(*t)).ok_or(Misuse::Tolerance.into())
    }

    pub(crate) fn tolerates(&self, tolerance: Tolerance) -> bool {
        self.tolerated & tolerance.bit() != 0 && !self.canonical
    }

    /// Returns whether globals that zten does not know are tolerated in checkpoints of PyTorch.
    #[cfg_attr(
        not(feature = "detect"),
        expect(dead_code, reason = "only checkpoints have globals")
    )]
    pub(crate) fn tolerates_globals(&self) -> bool {
        self.tolerates(Tolerance::TorchGlobal)
    }

    /// Returns these options, accepting only the canonical form: each content has exactly one file, in which no byte
    /// can change. Tolerances do not apply. `docs/canonical.md` describes the form.
    ///
    /// Opening validates the canonical form except the padding, which [`Verifier::padding`] validates.
    ///
    /// [`Verifier::padding`]: crate::verify::Verifier::padding
    #[cfg(feature = "write")]
    #[must_use]
    pub fn canonical(mut self) -> Self {
        self.canonical = true;
        self
    }

    /// Returns these options, accepting files that are not canonical, too.
    pub(crate) fn any_form(mut self) -> Self {
        self.canonical = false;
        self
    }

    pub(crate) fn is_canonical(&self) -> bool {
        cfg!(feature = "write") && self.canonical
    }

    /// Returns the limits.
    pub fn limit(&self) -> &Limits {
        &self.limits
    }
}
