//! The questions of the page to `zten`: each is answered by one JSON document.

mod dequantize;
pub mod describe;
#[cfg(target_arch = "wasm32")]
pub mod exports;
pub mod histogram;
pub mod picture;
pub mod save;
mod sparsity;
pub mod statistics;
pub mod validate;
pub mod values;
