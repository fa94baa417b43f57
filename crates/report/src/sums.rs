//! SHA-256 digests of the decoded components of tensors. The digests do not depend on the byte order and encoding in a file.

use std::convert::Infallible;
use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};
use zten::formats::rules;
use zten::num::u64_from_usize;
use zten::rules::{Row, Unsupported};
use zten::{Component, Error, ErrorKind, Tensor, verify::Verifier, view::Normalization};

use crate::digests::{self, DigestLine, HEADER};

/// The decoded length and the digest of one component of a tensor.
#[derive(Clone, Copy, Debug)]
pub struct Sum {
    /// The number of bytes of the component after decoding, or `None` if it is not known.
    pub bytes: Option<u64>,
    /// The SHA-256 of the bytes that [`Of`] selects, or `None` if the component cannot be read.
    pub sha256: Option<[u8; 32]>,
}

/// Which bytes are hashed for a component: its decoded bytes, or the normal form of these bytes.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// The decoded bytes, in which elements are little-endian.
    Bytes,
    /// The bytes after [`Normalization::content`], which are equal for equal content: for example, indices of any width become
    /// `u64`.
    Content,
}

/// Returns whether `error` says that an object has a dtype, encoding or layout that zten does not know, or that a rule of another
/// format than zTensor makes the object unread. Such an object does not make its file invalid.
pub fn is_unknown(error: &Error) -> bool {
    let unknown = [Unsupported::Dtype, Unsupported::Encoding, Unsupported::Layout];
    let is_of_other_format = |row: &Row| rules::rows().any(|own| own.id() == row.id());
    unknown.iter().any(|feature| error.kind() == *feature)
        || matches!(error.kind(), ErrorKind::Unsupported(row) if is_of_other_format(row))
}

/// Reads and verifies the components of `object`, and returns the length and digest of each, in the order of the manifest. `of`
/// says which form of the bytes the digest is of. The length counts the decoded bytes in either form.
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

/// Pairs each component of `object` with its length and digest, and sorts the pairs by the roles of the components, in byte order.
/// `sums` has the length and digest of each component, in the order of the manifest.
pub fn sorted<'a>(object: &Tensor<'a>, sums: &[Sum]) -> Vec<(Component<'a>, Sum)> {
    let mut components: Vec<_> = object.components().zip(sums.iter().copied()).collect();
    components.sort_by_key(|(component, _)| component.role());
    components
}

/// Returns the entries of the components of `object` for a list of digests, sorted by the roles of the components. `sums` has the
/// length and digest of each component, in the order of the manifest.
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

/// Returns the lengths of the components of an `object` that cannot be read, in place of the result of [`sum`]: no component has a
/// digest.
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

/// A writer that feeds the text that is written to a hash, so that a long list of digests is not kept in memory.
struct Hashing(Sha256);

impl fmt::Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.update(text);
        Ok(())
    }
}
