//! Building an index. Parsers add objects one by one. At the end, the builder checks the rules for all objects
//! together, such as the rules on duplicate names and overlapping blobs.

use alloc::vec::Vec;

use super::{
    ComponentRecord, Details, Extent, FaultAt, FormatFacts, Index, ObjectRecord, Shapes,
    ShardRecord, SharedSums, Site, Span, SpecialElements,
};
use crate::error::{BareError, ErrorKind, Location, OutOfMemory};
use crate::limits::Limits;
use crate::names::{Names, by_length};
use crate::num::{halves, len_u32, sort_by, usize_from_u32};
use crate::rules::{Limit, Rule};

/// The objects of a file that have been added so far. Each component has been checked alone, and together with the
/// other components of its object.
#[derive(Debug)]
pub(crate) struct IndexBuilder {
    objects: Vec<ObjectRecord>,
    layout_names: Vec<(u32, Span)>,
    pub(crate) components: Vec<ComponentRecord>,
    details: Vec<Details>,
    special_elements: Vec<(u32, SpecialElements)>,
    pub(crate) shapes: Shapes,
    pub(crate) shards: Vec<ShardRecord>,
    names_are_sorted: bool,
    order: InOrder,
    blobs: Blobs,
}

/// A broken rule, and the object and the part of the object that break the rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexFault {
    pub(crate) kind: ErrorKind,
    /// The number in the file that breaks the rule, which the error message shows.
    pub(crate) found: u64,
    /// The ordinal of the object that breaks the rule; `None` if the fault is in no single object.
    pub(crate) object: Option<u32>,
    pub(crate) at: FaultAt,
}

impl IndexFault {
    /// The fault of an invariant of the library that does not hold.
    const INTERNAL: Self =
        Self { kind: ErrorKind::Internal, found: 0, object: None, at: FaultAt::Name };

    /// Returns the location of the fault.
    pub(crate) fn location(&self) -> Location {
        let component = match self.at {
            FaultAt::Component(ordinal, _) => Some(ordinal),
            FaultAt::Name | FaultAt::Shape | FaultAt::Components => None,
        };
        Location::new(self.object, component)
    }
}

/// What an error reports about the object that breaks a rule: its name, its offset and its file. The spans point into the
/// texts that are passed to [`IndexBuilder::finish`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultyObject {
    pub(crate) name: Span,
    pub(crate) source_offset: u32,
    /// The name of the file that holds the object's first component, or `NONE` if that is the file of the header.
    pub(crate) file: Span,
}

impl From<OutOfMemory> for IndexFault {
    fn from(out: OutOfMemory) -> Self {
        Self { kind: out.into(), ..Self::INTERNAL }
    }
}

impl From<IndexFault> for BareError {
    /// Creates an error without an offset.
    fn from(fault: IndexFault) -> Self {
        Self::nowhere(fault.kind).found(fault.found).at(fault.location())
    }
}

impl IndexBuilder {
    /// Creates an empty builder. `blobs` says how the blobs of the objects may overlap.
    pub(crate) fn new(blobs: Blobs) -> Self {
        Self {
            objects: Vec::new(),
            layout_names: Vec::new(),
            components: Vec::new(),
            details: Vec::new(),
            special_elements: Vec::new(),
            shapes: Shapes::new(),
            shards: Vec::new(),
            names_are_sorted: true,
            order: InOrder::default(),
            blobs,
        }
    }

    /// Creates a builder for checking single objects. No index is built from the objects.
    pub(crate) fn for_entries() -> Self {
        Self::new(Blobs::Any)
    }

