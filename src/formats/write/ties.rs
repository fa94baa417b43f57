//! Detecting tied tensors, which share the same bytes of a file. A PyTorch checkpoint stores tied weights once, while formats
//! without sharing store them twice.

use alloc::vec::Vec;

use crate::error::OutOfMemory;
use crate::index::{Encoding, Layout};
use crate::manifest::{Manifest, Tensor};

/// Returns whether `one` and `other` have the same elements because they have the same bytes, type and shape.
pub fn is_tied(one: &Tensor<'_>, other: &Tensor<'_>) -> bool {
    let (Some(first), Some(second)) = (one.component("data"), other.component("data")) else {
        return false;
    };
    first.shard() == second.shard()
        && first.extent() == second.extent()
        && first.dtype() == second.dtype()
        && one.shape().iter().eq(other.shape().iter())
        && !first.is_strided()
        && !second.is_strided()
}

/// Returns whether any two dense tensors of `manifest` are tied. Tensors without bytes do not count.
///
/// # Errors
/// Out of memory.
pub fn has_ties<B: AsRef<[u8]>>(manifest: &Manifest<B>) -> Result<bool, OutOfMemory> {
    let mut all = Vec::new();
    for tensor in manifest.tensors().filter(|tensor| tensor.layout() == Layout::Dense) {
        let data = tensor.component("data").filter(|data| data.encoding() == Encoding::Raw);
        let Some(data) = data.filter(|data| data.extent().length() > 0) else { continue };
        all.try_reserve(1).map_err(|_| OutOfMemory)?;
        let extent = data.extent();
        all.push((data.shard(), extent.offset(), extent.end(), tensor));
    }
    all.sort_unstable_by_key(|(shard, start, end, tensor)| {
        (*shard, *start, *end, tensor.ordinal())
    });
    let mut pairs = all.windows(2);
    Ok(pairs.any(|pair| matches!(pair, [(.., one), (.., other)] if is_tied(one, other))))
}
