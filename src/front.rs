//! Support for front ends, the parsers of other file formats, which fill the index. Semantic versioning does not cover it.
//!
//! A front end parses a header and checks it by the rules of its format. The [`Builder`] then checks again everything
//! that views rely on: that each blob lies within its file, that sizes follow from shapes and types, and that limits
//! are kept. A defect of a front end can therefore mislabel the bytes of a file, but never make a view read beyond the
//! file.

use alloc::vec::Vec;
use core::ops::Range;

use crate::cbor::{BytesLeft, Encoder, Fault, fault};
use crate::element::{ByteOrder, LogicalType, StorageType};
use crate::error::{BareError, Error, ErrorKind, Location, Misuse, OutOfMemory, text};
use crate::format::{
    Arrangement, ComponentRecord, Dialect, ElementOrder, Encoding, Extent, Header, Layout, Logical,
    ParseContext, Product, Role, ShardRecord, pass_attributes, push, reserve,
};
use crate::limits::OpenOptions;
use crate::manifest::{Candidate, Finding, IndexBuilder, ObjectRecord, ValidatedManifest};
use crate::names::by_length;
use crate::num::{len_u32, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Row, Rule};

pub use crate::manifest::Blobs;
pub use crate::rules::StreamRules;

/// A file format: its name, the rules for its blobs, and the rules of the format that the library checks.
#[derive(Debug)]
pub struct FrontEnd {
    dialect: Dialect,
    blobs: Blobs,
}

/// Rules of a format that the library checks while it builds the index and reads content.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The rule that names of tensors are unique.
    pub duplicate_name: &'static Row,
    /// The rule that a bool is 0 or 1; `None` if the format allows any byte.
    pub bool_value: Option<&'static Row>,
    /// The rules for deflated content and for checksums; `None` if the format has neither.
    pub stream: Option<&'static StreamRules>,
}

impl FrontEnd {
    /// Creates the format called `format`.
    pub const fn new(format: &'static str, blobs: Blobs, rules: Rules) -> Self {
        let bool_value = match rules.bool_value {
            Some(row) => Some(ErrorKind::Format(row)),
            None => None,
        };
        let duplicate_name = ErrorKind::Format(rules.duplicate_name);
        Self { dialect: Dialect::other(format, duplicate_name, bool_value, rules.stream), blobs }
    }
}

/// One tensor, as a header claims it.
#[derive(Clone, Copy, Debug)]
pub struct RawObject<'a> {
    /// The name.
    pub name: &'a str,
    /// The dimensions, outermost first.
    pub shape: &'a [u64],
    /// The layout: dense, sparse, or unknown. Components of a tensor with an unknown layout can be read.
    pub layout: Layout,
    /// The name of an unknown layout.
    pub layout_name: Option<&'a str>,
    /// The attributes: a CBOR map whose keys are text.
    pub attributes: Option<&'a [u8]>,
    /// The components, their roles in ascending order.
    pub components: &'a [RawComponent<'a>],
}

/// One component, as a header claims it.
#[derive(Clone, Copy, Debug)]
pub struct RawComponent<'a> {
    /// The role: `data` in a dense tensor.
    pub role: &'a str,
    /// The ordinal of the [file](Builder::file) that holds the blob; `None` for the file of the header.
    pub file: Option<u32>,
    /// The offset of the blob in its file, in bytes.
    pub offset: u64,
    /// The size of the blob in bytes.
    pub stored_length: u64,
    /// The number of bytes in front of the elements that the checksum also covers, such as the header of a member. If
    /// the component is deflated, these bytes are deflated with the elements, and otherwise they lie in front of the
    /// blob.
    pub prefix: u64,
    /// The size of the decoded elements in bytes; `None` if it is the size of the blob.
    pub decoded_length: Option<u64>,
    /// The storage type of the elements.
    pub storage: StorageType,
    /// The logical type of the elements, whose storage type must be `storage`; `None` if the storage type says all.
    pub logical: Option<LogicalType>,
    /// The byte order of the elements.
    pub byte_order: ByteOrder,
    /// Whether the elements are stored in column-major order. Only for dense tensors whose elements take whole bytes.
    pub column_major: bool,
    /// The stride of each dimension in elements, outermost first; `None` for row-major and column-major order. The blob
    /// must begin with the first element and end with the last. Only for dense tensors whose elements take whole bytes,
    /// in formats with [`StreamRules`].
    pub strides: Option<&'a [u64]>,
    /// The encoding of the blob: raw, zstd or deflate.
    pub encoding: Encoding,
    /// The CRC-32 of the prefix and the decoded elements, or of `checksum_range`.
    pub checksum: Option<u32>,
    /// The start and the end of the file range that the checksum covers, if that is more than the prefix and the
    /// elements: a storage with this blob and perhaps the blobs of other components, which have the same range and
    /// checksum. Reading a whole component verifies the range first, once for each open file. Slices and borrowed views
    /// do not verify it.
    pub checksum_range: Option<[u64; 2]>,
}