    /// Removes everything that was added, and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.layout_names.clear();
        self.components.clear();
        self.details.clear();
        self.special_elements.clear();
        self.shapes.clear();
        self.shards.clear();
    }

    /// Reserves room for `objects` objects.
    pub(crate) fn reserve(&mut self, objects: u32) -> Result<(), OutOfMemory> {
        reserve(&mut self.objects, objects)
    }

    /// Returns the number of objects that have been added.
    #[inline]
    pub(crate) fn len(&self) -> u32 {
        len_u32(self.objects.len())
    }

    /// Adds a checked component of the next object, with the component's details if there are any.
    #[inline(always)]
    pub(crate) fn component(
        &mut self,
        mut record: ComponentRecord,
        details: Option<Details>,
    ) -> Result<(), OutOfMemory> {
        if let Some(details) = details {
            record.details = self.add_details(details)?;
        }
        push(&mut self.components, record)
    }

    /// Sets the special elements of the component that is added next.
    #[cold]
    pub(crate) fn special_elements(&mut self, special: SpecialElements) -> Result<(), OutOfMemory> {
        let ordinal = len_u32(self.components.len());
        push(&mut self.special_elements, (ordinal, special))
    }

    #[inline(never)]
    fn add_details(&mut self, details: Details) -> Result<u32, OutOfMemory> {
        let ordinal = len_u32(self.details.len());
        // Many tensors of one unknown type have equal details, which are stored once. A header may describe a tensor in a
        // few bytes, and details of its own for each tensor would take many times the memory of the header.
        if self.details.last() == Some(&details) {
            return Ok(ordinal.wrapping_sub(1));
        }
        push(&mut self.details, details)?;
        Ok(ordinal)
    }

    /// Adds the record of a shard or sibling file, which may hold blobs.
    pub(crate) fn shard(&mut self, shard: ShardRecord) -> Result<(), OutOfMemory> {
        push(&mut self.shards, shard)
    }

    /// Sets the name of the layout of the object that is added next. Only unknown layouts and GGUF blocks need a name,
    /// because the name differs from file to file.
    #[cold]
    pub(crate) fn layout_name(&mut self, name: Span) -> Result<(), OutOfMemory> {
        let ordinal = self.len();
        push(&mut self.layout_names, (ordinal, name))
    }

    /// Adds an object, whose components were added last. `ascends` tells whether the object's name is greater than the
    /// name of the object before.
    #[inline]
    pub(crate) fn object(
        &mut self,
        record: ObjectRecord,
        ascends: bool,
    ) -> Result<(), OutOfMemory> {
        self.names_are_sorted &= ascends;
        let components = self.components.get(usize_from_u32(record.first)..).unwrap_or_default();
        for component in components {
            if !component.in_shard() && !component.shares_records() {
                self.order.note(component.extent);
            }
        }
        push(&mut self.objects, record)
    }

    /// Checks the rules that involve several objects, such as duplicate names and overlapping blobs, and returns the
    /// index. `texts` are the bytes to which the spans of records point, and `file_len` is the length of the file of
    /// the header. If a rule is broken, the error holds the fault and the object that it is in, from which the caller finds
    /// the offset of the fault.
    pub(crate) fn finish(
        self,
        facts: &'static FormatFacts,
        texts: &[u8],
        limits: &Limits,
        file_len: u64,
    ) -> Result<Index, (IndexFault, Option<FaultyObject>)> {
        match self.check(facts, texts, limits, file_len) {
            Ok((names, sums)) => {
                let Self { objects, layout_names, components, details, .. } = self;
                let Self { special_elements, shapes, shards, .. } = self;
                let attributes = Span::NONE;
                Ok(Index {
                    objects,
                    layout_names,
                    components,
                    details,
                    special_elements,
                    names,
                    attributes,
                    shapes,
                    shards,
                    sums,
                    facts,
                })
            }
            Err(fault) => Err((fault, self.faulty_object(&fault))),
        }
    }

    /// Returns the object that `fault` is about, or `None` if it is about no single object.
    #[cold]
    fn faulty_object(&self, fault: &IndexFault) -> Option<FaultyObject> {
        let record = self.objects.get(usize_from_u32(fault.object?))?;
        let first = self.components.get(usize_from_u32(record.first)).filter(|_| record.count > 0);
        let shard = first.and_then(|first| self.shards.get(usize_from_u32(first.file)));
        let file = shard.map_or(Span::NONE, |shard| shard.name);
        Some(FaultyObject { name: record.name, source_offset: record.source_offset, file })
    }

    /// Checks the rules that involve several objects.
    fn check(
        &self,
        facts: &'static FormatFacts,
        texts: &[u8],
        limits: &Limits,
        file_len: u64,
    ) -> Result<(Names, SharedSums), IndexFault> {
        if !self.order.holds() {
            let of_header = |component: usize| {
                let record = self.components.get(component);
                let record = record.filter(|record| !record.in_shard() && !record.shares_records());
                record.map(|_| len_u32(component))
            };
            let of_file = OfFile(self.components.len(), &of_header);
            self.check_blobs(of_file, limits.shared_total(file_len))?;
        }
        if !self.shards.is_empty() {
            self.check_shards(limits)?;
        }
        let read = |ordinal| name_at(&self.objects, texts, ordinal);
        let names = if self.names_are_sorted {
            Names::sorted(if facts.container.sorted_by_length { by_length } else { <[u8]>::cmp })
        } else {
            let (names, duplicate) = Names::hashed(self.len(), read)?;
            if duplicate.is_some() {
                let (kind, found) = (facts.duplicate_name, 0);
                return Err(IndexFault { kind, found, object: duplicate, at: FaultAt::Name });
            }
            names
        };
        Ok((names, self.shared_sums()?))
    }

    /// Creates an entry, not verified yet, for each checksum that several components share.
    fn shared_sums(&self) -> Result<SharedSums, OutOfMemory> {
        let mut places = Vec::new();
        for record in self.components.iter().filter(|record| record.has_details()) {
            let Some(details) = self.details.get(usize_from_u32(record.details)) else { continue };
            let [start, end] = details.checksum_range;
            let place = (record.file, start, end);
            // Tensors of one storage mostly follow each other, so most repetitions are dropped without sorting.
            if details.checksum.is_some() && start < end && places.last() != Some(&place) {
                push(&mut places, place)?;
            }
        }
        SharedSums::new(places)
    }

    /// Converts `overlap` to a fault, with the object that owns the component.
    fn overlap(&self, overlap: Overlap) -> IndexFault {
        let Overlap { component, kind, found } = overlap;
        // An object without components has the same `first` as the next object with components. The last of them is the
        // owner.
        let after = self.objects.partition_point(|object| object.first <= component);
        let object = after.checked_sub(1);
        let first = object.and_then(|object| self.objects.get(object)).map(|object| object.first);
        let within = first.and_then(|first| component.checked_sub(first)).unwrap_or(0);
        let at = FaultAt::Component(within, Site::Offset);
        IndexFault { kind, found, object: object.map(len_u32), at }
    }

    /// Checks the blobs of one file against each other. If several components share a blob, the blobs may have at most
    /// `most` bytes in total.
    fn check_blobs(&self, of_file: OfFile<'_>, most: u64) -> Result<(), IndexFault> {
        let mut seen = InOrder::default();
        let record = |component| self.components.get(usize_from_u32(component));
        for record in of_file.ordinals().filter_map(record) {
            seen.note(record.extent);
        }
        if seen.holds() {
            return Ok(());
        }
        match find_overlap(&self.components, of_file, (self.blobs, most))? {
            Some(overlap) => Err(self.overlap(overlap)),
            None => Ok(()),
        }
    }

    /// Checks the extents of blobs in other files, without opening these files. The blobs of each file may overlap only
    /// as the format allows: v2 §7.1. `limits` bound the bytes of shared blobs.
    fn check_shards(&self, limits: &Limits) -> Result<(), IndexFault> {
        let in_shards = || {
            let all = (0..).zip(&self.components);
            all.filter(|(_, record)| record.in_shard() && !record.shares_records())
        };
        let mut entries = Vec::new();
        // Each entry has the ordinal of the shard in its upper half and the ordinal of the component in its lower half,
        // so that sorting groups components by shard and keeps their order.
        entries.try_reserve_exact(in_shards().count()).map_err(|_| OutOfMemory)?;
        entries.extend(in_shards().map(|(component, record): (u32, _)| {
            u64::from(record.file) << 32 | u64::from(component)
        }));
        sort_by(&mut entries, Ord::cmp);
        let mut rest = entries.as_slice();
        while let Some([number, _]) = rest.first().map(|entry| halves(*entry)) {
            let length = rest.partition_point(|entry| halves(*entry)[0] == number);
            let (group, after) = rest.split_at_checked(length).ok_or(IndexFault::INTERNAL)?;
            rest = after;
            let shard = self.shards.get(usize_from_u32(number)).ok_or(IndexFault::INTERNAL)?;
            let ordinal = |location: usize| group.get(location).map(|entry| halves(*entry)[1]);
            let of_shard = OfFile(group.len(), &ordinal);
            self.check_blobs(of_shard, limits.shared_total(shard.blobs_end()))?;
        }
        Ok(())
    }
}

