//! The manifest of a file that is being written, and all that is counted over the whole of it.

use core::cmp::Ordering;

use super::declare::{NewObject, Resolved};
use super::encoded::Encoded;
use super::entry::{self, Written};
use super::entry_v2;
use super::names::{self, Names};
use super::order;
use super::root::Root;
use super::seed;
use super::settings::{Checksum, Settings, Target};
use super::shard_list::ShardRecord;
use super::validate::{self, Readers};
use crate::cbor::{Output, rewrite};
use crate::error::{Error, Misuse, OutOfMemory, Place};
use crate::format::frame::Footer;
use crate::limits::{Limits, Options};
use crate::manifest::{ManifestRef, VERSION};
use crate::names::by_length;
use crate::num::{len_u32, u64_from_usize};
use crate::open::Opening;
use crate::rules::{Limit, Rule, Unsupported};

/// What has been declared of a file so far.
///
/// Whatever a reader counts over a whole file is counted here and nowhere else: keys of the root,
/// bytes of the manifest, decoded bytes, names. (Objects and components need no count: bytes of the
/// manifest bound them.) A file that is appended to has spent what it holds already; each
/// declaration spends what it adds, before anything is written.
#[derive(Debug)]
pub(super) struct Draft {
    /// Those of the readers: with them the file opens.
    options: Options,
    target: Target,
    root: Root,
    /// The content of `objects`: name and fields, one after another.
    entries: Output,
    objects: u64,
    names: Names,
    /// In 2: whether the entries so far are in order, and of the current object the fields that
    /// follow its parts, and where those begin if they are not in order.
    sorted: bool,
    tail: Output,
    unsorted_parts: Option<usize>,
    /// Bytes that compressed components decode to, all together, or more.
    decoded: u64,
    /// An object has begun and not ended.
    within: bool,
    /// Bytes of shards that have begun and not ended.
    begun_bytes: u64,
}

/// What comes behind the blobs.
pub(super) struct End {
    pub(super) manifest: Output,
    pub(super) footer: Footer,
}

impl Draft {
    /// Of a new file.
    pub(super) fn new(settings: &Settings, target: Target) -> Result<Self, Error> {
        let mut root = Root::default();
        root.version.text(VERSION)?;
        let draft = Self {
            options: settings.options(),
            target,
            root,
            entries: Output::default(),
            objects: 0,
            names: Names::default(),
            sorted: true,
            tail: Output::default(),
            unsorted_parts: None,
            decoded: 0,
            within: false,
            begun_bytes: 0,
        };
        draft.root_fits(None)?;
        Ok(draft)
    }

    /// Of a file that has that manifest already.
    pub(super) fn from_manifest(
        manifest: ManifestRef<'_>,
        settings: &Settings,
        target: Target,
    ) -> Result<Self, Error> {
        let options = settings.options_behind(manifest.options());
        if options.limit() != manifest.options().limit() {
            manifest.validate_again(&options)?;
        }
        let decoded = seed::decoded(manifest, options.limit())?;
        let (root, entries) = seed::taken_apart(manifest)?;
        let draft = Self {
            options,
            target,
            root,
            names: Names::from_entries(entries.as_bytes()).map_err(Error::nowhere)?,
            entries,
            objects: manifest.len().into(),
            sorted: true,
            tail: Output::default(),
            unsorted_parts: None,
            decoded,
            within: false,
            begun_bytes: 0,
        };
        draft.root_fits(draft.root.attributes.as_ref())?;
        Ok(draft)
    }

    /// The limit on the keys of a map.
    fn keys(&self) -> u64 {
        if self.target.writing.deterministic { u64::MAX } else { self.limits().keys().into() }
    }

    pub(super) fn limits(&self) -> &Limits {
        self.options.limit()
    }

    pub(super) fn is_canonical(&self) -> bool {
        self.options.is_canonical()
    }

    /// Whether an object has begun and not ended, or a shard.
    pub(super) fn is_unfinished(&self) -> bool {
        if self.root.shards.is_unfinished() {
            return true;
        }
        self.within
    }

    /// Whether an object has begun and not ended.
    pub(super) fn is_within_object(&self) -> bool {
        self.within
    }

    /// How many objects have ended: the place of the next in the manifest.
    pub(super) fn ordinal(&self) -> u32 {
        u32::try_from(self.objects).unwrap_or(u32::MAX)
    }

    /// Gives the file attributes, in place of those that it has.
    pub(super) fn attributes(&mut self, attributes: &Encoded) -> Result<(), Error> {
        let attributes = self.form(attributes, 1)?;
        self.root_fits(attributes.as_ref())?;
        self.root.attributes = attributes;
        Ok(())
    }

