//! Everything that a file declares and contains, in a form in which two files can be compared.

use core::fmt::Write as _;

use zten::{Component, Error, ErrorKind, Manifest, Tensor};

use super::DECODED_TOTAL;

/// Returns what a zTensor manifest declares, as text. The attributes and the fields of the file are only counted.
///
/// # Panics
/// Panics if the manifest is not that of a zTensor file.
pub fn said(manifest: &Manifest<impl AsRef<[u8]>>) -> String {
    let mut text = String::new();
    write(manifest, &mut text).expect("writing to a string cannot fail");
    text
}

fn write(manifest: &Manifest<impl AsRef<[u8]>>, to: &mut String) -> core::fmt::Result {
    let generation = manifest.generation().expect("a zTensor file");
    let version = manifest.version();
    writeln!(to, "{generation:?} {version:?} {:?}", manifest.extent())?;
    let fields = (manifest.attributes().count(), manifest.fields().map(Iterator::count));
    writeln!(to, "{fields:?}")?;
    for object in manifest.tensors() {
        let shape: Vec<u64> = object.shape().to_vec();
        writeln!(to, "{:?} {shape:?} {:?}", object.name(), object.layout_name())?;
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

/// The content of one component, or the error of reading it; `None` if the source of the bytes failed.
pub(crate) type ComponentContent = Option<Result<Vec<u8>, Error>>;

/// Reads all components of `tensors`, until the oracle's limit of decoded bytes is reached.
pub(crate) fn held<'t>(tensors: impl Iterator<Item = Tensor<'t>>) -> Vec<ComponentContent> {
    let mut left = DECODED_TOTAL;
    let mut read = |component: Component<'_>| {
        let held = match component.read() {
            Err(error) if error.kind() == ErrorKind::Read => None,
            read => Some(read.map(|decoded| decoded.to_vec())),
        };
        let cost = held.iter().flatten().map(|bytes| bytes.len() as u64).sum::<u64>() + 4096;
        left = left.saturating_sub(cost);
        (left > 0).then_some(held)
    };
    tensors.flat_map(|tensor| tensor.components()).map_while(&mut read).collect()
}
