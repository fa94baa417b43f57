//! Filling an index from the header of a format other than zTensor.
//!
//! The parser of a format parses a header and checks it by the rules of its format. The [`Builder`] then checks again
//! everything that views rely on: that each blob lies within its file, that sizes follow from shapes and types, and that
//! limits are kept. A defect of a parser can therefore mislabel the bytes of a file, but never make a view read beyond the
//! file.

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::{
    Arrangement, Blobs, Candidate, ComponentRecord, Details, ElementOrder, Encoding, Extent,
    FaultyObject, FileFormat, Finding, FormatFacts, Index, IndexBuilder, Layout, Logical,
    ObjectRecord, Product, RawComponent, RawElements, RawObject, RecordField, Role, ShapeSpan,
    ShardRecord, Span, SpecialElements, reserve,
};
use crate::cbor::{fault, pass_attributes};
use crate::element::{BlockFields, ByteOrder, LogicalType, StorageType};
use crate::error::{BareError, Error, ErrorKind, Location, Misuse, OutOfMemory, text};
use crate::limits::{Limits, OpenOptions};
use crate::names::by_length;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule};

/// A builder of the index, which takes the tensors of a header one by one.
///
/// After an error the builder takes no more tensors, and `finish` returns the error: the file is rejected.
#[derive(Debug)]
pub struct Builder<'o> {
    options: &'o OpenOptions,
    facts: &'static FormatFacts,
    header: Range<u64>,
    file_len: u64,
    /// The concatenated names, other texts and attributes.
    texts: Vec<u8>,
    index: IndexBuilder,
    last_name: Span,
    /// The name of the last element type that has a name of its own. Kept because successive components often have the same type.
    last_type_name: Span,
    attributes: Span,
    /// The total number of dimensions of all tensors together.
    dimensions: usize,
    /// The total size in bytes of the tensors whose strides repeat elements.
    repeated: u64,
    /// The first finding by each rule, and the number of further findings.
    findings: Vec<Finding>,
    /// The offset in the file to which the `source_offset` of each tensor is added.
    descriptions: u64,
    /// The first error, which every later call returns.
    failed: Option<BuilderFailure>,
}

/// An error of a builder, and the tensor and file that it is about. Both names are spans of the builder's texts.
#[derive(Clone, Copy, Debug)]
struct BuilderFailure {
    error: BareError,
    /// The name of the tensor, or `NONE` if the error is about no tensor.
    tensor: Span,
    /// The name of the file that holds the tensor's first component, or `NONE` if that is the file of the header.
    file: Span,
}

impl BuilderFailure {
    /// Creates the failure for `error`, which is about the tensor called `tensor`. `file` is the name of the file that holds
    /// the tensor's first component, or `NONE` if that is the file of the header. `offset` is the offset of the tensor's
    /// description in the file of the header, so the error gets it only if `file` is `NONE`.
    fn in_tensor(error: BareError, offset: u64, tensor: Span, file: Span) -> Self {
        let error = if file.is_none() { error.moved(offset) } else { error };
        Self { error, tensor, file }
    }

    /// Returns the error with its names, which are in `texts`.
    #[cold]
    fn named(&self, texts: &[u8]) -> Error {
        let error = Error::from(self.error);
        if self.tensor.is_none() {
            return error;
        }
        // If there is no memory for a name, the error is returned without it.
        let copied = |name: Span| text(format_args!("{}", name_in(texts, name)?)).ok();
        error.about(copied(self.tensor), copied(self.file))
    }
}

impl<E: Into<BareError>> From<E> for BuilderFailure {
    fn from(error: E) -> Self {
        Self { error: error.into(), tensor: Span::NONE, file: Span::NONE }
    }
}

/// Returns the name at `span` of `texts`; `None` if the name is missing.
fn name_in(texts: &[u8], span: Span) -> Option<&str> {
    if span.is_none() { None } else { str::from_utf8(span.of(texts)).ok() }
}

/// The error of a header that breaks a rule. It keeps the texts of the builder, which contain the names. Without `std`, an
/// [`Error`] cannot hold names, so the parsers in `formats` take them from here.
#[derive(Debug)]
pub(crate) struct Rejection {
    failure: BuilderFailure,
    texts: Vec<u8>,
}

