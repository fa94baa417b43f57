//! The oracle for sources that lie: wrong bytes may be rejected, but nothing untrue may be reported about the file.

use sha2::Digest as _;
use zten::formats::is_ztensor;
use zten::write::{Copier, WriteOptions};
use zten::{
    Archive, Component, Digest, Encoding, Generation, Layout, OpenOptions, Tensor,
    element::ByteOrder,
    verify::{Verified, Verifier},
};

use super::liar::{Liar, Plan};
use super::shard_lies::shard_lies;
use super::steps::opened;
use super::{DECODED, DECODED_TOTAL, FEW, InMemory, options, tolerant};

/// The numbers of readings from sources that lie, by how they ended. A reading is one attempt to read, validate or
/// copy a component or file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lied {
    /// The largest number of requests that one reading made to its source.
    pub times: usize,
    /// The number of readings that ended without an error.
    pub ended: usize,
    /// The number of readings that ended without an error and were reported as verified by a digest.
    pub verified: usize,
    /// The number of readings that ended with an error.
    pub rejected: usize,
}

/// Reads a zTensor file from a source that lies by `plan`: each component, all objects, a copy, and the same content in a shard,
/// as far as the oracle's limit of decoded bytes reaches. Content that is reported as verified must have its digest, and content
/// that is read without an error must have the declared length. If `bytes` do not open as a zTensor file, even with all
/// tolerances, nothing is read.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn lies(bytes: &[u8], plan: Plan<'_>) -> Lied {
    let mut lied = Lied::default();
    if !is_ztensor(bytes) {
        return lied;
    }
    let opens = |options: &OpenOptions| options.from_bytes(bytes).is_ok();
    let Some(options) = [options(), tolerant(options())].into_iter().find(opens) else {
        return lied;
    };
    let archive = options.from_bytes(bytes).expect("a file that opens");
    let other = Liar::other(bytes);
    let liar = || Liar::new(bytes, &other, plan);
    let mut left = DECODED_TOTAL;
    for component in archive.tensors().flat_map(|object| object.components()) {
        left = left.saturating_sub(component.decoded_length().unwrap_or(DECODED / 8) + 256);
        if left > 0 {
            streamed(&component, &liar(), &mut lied);
            decoded(&component, &liar(), &mut lied);
        }
    }
    if left > 0 {
        verified(&archive, &liar(), &mut lied);
        copied(&archive, &liar(), &mut lied);
        let header = opened(&bytes, bytes.len(), &options).expect("a file that opens");
        let alone = header.manifest();
        alone.tensors().for_each(|object| of_layouts(&object.read_from(&liar())));
        shard_lies(&archive, plan, &mut lied);
    }
    lied
}

impl Lied {
    pub(crate) fn note(&mut self, source: &Liar<'_>, verified: Option<Verified>) {
        self.times = self.times.max(source.times());
        match verified {
            None => self.rejected += 1,
            Some(verified) => {
                self.ended += 1;
                self.verified += usize::from(verified == Verified::Digest);
            }
        }
    }
}

/// Reads one component chunk by chunk from `source`, and checks the result.
fn streamed(component: &Component<'_>, source: &Liar<'_>, lied: &mut Lied) {
    let mut read = Vec::new();
    let mut run = || {
        let mut content = component.read_from(source).reader().ok()?;
        loop {
            match content.next_chunk() {
                Ok(Some(chunk)) => {
                    assert!(!chunk.is_empty() && chunk.len() <= 64 << 10);
                    read.extend_from_slice(chunk);
                }
                Ok(None) => return content.verified(),
                Err(_) => {
                    assert!(content.next_chunk().is_err(), "reading succeeds after an error");
                    assert_eq!(content.verified(), None, "verified, and rejected");
                    return None;
                }
            }
        }
    };
    let verified = run();
    if let Some(verified) = verified {
        validate(component, &read, verified);
    }
    lied.note(source, verified);
}

/// Reads one component into memory from `source`, and checks the result.
fn decoded(component: &Component<'_>, source: &Liar<'_>, lied: &mut Lied) {
    let decoded = component.read_from(source).read();
    if let Ok(decoded) = &decoded {
        validate(component, decoded, decoded.verified());
        assert_eq!(decoded.view().verified(), Some(decoded.verified()));
    }
    lied.note(source, decoded.ok().map(|decoded| decoded.verified()));
}

/// Checks `read`, the bytes that a lying source made a reading of `component` return, against the component of the
/// true file: their length, and if they are reported as verified by a digest, the bytes.
fn validate(component: &Component<'_>, read: &[u8], verified: Verified) {
    let length = read.len() as u64;
    assert!(component.decoded_length().is_none_or(|declared| declared == length), "{length} bytes");
    if !matches!(component.generation(), Some(Generation::V0_1 | Generation::V2)) {
        assert!(component.element_size().is_none_or(|size| length.is_multiple_of(size)));
    }
    if verified != Verified::Digest {
        return;
    }
    if component.encoding() == Encoding::Raw {
        let mut stored = read.to_vec();
        let width = component.storage_type().map_or(1, |storage| storage.width().into());
        if component.byte_order() == ByteOrder::Big {
            stored.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        assert!(
            has_digest(&stored, component),
            "the verified bytes do not have the digest: {component:?}"
        );
    } else if let Ok(decoded) = component.read() {
        // No two contents in this test have the same digest, so verified content must be that of the true file.
        assert!(
            *decoded == *read,
            "the verified content differs from the decoded content: {component:?}"
        );
    }
}

/// Returns whether the digest of `component` is that of `stored`, as other packages than zten compute it.
fn has_digest(stored: &[u8], component: &Component<'_>) -> bool {
    const CRC32C: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI);
    match component.digest() {
        Some(Digest::Sha256(digest)) => sha2::Sha256::digest(stored)[..] == digest,
        Some(Digest::Crc32c(digest)) => CRC32C.checksum(stored) == digest,
        Some(Digest::Xxh3(digest)) => twox_hash::XxHash3_64::oneshot(stored) == digest,
        _ => false,
    }
}

