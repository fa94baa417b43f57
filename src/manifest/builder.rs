//! Filling the index: objects come from the parser of a manifest or from a front end. Then the rules for all objects
//! together, such as the rules on blobs, are checked.

use alloc::vec::Vec;

use super::index::{Index, ObjectRecord, Records, Site};
use super::layouts::{Candidate, FaultAt, ObjectFault};
use super::shared_sums::SharedSums;
use crate::cbor::{BytesLeft, Checked, Fault, Input, Parsed, fault, seek};
use crate::error::{BareError, ErrorKind, Location, OutOfMemory};
use crate::format::frame::Frame;
use crate::format::{
    ComponentRecord, Dialect, Extent, Header, Layout, Objects, ParseContext, RawObject, Shapes,
    ShardRecord, check_form, parse_entry, push, reserve, v2,
};
use crate::limits::{Limits, OpenOptions, Tolerance};
use crate::names::{Names, by_length};
use crate::num::{halves, is_before, len_u32, sort_by, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule};

/// The objects of a file that have been added so far. Their components have been checked, each by itself and with the
/// other components of its object.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    objects: Vec<ObjectRecord>,
    names_are_sorted: bool,
    blobs: InOrder,
    /// The rule on overlapping blobs, and the limit in bytes on all blobs together if some are shared.
    rule: (Blobs, u64),
    /// Whether a component is in a shard.
    has_shards: bool,
}

/// A broken rule, and the object and component that break it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlacedFault {
    pub(crate) fault: Fault,
    pub(crate) location: Location,
}

impl PlacedFault {
    /// The fault of an invariant of the library that does not hold.
    const INTERNAL: Self = Self {
        fault: Fault { kind: ErrorKind::Internal, bytes_left: BytesLeft::END, found: 0 },
        location: Location::NOWHERE,
    };
}

impl From<OutOfMemory> for PlacedFault {
    fn from(out: OutOfMemory) -> Self {
        Self { fault: Fault::new(out, BytesLeft::END), location: Location::NOWHERE }
    }
}

impl IndexBuilder {
    /// Creates a builder without objects. Blobs may overlap as `rule` says, and if they do may have `most` bytes
    /// together.
    pub(crate) fn new(rule: Blobs, most: u64) -> Self {
        Self {
            objects: Vec::new(),
            names_are_sorted: true,
            blobs: InOrder::default(),
            rule: (rule, most),
            has_shards: false,
        }
    }

    /// Reserves room for `objects` objects.
    pub(crate) fn reserve(&mut self, objects: u32) -> Result<(), Fault> {
        reserve(&mut self.objects, objects)
    }

    /// Returns the number of objects so far.
    pub(crate) fn len(&self) -> u32 {
        len_u32(self.objects.len())
    }

    /// Adds an object with its `components`. `ascends` tells whether the object's name is greater than the name before.
    #[inline]
    pub(crate) fn push(
        &mut self,
        record: ObjectRecord,
        components: &[ComponentRecord],
        ascends: bool,
    ) -> Result<(), Fault> {
        self.names_are_sorted &= ascends;
        for component in components {
            if component.in_shard() {
                self.has_shards = true;
            } else {
                self.blobs.note(component.extent);
            }
        }
        push(&mut self.objects, record)
    }

    /// Changes all places, which count from the beginning of `total` bytes, to count from the end of these bytes.
    pub(crate) fn rebase(&mut self, cx: &mut ParseContext<'_>, total: u32) {
        let rebase = |location: &mut BytesLeft| *location = location.rebased(total);
        for object in &mut self.objects {
            rebase(&mut object.name);
            rebase(&mut object.attributes);
        }
        cx.shards.iter_mut().for_each(|shard| rebase(&mut shard.name));
        for component in &mut cx.components {
            rebase(&mut component.at);
            rebase(&mut component.digest);
            rebase(&mut component.shard);
        }
    }

