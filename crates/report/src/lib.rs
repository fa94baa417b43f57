//! How zTensor files are shown, by whatever shows them: names and attribute values of untrusted
//! files as text that hides nothing, elements, and a JSON writer that holds nothing.

#![forbid(unsafe_code)]

pub mod archive;
pub mod blocks;
pub mod clause;
pub mod diagnostic;
pub mod element;
pub mod escape;
pub mod finding;
pub mod json;
pub mod natural;
pub mod network;
pub mod npy;
pub mod size;
pub mod spelled;
pub mod statistics;
pub mod totals;
pub mod value;
