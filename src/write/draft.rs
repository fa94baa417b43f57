//! The manifest of a file that is being written, as far as it is known.

use alloc::vec::Vec;

use super::canonical_order;
use super::declare::{Declared, DeclaredComponent, NewObject, ShardRecord};
use super::encoded::Encoded;
use super::entry::{self, FieldValue, record};
use super::settings::{Target, WriteOptions};
use crate::cbor::{
    BREAK, Encoder, Input, UNLIMITED, fault, key, map_head, pass, pass_attributes, rewrite, skip,
    span,
};
use crate::digest::DigestText;
use crate::error::{BareError, Error, Location, Misuse, OutOfMemory};
use crate::formats::ztensor::frame::{Footer, Frame};
use crate::formats::ztensor::{ObjectChecker, v1, v2};
use crate::limits::{Limits, OpenOptions};
use crate::manifest::{Manifest, ManifestRef, VERSION};
use crate::names::{by_length, hash};
use crate::num::{halves, len_u32, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule, Unsupported};

/// The manifest of a file that is being written: the fields of the root, and the entries of objects, as CBOR. Rules that
/// concern the whole manifest are checked at the end, by opening it as a reader does.
#[derive(Debug)]
pub(super) struct Draft {
    /// The options with which the finished manifest is opened.
    options: OpenOptions,
    /// The checker of each object that is added. It has no tolerances.
    checker: ObjectChecker,
    target: Target,
    /// The fields of the root except shards and objects: the version (1.x), attributes and unknown fields. A field without
    /// a value is not written.
    fields: Vec<(Encoder, Option<Encoder>)>,
    /// The CBOR entries of the table of shards (name and fields), without the head of the map.
    shards: Encoder,
    entries: Encoder,
    /// The number of complete objects, which is the ordinal of the next one.
    pub(super) objects: u32,
    names: Names,
    /// Whether the entries of objects are in the order of deterministic CBOR.
    sorted: bool,
    /// The largest number of bytes to which compressed components may decode whose size the file that is appended to does
    /// not give (1.1).
    unsaid: u64,
    /// The offset in `entries` of the entry of an object that has begun and not ended.
    begun: Option<usize>,
}

impl Draft {
    /// Creates the manifest of a new file.
    pub(super) fn new(options: OpenOptions, target: Target) -> Result<Self, BareError> {
        let added = OpenOptions::default().limits(*options.limit());
        let mut draft = Self {
            options,
            checker: ObjectChecker::new(added, target.writing.dialect),
            target,
            fields: Vec::new(),
            shards: Encoder::default(),
            entries: Encoder::default(),
            objects: 0,
            names: Names::default(),
            sorted: true,
            unsaid: 0,
            begun: None,
        };
        if !target.writing.deterministic {
            draft.set(text(v1::RootKey::version.as_str())?, Some(text(VERSION)?))?;
        }
        draft.set(text(v1::RootKey::attributes.as_str())?, None)?;
        Ok(draft)
    }

    /// Creates the manifest of a file that is appended to, from its `manifest`.
    pub(super) fn from_manifest(
        manifest: ManifestRef<'_>,
        settings: &WriteOptions,
        target: Target,
    ) -> Result<Self, BareError> {
        let mut draft = Self::new(settings.options_for_append(manifest.options()), target)?;
        let mut fields = map_entries(manifest.as_bytes())?;
        while !fields.is_empty() {
            let (own, value) = split(fields)?;
            let (item, rest) = split(value)?;
            draft.field(own, item)?;
            fields = rest;
        }
        draft.objects = manifest.len();
        let entries = draft.entries.as_bytes();
        entry_offsets(entries).try_for_each(|at| draft.names.add(entries, at))?;
        let (said, unsaid) = decoded(manifest, draft.limits())?;
        let most = draft.limits().decoded_total(manifest.all_bytes());
        draft.unsaid = unsaid.min(most.saturating_sub(said));
        Ok(draft)
    }

