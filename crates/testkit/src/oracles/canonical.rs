//! The oracle for the canonical form: equal contents have one canonical file.

use zten::element::StorageType;
use zten::formats::is_ztensor;
use zten::write::{Copier, WriteOptions};
use zten::{Error, ErrorKind, Generation, Layout, OpenOptions, Tensor, verify::Verifier};

use super::meaning::all;
use super::options;

/// The relation of a file to its canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CanonicalRelation {
    /// The file is no zTensor file, or is not accepted.
    Invalid,
    /// The file is accepted, and has no canonical form.
    None,
    /// The file has a canonical form, which is another file.
    Other,
    /// The file is in canonical form.
    Own,
}

/// Writes the content of a file in canonical form. The result must be accepted as canonical, have the same content, and be its
/// own canonical form; and a file that is accepted as canonical must be its own canonical form. A file that is not accepted by
/// default must not be accepted as canonical.
///
/// # Panics
/// Panics if a promise does not hold.
pub fn canonical(bytes: &[u8]) -> CanonicalRelation {
    if !is_ztensor(bytes) {
        return CanonicalRelation::Invalid;
    }
    let own = validate(bytes, &options().canonical());
    let plain = validate(bytes, &options());
    if plain.is_err() {
        assert!(own.is_err(), "the file is canonical, but not accepted by default: {plain:?}");
        let opened = options().from_bytes(bytes).map(drop);
        let first = opened.is_ok() || own == opened;
        assert!(first, "an ordinary rule comes before the canonical form: {own:?}");
        return CanonicalRelation::Invalid;
    }
    let form = match rewritten(bytes) {
        Ok(form) => form,
        Err(error) => {
            assert!(own.is_err(), "a canonical file has no canonical form: {error}");
            // A valid file may have content that its canonical form cannot express.
            let id = error.rule().unwrap_or("misuse");
            assert!(HAS_NO_FORM.contains(&id), "rejected by {id}");
            return CanonicalRelation::None;
        }
    };
    assert!(own.is_err() || form == bytes, "a canonical file is not its own canonical form");
    // A canonical file is as long as its content, which the limits for the source file bound.
    let validated = validate(&form, &OpenOptions::default().canonical());
    validated.unwrap_or_else(|error| panic!("the canonical form is rejected: {error}"));
    assert!(
        rewritten(&form).as_ref() == Ok(&form),
        "a canonical form is not its own canonical form"
    );
    same_content(bytes, &form);
    if own.is_ok() { CanonicalRelation::Own } else { CanonicalRelation::Other }
}

/// The rules because of which an accepted file may have no canonical form: a duplicate key within a value, a field of
/// 0.1 that is nested too deep for an attribute, and an unknown type on a dtype of 1.1 that becomes a `type` in 1.2.
const HAS_NO_FORM: [&str; 3] = ["duplicate-key", "limit-depth", "type-storage"];

/// Validates the header and the content of a file, and its padding if `options` require the canonical form.
fn validate(file: &[u8], options: &OpenOptions) -> Result<(), Error> {
    let archive = options.from_bytes(file)?;
    let mut verifier = Verifier::new(archive.manifest());
    archive.tensors().try_for_each(|tensor| verifier.object(&tensor, |_, _| ()))?;
    if *options == options.canonical() {
        verifier.padding(archive.manifest(), archive.source())?;
    }
    Ok(())
}

/// Writes an accepted file in canonical form: in generation 2 if the file has that generation, and otherwise in 1.2. Returns an
/// error only if this form cannot express the content; panics if the file cannot be read again.
fn rewritten(file: &[u8]) -> Result<Vec<u8>, Error> {
    let archive = options().from_bytes(file).expect("a file that was accepted");
    let copier = Copier::new(archive.manifest());
    let form = if archive.generation() == Some(Generation::V2) {
        Generation::V2
    } else {
        Generation::V1_2
    };
    let settings = WriteOptions::default().generation(form).canonical();
    copier.file(archive.manifest(), archive.source(), Vec::new(), &settings).inspect_err(|error| {
        // The file is valid, and writing to a vector cannot fail, so the canonical form cannot express the content.
        let is_inexpressible = error.kind() == ErrorKind::Inexpressible(form);
        assert!(is_inexpressible, "the accepted file cannot be read again: {error:?}");
    })
}

/// Checks that the canonical file `form` has the same objects and content as `file`.
fn same_content(file: &[u8], form: &[u8]) {
    let (archive, form) = (options().from_bytes(file), options().from_bytes(form));
    let (archive, form) = (archive.expect("accepted"), form.expect("accepted"));
    assert_eq!(archive.len(), form.len());
    assert_eq!(all(archive.attributes()), all(form.attributes()), "attributes of the file");
    for object in archive.tensors() {
        let other = form.get(object.name()).expect("an object of that name");
        assert!(object.shape() == other.shape(), "{object:?} has another shape");
        assert_eq!(object.layout_name(), other.layout_name());
        assert_eq!(object.components().len(), other.components().len());
        let first = object.components().next();
        if first.is_some_and(|first| first.generation() != Some(Generation::V0_1)) {
            assert_eq!(all(object.attributes()), all(other.attributes()), "of {object:?}");
        }
        same_components(&object, &other);
    }
}

fn same_components(object: &Tensor<'_>, other: &Tensor<'_>) {
    for component in object.components() {
        let there = other.component(component.role()).expect("a component of that role");
        let (here, there) = (component.read(), there.read());
        let (here, there) = (here.expect("found to be valid"), there.expect("found to be valid"));
        let (storage, written) = (here.view().storage_type(), there.view().storage_type());
        // The canonical form widens indices, so their types may differ, and normalizes bools of 0.1, so their bytes may
        // differ.
        if storage != written {
            assert!(matches!(object.layout(), Layout::SparseCsr | Layout::SparseCoo));
            assert_eq!(here.view().len(), there.view().len());
        } else if storage == StorageType::Bool {
            let same = here.iter().zip(&*there).all(|(a, b)| (*a != 0) == (*b != 0));
            assert!(same && here.len() == there.len(), "other bools");
        } else {
            assert_eq!(*here, *there, "other bytes in {component:?}");
        }
        assert_eq!(here.view().logical_type(), there.view().logical_type());
    }
}
