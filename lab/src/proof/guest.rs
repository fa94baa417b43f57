//! Building images for other targets.

use std::io;
use std::path::{Path, PathBuf};

use zten_testkit::process::Build;

/// Returns what builds an image, of which program, target and features are missing.
pub fn image() -> Build<'static> {
    let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    Build { profile: "image", flags: Some(""), ..Build::released(manifest, "zten-lab") }
}

/// Builds the guest in a folder of its own within `into`, with more features than it always has, and returns its
/// module.
///
/// # Errors
/// Whatever keeps cargo from building it; the target may not be installed.
pub fn module(into: &Path, features: &str) -> io::Result<PathBuf> {
    let features = &format!("image,zstd,write,{features}");
    let arguments = &["--no-default-features", "--example", "zten-guest"];
    let target = Some("wasm32-unknown-unknown");
    let folder = Build { target, features, arguments, ..image() }.run(&into.join("zten-guest"))?;
    Ok(folder.join("examples/zten_guest.wasm"))
}
