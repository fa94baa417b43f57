//! The manifest of a file that is being written.

use alloc::vec::Vec;

use super::canonical_order;
use super::declare::{Declared, NewObject, Part, ShardRecord};
use super::encoded::{self, Encoded, Value, record};
use super::entry;
use super::settings::{Settings, Target};
use crate::cbor::{Encoder, Input, UNLIMITED, fault, key, map_head, pass, rewrite, skip, span};
use crate::error::{Error, Misuse, OutOfMemory, Place};
use crate::format::frame::Footer;
use crate::format::{Encoding, pass_attributes, v1, v2};
use crate::limits::{Limits, Options};
use crate::manifest::{ManifestRef, ObjectChecker, VERSION};
use crate::names::{by_length, hash};
use crate::num::{halves, len_u32, u64_from_usize, usize_from_u32};
use crate::open::Opening;
use crate::rules::{Limit, Rule, Unsupported};

/// The fields of the root and the entries of its objects, as CBOR. What only the whole of them shows is found when
/// it is finished: it is opened then.
#[derive(Debug)]
pub(super) struct Draft {
    /// Those of the readers: with them the file opens.
    options: Options,
    /// Without tolerances, for what is added.
    checker: ObjectChecker,
    target: Target,
    /// An entry of 1.x.
    version: Encoder,
    attributes: Option<Encoder>,
    /// Keys and values of the root that are not known.
    others: Vec<(Encoder, Encoder)>,
    /// The entries of the table of shards.
    shards: Encoder,
    shard_count: u64,
    entries: Encoder,
    objects: u64,
    names: Names,
    /// True if the entries are in the order of deterministic CBOR.
    sorted: bool,
    /// Bytes that components may decode to of which the file that is appended to does not say it.
    unsaid: u64,
    /// True if an object has begun and not ended, whose entry begins there.
    within: bool,
    begin: usize,
}

/// What comes behind the blobs.
pub(super) struct End {
    pub(super) manifest: Encoder,
    pub(super) footer: Footer,
}

impl Draft {
    /// The manifest of a new file.
    pub(super) fn new(options: Options, target: Target) -> Result<Self, Error> {
        let mut version = Encoder::default();
        version.text(VERSION)?;
        Ok(Self {
            options,
            checker: ObjectChecker::new(
                Options::default().limits(*options.limit()),
                target.writing.dialect,
            ),
            target,
            version,
            attributes: None,
            others: Vec::new(),
            shards: Encoder::default(),
            shard_count: 0,
            entries: Encoder::default(),
            objects: 0,
            names: Names::default(),
            sorted: true,
            unsaid: 0,
            within: false,
            begin: 0,
        })
    }

    /// The manifest of a file that has one already.
    pub(super) fn from_manifest(
        manifest: ManifestRef<'_>,
        settings: &Settings,
        target: Target,
    ) -> Result<Self, Error> {
        let mut draft = Self::new(settings.options_behind(manifest.options()), target)?;
        let head = map_head(Rule::RootType, UNLIMITED, manifest.as_bytes());
        let (mut input, mut left) = head.map_err(internal)?;
        while left.next(input) {
            let (own, value) = split(input)?;
            let (item, rest) = split(value)?;
            draft.field(own, item)?;
            input = rest;
        }
        draft.shard_count = u64_from_usize(manifest.shards().len());
        draft.objects = manifest.len().into();
        let entries = draft.entries.as_bytes();
        places(entries).try_for_each(|at| draft.names.add(entries, at))?;
        let (said, unsaid) = decoded(manifest, draft.limits())?;
        let most = draft.limits().decoded_total(manifest.all_bytes());
        draft.unsaid = unsaid.min(most.saturating_sub(said));
        Ok(draft)
    }

    /// Keeps a field of the root: its key and its value.
    fn field(&mut self, own: Input<'_>, item: Input<'_>) -> Result<(), Error> {
        let name = key(own).ok().map(|(_, name)| name);
        let is = |key: &str| name == Some(key.as_bytes());
        let deterministic = self.target.writing.deterministic;
        if is(v1::RootKey::objects.as_str()) {
            return Ok(self.entries.raw(entries(item)?)?);
        } else if is(v1::RootKey::attributes.as_str()) {
            return Ok(self.attributes.insert(Encoder::default()).raw(item)?);
        } else if deterministic && is(v2::RootKey::shards.as_str()) {
            return Ok(self.shards.raw(entries(item)?)?);
        } else if !deterministic && is(v1::RootKey::version.as_str()) {
            self.version.truncate(0);
            return Ok(self.version.raw(item)?);
        }
        let (mut key, mut value) = (Encoder::default(), Encoder::default());
        // In 2, keys need not be text.
        match name {
            Some(name) => key.text_of(name)?,
            None => key.raw(own)?,
        }
        value.raw(item)?;
        self.others.try_reserve(1).map_err(|_| OutOfMemory)?;
        self.others.push((key, value));
        Ok(())
    }

