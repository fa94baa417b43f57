//! The code that every wasm module over `zten` shares: opening a file, describing what is not valid,
//! and the border with the host.
//!
//! An instance serves one file. What belongs to a file is never freed, and goes with the
//! instance: the host makes a new one for each file, so that no file meets what another left.
#![forbid(unsafe_code)]

#[cfg(target_arch = "wasm32")]
pub mod border;
#[cfg(feature = "formats")]
pub mod formats;
pub mod problem;
pub mod session;
