//! Tests of the decoder and the encoder, beside `ruzstd`.

mod common;
mod decode;
mod encode;
mod memory;