impl Rejection {
    /// Returns the kind of the error.
    #[cfg(feature = "detect")]
    pub(crate) fn kind(&self) -> ErrorKind {
        self.failure.error.kind
    }

    /// Returns the offset of the tensor's description in the file of the header. Returns `None` for an error without a tensor,
    /// and for a tensor whose first component is in another file.
    #[cfg(feature = "detect")]
    pub(crate) fn offset(&self) -> Option<u64> {
        self.failure.error.offset
    }

    /// Returns the name of the tensor, or `None` if the error is about no tensor.
    #[cfg(feature = "detect")]
    pub(crate) fn tensor(&self) -> Option<&str> {
        name_in(&self.texts, self.failure.tensor)
    }

    /// Returns the name of the file that holds the tensor's first component; `None` if that is the file of the header.
    #[cfg(feature = "detect")]
    pub(crate) fn file(&self) -> Option<&str> {
        name_in(&self.texts, self.failure.file)
    }
}

impl From<Rejection> for Error {
    fn from(rejection: Rejection) -> Self {
        rejection.failure.named(&rejection.texts)
    }
}

/// A header that keeps every rule that can be checked without the data.
pub struct Parsed {
    /// The range of the header in the file.
    pub(crate) header: Range<u64>,
    pub(crate) file_len: u64,
    pub(crate) options: OpenOptions,
    pub(crate) index: Index,
    /// The bytes to which the spans of the index point.
    pub(crate) texts: Vec<u8>,
    pub(crate) findings: Vec<Finding>,
}

impl core::fmt::Debug for Parsed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Parsed").finish_non_exhaustive()
    }
}

impl<'o> Builder<'o> {
    /// Creates a builder for the header at the range `header` of a file of `file_len` bytes.
    ///
    /// # Errors
    /// `canonical-generation` if `options` ask for the canonical form, which other formats do not have; an internal
    /// error if the header lies outside of the file; out of memory.
    pub fn new(
        format: &'static FileFormat,
        header: Range<u64>,
        file_len: u64,
        options: &'o OpenOptions,
    ) -> Result<Self, Error> {
        if options.is_canonical() {
            return Err(BareError::new(Rule::CanonicalGeneration, 0).into());
        }
        if header.start > header.end || header.end > file_len {
            return Err(BareError::internal().into());
        }
        let builder = Self::of_same(&format.facts, header, file_len, options);
        Ok(Self { index: IndexBuilder::new(format.blobs), ..builder })
    }

    /// Creates a builder for another index of a file that has been opened, with other groups of the same components. The rules on
    /// overlapping blobs are not checked again.
    pub(crate) fn of_same(
        facts: &'static FormatFacts,
        header: Range<u64>,
        file_len: u64,
        options: &'o OpenOptions,
    ) -> Self {
        Self {
            options,
            facts,
            descriptions: header.start,
            header,
            file_len,
            texts: Vec::new(),
            index: IndexBuilder::new(Blobs::Any),
            last_name: Span::NONE,
            last_type_name: Span::NONE,
            attributes: Span::NONE,
            dimensions: 0,
            repeated: 0,
            findings: Vec::new(),
            failed: None,
        }
    }

