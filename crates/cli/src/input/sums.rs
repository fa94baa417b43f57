//! The SHA-256 sums of all components of a file.

use zten::{Tensor, verify::Verifier};
pub(crate) use zten_report::sums::{Of, Sum, is_unknown};
use zten_report::sums::{sum, unsummed};

use crate::input::file::{FileWithShards, stored};
use crate::input::sources::Sources;
use crate::output::progress::Progress;
use crate::output::report::{Flaw, More, Problem};

/// The hashes of the components of a whole file.
pub(crate) struct Sums {
    /// For each object, the hashes of its components, both in the order of the manifest.
    objects: Vec<Vec<Sum>>,
    /// The problem of the objects that have no hashes because they cannot be read.
    pub(crate) unread: Option<Box<Problem>>,
}

/// Verifies the components of all tensors that `selects` accepts, and returns their sums. Other tensors have no sums. Neither has a
/// tensor that needs what is not supported: its problem is in `unread`.
pub(crate) fn sums(
    archive: &FileWithShards,
    of: Of,
    selects: &(dyn Fn(&Tensor<'_>) -> bool + Sync),
) -> Result<Sums, Box<Problem>> {
    let progress = Progress::new(stored(archive.manifest()));
    let failed = |failure| Box::new(Problem::reading(&archive.path, archive, &failure));
    let mut files = Sources::bind(archive, &progress).map_err(failed)?;
    files.require().map_err(failed)?;
    let one = |verifier: &mut Verifier, object: &Tensor<'_>| {
        if selects(object) { sum(verifier, object, of) } else { Ok(Vec::new()) }
    };
    let results = files.results(one, |error| !is_unknown(error)).map_err(failed)?;
    let mut objects = Vec::new();
    let mut unread: Option<Box<Problem>> = None;
    let mut more = More::default();
    for (result, object) in results.into_iter().zip(archive.tensors()) {
        match result {
            Ok(sum) => objects.push(sum),
            Err(error) if !is_unknown(&error) => return Err(failed(files.settle(error))),
            Err(error) => {
                let problem = failed(error);
                objects.push(unsummed(&object));
                match unread {
                    Some(_) => more.add(object.name(), Flaw::Unsupported),
                    None => unread = Some(problem),
                }
            }
        }
    }
    let unread = unread.map(|problem| Box::new(problem.and_more(more)));
    Ok(Sums { objects, unread })
}

/// Returns the objects sorted by the bytes of their names.
pub(crate) fn sorted(archive: &FileWithShards) -> Vec<Tensor<'_>> {
    let mut objects: Vec<_> = archive.tensors().collect();
    objects.sort_by_key(Tensor::name);
    objects
}

impl Sums {
    /// Returns the hashes of the components of `object`, in the order of the manifest.
    pub(crate) fn of(&self, object: &Tensor<'_>) -> &[Sum] {
        let own = usize::try_from(object.ordinal()).ok();
        let own = own.and_then(|ordinal| self.objects.get(ordinal));
        own.map(Vec::as_slice).unwrap_or_default()
    }
}
