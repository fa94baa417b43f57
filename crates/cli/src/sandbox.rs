//! `zten sandbox`: what a confined process may not do.

#[cfg(target_os = "linux")]
mod trials;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/unsupported_platform.rs"]
mod trials;

pub(crate) use trials::run;