    /// Reserves room for `tensors` tensors of one component each, and for `text` bytes of names and attributes. Without
    /// a reservation, a growing list takes up to three times its size for a moment.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, tensors: u32, text: usize) -> Result<(), Error> {
        self.index.reserve(tensors)?;
        reserve(&mut self.index.components, tensors)?;
        Ok(self.texts.try_reserve(text).map_err(|_| OutOfMemory)?)
    }

    /// Returns the limits that the file is opened with.
    pub fn limits(&self) -> &Limits {
        self.options.limit()
    }

    /// Sets the offset in the file from which every [`source_offset`](RawObject::source_offset) is counted. The default is
    /// the start of the header. PyTorch checkpoints need another one: their header is the directory of a zip archive, but
    /// their tensors are described by a pickle that comes before the directory.
    pub fn descriptions_at(&mut self, offset: u64) {
        self.descriptions = offset;
    }

    /// Takes the attributes of the file. `map` is a CBOR map whose keys are distinct texts.
    ///
    /// # Errors
    /// Rules of CBOR, limits; out of memory.
    pub fn attributes(&mut self, map: &[u8]) -> Result<(), Error> {
        self.take(|builder| {
            builder.attributes = builder.map(map)?;
            Ok(())
        })
    }

    /// Takes a further file called `name`, of `length` bytes, that may hold components, and returns its ordinal. Files
    /// must be passed in the order of their names: shorter names first, names of equal length by their bytes.
    ///
    /// # Errors
    /// [`Misuse::Order`]; `limit-shards`, `limit-manifest`; out of memory.
    pub fn file(&mut self, name: &str, length: u64) -> Result<u32, Error> {
        let ordinal = len_u32(self.index.shards.len());
        self.take(|builder| {
            if ordinal >= builder.options.limit().shards() {
                return Err(
                    BareError::nowhere(Limit::Shards).found(u64::from(ordinal).saturating_add(1))
                );
            }
            let before = builder.index.shards.last().map(|shard| shard.name.of(&builder.texts));
            if before.is_some_and(|before| by_length(before, name.as_bytes()).is_ge()) {
                return Err(BareError::misuse(Misuse::Order));
            }
            let name = builder.text(name.as_bytes())?;
            let shard = ShardRecord { name, digest: Span::NONE, source_offset: 0, size: length };
            Ok(builder.index.shard(shard)?)
        })?;
        Ok(ordinal)
    }

    /// Checks the tensor `object`, and adds it to the index.
    ///
    /// # Errors
    /// A rule that views rely on, such as `blob-bounds` or `dense-size`; [`Misuse::Layout`] for a layout that needs attributes; a
    /// limit; out of memory; the first error of the builder, if an earlier call failed. The error's location
    /// holds the ordinal of the tensor: its position among the calls of `push`, counted from 0. An error about the file
    /// has the name and the offset of the tensor. If the first component of the tensor is in another file, the error has
    /// the name of that file and no offset, because the builder does not know where the header of that file begins.
    pub fn push(&mut self, object: &RawObject<'_>) -> Result<(), Error> {
        match self.failed {
            None => self.object(object).map_err(|error| self.reject(error, object)),
            Some(failure) => Err(failure.named(&self.texts)),
        }
    }

    /// Stores `error` as the builder's first error, and returns it. If the file is the cause, and not the caller or the
    /// memory of the system, the error gets the name and the offset of `object`.
    #[cold]
    #[inline(never)]
    fn reject(&mut self, error: BareError, object: &RawObject<'_>) -> Error {
        let own = Location::new(Some(self.index.len()), None);
        let error = if error.location == Location::NOWHERE { error.at(own) } else { error };
        let mut failure = BuilderFailure::from(error);
        if error.blames_file() {
            let first = object.components.first().and_then(|first| first.file);
            let shard = first.and_then(|file| self.index.shards.get(usize_from_u32(file)));
            let file = shard.map_or(Span::NONE, |shard| shard.name);
            let tensor = self.append(object.name.as_bytes()).unwrap_or(Span::NONE);
            let offset = self.descriptions.saturating_add(object.source_offset.into());
            failure = BuilderFailure::in_tensor(error, offset, tensor, file);
        }
        self.failed = Some(failure);
        failure.named(&self.texts)
    }

    /// Calls `take`, unless an earlier call failed.
    #[inline]
    fn take(&mut self, take: impl FnOnce(&mut Self) -> Result<(), BareError>) -> Result<(), Error> {
        if let Some(failure) = self.failed {
            return Err(failure.named(&self.texts));
        }
        take(self).map_err(|error| {
            self.failed = Some(error.into());
            error.into()
        })
    }

    /// Checks a tensor and adds it to the index. After an error the index is not used any more, so parts of the tensor
    /// may stay.
    fn object(&mut self, object: &RawObject<'_>) -> Result<(), BareError> {
        let ordinal = self.index.len();
        let first = self.index.components.len();
        if u64_from_usize(object.shape.len()) > self.options.limit().rank().into() {
            return Err(BareError::nowhere(Limit::Rank));
        }
        // Ascending roles are distinct. A single component needs no check.
        if let [_, _, ..] = object.components {
            if u64_from_usize(object.components.len()) > self.options.limit().keys().into() {
                return Err(BareError::nowhere(Limit::Keys));
            }
            if !object.components.is_sorted_by(|one, next| one.role < next.role) {
                return Err(BareError::nowhere(Rule::DuplicateKey));
            }
        }
        match object.layout {
            Layout::Dense | Layout::SparseCsr | Layout::SparseCoo | Layout::Unknown => {}
            // Views of other layouts read attributes that no parser of another format has checked.
            _ => return Err(BareError::misuse(Misuse::Layout)),
        }
        for (component, at) in object.components.iter().zip(0..) {
            let location = Location::new(Some(ordinal), Some(at));
            self.component(object, component).map_err(|error| error.at(location))?;
        }
        let shape = self.shape(object.shape)?;
        let components = self.index.components.get(first..).ok_or(BareError::internal())?;
        let candidate = Candidate {
            layout: object.layout,
            product: Product::of(object.shape),
            shape: object.shape,
            components,
            facts: self.facts,
        };
        candidate.check(self.options).map_err(|fault| {
            let location = Location::new(Some(ordinal), fault.component());
            BareError::nowhere(fault.kind).found(fault.found).at(location)
        })?;
        let count = len_u32(components.len());
        let last_name = self.last_name.of(&self.texts);
        let ascends = ordinal == 0 || last_name < object.name.as_bytes();
        let name = self.text(object.name.as_bytes())?;
        self.last_name = name;
        if object.layout == Layout::Unknown {
            let layout = object.layout_name.unwrap_or(Layout::Unknown.name());
            let layout = self.text(layout.as_bytes())?;
            self.index.layout_name(layout)?;
        }
        let attributes = match object.attributes {
            Some(map) => self.map(map)?,
            None => Span::NONE,
        };
        // The limit `manifest` is at most 2^30, so the numbers of components and dimensions fit in 32 bits.
        self.dimensions = self.dimensions.saturating_add(object.shape.len());
        let kept = u64_from_usize(self.index.components.len().saturating_add(self.dimensions));
        if kept > self.options.limit().manifest() {
            return Err(BareError::nowhere(Limit::Manifest).found(kept));
        }
        let record = ObjectRecord {
            name,
            attributes,
            shape,
            first: len_u32(first),
            count,
            source_offset: object.source_offset,
            layout: object.layout,
        };
        Ok(self.index.object(record, ascends)?)
    }

    /// Adds `shape`, a shape or strides, and returns its span.
    fn shape(&mut self, shape: &[u64]) -> Result<ShapeSpan, BareError> {
        self.index.shapes.keep(shape).map_err(BareError::nowhere)
    }

    /// Ends the header, and checks the rules that hold for all tensors together.
    ///
    /// # Errors
    /// The first error of the builder; the format's rule on duplicate names; `blob-overlap`, `limit-decoded-total`; out
    /// of memory. An error about a tensor has the tensor's name and offset, as described at [`push`](Self::push).
    pub fn finish(self) -> Result<Parsed, Error> {
        Ok(self.try_finish()?)
    }

    /// Does what [`finish`](Self::finish) does, but the error has the names of the tensor and the file even without `std`.
    pub(crate) fn try_finish(self) -> Result<Parsed, Rejection> {
        let Self { options, facts, header, file_len, texts, index, attributes, findings, .. } =
            self;
        if let Some(failure) = self.failed {
            return Err(Rejection { failure, texts });
        }
        match index.finish(facts, &texts, options.limit(), file_len) {
            Ok(mut index) => {
                index.attributes = attributes;
                Ok(Parsed { header, file_len, options: *options, index, texts, findings })
            }
            Err((fault, None)) => Err(Rejection { failure: BareError::from(fault).into(), texts }),
            Err((fault, Some(FaultyObject { name, source_offset, file }))) => {
                let offset = self.descriptions.saturating_add(source_offset.into());
                let failure = BuilderFailure::in_tensor(fault.into(), offset, name, file);
                Err(Rejection { failure, texts })
            }
        }
    }

    /// Adds a finding, which does not keep the file from opening: a note, or an error that only a check of the file
    /// reports. Only the first finding by each rule is kept, and further findings are counted, so that memory does not
    /// follow the file.
    pub fn found(&mut self, error: Error) {
        self.found_times(error, 1);
    }

    /// Adds `error` as [`found`](Self::found) does, and keeps the name of what the error is about.
    #[cfg(feature = "detect")]
    pub(crate) fn found_about(&mut self, error: Error, name: String) {
        let kind = error.kind();
        self.found(error);
        self.name_finding(kind, name);
    }

    /// Adds `error` as [`found`](Self::found) does, and keeps the names of all that the error is about.
    #[cfg(feature = "detect")]
    pub(crate) fn found_named(&mut self, error: Error, names: Vec<String>) {
        let kind = error.kind();
        self.found(error);
        for name in names {
            self.name_finding(kind, name);
        }
    }

    /// Adds `name` to the names of what the findings of this `kind` are about.
    fn name_finding(&mut self, kind: ErrorKind, name: String) {
        let finding = self.findings.iter_mut().find(|finding| finding.error.kind() == kind);
        let Some(finding) = finding else { return };
        if finding.names.try_reserve(1).is_ok() {
            finding.names.push(name);
        } else {
            self.fail_without_memory();
        }
    }

    /// Adds the `findings` of another archive whose tensors this builder takes. `file` is the name of the archive's
    /// file, or empty for the file of the header.
    pub fn found_in_file(&mut self, findings: &[Finding], file: &str) {
        let file = Some(file).filter(|file| !file.is_empty());
        for finding in findings {
            let error = &finding.error;
            let copied = |copied: Option<&str>| {
                copied.map(|copied| text(format_args!("{copied}"))).transpose()
            };
            let sentence = text(format_args!("{}", error.sentence()));
            match (sentence, copied(error.tensor()), copied(error.file().or(file))) {
                (Ok(sentence), Ok(tensor), Ok(file)) => {
                    let copy = Error::of_format(error.kind(), sentence, error.offset());
                    let copy = copy.about(tensor, file).advising(error.advice());
                    let names_it = error.names_its_tensor();
                    let copy = if names_it { copy.naming_its_tensor() } else { copy };
                    let kind = copy.kind();
                    self.found_times(copy, finding.more.saturating_add(1));
                    for name in &finding.names {
                        match text(format_args!("{name}")) {
                            Ok(name) => self.name_finding(kind, name),
                            Err(_) => self.fail_without_memory(),
                        }
                    }
                }
                _ => self.fail_without_memory(),
            }
        }
    }

    /// Stores the error that memory is out, unless an earlier call failed.
    fn fail_without_memory(&mut self) {
        self.failed = self.failed.or(Some(OutOfMemory.into()));
    }

    /// Adds `error` as [`found`](Self::found) does, and counts `times` findings by its rule.
    pub fn found_times(&mut self, error: Error, times: u64) {
        let is_same = |finding: &&mut Finding| finding.error.kind() == error.kind();
        if let Some(known) = self.findings.iter_mut().find(is_same) {
            known.more = known.more.saturating_add(times);
        } else if self.findings.try_reserve(1).is_ok() {
            let more = times.saturating_sub(1);
            self.findings.push(Finding { error, more, names: Vec::new() });
        } else {
            self.fail_without_memory();
        }
    }

    /// Validates strides, and returns the size of the elements in bytes in row-major order. The blob must begin with
    /// the first element and end with the last.
    fn strided(&mut self, shape: &[u64], raw: &RawComponent<'_>) -> Result<u64, BareError> {
        let limits = self.options.limit();
        let width = u64::from(raw.logical.map_or(1, LogicalType::ratio))
            .saturating_mul(raw.storage.width().into());
        let strides = raw.strides.unwrap_or_default();
        let last = shape.iter().zip(strides).try_fold(0_u64, |last, (dimension, stride)| {
            dimension.saturating_sub(1).checked_mul(*stride)?.checked_add(last)
        });
        let lies_in = last.and_then(|last| last.checked_add(1)?.checked_mul(width));
        let held = raw.decoded_length.unwrap_or(raw.stored_length);
        if lies_in != Some(held) {
            return Err(BareError::nowhere(Rule::DenseSize).found(held));
        }
        let bytes = shape.iter().try_fold(width, |bytes, dimension| bytes.checked_mul(*dimension));
        let bytes = bytes.ok_or(BareError::nowhere(Rule::ShapeOverflow))?;
        if raw.encoding != Encoding::Raw && bytes != held {
            return Err(BareError::misuse(Misuse::Layout));
        }
        if bytes > held {
            self.repeated = self.repeated.saturating_add(bytes);
            if bytes > limits.decoded() {
                return Err(BareError::nowhere(Limit::Decoded).found(bytes));
            }
            if self.repeated > limits.decoded_total(self.file_len) {
                return Err(BareError::nowhere(Limit::DecodedTotal).found(self.repeated));
            }
        }
        Ok(bytes)
    }

    /// Checks `raw`, a component of `object`, and adds the component to the index.
    fn component(
        &mut self,
        object: &RawObject<'_>,
        raw: &RawComponent<'_>,
    ) -> Result<(), BareError> {
        let RawComponent { offset, stored_length, storage, encoding, prefix, .. } = *raw;
        let arrangement = arrangement(object.shape, raw)?;
        let known = known_elements(object, raw)?;
        let is_packed = raw.logical == Some(LogicalType::F4E2M1);
        if arrangement != Arrangement::RowMajor && (object.layout != Layout::Dense || is_packed) {
            return Err(BareError::misuse(Misuse::Layout));
        }
        let file_len = match raw.file.map(|file| self.index.shards.get(usize_from_u32(file))) {
            Some(None) => return Err(BareError::misuse(Misuse::NoShards)),
            Some(Some(shard)) => shard.size,
            None => self.file_len,
        };
        let stream = self.facts.stream;
        match encoding {
            Encoding::Raw | Encoding::Zstd => {}
            Encoding::Deflate | Encoding::Latin1 if stream.is_some() => {}
            // Formats other than zTensor have no other encodings. Deflate and Latin-1 are only for formats that give rules
            // on streams.
            _ => return Err(BareError::misuse(Misuse::Settings)),
        }
        // The size in bytes of all elements, if the blob also has bytes between the elements.
        let listed = match arrangement {
            Arrangement::Strided => Some(self.strided(object.shape, raw)?),
            Arrangement::InRecords => Some(in_records(raw)?),
            Arrangement::RowMajor | Arrangement::ColumnMajor => None,
        };
        let is_strided = arrangement == Arrangement::Strided;
        let is_streamed = prefix > 0 || raw.checksum.is_some() || is_strided;
        if is_streamed && (encoding == Encoding::Zstd || stream.is_none()) {
            return Err(BareError::misuse(Misuse::Settings));
        }
        let decoded = listed.or(raw.decoded_length);
        if !may_negate(object, raw, stream.is_some()) {
            return Err(BareError::misuse(Misuse::Settings));
        }
        let is_big = raw.byte_order == ByteOrder::Big;
        let is_block = || {
            let layout = object.layout_name.filter(|_| object.layout == Layout::Unknown);
            storage == StorageType::U8
                && (raw.logical.is_none() && encoding == Encoding::Raw && !is_streamed)
                && layout.and_then(BlockFields::of_layout).is_some()
        };
        let order = if is_big && is_block() {
            ElementOrder::BIG_BLOCKS
        } else {
            ElementOrder::new(is_big && storage.width() > 1, arrangement).negated(raw.negation)
        };
        let role = Role::from_name(raw.role.as_bytes());
        let record = ComponentRecord {
            decoded: decoded.unwrap_or(0),
            has_decoded: decoded.is_some(),
            file: raw.file.unwrap_or(ComponentRecord::FILE_OF_HEADER),
            role,
            storage: known.is_read.then_some(storage),
            logical: match known.type_name {
                Some(_) => Logical { known: None, unknown: true },
                None => raw.logical.map_or(Logical::NONE, Logical::known),
            },
            has_type: raw.logical.is_some() || known.type_name.is_some(),
            encoding,
            order,
            source_offset: object.source_offset,
            ..ComponentRecord::raw(Extent::part(offset, stored_length))
        };
        let checked = record.check(self.facts.container, true, file_len);
        checked.map_err(|fault| BareError::nowhere(fault.kind).found(fault.found))?;
        if encoding == Encoding::Raw && prefix > offset {
            return Err(BareError::nowhere(Rule::BlobBounds).found(prefix));
        }
        let [start, end] = raw.checksum_range.unwrap_or_default();
        if start > end || end > file_len {
            return Err(BareError::nowhere(Rule::BlobBounds).found(end));
        }
        let has_details = is_streamed || role.is_none() || known.type_name.is_some();
        let details = if has_details {
            let strides = raw.strides.filter(|_| is_strided).unwrap_or_default();
            Some(Details {
                role: if role.is_none() { self.text(raw.role.as_bytes())? } else { Span::NONE },
                type_name: match known.type_name {
                    Some(name) => self.type_name(name.as_bytes())?,
                    None => Span::NONE,
                },
                strides: self.shape(strides)?,
                prefix,
                checksum: raw.checksum,
                checksum_range: [start, end],
                ..Details::NONE
            })
        } else {
            None
        };
        if let Some(special) = known.special {
            self.index.special_elements(special)?;
        }
        Ok(self.index.component(record, details)?)
    }

    /// Checks a map of attributes, and adds it to the texts.
    fn map(&mut self, map: &[u8]) -> Result<Span, BareError> {
        let passed = pass_attributes(self.options.limit(), Rule::AttributesType, map, 0);
        let (rest, ()) = passed.map_err(|error| {
            let fault = fault(error);
            BareError::nowhere(fault.kind).found(fault.found)
        })?;
        if !rest.is_empty() {
            return Err(
                BareError::nowhere(Rule::ManifestTrailing).found(u64_from_usize(rest.len()))
            );
        }
        self.text(map)
    }

    /// Adds `name`, the name of a type, to the texts, and returns its span. Components of one type mostly follow each other,
    /// and share one text.
    fn type_name(&mut self, name: &[u8]) -> Result<Span, BareError> {
        let last = self.last_type_name;
        if last.is_none() || last.of(&self.texts) != name {
            self.last_type_name = self.text(name)?;
        }
        Ok(self.last_type_name)
    }

    /// Adds `text` to the texts, and returns its span. The texts together may have no more bytes than the limit on
    /// manifests allows.
    fn text(&mut self, text: &[u8]) -> Result<Span, BareError> {
        let start = self.texts.len();
        let length = u64_from_usize(start.saturating_add(text.len()));
        if length > self.options.limit().manifest() {
            return Err(BareError::nowhere(Limit::Manifest).found(length));
        }
        Ok(self.append(text)?)
    }

    /// Adds `text` to the texts without checking their size, and returns its span.
    fn append(&mut self, text: &[u8]) -> Result<Span, OutOfMemory> {
        let start = self.texts.len();
        self.texts.try_reserve(text.len()).map_err(|_| OutOfMemory)?;
        self.texts.extend_from_slice(text);
        Ok(Span::new(len_u32(start), len_u32(text.len())))
    }
}

