//! The questions of the page to `zten`: each is answered by one JSON document.
//!
//! An instance serves one file. What belongs to a file is never freed, and goes with the
//! instance: the page makes a new one for each file, so that no file meets what another left.

pub mod describe;
#[cfg(target_arch = "wasm32")]
mod guest;
pub mod histogram;
pub mod picture;
pub mod save;
mod sparsity;
pub mod statistics;
pub mod validate;
pub mod values;

use zten_guest::problem;
pub use zten_guest::session;
use zten_report::{element, npy};

#[cfg(target_arch = "wasm32")]
#[global_allocator]
static ALLOCATOR: rlsf::SmallGlobalTlsf = rlsf::SmallGlobalTlsf::new();
