//! The values of MX objects, whose elements share scales, of GGUF blocks, and of groups of tensors that follow a convention.

use std::io;

use zten::conventions::Convention;
use zten::formats::Block;
use zten::{Component, Layout, Tensor, verify::Verified, view::MxBlocks};
use zten_report::blocks::is_dequantized;

use super::feed::{ChunkFn, ComponentReader, Failure};
use crate::args::Cat;

/// A quantized object whose values are printed instead of its components.
pub(super) enum Quantized<'a> {
    /// The shape of MX blocks, and the component that holds their scales.
    Mx(MxBlocks, Component<'a>),
    Blocks(&'static Block),
    /// The tensor into which an archive with conventions joins stored codes, scales and zero points.
    Group(Tensor<'a>),
}

/// Returns whether `object` is quantized, and the command line asks for its values instead of a component.
pub(super) fn is_requested(object: &Tensor<'_>, args: &Cat) -> bool {
    let is_such = object.layout() == Layout::Mx || is_dequantized(object);
    is_such && args.component.is_none() && !args.raw
}

/// Returns `object` as a quantized object if the command line asks for its values.
pub(super) fn requested<'a>(object: &Tensor<'a>, args: &Cat) -> Option<Quantized<'a>> {
    if !is_requested(object, args) {
        return None;
    }
    match Block::of_layout(object) {
        Some(block) => Some(Quantized::Blocks(block)),
        None if Convention::of(object).is_some() => Some(Quantized::Group(*object)),
        None => Some(Quantized::Mx(object.mx_blocks().ok()?, object.component("scales")?)),
    }
}

/// Passes the values of `quantized` to `take` as little-endian `f32`. Returns a component whose digest cannot be verified, if
/// there is one.
pub(super) fn read<'a>(
    quantized: &Quantized<'a>,
    reader: &ComponentReader<'a>,
    take: &mut ChunkFn<'_>,
) -> Result<Option<Component<'a>>, Failure> {
    match quantized {
        Quantized::Mx(blocks, scales) => read_mx(blocks, scales, reader, take),
        Quantized::Group(object) => {
            let mut values = object.dequantizer()?;
            while let Some(chunk) = values.next_chunk()? {
                hand_on(chunk, take).map_err(Failure::Output)?;
            }
            Ok(None)
        }
        Quantized::Blocks(block) => {
            let mut blocks = block.dequantizer();
            let verified =
                reader.read(&mut |chunk| blocks.chunk(chunk, |values| hand_on(values, take)))?;
            Ok((verified == Verified::Unverifiable).then_some(*reader.component))
        }
    }
}

/// Passes `values` to `take` as little-endian bytes.
fn hand_on(values: &[f32], take: &mut ChunkFn<'_>) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    take(&bytes)
}

/// Passes the values of an MX object to `take`. The scales are read first, and held in memory.
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
