//! Checking that a manifest has the canonical form: of all files with the same content, exactly one is canonical. The bytes
//! of blobs are checked elsewhere.

use alloc::vec::Vec;

use super::ManifestRef;
use super::object::{Component, Tensor};
use crate::cbor::{
    BytesLeft, Fault, Input, NULL, UNLIMITED, deterministic, deterministic_map, map_head, text,
};
use crate::digest::Digest;
use crate::error::{BareError, Location, OutOfMemory};
use crate::formats::ztensor::{Version, Writing, v1, v2};
use crate::index::{Encoding, Site};
use crate::num::{len_u32, usize_from_u32};
use crate::rules::Rule;

/// The value of the field `version` in canonical files of 1.x, and in all 1.x files that zten writes.
pub(crate) const VERSION: &str = "1.2.0";

/// Checks that `manifest`, which keeps all other rules, has the canonical form, and lies in its file where the canonical form
/// requires.
pub(super) fn validate(manifest: &ManifestRef<'_>) -> Result<(), BareError> {
    let writing = manifest.dialect().and_then(|dialect| dialect.writing);
    let writing = writing.ok_or(BareError::new(Rule::CanonicalGeneration, 0))?;
    let (extent, frame) = (manifest.extent(), manifest.frame().ok_or(BareError::internal())?);
    let misplaced = BareError::new(Rule::CanonicalManifest, extent.start);
    if frame.is_data_shard() {
        return Err(misplaced);
    }
    if let Some((offset, reserved)) = frame.reserved() {
        return Err(BareError::new(Rule::CanonicalReserved, offset).found(reserved.into()));
    }
    let form = CanonicalForm { manifest: *manifest, writing };
    let end = if writing.deterministic { form.validate_v2()? } else { form.validate_v1()? };
    // The manifest must begin where the next blob would begin, and end where the footer begins. The second condition is a
    // condition in generation 2 only: `blobs_end` is the offset of the footer there, and the start of the manifest in 1.x.
    if extent.start == end && frame.blobs_end <= extent.end {
        return Ok(());
    }
    Err(misplaced.found(extent.start))
}

/// The reason why a field is not canonical.
enum Broken {
    /// A canonical file does not have this field.
    Field,
    /// The field, or an item within its value, is not deterministic CBOR.
    Form(Fault),
    /// The value of the field breaks this rule of the canonical form.
    Value(Rule),
    /// An item within the value breaks a rule of the canonical form, as this error says.
    Within(BareError),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Form(fault)
    }
}

/// Returns whether the map at `value`, which has a definite length, has no entries.
fn is_empty(value: Input<'_>) -> bool {
    let head = map_head(Rule::AttributesType, UNLIMITED, value);
    head.is_ok_and(|(_, entries)| entries.are_over())
}

struct CanonicalForm<'a> {
    manifest: ManifestRef<'a>,
    writing: &'static Writing,
}

