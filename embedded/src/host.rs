//! Runs the images for a Cortex-M4 in an emulator, and checks what they print.

pub mod emulator;
pub mod image;
pub mod network;
pub mod printed;
pub mod validate;

use std::error::Error;
use std::path::{Path, PathBuf};

/// A result with an error of any type.
pub type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// Returns the path of `within`, which is relative to the folder `embedded`.
pub fn path(within: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(within)
}
