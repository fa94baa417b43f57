//! The oracle for opening: the heap that opening takes, which options accept the file, and reading all content.

use std::sync::Mutex;

use zten::formats::is_ztensor;
use zten::{Archive, Component, Error, Generation, OpenOptions, ReadAt, Tensor, verify::Verifier};

use super::components::{self, Work};
use super::strict::Strict;
use super::{InMemory, formats, heap, options, tolerant, tree};
use crate::{heap_bound, reads};

/// Opens a file with several options, and reads everything that can be read. Returns whether the file opens with the
/// default options.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn open(bytes: &[u8]) -> bool {
    if !is_ztensor(bytes) {
        return false;
    }
    let options = options();
    match bounded(bytes, &options) {
        Ok(archive) => {
            disjoint(&archive);
            walk(&archive, &options);
            let _ = bounded(bytes, &options.canonical());
            bounded(bytes, &tolerant(options))
                .expect("options with tolerances reject a file that the default options accept");
            true
        }
        Err(error) => {
            if error.rule().is_some_and(|rule| TOLERATED.contains(&rule))
                && let Ok(archive) = bounded(bytes, &tolerant(options))
            {
                walk(&archive, &tolerant(options));
            }
            false
        }
    }
}

/// The rules that a tolerance turns off.
const TOLERATED: [&str; 3] = ["index-dtype", "blob-overlap", "quantized-zeros"];

/// Opens a file, and checks that the heap stays within [`heap_bound`].
fn bounded<'d>(bytes: &'d [u8], options: &OpenOptions) -> Result<InMemory<'d>, Error> {
    let (peak, opened) = heap::peak(|| options.from_bytes(bytes));
    let manifest = match &opened {
        Ok(archive) => archive.manifest().as_bytes().len() as u64,
        Err(_) => manifest(bytes, options),
    };
    assert!(peak <= heap_bound(manifest), "{peak} bytes of heap to open {manifest} of manifest");
    opened
}

/// Returns the length of the manifest in bytes, or 0 if opening the file does not read a manifest.
fn manifest(bytes: &[u8], options: &OpenOptions) -> u64 {
    let requests = Mutex::new(Vec::new());
    let source = reads(|offset, buffer| {
        requests.lock().unwrap().push(offset..offset + buffer.len() as u64);
        bytes.read_at(offset, buffer)
    });
    drop(options.open_source(source, bytes.len() as u64));
    // The first two reads are of the magic and of the footer. All others are of the manifest, which is read in pieces if it is
    // long.
    let manifest = requests.into_inner().unwrap().into_iter().skip(2);
    manifest.map(|range| range.end - range.start).sum()
}

/// Checks that no byte of a file is in two blobs, or in a blob and the header or manifest. In generation 2 blobs may be
/// identical, and the manifest is one of them.
fn disjoint(archive: &InMemory<'_>) {
    if archive.generation() == Some(Generation::V2) {
        return identical_or_disjoint(archive);
    }
    let components = archive.tensors().flat_map(|object| object.components());
    let extents = components.map(|component| component.extent());
    let mut blobs: Vec<_> = extents.filter(|extent| extent.length() > 0).collect();
    blobs.sort_unstable_by_key(zten::manifest::Extent::offset);
    let mut end = 64;
    for blob in blobs {
        assert!(
            blob.offset() >= end,
            "the blob {blob:?} begins before the end of another at {end}"
        );
        end = blob.end();
    }
    assert!(
        end <= archive.manifest().extent().start || end == 64,
        "a blob ends after the start of the manifest"
    );
}

fn identical_or_disjoint(archive: &InMemory<'_>) {
    let components = archive.tensors().flat_map(|object| object.components());
    let own = components.filter(|component| component.shard().is_none());
    let manifest = archive.manifest().extent();
    let mut blobs: Vec<_> = own.map(|component| component.extent().range()).collect();
    blobs.push(manifest.clone());
    blobs.retain(|blob| !blob.is_empty());
    blobs.sort_unstable_by_key(|blob| (blob.start, blob.end));
    blobs.dedup();
    let mut end = if blobs.is_empty() { 0 } else { 4096 };
    for blob in blobs {
        assert!(blob.start >= end && blob.start.is_multiple_of(4096), "{blob:?} before {end}");
        end = blob.end;
    }
    assert!(end + 40 <= archive.bytes().len() as u64, "a blob reaches into the footer");
}

