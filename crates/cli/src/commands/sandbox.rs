//! `zten sandbox`: tries from inside which accesses the sandbox denies.

#[cfg(target_os = "linux")]
mod trials;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/unsupported_platform.rs"]
mod trials;

pub(crate) use trials::run;
