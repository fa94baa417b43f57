//! Builds the images, and measures how much flash memory they take.

use std::path::{Path, PathBuf};
use std::process::Command;

use object::Endianness;
use object::elf::{FileHeader32, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader};

use super::{Result, path};

const TARGET: &str = "thumbv7em-none-eabihf";

/// An image that has been built.
pub struct Image {
    /// The path of its ELF file.
    pub path: PathBuf,
    /// The number of bytes of flash memory that the image takes: vectors, code, constants, and data that is copied to
    /// RAM.
    pub flash: u64,
}

/// Builds the image `name` with the features `features`, which are separated by commas.
pub fn build(name: &str, features: &str) -> Result<Image> {
    // Images are built in a target folder of their own, because `cargo run` may have locked the usual one.
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| path("../target"), PathBuf::from);
    let target = target.join("images");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(path("."));
    cargo.arg("--config").arg(remap(&[])?.trim());
    cargo.args([
        "build",
        "--locked",
        "--profile",
        "small",
        "-p",
        "zten-embedded",
        "--target",
        TARGET,
    ]);
    cargo.args([
        "--bin",
        name,
        "--no-default-features",
        "--features",
        &format!("image,{features}"),
    ]);
    if !cargo.arg("--target-dir").arg(&target).status()?.success() {
        return Err(format!("cargo cannot build the firmware {name}").into());
    }
    let path = target.join(TARGET).join("small").join(name);
    remap(&[&path])?;
    Ok(Image { flash: flash(&path)?, path })
}

/// Runs `.ci/remap`, which keeps paths of this machine out of images, and returns its output: without `files`, a setting of Cargo
/// that replaces these paths. With `files`, fails if one of them contains such a path.
fn remap(files: &[&Path]) -> Result<String> {
    let output = Command::new(path("../.ci/remap")).args(files).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the number of bytes of flash memory that an ELF file fills.
fn flash(path: &Path) -> Result<u64> {
    let bytes = std::fs::read(path)?;
    let header = FileHeader32::<Endianness>::parse(&*bytes)?;
    let endian = header.endian()?;
    let segments = header.program_headers(endian, &*bytes)?.iter();
    let loaded = segments.filter(|segment| segment.p_type(endian) == PT_LOAD);
    Ok(loaded.map(|segment| u64::from(segment.p_filesz(endian))).sum())
}