/// Reads everything that an open file declares and contains.
fn walk(archive: &InMemory<'_>, options: &OpenOptions) {
    let manifest = archive.manifest();
    let extent = manifest.extent();
    assert_eq!(extent.end - extent.start, manifest.as_bytes().len() as u64);
    let generation = manifest.generation().expect("a zTensor file");
    let old = generation == Generation::V0_1;
    assert_eq!(old || generation == Generation::V2, manifest.version().is_none());
    assert_eq!(old || manifest.is_data_shard(), manifest.fields().is_none());
    assert!(matches!(generation.as_str(), "0.1" | "1.1" | "1.2" | "2"));
    manifest.fields().into_iter().for_each(tree::fields);
    tree::fields(manifest.attributes());
    let count = manifest.tensors().len();
    assert_eq!(count, manifest.len());
    assert_eq!(manifest.is_empty(), count == 0);
    assert!(manifest.tensor_at(u32::try_from(count).expect("a number of tensors")).is_none());
    // An open file has nothing but its index on the heap.
    assert!(manifest.index_bytes() as u64 <= heap_bound(manifest.as_bytes().len() as u64));
    let source = options.open_source(Strict(archive.bytes()), archive.file_len());
    objects(archive, &source.expect("a file that opens"));
}

/// Reads all objects of a file of any format, from memory (`archive`) and from a source that does not lend its bytes
/// (`source`).
pub(crate) fn objects<S: ReadAt>(archive: &InMemory<'_>, source: &Archive<S>) {
    let manifest = archive.manifest();
    let mut work = Work::default();
    let mut verifier = Verifier::new(manifest);
    assert_eq!((archive.len(), archive.is_empty()), (manifest.len(), manifest.is_empty()));
    assert_eq!(archive.tensors().len(), manifest.len());
    assert!(archive.names().eq(manifest.tensors().map(|tensor| tensor.name())));
    for ((ordinal, one), other) in (0..).zip(archive.tensors()).zip(source.tensors()) {
        assert_eq!(one.ordinal(), ordinal);
        let found = manifest.get(one.name()).expect("an object that is there by its name");
        assert_eq!(found.ordinal(), ordinal, "another object of that name");
        let found = archive.tensor(one.name()).expect("an object that is there by its name");
        assert_eq!(found.ordinal(), ordinal, "another object of that name in the archive");
        let again = manifest.tensor_at(ordinal).expect("an object that is there by its ordinal");
        assert_eq!(again.name(), one.name());
        object([&one, &other], archive, &mut work);
        if work.is_left() {
            validated([&one, &other], &mut verifier);
        }
    }
}

/// Reads one object in all ways. `other` is the same object of an archive whose source does not lend its bytes.
fn object<'a>([object, other]: [&Tensor<'a>; 2], archive: &InMemory<'_>, work: &mut Work) {
    let shape = object.shape();
    let zero = shape.contains(&0);
    let product = shape.iter().copied().try_fold(1_u64, u64::checked_mul);
    assert_eq!(object.element_count(), if zero { Some(0) } else { product });
    object.fields().into_iter().for_each(tree::fields);
    tree::fields(object.attributes());
    let all: Vec<Component<'a>> = object.components().collect();
    assert_eq!(all.len(), object.components().len());
    assert_eq!(all.len(), other.components().len());
    for ((ordinal, component), again) in (0..).zip(&all).zip(other.components()) {
        let found = object.component(component.role()).expect("a component by its role");
        assert_eq!(found.location(), component.location());
        let place = component.location();
        assert_eq!((place.object(), place.component()), (Some(object.ordinal()), Some(ordinal)));
        assert_eq!(component.tensor().ordinal(), object.ordinal());
        components::read([component, &again], archive, work);
    }
    formats::read([object, other], archive.bytes(), work);
}

/// Checks that the components of an object that is valid as a whole can be read one by one, and have as many bytes as were
/// validated.
fn validated([object, other]: [&Tensor<'_>; 2], verifier: &mut Verifier) {
    let (mut seen, before) = (0_u64, verifier.decoded());
    let verdict = verifier.object(object, |_, chunk| seen += chunk.len() as u64);
    assert!(verifier.decoded() >= before, "the verifier counts fewer decoded bytes than before");
    if verdict.is_err() {
        return;
    }
    let mut bytes = 0;
    for component in object.components() {
        let content = component.read();
        bytes += content.expect("valid content cannot be read").len() as u64;
    }
    assert_eq!(seen, bytes, "the validated bytes differ from the read bytes");
    formats::valid(object, other);
}
