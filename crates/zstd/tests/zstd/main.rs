//! Tests of the decoder and the encoder, with `ruzstd` as a second decoder.

mod common;
mod decode;
mod encode;
mod memory;
