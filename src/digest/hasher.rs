//! Computing and comparing digests and checksums. SHA-256 and CRC-32C need the feature `digest`.

use super::Digest;

/// The outcome of verifying a component's digest. A mismatch is an error instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verified {
    /// The bytes have the digest that the manifest gives.
    Digest,
    /// The manifest gives no digest.
    NoDigest,
    /// The digest cannot be verified: its algorithm is unknown, or needs the feature `digest`. Or the file has a checksum, which
    /// needs the feature `deflate`.
    Unverifiable,
}

/// The digest of the manifest, and the digest that was computed and differs.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    expected: Digest<'static>,
    computed: Digest<'static>,
}

impl Mismatch {
    /// Returns the digest that the manifest gives.
    pub fn expected(&self) -> Digest<'static> {
        self.expected
    }

    /// Returns the digest that was computed by the same algorithm.
    pub fn computed(&self) -> Digest<'static> {
        self.computed
    }

    /// Returns the first four bytes of the expected digest in the upper half of the number, and those of the computed digest in the
    /// lower half. An error has room for no more.
    pub(crate) fn heads(&self) -> u64 {
        u64::from(self.expected.head()) << 32 | u64::from(self.computed.head())
    }
}

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "expected {}, computed {}", self.expected, self.computed)
    }
}

/// A digest that is being computed.
#[derive(Clone)]
#[cfg_attr(
    feature = "digest",
    expect(
        clippy::large_enum_variant,
        reason = "there is one for each reader, and each file that is being written"
    )
)]
pub(crate) enum Sum {
    #[cfg(feature = "digest")]
    Sha256(sha2::Sha256),
    #[cfg(feature = "digest")]
    Crc32c(crc::Digest<'static, u32, Tables>),
    Xxh3(Xxh3),
}

/// Creates the tables of a checksum algorithm.
#[cfg(all(feature = "digest", not(all(target_arch = "wasm32", feature = "std"))))]
macro_rules! tables {
    ($algorithm:expr) => {
        Crc::new(&$algorithm)
    };
}
#[cfg(all(feature = "digest", target_arch = "wasm32", feature = "std"))]
macro_rules! tables {
    ($algorithm:expr) => {
        Crc::new(|| crc::Crc::<u32, Tables>::new(&$algorithm))
    };
}

#[cfg(feature = "digest")]
static CRC32C: Crc = tables!(crc::CRC_32_ISCSI);

#[cfg(all(feature = "digest", not(all(target_arch = "wasm32", feature = "std"))))]
type Crc = crc::Crc<u32, Tables>;
/// The tables of WebAssembly modules are computed at their first use, because modules are downloaded, and tables do not
/// compress.
#[cfg(all(feature = "digest", target_arch = "wasm32", feature = "std"))]
type Crc = std::sync::LazyLock<crc::Crc<u32, Tables>>;

/// Sixteen tables of 1 KiB are several times as fast as a single table.
#[cfg(feature = "digest")]
type Tables = crc::Table<16>;

impl Sum {
    #[cfg(feature = "digest")]
    pub(crate) fn sha256() -> Self {
        Self::Sha256(sha2::Digest::new())
    }

    #[cfg(feature = "digest")]
    pub(crate) fn crc32c() -> Self {
        Self::Crc32c(CRC32C.digest())
    }

    /// Creates an XXH3-64 sum with seed 0, which allocates no memory.
    pub(crate) fn xxh3() -> Self {
        Self::Xxh3(Xxh3::new(twox_hash::xxhash3_64::SecretBuffer::default()))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            #[cfg(feature = "digest")]
            Self::Sha256(hasher) => sha2::Digest::update(hasher, bytes),
            #[cfg(feature = "digest")]
            Self::Crc32c(hasher) => hasher.update(bytes),
            Self::Xxh3(hasher) => core::hash::Hasher::write(hasher, bytes),
        }
    }

    pub(crate) fn finish(&self) -> Digest<'static> {
        match self {
            #[cfg(feature = "digest")]
            Self::Sha256(hasher) => Digest::Sha256(sha2::Digest::finalize(hasher.clone()).into()),
            #[cfg(feature = "digest")]
            Self::Crc32c(hasher) => Digest::Crc32c(hasher.clone().finalize()),
            Self::Xxh3(hasher) => Digest::Xxh3(core::hash::Hasher::finish(hasher)),
        }
    }
}

