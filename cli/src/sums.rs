//! SHA-256 of what the components of a file hold, whatever the byte order or encoding.

use std::io;
use std::path::Path;

use sha2::{Digest as _, Sha256};
use zten::rules::Unsupported;
use zten::source::FileArchive;
use zten::{Component, ErrorKind, Format, Limits, Object, ReadError, StorageType, Verifier};

use crate::file::stored;
use crate::objects::Work;
use crate::progress::Watched;
use crate::report::Problem;

/// The sum of one component.
#[derive(Clone, Copy)]
pub(crate) struct Sum {
    /// Decoded bytes, where that is known.
    pub(crate) bytes: Option<u64>,
    /// None where they cannot be read.
    pub(crate) sha256: Option<[u8; 32]>,
}

/// What is summed.
#[derive(Clone, Copy)]
pub(crate) enum Of {
    /// Decoded, little-endian bytes.
    Bytes,
    /// The same bytes for the same content: indices of any integer type are widened to `u64`,
    /// and a bool is 0 or 1.
    Content,
}

/// The sums of a whole file.
pub(crate) struct Sums {
    /// In the order of the manifest, objects and components.
    objects: Vec<Vec<Sum>>,
    /// Why some components have none, if there are such.
    pub(crate) unread: Option<Box<Problem>>,
}

/// Sums all components, having verified all of them.
pub(crate) fn sums(
    path: &Path,
    archive: &FileArchive,
    limits: &Limits,
    of: Of,
) -> Result<Sums, Box<Problem>> {
    let source = Watched::new(archive, stored(archive));
    let judge = |verifier: &mut Verifier, object: &Object<'_>| sum(verifier, object, &source, of);
    let results = Work { archive, limits, passes: is_foreign, judge }.run();
    let mut objects = Vec::new();
    let mut unread: Option<Box<Problem>> = None;
    let mut more = 0_u64;
    for (result, object) in results.into_iter().zip(archive.objects()) {
        match result {
            Ok(sum) => objects.push(sum),
            Err(error) => {
                let problem = Box::new(Problem::reading(path, archive, &error));
                if !is_foreign(&error) {
                    return Err(problem);
                }
                let length = |component: Component<'_>| component.decoded_length();
                let unsummed = |bytes| Sum { bytes, sha256: None };
                objects.push(object.components().map(length).map(unsummed).collect());
                match unread {
                    Some(_) => more = more.saturating_add(1),
                    None => unread = Some(problem),
                }
            }
        }
    }
    if let Some(problem) = &mut unread {
        problem.and_more(more);
    }
    Ok(Sums { objects, unread })
}

/// Whether an entry of 0.1 uses what only its writer knows, which does not spoil the file.
fn is_foreign(error: &ReadError<io::Error>) -> bool {
    let ReadError::Refused(error) = error else {
        return false;
    };
    matches!(
        error.kind(),
        ErrorKind::Unsupported(Unsupported::Dtype | Unsupported::Encoding | Unsupported::Layout)
    )
}

/// The sums of an object's components, in the order of the manifest.
fn sum(
    verifier: &mut Verifier,
    object: &Object<'_>,
    source: &Watched<'_>,
    of: Of,
) -> Result<Vec<Sum>, ReadError<io::Error>> {
    let begin = |component: Component<'_>| (0_u64, Sha256::new(), Change::of(&component, of));
    let mut hashers: Vec<_> = object.components().map(begin).collect();
    verifier.object(object, source, |component, chunk| {
        let ordinal = component.place().component().and_then(|at| usize::try_from(at).ok());
        let hasher = ordinal.and_then(|ordinal| hashers.get_mut(ordinal));
        if let Some((bytes, hasher, change)) = hasher {
            *bytes = bytes.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
            change.hash(hasher, chunk);
        }
    })?;
    let sum = |(bytes, hasher, _): (u64, Sha256, Change)| Sum {
        bytes: Some(bytes),
        sha256: Some(hasher.finalize().into()),
    };
    Ok(hashers.into_iter().map(sum).collect())
}

/// Whether the component holds the indices of a sparse object.
pub(crate) fn is_index(component: &Component<'_>) -> bool {
    match component.object().format() {
        Format::SparseCsr => matches!(component.role(), "indices" | "indptr"),
        Format::SparseCoo => component.role() == "coords",
        _ => false,
    }
}