    /// Checks the rules that involve several objects, such as duplicate names and overlapping blobs. `bytes` is the text to which
    /// the spans of records point.
    pub(crate) fn finish(
        self,
        cx: ParseContext<'_>,
        header: Header,
        bytes: Input<'_>,
    ) -> Result<Index, PlacedFault> {
        let Self { objects, names_are_sorted, blobs, rule, has_shards } = self;
        let ParseContext { limits, dialect, components, shapes, shards, .. } = cx;
        let records = Records { bytes, dialect, objects: &objects, components: &components };
        if !blobs.holds() {
            let ordinal = |location: usize| {
                let record = components.get(location).filter(|record| !record.in_shard());
                record.map(|_| len_u32(location))
            };
            check_blobs(records, OfFile(components.len(), &ordinal), rule)?;
        }
        if has_shards {
            check_shards(records, &shards, rule.0, limits)?;
        }
        let read = |ordinal| records.name_at(ordinal);
        let names = if names_are_sorted {
            Names::sorted(if dialect.facts.sorted_by_length { by_length } else { <[u8]>::cmp })
        } else {
            let (names, duplicate) = Names::hashed(len_u32(objects.len()), read)?;
            if let Some(ordinal) = duplicate {
                let object = objects.get(usize_from_u32(ordinal));
                let at = object.map_or(BytesLeft::END, |object| object.name);
                let location = Location::new(Some(ordinal), None);
                return Err(PlacedFault {
                    fault: Fault::new(dialect.duplicate_name, at),
                    location,
                });
            }
            names
        };
        Ok(Index {
            objects,
            components,
            names,
            attributes: header.attributes,
            shapes,
            shards,
            sums: SharedSums::default(),
            dialect,
            version: header.version,
        })
    }
}

/// Parses and validates the manifest of `frame`, whose bytes are `manifest`.
pub(super) fn parse(
    frame: &Frame,
    manifest: &[u8],
    options: &OpenOptions,
) -> Result<Index, BareError> {
    let (container, limits) = (frame.container, options.limit());
    let dialect = container.dialect();
    let shared = dialect.facts.shares_blobs || options.tolerates(Tolerance::SharedBlobs);
    let rule = if shared { Blobs::Identical } else { Blobs::Disjoint };
    let cx = ParseContext::new(limits, dialect, frame.manifest.clone(), frame.blobs_end);
    let mut builder = IndexBuilder::new(rule, limits.shared_total(frame.file_len()));
    let mut parser = Parser { options, manifest, cx };
    let objects = Objects::open(container, &mut parser.cx, manifest);
    let parsed = objects.and_then(|objects| parser.pull(objects, &mut builder));
    let mut cx = parser.cx;
    debug_assert!(
        parsed.is_err() || check_form(container, &mut cx, manifest).is_ok(),
        "a manifest that is accepted has the form that its container asks for"
    );
    let parsed =
        parsed.map_err(|found| check_form(container, &mut cx, manifest).err().unwrap_or(found));
    let error = |fault: Fault| {
        // A place is at most the length of the manifest, so the difference does not saturate.
        let offset = frame.manifest.end.saturating_sub(fault.bytes_left.get().into());
        BareError::new(fault.kind, offset).found(fault.found)
    };
    let (rest, header) = parsed.map_err(|found| error(fault(found)).at(cx.location))?;
    if !rest.is_empty() {
        let rest = (BytesLeft::of(rest), u64_from_usize(rest.len()));
        return Err(error(Fault::with(Rule::ManifestTrailing, rest.0, rest.1)));
    }
    let index = builder.finish(cx, header, manifest);
    index.map_err(|PlacedFault { fault, location }| error(fault).at(location))
}

/// A checker of objects that are to be written, by the rules for objects of a file, except rules on the offsets of
/// blobs. Memory is reused from one object to the next.
#[derive(Debug)]
pub(crate) struct ObjectChecker {
    options: OpenOptions,
    dialect: &'static Dialect,
    components: Vec<ComponentRecord>,
    shapes: Shapes,
}

impl ObjectChecker {
    pub(crate) fn new(options: OpenOptions, dialect: &'static Dialect) -> Self {
        Self { options, dialect, components: Vec::new(), shapes: Shapes::new() }
    }

    /// Checks the object with the ordinal `ordinal`, and returns its components. `entry` is the encoded name and fields
    /// of the object.
    pub(crate) fn check(
        &mut self,
        entry: &[u8],
        ordinal: u32,
    ) -> Result<&[ComponentRecord], BareError> {
        let Self { options, dialect, components, shapes } = self;
        let mut cx = ParseContext::new(options.limit(), dialect, u64::MAX..u64::MAX, u64::MAX);
        cx.location = Location::new(Some(ordinal), None);
        core::mem::swap(&mut cx.components, components);
        core::mem::swap(&mut cx.shapes, shapes);
        cx.components.clear();
        cx.shapes.clear();
        let mut parser = Parser { options, manifest: entry, cx };
        let mut raw = RawObject::NONE;
        let parsed = parse_entry(&mut parser.cx, entry, &mut raw);
        let checked = parsed.and_then(|()| parser.check::<false>(&raw));
        let ParseContext { components: used, shapes: kept, location, .. } = parser.cx;
        (*components, *shapes) = (used, kept);
        checked.map(|()| &**components).map_err(|found| {
            let fault = fault(found);
            BareError::nowhere(fault.kind).found(fault.found).at(location)
        })
    }
}