    /// Lists a shard that has begun; what is said of it when it has ended follows.
    ///
    /// # Errors
    /// As [`ShardList::begin`]; [`Misuse::NoShards`]; `limit-manifest`.
    pub(super) fn begin_shard(&mut self, name: &str) -> Result<(), Error> {
        self.target.has_shards()?;
        self.root.shards.begin(name, self.options.limit())?;
        self.fits(self.root.attributes.as_ref(), 0).inspect_err(|_| self.root.shards.abandon(name))
    }

    /// Says of a shard what it is.
    pub(super) fn end_shard(&mut self, name: &str, record: &ShardRecord) -> Result<(), Error> {
        self.root.shards.end(name, record, self.options.limit())
    }

    /// Takes back a shard that has begun.
    pub(super) fn abandon_shard(&mut self, name: &str) {
        self.root.shards.abandon(name);
    }

    /// Shards that have begun have got so many bytes more.
    pub(super) fn grown(&mut self, bytes: u64) {
        self.begun_bytes = self.begun_bytes.saturating_add(bytes);
    }

    /// A shard that has begun, and has that many bytes, is about to end.
    pub(super) fn ended_shard(&mut self, bytes: u64) {
        self.begun_bytes = self.begun_bytes.saturating_sub(bytes);
    }

    /// Bytes of all shards so far.
    fn shard_bytes(&self) -> u64 {
        self.root.shards.bytes().saturating_add(self.begun_bytes)
    }

    /// Validates the root with those attributes: its keys, and the bytes of the manifest.
    fn root_fits(&self, attributes: Option<&Output>) -> Result<(), Error> {
        let keys = self.root.keys(attributes, &self.target);
        if keys > self.keys() {
            return Err(Error::nowhere(Limit::Keys).found(keys));
        }
        self.fits(attributes, 0)
    }

    /// Validates that the manifest has room for so many bytes more.
    fn fits(&self, attributes: Option<&Output>, more: u64) -> Result<(), Error> {
        let root = self.root.bound(attributes);
        let size = root.saturating_add(u64_from_usize(self.entries.len())).saturating_add(more);
        if size > self.limits().manifest() {
            return Err(Error::nowhere(Limit::Manifest).found(size));
        }
        Ok(())
    }

    /// Validates an object of a file that has `length` bytes so far, without its shards, and adds its
    /// entry, up to its components. Where it is refused, nothing has changed. It has to end before
    /// anything else is written.
    pub(super) fn declare(&mut self, object: &NewObject<'_>, length: u64) -> Result<(), Error> {
        if self.within {
            return Err(Error::misuse(Misuse::Unfinished));
        }
        let before = self.entries.len();
        let place = Place::new(Some(self.ordinal()), None);
        self.add(object, length).map_err(|error| {
            self.entries.truncate(before);
            if error.place() == Place::default() { error.at(place) } else { error }
        })?;
        self.within = true;
        Ok(())
    }

    fn add(&mut self, object: &NewObject<'_>, length: u64) -> Result<(), Error> {
        let writing = self.target.writing;
        // Formats of other generations.
        let none = Error::nowhere(Unsupported::Format);
        let format = object.format_name(writing).ok_or(none)?;
        let attributes = match object.attributes {
            Some(attributes) => self.form(attributes, 3)?,
            None => None,
        };
        let attributes = attributes.as_ref().map(Output::as_bytes);
        let readers =
            Readers { options: &self.options, target: &self.target, shards: &self.root.shards };
        let decoded = validate::object(object, self.ordinal(), readers, attributes)?;
        self.keys_fit(object, attributes)?;
        let more = entry::bound(object, format)
            .saturating_add(u64_from_usize(attributes.map_or(0, <[u8]>::len)));
        self.fits(self.root.attributes.as_ref(), more)?;
        // The file will be longer, so its readers allow no less. What decodes to nothing is not
        // refused for what stands before it.
        let total = self.decoded.saturating_add(decoded);
        let length = length.saturating_add(self.shard_bytes());
        if decoded > 0 && total > self.limits().decoded_total(length) {
            return Err(Error::nowhere(Limit::DecodedTotal).found(total));
        }
        let at = len_u32(self.entries.len());
        self.begin(object, format, attributes)?;
        let entry = |at| names::name(self.entries.as_bytes(), at).map_err(Error::nowhere);
        if let Some(last) = self.names.last() {
            let (last, name) = (entry(last)?, entry(at)?);
            if self.is_canonical() {
                match self.target.order(last, name) {
                    Ordering::Less => {}
                    Ordering::Equal => return Err(Error::nowhere(Rule::DuplicateName)),
                    Ordering::Greater => return Err(Error::misuse(Misuse::Order)),
                }
            }
            if writing.deterministic {
                self.sorted &= by_length(last, name).is_lt();
            }
        }
        self.names.add(self.entries.as_bytes(), at).map_err(Error::nowhere)?;
        self.decoded = total;
        Ok(())
    }

