//! SHA-256 sums of the decoded components of a file, which do not depend on byte order and encoding.

use std::convert::Infallible;

use sha2::{Digest as _, Sha256};
use zten::formats::rules;
use zten::num::u64_from_usize;
use zten::rules::{Row, Unsupported};
use zten::{Component, Error, ErrorKind, Tensor, verify::Verifier, view::Normalization};

use crate::input::file::{FileWithShards, stored};
use crate::input::sources::Sources;
use crate::output::progress::Progress;
use crate::output::report::{Flaw, More, Problem};

/// The sum of one component.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    /// The number of decoded bytes, or `None` if it is not known.
    pub(crate) bytes: Option<u64>,
    /// The SHA-256 of the bytes, or `None` if the component cannot be read.
    pub(crate) sha256: Option<[u8; 32]>,
}

/// The bytes that are summed.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    /// The decoded, little-endian bytes.
    Bytes,
    /// Normalized bytes, which are equal for equal content: see [`Normalization::content`].
    Content,
}

/// The sums of a whole file.
pub(crate) struct Sums {
    /// For each object, the sums of its components, both in the order of the manifest.
    objects: Vec<Vec<Sum>>,
    /// The problem of the objects that have no sums because they cannot be read.
    pub(crate) unread: Option<Box<Problem>>,
}

/// Verifies the components of all tensors that `selects` accepts, and returns their sums. Other tensors have no sums.
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
                let length = |component: Component<'_>| component.decoded_length();
                let unsummed = |bytes| Sum { bytes, sha256: None };
                objects.push(object.components().map(length).map(unsummed).collect());
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

/// Returns whether `error` says that an object uses a dtype, encoding or layout that zten does not know, or is unread by a rule of
/// another format. Such an object does not make the file invalid.
pub(crate) fn is_unknown(error: &Error) -> bool {
    let unknown = [Unsupported::Dtype, Unsupported::Encoding, Unsupported::Layout];
    let is_of_other_format = |row: &Row| rules::rows().any(|own| own.id() == row.id());
    unknown.iter().any(|feature| error.kind() == *feature)
        || matches!(error.kind(), ErrorKind::Unsupported(row) if is_of_other_format(row))
}

/// Verifies the components of `object`, and returns their sums in the order of the manifest.
fn sum(verifier: &mut Verifier, object: &Tensor<'_>, of: Of) -> Result<Vec<Sum>, Error> {
    let mut hashers: Vec<_> = object.components().map(|_| (0_u64, Sha256::new())).collect();
    verifier.object(object, |component, chunk| {
        let ordinal = component.location().component().and_then(|at| usize::try_from(at).ok());
        let hasher = ordinal.and_then(|ordinal| hashers.get_mut(ordinal));
        if let Some((bytes, hasher)) = hasher {
            *bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
            match of {
                Of::Bytes => hasher.update(chunk),
                Of::Content => {
                    let Ok(()) = Normalization::content(component).chunk(chunk, |bytes| {
                        hasher.update(bytes);
                        Ok::<(), Infallible>(())
                    });
                }
            }
        }
    })?;
    let sum = |(bytes, hasher): (u64, Sha256)| Sum {
        bytes: Some(bytes),
        sha256: Some(hasher.finalize().into()),
    };
    Ok(hashers.into_iter().map(sum).collect())
}

/// Returns the objects sorted by the bytes of their names.
pub(crate) fn sorted(archive: &FileWithShards) -> Vec<Tensor<'_>> {
    let mut objects: Vec<_> = archive.tensors().collect();
    objects.sort_by_key(Tensor::name);
    objects
}

impl Sums {
    /// Returns the components of `object` with their sums, sorted by the bytes of their roles.
    pub(crate) fn components<'a>(&self, object: &Tensor<'a>) -> Vec<(Component<'a>, Sum)> {
        let own = usize::try_from(object.ordinal()).ok();
        let own = own.and_then(|ordinal| self.objects.get(ordinal));
        let own = own.map(Vec::as_slice).unwrap_or_default();
        let mut components: Vec<_> = object.components().zip(own.iter().copied()).collect();
        components.sort_by_key(|(component, _)| component.role());
        components
    }
}
