//! Detecting tied tensors, which share the same bytes of a file. A PyTorch checkpoint stores tied weights once, while formats
//! without sharing store them twice.

use alloc::vec::Vec;

use crate::element::ByteOrder;
use crate::error::OutOfMemory;
use crate::index::{Encoding, Layout};
use crate::manifest::{Component, Manifest, Tensor};

/// Returns whether `one` and `other` have the same elements because each consists of the same bytes with the same shape, type, byte
/// order, encoding and signs. Tensors with several components do not count, nor do tensors with strides.
pub fn is_tied(one: &Tensor<'_>, other: &Tensor<'_>) -> bool {
    let (Some(first), Some(second)) = (only_component(one), only_component(other)) else {
        return false;
    };
    first.shard() == second.shard()
        && first.extent() == second.extent()
        && kind(&first) == kind(&second)
        && first.dtype() == second.dtype()
        && first.stored_encoding() == second.stored_encoding()
        && first.negation() == second.negation()
        && one.layout_name() == other.layout_name()
        && one.shape().iter().eq(other.shape().iter())
        && !first.is_strided()
        && !second.is_strided()
}

/// Returns the component `data` of `tensor` if the tensor has no other component.
fn only_component<'m>(tensor: &Tensor<'m>) -> Option<Component<'m>> {
    tensor.component("data").filter(|_| tensor.components().count() == 1)
}

/// Returns the name of the element type of `component`, and whether the bytes of each element are in big-endian order.
fn kind<'m>(component: &Component<'m>) -> (&'m str, bool) {
    (component.type_name(), component.byte_order() == ByteOrder::Big)
}

/// Returns whether two dense, uncompressed tensors of `manifest` are [tied](is_tied). Tensors without bytes do not count.
///
/// # Errors
/// Out of memory.
pub fn has_ties<B: AsRef<[u8]>>(manifest: &Manifest<B>) -> Result<bool, OutOfMemory> {
    let mut all = Vec::new();
    for tensor in manifest.tensors().filter(|tensor| tensor.layout() == Layout::Dense) {
        let data = only_component(&tensor).filter(|data| data.encoding() == Encoding::Raw);
        let Some(data) = data.filter(|data| data.extent().length() > 0) else { continue };
        all.try_reserve(1).map_err(|_| OutOfMemory)?;
        let extent = data.extent();
        all.push((data.shard(), extent.offset(), extent.end(), tensor));
    }
    // Only neighbors are compared, as `zten convert` does. A tie is missed if another view of the same bytes lies between its
    // tensors: the tensors are then written twice.
    all.sort_unstable_by_key(|(shard, start, end, tensor)| {
        (*shard, *start, *end, tensor.ordinal())
    });
    let mut pairs = all.windows(2);
    Ok(pairs.any(|pair| matches!(pair, [(.., one), (.., other)] if is_tied(one, other))))
}

#[cfg(all(test, feature = "torch"))]
mod tests {
    use zten_corpus::other::torch::{call, dict, file, int, numbers, ordered, storage};

    use super::*;
    use crate::archive::Archive;

    #[test]
    fn a_negated_view_is_not_tied_to_its_tensor() {
        let of_floats = |negated: bool| {
            let floats = storage("FloatStorage", "0", 1);
            let args = [
                floats,
                int(0),
                numbers(&[1]),
                numbers(&[1]),
                b"\x89".to_vec(),
                ordered(),
                dict(&[("neg", b"\x88".to_vec())]),
            ];
            let count = if negated { 7 } else { 6 };
            call("torch._utils", "_rebuild_tensor_v2", &args[..count])
        };
        for (second, tied) in [(true, false), (false, true)] {
            let tensors = [("a", of_floats(false)), ("b", of_floats(second))];
            let bytes = file(&dict(&tensors), &[&1_f32.to_le_bytes()]);
            let archive = Archive::from_bytes(&bytes).unwrap();
            let [a, b] = ["a", "b"].map(|name| archive.tensor(name).unwrap());
            assert_eq!(is_tied(&a, &b), tied);
        }
    }
}