/// Returns an object together with its components, which are the last components of `cx`.
#[inline]
fn candidate<'c>(cx: &'c ParseContext<'_>, raw: &RawObject<'_>) -> Candidate<'c> {
    // An object without components breaks the rule on roles of its layout. An error here would take 3 % of opening
    // (`benches/open`).
    let components = cx.components.get(usize_from_u32(raw.first)..).unwrap_or_default();
    let RawObject { layout, product, .. } = *raw;
    let shape = cx.shapes.get(raw.shape);
    Candidate { layout, product, shape, components, dialect: cx.dialect }
}

struct Parser<'m, 'o> {
    options: &'o OpenOptions,
    manifest: Input<'m>,
    cx: ParseContext<'o>,
}

impl<'m> Parser<'m, '_> {
    /// Parses all objects, and adds them to `builder`.
    fn pull(&mut self, mut objects: Objects<'m>, builder: &mut IndexBuilder) -> Parsed<'m, Header> {
        let mut last: Option<&[u8]> = None;
        let mut raw = RawObject::NONE;
        while objects.next(&mut self.cx, &mut raw)? {
            if last.is_none() {
                builder.reserve(self.cx.expected)?;
            }
            let facts = &self.cx.dialect.facts;
            // The parser of 2 has already checked that names ascend.
            let ascends =
                facts.sorted_by_length || last.is_none_or(|last| is_before(last, raw.name.bytes));
            last = Some(raw.name.bytes);
            self.check::<true>(&raw)?;
            let components = candidate(&self.cx, &raw).components;
            builder.push(ObjectRecord::of(&raw, components.len()), components, ascends)?;
        }
        objects.finish()
    }

    /// Checks an object by the rules of its layout. `LISTED` has the same meaning as in the parsers.
    #[inline]
    fn check<const LISTED: bool>(&mut self, raw: &RawObject<'m>) -> Checked<()> {
        if let Layout::Mx | Layout::QuantGroup | Layout::GgufBlocks = raw.layout {
            self.check_profile(raw)?;
        }
        let checked = candidate(&self.cx, raw).check(self.options);
        checked.map_err(|found| self.fault(raw, found))
    }

    /// Checks the attributes of an object of a profile, and its components by these attributes.
    #[inline(never)]
    fn check_profile(&mut self, raw: &RawObject<'m>) -> Checked<()> {
        let Some(attributes) = raw.attributes else {
            return Err(Fault::new(Rule::AttributeMissing, raw.name.behind).into());
        };
        let profile = v2::profile(&mut self.cx, raw, seek(self.manifest, attributes))?;
        candidate(&self.cx, raw).check_profile(&profile).map_err(|found| self.fault(raw, found))
    }

    /// Returns the fault of an object with its place in the manifest.
    #[cold]
    #[inline(never)]
    fn fault(&mut self, raw: &RawObject<'_>, found: ObjectFault) -> nom::Err<Fault> {
        let at = match found.at {
            FaultAt::Shape => raw.shape_at,
            FaultAt::Components => raw.components_at,
            FaultAt::Component(ordinal, field) => {
                self.cx.location = self.cx.location.in_component(Some(ordinal));
                let (dialect, components) = (self.cx.dialect, &*self.cx.components);
                let records = Records { bytes: self.manifest, dialect, objects: &[], components };
                match components.get(usize_from_u32(raw.first.saturating_add(ordinal))) {
                    Some(component) => records.field(component, field),
                    None => return PlacedFault::INTERNAL.fault.into(),
                }
            }
        };
        Fault::with(found.kind, at, found.found).into()
    }
}

/// A check of whether blobs come in order: each begins at or after the end of the blob before. Blobs in order do not
/// overlap, so that most files need no sorting.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InOrder {
    /// The largest end of a blob that is not empty.
    end: u64,
    disorder: bool,
}

impl InOrder {
    #[inline]
    pub(super) fn note(&mut self, extent: Extent) {
        if extent.length() > 0 {
            self.disorder |= extent.offset() < self.end;
            self.end = extent.end().max(self.end);
        }
    }