    pub(super) fn limits(&self) -> &Limits {
        self.options.limit()
    }

    /// Returns whether an object has begun and not ended.
    pub(super) fn is_unfinished(&self) -> bool {
        self.within
    }

    /// The number of objects that have ended: the place of the next in the manifest.
    pub(super) fn ordinal(&self) -> u32 {
        u32::try_from(self.objects).unwrap_or(u32::MAX)
    }

    /// Gives the file attributes, in place of those that it has.
    pub(super) fn attributes(&mut self, attributes: &Encoded) -> Result<(), Error> {
        let attributes = self.form(attributes, 1)?;
        if let Some(own) = &attributes {
            let (limits, own) = (self.limits(), own.as_bytes());
            if self.target.writing.deterministic {
                v2::pass_attributes(limits, own, 1).map_err(refused)?;
            } else {
                pass_attributes(limits, Rule::AttributesType, own, 1).map_err(refused)?;
            }
        }
        self.attributes = attributes;
        Ok(())
    }

    /// Gives one item of CBOR, which lies within `open` levels, the form of the file; none if the form leaves it out.
    fn form(&self, attributes: &Encoded, open: u8) -> Result<Option<Encoder>, Error> {
        let bytes = attributes.as_bytes();
        let (rest, ()) = skip(bytes, open, self.limits().depth()).map_err(refused)?;
        if !rest.is_empty() {
            return Err(Error::nowhere(Rule::ManifestTrailing).found(u64_from_usize(rest.len())));
        }
        let mut out = Encoder::default();
        if self.target.canonical || self.target.writing.deterministic {
            rewrite(bytes, &mut out).map_err(|fault| Error::nowhere(fault.kind))?;
        } else {
            out.raw(bytes)?;
        }
        let is_empty = out.as_bytes() == b"\xa0";
        Ok((!self.target.canonical || !is_empty).then_some(out))
    }

    /// Lists a shard, which is checked as a reader does.
    pub(super) fn shard(&mut self, name: &str, shard: &ShardRecord) -> Result<(), Error> {
        self.target.has_shards()?;
        let before = self.shards.len();
        let mut table = Encoder::default();
        table.map(1)?;
        let head = table.len();
        table.text(name)?;
        record(&mut table, v2::ShardKey::TABLE_ORDER, v2::ShardKey::write, |key| match key {
            v2::ShardKey::size => Some(Value::Uint(shard.size)),
            v2::ShardKey::digest => Some(Value::Digest(&shard.digest)),
        })?;
        v2::validate_shards(self.limits(), table.as_bytes()).map_err(refused)?;
        let entry = table.as_bytes().get(head..).ok_or(Error::internal())?;
        self.shards.raw(entry).inspect_err(|_| self.shards.truncate(before))?;
        self.shard_count = self.shard_count.saturating_add(1);
        Ok(())
    }

