//! Building packages of this workspace for other targets.

use std::io;
use std::path::{Path, PathBuf};

use zten_testkit::process::Build;

/// Builds a package as the image that it is, in a folder of its own within `into`, and returns where
/// what it makes is put. `flags` are the compiler's, separated by 0x1f.
///
/// # Errors
/// Whatever keeps cargo from building it; the target may not be installed.
pub fn build(
    into: &Path,
    package: &str,
    target: &str,
    features: &str,
    flags: &str,
) -> io::Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let (target, flags) = (Some(target), Some(flags));
    let package_of = Build::released(&manifest, package);
    Build { profile: "image", target, features, flags, ..package_of }.run(&into.join(package))
}