    pub(super) fn holds(&self) -> bool {
        !self.disorder
    }
}

/// The ways in which blobs may overlap. Overlapping blobs count against limits each time they occur, because they are
/// read each time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Blobs {
    /// No two blobs share a byte.
    Disjoint,
    /// Two blobs are disjoint or identical. If some are identical, the bytes of all blobs are compared with the limit
    /// `decoded-total`.
    Identical,
    /// Blobs may overlap in any way. If some overlap, the bytes of all blobs are compared with the limit
    /// `decoded-total`.
    Any,
}

/// A component whose blob breaks a rule, and the rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Overlap {
    /// The ordinal among all components.
    component: u32,
    kind: ErrorKind,
    found: u64,
}

/// The components of one file: a number of indices, and a function that returns the ordinal of the component at an
/// index, if there is one. The function is a `dyn Fn`, so that the checks are compiled once.
#[derive(Clone, Copy)]
struct OfFile<'f>(usize, &'f dyn Fn(usize) -> Option<u32>);

impl<'f> OfFile<'f> {
    fn ordinals(self) -> impl Iterator<Item = u32> + Clone + use<'f> {
        (0..self.0).filter_map(self.1)
    }
}

/// Finds the component to report for the blobs of one file. If blobs overlap against `rule`, the blobs are sorted by
/// offset and length. The first blob that overlaps an earlier one is at fault, and of components with the same blob the
/// last. If blobs are shared, the component with which their bytes exceed `most` is at fault.
fn find_overlap(
    components: &[ComponentRecord],
    of_file: OfFile<'_>,
    (rule, most): (Blobs, u64),
) -> Result<Option<Overlap>, OutOfMemory> {
    let extent = |component: u32| -> Option<Extent> {
        Some(components.get(usize_from_u32(component))?.extent)
    };
    let extents = of_file.ordinals().filter_map(|component| Some((component, extent(component)?)));
    // Lengths are looked up in the records, to save memory: few blobs begin at the same offset.
    let mut sorted: Vec<(u64, u32)> = Vec::new();
    sorted.try_reserve_exact(extents.clone().count()).map_err(|_| OutOfMemory)?;
    for (component, extent) in extents.clone().filter(|(_, extent)| extent.length() > 0) {
        sorted.push((extent.offset(), component));
    }
    sort_by(&mut sorted, |one, other| {
        let length = |component| extent(component).map(|extent| extent.length());
        let by_length = || (length(one.1), one.1).cmp(&(length(other.1), other.1));
        one.0.cmp(&other.0).then_with(by_length)
    });
    let allowed = |identical: bool| match rule {
        Blobs::Disjoint => false,
        Blobs::Identical => identical,
        Blobs::Any => true,
    };
    let (mut last, mut alike, mut clash) = (None::<Extent>, false, None);
    for (_, component) in &sorted {
        let Some(extent) = extent(*component) else { continue };
        let overlaps = last.is_some_and(|last| extent.offset() < last.end());
        match clash {
            None if overlaps && allowed(last == Some(extent)) => alike = true,
            None if overlaps => clash = Some((extent, *component)),
            Some((clashing, _)) if extent == clashing => clash = Some((extent, *component)),
            Some(_) => break,
            None => {}
        }
        last = Some(extent);
    }
    if let Some((extent, component)) = clash {
        return Ok(Some(Overlap {
            component,
            kind: Rule::BlobOverlap.into(),
            found: extent.offset(),
        }));
    }
    if !alike {
        return Ok(None);
    }
    let (mut found, kind) = (0_u64, Limit::DecodedTotal.into());
    let mut extents = extents;
    Ok(extents.find_map(|(component, extent)| {
        found = found.saturating_add(extent.length());
        (found > most).then_some(Overlap { component, kind, found })
    }))
}

