//! Tests of the package with the corpus and with files that the tests write.

mod block;
mod corpus;
mod files;
mod formats;
mod llama;
mod quantized;

use std::path::PathBuf;

use candle_core::{DType, Tensor};

/// Returns the path of the file `name` of the corpus.
fn corpus(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

/// Converts `tensor`, whose type candle converts to `f32` without loss, to `f32`, and returns the bits of its elements.
fn bits(tensor: &Tensor) -> Vec<u32> {
    let all = tensor.flatten_all().unwrap().to_dtype(DType::F32).unwrap();
    all.to_vec1::<f32>().unwrap().into_iter().map(f32::to_bits).collect()
}

/// Returns an endless sequence of numbers between -1 and 1, which only depends on `seed`.
fn numbers(seed: u32) -> impl Iterator<Item = f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(f32::from(u16::try_from(state >> 16).unwrap()) / 32_768.0 - 1.0)
    })
}
