//! Parsing a manifest: its objects are pulled, checked and added to the index one by one.

use super::blobs::BlobRule;
use super::builder::{Collected, IndexBuilder, PlacedFault};
use super::index::{Index, ObjectRecord, Records};
use super::layouts::{Candidate, FaultAt, ObjectFault};
#[cfg(feature = "v2")]
use crate::cbor::seek;
use crate::cbor::{Checked, Fault, Input, Parsed, Remaining, fault};
use crate::error::{Error, ErrorKind};
#[cfg(feature = "v2")]
use crate::format::Format;
#[cfg(feature = "v2")]
use crate::format::check_form;
use crate::format::frame::Frame;
#[cfg(feature = "v2")]
use crate::format::v2;
use crate::format::{Header, Objects, ParseContext, RawObject};
use crate::limits::{Options, Tolerance};
use crate::num::{is_before, u64_from_usize, usize_from_u32};
use crate::rules::Rule;

/// Parses and validates the manifest of `frame`, whose bytes are `manifest`.
pub(super) fn parse(frame: &Frame, manifest: &[u8], options: &Options) -> Result<Index, Error> {
    let mut parser = Parser {
        options,
        manifest,
        cx: ParseContext::new(options.limit(), frame),
        builder: IndexBuilder::new(),
    };
    let container = frame.container();
    let parsed = match Objects::open(container, &mut parser.cx, manifest) {
        Ok(objects) => parser.pull(objects),
        Err(error) => Err(error),
    };
    #[cfg_attr(not(feature = "v2"), expect(unused_mut, reason = "2 alone has a form"))]
    let Parser { mut cx, builder, .. } = parser;
    #[cfg(feature = "v2")]
    let parsed = {
        debug_assert!(
            parsed.is_err() || check_form(container, &mut cx, manifest).is_ok(),
            "a manifest that is accepted has the form that its container asks for"
        );
        parsed.map_err(|found| check_form(container, &mut cx, manifest).err().unwrap_or(found))
    };
    let end = frame.manifest().end;
    let error = |fault: Fault| {
        // No place lies before the manifest.
        let offset = end.saturating_sub(fault.remaining.left().into());
        Error::new(fault.kind, offset).found(fault.found)
    };
    let (rest, Header { attributes, version }) =
        parsed.map_err(|found| error(fault(found)).at(cx.place))?;
    if !rest.is_empty() {
        let rest = (Remaining::of(rest), u64_from_usize(rest.len()));
        return Err(error(Fault::with(Rule::ManifestTrailing, rest.0, rest.1)));
    }
    let dialect = cx.dialect;
    let blob_rule = if dialect.facts.shares_blobs || options.tolerates(Tolerance::SharedBlobs) {
        BlobRule::Identical { most: options.limit().shared_total(frame.file_len()) }
    } else {
        BlobRule::Disjoint
    };
    let collected = Collected {
        bytes: manifest,
        components: cx.components,
        shapes: cx.shapes,
        #[cfg(feature = "v2")]
        shards: cx.shards,
        dialect,
        attributes,
        version,
    };
    let index = builder.finish(collected, blob_rule, options.limit());
    index.map_err(|PlacedFault { fault, place }| error(fault).at(place))
}

/// The object and its components, which are the last of the context.
#[inline(always)]
fn candidate<'c>(cx: &'c ParseContext<'_>, raw: &RawObject<'_>) -> Candidate<'c> {
    let components = cx.components.get(usize_from_u32(raw.first)..).unwrap_or_default();
    let RawObject { layout, product, .. } = *raw;
    let shape = cx.shapes.get(raw.shape);
    Candidate { layout, product, shape, components, dialect: cx.dialect }
}

struct Parser<'m, 'o> {
    options: &'o Options,
    manifest: Input<'m>,
    cx: ParseContext<'o>,
    builder: IndexBuilder,
}

impl<'m> Parser<'m, '_> {
    /// Pulls all objects, and adds them to the index.
    fn pull(&mut self, mut objects: Objects<'m>) -> Parsed<'m, Header> {
        let mut last: Option<&[u8]> = None;
        let mut raw = RawObject::NONE;
        while objects.next(&mut self.cx, &mut raw)? {
            if last.is_none() {
                self.builder.reserve(self.cx.expected)?;
            }
            let facts = &self.cx.dialect.facts;
            // Names of 2 have been found to ascend.
            let ascends =
                facts.sorted_by_length || last.is_none_or(|last| is_before(last, raw.name.bytes));
            last = Some(raw.name.bytes);
            self.object(&raw, ascends)?;
        }
        objects.finish()
    }

    #[inline(always)]
    fn object(&mut self, raw: &RawObject<'m>, ascends: bool) -> Checked<()> {
        #[cfg(feature = "v2")]
        if let Format::Mx | Format::QuantGroup | Format::GgufBlocks = raw.layout {
            self.check_profile(raw)?;
        }
        let candidate = candidate(&self.cx, raw);
        if let Err(found) = candidate.check(self.options) {
            return Err(self.fault(raw, found));
        }
        let components = candidate.components;
        let record = ObjectRecord::of(raw, components.len());
        Ok(self.builder.push(record, components, ascends)?)
    }

    /// Checks the attributes of an object of a profile, and its parts by what they say.
    #[cfg(feature = "v2")]
    #[inline(never)]
    fn check_profile(&mut self, raw: &RawObject<'m>) -> Checked<()> {
        let Some(attributes) = raw.attributes else {
            return Err(Fault::new(Rule::AttributeMissing, raw.name.behind).into());
        };
        let attributes = seek(self.manifest, attributes);
        let RawObject { layout, shape, shape_at, .. } = *raw;
        let profiled = v2::Profiled { layout, shape, shape_at, attributes };
        let profile = v2::profile(&mut self.cx, profiled)?;
        candidate(&self.cx, raw).check_profile(&profile).map_err(|found| self.fault(raw, found))
    }

    /// The fault of an object, at its place.
    #[cold]
    #[inline(never)]
    fn fault(&mut self, raw: &RawObject<'_>, found: ObjectFault) -> nom::Err<Fault> {
        let ObjectFault { fault, at } = found;
        let at = match at {
            FaultAt::Shape => raw.shape_at,
            FaultAt::Components => raw.components_at,
            FaultAt::Component(ordinal) => {
                self.cx.place = self.cx.place.in_component(Some(ordinal));
                let dialect = self.cx.dialect;
                let components = candidate(&self.cx, raw).components;
                let records = Records { bytes: self.manifest, dialect, objects: &[], components };
                return match components.get(usize_from_u32(ordinal)) {
                    Some(component) => records.fault(component, fault).into(),
                    None => Fault::new(ErrorKind::Internal, Remaining::END).into(),
                };
            }
        };
        Fault::with(fault.kind, at, fault.found).into()
    }
}
