//! A model in flash: [`layer`], a module to be copied; the images of a Cortex-M4 that read one in place; and what
//! runs them in an emulator.
#![cfg_attr(target_os = "none", no_std)]

#[cfg(not(target_os = "none"))]
pub mod host;
#[cfg(all(target_os = "none", feature = "image"))]
pub mod image;
pub mod layer;
