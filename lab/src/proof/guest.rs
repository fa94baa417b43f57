//! Building images for other targets.

use std::io;
use std::path::{Path, PathBuf};

use zten_testkit::process::Build;

/// An image to be built.
pub struct Image<'a> {
    /// The program: `zten-walk` or `zten-guest`.
    pub name: &'a str,
    /// The machine that it is for.
    pub target: &'a str,
    /// Features of the package, with commas between them.
    pub features: &'a str,
    /// The flags of the compiler, separated by 0x1f.
    pub flags: &'a str,
}

/// The image that opens and checks files for its host.
const GUEST: &str = "zten-guest";

/// Builds an image in a folder of its own within `into`, and returns the folder that it is in.
///
/// # Errors
/// Whatever keeps cargo from building it; the target may not be installed.
pub fn build(into: &Path, image: &Image<'_>) -> io::Result<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let features = format!("image,{}", image.features);
    let (kind, folder) =
        if image.name == GUEST { ("--example", "examples") } else { ("--bin", "") };
    let build = Build {
        profile: "image",
        target: Some(image.target),
        features: &features,
        flags: Some(image.flags),
        arguments: &["--no-default-features", kind, image.name],
        ..Build::released(&manifest, "zten-lab")
    };
    Ok(build.run(&into.join(image.name))?.join(folder))
}

/// Builds the guest, with more features than it always has, and returns its module.
///
/// # Errors
/// Those of [`build`].
pub fn module(into: &Path, features: &str) -> io::Result<PathBuf> {
    let features = format!("zstd,write,{features}");
    let target = "wasm32-unknown-unknown";
    let guest = Image { name: GUEST, target, features: &features, flags: "" };
    Ok(build(into, &guest)?.join("zten_guest.wasm"))
}