/// Returns the name of the object at `ordinal`, or an empty name if there is no such object.
#[inline]
pub(super) fn name_at<'t>(objects: &[ObjectRecord], texts: &'t [u8], ordinal: u32) -> &'t [u8] {
    let object = objects.get(usize_from_u32(ordinal));
    object.map(|object| object.name.of(texts)).unwrap_or_default()
}

/// Adds an item to `items`. The capacity grows with the number of items added, never with a number that a header
/// claims.
#[inline]
fn push<T>(items: &mut Vec<T>, item: T) -> Result<(), OutOfMemory> {
    if items.len() == items.capacity() {
        reserve(items, 1)?;
    }
    items.push(item);
    Ok(())
}

/// Reserves capacity for `more` items.
#[inline(never)]
pub(crate) fn reserve<T>(items: &mut Vec<T>, more: u32) -> Result<(), OutOfMemory> {
    items.try_reserve(usize_from_u32(more)).map_err(|_| OutOfMemory)
}

/// A check of whether blobs come in order: each begins at or after the end of the blob before. Empty blobs do not count. Blobs in
/// order do not overlap, so that most files need no sorting.
#[derive(Clone, Copy, Debug, Default)]
struct InOrder {
    /// The largest offset at which a blob that is not empty has ended so far.
    end: u64,
    disorder: bool,
}

