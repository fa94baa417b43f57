//! The canonical form, as far as the manifest shows it: one content has one file.
//! `docs/canonical.md` has the form in full.

mod v2;

use super::ManifestRef;
use super::index::{Records, Site};
use super::object::{Component, Object};
use crate::cbor::{
    Fault, Input, NULL, Remaining, UNLIMITED, deterministic, deterministic_map, map_head, text,
};
use crate::digest::Digest;
use crate::error::{Error, Place};
use crate::format::v1::{ComponentKey, ObjectKey, RootKey};
use crate::format::{Encoding, Logical, Version};
use crate::limits::format::ALIGNMENT;
use crate::rules::Rule;

/// The version that canonical files have, and those that are written.
pub(crate) const VERSION: &str = "1.2.0";

/// Validates a manifest that keeps all other rules.
pub(super) fn validate(manifest: &ManifestRef<'_>) -> Result<(), Error> {
    let form = Form { manifest: *manifest, root: manifest.as_bytes(), records: manifest.records() };
    match manifest.dialect().writing {
        None => return Err(Error::new(Rule::CanonicalGeneration, 0)),
        Some(writing) if writing.deterministic => {
            return v2::validate(&form, writing.canonical_alignment);
        }
        Some(_) => {}
    }
    form.version()?;
    // The first blob follows the header.
    let mut cursor = ALIGNMENT;
    form.fields(form.root, Place::default(), |key, value| match RootKey::named(key) {
        Some(RootKey::version) => Ok(deterministic(value)?),
        Some(RootKey::attributes) if !is_empty(value) => Ok(deterministic(value)?),
        Some(RootKey::objects) => {
            let mut objects = manifest.objects();
            deterministic_map(value, |_, _, map| {
                let object = objects.next().ok_or(Broken::Field)?;
                form.object(&object, map, &mut cursor).map_err(Broken::Within)
            })
        }
        _ => Err(Broken::Field),
    })?;
    let start = manifest.extent().start;
    if start == cursor {
        Ok(())
    } else {
        Err(Error::new(Rule::CanonicalManifest, start).found(start))
    }
}

/// What is wrong with a field.
enum Broken {
    /// It should not be there.
    Field,
    /// It, or what is in it, has not the one form.
    Form(Fault),
    /// Its value breaks a rule.
    Value(Rule),
    /// Something in it does.
    Within(Error),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Form(fault)
    }
}

/// Whether the map at `value` has no entries; it is known to be definite.
fn is_empty(value: Input<'_>) -> bool {
    let head = map_head(Rule::AttributesType, UNLIMITED, value);
    head.is_ok_and(|(_, entries)| entries.are_over())
}

struct Form<'a> {
    manifest: ManifestRef<'a>,
    root: Input<'a>,
    records: Records<'a>,
}

impl<'a> Form<'a> {
    fn offset(&self, remaining: Remaining) -> u64 {
        self.manifest.extent().end.saturating_sub(remaining.left().into())
    }

    fn version(&self) -> Result<(), Error> {
        if let Some(Version { major: 1, minor: 2, patch: Some(0) }) = self.manifest.index().version
        {
            return Ok(());
        }
        let value = RootKey::version.field().find(self.root).ok_or(Error::internal())?;
        Err(Error::new(Rule::CanonicalGeneration, self.offset(Remaining::of(value))))
    }

    /// The error of a blob that does not lie where the form has it.
    fn blob(&self, component: &Component<'a>) -> Error {
        let found = component.extent().offset();
        let offset = self.offset(self.records.field(component.record(), Site::Offset));
        Error::new(Rule::CanonicalBlob, offset).found(found).at(component.place())
    }

    /// Validates the map at `map`, whose values `validate` validates: what is left after it.
    fn fields(
        &self,
        map: Input<'a>,
        place: Place,
        mut validate: impl FnMut(&[u8], Input<'a>) -> Result<Input<'a>, Broken>,
    ) -> Result<Input<'a>, Error> {
        let broken = |rule, at| Error::new(rule, self.offset(Remaining::of(at))).at(place);
        let read = deterministic_map(map, |at, key, value| {
            validate(key, value).map_err(|wrong| match wrong {
                Broken::Field => Broken::Within(broken(Rule::CanonicalField, at)),
                Broken::Value(rule) => Broken::Within(broken(rule, value)),
                other => other,
            })
        });
        read.map_err(|wrong| match wrong {
            Broken::Within(error) => error,
            Broken::Form(fault) => Error::new(fault.kind, self.offset(fault.remaining)),
            Broken::Field | Broken::Value(_) => broken(Rule::CanonicalField, map),
        })
    }

    /// Validates the object whose map is at `map`: what is left after it.
    fn object(
        &self,
        object: &Object<'a>,
        map: Input<'a>,
        cursor: &mut u64,
    ) -> Result<Input<'a>, Error> {
        let place = Place::new(Some(object.ordinal()), None);
        self.fields(map, place, |key, value| match ObjectKey::named(key) {
            Some(ObjectKey::shape | ObjectKey::format) => Ok(deterministic(value)?),
            Some(ObjectKey::attributes) if !is_empty(value) => Ok(deterministic(value)?),
            Some(ObjectKey::components) => {
                let mut components = object.components();
                deterministic_map(value, |_, _, map| {
                    let component = components.next().ok_or(Broken::Field)?;
                    self.component(&component, map, cursor).map_err(Broken::Within)
                })
            }
            _ => Err(Broken::Field),
        })
    }

    /// Validates the component whose map is at `map`: what is left after it.
    fn component(
        &self,
        component: &Component<'a>,
        map: Input<'a>,
        cursor: &mut u64,
    ) -> Result<Input<'a>, Error> {
        let (place, extent) = (component.place(), component.extent());
        let mut digest = false;
        let rest = self.fields(map, place, |key, value| match ComponentKey::named(key) {
            Some(ComponentKey::dtype | ComponentKey::length | ComponentKey::offset) => {
                Ok(deterministic(value)?)
            }
            Some(ComponentKey::logical_type) if component.record().logical != Logical::NONE => {
                Ok(deterministic(value)?)
            }
            Some(ComponentKey::digest) if is_canonical(value) => {
                digest = true;
                Ok(deterministic(value)?)
            }
            Some(ComponentKey::digest) if value.first() != Some(&NULL) => {
                Err(Broken::Value(Rule::CanonicalDigest))
            }
            Some(ComponentKey::encoding) if component.encoding() == Encoding::Zstd => {
                Err(Broken::Value(Rule::CanonicalEncoding))
            }
            _ => Err(Broken::Field),
        })?;
        let broken = |rule, remaining| Error::new(rule, self.offset(remaining)).at(place);
        if !digest {
            return Err(broken(Rule::CanonicalDigest, Remaining::of(map)));
        }
        if extent.offset() != *cursor {
            return Err(self.blob(component));
        }
        // The manifest, whose start is there, lies behind it.
        *cursor = extent.end().checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX);
        Ok(rest)
    }
}

/// Whether the digest at `value` is a sha256 in lower-case digits.
fn is_canonical(value: Input<'_>) -> bool {
    let Ok((_, digest)) = text(Rule::DigestType, value) else { return false };
    let lower = !digest.iter().any(u8::is_ascii_uppercase);
    lower && digest.starts_with(b"sha256:") && Digest::is_known(digest)
}
