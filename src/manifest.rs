//! Validated manifests, which keep every rule that can be checked without data, and access to their tensors.
//!
//! A [`Manifest`] holds the bytes of the manifest, but not the data, so a file of 100 GB is opened by reading its last
//! bytes. Names, shapes, digests and attributes are read from these bytes on demand, which cannot fail, because the
//! bytes have been checked.

mod canonical;
mod index;
mod missing;
mod object;
mod shard;

use alloc::vec::Vec;
use core::ops::Range;

pub(crate) use canonical::VERSION;
pub(crate) use index::{ManifestRef, TextIn, ValidatedManifest};
use missing::missing;
pub use object::{Component, ElementType, Tensor};
pub use shard::Shard;

use crate::cbor::Attributes;
use crate::error::{BareError, Error, OutOfMemory};
pub use crate::formats::ztensor::Version;
use crate::formats::ztensor::frame::Frame;
#[cfg(feature = "std")]
use crate::formats::ztensor::named;
use crate::formats::ztensor::{ManifestIndex, parse};
use crate::index::{Builder, Copies, Parsed};
pub use crate::index::{Extent, Finding};
use crate::limits::{Limits, OpenOptions};
use crate::num::{len_u32, usize_from_u32};
use crate::rules::Generation;

/// A manifest that keeps every rule that can be checked without data.
///
/// Opening a file creates a manifest: an [`Archive`](crate::Archive) has one, and
/// [`open::Opening`](crate::open::Opening) creates one for a file whose bytes are elsewhere. `B` holds the bytes of the
/// manifest, or in an [`Archive`](crate::Archive) the bytes of the whole file: `&[u8]`, `Vec<u8>`, `Cow<[u8]>`,
/// `Arc<[u8]>`, or a memory map of the caller. The manifest is `Send` and `Sync` if `B` is.
///
/// Each call asks `B` for its bytes again, and `B` has to return the same bytes. If `B` does not (a memory map of a
/// file that another process has changed), the results are unspecified. Such calls do not panic, except for debug
/// assertions in builds that have them, and for sorting names of equal hashes that change meanwhile.
pub struct Manifest<B> {
    pub(crate) bytes: B,
    validated: ValidatedManifest,
}

impl<B> Manifest<B> {
    /// Creates the manifest of a file of a format other than zTensor from `parsed`, its parsed header. `file` holds the bytes
    /// of the file.
    pub(crate) fn of_parsed(file: B, parsed: Parsed) -> Self {
        let Parsed { header, file_len, options, index, texts, findings } = parsed;
        let validated = ValidatedManifest {
            frame: None,
            header,
            file_len,
            text: TextIn::Own(texts),
            index,
            dialect: None,
            version: None,
            options,
            findings,
            copies: None,
        };
        Self { bytes: file, validated }
    }

    /// Replaces the index and the texts by those of `parsed`, another description of the tensors of the same file.
    #[cfg(all(feature = "detect", feature = "dequantize"))]
    pub(crate) fn with_parsed(mut self, parsed: Parsed) -> Self {
        (self.validated.index, self.validated.text) = (parsed.index, TextIn::Own(parsed.texts));
        self
    }
}

