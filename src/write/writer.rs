//! The writer: header, objects, manifest, footer, in one pass.

use core::cmp::Ordering;

use super::declare::{Encoded, NewObject};
use super::names::{Names, encoded};
use super::object::ObjectWriter;
use super::settings::Settings;
use super::sink::{Sink, WriteError};
use super::{entry, judge};
use crate::cbor::{Output, key, map_head, rewrite, skip};
use crate::error::{Error, Misuse, OutOfMemory, Place};
use crate::format::frame::{footer_v1, header_v1};
use crate::limits::format::{ALIGNMENT, DEPTH_CAP};
use crate::manifest::{FIRST, Manifest, VERSION, aligned};
use crate::num::{short, wide};
use crate::rules::{Limit, Rule};

/// Writes a 1.2 file: blobs as they come, then the manifest and the footer. Nothing is written
/// twice, and nothing but the manifest is kept in memory.
///
/// A file that was not finished has no footer, and no reader takes it for a file.
///
/// ```
/// use zten::StorageType;
/// use zten::write::{NewObject, Settings, Writer};
///
/// let mut writer = Writer::new(Vec::new(), &Settings::default())?;
/// let mut object = writer.object(&NewObject::dense("bias", &[2], StorageType::F32))?;
/// object.write("data", &1.5_f32.to_le_bytes())?;
/// object.write("data", &2.5_f32.to_le_bytes())?;
/// object.end()?;
/// let file = writer.finish()?;
///
/// let archive = zten::Archive::open(&file)?;
/// let view = archive.get("bias").unwrap().dense()?.bind(&file)?;
/// assert!(view.elements::<f32>()?.eq([1.5, 2.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<S> {
    sink: S,
    pub(super) settings: Settings,
    /// Where the next byte goes.
    position: u64,
    root: Root,
    /// The content of `objects`: name and fields, one after another.
    pub(super) entries: Output,
    objects: u64,
    names: Names,
    /// Bytes that compressed components decode to, all together.
    decoded: u64,
    /// An object has begun and not ended.
    pub(super) within: bool,
}

/// The fields of the root beside `objects`, as CBOR.
#[derive(Debug)]
struct Root {
    version: Output,
    attributes: Option<Output>,
    /// Keys and values that the file had before, and how many.
    others: Output,
    count: u64,
}

impl<S: Sink> Writer<S> {
    /// Begins a file.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`OutOfMemory`].
    pub fn new(sink: S, settings: &Settings) -> Result<Self, WriteError<S::Error>> {
        let mut version = Output::default();
        version.text(VERSION).map_err(Error::from)?;
        let root = Root { version, attributes: None, others: Output::default(), count: 0 };
        let mut writer = Self::at(sink, settings, root, 0);
        writer.put(&header_v1())?;
        writer.pad()?;
        debug_assert_eq!(writer.position, FIRST, "the header is shorter than a blob's alignment");
        Ok(writer)
    }

    /// Goes on with a 1.x file, at the place of its manifest: what `sink` is given goes behind
    /// the first `manifest.extent().start` bytes of the file. The file keeps its version,
    /// objects, attributes and unknown fields; its old manifest must not be overwritten in
    /// place, for until [`finish`](Self::finish) there would be none.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Append`] where the file is of 0.1, or canonical
    /// form is asked for; [`OutOfMemory`].
    pub fn append(
        sink: S,
        manifest: &Manifest<'_>,
        settings: &Settings,
    ) -> Result<Self, WriteError<S::Error>> {
        if !manifest.dialect().is_written || settings.is_canonical() {
            return Err(Error::misuse(Misuse::Append).into());
        }
        let (root, entries) = taken_apart(manifest).map_err(Error::from)?;
        let mut writer = Self::at(sink, settings, root, manifest.extent().start);
        writer.names = Names::of(entries.as_bytes()).map_err(Error::from)?;
        writer.entries = entries;
        writer.objects = manifest.len().into();
        writer.pad()?;
        Ok(writer)
    }

    fn at(sink: S, settings: &Settings, root: Root, position: u64) -> Self {
        Self {
            sink,
            settings: *settings,
            position,
            root,
            entries: Output::default(),
            objects: 0,
            names: Names::default(),
            decoded: 0,
            within: false,
        }
    }