impl RawComponent<'_> {
    /// Creates a component of `length` raw bytes at `offset` in the file of the header: little-endian elements in
    /// row-major order, without a checksum.
    pub const fn raw(storage: StorageType, offset: u64, length: u64) -> Self {
        Self {
            role: "data",
            file: None,
            offset,
            stored_length: length,
            prefix: 0,
            decoded_length: None,
            storage,
            logical: None,
            byte_order: ByteOrder::Little,
            column_major: false,
            strides: None,
            encoding: Encoding::Raw,
            checksum: None,
            checksum_range: None,
        }
    }
}

/// A builder of the index, which takes the tensors of a header one by one.
///
/// After an error the builder takes no more tensors, and `finish` returns the error: the file is rejected.
#[derive(Debug)]
pub struct Builder<'o> {
    options: &'o OpenOptions,
    header: Range<u64>,
    file_len: u64,
    /// Names, other texts and attributes as CBOR items. One byte lies before the first item, so that no item is at
    /// place 0.
    text: Encoder,
    last_name: Range<usize>,
    last_file: Range<usize>,
    attributes: Option<BytesLeft>,
    cx: ParseContext<'o>,
    /// The dimensions of the current tensor, as CBOR numbers.
    dimensions: Encoder,
    /// The total size in bytes of the tensors whose strides repeat elements.
    repeated: u64,
    index: IndexBuilder,
    /// The first finding by each rule, and the number of further findings.
    findings: Vec<Finding>,
    /// The first error, which every later call returns.
    failed: Option<BareError>,
}

/// A header that keeps every rule that can be checked without the data.
pub struct Parsed(ValidatedManifest, Vec<u8>);

impl core::fmt::Debug for Parsed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Parsed").finish_non_exhaustive()
    }
}

impl Parsed {
    /// Returns the validated header and the bytes of its texts.
    pub(crate) fn into_parts(self) -> (ValidatedManifest, Vec<u8>) {
        (self.0, self.1)
    }
}

impl<'o> Builder<'o> {
    /// Creates a builder for the header at the range `header` of a file of `file_len` bytes.
    ///
    /// # Errors
    /// `canonical-generation` if `options` ask for the canonical form, which other formats do not have; an internal
    /// error if the header lies outside of the file; out of memory.
    pub fn new(
        front: &'static FrontEnd,
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
        let mut text = Encoder::default();
        text.raw(&[0])?;
        Ok(Self {
            options,
            header,
            file_len,
            text,
            last_name: 0..0,
            last_file: 0..0,
            attributes: None,
            cx: ParseContext::new(options.limit(), &front.dialect, 0..0, file_len),
            dimensions: Encoder::default(),
            repeated: 0,
            index: IndexBuilder::new(front.blobs, options.limit().shared_total(file_len)),
            findings: Vec::new(),
            failed: None,
        })
    }