impl InOrder {
    #[inline]
    fn note(&mut self, extent: Extent) {
        if extent.length() > 0 {
            self.disorder |= extent.offset() < self.end;
            self.end = extent.end().max(self.end);
        }
    }

    fn holds(&self) -> bool {
        !self.disorder
    }
}

/// A format's rule on blobs that overlap. If several components share bytes, the bytes count once for each component
/// against the limit `decoded-total`, because reading all tensors reads the bytes once for each component.
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
    /// The ordinal of the component among all components.
    component: u32,
    kind: ErrorKind,
    found: u64,
}

/// The components of one file whose blobs are checked against each other: the length of a list, and a function from the index of an
/// entry to the ordinal of its component. The function returns `None` for a component that is not checked: it is in another file, or
/// it is a field of records, which shares the blob of another component. The function is a `dyn Fn`, so that the compiler generates
/// the checks once and not for each list.
#[derive(Clone, Copy)]
struct OfFile<'f>(usize, &'f dyn Fn(usize) -> Option<u32>);

impl<'f> OfFile<'f> {
    fn ordinals(self) -> impl Iterator<Item = u32> + Clone + use<'f> {
        (0..self.0).filter_map(self.1)
    }
}

/// Finds the component to report for the blobs of one file. The blobs are sorted by offset and length. If `rule`
/// forbids an overlap, the first blob that overlaps an earlier blob is reported; among components with the same blob,
/// the last is reported. If there are overlaps and they are allowed, the component with which the total of bytes exceeds `most`
/// is reported. Returns `None` if no component is to be reported.
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

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{Blobs, ComponentRecord, Extent, OfFile, Overlap, find_overlap};
    use crate::rules::Rule;

    /// Checks `find_overlap` on random blobs against a comparison of each pair of blobs.
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
