//! How to write, as the command line asks.

use zten::write::{Checksum, Level, Settings};

use crate::args::{Convert, Digest};

/// How to write, as the command line asks.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) settings: Settings,
    pub(super) canonical: bool,
    pub(super) level: Option<Level>,
}

impl Plan {
    /// What the arguments ask for, or why that cannot be.
    pub(super) fn new(args: &Convert) -> Result<Self, &'static str> {
        if args.canonical && !matches!(args.digest, None | Some(Digest::Sha256)) {
            return Err("a canonical file has sha256 digests: --canonical takes no other --digest");
        }
        let checksum = match args.digest {
            None | Some(Digest::Sha256) => Checksum::Sha256,
            Some(Digest::Crc32c) => Checksum::Crc32c,
            Some(Digest::None) => Checksum::None,
        };
        let limits = *args.strictness.options().limit();
        let settings = Settings::default().checksum(checksum).limits(limits);
        let settings = if args.canonical { settings.canonical() } else { settings };
        Ok(Self { settings, canonical: args.canonical, level: args.zstd })
    }
}
