//! What the page for browsers asks of the open file: descriptions, statistics, pictures, values, validations, and components saved
//! as NumPy files. Each function in `exports` answers with a JSON document, except `select`, which has no answer.

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