    /// Gives the file attributes, in place of those that it has. They may come at any time.
    ///
    /// # Errors
    /// `attributes-type`, `key-type`, `duplicate-key`, `limit-keys`, `limit-depth` and the rules
    /// `cbor-…`, where they are no attributes; in canonical form, `duplicate-key` also where a
    /// key stands twice in one of the values. [`OutOfMemory`].
    pub fn attributes(&mut self, attributes: &Encoded) -> Result<(), Error> {
        self.root.attributes = self.form(attributes, 1)?;
        Ok(())
    }

    /// Begins an object: what is said of it is judged as a reader would, before anything of it
    /// is written.
    ///
    /// # Errors
    /// Every rule on objects and components that needs no data, `duplicate-name`, and the
    /// limits; [`Misuse::Unfinished`] where an object before has not ended; [`Misuse::Order`]
    /// where canonical form asks for another order; [`OutOfMemory`].
    pub fn object<'a>(&mut self, object: &NewObject<'a>) -> Result<ObjectWriter<'_, 'a, S>, Error> {
        if self.within {
            return Err(Error::misuse(Misuse::Unfinished));
        }
        let before = self.entries.len();
        let place = Place::new(Some(self.ordinal()), None);
        self.declare(object).map_err(|error| {
            self.entries.truncate(before);
            if error.place() == Place::default() { error.at(place) } else { error }
        })?;
        self.within = true;
        ObjectWriter::begin(self, *object)
    }

    /// Writes an object whose bytes are in memory: for each of its components that has bytes,
    /// in their order, its role and all of them, little-endian.
    ///
    /// # Errors
    /// As [`object`](Self::object), [`ObjectWriter::write`] and [`ObjectWriter::end`].
    pub fn add(
        &mut self,
        object: &NewObject<'_>,
        parts: &[(&str, &[u8])],
    ) -> Result<(), WriteError<S::Error>> {
        let mut out = self.object(object)?;
        for (role, bytes) in parts {
            out.write(role, bytes)?;
        }
        Ok(out.end()?)
    }

    /// The object's place in the manifest.
    pub(super) fn ordinal(&self) -> u32 {
        u32::try_from(self.objects).unwrap_or(u32::MAX)
    }

    /// Judges an object and adds its entry, up to its components.
    fn declare(&mut self, object: &NewObject<'_>) -> Result<(), Error> {
        let decoded = judge::object(object, self.ordinal(), &self.settings)?;
        let attributes = match object.attributes {
            Some(attributes) => self.form(attributes, 3)?,
            None => None,
        };
        let attributes = attributes.as_ref().map(Output::as_bytes);
        let at = self.entries.len();
        let bound = entry::bound(object)
            .saturating_add(wide(attributes.map_or(0, <[u8]>::len)))
            .saturating_add(self.manifest_bytes());
        if bound > self.settings.limit().manifest() {
            return Err(Error::nowhere(Limit::Manifest).found(bound));
        }
        let total = self.decoded.saturating_add(decoded);
        if total > self.settings.limit().decoded_total(self.position) {
            return Err(Error::nowhere(Limit::DecodedTotal).found(total));
        }
        entry::object(&mut self.entries, object, attributes).map_err(Error::from)?;
        let at = short(at);
        if self.settings.is_canonical()
            && let Some(last) = self.names.last()
        {
            let name = |at| encoded(self.entries.as_bytes(), at);
            match name(last).cmp(name(at)) {
                Ordering::Less => {}
                Ordering::Equal => return Err(Error::nowhere(Rule::DuplicateName)),
                Ordering::Greater => return Err(Error::misuse(Misuse::Order)),
            }
        }
        self.names.add(self.entries.as_bytes(), at).map_err(Error::nowhere)?;
        self.decoded = total;
        Ok(())
    }

    /// Judges attributes that lie within `open` levels, and gives them the form of the file;
    /// none where the form leaves them out.
    fn form(&self, attributes: &Encoded, open: u8) -> Result<Option<Output>, Error> {
        let bytes = attributes.as_bytes();
        let empty = judge::attributes(bytes, open, self.settings.limit())?;
        let mut out = Output::default();
        if !self.settings.is_canonical() {
            out.raw(bytes).map_err(Error::from)?;
        } else if empty {
            return Ok(None);
        } else {
            rewrite(bytes, &mut out).map_err(|fault| Error::nowhere(fault.kind))?;
        }
        Ok(Some(out))
    }

    /// An object has ended.
    pub(super) fn ended(&mut self) {
        self.objects = self.objects.saturating_add(1);
        self.within = false;
    }

    /// Writes manifest and footer, and returns the sink, which has been flushed.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Unfinished`] where an object has not ended.
    pub fn finish(mut self) -> Result<S, WriteError<S::Error>> {
        if self.within {
            return Err(Error::misuse(Misuse::Unfinished).into());
        }
        if let Some(second) = self.names.finish(self.entries.as_bytes()).map_err(Error::from)? {
            let place = Place::new(Some(second), None);
            return Err(Error::nowhere(Rule::DuplicateName).at(place).into());
        }
        let start = self.position;
        let mut head = Output::default();
        let mut tail = Output::default();
        self.root
            .write(&mut head, &mut tail, (self.objects, self.settings.is_canonical()))
            .map_err(Error::from)?;
        let size = [head.len(), self.entries.len(), tail.len()];
        let size = size.iter().fold(0, |sum: u64, part| sum.saturating_add(wide(*part)));
        if size > self.settings.limit().manifest() {
            return Err(Error::nowhere(Limit::Manifest).found(size).into());
        }
        let entries = core::mem::take(&mut self.entries);
        [head, entries, tail].iter().try_for_each(|part| self.put(part.as_bytes()))?;
        let size = self.position.saturating_sub(start);
        self.put(&footer_v1(size))?;
        self.sink.flush().map_err(WriteError::Sink)?;
        Ok(self.sink)
    }

    /// Bytes of the manifest so far, about.
    fn manifest_bytes(&self) -> u64 {
        let attributes = self.root.attributes.as_ref().map_or(0, Output::len);
        let parts = [self.entries.len(), self.root.others.len(), attributes];
        parts.iter().fold(ALIGNMENT, |sum, part| sum.saturating_add(wide(*part)))
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        let position = self.position.checked_add(wide(bytes.len()));
        self.position = position.ok_or(Error::misuse(Misuse::Length))?;
        self.sink.write(bytes).map_err(WriteError::Sink)
    }

    /// Fills up to the next multiple of 64 with zeros.
    pub(super) fn pad(&mut self) -> Result<(), WriteError<S::Error>> {
        const ZEROS: [u8; 64] = [0; 64];
        let next = aligned(self.position).ok_or(Error::misuse(Misuse::Length))?;
        let length = usize::try_from(next.saturating_sub(self.position)).unwrap_or_default();
        match ZEROS.get(..length) {
            Some(zeros) if !zeros.is_empty() => self.put(zeros),
            _ => Ok(()),
        }
    }
}