/// Checks the components in shards: each must name a shard of the table, lie within the shard, and overlap other
/// components of the shard only as `rule` allows. v2 §7.1.
fn check_shards(
    records: Records<'_>,
    shards: &[ShardRecord],
    rule: Blobs,
    limits: &Limits,
) -> Result<(), PlacedFault> {
    let in_shards = || (0..).zip(records.components).filter(|(_, record)| record.in_shard());
    let mut entries = Vec::new();
    // Each entry has the ordinal of the shard in its upper half and the ordinal of the component in its lower half, so
    // that sorting groups components by shard and keeps their order.
    entries.try_reserve_exact(in_shards().count()).map_err(|_| OutOfMemory)?;
    for (component, record) in in_shards() {
        let broken = |fault| Err(PlacedFault { fault, location: records.location(component) });
        let name = records.text(record.shard);
        let order = |shard: &ShardRecord| by_length(records.text(shard.name), name);
        let Ok(shard) = shards.binary_search_by(order) else {
            return broken(Fault::new(Rule::ShardReference, record.shard));
        };
        let end = shards.get(shard).ok_or(PlacedFault::INTERNAL)?.blobs_end();
        if record.extent.end() > end {
            let at = records.field(record, Site::Length);
            return broken(Fault::with(Rule::BlobBounds, at, record.extent.length()));
        }
        entries.push(u64_from_usize(shard) << 32 | u64::from(component));
    }
    sort_by(&mut entries, Ord::cmp);
    let mut rest = entries.as_slice();
    while let Some([number, _]) = rest.first().map(|entry| halves(*entry)) {
        let length = rest.partition_point(|entry| halves(*entry)[0] == number);
        let (group, after) = rest.split_at_checked(length).ok_or(PlacedFault::INTERNAL)?;
        rest = after;
        let shard = shards.get(usize_from_u32(number)).ok_or(PlacedFault::INTERNAL)?;
        let ordinal = |location: usize| group.get(location).map(|entry| halves(*entry)[1]);
        let of_shard = OfFile(group.len(), &ordinal);
        let most = limits.shared_total(shard.blobs_end());
        check_blobs(records, of_shard, (rule, most))?;
    }
    Ok(())
}

/// Checks the blobs of one file against each other.
fn check_blobs(
    records: Records<'_>,
    of_file: OfFile<'_>,
    rule: (Blobs, u64),
) -> Result<(), PlacedFault> {
    let mut seen = InOrder::default();
    let record = |component| records.components.get(usize_from_u32(component));
    for record in of_file.ordinals().filter_map(record) {
        seen.note(record.extent);
    }
    if seen.holds() {
        return Ok(());
    }
    let Some(Overlap { component, kind, found }) = find_overlap(records.components, of_file, rule)?
    else {
        return Ok(());
    };
    let record = record(component).ok_or(PlacedFault::INTERNAL)?;
    let fault = Fault::with(kind, records.field(record, Site::Offset), found);
    Err(PlacedFault { fault, location: records.location(component) })
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Blobs, ComponentRecord, Extent, OfFile, Overlap, find_overlap};
    use crate::rules::Rule;

    /// Random blobs: `find_overlap` must return what comparing each pair of blobs finds.
    #[test]
    fn overlaps_are_found_as_by_comparing_all() {
        let mut random = fastrand::Rng::with_seed(11);
        let mut clashes = 0;
        for round in 0..if cfg!(miri) { 200 } else { 20_000 } {
            let record = |offset, length| ComponentRecord::raw(Extent::part(offset, length));
            let records: Vec<_> = (0..random.usize(1..9))
                .map(|_| {
                    record(random.u64(0..12) << 12, [0, 1, 4096, 8192, 8193][random.usize(0..5)])
                })
                .collect();
            let identical = round % 2 == 0;
            let rule = if identical { Blobs::Identical } else { Blobs::Disjoint };
            let ordinal = |location: usize| u32::try_from(location).ok();
            let of_file = OfFile(records.len(), &ordinal);
            let found = find_overlap(&records, of_file, (rule, u64::MAX)).unwrap();
            let filled = records.iter().enumerate().filter(|(_, it)| it.extent.length() > 0);
            let overlaps = filled.clone().filter(|(at, it)| {
                filled.clone().any(|(other, before)| {
                    let (one, two) = (before.extent, it.extent);
                    let order =
                        (one.offset(), one.length(), other) < (two.offset(), two.length(), *at);
                    order && one.end() > two.offset() && !(identical && one == two)
                })
            });
            let first = overlaps.min_by_key(|(_, it)| (it.extent.offset(), it.extent.length()));
            let wanted = first.map(|(_, first)| {
                let last = records.iter().rposition(|it| it.extent == first.extent);
                Overlap {
                    component: last.unwrap().try_into().unwrap(),
                    kind: Rule::BlobOverlap.into(),
                    found: first.extent.offset(),
                }
            });
            clashes += u32::from(found.is_some());
            assert_eq!(found, wanted, "{records:?}");
        }
        assert!(cfg!(miri) || (2_000..18_000).contains(&clashes), "{clashes}");
    }
}
