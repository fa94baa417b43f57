//! The names by which groups of tensors are found.

use crate::archive::Archive;
use crate::read_at::ReadAt;

/// The kind of tensor by which a group is found. Each group has one such tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    Blocks,
    ScaleInv,
    Packed,
    Scale,
    Qweight,
    Nf4,
    Fp4,
    Scb,
    Biases,
}

/// The end of the name of each anchor.
const ANCHORS: [(&str, Anchor); 9] = [
    ("_blocks", Anchor::Blocks),
    ("_scale_inv", Anchor::ScaleInv),
    ("_packed", Anchor::Packed),
    ("_scale", Anchor::Scale),
    (".qweight", Anchor::Qweight),
    (".quant_state.bitsandbytes__nf4", Anchor::Nf4),
    (".quant_state.bitsandbytes__fp4", Anchor::Fp4),
    (".SCB", Anchor::Scb),
    (".biases", Anchor::Biases),
];

impl Anchor {
    /// Returns the anchor that a tensor called `name` is, and `name` without the end of the anchor.
    pub(super) fn of(name: &str) -> Option<(&str, Self)> {
        let stem = |(end, anchor): (&str, Self)| Some((name.strip_suffix(end)?, anchor));
        ANCHORS.into_iter().find_map(stem)
    }
}

impl<S: ReadAt> Archive<S> {
    /// Returns whether a tensor has a name by which a [`Convention`](super::Convention) finds groups. If none has, the archive has no groups.
    pub fn may_have_groups(&self) -> bool {
        self.generation().is_none() && self.names().any(|name| Anchor::of(name).is_some())
    }
}