/// The type of the elements of a component, as the index stores it.
struct KnownElements<'a> {
    /// The name of the element type in the file; `None` if zten knows the type.
    type_name: Option<&'a str>,
    special: Option<SpecialElements>,
    /// Whether zten hands out the bytes of the component.
    is_read: bool,
}

/// Checks the elements of `raw`, a component of `object`, and returns their type. The size of opaque elements must be exactly
/// the number of bytes that the shape needs.
fn known_elements<'a>(
    object: &RawObject<'_>,
    raw: &RawComponent<'a>,
) -> Result<KnownElements<'a>, BareError> {
    let special = raw.field.map(SpecialElements::InRecords);
    let known = KnownElements { type_name: None, special, is_read: true };
    match raw.elements {
        RawElements::Known => Ok(known),
        RawElements::Unread { type_name, reason } => Ok(KnownElements {
            type_name: Some(type_name),
            special: Some(SpecialElements::Unread(reason)),
            is_read: false,
        }),
        RawElements::Opaque { type_name, size } => {
            if object.layout != Layout::Dense
                || (raw.storage, raw.logical) != (StorageType::U8, None)
                || raw.field.is_some()
                || raw.strides.is_some()
            {
                return Err(BareError::misuse(Misuse::Layout));
            }
            let elements = Product::of(object.shape).elements();
            let bytes = elements.and_then(|elements| elements.checked_mul(size));
            let bytes = bytes.ok_or(BareError::nowhere(Rule::ShapeOverflow))?;
            let held = raw.decoded_length.unwrap_or(raw.stored_length);
            if bytes != held {
                return Err(BareError::nowhere(Rule::DenseSize).found(held));
            }
            let special = Some(SpecialElements::Opaque(size));
            Ok(KnownElements { type_name: Some(type_name), special, ..known })
        }
    }
}

