//! Opening: how much heap it takes, who accepts what, and everything that can then be read.

use zten::open::Opening;
use zten::{Archive, Component, Error, Generation, Object, Options, verify::Verifier};

use crate::components::{self, Work};
use crate::{formats, heap, limits, options, tolerant, tree};

/// Opens a file by several options, and reads all that can be read of it: whether it opens by
/// default.
///
/// # Panics
/// Where a promise does not hold.
pub fn open(bytes: &[u8]) -> bool {
    let options = options();
    match bounded(bytes, &options) {
        Ok(archive) => {
            disjoint(&archive);
            walk(&archive);
            let _ = bounded(bytes, &options.canonical());
            bounded(bytes, &tolerant(options)).expect("accepted by who asks for less");
            true
        }
        Err(error) => {
            if error.id().is_some_and(|rule| TOLERATED.contains(&rule))
                && let Ok(archive) = bounded(bytes, &tolerant(options))
            {
                walk(&archive);
            }
            false
        }
    }
}

/// The rules that a tolerance lifts.
const TOLERATED: [&str; 3] = ["index-dtype", "blob-overlap", "quantized-zeros"];

/// Opens a file, and holds the heap that it takes against the bound for any file.
fn bounded<'d>(bytes: &'d [u8], options: &Options) -> Result<Archive<&'d [u8]>, Error> {
    let (peak, opened) = heap::peak(|| Archive::open_with(bytes, options));
    let manifest = match &opened {
        Ok(archive) => archive.as_bytes().len() as u64,
        Err(_) => manifest(bytes, options).unwrap_or_default(),
    };
    assert!(peak <= bound(manifest), "{peak} bytes of heap to open {manifest} of manifest");
    opened
}

/// The most heap that opening may take beside so many bytes of manifest, or of what a front end told: SECURITY.md.
pub(crate) fn bound(manifest: u64) -> u64 {
    8 * manifest + (64 << 10)
}

/// How long the manifest of a file is, if it is asked for at all.
fn manifest(bytes: &[u8], options: &Options) -> Result<u64, Error> {
    let fetch = |range: core::ops::Range<u64>| {
        let place = |at| usize::try_from(at).expect("a place in memory");
        &bytes[place(range.start)..place(range.end)]
    };
    let opening = Opening::new(bytes.len() as u64, options)?;
    let footer = opening.header(fetch(opening.needs()))?;
    let needs = footer.footer(fetch(footer.needs()))?.needs();
    Ok(needs.end - needs.start)
}

/// No byte of a file is in two blobs, in the header, or in the manifest; in 2 blobs, of which the
/// manifest is one, may be identical.
fn disjoint(archive: &Archive<&[u8]>) {
    if archive.generation() == Some(Generation::V2) {
        return identical_or_disjoint(archive);
    }
    let components = archive.objects().flat_map(|object| object.components());
    let extents = components.map(|component| component.extent());
    let mut blobs: Vec<_> = extents.filter(|extent| extent.length() > 0).collect();
    blobs.sort_unstable_by_key(zten::manifest::Extent::offset);
    let mut end = 64;
    for blob in blobs {
        assert!(blob.offset() >= end, "{blob:?} begins before {end}");
        end = blob.end();
    }
    assert!(end <= archive.extent().start || end == 64, "a blob ends behind the manifest");
}

fn identical_or_disjoint(archive: &Archive<&[u8]>) {
    let components = archive.objects().flat_map(|object| object.components());
    let own = components.filter(|component| component.shard().is_none());
    let manifest = archive.extent();
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
    assert!(end + 40 <= archive.data().len() as u64, "a blob in the footer");
}

/// Reads all that an opened file says and holds.
fn walk(archive: &Archive<&[u8]>) {
    let manifest = archive.manifest();
    let extent = manifest.extent();
    assert_eq!(extent.end - extent.start, manifest.as_bytes().len() as u64);
    let generation = manifest.generation().expect("a zTensor file");
    let old = generation == Generation::V0_1;
    assert_eq!(old || generation == Generation::V2, manifest.version().is_none());
    assert_eq!(old || manifest.is_data_shard(), manifest.fields().is_none());
    assert!(matches!(generation.as_str(), "0.1" | "1.1" | "1.2" | "2"));
    manifest.fields().into_iter().for_each(tree::fields);
    manifest.attributes().into_iter().for_each(tree::fields);
    let count = manifest.objects().len();
    assert_eq!(u32::try_from(count), Ok(manifest.len()));
    assert_eq!(manifest.is_empty(), count == 0);
    assert!(manifest.object(manifest.len()).is_none());
    // All heap of an opened file is its index.
    assert!(manifest.index_bytes() as u64 <= bound(manifest.as_bytes().len() as u64));
    objects(archive);
}

/// Reads all objects, whatever format the file is of.
pub(crate) fn objects(archive: &Archive<&[u8]>) {
    let manifest = archive.manifest();
    let mut work = Work::default();
    let mut verifier = Verifier::new(archive.data().len() as u64, &limits());
    for (ordinal, one) in (0..).zip(manifest.objects()) {
        assert_eq!(one.ordinal(), ordinal);
        let found = manifest.get(one.name()).expect("an object that is there by its name");
        assert_eq!(found.ordinal(), ordinal, "another object of that name");
        let again = manifest.object(ordinal).expect("an object that is there by its ordinal");
        assert_eq!(again.name(), one.name());
        object(&one, archive, &mut work);
        if work.is_left() {
            validated(&one, archive, &mut verifier);
        }
    }
}

/// Reads one object.
fn object<'a>(object: &Object<'a>, archive: &Archive<&[u8]>, work: &mut Work) {
    let shape = object.shape();
    assert_eq!(shape.iter().count(), shape.len());
    let zero = shape.iter().any(|dimension| dimension == 0);
    let product = shape.iter().try_fold(1_u64, u64::checked_mul);
    assert_eq!(shape.elements(), if zero { Some(0) } else { product });
    object.fields().into_iter().for_each(tree::fields);
    object.attributes().into_iter().for_each(tree::fields);
    let all: Vec<Component<'a>> = object.components().collect();
    assert_eq!(all.len(), object.components().len());
    for (ordinal, component) in (0..).zip(&all) {
        let found = object.component(component.role()).expect("a component by its role");
        assert_eq!(found.place(), component.place());
        let place = component.place();
        assert_eq!((place.object(), place.component()), (Some(object.ordinal()), Some(ordinal)));
        assert_eq!(component.object().ordinal(), object.ordinal());
        components::read(component, archive, work);
    }
    formats::read(object, archive, work);
}

/// What validates all of an object agrees with what reads it part by part.
fn validated(object: &Object<'_>, archive: &Archive<&[u8]>, verifier: &mut Verifier) {
    let file = archive.data();
    let (mut seen, before) = (0_u64, verifier.decoded());
    let verdict = verifier.object(object, file, |_, chunk| seen += chunk.len() as u64);
    assert!(verifier.decoded() >= before, "bytes were given back");
    if verdict.is_err() {
        return;
    }
    let mut bytes = 0;
    for component in object.components() {
        let content = component.read_to_vec(file, &limits());
        bytes += content.expect("content that was found to be valid").len() as u64;
    }
    assert_eq!(seen, bytes, "bytes validated are the bytes read");
    formats::valid(object, file);
}
