//! The proof that a manifest keeps every rule that can be validated without data, and what it says.
//!
//! A [`Manifest`] holds the manifest's bytes and not the data: a file of 100 GB is opened with
//! its last bytes. Names, shapes, digests and attributes are read from those bytes when asked
//! for, which cannot fail, because they have been checked.

mod builder;
mod canonical;
mod index;
mod invalid;
mod layouts;
mod missing;
mod object;
mod shard;
mod shared_sums;

use alloc::vec::Vec;
use core::ops::Range;

pub use crate::format::{Dimensions, Extent, Shape, Version};
#[doc(hidden)]
pub use builder::Blobs;
pub(crate) use builder::{IndexBuilder, ObjectChecker};
pub(crate) use canonical::VERSION;
pub use index::Finding;
pub(crate) use index::{ManifestRef, ObjectRecord, TextIn, ValidatedManifest};
pub(crate) use invalid::named;
pub(crate) use layouts::Candidate;
use missing::missing;
pub use object::{Component, ElementType, Tensor};
pub use shard::Shard;

use crate::cbor::{Attributes, BytesLeft, item, seek};
use crate::error::{BareError, Error};
use crate::format::frame::Frame;
use crate::limits::{Limits, OpenOptions};
use crate::num::{len_u32, usize_from_u32};
use crate::rules::Generation;

/// A manifest that has been read and found to keep every rule that needs no data bytes.
///
/// It is made by opening a file: an [`Archive`](crate::Archive) has one, and
/// [`open::Opening`](crate::open::Opening) makes one of a file whose bytes are elsewhere. `B` holds the manifest's
/// bytes, or in an [`Archive`](crate::Archive) those of the whole file: `&[u8]`, `Vec<u8>`,
/// `Cow<[u8]>`, `Arc<[u8]>`, or a map of the caller's. It is `Send` and `Sync` where `B` is.
///
/// `B` is asked for its bytes again by each call here, and has to give the same ones. Where it
/// does not (a map whose file has been changed by another process), what is returned is
/// unspecified, and nothing panics but debug assertions, in builds that have them, and sorting names of one
/// hash that change meanwhile.
pub struct Manifest<B> {
    pub(crate) bytes: B,
    validated: ValidatedManifest,
}

#[cfg(feature = "std")]
impl<B> Manifest<B> {
    /// The manifest of a file of another format, which is held in `file`.
    pub(crate) fn of_front(file: B, (mut validated, text): (ValidatedManifest, Vec<u8>)) -> Self {
        validated.text = TextIn::Own(text);
        Self { bytes: file, validated }
    }
}

impl<B: AsRef<[u8]>> Manifest<B> {
    /// Validates the bytes of a manifest.
    pub(crate) fn validate(frame: &Frame, bytes: B, options: &OpenOptions) -> Result<Self, Error> {
        let validated = ValidatedManifest::validate(frame, bytes.as_ref(), options)?;
        Ok(Self { bytes, validated })
    }

    /// The manifest that was found at `section` of the file whose bytes are `file`.
    pub(crate) fn within(file: B, section: Range<usize>, mut validated: ValidatedManifest) -> Self {
        validated.text = TextIn::File(section);
        Self { bytes: file, validated }
    }

    /// Returns the parts of the manifest that objects and components read from.
    pub(crate) fn parts(&self) -> ManifestRef<'_> {
        ManifestRef::new(self.bytes.as_ref(), &self.validated)
    }

    /// The file's attributes; empty if it has none (1.x): v1.1 II.1, v1.2 §1.
    pub fn attributes(&self) -> Attributes<'_> {
        self.own_attributes().unwrap_or_default()
    }

    /// The file's attributes, if it has a map of them, and be it empty. Unstable.
    #[doc(hidden)]
    pub fn own_attributes(&self) -> Option<Attributes<'_>> {
        let parts = self.parts();
        Attributes::read(seek(parts.as_bytes(), parts.index().attributes?))
    }

    /// All fields of the root (1.x) as the manifest spells them, unknown ones included.
    pub fn fields(&self) -> Option<Attributes<'_>> {
        Attributes::read(self.parts().manifest()?)
    }

    /// The manifest's CBOR; none in a data shard and in other formats.
    pub fn as_bytes(&self) -> &[u8] {
        self.parts().manifest().unwrap_or_default()
    }

    /// The objects, in the order of the manifest.
    pub fn tensors(&self) -> impl ExactSizeIterator<Item = Tensor<'_>> {
        self.parts().tensors()
    }

    /// The object at that place in the manifest, counted from 0.
    pub fn tensor_at(&self, ordinal: u32) -> Option<Tensor<'_>> {
        self.parts().object(ordinal)
    }

    /// The object of that name. In O(log n); or, with `std`, in a few steps, for which the
    /// first call puts 256 names or more into a table, of 8 bytes each.
    #[inline]
    pub fn get(&self, name: &str) -> Option<Tensor<'_>> {
        self.parts().get(name)
    }

    /// The object of that name, or an error that says which name there is not, and which one is nearest to it.
    ///
    /// # Errors
    /// [`Misuse::NoTensor`](crate::error::Misuse::NoTensor), for which all names are looked at, as many as 65,536 of at most 128 bytes.
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.parts().require(name)
    }
}