impl<B: AsRef<[u8]>> Manifest<B> {
    /// Creates a builder, without tensors, for another index of the file of this manifest, with the same sibling files.
    #[cfg(all(feature = "detect", feature = "dequantize"))]
    pub(crate) fn builder_of_same<'o>(
        &self,
        options: &'o OpenOptions,
    ) -> Result<Builder<'o>, Error> {
        let ValidatedManifest { header, file_len, index, .. } = &self.validated;
        let mut builder = Builder::of_same(index.facts, header.clone(), *file_len, options);
        for shard in &index.shards {
            builder.file(index::utf8(shard.name.of(self.parts().as_bytes())), shard.size)?;
        }
        Ok(builder)
    }

    /// Validates `bytes`, the CBOR of a manifest whose position in its file `frame` gives.
    pub(crate) fn validate(frame: &Frame, bytes: B, options: &OpenOptions) -> Result<Self, Error> {
        let validated = ValidatedManifest::validate(frame, bytes.as_ref(), options)?;
        Ok(Self { bytes, validated })
    }

    /// Creates the manifest that is the range `section` of `file`, the bytes of a whole file. `validated` is the result of
    /// validating it.
    pub(crate) fn within(file: B, section: Range<usize>, mut validated: ValidatedManifest) -> Self {
        validated.text = TextIn::File(section);
        Self { bytes: file, validated }
    }

    /// Returns references to the bytes and the index, from which objects and components read.
    pub(crate) fn parts(&self) -> ManifestRef<'_> {
        ManifestRef::new(self.bytes.as_ref(), &self.validated)
    }

    /// Returns the attributes of the file; empty if the file has none (1.x): v1.1 II.1, v1.2 §1.
    pub fn attributes(&self) -> Attributes<'_> {
        self.own_attributes().unwrap_or_default()
    }

    /// Returns the attributes of the file, or `None` if the file has no map of attributes. The map may be empty.
    /// Unstable.
    #[doc(hidden)]
    pub fn own_attributes(&self) -> Option<Attributes<'_>> {
        Attributes::read(self.parts().encoded_attributes()?)
    }

    /// Returns all fields of the root of the manifest as the manifest spells them, including unknown fields. Returns `None` for a
    /// data shard and for other formats.
    pub fn fields(&self) -> Option<Attributes<'_>> {
        Attributes::read(self.parts().manifest()?)
    }

    /// Returns the CBOR of the manifest; empty for a data shard and for other formats.
    pub fn as_bytes(&self) -> &[u8] {
        self.parts().manifest().unwrap_or_default()
    }

    /// Returns the tensors (objects) of the file, in the order of the manifest.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> {
        self.parts().tensors()
    }

    /// Returns the object with the ordinal `ordinal` in the manifest, counted from 0; `None` if there is no such object.
    pub fn tensor_at(&self, ordinal: u32) -> Option<Tensor<'_>> {
        self.parts().object(ordinal)
    }

    /// Returns the object called `name`, or `None` if there is no such object. In O(log n); with `std` in constant time, for which
    /// the first call builds a table of 8 bytes a name if there are 256 names or more.
    #[inline]
    pub fn get(&self, name: &str) -> Option<Tensor<'_>> {
        self.parts().get(name)
    }

    /// Returns the object called `name`, or an error that names the object with the most similar name, if a name is similar.
    ///
    /// # Errors
    /// [`Misuse::NoTensor`](crate::error::Misuse::NoTensor). At most 65,536 names, of at most 128 bytes each, are
    /// compared with `name`.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.parts().require(name)
    }
}

impl Manifest<Vec<u8>> {
    /// Replaces the held bytes of the manifest by the value that `holder` makes from the length of the file: a holder of the
    /// whole file.
    pub(crate) fn in_file<H>(self, holder: impl FnOnce(u64) -> H) -> Manifest<H> {
        let Self { bytes, mut validated } = self;
        validated.text = TextIn::Own(bytes);
        Manifest { bytes: holder(validated.file_len), validated }
    }
}

impl<B> Manifest<B> {
    /// Drops the manifest, and returns the value that held its bytes.
    pub(crate) fn into_holder(self) -> B {
        self.bytes
    }

