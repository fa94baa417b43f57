//! Building images for other targets.

use std::io;
use std::path::{Path, PathBuf};

use zten_testkit::process::Build;

/// Returns the settings for building an image, except for the program, the target and the features.
pub fn image() -> Build<'static> {
    let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
    Build { profile: "image", flags: Some(""), ..Build::released(manifest, "zten-lab") }
}

/// Builds the guest in its own folder within `into`, with features in addition to those that it always has. Returns its module.
///
/// # Errors
/// cargo failed. The target may not be installed.
pub fn module(into: &Path, features: &str) -> io::Result<PathBuf> {
    let features = &format!("image,zstd,write,{features}");
    let arguments = &["--no-default-features", "--example", "zten-guest"];
    let target = Some("wasm32-unknown-unknown");
    let folder = Build { target, features, arguments, ..image() }.run(&into.join("zten-guest"))?;
    Ok(folder.join("examples/zten_guest.wasm"))
}
