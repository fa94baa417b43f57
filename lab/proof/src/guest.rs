//! Building packages of this workspace for other targets.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds a package as it would be released, in a folder of its own within `into`, and returns where
/// what it makes is put. `flags` are the compiler's, separated by 0x1f.
///
/// # Errors
/// Whatever keeps cargo from building it.
pub fn build(
    into: &Path,
    package: &str,
    target: &str,
    features: &str,
    flags: &str,
) -> Result<PathBuf, String> {
    let root = env!("CARGO_MANIFEST_DIR");
    let folder = into.join(package);
    let status = Command::new(env!("CARGO"))
        .args(["build", "--locked", "--release", "--manifest-path"])
        .arg(format!("{root}/Cargo.toml"))
        .args(["--package", package, "--target", target, "--features", features, "--target-dir"])
        .arg(&folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .status()
        .map_err(|error| error.to_string())?;
    if !status.success() {
        return Err(format!("{package} was not built for {target}: is the target installed?"));
    }
    Ok(folder.join(target).join("release"))
}