    /// Adds a field of the root of an existing file to this draft. Of `objects`, and in generation 2 of `shards`, it adds the
    /// entries, to which new entries are appended later. `own` begins at the key of the field in the manifest, and `item` is the
    /// CBOR of the field's value.
    fn field(&mut self, own: Input<'_>, item: Input<'_>) -> Result<(), BareError> {
        let name = key(own).ok().map(|(_, name)| name);
        let is = |key: &str| name == Some(key.as_bytes());
        if is(v1::RootKey::objects.as_str()) {
            return Ok(self.entries.raw(map_entries(item)?)?);
        } else if self.target.writing.deterministic && is(v2::RootKey::shards.as_str()) {
            return Ok(self.shards.raw(map_entries(item)?)?);
        }
        // In 2, keys may be other items than text.
        let key = match name {
            Some(name) => Encoder::with(|out| out.text_of(name))?,
            None => Encoder::with(|out| out.raw(own))?,
        };
        Ok(self.set(key, Some(Encoder::with(|out| out.raw(item))?))?)
    }

    /// Sets the value of a field of the root. Replaces the value only for one of the first two fields (version and
    /// attributes), which every file may have; other keys come from a checked manifest and are unique.
    fn set(&mut self, key: Encoder, value: Option<Encoder>) -> Result<(), OutOfMemory> {
        let mut first = self.fields.iter_mut().take(2);
        if let Some((_, own)) = first.find(|(own, _)| own.as_bytes() == key.as_bytes()) {
            *own = value;
            return Ok(());
        }
        self.fields.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.fields.push((key, value));
        Ok(())
    }

    pub(super) fn limits(&self) -> &Limits {
        self.options.limit()
    }

    /// Sets the attributes of the file, which replace earlier ones.
    pub(super) fn attributes(&mut self, attributes: &Encoded) -> Result<(), BareError> {
        let attributes = self.form(attributes, 1)?;
        if let Some(own) = &attributes {
            let (limits, own) = (self.limits(), own.as_bytes());
            if self.target.writing.deterministic {
                v2::pass_attributes(limits, own, 1).map_err(fault_error)?;
            } else {
                pass_attributes(limits, Rule::AttributesType, own, 1).map_err(fault_error)?;
            }
        }
        Ok(self.set(text(v1::RootKey::attributes.as_str())?, attributes)?)
    }