    /// Returns the name of the file format: `zTensor`, or the name of another format.
    pub fn file_format(&self) -> &'static str {
        self.validated.index.facts.format
    }

    /// Returns the generation of zTensor that the file follows; `None` for other formats.
    pub fn generation(&self) -> Option<Generation> {
        self.validated.index.facts.generation
    }

    /// Returns the version that the field `version` of a 1.x file gives; `None` for other generations and formats.
    pub fn version(&self) -> Option<Version> {
        self.validated.version
    }

    /// Returns the findings that did not keep the file from opening, one for each rule: notes, and errors that only a
    /// check of the file reports. zTensor files have no findings.
    pub fn findings(&self) -> &[Finding] {
        &self.validated.findings
    }

    /// Sets the `copies` that a check compares, and adds `findings` to those from opening.
    #[cfg(feature = "detect")]
    pub(crate) fn add_copies(
        &mut self,
        copies: Option<Copies>,
        findings: impl IntoIterator<Item = Finding>,
    ) -> Result<(), OutOfMemory> {
        self.validated.copies = copies;
        for finding in findings {
            self.validated.findings.try_reserve(1).map_err(|_| OutOfMemory)?;
            self.validated.findings.push(finding);
        }
        Ok(())
    }

    /// Returns whether the file is a data shard, which has no manifest and holds blobs for other
    /// files only (2): v2 §7.2.
    pub fn is_data_shard(&self) -> bool {
        self.validated.frame.as_ref().is_some_and(Frame::is_data_shard)
    }

    /// Returns the byte range of the manifest in the file, and of the header in other formats. In zTensor files before generation
    /// 2, all blobs end at or before the manifest. In a data shard the range is empty, and lies at the start of the footer.
    pub fn extent(&self) -> Range<u64> {
        self.validated.header.clone()
    }

    /// Returns the number of bytes at the start of the file that [appending](crate::write::Writer::append) keeps: the bytes
    /// before the manifest in 1.x, all bytes in generation 2, and 0 in other formats.
    #[cfg(feature = "write")]
    pub fn appends_at(&self) -> u64 {
        self.validated.frame.as_ref().map_or(0, Frame::appends_at)
    }

    /// Returns the number of bytes at the start of the file that an [edit](crate::write::Writer::edit) keeps: the bytes
    /// before the manifest, or all bytes if blobs come after the manifest, as in some files of generation 2.
    #[cfg(feature = "write")]
    pub fn edits_at(&self) -> u64 {
        let (start, end) = (self.validated.header.start, self.appends_at());
        let mut own = self.validated.index.components.iter();
        let is_last = own.all(|it| it.in_shard() || it.extent.end() <= start);
        if is_last { start.min(end) } else { end }
    }

    /// Returns the number of tensors in the manifest.
    pub fn len(&self) -> usize {
        self.validated.index.objects.len()
    }

    /// Returns whether the manifest has no tensors.
    pub fn is_empty(&self) -> bool {
        self.validated.index.objects.is_empty()
    }

    /// Returns the limits that the file was opened with.
    pub fn limits(&self) -> &Limits {
        self.validated.options.limit()
    }

    /// Returns the size of the index in bytes on the heap, without the bytes of the manifest.
    pub fn index_bytes(&self) -> usize {
        let copies = self.validated.copies.as_ref().map_or(0, Copies::bytes);
        self.validated.index.bytes().saturating_add(copies)
    }
}

impl ValidatedManifest {
    /// Validates `bytes`, the CBOR of a manifest, and returns its validated content. `frame` gives the position of the manifest
    /// in its file. A manifest that breaks a rule is an error.
    pub(crate) fn validate(
        frame: &Frame,
        bytes: &[u8],
        options: &OpenOptions,
    ) -> Result<Self, Error> {
        let parsed = Self::parse(frame, bytes, options);
        #[cfg(feature = "std")]
        return parsed.map_err(|bare| {
            let named = named(frame, bytes, bare.location);
            Error::from(bare).named(&named)
        });
        #[cfg(not(feature = "std"))]
        parsed.map_err(Error::from)
    }

    fn parse(frame: &Frame, bytes: &[u8], options: &OpenOptions) -> Result<Self, BareError> {
        frame.validate_hash(bytes)?;
        let ManifestIndex { index, dialect, version } = parse(frame, bytes, options)?;
        let validated = Self {
            frame: Some(frame.clone()),
            header: frame.manifest.clone(),
            file_len: frame.file_len(),
            text: TextIn::Held,
            index,
            dialect: Some(dialect),
            version,
            options: *options,
            findings: Vec::new(),
            copies: None,
        };
        if options.is_canonical() {
            canonical::validate(&ManifestRef::new(bytes, &validated))?;
        }
        Ok(validated)
    }
}