    /// Adds the entry of an object, up to its components.
    fn begin(
        &mut self,
        object: &NewObject<'_>,
        format: &str,
        attributes: Option<&[u8]>,
    ) -> Result<(), OutOfMemory> {
        if self.target.writing.deterministic {
            self.tail.truncate(0);
            entry_v2::end(&mut self.tail, object, format, attributes)?;
            entry_v2::begin(&mut self.entries, object, attributes.is_some())?;
            let roles = || object.components().iter().map(|component| component.role);
            let mut pairs = roles().zip(roles().skip(1));
            let sorted = pairs.all(|(a, b)| super::canonical_order(a, b).is_lt());
            self.unsorted_parts = (!sorted).then_some(self.entries.len());
            return Ok(());
        }
        entry::object(&mut self.entries, object, format, attributes)
    }

    /// Validates the keys of the maps that an object is written as.
    fn keys_fit(&self, object: &NewObject<'_>, attributes: Option<&[u8]>) -> Result<(), Error> {
        if entry::MOST_KEYS <= self.keys() {
            return Ok(());
        }
        let resolved =
            object.components().iter().filter_map(|own| own.resolve(self.target.writing));
        let components = resolved.map(|Resolved { element, compressed, .. }| {
            entry::component_keys(&element, self.target.checksum != Checksum::None, compressed)
        });
        let keys = components.fold(entry::object_keys(attributes), u64::max);
        if keys > self.keys() {
            return Err(Error::nowhere(Limit::Keys).found(keys));
        }
        Ok(())
    }

    /// Adds the entry of a component of the current object.
    pub(super) fn component(&mut self, written: &Written<'_>) -> Result<(), OutOfMemory> {
        if self.target.writing.deterministic {
            return entry_v2::part(&mut self.entries, written);
        }
        entry::component(&mut self.entries, written, self.options.is_canonical())
    }

    /// The current object has ended.
    pub(super) fn ended(&mut self) -> Result<(), Error> {
        if self.target.writing.deterministic {
            if let Some(parts) = self.unsorted_parts {
                order::sort(&mut self.entries, parts)?;
            }
            self.entries.raw(self.tail.as_bytes())?;
        }
        self.objects = self.objects.saturating_add(1);
        self.within = false;
        Ok(())
    }

    /// Validates attributes that lie within `open` levels, and gives them the form of the file;
    /// none where the form leaves them out.
    fn form(&self, attributes: &Encoded, open: u8) -> Result<Option<Output>, Error> {
        let bytes = attributes.as_bytes();
        if self.target.writing.deterministic {
            let empty = validate::well_formed(bytes, open, self.limits())?;
            let mut out = Output::default();
            rewrite(bytes, &mut out).map_err(|fault| Error::nowhere(fault.kind))?;
            validate::sorted_attributes(out.as_bytes(), open, self.limits())?;
            return Ok((!empty || !self.is_canonical()).then_some(out));
        }
        let empty = validate::attributes(bytes, open, self.limits())?;
        let mut out = Output::default();
        if !self.is_canonical() {
            out.raw(bytes)?;
        } else if empty {
            return Ok(None);
        } else {
            rewrite(bytes, &mut out).map_err(|fault| Error::nowhere(fault.kind))?;
        }
        Ok(Some(out))
    }

    /// Manifest and footer of a file whose manifest begins at `start`. It has been opened as any
    /// reader opens it: what is refused here would be refused by them.
    pub(super) fn finish(self, start: u64) -> Result<End, Error> {
        let shard_bytes = self.shard_bytes();
        let Self { options, target, root, mut entries, objects, names, sorted, decoded, .. } = self;
        // The index of the reader takes its place.
        drop(names);
        if target.writing.deterministic && !sorted {
            order::sort(&mut entries, 0)?;
        }
        let _ = sorted;
        root.surround(&mut entries, objects, &target)?;
        let manifest = entries;
        let container = target.container();
        let footer = container.footer(start, manifest.as_bytes());
        let size = u64_from_usize(manifest.len());
        let tail = u64_from_usize(footer.as_bytes().len());
        let end = start.checked_add(size).and_then(|end| end.checked_add(tail));
        let length = end.ok_or(Error::misuse(Misuse::Length))?;
        let opening = Opening::new(length, &options)?.header(&container.header())?;
        let opened = opening.footer(footer.as_bytes())?.manifest(manifest.as_bytes())?;
        debug_assert_eq!(u64::from(opened.len()), objects, "another number of objects");
        if decoded > options.limit().decoded_total(length.saturating_add(shard_bytes)) {
            return Err(Error::nowhere(Limit::DecodedTotal).found(decoded));
        }
        drop(opened);
        Ok(End { manifest, footer })
    }
}
