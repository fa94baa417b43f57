//! Writes a model with the writer of zten, and checks that rejected objects leave nothing behind.

use zten::write::{Encoded, Level, NewComponent, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Error, ErrorKind, error::Misuse};

use super::{Model, ModelComponent, ModelObject};

/// The file that was written from a model, and what it contains.
pub(super) struct Written<'m> {
    pub(super) file: Vec<u8>,
    /// The objects that the writer accepted.
    pub(super) objects: Vec<&'m ModelObject>,
    /// Whether the writer accepted the attributes of the file.
    pub(super) attributes: bool,
}

/// The reason why an object is not in the file.
enum Rejection {
    /// The object was rejected before a byte of it was written.
    Before,
    /// The object was rejected while its bytes were written, so the file cannot be finished.
    Within,
}

fn settings(model: &Model) -> WriteOptions {
    let settings = WriteOptions::default().checksum(model.checksum);
    if model.canonical { settings.canonical() } else { settings }
}

/// Writes `objects` of a model. If an object is rejected while its bytes are written, which makes the file unusable,
/// the error is the index of this object.
pub(super) fn write<'m>(model: &Model, objects: &[&'m ModelObject]) -> Result<Written<'m>, usize> {
    let mut writer =
        Writer::new(Vec::new(), &settings(model)).expect("writing to a vector cannot fail");
    let mut attributes = !model.late && attributes(model, &mut writer);
    let mut accepted = Vec::new();
    for (ordinal, object) in objects.iter().enumerate() {
        match one(&mut writer, object, model) {
            Ok(()) => accepted.push(*object),
            Err(Rejection::Before) => {}
            Err(Rejection::Within) => {
                spoiled(writer);
                return Err(ordinal);
            }
        }
    }
    if model.late {
        attributes = self::attributes(model, &mut writer);
    }
    let file =
        writer.finish().expect("the file cannot be finished although all objects have ended");
    Ok(Written { file, objects: accepted, attributes })
}

/// Writes `objects`, which the writer has accepted before: the first half to a file, and the second half by appending
/// to this file.
pub(super) fn in_two(model: &Model, objects: &[&ModelObject]) -> Vec<u8> {
    let (first, second) = objects.split_at(objects.len() / 2);
    let first = write(model, first)
        .unwrap_or_else(|_| panic!("an object that was accepted before is rejected"));
    let archive = Archive::from_bytes(&first.file).expect("a file that was written");
    let start = usize::try_from(archive.manifest().extent().start).expect("a small file");
    let before = first.file[..start].to_vec();
    let mut writer = Writer::append(before, archive.manifest(), &settings(model)).expect("1.2");
    for object in second {
        assert!(
            one(&mut writer, object, model).is_ok(),
            "an object is rejected when it is appended"
        );
    }
    writer.finish().expect("the file cannot be finished although all objects have ended")
}

/// Sets the attributes of the file. Returns whether the writer accepted them.
fn attributes(model: &Model, writer: &mut Writer<Vec<u8>>) -> bool {
    let Some(attributes) = &model.attributes else { return false };
    writer.attributes_encoded(&Encoded::from_cbor(attributes.clone())).is_ok()
}

/// Checks that the writer accepts nothing more and does not finish after an error in the middle of an object.
fn spoiled(mut writer: Writer<Vec<u8>>) {
    let unfinished = |error: Error| error.kind() == ErrorKind::Misuse(Misuse::Unfinished);
    let next = writer.object(&NewObject::dense("next", &[], DType::U8)).err();
    assert!(
        next.is_some_and(unfinished),
        "the writer accepts an object although another one has not ended"
    );
    let finished = writer.finish().err();
    assert!(
        finished.is_some_and(unfinished),
        "the writer finishes a file whose object has not ended"
    );
}

/// Returns the declaration of a component that the writer gets before the component's bytes.
fn declared(part: &ModelComponent) -> NewComponent<'_> {
    let new = NewComponent::new(&part.role, part.element.element(), part.elements);
    part.level.map_or(new, |level| new.compressed(Level::new(level).expect("a level")))
}

/// Writes one object, and checks that the writer accepts an object in which the model has made no mistake, unless
/// [`may_be_rejected`] allows the error.
fn one(writer: &mut Writer<Vec<u8>>, object: &ModelObject, model: &Model) -> Result<(), Rejection> {
    let components: Vec<NewComponent<'_>> = object.parts.iter().map(declared).collect();
    let attributes = object.attributes.clone().map(Encoded::from_cbor);
    let mut new = NewObject::custom(&object.name, &object.shape, &object.format, &components);
    if let Some(attributes) = &attributes {
        new = new.attributes(attributes);
    }
    let mut out = writer.object(&new).map_err(|error| {
        assert!(error.offset().is_none(), "an error of the writer has an offset in the file");
        assert!(!object.right || may_be_rejected(&error, model), "{error}: {object:?}");
        Rejection::Before
    })?;
    for part in &object.parts {
        let role = part.named.as_ref().unwrap_or(&part.role);
        for piece in part.content.chunks(object.piece.max(1)) {
            out.write_part(role, piece).map_err(|error| {
                assert!(!object.right, "{error}: {object:?}");
                Rejection::Within
            })?;
        }
    }
    out.finish().map_err(|error| {
        assert!(!object.right, "{error}: {object:?}");
        Rejection::Within
    })
}

/// Returns whether `error` may reject an object without a mistake: because an earlier object has its name, or because
/// of the canonical form.
fn may_be_rejected(error: &Error, model: &Model) -> bool {
    let canonical = error.kind() == ErrorKind::Misuse(Misuse::Order)
        || matches!(error.rule(), Some("duplicate-key"));
    error.rule() == Some("duplicate-name") || (model.canonical && canonical)
}
