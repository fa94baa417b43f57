//! A model in flash memory: [`layer`], a module to copy into other projects; the images for a Cortex-M4 that run a
//! network in place; and the host program that runs them in an emulator.
#![cfg_attr(target_os = "none", no_std)]

#[cfg(not(target_os = "none"))]
pub mod host;
#[cfg(all(target_os = "none", feature = "image"))]
pub mod image;
pub mod layer;
