//! The values of quantized tensors.

use std::io;

use zten::{Component, Tensor};

use super::feed::{ChunkFn, FeedFailure};
use crate::args::Cat;

/// Returns whether `object` is quantized, and the command line asks for its values instead of a component or of bytes (`--raw`).
pub(super) fn is_requested(object: &Tensor<'_>, args: &Cat) -> bool {
    object.is_quantized() && args.component.is_none() && !args.raw
}

/// Passes the values of `object` to `take` as little-endian `f32`. Returns a component whose digest cannot be verified, if
/// there is one.
pub(super) fn read<'a>(
    object: &Tensor<'a>,
    take: &mut ChunkFn<'_>,
) -> Result<Option<Component<'a>>, FeedFailure> {
    let mut values = object.dequantizer()?;
    while let Some(chunk) = values.next_chunk()? {
        hand_on(chunk, take).map_err(FeedFailure::Output)?;
    }
    Ok(values.unverifiable())
}

/// Passes `values` to `take` as little-endian bytes.
fn hand_on(values: &[f32], take: &mut ChunkFn<'_>) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    take(&bytes)
}
