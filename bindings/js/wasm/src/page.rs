//! What the page for browsers shows of a file: descriptions, statistics, pictures, values and validations. Each export answers with a JSON document.

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
