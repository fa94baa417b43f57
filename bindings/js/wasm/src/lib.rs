//! The wasm modules of `zten`: opening a file, reporting findings, writing a file, the interface to the host, and the exports
//! for the JavaScript package or the page.
//!
//! An instance serves one file, and never frees the state of the file. The host makes a new instance for each file, so that a
//! file cannot influence another one.
#![forbid(unsafe_code)]
// These lints are stricter than those of the workspace, because a module cannot answer after a panic.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

#[cfg(target_arch = "wasm32")]
pub mod border;
#[cfg(feature = "reading")]
pub mod name;
#[cfg(all(target_arch = "wasm32", feature = "reading"))]
pub mod opening;
#[cfg(all(target_arch = "wasm32", feature = "reading", not(feature = "page")))]
pub mod package;
#[cfg(feature = "page")]
pub mod page;
pub mod problem;
#[cfg(feature = "reading")]
pub mod session;
#[cfg(feature = "reading")]
pub mod siblings;
#[cfg(all(target_arch = "wasm32", feature = "write"))]
pub mod write;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