    /// Renames each object for whose name `new` returns another name.
    ///
    /// # Errors
    /// [`Misuse::Unfinished`] if an object has not ended; `duplicate-name`, after which no object is renamed; [`OutOfMemory`].
    pub(super) fn rename<'n>(
        &mut self,
        new: impl Fn(&str) -> Option<&'n str>,
    ) -> Result<(), BareError> {
        if self.begun.is_some() {
            return Err(BareError::misuse(Misuse::Unfinished));
        }
        let (mut entries, mut names) = (Encoder::default(), Names::default());
        entries.reserve(self.entries.len())?;
        for (entry, ordinal) in split_entries(self.entries.as_bytes()).zip(0..) {
            let (object, own) = key(entry).map_err(internal)?;
            let at = len_u32(entries.len());
            let name = core::str::from_utf8(own).ok().and_then(&new);
            entries.text_of(name.map_or(own, str::as_bytes))?;
            entries.raw(object)?;
            let location = Location::new(Some(ordinal), None);
            names.add(entries.as_bytes(), at).map_err(|error| error.at(location))?;
        }
        (self.entries, self.names, self.sorted) = (entries, names, false);
        Ok(())
    }

    /// Encodes `attributes` in the form of the file: deterministic CBOR for canonical files and files of 2. The attributes
    /// will lie within `open` levels. Returns `None` for empty attributes of a canonical file, which leaves them out.
    fn form(&self, attributes: &Encoded, open: u8) -> Result<Option<Encoder>, BareError> {
        let bytes = attributes.as_bytes();
        let (rest, ()) = skip(bytes, open, self.limits().depth()).map_err(fault_error)?;
        if !rest.is_empty() {
            return Err(
                BareError::nowhere(Rule::ManifestTrailing).found(u64_from_usize(rest.len()))
            );
        }
        let mut out = Encoder::default();
        if self.target.canonical || self.target.writing.deterministic {
            rewrite(bytes, &mut out).map_err(|fault| BareError::nowhere(fault.kind))?;
        } else {
            out.raw(bytes)?;
        }
        let is_empty = out.as_bytes() == b"\xa0";
        Ok((!self.target.canonical || !is_empty).then_some(out))
    }

    /// Adds a shard called `name` to the table, after checking the entry as a reader does.
    pub(super) fn shard(&mut self, name: &str, shard: &ShardRecord) -> Result<(), BareError> {
        self.target.has_shards()?;
        let table = Encoder::with(|table| {
            table.map(1)?;
            table.text(name)?;
            record(table, v2::ShardKey::TABLE_ORDER, v2::ShardKey::write, |key| match key {
                v2::ShardKey::size => Some(FieldValue::Uint(shard.size)),
                v2::ShardKey::digest => Some(FieldValue::Digest(&shard.digest)),
            })
        })?;
        v2::validate_shards(self.limits(), table.as_bytes()).map_err(fault_error)?;
        Ok(self.shards.raw(map_entries(table.as_bytes())?)?)
    }

    /// Checks `object` as a reader does, and adds its entry. `offset` is the offset of its first blob, and `shard` the name
    /// of the shard that its blobs go to. After an error the manifest is unchanged. The object must [end](Self::end) before
    /// anything else is added.
    pub(super) fn declare<'a>(
        &mut self,
        object: &NewObject<'a>,
        offset: u64,
        shard: Option<&'a str>,
    ) -> Result<Declared<'a>, BareError> {
        if self.begun.is_some() {
            return Err(BareError::misuse(Misuse::Unfinished));
        }
        let begin = self.entries.len();
        let declared = self.check(object, begin, offset, shard).map_err(|error| {
            self.entries.truncate(begin);
            error.at(Location::new(Some(self.objects), error.location.component()))
        })?;
        self.begun = Some(begin);
        Ok(declared)
    }

    fn check<'a>(
        &mut self,
        object: &NewObject<'a>,
        begin: usize,
        mut offset: u64,
        shard: Option<&'a str>,
    ) -> Result<Declared<'a>, BareError> {
        let writing = self.target.writing;
        let attributes = match object.attributes {
            Some(attributes) => self.form(attributes, 3)?,
            None => None,
        };
        let mut parts = Vec::new();
        parts.try_reserve_exact(object.components().len()).map_err(|_| OutOfMemory)?;
        for (own, ordinal) in object.components().iter().zip(0..) {
            let location = |error: BareError| error.at(Location::new(None, Some(ordinal)));
            let mut part = own.resolve(ordinal, writing).map_err(location)?;
            self.check_part(&part).map_err(location)?;
            if !part.is_stored {
                part.shard = shard;
                part.blob.offset = offset;
                part.blob.digest = self.target.checksum.unknown();
                let end = offset.saturating_add(part.bytes);
                offset = self.target.aligned(end).unwrap_or(offset);
            }
            parts.push(part);
        }
        // A known layout has no name in a generation that does not define the layout.
        let layout = object.format_name(writing).ok_or(BareError::nowhere(Unsupported::Format))?;
        let (name, shape) = (object.name, object.shape);
        let mut declared = Declared { name, layout, shape, attributes, parts };
        self.write(&mut declared)?;
        let entry = self.entries.as_bytes().get(begin..).ok_or(BareError::internal())?;
        let records = self.checker.check(entry, self.objects).map_err(|error| {
            let component = error.location.component();
            let part = component.and_then(|it| declared.parts.get(usize_from_u32(it)));
            error.at(Location::new(None, part.map_or(component, |part| Some(part.ordinal))))
        })?;
        for (part, record) in declared.parts.iter_mut().zip(records) {
            part.digest = record.digest;
        }
        declared.parts.sort_unstable_by_key(|part| part.ordinal);
        let in_order = |a: &DeclaredComponent<'_>, b: &DeclaredComponent<'_>| {
            self.target.order(a.role.as_bytes(), b.role.as_bytes()).is_lt()
        };
        if self.target.canonical && !declared.parts.is_sorted_by(in_order) {
            return Err(BareError::misuse(Misuse::Order));
        }
        let size = u64_from_usize(self.entries.len());
        if size > self.limits().manifest() {
            return Err(BareError::nowhere(Limit::Manifest).found(size));
        }
        let (own, entries) = (name.as_bytes(), self.entries.as_bytes());
        let last = || self.names.last.map(|last| self::name(entries, last));
        if self.target.canonical && last().is_some_and(|last| self.target.order(last, own).is_gt())
        {
            return Err(BareError::misuse(Misuse::Order));
        }
        let ascends = !writing.deterministic || last().is_none_or(|it| by_length(it, own).is_lt());
        self.names.add(entries, len_u32(begin))?;
        self.sorted &= ascends;
        Ok(declared)
    }

    /// Checks the rules about a component that a reader cannot check by the component's entry alone, such as limits.
    fn check_part(&self, part: &DeclaredComponent<'_>) -> Result<(), BareError> {
        let limits = self.limits();
        if part.is_stored {
            self.target.has_shards()?;
            if !part.blob.compressed && part.bytes != part.blob.length {
                return Err(BareError::misuse(Misuse::Length));
            }
        }
        if part.blob.compressed {
            if self.target.canonical {
                return Err(BareError::nowhere(Rule::CanonicalEncoding));
            }
            if part.bytes > limits.decoded() {
                return Err(BareError::nowhere(Limit::Decoded).found(part.bytes));
            }
            let window = part.bytes.min(WINDOW);
            if window > limits.window() {
                return Err(BareError::nowhere(Limit::Window).found(window));
            }
        }
        Ok(())
    }

    /// Adds the CBOR entry of an object, its name and its fields, to the entries. In generation 2, sorts the components of
    /// `declared` into the order of deterministic CBOR first.
    fn write(&mut self, declared: &mut Declared<'_>) -> Result<(), OutOfMemory> {
        if self.target.writing.deterministic {
            let order = |a: &DeclaredComponent<'_>, b: &DeclaredComponent<'_>| {
                canonical_order(a.role, b.role)
            };
            declared.parts.sort_unstable_by(order);
        }
        entry::object(&mut self.entries, declared, &self.target)
    }

    /// Ends the object `declared`, all of whose bytes have been written. If only the digests of its blobs differ from the
    /// entry (`changed` is false), they are overwritten in place; otherwise the entry is written again.
    pub(super) fn end(
        &mut self,
        mut declared: Declared<'_>,
        changed: bool,
    ) -> Result<(), BareError> {
        let begin = self.begun.ok_or(BareError::internal())?;
        if changed {
            self.entries.truncate(begin);
            self.write(&mut declared)?;
        } else {
            for part in &declared.parts {
                let Some(digest_text) = part.blob.digest.as_ref().and_then(DigestText::new) else {
                    continue;
                };
                let text = digest_text.as_bytes();
                let at = begin.saturating_add(usize_from_u32(part.digest.offset()));
                self.entries.overwrite(at, text).ok_or(BareError::internal())?;
            }
        }
        self.objects = self.objects.saturating_add(1);
        self.begun = None;
        Ok(())
    }

    /// Returns the manifest and the footer of a file whose manifest begins at the offset `start`. The manifest has been
    /// opened as a reader does, so a file that readers would reject is never finished.
    ///
    /// # Errors
    /// [`Misuse::Unfinished`] if an object has not ended; the errors of opening the manifest; `limit-shards`, `limit-decoded`,
    /// `limit-decoded-total`; [`OutOfMemory`].
    pub(super) fn finish(mut self, start: u64) -> Result<(Encoder, Footer), Error> {
        if self.begun.is_some() {
            return Err(Misuse::Unfinished.into());
        }
        // Opening the manifest, below, builds another index of all names. The index of this draft is dropped first to save
        // memory.
        self.names = Names::default();
        if self.target.writing.deterministic {
            sort(&mut self.shards)?;
            if !self.sorted {
                sort(&mut self.entries)?;
            }
        }
        let shards = u64_from_usize(entry_offsets(self.shards.as_bytes()).count());
        self.surround(shards)?;
        let Self { options, target, entries: manifest, objects, .. } = self;
        let container = target.writing.container;
        let footer = container.footer(start, manifest.as_bytes());
        let size = u64_from_usize(manifest.len());
        let tail = u64_from_usize(footer.as_bytes().len());
        let end = start.checked_add(size).and_then(|end| end.checked_add(tail));
        let end = end.ok_or(BareError::misuse(Misuse::Length))?;
        let range = container.footer_range(end)?;
        let frame = Frame::read(container, footer.as_bytes(), range, options.limit())?;
        let opened = Manifest::validate(&frame, manifest.as_bytes(), &options)?;
        debug_assert_eq!(
            opened.len(),
            usize_from_u32(objects),
            "the finished manifest has another number of objects than were added"
        );
        if shards > options.limit().shards().into() {
            return Err(BareError::nowhere(Limit::Shards).found(shards).into());
        }
        let (said, _) = decoded(opened.parts(), options.limit())?;
        let total = said.saturating_add(self.unsaid);
        if total > options.limit().decoded_total(opened.parts().all_bytes()) {
            return Err(BareError::nowhere(Limit::DecodedTotal).found(total).into());
        }
        drop(opened);
        Ok((manifest, footer))
    }

    /// Completes the manifest: writes the other fields of the root before and after the entries of the objects. `shards` is the
    /// number of entries in the table of shards. The field `shards` is left out if there are no entries.
    fn surround(&mut self, shards: u64) -> Result<(), OutOfMemory> {
        self.fields.retain(|(_, value)| value.is_some());
        if shards > 0 {
            let table = Encoder::with(|out| {
                out.map(shards)?;
                out.raw(self.shards.as_bytes())
            })?;
            self.set(text(v2::RootKey::shards.as_str())?, Some(table))?;
        }
        // The objects have no value here, because their entries have been written.
        self.set(text(v1::RootKey::objects.as_str())?, None)?;
        if self.target.writing.deterministic || self.target.canonical {
            self.fields.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        }
        let (mut head, mut before) = (Encoder::default(), true);
        head.map(u64_from_usize(self.fields.len()))?;
        for (own, value) in &self.fields {
            let out = if before { &mut head } else { &mut self.entries };
            out.raw(own.as_bytes())?;
            if let Some(value) = value {
                out.raw(value.as_bytes())?;
            } else {
                out.map(self.objects.into())?;
                before = false;
            }
        }
        self.entries.prepend(head.as_bytes())
    }
}

