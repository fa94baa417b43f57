//! SHA-256 sums of the decoded components of a file, which do not depend on byte order and encoding.

use std::convert::Infallible;
use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};
use zten::formats::rules;
use zten::num::u64_from_usize;
use zten::rules::{Row, Unsupported};
use zten::{Component, Error, ErrorKind, Tensor, verify::Verifier, view::Normalization};

use crate::digests::{self, DigestLine, HEADER};

/// The length and the digest of one component.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// The number of decoded bytes, or `None` if it is not known.
    pub bytes: Option<u64>,
    /// The SHA-256 of the bytes that [`Of`] selects, or `None` if the component cannot be read.
    pub sha256: Option<[u8; 32]>,
}

/// Which form of a component's bytes is hashed.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// The decoded, little-endian bytes.
    Bytes,
    /// Normalized bytes, which are equal for equal content: see [`Normalization::content`].
    Content,
}

/// Returns whether `error` says that an object uses a dtype, encoding or layout that zten does not know, or is unread by a rule of
/// another format. Such an object does not make the file invalid.
pub fn is_unknown(error: &Error) -> bool {
    let unknown = [Unsupported::Dtype, Unsupported::Encoding, Unsupported::Layout];
    let is_of_other_format = |row: &Row| rules::rows().any(|own| own.id() == row.id());
    unknown.iter().any(|feature| error.kind() == *feature)
        || matches!(error.kind(), ErrorKind::Unsupported(row) if is_of_other_format(row))
}

/// Verifies the components of `object`, and returns the length and digest of each, in the order of the manifest.
pub fn sum(verifier: &mut Verifier, object: &Tensor<'_>, of: Of) -> Result<Vec<Sum>, Error> {
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

/// Pairs each component of `object` with its checksum, and sorts the pairs by the role of the component, in byte order. `sums` has one
/// checksum for each component, in the order of the manifest.
pub fn sorted<'a>(object: &Tensor<'a>, sums: &[Sum]) -> Vec<(Component<'a>, Sum)> {
    let mut components: Vec<_> = object.components().zip(sums.iter().copied()).collect();
    components.sort_by_key(|(component, _)| component.role());
    components
}

/// Returns the entries of the components of `object` for a list of digests. `sums` has the length and digest of each.
pub fn entries<'a>(object: &Tensor<'a>, sums: &[Sum]) -> impl Iterator<Item = DigestLine<'a>> {
    let object = *object;
    sorted(&object, sums).into_iter().map(move |(component, sum)| DigestLine {
        name: object.name().into(),
        role: component.role().into(),
        kind: digests::kind(&object, &component).into(),
        bytes: sum.bytes,
        sha256: sum.sha256,
    })
}

/// Returns the sums of an `object` that cannot be read: the sizes of its components, without digests.
pub fn unsummed(object: &Tensor<'_>) -> Vec<Sum> {
    let unsummed =
        |component: Component<'_>| Sum { bytes: component.decoded_length(), sha256: None };
    object.components().map(unsummed).collect()
}

/// Returns the identity of the tensors whose components have these `entries`, sorted by name, then role: the SHA-256 of their
/// list of digests, without a path. Tensors of equal names, types, shapes and content have the same identity in any format.
/// Returns `None` if an entry lacks the digest, the length or the type of its component.
pub fn identity<'e>(entries: impl IntoIterator<Item = DigestLine<'e>>) -> Option<digests::Sha256> {
    let mut list = Hashing(Sha256::new());
    writeln!(list, "{HEADER}").ok()?;
    for entry in entries {
        if entry.sha256.is_none() || entry.bytes.is_none() || entry.kind.is_empty() {
            return None;
        }
        writeln!(list, "{entry}").ok()?;
    }
    Some(list.0.finalize().into())
}

/// Hashes the text that is written.
struct Hashing(Sha256);

impl fmt::Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}