impl Manifest<Vec<u8>> {
    /// The same manifest, of which the file is held beside its own bytes.
    pub(crate) fn in_file<H>(self, holder: impl FnOnce(u64) -> H) -> Manifest<H> {
        let Self { bytes, mut validated } = self;
        validated.text = TextIn::Own(bytes);
        Manifest { bytes: holder(validated.file_len), validated }
    }
}

impl<B> Manifest<B> {
    /// The holder of the bytes.
    pub(crate) fn into_holder(self) -> B {
        self.bytes
    }

    /// The name of the file format: `zTensor`, or that of another one.
    pub fn file_format(&self) -> &'static str {
        self.validated.index.dialect.format
    }

    /// The generation of zTensor that the file follows; none in other formats.
    pub fn generation(&self) -> Option<Generation> {
        self.validated.index.dialect.generation
    }

    /// The version that a 1.x file names.
    pub fn version(&self) -> Option<Version> {
        self.validated.index.version
    }

    /// The findings that did not keep the file from opening, one for each rule: notes, and errors that only a check of the file
    /// reports. There are none in zTensor files.
    pub fn findings(&self) -> &[Finding] {
        &self.validated.findings
    }

    /// Returns whether the file is a data shard, which has no manifest and holds blobs for other
    /// files only (2): v2 §7.2.
    pub fn is_data_shard(&self) -> bool {
        self.validated.frame.as_ref().is_some_and(Frame::is_data_shard)
    }

    /// Returns the byte range of the manifest in the file. Before 2, all blobs end before it.
    /// It is empty, and at the footer, in a data shard.
    pub fn extent(&self) -> Range<u64> {
        self.validated.header.clone()
    }

    /// Returns how many of the file's first bytes [appending](crate::write::Writer::append) keeps:
    /// in 1.x those before its manifest, in 2 all of them, in other formats none.
    #[cfg(feature = "write")]
    pub fn appends_at(&self) -> u64 {
        self.validated.frame.as_ref().map_or(0, Frame::appends_at)
    }

    /// The number of the file's first bytes that are kept by an [edition](crate::write::Writer::edit) of it: those before its
    /// manifest, or if there are blobs behind that (2) all of them.
    #[cfg(feature = "write")]
    pub fn edits_at(&self) -> u64 {
        let (start, end) = (self.validated.header.start, self.appends_at());
        let mut own = self.validated.index.components.iter();
        let is_last = own.all(|it| it.shard != BytesLeft::END || it.extent.end() <= start);
        if is_last { start.min(end) } else { end }
    }

    /// The number of tensors.
    pub fn len(&self) -> usize {
        self.validated.index.objects.len()
    }

    /// Returns whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.validated.index.objects.is_empty()
    }

    /// The limits that it was opened with.
    pub fn limits(&self) -> &Limits {
        self.validated.options.limit()
    }

    /// Bytes of heap that the index takes, beside the manifest's own bytes.
    pub fn index_bytes(&self) -> usize {
        self.validated.index.bytes()
    }
}

impl ValidatedManifest {
    /// The bytes of the file.
    pub(crate) fn file_len(&self) -> u64 {
        self.file_len
    }

    /// The index of a file of another format, whose header lies at `header`.
    pub(crate) fn of_front(
        header: Range<u64>,
        file_len: u64,
        index: index::Index,
        options: OpenOptions,
    ) -> Self {
        let (text, findings) = (TextIn::Held, Vec::new());
        Self { frame: None, header, file_len, text, index, options, findings }
    }

    /// Validates the bytes of a manifest.
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
        let index = builder::parse(frame, bytes, options)?;
        let validated = Self {
            frame: Some(frame.clone()),
            header: frame.manifest.clone(),
            file_len: frame.file_len(),
            text: TextIn::Held,
            index,
            options: *options,
            findings: Vec::new(),
        };
        if options.is_canonical() {
            canonical::validate(&ManifestRef::new(bytes, &validated))?;
        }
        Ok(validated)
    }
}

impl<'a> ManifestRef<'a> {
    /// The manifest's CBOR; none in a data shard and in other formats.
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

    /// The object of that name. It is made here and not where the name is looked for, so that it need not
    /// be copied.
    #[inline]
    pub(crate) fn get(self, name: &str) -> Option<Tensor<'a>> {
        self.object(self.find(name)?)
    }

    /// The object of that name, or the error that there is none.
    #[inline]
    pub(crate) fn require(self, name: &str) -> Result<Tensor<'a>, Error> {
        self.get(name).ok_or_else(|| missing(name, self))
    }

    /// The place of the object of that name.
    fn find(&self, name: &str) -> Option<u32> {
        let records = self.records();
        let read = |ordinal| records.name_at(ordinal);
        self.index().names.find(name.as_bytes(), self.len(), read)
    }

    /// The name of the object at that place, which costs nothing to read.
    pub(crate) fn name(&self, ordinal: u32) -> &'a [u8] {
        self.records().name_at(ordinal)
    }

    /// The file's attributes as the manifest spells them.
    pub(crate) fn encoded_attributes(&self) -> Option<&'a [u8]> {
        item(seek(self.as_bytes(), self.index().attributes?))
    }

    /// The container, if it is of zTensor.
    pub(crate) fn frame(&self) -> Option<&'a Frame> {
        self.validated.frame.as_ref()
    }

    /// The bytes of the file.
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
