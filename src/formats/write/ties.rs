//! Detecting tied tensors, which share the same bytes of a file. A PyTorch checkpoint stores tied weights once, while formats
//! without sharing store them twice.

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::element::ByteOrder;
use crate::error::OutOfMemory;
use crate::index::{Encoding, Layout};
use crate::manifest::{Component, Manifest, Tensor};

/// Returns whether `one` and `other` have the same elements because each consists of the same bytes with the same shape, type, byte
/// order, encoding and signs. Tensors with several components do not count, nor do tensors with strides.
pub fn is_tied(one: &Tensor<'_>, other: &Tensor<'_>) -> bool {
    only_component(one).is_some_and(|data| !data.is_strided())
        && only_component(other).is_some()
        && tie_order(one, other).is_eq()
}

/// Compares two tensors by all that [tied](is_tied) tensors have in common: the bytes of the component `data`, and how these bytes
/// are interpreted. In a list that is sorted in this order, tied tensors are next to each other, also if the list has other views
/// of the same bytes.
pub fn tie_order<'m>(one: &Tensor<'m>, other: &Tensor<'m>) -> Ordering {
    let properties = |tensor: &Tensor<'m>| {
        tensor.component("data").map(|data| {
            let extent = data.extent();
            let is_big = data.byte_order() == ByteOrder::Big;
            (
                (data.shard(), extent.offset(), extent.end()),
                (data.is_strided(), data.negation(), is_big, data.stored_encoding().name()),
                (data.dtype().name(), data.type_name(), tensor.layout_name()),
            )
        })
    };
    properties(one)
        .cmp(&properties(other))
        .then_with(|| one.shape().iter().cmp(other.shape().iter()))
}

/// Returns the component `data` of `tensor` if the tensor has no other component.
fn only_component<'m>(tensor: &Tensor<'m>) -> Option<Component<'m>> {
    tensor.component("data").filter(|_| tensor.components().count() == 1)
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
        all.push(((data.shard(), data.extent().offset()), tensor));
    }
    // Offsets differ in most pairs, so the other properties are rarely looked up.
    all.sort_unstable_by(|(place, tensor), (other_place, other)| {
        place.cmp(other_place).then_with(|| tie_order(tensor, other))
    });
    let mut pairs = all.windows(2);
    Ok(pairs.any(|pair| matches!(pair, [(_, one), (_, other)] if is_tied(one, other))))
}

#[cfg(all(test, feature = "torch"))]
mod tests {
    use zten_corpus::other::torch::{self, call, dict, file, int, numbers, ordered, storage};

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

    /// Checks that ties are found among other views of the same bytes: transposed, or of another shape.
    #[test]
    fn views_between_tied_tensors_do_not_hide_the_tie() {
        let view = |shape: &[u8], strides: &[u8]| {
            torch::tensor(storage("FloatStorage", "0", 6), 0, shape, strides)
        };
        let whole = || view(&[2, 3], &[3, 1]);
        let others = [view(&[3, 2], &[1, 3]), view(&[6], &[1]), view(&[3, 2], &[2, 1])];
        let [transposed, flat, wide] = others;
        for (last, tied) in [(whole(), true), (view(&[1, 6], &[6, 1]), false)] {
            let tensors = [("a", whole()), ("b", transposed.clone()), ("c", flat.clone())];
            let tensors = [&tensors[..], &[("d", wide.clone()), ("e", last)]].concat();
            let bytes = file(&dict(&tensors), &[&[0; 24]]);
            let archive = Archive::from_bytes(&bytes).unwrap();
            assert_eq!(archive.tensors().count(), 5);
            assert_eq!(has_ties(archive.manifest()).unwrap(), tied);
        }
    }
}
