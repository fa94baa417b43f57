//! Parsing the manifest of a zTensor file into an index of its objects, and checking objects before they are written.

use crate::cbor::{BytesLeft, Checked, Fault, Input, Parsed, fault};
use crate::error::{BareError, Location};
use crate::index::{
    Blobs, Candidate, ComponentRecord, FaultAt, FaultyObject, Index, IndexBuilder, IndexFault,
    Layout, ObjectFault, ObjectRecord,
};
use crate::limits::{OpenOptions, Tolerance};
use crate::num::{is_before, len_u32, u64_from_usize, usize_from_u32};
use crate::rules::Rule;

use super::frame::Frame;
use super::{
    Dialect, ManifestFields, Objects, ParseContext, ParsedObject, Version, check_form, parse_entry,
    v2,
};

/// The results of parsing a manifest: the index, the dialect and the version.
pub(crate) struct ManifestIndex {
    pub(crate) index: Index,
    pub(crate) dialect: &'static Dialect,
    /// The field `version` of a 1.x manifest; `None` in other generations.
    pub(crate) version: Option<Version>,
}

/// Parses and validates the manifest of `frame`, whose bytes are `manifest`.
pub(crate) fn parse(
    frame: &Frame,
    manifest: &[u8],
    options: &OpenOptions,
) -> Result<ManifestIndex, BareError> {
    let (container, limits) = (frame.container, options.limit());
    let dialect = container.dialect();
    let shared = dialect.facts.container.shares_blobs || options.tolerates(Tolerance::SharedBlobs);
    let blobs = if shared { Blobs::Identical } else { Blobs::Disjoint };
    let cx = ParseContext::new(limits, dialect, manifest, IndexBuilder::new(blobs));
    let cx = cx.in_file(frame.manifest.clone(), frame.blobs_end);
    let mut parser = Parser { options, manifest, cx };
    let objects = Objects::open(container, &mut parser.cx, manifest);
    let parsed = objects.and_then(|objects| parser.pull(objects));
    let mut cx = parser.cx;
    debug_assert!(
        parsed.is_err() || check_form(container, &mut cx, manifest).is_ok(),
        "an accepted manifest must have the CBOR form that its container requires"
    );
    let parsed =
        parsed.map_err(|found| check_form(container, &mut cx, manifest).err().unwrap_or(found));
    let error = |fault: Fault| {
        // The number of bytes that are left is at most the length of the manifest, so the difference does not saturate.
        let offset = frame.manifest.end.saturating_sub(fault.bytes_left.get().into());
        BareError::new(fault.kind, offset).found(fault.found)
    };
    let (rest, ManifestFields { attributes, version }) =
        parsed.map_err(|found| error(fault(found)).at(cx.location))?;
    if !rest.is_empty() {
        let rest = (BytesLeft::of(rest), u64_from_usize(rest.len()));
        return Err(error(Fault::with(Rule::ManifestTrailing, rest.0, rest.1)));
    }
    let ParseContext { dialect, index, .. } = cx;
    let index = index.finish(&dialect.facts, manifest, limits, frame.file_len());
    let mut index = index.map_err(|(found, object)| {
        let found_field = object.and_then(|object| find_field(dialect, manifest, &found, object));
        let field = found_field.unwrap_or_default();
        error(Fault::with(found.kind, BytesLeft::of(field), found.found)).at(found.location())
    })?;
    index.attributes = attributes;
    Ok(ManifestIndex { index, dialect, version })
}

/// A checker of objects before they are written. The checker applies the rules for objects of a file, except the rules
/// on the offsets of blobs, and reuses its memory from one object to the next.
#[derive(Debug)]
pub(crate) struct ObjectChecker {
    options: OpenOptions,
    dialect: &'static Dialect,
    index: IndexBuilder,
}

impl ObjectChecker {
    pub(crate) fn new(options: OpenOptions, dialect: &'static Dialect) -> Self {
        Self { options, dialect, index: IndexBuilder::for_entries() }
    }

    /// Checks the object with the ordinal `ordinal`, and returns its components. `entry` is the encoded name and fields
    /// of the object.
    pub(crate) fn check(
        &mut self,
        entry: &[u8],
        ordinal: u32,
    ) -> Result<&[ComponentRecord], BareError> {
        let Self { options, dialect, index } = self;
        index.clear();
        let reused = core::mem::replace(index, IndexBuilder::for_entries());
        let mut cx = ParseContext::new(options.limit(), dialect, entry, reused);
        cx.location = Location::new(Some(ordinal), None);
        let mut parser = Parser { options, manifest: entry, cx };
        let mut raw = ParsedObject::NONE;
        let parsed = parse_entry(&mut parser.cx, entry, &mut raw);
        let checked = parsed.and_then(|()| parser.check::<false>(&raw));
        let location = parser.cx.location;
        *index = parser.cx.index;
        checked.map(|()| &*index.components).map_err(|found| {
            let fault = fault(found);
            BareError::nowhere(fault.kind).found(fault.found).at(location)
        })
    }
}

