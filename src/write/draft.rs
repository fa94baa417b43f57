//! The manifest of a file that is being written.

use alloc::vec::Vec;

use super::canonical_order;
use super::declare::{Declared, NewObject, Part, ShardRecord};
use super::encoded::Encoded;
use super::entry::{self, Value, record};
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

/// The fields of the root and the entries of its objects, as CBOR. What only the whole of them shows is found when
/// it is finished: it is opened then.
#[derive(Debug)]
pub(super) struct Draft {
    /// The options of the readers, which the finished file is opened with.
    options: OpenOptions,
    /// The checker of what is added, without tolerances.
    checker: ObjectChecker,
    target: Target,
    /// Keys and values of the root but for shards and objects: the version (1.x), the attributes, if there are some,
    /// and those that are not known.
    fields: Vec<(Encoder, Option<Encoder>)>,
    /// The entries of the table of shards.
    shards: Encoder,
    entries: Encoder,
    /// The number of objects that have ended: the place of the next in the manifest.
    pub(super) objects: u32,
    names: Names,
    /// True if the entries are in the order of deterministic CBOR.
    sorted: bool,
    /// Bytes that components may decode to of which the file that is appended to does not say it.
    unsaid: u64,
    /// The beginning of the entry of the object that has begun and not ended.
    begun: Option<usize>,
}

impl Draft {
    /// The manifest of a new file.
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