    /// Checks an object, whose first blob will lie at `offset`, as a reader does, and adds its entry. Where it is
    /// refused, nothing has changed. It has to end before anything else is written. `shard` is the one that its blobs
    /// go to.
    pub(super) fn declare<'a>(
        &mut self,
        object: &NewObject<'a>,
        offset: u64,
        shard: Option<&'a str>,
    ) -> Result<Declared<'a>, Error> {
        if self.within {
            return Err(Error::misuse(Misuse::Unfinished));
        }
        self.begin = self.entries.len();
        let declared = self.check(object, offset, shard).map_err(|error| {
            self.entries.truncate(self.begin);
            let place = Place::new(Some(self.ordinal()), error.place().component());
            error.at(place)
        })?;
        self.within = true;
        Ok(declared)
    }

    fn check<'a>(
        &mut self,
        object: &NewObject<'a>,
        mut offset: u64,
        shard: Option<&'a str>,
    ) -> Result<Declared<'a>, Error> {
        let writing = self.target.writing;
        let attributes = match object.attributes {
            Some(attributes) => self.form(attributes, 3)?,
            None => None,
        };
        let mut parts = Vec::new();
        parts.try_reserve_exact(object.components().len()).map_err(|_| OutOfMemory)?;
        for (own, ordinal) in object.components().iter().zip(0..) {
            let place = |error: Error| error.at(Place::new(None, Some(ordinal)));
            let mut part = own.resolve(ordinal, writing).map_err(place)?;
            self.check_part(&part).map_err(place)?;
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
        let layout = object.format_name(writing).ok_or(Error::nowhere(Unsupported::Format))?;
        let (name, shape) = (object.name, object.shape);
        let mut declared = Declared { name, layout, shape, attributes, parts };
        self.write(&mut declared)?;
        let entry = self.entries.as_bytes().get(self.begin..).ok_or(Error::internal())?;
        let ordinal = self.ordinal();
        let records = self.checker.check(entry, ordinal).map_err(|error| {
            let component = error.place().component();
            let part = component.and_then(|it| declared.parts.get(usize_from_u32(it)));
            error.at(Place::new(None, part.map_or(component, |part| Some(part.ordinal))))
        })?;
        for (part, record) in declared.parts.iter_mut().zip(records) {
            part.digest = record.digest;
        }
        declared.parts.sort_unstable_by_key(|part| part.ordinal);
        let in_order = |a: &Part<'_>, b: &Part<'_>| {
            self.target.order(a.role.as_bytes(), b.role.as_bytes()).is_lt()
        };
        if self.target.canonical && !declared.parts.is_sorted_by(in_order) {
            return Err(Error::misuse(Misuse::Order));
        }
        let size = u64_from_usize(self.entries.len());
        if size > self.limits().manifest() {
            return Err(Error::nowhere(Limit::Manifest).found(size));
        }
        let own = name.as_bytes();
        let last = self.names.last.map(|last| self::name(self.entries.as_bytes(), last));
        if self.target.canonical && last.is_some_and(|last| self.target.order(last, own).is_gt()) {
            return Err(Error::misuse(Misuse::Order));
        }
        let ascends = last.is_none_or(|last| by_length(last, own).is_lt());
        self.names.add(self.entries.as_bytes(), len_u32(self.begin))?;
        self.sorted &= ascends;
        Ok(declared)
    }

    /// Checks what the entry of a component does not show.
    fn check_part(&self, part: &Part<'_>) -> Result<(), Error> {
        let limits = self.limits();
        if part.is_stored {
            self.target.has_shards()?;
            if !part.blob.compressed && part.bytes != part.blob.length {
                return Err(Error::misuse(Misuse::Length));
            }
        }
        if part.blob.compressed {
            if self.target.canonical {
                return Err(Error::nowhere(Rule::CanonicalEncoding));
            }
            if part.bytes > limits.decoded() {
                return Err(Error::nowhere(Limit::Decoded).found(part.bytes));
            }
            let window = part.bytes.min(WINDOW);
            if window > limits.window() {
                return Err(Error::nowhere(Limit::Window).found(window));
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
    pub(super) fn end(&mut self, mut declared: Declared<'_>, changed: bool) -> Result<(), Error> {
        if changed {
            self.entries.truncate(self.begin);
            self.write(&mut declared)?;
        } else {
            let end = self.entries.len();
            for part in &declared.parts {
                let Some(digest) = &part.blob.digest else { continue };
                encoded::digest(&mut self.entries, digest)?;
                let at = end.saturating_sub(usize_from_u32(part.digest.left()));
                self.entries.move_over(at, end).ok_or(Error::internal())?;
            }
        }
        self.objects = self.objects.saturating_add(1);
        self.within = false;
        Ok(())
    }

    /// Manifest and footer of a file whose manifest begins at `start`. It has been opened as any reader opens it:
    /// what is refused here would be refused by them.
    pub(super) fn finish(mut self, start: u64) -> Result<End, Error> {
        // The index of the reader takes their place.
        self.names = Names::default();
        if self.target.writing.deterministic {
            sort(&mut self.shards)?;
            if !self.sorted {
                sort(&mut self.entries)?;
            }
        }
        self.surround()?;
        let Self { options, target, entries: manifest, objects, .. } = self;
        let container = target.container();
        let footer = container.footer(start, manifest.as_bytes());
        let size = u64_from_usize(manifest.len());
        let tail = u64_from_usize(footer.as_bytes().len());
        let end = start.checked_add(size).and_then(|end| end.checked_add(tail));
        let opening = Opening::new(end.ok_or(Error::misuse(Misuse::Length))?, &options)?;
        let opening = opening.header(&container.header())?.footer(footer.as_bytes())?;
        let opened = opening.manifest(manifest.as_bytes())?;
        debug_assert_eq!(u64::from(opened.len()), objects, "another number of objects");
        if self.shard_count > options.limit().shards().into() {
            return Err(Error::nowhere(Limit::Shards).found(self.shard_count));
        }
        let (said, _) = decoded(opened.parts(), options.limit())?;
        let total = said.saturating_add(self.unsaid);
        if total > options.limit().decoded_total(opened.parts().all_bytes()) {
            return Err(Error::nowhere(Limit::DecodedTotal).found(total));
        }
        drop(opened);
        Ok(End { manifest, footer })
    }

    /// Writes the root around the entries of its objects.
    fn surround(&mut self) -> Result<(), OutOfMemory> {
        let (deterministic, objects) =
            (self.target.writing.deterministic, v1::RootKey::objects.as_str());
        let field = |key: &str, value| {
            let mut own = Encoder::default();
            own.text(key)?;
            Ok((own, value))
        };
        let map = |entries| {
            let mut head = Encoder::default();
            head.map(entries)?;
            Ok(head)
        };
        let mut fields = Vec::new();
        fields.try_reserve_exact(self.others.len().saturating_add(4)).map_err(|_| OutOfMemory)?;
        if !deterministic {
            let version = core::mem::take(&mut self.version);
            fields.push(field(v1::RootKey::version.as_str(), version)?);
        }
        if let Some(attributes) = self.attributes.take() {
            fields.push(field(v1::RootKey::attributes.as_str(), attributes)?);
        }
        fields.append(&mut self.others);
        if self.shard_count > 0 {
            let mut table = map(self.shard_count)?;
            table.raw(self.shards.as_bytes())?;
            fields.push(field(v2::RootKey::shards.as_str(), table)?);
        }
        fields.push(field(objects, map(self.objects)?)?);
        if deterministic || self.target.canonical {
            fields.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        }
        let (mut head, mut before) = (map(u64_from_usize(fields.len()))?, true);
        for (own, value) in fields {
            let out = if before { &mut head } else { &mut self.entries };
            out.raw(own.as_bytes())?;
            out.raw(value.as_bytes())?;
            before &= key(own.as_bytes()).map_or(true, |(_, own)| own != objects.as_bytes());
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
    fn add(&mut self, entries: Input<'_>, at: u32) -> Result<(), Error> {
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

    fn insert(&mut self, entries: Input<'_>, at: u32) -> Result<(), Error> {
        if self.count.saturating_mul(2) >= self.slots.len() {
            self.grow()?;
        }
        let own = name(entries, at);
        let hash = hash(own);
        let is_own = |place: u32| name(entries, place.wrapping_sub(1)) == own;
        if let Some(slot) = slot(&mut self.slots, hash, is_own) {
            if *slot != 0 {
                return Err(Error::nowhere(Rule::DuplicateName));
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
    let mut found = near.filter_map(|place| Some((place, *slots.get(place)?)));
    let (place, _) = found.find(|(_, slot)| {
        let [own, place] = halves(*slot);
        *slot == 0 || own == hash && is_own(place)
    })?;
    slots.get_mut(place)
}

/// The places where entries begin.
fn places(entries: Input<'_>) -> impl Iterator<Item = u32> {
    let mut at = 0;
    core::iter::from_fn(move || {
        let here = at;
        let (value, _) = key(entries.get(at..)?).ok()?;
        at = entries.len().checked_sub(pass(value)?.len())?;
        Some(len_u32(here))
    })
}

/// The name at `at`, without its head.
fn name(entries: Input<'_>, at: u32) -> &[u8] {
    let name = entries.get(usize_from_u32(at)..).and_then(|at| key(at).ok());
    name.map(|(_, name)| name).unwrap_or_default()
}

/// Puts entries (text and value) in the order of deterministic CBOR: that of their keys' encodings. It takes 8 bytes
/// an entry, and a copy of all of them.
fn sort(out: &mut Encoder) -> Result<(), Error> {
    let written = out.as_bytes();
    let mut entries: Vec<(u32, u32)> = Vec::new();
    entries.try_reserve_exact(places(written).count()).map_err(|_| OutOfMemory)?;
    let ends = places(written).skip(1).chain([len_u32(written.len())]);
    entries.extend(places(written).zip(ends));
    // No key is the beginning of another, so that values are not compared.
    let bytes = |(start, end): (u32, u32)| written.get(usize_from_u32(start)..usize_from_u32(end));
    entries.sort_unstable_by(|a, b| bytes(*a).cmp(&bytes(*b)));
    let mut sorted = Encoder::default();
    sorted.reserve(written.len())?;
    for entry in entries {
        sorted.raw(bytes(entry).ok_or(Error::internal())?)?;
    }
    *out = sorted;
    Ok(())
}

/// The entries of a map, without head and break.
fn entries(map: Input<'_>) -> Result<Input<'_>, Error> {
    let head = map_head(Rule::ObjectsType, UNLIMITED, map);
    let (first, mut entries) = head.map_err(internal)?;
    let mut rest = first;
    while entries.next(rest) {
        let (value, _) = key(rest).map_err(internal)?;
        rest = pass(value).ok_or(Error::internal())?;
    }
    span(first, rest).map_err(internal)
}

/// The item at `input`, and what is left after it.
fn split(input: Input<'_>) -> Result<(Input<'_>, Input<'_>), Error> {
    let rest = pass(input).ok_or(Error::internal())?;
    Ok((span(input, rest).map_err(internal)?, rest))
}

/// The manifest has been read before.
fn internal<F>(_: F) -> Error {
    Error::internal()
}

/// A fault in something that is in no file yet.
fn refused(error: nom::Err<crate::cbor::Fault>) -> Error {
    let fault = fault(error);
    Error::nowhere(fault.kind).found(fault.found)
}

/// Bytes that the compressed components of a file decode to: those that the manifest says, and the most that the
/// others can have.
///
/// # Errors
/// `limit-decoded`.
fn decoded(manifest: ManifestRef<'_>, limits: &Limits) -> Result<(u64, u64), Error> {
    /// Bytes that a byte of zstd decodes to at most: a block of four bytes is 128 KiB at most.
    const MOST: u64 = (128 << 10) / 4;
    let is_compressed = |encoding| matches!(encoding, Encoding::Zstd | Encoding::ZstdSeekable);
    let (mut said, mut unsaid) = (0_u64, 0_u64);
    if !manifest.records().components.iter().any(|own| is_compressed(own.encoding)) {
        return Ok((said, unsaid));
    }
    let components = manifest.objects().flat_map(|object| object.components());
    for component in components.filter(|own| is_compressed(own.encoding())) {
        match component.decoded_length() {
            Some(bytes) if bytes > limits.decoded() => {
                let place = component.place();
                return Err(Error::nowhere(Limit::Decoded).found(bytes).at(place));
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
    use crate::error::{Error, Place};
    use crate::num::len_u32;
    use crate::write::{NewObject, Settings, Writer};

    /// Adds names one after another, each with an empty map, until one is refused.
    fn add(names: impl IntoIterator<Item = String>) -> Result<(), String> {
        let (mut entries, mut known) = (Encoder::default(), Names::default());
        for name in names {
            let at = len_u32(entries.len());
            entries.text(&name).unwrap();
            entries.map(0).unwrap();
            if let Err(error) = known.add(entries.as_bytes(), at) {
                assert_eq!(error.id(), Some("duplicate-name"));
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
        let mut writer = Writer::new(Vec::new(), &Settings::default()).unwrap();
        let mut write = |name: &str| {
            writer.add(&NewObject::dense(name, &[0], StorageType::U8), &[]).map_err(Error::from)
        };
        for name in colliding.iter().rev() {
            write(name).unwrap();
        }
        assert_eq!(write(&colliding[1499]).unwrap_err().id(), Some("duplicate-name"));
        // The last of them found no room, and is found all the same.
        write(&colliding[0]).unwrap();
        let refused = Error::from(writer.finish().unwrap_err());
        assert_eq!(refused.id(), Some("duplicate-name"));
        assert_eq!(refused.place(), Place::new(Some(1500), None));
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