/// Validates all objects of `archive` with bytes from `source`, and checks the bytes of the objects that are reported
/// as valid.
fn verified(archive: &InMemory<'_>, source: &Liar<'_>, lied: &mut Lied) {
    let mut verifier = Verifier::new(archive.manifest());
    for object in archive.tensors() {
        let mut read = vec![Vec::new(); object.components().len()];
        let validated = verifier.object(&object.read_from(source), |component, chunk| {
            let ordinal = component.location().component().expect("a component");
            read[usize::try_from(ordinal).expect("a small number")].extend_from_slice(chunk);
        });
        if validated.is_ok() {
            for (component, read) in object.components().zip(&read) {
                // An object whose digest cannot be verified must not be reported as valid, so each component with a
                // digest was verified by it.
                let digest = component.digest().map(|_| Verified::Digest);
                validate(&component, read, digest.unwrap_or(Verified::NoDigest));
            }
            counts(&object, &read);
            rows(&object, &read);
        }
        lied.note(source, validated.ok().map(|()| Verified::NoDigest));
    }
}

/// Checks that the components of a sparse object that was reported as valid have sizes that fit each other. `read`
/// holds the bytes that were read of each component.
fn counts(object: &Tensor<'_>, read: &[Vec<u8>]) {
    let count = |role| {
        let (at, component) =
            object.components().enumerate().find(|(_, component)| component.role() == role)?;
        Some(read[at].len() as u64 / component.element_size()?)
    };
    let (indices, each) = match object.layout() {
        Layout::SparseCsr => ("indices", 1),
        Layout::SparseCoo => ("coords", object.shape().len() as u64),
        _ => return,
    };
    let Some(values) = count("values") else { return };
    assert_eq!(
        count(indices),
        values.checked_mul(each),
        "the number of values is not that of the indices"
    );
    if let (Some(bounds), Some(rows)) = (count("indptr"), object.shape().first().copied())
        && object.layout() == Layout::SparseCsr
    {
        assert_eq!(
            Some(bounds),
            rows.checked_add(1),
            "the number of row pointers does not fit the number of rows"
        );
    }
}

/// Checks that the column indices of each row of a CSR matrix of generation 2 ascend, if it was reported as valid.
/// `read` holds the bytes that were read of each component.
fn rows(object: &Tensor<'_>, read: &[Vec<u8>]) {
    let numbers = |role| {
        let (at, component) =
            object.components().enumerate().find(|(_, component)| component.role() == role)?;
        let width = usize::from(component.storage_type()?.width());
        let number =
            |bytes: &[u8]| bytes.iter().rfold(0_u64, |all, byte| all << 8 | u64::from(*byte));
        Some(read[at].chunks(width).map(number).collect::<Vec<_>>())
    };
    let generation = object.components().next().and_then(|component| component.generation());
    if object.layout() != Layout::SparseCsr || generation != Some(Generation::V2) {
        return;
    }
    let (Some(indices), Some(bounds)) = (numbers("indices"), numbers("indptr")) else { return };
    for bounds in bounds.windows(2) {
        let place = |bound: u64| usize::try_from(bound).expect("an offset that fits in memory");
        let row = &indices[place(bounds[0])..place(bounds[1])];
        assert!(row.is_sorted_by(|one, next| one < next), "a row does not ascend");
    }
}

/// Copies the archive with bytes from `source`. The content of the copy may be wrong, but the copy must be a valid
/// file.
fn copied(archive: &InMemory<'_>, source: &Liar<'_>, lied: &mut Lied) {
    let copier = Copier::new(archive.manifest());
    let copy = copier.file(archive.manifest(), source, Vec::new(), &WriteOptions::default());
    if let Ok(copy) = &copy {
        let opened = Archive::from_bytes(copy);
        let opened = opened.unwrap_or_else(|error| panic!("the copy is rejected: {error}"));
        let mut verifier = Verifier::new(opened.manifest());
        for object in opened.tensors() {
            let validated = verifier.object(&object, |_, _| ());
            validated
                .unwrap_or_else(|error| panic!("the content of the copy is rejected: {error}"));
        }
    }
    lied.note(source, copy.ok().map(|_| Verified::NoDigest));
}

/// Borrows and decodes the content of an object whose source lies, and checks that sizes agree and indices are in
/// range, whatever the source returned.
fn of_layouts(object: &Tensor<'_>) {
    for component in object.components() {
        if let Ok(view) = component.view() {
            let length = component.extent().length();
            assert_eq!(view.as_bytes().len() as u64, length, "another length: {component:?}");
        }
    }
    if let Ok(csr) = object.csr() {
        assert_eq!(csr.indptr().len() as u64, csr.rows() + 1);
        assert!(csr.indices().widened().take(FEW).all(|column| column < csr.columns()));
        let last = csr.rows().checked_sub(1).and_then(|last| csr.row_range(last));
        assert!(last.is_none_or(|range| range.start <= range.end && range.end == csr.nnz()));
    }
    if let Ok(coo) = object.coo() {
        for (at, &dimension) in coo.shape().iter().enumerate() {
            let axis = coo.axis(at).expect("an axis for each dimension");
            assert_eq!(axis.len(), coo.nnz());
            assert!(axis.widened().take(FEW).all(|place| place < dimension));
        }
    }
    let _ = (object.quantized(), object.mx());
}
