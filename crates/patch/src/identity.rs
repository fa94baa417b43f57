//! The identity of the tensors of a model: the SHA-256 of their list of digests, which is the same in every file format.

use zten::{Component, Tensor};
use zten_report::digests::{DigestLine, kind};

use crate::Sha256;

/// Returns the entry of `component` in a list of digests. `name` is the name of its tensor, which a patch may have changed, and
/// `(bytes, sha256)` are the decoded length of the component in bytes and the digest of these bytes.
pub(crate) fn entry<'a>(
    name: &'a str,
    component: &Component<'a>,
    (bytes, sha256): (u64, Sha256),
) -> DigestLine<'a> {
    let tensor: Tensor<'a> = component.tensor();
    DigestLine {
        name: name.into(),
        role: component.role().into(),
        kind: kind(&tensor, component).into(),
        bytes: Some(bytes),
        sha256: Some(sha256),
    }
}

/// Returns the identity of the tensors of a model, as `zten hash --id` prints it. `entries` has the entry of each component of the
/// model in a list of digests, in any order.
pub(crate) fn identity(mut entries: Vec<DigestLine<'_>>) -> Sha256 {
    entries.sort_unstable_by(|one, other| one.key().cmp(&other.key()));
    // Every entry has a digest and a length, so there is an identity.
    zten_report::sums::identity(entries).unwrap_or_default()
}