    /// The manifest of a file that has one already.
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
        places(entries).try_for_each(|at| draft.names.add(entries, at))?;
        let (said, unsaid) = decoded(manifest, draft.limits())?;
        let most = draft.limits().decoded_total(manifest.all_bytes());
        draft.unsaid = unsaid.min(most.saturating_sub(said));
        Ok(draft)
    }

    /// Keeps a field of the root: its key and its value.
    fn field(&mut self, own: Input<'_>, item: Input<'_>) -> Result<(), BareError> {
        let name = key(own).ok().map(|(_, name)| name);
        let is = |key: &str| name == Some(key.as_bytes());
        if is(v1::RootKey::objects.as_str()) {
            return Ok(self.entries.raw(map_entries(item)?)?);
        } else if self.target.writing.deterministic && is(v2::RootKey::shards.as_str()) {
            return Ok(self.shards.raw(map_entries(item)?)?);
        }
        // In 2, keys need not be text.
        let key = match name {
            Some(name) => Encoder::with(|out| out.text_of(name))?,
            None => Encoder::with(|out| out.raw(own))?,
        };
        Ok(self.set(key, Some(Encoder::with(|out| out.raw(item))?))?)
    }

    /// Sets a field of the root: one of the first two, which every file may have, or another one.
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

    /// Gives the file attributes, in place of those that it has.
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

    /// Gives objects the names that `new` returns for theirs, if it returns one.
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

    /// Gives one item of CBOR, which lies within `open` levels, the form of the file; none if the form leaves it out.
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

    /// Lists a shard, which is checked as a reader does.
    pub(super) fn shard(&mut self, name: &str, shard: &ShardRecord) -> Result<(), BareError> {
        self.target.has_shards()?;
        let table = Encoder::with(|table| {
            table.map(1)?;
            table.text(name)?;
            record(table, v2::ShardKey::TABLE_ORDER, v2::ShardKey::write, |key| match key {
                v2::ShardKey::size => Some(Value::Uint(shard.size)),
                v2::ShardKey::digest => Some(Value::Digest(&shard.digest)),
            })
        })?;
        v2::validate_shards(self.limits(), table.as_bytes()).map_err(fault_error)?;
        Ok(self.shards.raw(map_entries(table.as_bytes())?)?)
    }

    /// Checks an object, whose first blob will lie at `offset`, as a reader does, and adds its entry. Where it is
    /// rejected, nothing has changed. It has to end before anything else is written. `shard` is the one that its blobs
    /// go to.
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
        // Layouts of other generations have none.
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
        let in_order = |a: &Part<'_>, b: &Part<'_>| {
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

    /// Checks what the entry of a component does not show.
    fn check_part(&self, part: &Part<'_>) -> Result<(), BareError> {
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

    /// Writes the entry of an object.
    fn write(&mut self, declared: &mut Declared<'_>) -> Result<(), OutOfMemory> {
        if self.target.writing.deterministic {
            let order = |a: &Part<'_>, b: &Part<'_>| canonical_order(a.role, b.role);
            declared.parts.sort_unstable_by(order);
        }
        entry::object(&mut self.entries, declared, &self.target)
    }

    /// Ends an object, all of whose bytes have come. `changed` tells whether more than the digests of its blobs
    /// is other than was expected.
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

    /// Manifest and footer of a file whose manifest begins at `start`. It has been opened as any reader opens it:
    /// what is rejected here would be rejected by them.
    pub(super) fn finish(mut self, start: u64) -> Result<(Encoder, Footer), Error> {
        if self.begun.is_some() {
            return Err(Misuse::Unfinished.into());
        }
        // The index of the reader takes their place.
        self.names = Names::default();
        if self.target.writing.deterministic {
            sort(&mut self.shards)?;
            if !self.sorted {
                sort(&mut self.entries)?;
            }
        }
        let shards = u64_from_usize(places(self.shards.as_bytes()).count());
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
        debug_assert_eq!(opened.len(), usize_from_u32(objects), "another number of objects");
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

    /// Writes the root around the entries of its objects.
    fn surround(&mut self, shards: u64) -> Result<(), OutOfMemory> {
        self.fields.retain(|(_, value)| value.is_some());
        if shards > 0 {
            let table = Encoder::with(|out| {
                out.map(shards)?;
                out.raw(self.shards.as_bytes())
            })?;
            self.set(text(v2::RootKey::shards.as_str())?, Some(table))?;
        }
        // Their entries are there.
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

/// The window of the frames that are written, unless what they hold is smaller.
const WINDOW: u64 = 256 << 10;

/// The names in a list of entries (name and object, as CBOR): none is there twice.
///
/// While names are sorted, each is compared with the one before. At the first that is not, all go into a table of
/// hashes. The hash may have no secret: an attacker can make names collide, and it then takes no more. What it has
/// missed is found at the end, where the manifest is opened. So work follows the bytes of the names, whatever they are.
#[derive(Debug, Default)]
struct Names {
    /// The place of the last of them.
    last: Option<u32>,
    /// Hashes, each above its place and 1, in slots of which half are 0: free.
    slots: Vec<u64>,
    count: usize,
}

impl Names {
    /// Adds the name at `at`, the last of the entries.
    ///
    /// # Errors
    /// `duplicate-name`; [`OutOfMemory`].
    fn add(&mut self, entries: Input<'_>, at: u32) -> Result<(), BareError> {
        let ascends = self.last.is_none_or(|last| name(entries, last) < name(entries, at));
        if self.slots.is_empty() && !ascends {
            let mut earlier = places(entries).take_while(|earlier| *earlier < at);
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

/// The slot near the place of a hash that is free, or has that hash and is the one that is looked for.
fn slot(slots: &mut [u64], hash: u32, is_own: impl Fn(u32) -> bool) -> Option<&mut u64> {
    /// Honest names never are so far from where they belong, in a table that is half full.
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

/// The entries (key and value) that follow one another, without a head.
fn split_entries(mut rest: Input<'_>) -> impl Iterator<Item = Input<'_>> {
    core::iter::from_fn(move || {
        let after = pass(pass(rest)?)?;
        let entry = span(rest, after).ok()?;
        rest = after;
        Some(entry)
    })
}

/// The places where entries begin.
fn places(entries: Input<'_>) -> impl Iterator<Item = u32> {
    split_entries(entries).scan(0_usize, |at, entry| {
        let here = len_u32(*at);
        *at = at.checked_add(entry.len())?;
        Some(here)
    })
}

/// The name at `at`, without its head.
fn name(entries: Input<'_>, at: u32) -> &[u8] {
    let name = entries.get(usize_from_u32(at)..).and_then(|at| key(at).ok());
    name.map(|(_, name)| name).unwrap_or_default()
}

/// Puts entries (text and value) in the order of deterministic CBOR: that of their keys' encodings. It takes 16 bytes
/// an entry, and a copy of all of them.
fn sort(out: &mut Encoder) -> Result<(), BareError> {
    let mut entries: Vec<Input<'_>> = Vec::new();
    let count = split_entries(out.as_bytes()).count();
    entries.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    entries.extend(split_entries(out.as_bytes()));
    // No key is the beginning of another, so that values are not compared.
    entries.sort_unstable();
    let mut sorted = Encoder::default();
    sorted.reserve(out.len())?;
    entries.iter().try_for_each(|entry| sorted.raw(entry))?;
    *out = sorted;
    Ok(())
}

/// The entries of a map, without head and break.
fn map_entries(map: Input<'_>) -> Result<Input<'_>, BareError> {
    let (entries, count) = map_head(Rule::ObjectsType, UNLIMITED, map).map_err(internal)?;
    match count.claimed() {
        Some(_) => Ok(entries),
        None => entries.strip_suffix(&[BREAK]).ok_or(BareError::internal()),
    }
}

/// A text as CBOR.
fn text(text: &str) -> Result<Encoder, OutOfMemory> {
    Encoder::with(|out| out.text(text))
}

/// The item at `input`, and what is left after it.
fn split(input: Input<'_>) -> Result<(Input<'_>, Input<'_>), BareError> {
    let rest = pass(input).ok_or(BareError::internal())?;
    Ok((span(input, rest).map_err(internal)?, rest))
}

/// The manifest has been read before.
fn internal<F>(_: F) -> BareError {
    BareError::internal()
}

/// A fault in something that is in no file yet.
fn fault_error(error: nom::Err<crate::cbor::Fault>) -> BareError {
    let fault = fault(error);
    BareError::nowhere(fault.kind).found(fault.found)
}

/// Bytes that the compressed components of a file decode to: those that the manifest says, and the most that the
/// others can have.
///
/// # Errors
/// `limit-decoded`.
fn decoded(manifest: ManifestRef<'_>, limits: &Limits) -> Result<(u64, u64), BareError> {
    /// Bytes that a byte of zstd decodes to at most: a block of four bytes is 128 KiB at most.
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

    /// Adds names one after another, each with an empty map, until one is rejected.
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
    fn a_name_stands_once() {
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
    fn sorted_or_not_all_are_remembered() {
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
        // Names whose hashes share the bits that decide where they belong.
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
        // The last of them found no room, and is found all the same.
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