impl<'a> ManifestRef<'a> {
    /// Returns the CBOR of the manifest; `None` for a data shard and for other formats.
    fn manifest(&self) -> Option<&'a [u8]> {
        let manifest = self.validated.frame.as_ref().map(|_| self.as_bytes())?;
        (!manifest.is_empty()).then_some(manifest)
    }

    /// Returns the byte range of the manifest in the file.
    pub(crate) fn extent(&self) -> Range<u64> {
        self.validated.header.clone()
    }

    pub(crate) fn len(&self) -> u32 {
        len_u32(self.index().objects.len())
    }

    pub(crate) fn tensors(self) -> impl ExactSizeIterator<Item = Tensor<'a>> + use<'a> {
        let objects = self.index().objects.iter().enumerate();
        objects.map(move |(ordinal, record)| Tensor::new(self, len_u32(ordinal), record))
    }

    #[inline]
    pub(crate) fn object(self, ordinal: u32) -> Option<Tensor<'a>> {
        let record = self.index().objects.get(usize_from_u32(ordinal))?;
        Some(Tensor::new(self, ordinal, record))
    }

    /// Returns the object called `name`; `None` if there is no such object. The object is created here and not in `find`, because
    /// returning it through one more function would copy it.
    #[inline]
    pub(crate) fn get(self, name: &str) -> Option<Tensor<'a>> {
        self.object(self.find(name)?)
    }

    /// Returns the object called `name`. A missing object is an error, which suggests the most similar name, if a name is similar.
    #[inline]
    pub(crate) fn require(self, name: &str) -> Result<Tensor<'a>, Error> {
        self.get(name).ok_or_else(|| missing(name, self))
    }

    /// Returns the ordinal of the object called `name`; `None` if there is no such object.
    fn find(&self, name: &str) -> Option<u32> {
        let (index, texts) = (self.index(), self.as_bytes());
        let read = |ordinal| index.name_at(texts, ordinal);
        index.names.find(name.as_bytes(), self.len(), read)
    }

    /// Returns the name of object number `ordinal` as bytes, without creating a [`Tensor`]; no bytes if there is no such
    /// object.
    pub(crate) fn name(&self, ordinal: u32) -> &'a [u8] {
        self.index().name_at(self.as_bytes(), ordinal)
    }

    /// Returns the CBOR map of the file's attributes as it is in the manifest; `None` if the file has no such map.
    pub(crate) fn encoded_attributes(&self) -> Option<&'a [u8]> {
        let attributes = self.index().attributes;
        (!attributes.is_none()).then(|| attributes.of(self.as_bytes()))
    }

    /// Returns the findings that did not keep the file from opening.
    pub(crate) fn findings(&self) -> &'a [Finding] {
        &self.validated.findings
    }

    /// Returns the pairs of tensors in two files of an index that a check compares; `None` if no tensor is in two files.
    pub(crate) fn copies(&self) -> Option<&'a Copies> {
        self.validated.copies.as_ref()
    }

    /// Returns the position of the manifest in a zTensor file, as its footer gives it; `None` for other formats.
    pub(crate) fn frame(&self) -> Option<&'a Frame> {
        self.validated.frame.as_ref()
    }

    /// Returns the length in bytes of the file that the manifest was read from.
    pub(crate) fn file_len(&self) -> u64 {
        self.validated.file_len
    }
}

#[expect(clippy::missing_fields_in_debug, reason = "one line, and never the bytes")]
impl<B> core::fmt::Debug for Manifest<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Manifest")
            .field("generation", &self.generation())
            .field("version", &self.version())
            .field("extent", &self.extent())
            .field("objects", &self.len())
            .field("components", &self.validated.index.components.len())
            .finish()
    }
}