/// The largest window in bytes of the frames that are written. Content that is smaller gets a smaller window.
const WINDOW: u64 = 256 << 10;

/// A check that the names in a list of entries (name and object, as CBOR) are unique.
///
/// While names ascend, each is compared with the name before it. From the first name that does not ascend, all names are in
/// a hash table. An attacker can make names collide, because without `std` the hash has no secret. A search therefore stops
/// after `REACH` slots, and a duplicate that it misses is found when the finished manifest is opened. So the
/// work is linear in the bytes of names, whatever they are.
#[derive(Debug, Default)]
struct Names {
    /// The offset in the list of entries at which the entry with the last name begins; `None` before the first entry.
    last: Option<u32>,
    /// A hash table: each slot has a hash in its upper half, and the offset of the entry plus 1 in its lower half. A free
    /// slot is 0. At most half of the slots are used.
    slots: Vec<u64>,
    count: usize,
}

impl Names {
    /// Adds the name of the entry at the offset `at` of `entries`. All entries before this entry have been added.
    ///
    /// # Errors
    /// `duplicate-name`; [`OutOfMemory`].
    fn add(&mut self, entries: Input<'_>, at: u32) -> Result<(), BareError> {
        let ascends = self.last.is_none_or(|last| name(entries, last) < name(entries, at));
        if self.slots.is_empty() && !ascends {
            let mut earlier = entry_offsets(entries).take_while(|earlier| *earlier < at);
            earlier.try_for_each(|earlier| self.insert(entries, earlier))?;
        }
        if !self.slots.is_empty() {
            self.insert(entries, at)?;
        }
        self.last = Some(at);
        Ok(())
    }