    /// Reserves room for `tensors` tensors of one component each, and for `text` bytes of names and attributes. Without
    /// a reservation, a growing list takes up to three times its size for a moment.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reserve(&mut self, tensors: u32, text: usize) -> Result<(), Error> {
        self.index.reserve(tensors).map_err(fault_error)?;
        reserve(&mut self.cx.components, tensors).map_err(fault_error)?;
        Ok(self.text.reserve(text)?)
    }

    /// Takes the attributes of the file. `map` is a CBOR map whose keys are distinct texts.
    ///
    /// # Errors
    /// Rules of CBOR, limits; out of memory.
    pub fn attributes(&mut self, map: &[u8]) -> Result<(), Error> {
        Ok(self.take(Location::NOWHERE, |builder| {
            builder.attributes = Some(builder.map(map)?);
            Ok(())
        })?)
    }

    /// Takes a further file called `name`, of `length` bytes, that may hold components, and returns its ordinal. Files
    /// must be passed in the order of their names: shorter names first, names of equal length by their bytes.
    ///
    /// # Errors
    /// [`Misuse::Order`]; `limit-shards`, `limit-manifest`; out of memory.
    pub fn file(&mut self, name: &str, length: u64) -> Result<u32, Error> {
        let ordinal = len_u32(self.cx.shards.len());
        self.take(Location::NOWHERE, |builder| {
            if ordinal >= builder.options.limit().shards() {
                return Err(
                    BareError::nowhere(Limit::Shards).found(u64::from(ordinal).saturating_add(1))
                );
            }
            let before = builder.text.as_bytes().get(builder.last_file.clone()).unwrap_or_default();
            if ordinal > 0 && by_length(before, name.as_bytes()).is_ge() {
                return Err(BareError::misuse(Misuse::Order));
            }
            let (name, head) = builder.name(name)?;
            builder.last_file = head.end..builder.text.len();
            let record = ShardRecord { name, digest: BytesLeft::END, size: length };
            push(&mut builder.cx.shards, record).map_err(fault_error)
        })?;
        Ok(ordinal)
    }

    /// Takes a tensor.
    ///
    /// # Errors
    /// A rule that views rely on, such as `blob-bounds` or `dense-size`; a limit; out of memory.
    pub fn push(&mut self, object: &RawObject<'_>) -> Result<(), Error> {
        let location = Location::new(Some(self.index.len()), None);
        Ok(self.take(location, |builder| builder.object(object))?)
    }

    /// Calls `take`, unless an earlier call failed. An error without a location gets `location`.
    #[inline]
    fn take(
        &mut self,
        location: Location,
        take: impl FnOnce(&mut Self) -> Result<(), BareError>,
    ) -> Result<(), BareError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        take(self).map_err(|error| {
            let error =
                if error.location == Location::NOWHERE { error.at(location) } else { error };
            self.failed = Some(error);
            error
        })
    }

    /// Checks a tensor and adds it to the index. After an error the index is not used any more, so parts of the tensor
    /// may stay.
    fn object(&mut self, object: &RawObject<'_>) -> Result<(), BareError> {
        let ordinal = self.index.len();
        let first = self.cx.components.len();
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
        for (component, at) in object.components.iter().zip(0..) {
            let arrangement = arrangement(object.shape, component)?;
            let is_packed = component.logical == Some(LogicalType::F4E2M1);
            if arrangement != Arrangement::RowMajor && (object.layout != Layout::Dense || is_packed)
            {
                return Err(BareError::misuse(Misuse::Layout));
            }
            let location = Location::new(Some(ordinal), Some(at));
            let strided = match arrangement {
                Arrangement::Strided => Some(self.strided(object.shape, component)),
                Arrangement::RowMajor | Arrangement::ColumnMajor => None,
            };
            let strided = strided.transpose().map_err(|error| error.at(location))?;
            let kept = self.component(component, (arrangement, strided));
            kept.map_err(|error| error.at(location))?;
        }
        self.dimensions.truncate(0);
        object.shape.iter().try_for_each(|dimension| self.dimensions.uint(*dimension))?;
        let shape = self.cx.shapes.keep(self.dimensions.as_bytes())?;
        let product = Product::of(object.shape.iter().copied());
        let components = self.cx.components.get(first..).ok_or(BareError::internal())?;
        let dialect = self.cx.dialect;
        let layout = object.layout;
        let dimensions = self.cx.shapes.get(shape);
        let candidate = Candidate { layout, product, shape: dimensions, components, dialect };
        match object.layout {
            Layout::Dense | Layout::SparseCsr | Layout::SparseCoo | Layout::Unknown => {}
            // Views of other layouts read attributes that no front end has checked.
            _ => return Err(BareError::misuse(Misuse::Layout)),
        }
        candidate.check(self.options).map_err(|fault| {
            let location = Location::new(Some(ordinal), fault.component());
            BareError::nowhere(fault.kind).found(fault.found).at(location)
        })?;
        let count = len_u32(components.len());
        let (name, head) = self.name(object.name)?;
        let ascends = ordinal == 0
            || self.text.as_bytes().get(self.last_name.clone()) < Some(object.name.as_bytes());
        self.last_name = head.end..self.text.len();
        if object.layout == Layout::Unknown {
            // `Records::layout` reads the name of the layout behind the name of the object.
            let layout = object.layout_name.unwrap_or(Layout::Unknown.name());
            self.item(|text| text.text(layout))?;
        }
        let attributes = object.attributes.map(|map| self.map(map));
        let [name_head, ..] = len_u32(head.len()).to_le_bytes();
        let record = ObjectRecord {
            name,
            name_head,
            name_length: len_u32(object.name.len()),
            shape,
            attributes: attributes.transpose()?.unwrap_or(BytesLeft::END),
            first: len_u32(first),
            count,
            format: object.layout,
        };
        // Keeps the number of components and dimensions within 32 bits.
        let kept = self.cx.components.len().saturating_add(self.cx.shapes.len());
        if u64_from_usize(kept) > self.options.limit().manifest() {
            return Err(BareError::nowhere(Limit::Manifest).found(u64_from_usize(kept)));
        }
        let components = self.cx.components.get(first..).ok_or(BareError::internal())?;
        self.index.push(record, components, ascends).map_err(fault_error)
    }

    /// Ends the header, and checks the rules that hold for all tensors together.
    ///
    /// # Errors
    /// The first error of the builder; the format's rule on duplicate names; `blob-overlap`, `limit-decoded-total`; out
    /// of memory. [`Error::place`] counts tensors in the order in which they were passed.
    pub fn finish(self) -> Result<Parsed, Error> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        let Self { options, header, file_len, text, mut cx, mut index, .. } = self;
        let total = len_u32(text.len());
        index.rebase(&mut cx, total);
        let attributes = self.attributes.map(|at| at.rebased(total));
        let index = index.finish(cx, Header { attributes, version: None }, text.as_bytes());
        let mut index = index.map_err(|found| fault_error(found.fault).at(found.location))?;
        index.share_sums(text.as_bytes()).map_err(BareError::from)?;
        let mut validated = ValidatedManifest::of_front(header, file_len, index, *options);
        validated.findings = self.findings;
        Ok(Parsed(validated, text.into_bytes()))
    }

    /// Adds a finding, which does not keep the file from opening: a note, or an error that only a check of the file
    /// reports. Only the first finding by each rule is kept, and further findings are counted, so that memory does not
    /// follow the file.
    pub fn found(&mut self, error: Error) {
        self.found_times(error, 1);
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
                    self.found_times(copy, finding.more.saturating_add(1));
                }
                _ => self.failed = self.failed.or(Some(OutOfMemory.into())),
            }
        }
    }

    /// Adds `error` as [`found`](Self::found) does, and counts `times` findings by its rule.
    pub fn found_times(&mut self, error: Error, times: u64) {
        let is_same = |finding: &&mut Finding| finding.error.kind() == error.kind();
        if let Some(known) = self.findings.iter_mut().find(is_same) {
            known.more = known.more.saturating_add(times);
        } else if self.findings.try_reserve(1).is_ok() {
            self.findings.push(Finding { error, more: times.saturating_sub(1) });
        } else {
            self.failed = self.failed.or(Some(OutOfMemory.into()));
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

    /// Checks a component without regard to its tensor, and adds it to the index. `listed` is the size of the elements
    /// in bytes if they are strided.
    fn component(
        &mut self,
        raw: &RawComponent<'_>,
        (arrangement, listed): (Arrangement, Option<u64>),
    ) -> Result<(), BareError> {
        let RawComponent { offset, stored_length, storage, encoding, prefix, .. } = *raw;
        let shard = raw.file.map(|file| self.cx.shards.get(usize_from_u32(file)));
        let shard = match shard {
            Some(None) => return Err(BareError::misuse(Misuse::NoShards)),
            Some(shard) => shard,
            None => None,
        };
        let file_len = shard.map_or(self.file_len, |shard| shard.size);
        let shard = shard.map_or(BytesLeft::END, |shard| shard.name);
        let extent = Extent::within(offset, stored_length, file_len);
        let extent = extent.ok_or(BareError::nowhere(Rule::BlobBounds).found(stored_length))?;
        if raw.logical.is_some_and(|logical| logical.storage() != storage) {
            return Err(BareError::nowhere(Rule::LogicalTypeStorage));
        }
        let is_big = raw.byte_order == ByteOrder::Big && storage.width() > 1;
        match encoding {
            Encoding::Raw if raw.decoded_length.is_none_or(|length| length == stored_length) => {}
            Encoding::Zstd if is_big => return Err(BareError::nowhere(Rule::EndiannessCompressed)),
            Encoding::Zstd if raw.decoded_length.is_some() => {}
            Encoding::Deflate
                if raw.decoded_length.is_some() && self.cx.dialect.stream.is_some() => {}
            Encoding::Zstd | Encoding::Deflate => {
                return Err(BareError::nowhere(Rule::DecodedLengthMissing));
            }
            Encoding::Raw => return Err(BareError::nowhere(Rule::DecodedLengthRaw)),
            // A front end may use raw, zstd and deflate only.
            _ => return Err(BareError::misuse(Misuse::Settings)),
        }
        let is_streamed = prefix > 0 || raw.checksum.is_some() || listed.is_some();
        if is_streamed && (encoding == Encoding::Zstd || self.cx.dialect.stream.is_none()) {
            return Err(BareError::misuse(Misuse::Settings));
        }
        if encoding == Encoding::Raw && prefix > offset {
            return Err(BareError::nowhere(Rule::BlobBounds).found(prefix));
        }
        let digest = if is_streamed {
            let checksum = raw.checksum.map_or(ComponentRecord::NO_CHECKSUM, u64::from);
            let [start, end] = raw.checksum_range.unwrap_or_default();
            if start > end || end > file_len {
                return Err(BareError::nowhere(Rule::BlobBounds).found(end));
            }
            let strides = raw.strides.filter(|_| listed.is_some()).unwrap_or_default();
            let numbers = [prefix, checksum, start, end];
            self.item(|text| {
                numbers.iter().chain(strides).try_for_each(|number| text.uint(*number))
            })?
        } else {
            BytesLeft::END
        };
        let role = Role::from_name(raw.role.as_bytes());
        let at = match role {
            Some(_) => BytesLeft::END,
            None => self.item(|text| text.text(raw.role))?,
        };
        let logical = raw.logical.map_or(Logical::NONE, Logical::known);
        let decoded = listed.or(raw.decoded_length);
        let record = ComponentRecord {
            decoded: decoded.unwrap_or(0),
            has_decoded: decoded.is_some(),
            at,
            role,
            storage: Some(storage),
            logical,
            has_type: raw.logical.is_some(),
            encoding,
            order: ElementOrder::new(is_big, arrangement),
            digest,
            shard,
            ..ComponentRecord::raw(extent)
        };
        let unit = u64::from(logical.unit(storage).wrapping_sub(1));
        if let Some(size) = record.size().filter(|size| size & unit != 0) {
            let found = logical.described(storage).beside(size);
            return Err(BareError::nowhere(Rule::WholeElements).found(found));
        }
        push(&mut self.cx.components, record).map_err(fault_error)
    }

    /// Adds a name to the texts, and returns the place of its item and the range of the item's head.
    fn name(&mut self, name: &str) -> Result<(BytesLeft, Range<usize>), BareError> {
        let at = self.item(|text| text.text(name))?;
        let start = self.text.len().saturating_sub(name.len());
        let item = usize::try_from(at.get()).unwrap_or(start);
        Ok((at, item..start))
    }

    /// Checks a map of attributes, and adds it to the texts.
    fn map(&mut self, map: &[u8]) -> Result<BytesLeft, BareError> {
        let passed = pass_attributes(self.options.limit(), Rule::AttributesType, map, 0);
        let (rest, ()) = passed.map_err(|error| fault_error(fault(error)))?;
        if !rest.is_empty() {
            return Err(
                BareError::nowhere(Rule::ManifestTrailing).found(u64_from_usize(rest.len()))
            );
        }
        self.item(|text| text.raw(map))
    }

    /// Adds the item that `write` writes to the texts, and returns its place. The texts may take no more bytes than the
    /// limit on a manifest.
    fn item(
        &mut self,
        write: impl FnOnce(&mut Encoder) -> Result<(), OutOfMemory>,
    ) -> Result<BytesLeft, BareError> {
        let at = self.text.len();
        write(&mut self.text)?;
        let length = u64_from_usize(self.text.len());
        if length > self.options.limit().manifest() {
            return Err(BareError::nowhere(Limit::Manifest).found(length));
        }
        Ok(BytesLeft::from_start(at))
    }
}

/// Returns the arrangement of the elements of a component.
fn arrangement(shape: &[u64], raw: &RawComponent<'_>) -> Result<Arrangement, BareError> {
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

/// Turns `fault` into an error without an offset, because the texts of a front end are not bytes of the file.
fn fault_error(fault: Fault) -> BareError {
    BareError::nowhere(fault.kind).found(fault.found)
}