/// Returns the object `raw` together with its components, to be checked by the rules of its layout. The components are the
/// last ones in the index of `cx`.
#[inline]
fn candidate<'c>(cx: &'c ParseContext<'_>, raw: &ParsedObject<'_>) -> Candidate<'c> {
    // An object without components breaks the rule of its layout on roles, so its components are an empty slice here and
    // no error. Returning an error here would make opening 3 % slower (`benches/open`).
    let components = cx.index.components.get(usize_from_u32(raw.first)..).unwrap_or_default();
    let ParsedObject { layout, product, .. } = *raw;
    let shape = cx.index.shapes.get(raw.shape);
    Candidate { layout, product, shape, components, facts: &cx.dialect.facts }
}

struct Parser<'o> {
    options: &'o OpenOptions,
    manifest: Input<'o>,
    cx: ParseContext<'o>,
}

impl Parser<'_> {
    /// Parses all objects of the manifest, checks each by the rules of its layout, and adds them to the index. Returns the
    /// input after the manifest, and the other fields of the root.
    fn pull<'m>(&mut self, mut objects: Objects<'m>) -> Parsed<'m, ManifestFields> {
        let mut last: Option<&[u8]> = None;
        let mut raw = ParsedObject::NONE;
        while objects.next(&mut self.cx, &mut raw)? {
            if last.is_none() {
                self.cx.index.reserve(self.cx.expected)?;
            }
            let facts = &self.cx.dialect.facts.container;
            // In generation 2 the parser of objects has already checked that the names ascend.
            let ascends =
                facts.sorted_by_length || last.is_none_or(|last| is_before(last, raw.name));
            last = Some(raw.name);
            self.check::<true>(&raw)?;
            if !raw.layout_name.is_none() {
                self.cx.index.layout_name(raw.layout_name)?;
            }
            let components = len_u32(self.cx.index.components.len());
            let record = ObjectRecord {
                name: raw.name_span,
                attributes: raw.attributes,
                shape: raw.shape,
                first: raw.first,
                count: components.wrapping_sub(raw.first),
                source_offset: raw.source_offset,
                layout: raw.layout,
            };
            self.cx.index.object(record, ascends)?;
        }
        objects.finish()
    }

    /// Checks an object by the rules of its layout. `LISTED` is true for objects of a file, and false for objects that
    /// are about to be written. The function does not use it: with two instances, each with one caller, the compiler
    /// inlines both.
    #[inline]
    fn check<const LISTED: bool>(&mut self, raw: &ParsedObject<'_>) -> Checked<()> {
        if let Layout::Mx | Layout::QuantGroup | Layout::GgufBlocks = raw.layout {
            self.check_profile(raw)?;
        }
        let checked = candidate(&self.cx, raw).check(self.options);
        checked.map_err(|found| self.fault(raw, found))
    }

    /// Checks the attributes of an object whose layout is a profile, a layout of generation 2 with parameters such as
    /// `zt.mx/1`. Then checks the components of the object against the attributes.
    #[inline(never)]
    fn check_profile(&mut self, raw: &ParsedObject<'_>) -> Checked<()> {
        if raw.attributes.is_none() {
            return Err(Fault::new(Rule::AttributeMissing, BytesLeft::of(raw.map)).into());
        }
        let attributes = raw.attributes.onward(self.manifest);
        let profile = v2::profile(&mut self.cx, raw, attributes)?;
        candidate(&self.cx, raw).check_profile(&profile).map_err(|found| self.fault(raw, found))
    }

    /// Converts `found`, an error about a field of the object `raw`, to an error with the position of that field in the
    /// manifest.
    #[cold]
    #[inline(never)]
    fn fault(&mut self, raw: &ParsedObject<'_>, found: ObjectFault) -> nom::Err<Fault> {
        if let Some(ordinal) = found.component() {
            self.cx.location = self.cx.location.in_component(Some(ordinal));
        }
        let field = self.cx.dialect.field_at(raw.map, found.at).unwrap_or(raw.map);
        Fault::with(found.kind, BytesLeft::of(field), found.found).into()
    }
}

/// Returns the rest of `manifest` from the field on that breaks the rule of `fault`, so that the error can give the offset of
/// the field. This is for rules on several objects, such as overlapping blobs, which are checked after the whole manifest has
/// been parsed. The search begins at `object`, the object that breaks the rule.
#[cold]
fn find_field<'m>(
    dialect: &Dialect,
    manifest: Input<'m>,
    fault: &IndexFault,
    object: FaultyObject,
) -> Option<Input<'m>> {
    let at = manifest.get(usize_from_u32(object.source_offset)..)?;
    match fault.at {
        FaultAt::Name => Some(dialect.fields.name.find(at).unwrap_or(at)),
        at_field => dialect.field_at(dialect.map(at)?, at_field),
    }
}