    fn insert(&mut self, entries: Input<'_>, at: u32) -> Result<(), BareError> {
        if self.count.saturating_mul(2) >= self.slots.len() {
            self.grow()?;
        }
        let own = name(entries, at);
        let hash = hash(own);
        let is_own = |position: u32| name(entries, position.wrapping_sub(1)) == own;
        if let Some(slot) = slot(&mut self.slots, hash, is_own) {
            if *slot != 0 {
                return Err(BareError::nowhere(Rule::DuplicateName));
            }
            *slot = u64::from(hash) << 32 | u64::from(at.wrapping_add(1));
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    fn grow(&mut self) -> Result<(), OutOfMemory> {
        let size = self.slots.len().saturating_mul(2).max(64);
        let mut slots = Vec::new();
        slots.try_reserve_exact(size).map_err(|_| OutOfMemory)?;
        slots.resize(size, 0);
        for own in self.slots.iter().filter(|own| **own != 0) {
            let [hash, _] = halves(*own);
            if let Some(slot) = slot(&mut slots, hash, |_| false) {
                *slot = *own;
            }
        }
        self.slots = slots;
        Ok(())
    }
}

/// Returns the slot for a name with `hash`: the slot that has this hash and for whose entry `is_own` returns true, or else
/// a free slot. Returns `None` if the slots near the one that the hash selects are all used.
fn slot(slots: &mut [u64], hash: u32, is_own: impl Fn(u32) -> bool) -> Option<&mut u64> {
    /// The largest distance of a slot from the one that its hash selects. In a table that is half full, names that nobody has
    /// chosen to collide are never so far away.
    const REACH: usize = 64;
    let mask = slots.len().wrapping_sub(1);
    let near = (0..REACH).map(|step| usize_from_u32(hash).wrapping_add(step) & mask);
    let mut found = near.filter_map(|position| Some((position, *slots.get(position)?)));
    let (position, _) = found.find(|(_, slot)| {
        let [own, position] = halves(*slot);
        *slot == 0 || own == hash && is_own(position)
    })?;
    slots.get_mut(position)
}

/// Returns an iterator over entries (key and value) that follow one another in `rest`, without a head.
fn split_entries(mut rest: Input<'_>) -> impl Iterator<Item = Input<'_>> {
    core::iter::from_fn(move || {
        let after = pass(pass(rest)?)?;
        let entry = span(rest, after).ok()?;
        rest = after;
        Some(entry)
    })
}

/// Returns an iterator over the offsets at which entries begin.
fn entry_offsets(entries: Input<'_>) -> impl Iterator<Item = u32> {
    split_entries(entries).scan(0_usize, |at, entry| {
        let here = len_u32(*at);
        *at = at.checked_add(entry.len())?;
        Some(here)
    })
}

/// Returns the name of the entry that begins at the offset `at` of `entries`, without the CBOR head of the name.
fn name(entries: Input<'_>, at: u32) -> &[u8] {
    let name = entries.get(usize_from_u32(at)..).and_then(|at| key(at).ok());
    name.map(|(_, name)| name).unwrap_or_default()
}

/// Sorts entries (text and value) by their encoded keys, which is the order of deterministic CBOR. Takes 16 bytes of memory
/// for each entry, and a copy of all entries.
fn sort(out: &mut Encoder) -> Result<(), BareError> {
    let mut entries: Vec<Input<'_>> = Vec::new();
    let count = split_entries(out.as_bytes()).count();
    entries.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    entries.extend(split_entries(out.as_bytes()));
    // No encoded key is the beginning of another one, so values never decide the order.
    entries.sort_unstable();
    let mut sorted = Encoder::default();
    sorted.reserve(out.len())?;
    entries.iter().try_for_each(|entry| sorted.raw(entry))?;
    *out = sorted;
    Ok(())
}

/// Returns the entries of `map` without the map's head and without its break byte.
fn map_entries(map: Input<'_>) -> Result<Input<'_>, BareError> {
    let (entries, count) = map_head(Rule::ObjectsType, UNLIMITED, map).map_err(internal)?;
    match count.claimed() {
        Some(_) => Ok(entries),
        None => entries.strip_suffix(&[BREAK]).ok_or(BareError::internal()),
    }
}

/// Returns `text` as CBOR.
fn text(text: &str) -> Result<Encoder, OutOfMemory> {
    Encoder::with(|out| out.text(text))
}

/// Splits `input` into its first item and the input after it.
fn split(input: Input<'_>) -> Result<(Input<'_>, Input<'_>), BareError> {
    let rest = pass(input).ok_or(BareError::internal())?;
    Ok((span(input, rest).map_err(internal)?, rest))
}

/// Converts an error of reading the manifest again, which cannot occur because it has been read before.
fn internal<F>(_: F) -> BareError {
    BareError::internal()
}

/// Converts a fault in an item that is not in a file yet, so it has no offset.
fn fault_error(error: nom::Err<crate::cbor::Fault>) -> BareError {
    let fault = fault(error);
    BareError::nowhere(fault.kind).found(fault.found)
}

/// Returns the number of bytes to which those compressed components of a file decode whose size the manifest gives, and the
/// largest number to which the others may decode.
///
/// # Errors
/// `limit-decoded`.
fn decoded(manifest: ManifestRef<'_>, limits: &Limits) -> Result<(u64, u64), BareError> {
    /// The largest number of bytes to which a byte of zstd decodes: a block of four bytes decodes to at most 128 KiB.
    const MOST: u64 = (128 << 10) / 4;
    let (mut said, mut unsaid) = (0_u64, 0_u64);
    if !manifest.index().components.iter().any(|own| own.encoding.is_compressed()) {
        return Ok((said, unsaid));
    }
    let components = manifest.tensors().flat_map(|object| object.components());
    for component in components.filter(|own| own.encoding().is_compressed()) {
        match component.decoded_length() {
            Some(bytes) if bytes > limits.decoded() => {
                let location = component.location();
                return Err(BareError::nowhere(Limit::Decoded).found(bytes).at(location));
            }
            Some(bytes) => said = said.saturating_add(bytes),
            None => {
                let most = component.extent().length().saturating_mul(MOST);
                unsaid = unsaid.saturating_add(most.min(limits.decoded()));
            }
        }
    }
    Ok((said, unsaid))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::allow_attributes,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        reason = "a test that panics has failed, and its numbers are small"
    )]

    use alloc::collections::BTreeSet;
    use alloc::string::String;
    use alloc::vec::Vec;

    use super::{Names, hash};
    use crate::cbor::Encoder;
    use crate::element::StorageType;
    use crate::error::Location;
    use crate::num::len_u32;
    use crate::rules::Rule;
    use crate::write::{NewObject, WriteOptions, Writer};

    /// Adds objects with `names`, each with an empty map, until one is rejected as a duplicate. Returns the name of that object.
    fn add(names: impl IntoIterator<Item = String>) -> Result<(), String> {
        let (mut entries, mut known) = (Encoder::default(), Names::default());
        for name in names {
            let at = len_u32(entries.len());
            entries.text(&name).unwrap();
            entries.map(0).unwrap();
            if let Err(error) = known.add(entries.as_bytes(), at) {
                assert_eq!(error.kind, Rule::DuplicateName);
                return Err(name);
            }
        }
        Ok(())
    }

    #[test]
    fn duplicate_names_are_found() {
        for seed in 0..if cfg!(miri) { 1 } else { 50 } {
            let mut rng = fastrand::Rng::with_seed(seed);
            let names: Vec<String> =
                (0..400).map(|_| alloc::format!("{:b}", rng.u16(..512))).collect();
            let mut seen = BTreeSet::new();
            let second = names.iter().find(|name| !seen.insert((*name).clone())).cloned();
            assert_eq!(add(names).err(), second, "seed {seed}");
        }
    }

    #[test]
    fn sorted_and_unsorted_names_are_remembered() {
        let ascending = || (100..200).map(|n| alloc::format!("layer.{n}"));
        assert_eq!(add(ascending()), Ok(()));
        assert_eq!(add(ascending().rev()), Ok(()));
        for twice in ["layer.100", "layer.150", "layer.199"] {
            assert_eq!(add(ascending().chain([twice.into()])), Err(twice.into()));
            assert_eq!(add(ascending().rev().chain([twice.into()])), Err(twice.into()));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it is a matter of sizes")]
    fn names_that_collide_in_the_table_are_validated_at_the_end() {
        // Names whose hashes agree in the bits that select the slot.
        let colliding: Vec<String> = (0..4_000_000_u32)
            .map(|n| alloc::format!("{n:07}"))
            .filter(|name| hash(name.as_bytes()) & 0x7ff == 5)
            .take(1500)
            .collect();
        assert_eq!(colliding.len(), 1500);
        let mut writer = Writer::new(Vec::new(), &WriteOptions::default()).unwrap();
        let mut write =
            |name: &str| writer.add_object(&NewObject::dense(name, &[0], StorageType::U8), &[]);
        for name in colliding.iter().rev() {
            write(name).unwrap();
        }
        assert_eq!(write(&colliding[1499]).unwrap_err().rule(), Some("duplicate-name"));
        // There is no slot for the last of these names, but its duplicate is found when the manifest is opened.
        write(&colliding[0]).unwrap();
        let rejected = writer.finish().unwrap_err();
        assert_eq!(rejected.rule(), Some("duplicate-name"));
        assert_eq!(rejected.location(), Location::new(Some(1500), None));
    }

    #[test]
    fn names_that_begin_others_and_the_empty_one() {
        let prefixes = || (0..300).rev().map(|length| "a".repeat(length));
        assert_eq!(add(prefixes()), Ok(()));
        assert_eq!(add(prefixes().chain([String::new()])), Err(String::new()));
        assert_eq!(add(prefixes().chain(["a".repeat(299)])), Err("a".repeat(299)));
        assert_eq!(add(["\0\0".into(), "\0".into(), String::new()]), Ok(()));
    }
}