/// A hasher of a component's bytes, with the digest and the checksum that they should have.
pub(crate) struct Hasher {
    sum: Option<(Sum, Digest<'static>)>,
    /// The running CRC-32 that a file of another format stores for the component, and its expected value.
    #[cfg(feature = "deflate")]
    checksum: Option<(crc32fast::Hasher, u32)>,
    /// The outcome if no digest is computed.
    without: Verified,
}

type Xxh3 = twox_hash::xxhash3_64::RawHasher<&'static [u8; 192]>;

impl Hasher {
    pub(crate) fn new(digest: Option<Digest<'_>>) -> Self {
        let sum = digest.and_then(|digest| match digest {
            #[cfg(feature = "digest")]
            Digest::Sha256(wanted) => Some((Sum::sha256(), Digest::Sha256(wanted))),
            #[cfg(feature = "digest")]
            Digest::Crc32c(wanted) => Some((Sum::crc32c(), Digest::Crc32c(wanted))),
            Digest::Xxh3(wanted) => Some((Sum::xxh3(), Digest::Xxh3(wanted))),
            _ => None,
        });
        let without = if digest.is_some() { Verified::Unverifiable } else { Verified::NoDigest };
        Self {
            sum,
            #[cfg(feature = "deflate")]
            checksum: None,
            without,
        }
    }

    /// Creates a hasher for bytes that were verified before, which computes nothing and returns `outcome`.
    pub(crate) fn found(outcome: Verified) -> Self {
        Self { without: outcome, ..Self::new(None) }
    }

    /// Sets the CRC-32 that the bytes should have, if `checksum` is one. Without the feature `deflate` the CRC-32 is not
    /// computed, and the outcome is [`Verified::Unverifiable`].
    pub(crate) fn with_checksum(mut self, checksum: Option<u32>) -> Self {
        #[cfg(feature = "deflate")]
        {
            self.checksum = checksum.map(|wanted| (crc32fast::Hasher::new(), wanted));
        }
        #[cfg(not(feature = "deflate"))]
        if checksum.is_some() {
            self.without = Verified::Unverifiable;
        }
        self
    }

    /// Returns whether the hasher computes a CRC-32.
    #[cfg_attr(
        not(feature = "deflate"),
        expect(clippy::unused_self, reason = "the field is there with the feature only")
    )]
    pub(crate) fn has_checksum(&self) -> bool {
        #[cfg(feature = "deflate")]
        return self.checksum.is_some();
        #[cfg(not(feature = "deflate"))]
        false
    }

    /// Returns the CRC-32 of the bytes so far, if it differs from the expected CRC-32. Returns `None` if they are equal, or if no
    /// CRC-32 is computed.
    #[cfg_attr(
        not(feature = "deflate"),
        expect(clippy::unused_self, reason = "the field is there with the feature only")
    )]
    pub(crate) fn wrong_checksum(&self) -> Option<u32> {
        #[cfg(feature = "deflate")]
        return self.checksum.as_ref().and_then(|(sum, wanted)| {
            let computed = sum.clone().finalize();
            (computed != *wanted).then_some(computed)
        });
        #[cfg(not(feature = "deflate"))]
        None
    }

    /// Returns whether the component has a digest or checksum that this build cannot compute, and no digest is computed.
    pub(crate) fn is_unverifiable(&self) -> bool {
        self.sum.is_none() && self.without == Verified::Unverifiable
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        if let Some((sum, _)) = &mut self.sum {
            sum.update(bytes);
        }
        #[cfg(feature = "deflate")]
        if let Some((sum, _)) = &mut self.checksum {
            sum.update(bytes);
        }
    }

    /// Compares the digest of all bytes with the expected digest, and returns the outcome. The CRC-32 is not compared here, but by
    /// [`wrong_checksum`](Self::wrong_checksum).
    pub(crate) fn finish(self) -> Result<Verified, Mismatch> {
        let Some((sum, expected)) = self.sum else { return Ok(self.without) };
        let computed = sum.finish();
        if expected == computed {
            Ok(Verified::Digest)
        } else {
            Err(Mismatch { expected, computed })
        }
    }
}
