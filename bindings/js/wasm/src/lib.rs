//! The wasm modules over `zten`: opening a file, describing what is not valid, the border with the host,
//! and the functions that the package for JavaScript or the page calls.
//!
//! An instance serves one file. What belongs to a file is never freed, and goes with the
//! instance: the host makes a new one for each file, so that no file meets what another left.
#![forbid(unsafe_code)]
// Beyond the lints of the workspace: a module that panics answers nothing.
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
#[cfg(feature = "formats")]
pub mod formats;
pub mod name;
#[cfg(all(target_arch = "wasm32", not(feature = "page")))]
pub mod package;
#[cfg(feature = "page")]
pub mod page;
pub mod problem;
pub mod session;

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
