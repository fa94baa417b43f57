//! The names by which groups of tensors are found.

/// The kind of tensor by which a group is found: each group is found by exactly one of its tensors, whose name has the suffix
/// of its kind.
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

/// The suffix of a tensor's name that makes the tensor an anchor, for each kind of anchor: `w_blocks` is an anchor of the kind
/// `Blocks`.
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
    /// Returns `name` without the suffix of an anchor, and the kind of this anchor. Returns `None` if a tensor called `name` is
    /// no anchor.
    pub(super) fn of(name: &str) -> Option<(&str, Self)> {
        let stem = |(end, anchor): (&str, Self)| Some((name.strip_suffix(end)?, anchor));
        ANCHORS.into_iter().find_map(stem)
    }
}
