//! Checking that patches can be applied to a base, and lead to the result that they declare.

use zten_report::catalog::PATCH_BASE;
use zten_report::digests::{DigestLine, hex};
use zten_report::sums::{Of, sum};

use crate::Sha256;
use crate::chain::Chain;
use crate::failure::{PatchFailure, broken};
use crate::identity::{entry, identity};
use crate::model::Model;
use crate::patch::Patch;

/// The result of checking that patches can be applied to a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verified {
    /// The identity of the tensors of the base, as `zten hash --id` prints it.
    pub base: Sha256,
    /// The identity of the tensors of the result, as `zten hash --id` prints it.
    pub result: Sha256,
    /// The number of tensors of the result.
    pub tensors: usize,
}

/// Checks that `base` has the tensors from which the first of `patches` was made, and that applying the patches leads to the result that
/// the last patch declares. Nothing is written. The base is read twice: once for its identity, and once for the result.
///
/// # Errors
/// The errors of [`Chain::new`] and [`Chain::write`], except those of the output.
pub fn verify<'a>(base: &Model<'a>, patches: &[Patch<'a>]) -> Result<Verified, PatchFailure> {
    let found = check_base(base, patches)?;
    let chain = Chain::new(base, patches)?;
    chain.dry_run()?;
    let result = chain.result().unwrap_or(found);
    Ok(Verified { base: found, result, tensors: chain.len() })
}

/// Reads all tensors of `base`, checks that their identity is the one that the first of `patches` declares for its base, and returns this
/// identity. Without patches there is nothing to compare.
pub(crate) fn check_base(base: &Model<'_>, patches: &[Patch<'_>]) -> Result<Sha256, PatchFailure> {
    let found = base_identity(base)?;
    let Some(first) = patches.first().filter(|first| found != first.base()) else {
        return Ok(found);
    };
    let expected = hex(&first.base());
    let sentence = if patches.last().is_some_and(|last| found == last.result()) {
        format!(
            "the tensors are those of the result, so the patch was applied already; it was made of {expected}"
        )
    } else {
        let found = hex(&found);
        format!("the tensors have the identity {found}, but the patch was made of {expected}")
    };
    Err(PatchFailure::Old(broken(&PATCH_BASE, sentence)))
}

/// Reads all tensors of `model`, and returns their identity, as `zten hash --id` prints it.
fn base_identity(model: &Model<'_>) -> Result<Sha256, PatchFailure> {
    let mut verifier = model.verifier.clone();
    let mut entries: Vec<DigestLine<'_>> = Vec::new();
    for tensor in &model.tensors {
        let sums = sum(&mut verifier, tensor, Of::Bytes).map_err(PatchFailure::Old)?;
        for (component, sum) in tensor.components().zip(sums) {
            if let (Some(bytes), Some(sha256)) = (sum.bytes, sum.sha256) {
                entries.push(entry(tensor.name(), &component, (bytes, sha256)));
            }
        }
    }
    Ok(identity(entries))
}
