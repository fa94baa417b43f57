//! The values of an object whose elements have scales in common.

use zten::{Component, Format, Object, verify::Verified, view::Mx};

use super::feed::{ComponentReader, Failure, Take};
use crate::args::Cat;

/// Returns whether the values of such an object are asked for, and not one of its components.
pub(super) fn is_asked(object: &Object<'_>, args: &Cat) -> bool {
    object.format() == Format::Mx && args.component.is_none() && !args.raw
}

/// Such an object, if its values are asked for.
pub(super) fn asked<'a>(object: &Object<'a>, args: &Cat) -> Option<Mx<'a, Component<'a>>> {
    object.mx().ok().filter(|_| is_asked(object, args))
}

/// Hands on the values of an object as little-endian `f32`, and the component whose digest cannot be
/// verified, if there is one. The scales are read first, and held.
pub(super) fn read<'a>(
    mx: &Mx<'a, Component<'a>>,
    reader: &ComponentReader<'_>,
    take: &mut Take<'_>,
) -> Result<Option<Component<'a>>, Failure> {
    let scales = mx.scales().decode(reader.source, reader.limits)?;
    let mut dequantizer = mx.dequantizer(scales.view())?;
    let data = reader.read(&mut |chunk| {
        dequantizer.chunk(chunk, |values| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            take(&bytes)
        })
    })?;
    let verified = [(scales.verified(), mx.scales()), (data, mx.data())];
    let not = verified.into_iter().find(|(verified, _)| *verified == Verified::Unverifiable);
    Ok(not.map(|(_, component)| *component))
}
