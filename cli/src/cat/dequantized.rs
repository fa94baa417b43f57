//! The values of an object whose elements have scales in common, or are in blocks of GGUF.

use std::io;

use zten::{Component, Format, Object, verify::Verified, view::Mx};
use zten_formats::Block;

use super::feed::{ComponentReader, Failure, Take};
use crate::args::Cat;

/// An object of which values are printed, and not its components.
pub(super) enum Quantized<'a> {
    Mx(Box<Mx<'a, Component<'a>>>),
    Blocks(&'static Block),
}

/// Returns whether the values of such an object are asked for, and not one of its components.
pub(super) fn is_asked(object: &Object<'_>, args: &Cat) -> bool {
    let is_such = object.format() == Format::Mx || Block::of_layout(object).is_some();
    is_such && args.component.is_none() && !args.raw
}

/// Such an object, if its values are asked for.
pub(super) fn asked<'a>(object: &Object<'a>, args: &Cat) -> Option<Quantized<'a>> {
    if !is_asked(object, args) {
        return None;
    }
    match Block::of_layout(object) {
        Some(block) => Some(Quantized::Blocks(block)),
        None => object.mx().ok().map(|mx| Quantized::Mx(Box::new(mx))),
    }
}

/// Hands on the values of an object as little-endian `f32`, and the component whose digest cannot be
/// verified, if there is one.
pub(super) fn read<'a>(
    quantized: &Quantized<'a>,
    reader: &ComponentReader<'a>,
    take: &mut Take<'_>,
) -> Result<Option<Component<'a>>, Failure> {
    match quantized {
        Quantized::Mx(mx) => read_mx(mx, reader, take),
        Quantized::Blocks(block) => {
            let mut blocks = block.dequantizer();
            let verified =
                reader.read(&mut |chunk| blocks.chunk(chunk, |values| hand_on(values, take)))?;
            Ok((verified == Verified::Unverifiable).then_some(*reader.component))
        }
    }
}

/// Hands on values as little-endian bytes.
fn hand_on(values: &[f32], take: &mut Take<'_>) -> io::Result<()> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    take(&bytes)
}

/// Hands on the values of such an object. The scales are read first, and held.
fn read_mx<'a>(
    mx: &Mx<'a, Component<'a>>,
    reader: &ComponentReader<'_>,
    take: &mut Take<'_>,
) -> Result<Option<Component<'a>>, Failure> {
    let scales = mx.scales().decode(reader.source, reader.limits)?;
    let mut dequantizer = mx.dequantizer(scales.view())?;
    let data =
        reader.read(&mut |chunk| dequantizer.chunk(chunk, |values| hand_on(values, take)))?;
    let verified = [(scales.verified(), mx.scales()), (data, mx.data())];
    let not = verified.into_iter().find(|(verified, _)| *verified == Verified::Unverifiable);
    Ok(not.map(|(_, component)| *component))
}