/// Checks that a component whose elements are a field of records holds whole records, and returns the size of the
/// elements in bytes.
fn in_records(raw: &RawComponent<'_>) -> Result<u64, BareError> {
    let RecordField { record, offset, size } = raw.field.ok_or(BareError::internal())?;
    let lies_in = offset.checked_add(size).is_some_and(|end| end <= record);
    let has_layout = matches!(raw.elements, RawElements::Known)
        && raw.storage != StorageType::Bool
        && raw.strides.is_none()
        && !raw.column_major
        && matches!(raw.encoding, Encoding::Raw | Encoding::Deflate);
    if !has_layout || !lies_in || size == 0 {
        return Err(BareError::misuse(Misuse::Layout));
    }
    let held = raw.decoded_length.unwrap_or(raw.stored_length);
    match (held.checked_rem(record), held.checked_div(record)) {
        // The product is at most `held`, because a field is no longer than a record.
        (Some(0), Some(count)) => Ok(count.wrapping_mul(size)),
        _ => Err(BareError::nowhere(Rule::DenseSize).found(held)),
    }
}

/// Returns whether the elements of a component of `object` may have the negation that it names: only floats and complex numbers
/// have a bit for the sign, and only complex numbers have imaginary parts.
fn may_negate(object: &RawObject<'_>, raw: &RawComponent<'_>, has_stream: bool) -> bool {
    let is_complex = matches!(raw.logical, Some(LogicalType::Complex64 | LogicalType::Complex128));
    let is_float = matches!(
        raw.storage,
        StorageType::F64 | StorageType::F32 | StorageType::F16 | StorageType::Bf16
    );
    let is_known = matches!(raw.elements, RawElements::Known) && raw.field.is_none();
    let is_dense = object.layout == Layout::Dense && raw.encoding == Encoding::Raw;
    raw.negation.is_none()
        || (is_dense && is_known && has_stream && raw.prefix == 0)
            && is_float
            && (is_complex || raw.logical.is_none() && !raw.negation.imaginary)
}

