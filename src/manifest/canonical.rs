//! The canonical form, as far as the manifest shows it: one content has one file.
//! `docs/canonical.md` has the form in full.

#[cfg(feature = "v2")]
mod v2;

use nom::Parser as _;

use super::ManifestRef;
use super::component::Component;
use super::object::Object;
use super::reader::Reader;
use crate::cbor::{
    Entries, Input, NULL, Remaining, UNLIMITED, deterministic, key, map_head, pass, text,
};
use crate::digest::Digest;
use crate::error::{Error, Place};
use crate::format::v1::{ComponentKey, ObjectKey, RootKey};
use crate::format::{Encoding, Logical};
use crate::limits::format::ALIGNMENT;
use crate::num::Assured as _;
use crate::rules::Rule;

/// The version that canonical files have, and those that are written.
pub(crate) const VERSION: &str = "1.2.0";

/// The next multiple of 64; none beyond the last that there is.
fn aligned(offset: u64) -> Option<u64> {
    offset.checked_next_multiple_of(ALIGNMENT)
}

/// Where the first blob of a canonical file begins.
const FIRST: u64 = ALIGNMENT;

/// Validates a manifest that keeps all other rules.
pub(super) fn validate(manifest: &ManifestRef<'_>) -> Result<(), Error> {
    let form = Form { manifest: *manifest, root: manifest.as_bytes(), reader: manifest.reader() };
    match manifest.dialect().writing {
        None => return Err(Error::new(Rule::CanonicalGeneration, 0)),
        #[cfg(feature = "v2")]
        Some(writing) if writing.deterministic => {
            return v2::validate(&form, writing.canonical_alignment);
        }
        Some(_) => {}
    }
    form.version()?;
    deterministic(form.root)
        .map_err(|fault| Error::new(fault.kind, form.offset(fault.remaining)))?;
    form.fields(form.root, Place::default(), |key, value| match RootKey::named(key) {
        Some(RootKey::version | RootKey::objects) => Ok(()),
        Some(RootKey::attributes) if !is_empty(value) => Ok(()),
        _ => Err(Broken::Field),
    })?;
    let mut cursor = FIRST;
    for object in manifest.objects() {
        form.object(&object, &mut cursor)?;
    }
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
    /// Its value breaks a rule.
    Value(Rule),
    /// Something in it does.
    Within(Error),
}

/// Whether the map at `value` has no entries; it is known to be definite.
fn is_empty(value: Input<'_>) -> bool {
    let head = map_head(Rule::AttributesType, UNLIMITED).parse(value);
    head.is_ok_and(|(_, entries)| entries.are_over())
}

struct Form<'a> {
    manifest: ManifestRef<'a>,
    root: Input<'a>,
    reader: Reader<'a>,
}

impl<'a> Form<'a> {
    fn offset(&self, remaining: Remaining) -> u64 {
        self.manifest.extent().end.checked_sub(remaining.left().into()).assured()
    }

    fn version(&self) -> Result<(), Error> {
        let value = RootKey::version.field().find(self.root).assured();
        match text(Rule::VersionType).parse(value) {
            Ok((_, version)) if version == VERSION.as_bytes() => Ok(()),
            _ => Err(Error::new(Rule::CanonicalGeneration, self.offset(Remaining::of(value)))),
        }
    }

    /// Validates the fields of the map at `map` in order.
    fn fields(
        &self,
        map: Input<'a>,
        place: Place,
        mut validate: impl FnMut(&[u8], Input<'a>) -> Result<(), Broken>,
    ) -> Result<(), Error> {
        let head = map_head(Rule::ObjectType, UNLIMITED).parse(map);
        let (mut input, mut entries) = head.assured_or((&[], Entries::NONE));
        while entries.next(input) {
            // In 2, the keys of unknown fields need not be text.
            let (value, name) =
                key(input).unwrap_or_else(|_| (pass(input).assured(), <Input<'_>>::default()));
            let broken = |rule, at| Error::new(rule, self.offset(Remaining::of(at))).at(place);
            validate(name, value).map_err(|wrong| match wrong {
                Broken::Field => broken(Rule::CanonicalField, input),
                Broken::Value(rule) => broken(rule, value),
                Broken::Within(error) => error,
            })?;
            input = pass(value).assured();
        }
        Ok(())
    }

    fn object(&self, object: &Object<'a>, cursor: &mut u64) -> Result<(), Error> {
        let place = Place::new(Some(object.ordinal()), None);
        self.fields(object.map(), place, |key, value| match ObjectKey::named(key) {
            Some(ObjectKey::shape | ObjectKey::format) => Ok(()),
            Some(ObjectKey::attributes) if !is_empty(value) => Ok(()),
            Some(ObjectKey::components) => object
                .components()
                .try_for_each(|component| self.component(&component, cursor))
                .map_err(Broken::Within),
            _ => Err(Broken::Field),
        })
    }

    fn component(&self, component: &Component<'a>, cursor: &mut u64) -> Result<(), Error> {
        let map = self.reader.component_map(component.record());
        let (place, extent) = (component.place(), component.extent());
        let mut digest = false;
        self.fields(map, place, |key, value| match ComponentKey::named(key) {
            Some(ComponentKey::dtype | ComponentKey::length | ComponentKey::offset) => Ok(()),
            Some(ComponentKey::logical_type) if component.record().logical() != Logical::NONE => {
                Ok(())
            }
            Some(ComponentKey::digest) if is_canonical(value) => {
                digest = true;
                Ok(())
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
            let remaining = self.reader.offset_remaining(component.record());
            return Err(broken(Rule::CanonicalBlob, remaining).found(extent.offset()));
        }
        // The manifest, whose start is there, lies behind it.
        *cursor = aligned(extent.end()).unwrap_or(u64::MAX);
        Ok(())
    }
}

/// Whether the digest at `value` is a sha256 in lower-case digits.
fn is_canonical(value: Input<'_>) -> bool {
    let Ok((_, digest)) = text(Rule::DigestType).parse(value) else { return false };
    let lower = !digest.iter().any(u8::is_ascii_uppercase);
    lower && digest.starts_with(b"sha256:") && Digest::is_known(digest)
}