impl<'a> CanonicalForm<'a> {
    /// Checks the canonical form of a manifest of 1.x. Returns the offset in the file at which a blob after the last one
    /// would begin.
    fn validate_v1(&self) -> Result<u64, BareError> {
        let (manifest, alignment) = (self.manifest, self.writing.canonical_alignment);
        self.version()?;
        // The encoding of items is checked first, because programs that compare canonical files as bytes rely on it. In
        // 2 a manifest that is not deterministic is already invalid.
        deterministic(manifest.as_bytes())
            .map_err(|fault| BareError::new(fault.kind, self.offset(fault.bytes_left)))?;
        // The first blob follows the header, and each further blob follows the one before.
        let mut cursor = alignment;
        let mut blob = |component: &Component<'_>| {
            let extent = component.extent();
            if extent.offset() != cursor {
                return Err(self.blob(component));
            }
            cursor = extent.end().checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
            Ok(())
        };
        self.fields(
            manifest.as_bytes(),
            Location::default(),
            |key, value| match v1::RootKey::named(key) {
                Some(v1::RootKey::version) => Ok(None),
                Some(v1::RootKey::attributes) if !is_empty(value) => Ok(None),
                Some(v1::RootKey::objects) => {
                    let mut objects = manifest.tensors();
                    let rest = deterministic_map(value, |_, _, map| {
                        let object = objects.next().ok_or(Broken::Field)?;
                        self.object(&object, map, &mut blob).map_err(Broken::Within)
                    });
                    rest.map(Some)
                }
                _ => Err(Broken::Field),
            },
        )?;
        Ok(cursor)
    }

    /// Checks the canonical form of a manifest of generation 2: the rules of v2 §6.3, and rules for what §6.3 leaves open.
    /// Returns the offset in the file at which a blob after the last one would begin.
    fn validate_v2(&self) -> Result<u64, BareError> {
        self.fields(self.manifest.as_bytes(), Location::default(), |key, value| {
            match v2::RootKey::named(key) {
                Some(v2::RootKey::objects) => Ok(None),
                Some(v2::RootKey::attributes) if !is_empty(value) => Ok(None),
                _ => Err(Broken::Field),
            }
        })?;
        for object in self.manifest.tensors() {
            let map = object.map().ok_or(BareError::internal())?;
            self.object(&object, map, &mut |_| Ok(()))?;
        }
        self.validate_blobs()
    }

    fn offset(&self, bytes_left: BytesLeft) -> u64 {
        self.manifest.extent().end.saturating_sub(bytes_left.get().into())
    }

    fn version(&self) -> Result<(), BareError> {
        if let Some(Version { major: 1, minor: 2, patch: Some(0) }) = self.manifest.version() {
            return Ok(());
        }
        let value = v1::RootKey::version
            .field()
            .find(self.manifest.as_bytes())
            .ok_or(BareError::internal())?;
        Err(BareError::new(Rule::CanonicalGeneration, self.offset(BytesLeft::of(value))))
    }

    /// Returns the error for `component`, whose blob does not begin at its canonical offset.
    fn blob(&self, component: &Component<'a>) -> BareError {
        let found = component.extent().offset();
        let map = component.map().unwrap_or_default();
        let field = self.writing.dialect.site(map, Site::Offset).unwrap_or(map);
        let offset = self.offset(BytesLeft::of(field));
        BareError::new(Rule::CanonicalBlob, offset).found(found).at(component.location())
    }

    /// Checks the canonical form of the map at `map`, and returns the input after the map. `validate` gets the key of each
    /// field and the input at its value. It checks the value, and returns the input after the value. If it returns `None`,
    /// the value must only be deterministic CBOR, which this function then checks.
    fn fields(
        &self,
        map: Input<'a>,
        location: Location,
        mut validate: impl FnMut(&[u8], Input<'a>) -> Result<Option<Input<'a>>, Broken>,
    ) -> Result<Input<'a>, BareError> {
        let broken = |rule, at| BareError::new(rule, self.offset(BytesLeft::of(at))).at(location);
        let read = deterministic_map(map, |at, key, value| match validate(key, value) {
            Ok(Some(rest)) => Ok(rest),
            Ok(None) => Ok(deterministic(value)?),
            Err(Broken::Field) => Err(Broken::Within(broken(Rule::CanonicalField, at))),
            Err(Broken::Value(rule)) => Err(Broken::Within(broken(rule, value))),
            Err(other) => Err(other),
        });
        read.map_err(|wrong| match wrong {
            Broken::Within(error) => error,
            Broken::Form(fault) => BareError::new(fault.kind, self.offset(fault.bytes_left)),
            Broken::Field | Broken::Value(_) => broken(Rule::CanonicalField, map),
        })
    }

    /// Checks the canonical form of `object`, whose map is at `map`, and returns the input after the map. `blob` is called to
    /// check the offset of each component.
    fn object(
        &self,
        object: &Tensor<'a>,
        map: Input<'a>,
        blob: &mut impl FnMut(&Component<'a>) -> Result<(), BareError>,
    ) -> Result<Input<'a>, BareError> {
        let (names, location) =
            (&self.writing.dialect.fields, Location::new(Some(object.ordinal()), None));
        self.fields(map, location, |key, value| {
            if names.shape.is(key) || names.layout.is(key) {
                return Ok(None);
            }
            if names.attributes.is(key) && !is_empty(value) {
                return Ok(None);
            }
            if !names.components.is(key) {
                return Err(Broken::Field);
            }
            let mut components = object.components();
            let rest = deterministic_map(value, |_, _, map| {
                let component = components.next().ok_or(Broken::Field)?;
                let rest = self.component(&component, map).map_err(Broken::Within)?;
                blob(&component).map_err(Broken::Within)?;
                Ok(rest)
            });
            rest.map(Some)
        })
    }

    /// Checks the canonical form of `component`, whose map is at `map`, and returns the input after the map.
    fn component(&self, component: &Component<'a>, map: Input<'a>) -> Result<Input<'a>, BareError> {
        let (names, location) = (&self.writing.dialect.fields, component.location());
        let mut digest = false;
        let rest = self.fields(map, location, |key, value| {
            let is_type = names.logical_type.is(key) && component.record.has_type;
            if names.dtype.is(key) || names.blob.has(key) || is_type {
                return Ok(None);
            }
            if names.digest.is(key) && value.first() != Some(&NULL) {
                digest = true;
                let canonical = self.is_canonical_digest(value);
                return if canonical {
                    Ok(None)
                } else {
                    Err(Broken::Value(Rule::CanonicalDigest))
                };
            }
            if names.encoding.is(key) && component.encoding() != Encoding::Raw {
                return Err(Broken::Value(Rule::CanonicalEncoding));
            }
            Err(Broken::Field)
        })?;
        if digest {
            return Ok(rest);
        }
        Err(BareError::new(Rule::CanonicalDigest, self.offset(BytesLeft::of(map))).at(location))
    }

    /// Returns whether the digest at `value` has the algorithm that the canonical form requires, and lower-case digits.
    fn is_canonical_digest(&self, value: Input<'_>) -> bool {
        let Ok((_, digest)) = text(Rule::DigestType, value) else { return false };
        if self.writing.deterministic {
            return Digest::is_known_v2(digest);
        }
        let lower = !digest.iter().any(u8::is_ascii_uppercase);
        lower && digest.starts_with(b"sha256:") && Digest::is_known(digest)
    }

    /// Checks the offsets of the blobs of a manifest of generation 2, whose canonical order is that of the bytes of the names
    /// of objects, and then of roles. Returns the offset in the file at which a blob after the last one would begin. Takes 4
    /// bytes of memory for each object, and 4 bytes for each component of the largest object.
    fn validate_blobs(&self) -> Result<u64, BareError> {
        let (manifest, alignment) = (self.manifest, self.writing.canonical_alignment);
        let mut objects = Vec::new();
        ordinals(&mut objects, manifest.len())?;
        objects.sort_unstable_by(|a, b| manifest.name(*a).cmp(manifest.name(*b)));
        let mut parts = Vec::new();
        let mut cursor = alignment;
        for object in objects.iter().filter_map(|ordinal| manifest.object(*ordinal)) {
            ordinals(&mut parts, len_u32(object.components().len()))?;
            let part = |ordinal| object.component_at(ordinal);
            let role = |ordinal| part(ordinal).map_or(<&[u8]>::default(), |part| part.role_bytes());
            parts.sort_unstable_by(|a, b| role(*a).cmp(role(*b)));
            for part in parts.iter().filter_map(|ordinal| part(*ordinal)) {
                let extent = part.extent();
                let new = extent.offset() == cursor;
                // A blob before the cursor repeats an earlier blob: blobs are identical or disjoint, and leave no room
                // between them for another.
                let aligned = extent.offset() & alignment.wrapping_sub(1) == 0;
                let again = extent.offset() < cursor && extent.length() > 0 && aligned;
                if !new && !again {
                    return Err(self.blob(&part));
                }
                if new {
                    let next = extent.end().checked_next_multiple_of(alignment);
                    cursor = next.unwrap_or(u64::MAX);
                }
            }
        }
        Ok(cursor)
    }
}

/// Replaces the content of `places` by the numbers from 0 to `count` - 1.
fn ordinals(places: &mut Vec<u32>, count: u32) -> Result<(), BareError> {
    places.clear();
    places.try_reserve(usize_from_u32(count)).map_err(|_| BareError::from(OutOfMemory))?;
    places.extend(0..count);
    Ok(())
}