/// Returns the arrangement of the elements of a component.
fn arrangement(shape: &[u64], raw: &RawComponent<'_>) -> Result<Arrangement, BareError> {
    if raw.field.is_some() {
        return Ok(Arrangement::InRecords);
    }
    let Some(strides) = raw.strides else {
        // A vector is both row-major and column-major.
        let is_column_major = raw.column_major && shape.len() > 1;
        return Ok(if is_column_major { Arrangement::ColumnMajor } else { Arrangement::RowMajor });
    };
    if strides.len() != shape.len() || raw.column_major {
        return Err(BareError::misuse(Misuse::Layout));
    }
    let pairs = || shape.iter().copied().zip(strides.iter().copied());
    Ok(match (shape.contains(&0) || is_contiguous(pairs().rev()), is_contiguous(pairs())) {
        (true, _) => Arrangement::RowMajor,
        (false, true) => Arrangement::ColumnMajor,
        (false, false) => Arrangement::Strided,
    })
}

/// Returns whether elements lie one after the other. `dimensions` are sizes and strides, and begin with the dimension
/// that varies fastest.
fn is_contiguous(mut dimensions: impl Iterator<Item = (u64, u64)>) -> bool {
    let mut next = 1_u64;
    dimensions.all(|(dimension, stride)| {
        let is_next = dimension == 1 || stride == next;
        next = next.saturating_mul(dimension);
        is_next
    })
}