/// What is done to the elements of a component before they are summed.
#[derive(Clone, Copy)]
enum Change {
    Nothing,
    /// Each takes so many bytes, and is to take eight.
    Widen(usize),
    /// What is not 0 becomes 1.
    Bools,
}

/// Elements that are changed in one go.
const PIECE: usize = 512;

impl Change {
    fn of(component: &Component<'_>, of: Of) -> Self {
        match (of, component.storage_type()) {
            (Of::Content, Some(StorageType::Bool)) => Self::Bools,
            (Of::Content, Some(storage)) if storage.width() < 8 && is_index(component) => {
                Self::Widen(storage.width().into())
            }
            _ => Self::Nothing,
        }
    }

    /// Sums a chunk: a whole number of elements, which have been judged.
    fn hash(self, hasher: &mut Sha256, chunk: &[u8]) {
        match self {
            Self::Nothing => hasher.update(chunk),
            Self::Widen(width) => {
                for piece in chunk.chunks(width.saturating_mul(PIECE)) {
                    let mut wide = [[0; 8]; PIECE];
                    let elements = piece.chunks(width);
                    let count = elements.len();
                    for (wide, element) in wide.iter_mut().zip(elements) {
                        // No index is negative, so zeros are all that it lacks.
                        for (to, from) in wide.iter_mut().zip(element) {
                            *to = *from;
                        }
                    }
                    hasher.update(wide.get(..count).unwrap_or_default().as_flattened());
                }
            }
            Self::Bools => {
                for piece in chunk.chunks(PIECE) {
                    let mut bools = [0; PIECE];
                    for (to, from) in bools.iter_mut().zip(piece) {
                        *to = u8::from(*from != 0);
                    }
                    hasher.update(bools.get(..piece.len()).unwrap_or_default());
                }
            }
        }
    }
}

/// The objects in order of their names, bytewise.
pub(crate) fn sorted(archive: &FileArchive) -> Vec<Object<'_>> {
    let mut objects: Vec<_> = archive.objects().collect();
    objects.sort_by_key(Object::name);
    objects
}

impl Sums {
    /// The components of an object in order of their roles, bytewise, each with its sum.
    pub(crate) fn components<'a>(&self, object: &Object<'a>) -> Vec<(Component<'a>, Sum)> {
        let own = usize::try_from(object.ordinal()).ok();
        let own = own.and_then(|ordinal| self.objects.get(ordinal));
        let own = own.map(Vec::as_slice).unwrap_or_default();
        let mut components: Vec<_> = object.components().zip(own.iter().copied()).collect();
        components.sort_by_key(|(component, _)| component.role());
        components
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(change: Change, chunks: &[&[u8]]) -> [u8; 32] {
        let mut hasher = Sha256::new();
        for chunk in chunks {
            change.hash(&mut hasher, chunk);
        }
        hasher.finalize().into()
    }

    #[test]
    fn indices_of_any_width_sum_to_the_same() {
        let numbers: Vec<u64> = (0..2000).map(|n| n % 128).collect();
        let narrow = |width: usize| -> Vec<u8> {
            numbers.iter().flat_map(|n| n.to_le_bytes().into_iter().take(width)).collect()
        };
        let wide = hashed(Change::Nothing, &[&narrow(8)]);
        for width in [1, 2, 4] {
            let bytes = narrow(width);
            assert_eq!(hashed(Change::Widen(width), &[&bytes]), wide);
            let (head, tail) = bytes.split_at(width * 777);
            assert_eq!(hashed(Change::Widen(width), &[head, tail]), wide);
        }
        assert_ne!(hashed(Change::Widen(1), &[&narrow(2)]), wide);
    }

    #[test]
    fn bools_sum_by_their_truth() {
        let bools: Vec<u8> = (0..2000).map(|n| u8::from(n % 3 == 0)).collect();
        let others: Vec<u8> = bools.iter().map(|bool| bool * 0x80).collect();
        let sum = hashed(Change::Nothing, &[&bools]);
        assert_eq!(hashed(Change::Bools, &[&bools]), sum);
        assert_eq!(hashed(Change::Bools, &[&others]), sum);
        assert_ne!(hashed(Change::Nothing, &[&others]), sum);
    }
}
