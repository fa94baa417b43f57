//! How to write, as the command line asks.

use zten::write::{Checksum, Level, Settings};

use super::output::Target;
use crate::args::{Convert, Digest};

/// How to write, as the command line asks.
#[derive(Clone, Copy)]
pub(super) struct Plan {
    pub(super) target: Target,
    pub(super) settings: Settings,
    pub(super) canonical: bool,
    pub(super) level: Option<Level>,
}

impl Plan {
    /// What the arguments ask for, or why that cannot be.
    pub(super) fn new(args: &Convert) -> Result<Self, &'static str> {
        let target = Target::from_path(&args.output).ok_or(
            "the name of OUT says what is written: it ends in .zt, .safetensors, .npz or .npy",
        )?;
        let asks = args.canonical || args.zstd.is_some() || args.digest.is_some();
        if target != Target::Tensors && asks {
            return Err("--zstd, --digest and --canonical are for an OUT that ends in .zt");
        }
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
        Ok(Self { target, settings, canonical: args.canonical, level: args.zstd })
    }
}
