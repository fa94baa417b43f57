//! What the page asks of `zten`: each question is answered by one JSON document.
//!
//! An instance serves one file. What belongs to a file is never freed, and goes with the
//! instance: the page makes a new one for each file, so that no file meets what another left.

#[path = "../../../cli/src/clause.rs"]
mod clause;
#[path = "../../../cli/src/diagnostic.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "the command needs more of it")]
mod diagnostic;
#[path = "../../../cli/src/element.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "the command needs more of it")]
mod element;
#[path = "../../../cli/src/escape.rs"]
#[allow(dead_code, clippy::allow_attributes, reason = "the command needs more of it")]
mod escape;
#[path = "../../../cli/src/json.rs"]
mod json;
#[path = "../../../cli/src/cat/npy.rs"]
mod npy;
#[path = "../../../cli/src/spelled.rs"]
mod spelled;

pub mod describe;
#[cfg(target_arch = "wasm32")]
mod guest;
pub mod histogram;
pub mod judge;
pub mod picture;
mod problem;
pub mod save;
pub mod session;
mod sparsity;
pub mod statistics;
mod widen;
