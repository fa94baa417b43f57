//! All that a file says and holds, in a form that can be compared.

use core::fmt::Write as _;

use zten::{Component, Error, Manifest, ReadAt, ReadError};

use crate::{DECODED_TOTAL, limits};

/// All that a manifest says.
///
/// # Panics
/// Never: a string takes all.
pub fn said(manifest: &Manifest<impl AsRef<[u8]>>) -> String {
    let mut text = String::new();
    write(manifest, &mut text).expect("a string takes all");
    text
}

fn write(manifest: &Manifest<impl AsRef<[u8]>>, to: &mut String) -> core::fmt::Result {
    let generation = manifest.generation().expect("a zTensor file");
    let version = manifest.version();
    writeln!(to, "{generation:?} {version:?} {:?}", manifest.extent())?;
    let fields = (manifest.attributes(), manifest.fields());
    writeln!(to, "{:?}", (fields.0.map(Iterator::count), fields.1.map(Iterator::count)))?;
    for object in manifest.objects() {
        let shape: Vec<u64> = object.shape().to_vec();
        writeln!(to, "{:?} {shape:?} {:?}", object.name(), object.format_name())?;
        writeln!(to, " {:?}", object.attributes())?;
        for component in object.components() {
            let (length, digest) = (component.decoded_length(), component.digest());
            let order = component.byte_order();
            let encoding = component.encoding_name();
            writeln!(to, " {component:?} {length:?} {digest:?} {order:?} {encoding}")?;
        }
    }
    Ok(())
}

/// The content of one component, or why it cannot be read; none where the source failed.
pub(crate) type Held = Option<Result<Vec<u8>, Error>>;

/// The content of components as long as the work stays small.
pub(crate) fn held<R: ReadAt + ?Sized>(
    manifest: &Manifest<impl AsRef<[u8]>>,
    source: &R,
) -> Vec<Held> {
    let mut left = DECODED_TOTAL;
    let mut read = |component: Component<'_>| {
        let held = match component.read_to_vec(source, &limits()) {
            Ok(bytes) => Some(Ok(bytes)),
            Err(ReadError::Refused(error)) => Some(Err(error)),
            Err(ReadError::Source(_)) => None,
        };
        let cost = held.iter().flatten().map(|bytes| bytes.len() as u64).sum::<u64>() + 4096;
        left = left.saturating_sub(cost);
        (left > 0).then_some(held)
    };
    let all = manifest.objects().flat_map(|object| object.components());
    all.map_while(&mut read).collect()
}
