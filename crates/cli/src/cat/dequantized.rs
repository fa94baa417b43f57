//! The values of an object whose elements have scales in common, or are in blocks of GGUF.

use std::io;

use zten::{Component, Layout, Tensor, verify::Verified, view::MxBlocks};
use zten_formats::Block;

use super::feed::{ChunkFn, ComponentReader, Failure};
use crate::args::Cat;

/// An object of which values are printed, and not its components.
pub(super) enum Quantized<'a> {
    /// The blocks, and the component that has their scales.
    Mx(MxBlocks, Component<'a>),
    Blocks(&'static Block),
}

/// Returns whether the values of such an object are asked for, and not one of its components.
pub(super) fn is_requested(object: &Tensor<'_>, args: &Cat) -> bool {
    let is_such = object.layout() == Layout::Mx || Block::of_layout(object).is_some();
    is_such && args.component.is_none() && !args.raw
}

/// Returns a quantized object if its values are asked for.
pub(super) fn requested<'a>(object: &Tensor<'a>, args: &Cat) -> Option<Quantized<'a>> {
    if !is_requested(object, args) {
        return None;
    }
    match Block::of_layout(object) {
        Some(block) => Some(Quantized::Blocks(block)),
        None => Some(Quantized::Mx(object.mx_blocks().ok()?, object.component("scales")?)),
    }
}

/// Hands on the values of an object as little-endian `f32`, and the component whose digest cannot be
/// verified, if there is one.
pub(super) fn read<'a>(
    quantized: &Quantized<'a>,
    reader: &ComponentReader<'a>,
    take: &mut ChunkFn<'_>,
) -> Result<Option<Component<'a>>, Failure> {
    match quantized {
        Quantized::Mx(blocks, scales) => read_mx(blocks, scales, reader, take),
        Quantized::Blocks(block) => {
            let mut blocks = block.dequantizer();
            let verified =
                reader.read(&mut |chunk| blocks.chunk(chunk, |values| hand_on(values, take)))?;
            Ok((verified == Verified::Unverifiable).then_some(*reader.component))
        }
    }
}

/// Hands on values as little-endian bytes.
fn hand_on(values: &[f32], take: &mut ChunkFn<'_>) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    take(&bytes)
}

/// Hands on the values of such an object. The scales are read first, and held.
fn read_mx<'a>(
    blocks: &MxBlocks,
    scales: &Component<'a>,
    reader: &ComponentReader<'a>,
    take: &mut ChunkFn<'_>,
) -> Result<Option<Component<'a>>, Failure> {
    let read = scales.read()?;
    let mut dequantizer = blocks.dequantizer(reader.component, read.view())?;
    let data =
        reader.read(&mut |chunk| dequantizer.chunk(chunk, |values| hand_on(values, take)))?;
    let verified = [(read.verified(), scales), (data, reader.component)];
    let not = verified.into_iter().find(|(verified, _)| *verified == Verified::Unverifiable);
    Ok(not.map(|(_, component)| *component))
}