impl Root {
    /// Writes what comes before the entries of `objects` and what comes after them.
    fn write(
        &self,
        head: &mut Output,
        tail: &mut Output,
        (objects, canonical): (u64, bool),
    ) -> Result<(), OutOfMemory> {
        let attributes = self.attributes.as_ref();
        head.map(self.count.saturating_add(if attributes.is_some() { 3 } else { 2 }))?;
        let own = |out: &mut Output| {
            out.text("version")?;
            out.raw(self.version.as_bytes())?;
            if let Some(attributes) = attributes {
                out.text("attributes")?;
                out.raw(attributes.as_bytes())?;
            }
            out.raw(self.others.as_bytes())
        };
        own(if canonical { tail } else { &mut *head })?;
        head.text("objects")?;
        head.map(objects)
    }
}

/// The fields of a manifest's root, and the entries of its `objects`.
fn taken_apart(manifest: &Manifest<'_>) -> Result<(Root, Output), OutOfMemory> {
    let (mut version, mut others) = (Output::default(), Output::default());
    let (mut attributes, mut objects, mut count) = (None, Output::default(), 0_u64);
    for (name, item) in manifest.fields().into_iter().flatten() {
        match name {
            "version" => version.raw(item.as_bytes())?,
            "attributes" => attributes.insert(Output::default()).raw(item.as_bytes())?,
            "objects" => objects.raw(entries(item.as_bytes()))?,
            _ => {
                others.text(name)?;
                others.raw(item.as_bytes())?;
                count = count.saturating_add(1);
            }
        }
    }
    Ok((Root { version, attributes, others, count }, objects))
}

/// What is in a map: its entries, without head and break.
fn entries(map: &[u8]) -> &[u8] {
    use nom::Parser as _;
    let head = map_head(Rule::ObjectsType, crate::cbor::UNLIMITED).parse(map);
    let Ok((first, mut entries)) = head else { return &[] };
    let mut rest = first;
    while entries.next(rest) {
        let value = key(rest).map_or(&[][..], |(value, _)| value);
        rest = skip(value, 0, DEPTH_CAP).map_or(&[][..], |(rest, ())| rest);
    }
    first.get(..first.len().saturating_sub(rest.len())).unwrap_or_default()
}
