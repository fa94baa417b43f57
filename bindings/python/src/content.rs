//! Statistics and sums of all content of a file, as the command computes them.

use std::collections::HashSet;
use std::fmt::Write as _;

use pyo3::prelude::*;
use zten::json::{to_line, to_writer};
use zten::shards::Files;
use zten::verify::{Subject, Verifier};
use zten::{Error, Tensor};
use zten_report::digests;
use zten_report::measure::{self, Found};
use zten_report::sums::{self, Of, Sum, is_unknown};
use zten_report::totals::FileTotals;

use crate::interrupt::Cancel;
use crate::source::Open;

/// A component in a list of digests: its role, type, number of decoded bytes and SHA-256.
pub(crate) type Digested = (String, String, Option<u64>, Option<String>);

/// The digests of a file: the text of the list, the identity of the tensors in hexadecimal digits (`None` if a component cannot be
/// read), and the name of each object with its components.
#[derive(IntoPyObject)]
pub(crate) struct Hashed(String, Option<String>, Vec<(String, Vec<Digested>)>);

/// Does `work` on the objects `ordinals`, in the order of the file, after the shards that they need have been verified.
///
/// # Errors
/// The first error of `work`, unless it says that zten does not know or does not read an object: `unknown` then gives the
/// result for it.
fn each<'a, T: Send + Sync>(
    open: &'a Open,
    ordinals: &[u32],
    cancel: &Cancel,
    (work, unknown): (
        impl Fn(&mut Verifier, &Tensor<'_>) -> Result<T, Error> + Sync,
        impl Fn(&Tensor<'_>) -> T,
    ),
) -> Result<Vec<(Tensor<'a>, T)>, Error> {
    let mut tensors = Vec::new();
    for ordinal in ordinals {
        tensors.push(open.tensor(*ordinal)?);
    }
    let components: Vec<_> = tensors.iter().flat_map(Tensor::components).collect();
    let shards = open.shards_for(components.iter().copied(), cancel)?;
    open.plan_components(components)?;
    let root = open.root(cancel);
    let files = Files { root: &root, shards: &shards };
    let subject = Subject::with_shards(open.manifest(), &files);
    let selected: HashSet<u32> = ordinals.iter().copied().collect();
    let one = |verifier: &mut Verifier, tensor: &Tensor<'_>| {
        selected.contains(&tensor.ordinal()).then(|| work(verifier, tensor)).transpose()
    };
    let results = subject.results(None, one, |error| !is_unknown(error))?;
    let mut found = Vec::new();
    for (result, tensor) in results.into_iter().zip(open.manifest().tensors()) {
        match result {
            Ok(None) => {}
            Ok(Some(one)) => found.push((tensor, one)),
            Err(error) if is_unknown(&error) => found.push((tensor, unknown(&tensor))),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// Returns the JSON document of `zten stat --json` about the objects `ordinals`, which are read and verified.
pub(crate) fn statistics(open: &Open, ordinals: &[u32], cancel: &Cancel) -> Result<String, Error> {
    let unknown = |_: &Tensor<'_>| Found::Skipped("of an unknown type");
    let found = each(open, ordinals, cancel, (measure::object_statistics, unknown))?;
    let mut out = Vec::new();
    to_line(&mut out, &measure::document("", &found))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Returns the list of digests of the whole file that `zten hash` prints, as text and as values. All content is verified.
pub(crate) fn hashed(open: &Open, ordinals: &[u32], cancel: &Cancel) -> Result<Hashed, Error> {
    let work =
        |verifier: &mut Verifier, tensor: &Tensor<'_>| sums::sum(verifier, tensor, Of::Bytes);
    let mut found: Vec<(Tensor<'_>, Vec<Sum>)> =
        each(open, ordinals, cancel, (work, sums::unsummed))?;
    found.sort_by_key(|(tensor, _)| tensor.name());
    let listed = found.iter().flat_map(|(tensor, sums)| sums::entries(tensor, sums));
    let identity = sums::identity(listed).map(|sum| digests::hex(&sum));
    let mut hashed = Hashed(format!("{}\n", digests::HEADER), identity, Vec::new());
    for (tensor, sums) in &found {
        let mut components = Vec::new();
        for entry in sums::entries(tensor, sums) {
            // Writing to a string does not fail.
            let _ = writeln!(hashed.0, "{entry}");
            let (role, kind) = (entry.role.into_owned(), entry.kind.into_owned());
            components.push((role, kind, entry.bytes, entry.sha256.map(|sum| digests::hex(&sum))));
        }
        hashed.2.push((tensor.name().to_owned(), components));
    }
    Ok(hashed)
}

/// Returns the totals of the file as JSON, as `zten ls --json` has them, and as phrases.
pub(crate) fn totals(open: &Open) -> Result<(String, Vec<String>), Error> {
    let totals = FileTotals::of(open.manifest().tensors());
    let mut out = Vec::new();
    to_writer(&mut out, &totals)?;
    Ok((String::from_utf8_lossy(&out).into_owned(), totals.phrases()))
}
