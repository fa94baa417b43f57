//! Reading the content of one component, chunk by chunk.

use alloc::vec::Vec;
use core::num::{NonZeroU8, NonZeroUsize};
use core::ops::Range;

#[cfg(feature = "deflate")]
use super::deflate::Inflate;
use super::grow;
#[cfg(feature = "deflate")]
use super::latin1::Latin1;
use super::records::{RECORDS, Records};
#[cfg(feature = "zstd")]
use super::seekable::Seekable;
use super::strided::{Elements, Picked, Strided};
#[cfg(feature = "zstd")]
use super::zstd::Frames;
use crate::digest::{Hasher, Mismatch, Verified};
use crate::element::{ByteOrder, FIELD, StorageType, reverse};
use crate::error::{BareError, Error, ErrorKind, Misuse, OutOfMemory};
use crate::index::{Encoding, PickleRules};
use crate::manifest::{Component, Extent};
use crate::num::{u64_from_usize, usize_from_u32};
use crate::read_at::{Located, ReadAt, extend};
use crate::rules::{Limit, Rule, Unsupported};

/// A reader of one component, which returns decoded little-endian chunks and verifies the content as it reads.
///
/// Reading to the end verifies size, digest, compression and bools. The reader takes the memory of one chunk; for zstd
/// also two blocks, and up to two and a half times the window or the declared size, whichever is smaller. If the elements are
/// not stored in row-major order, their whole blob, or all of its elements, are read into memory when the reader is created.
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
/// let component = archive.tensor("t_f32")?.dense()?;
/// let mut reader = component.reader()?;
/// let mut bytes = 0;
/// while let Some(chunk) = reader.next_chunk()? {
///     bytes += chunk.len();
/// }
/// assert_eq!(reader.verified(), Some(zten::verify::Verified::NoDigest));
/// # Ok::<(), zten::Error>(())
/// ```
///
/// With `std`, the reader implements [`io::Read`](std::io::Read) for the same bytes.
pub struct Reader<'a> {
    pub(super) source: Located<'a>,
    pub(super) reading: Reading<'a>,
    buffer: Vec<u8>,
    /// Bytes of elements that have been read but not handed out, because the caller's `io::Read` buffer is smaller than 16
    /// bytes.
    #[cfg_attr(not(feature = "std"), expect(dead_code, reason = "only `io::Read` has them"))]
    held: LeftElements,
}

/// Bytes of elements: the first `length` of the array, of which the caller has got the first `taken`.
#[derive(Default)]
struct LeftElements {
    bytes: [u8; 16],
    length: u8,
    taken: u8,
}

impl core::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reader").field("component", &self.reading.component).finish_non_exhaustive()
    }
}

#[cfg(feature = "std")]
impl std::io::Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.held.taken == self.held.length {
            let mut bytes = self.held.bytes;
            if buffer.len() >= bytes.len() {
                return Ok(self.read_chunk(buffer)?);
            }
            // 16 bytes have room for an element of any type.
            let length = self.read_chunk(&mut bytes)?;
            self.held = LeftElements { bytes, length: u8::try_from(length).unwrap_or(0), taken: 0 };
        }
        let LeftElements { bytes, length, taken } = &mut self.held;
        let left = bytes.get((*taken).into()..(*length).into()).unwrap_or_default();
        let mut count = 0_u8;
        for (to, from) in buffer.iter_mut().zip(left) {
            *to = *from;
            count = count.saturating_add(1);
        }
        *taken = taken.saturating_add(count);
        Ok(count.into())
    }
}

/// The progress of reading a component: how many bytes have been read, and what has been verified.
pub(super) struct Reading<'a> {
    pub(super) component: Component<'a>,
    storage: StorageType,
    pub(super) stored: Stored,
    /// The hasher that computes the digest and the checksum of the component over the bytes read so far; `None` once all
    /// bytes have been read and the digest has been compared, even if it differs.
    pub(super) hasher: Option<Hasher>,
    /// The maximum size of a chunk in bytes: a multiple of the size of every element type.
    chunk: usize,
    /// The number of decoded bytes that have been read or skipped.
    position: u64,
    /// The last byte that was read, for the check of an unused nibble at the end.
    last: u8,
    pub(super) verified: Option<Verified>,
    mismatch: Option<Mismatch>,
    /// The error that every further call returns, once a call has failed.
    failed: Option<BareError>,
    /// Whether bools are checked to be 0 or 1. False while the blob of strided elements is read, because bytes between the
    /// elements are not bools; after a wrong bool was found in content with a checksum; and after [`Reader::leave_bools`].
    validates_bools: bool,
    /// The progress of extracting one field, if the blob is an array of records (a NumPy structured dtype) and the
    /// component is one field of them; `None` if the blob holds nothing but elements of the component.
    records: Option<Records>,
}

/// The stored bytes of a component, and the decoder of its encoding.
pub(super) enum Stored {
    Raw(Extent),
    #[cfg(feature = "zstd")]
    Zstd(Frames),
    #[cfg(feature = "zstd")]
    Seekable(Seekable),
    #[cfg(feature = "deflate")]
    Deflate(Inflate),
    #[cfg(feature = "deflate")]
    Latin1(Latin1),
    Strided(Strided),
}

impl Stored {
    /// Prepares to decode `component`. Reads the headers of all its zstd frames, or its seek table, if it has them. `prefix` is the
    /// number of decoded bytes before the first element that belong to the checksum of a deflated component: the header of an
    /// array in an `.npz` file, for example.
    ///
    /// # Errors
    /// `limit-decoded`; the rules on zstd frames and seek tables; `unsupported-feature` if this build cannot decode the component.
    fn open<R: ReadAt>(component: &Component<'_>, source: &R, prefix: u64) -> Result<Self, Error> {
        let (extent, limits) = (component.extent(), component.limits());
        #[cfg(not(feature = "deflate"))]
        let _ = prefix;
        Ok(match component.stored_encoding() {
            Encoding::Raw => Self::Raw(extent),
            #[cfg(feature = "zstd")]
            Encoding::Zstd => {
                let declared = component.decoded_length();
                Self::Zstd(Frames::open(source, extent, declared, limits)?)
            }
            #[cfg(feature = "zstd")]
            Encoding::ZstdSeekable => {
                let declared = component.decoded_length().ok_or(BareError::internal())?;
                Self::Seekable(Seekable::open(source, extent, declared, limits)?)
            }
            #[cfg(feature = "deflate")]
            Encoding::Deflate => {
                let declared = component.content_length().ok_or(BareError::internal())?;
                if declared > limits.decoded() {
                    let over = BareError::new(Limit::Decoded, extent.offset());
                    return Err(over.found(declared).into());
                }
                let rules = component.facts().stream.ok_or(BareError::internal())?;
                Self::Deflate(Inflate::open(extent, prefix, declared, rules)?)
            }
            #[cfg(feature = "deflate")]
            Encoding::Latin1 => {
                let declared = component.decoded_length().ok_or(BareError::internal())?;
                let rules = component.facts().stream.ok_or(BareError::internal())?;
                Self::Latin1(Latin1::open(extent, declared, rules))
            }
            _ => return Err(BareError::new(Unsupported::Feature, extent.offset()).into()),
        })
    }
}

impl<'a> Component<'a> {
    /// Creates a reader of the content of the component. The headers of all zstd frames, or the seek table, are read before
    /// anything is decoded. A checksum that the component shares with others is verified first, unless it was verified before,
    /// and the blob of elements that are not stored in row-major order is read first.
    ///
    /// # Errors
    /// [`Misuse::NoFile`] if the component comes from a manifest without its file; the errors of [`readable`](Self::readable);
    /// `unsupported-feature`, `unsupported-shard`; the rules `zstd-…` and `limit-…` that can be validated before decoding; the
    /// format's rule on checksums, if a shared checksum is wrong; any error of the source; if the blob is read first, also the
    /// errors of [`Reader::next_chunk`].
    pub fn reader(&self) -> Result<Reader<'a>, Error> {
        self.readable()?;
        self.any_reader()
    }

    /// Reads the content as [`reader`](Self::reader) does, including elements of an unknown logical type.
    pub(crate) fn any_reader(&self) -> Result<Reader<'a>, Error> {
        self.verify_surrounding()?;
        self.row_reader()
    }

    /// Creates a reader of the content that decompresses it, and keeps the elements in the order in which they are stored, which
    /// need not be row-major. The elements may have an unknown logical type. For a component that is one field of records, the
    /// reader returns the records with all of their fields. If one checksum covers bytes of several components, such as those
    /// that share a PyTorch storage, it is verified first.
    ///
    /// # Errors
    /// The errors of [`reader`](Self::reader), except those about an unknown logical type.
    pub(crate) fn reader_as_stored(&self) -> Result<Reader<'a>, Error> {
        self.verify_surrounding()?;
        self.stored_reader()
    }

    /// Reads the content as [`reader`](Self::reader) does, for callers that need only a part of it. A checksum that the
    /// component shares with others is not verified, because that would read a whole storage for a small slice.
    pub(crate) fn part_reader(&self) -> Result<Reader<'a>, Error> {
        self.readable()?;
        self.row_reader()
    }

    /// Creates a reader of the elements in row-major order. A shared checksum is not verified.
    fn row_reader(&self) -> Result<Reader<'a>, Error> {
        match self.field() {
            Some(field) => {
                let mut reader = self.stored_reader()?;
                let records = Records::new(field).map_err(|error| error.at(self.location()))?;
                reader.reading.records = Some(records);
                Ok(reader)
            }
            None if self.is_strided() && self.decoded_length() != Some(0) => self.rows(),
            None => self.stored_reader(),
        }
    }

    /// Creates a reader of the elements in the order in which they are stored. A shared checksum is not verified.
    fn stored_reader(&self) -> Result<Reader<'a>, Error> {
        let named = |error: BareError| self.tensor().named(error.at(self.location()));
        self.reader_of(self.stored().map_err(named)?)
    }

    /// Creates a reader that verifies a component of an unknown dtype or encoding: its bytes cannot be interpreted, but
    /// damage can be found. Returns `None` if the component has no digest or checksum that can be compared, and no
    /// compression that can be checked.
    pub(crate) fn uninterpreted_reader(&self) -> Result<Option<Reader<'a>>, Error> {
        let digests_stored = !self.facts().digests_decoded;
        let has_sum = match self.stored_encoding() {
            Encoding::Raw => self.digest().is_some() || self.has_checksum(),
            Encoding::Unknown => self.digest().is_some() && digests_stored,
            // Decoding compressed frames finds damage even without a digest.
            _ => true,
        };
        if has_sum { self.reader_of(StorageType::U8).map(Some) } else { Ok(None) }
    }

    /// Checks that the content is a pickle that `rules` allow. A pickle that is larger than `rules` allow is not checked, which
    /// is no error. The caller has verified the checksum of the content.
    pub(crate) fn check_pickle(&self, rules: &PickleRules) -> Result<(), Error> {
        let offset = self.extent().offset();
        let length = self.decoded_length().ok_or(BareError::internal())?;
        let stored = self.extent().length();
        let most = stored.saturating_mul(rules.expansion).saturating_add(rules.slack);
        if length > rules.longest.min(most) {
            // This pickle is not checked, and the component stays unread. Checking the pickle would take memory in
            // proportion to its decoded size, and a few stored bytes can decompress to a very large pickle.
            return Ok(());
        }
        let bytes = self.reader_of(StorageType::U8)?.collect()?;
        let checked = (rules.check)(&bytes, offset, self.limits());
        checked.map_err(|error| {
            // A decoded byte of compressed content has no offset in the file, so the error gets the offset of the blob.
            let is_raw = self.stored_encoding() == Encoding::Raw;
            let error = if is_raw { error } else { error.moved(offset) };
            self.tensor().named(error.at(self.location()))
        })
    }

    /// Creates a reader of the content in its stored order, as elements of the type `storage`.
    fn reader_of(&self, storage: StorageType) -> Result<Reader<'a>, Error> {
        // Errors get the tensor's name here and not in the callers: a `map_err` on the result would copy a large
        // `Reader`.
        let named = |error: Error| self.tensor().named(error.at(self.location()));
        let source = self.located().map_err(|error| self.tensor().named(error))?;
        let (prefix, checksum) = self.stream();
        let stored = if self.stored_encoding() == Encoding::Unknown {
            Stored::Raw(self.extent())
        } else {
            Stored::open(self, &source, prefix).map_err(named)?
        };
        let mut hasher = Hasher::new(self.digest()).with_checksum(checksum);
        if self.stored_encoding() == Encoding::Raw && prefix > 0 {
            let (mut bytes, offset) = (Vec::new(), self.extent().offset());
            let in_front = offset.saturating_sub(prefix)..offset;
            source.append_range(in_front, &mut bytes).map_err(named)?;
            hasher.update(&bytes);
        }
        Ok(self.reading(source, storage, stored, hasher))
    }

    /// Creates a reader in row-major order of elements that are stored by strides or in column-major order. Reads all
    /// of the blob first.
    ///
    /// # Errors
    /// `limit-decoded` if the blob or the elements exceed the limit; the errors of reading the blob.
    fn rows(&self) -> Result<Reader<'a>, Error> {
        let (location, extent, shape) = (self.location(), self.extent(), self.tensor().shape());
        let declared = self.decoded_length().ok_or(BareError::internal().at(location))?;
        // Either the whole blob or only its elements will be held in memory, so the larger of these two sizes is compared
        // with the limit.
        let most = declared.max(extent.length());
        if most > self.limits().decoded() {
            let over = BareError::new(Limit::Decoded, extent.offset()).found(most);
            return Err(over.at(location).into());
        }
        let mut reader = self.stored_reader()?;
        // With strides, bools are checked when they are handed out: bytes between elements are not bools, and may have
        // any value.
        reader.reading.validates_bools = self.strides().is_none();
        let width = self.element_size().ok_or(BareError::internal().at(location))?;
        let strided = if let Some(strides) = self.strides() {
            let dimensions = || shape.iter().copied().zip(strides.iter().copied());
            let elements = self.pick(&mut reader, dimensions(), (declared, width))?;
            Strided::new(elements, dimensions(), width)
        } else {
            let bytes = reader.collect()?;
            let mut next = 1_u64;
            let columns = shape.iter().map(|&dimension| {
                let stride = next;
                // The blob holds all elements, so their number fits in 64 bits and the product does not saturate.
                next = next.saturating_mul(dimension);
                (dimension, stride)
            });
            Strided::new(Elements::All(bytes), columns, width)
        };
        let Reader { source, reading, .. } = reader;
        let strided = strided.map_err(|error| error.at(location))?;
        let hasher = Hasher::found(reading.verified.ok_or(BareError::internal().at(location))?);
        Ok(self.reading(source, reading.storage, Stored::Strided(strided), hasher))
    }

    /// Reads all of a strided component with `reader`, and keeps only its elements if they are a small part of the
    /// blob. `dimensions` are the sizes and strides of the array; its elements take `declared` bytes, and `width` bytes
    /// each.
    fn pick(
        &self,
        reader: &mut Reader<'_>,
        dimensions: impl Iterator<Item = (u64, u64)>,
        (declared, width): (u64, u64),
    ) -> Result<Elements, Error> {
        let count = declared.checked_div(width).unwrap_or_default();
        let sizes = (count, width, self.extent().length());
        let picked = Picked::new(dimensions, sizes).map_err(|error| error.at(self.location()))?;
        let Some(mut picked) = picked else { return reader.collect().map(Elements::All) };
        let (mut at, bytes) = (0_u64, usize::try_from(width).unwrap_or(usize::MAX));
        while let Some(chunk) = reader.next_chunk()? {
            picked.take(at, chunk, bytes).map_err(|error| error.at(self.location()))?;
            at = at.saturating_add(u64_from_usize(chunk.len()));
        }
        Ok(Elements::Picked(picked))
    }

    /// Verifies the checksum that the component shares with others, if it has one, over the range that surrounds the
    /// component. With `std`, a range that has been verified since the file was opened is not read again, and a wrong checksum is
    /// remembered.
    pub(crate) fn verify_surrounding(&self) -> Result<(), Error> {
        let verify = || {
            let Some((range, wanted)) = self.surrounding() else { return Ok(()) };
            let start = range.start;
            let compute = || self.wrong_checksum(&range, wanted);
            let wrong = match self.shared_sum(&range) {
                Some(sum) => sum.verify_once(compute)?,
                None => compute()?,
            };
            match (wrong, self.facts().stream) {
                (Some(computed), Some(rules)) => {
                    let checksum = BareError::new(rules.checksum, start);
                    Err(checksum.found(computed.into()).into())
                }
                _ => Ok(()),
            }
        };
        verify().map_err(|error: Error| self.tensor().named(error.at(self.location())))
    }

    /// Reads `range` of the component's file, and returns its checksum if that differs from `wanted`. The checksum of a
    /// deflated range is that of the decoded bytes.
    fn wrong_checksum(&self, range: &Range<u64>, wanted: u32) -> Result<Option<u32>, Error> {
        if self.stored_encoding() == Encoding::Deflate {
            return self.wrong_decoded_checksum(wanted);
        }
        let (source, mut hasher) = (self.located()?, Hasher::new(None).with_checksum(Some(wanted)));
        let (mut at, mut buffer) = (range.start, Vec::new());
        while at < range.end {
            let left = range.end.saturating_sub(at).min(self.limits().chunk().into());
            let length = usize::try_from(left).unwrap_or(usize::MAX);
            if let Some(lent) = source.bytes_at(at, length) {
                hasher.update(lent);
            } else {
                extend(&mut buffer, length)?;
                source.read_at(at, &mut buffer)?;
                hasher.update(&buffer);
            }
            at = at.saturating_add(left);
        }
        Ok(hasher.wrong_checksum())
    }

    /// Decodes the whole content with its prefix, and returns the checksum of the decoded bytes if that differs from
    /// `wanted`.
    fn wrong_decoded_checksum(&self, wanted: u32) -> Result<Option<u32>, Error> {
        let mut reader = self.stored_reader()?;
        // The reader does not compute a checksum that components share. So its hasher is replaced by one that computes this
        // checksum of the prefix and of all decoded bytes.
        reader.reading.hasher = Some(Hasher::new(None).with_checksum(Some(wanted)));
        let (source, reading) = (&reader.source, &mut reader.reading);
        let mut buffer = Vec::new();
        extend(&mut buffer, reading.chunk.min(RECORDS))?;
        while reading.decode(source, 0, &mut buffer)? > 0 {}
        Ok(reading.hasher.as_ref().and_then(Hasher::wrong_checksum))
    }

    /// Creates a [`Reader`] of this component from its parts. No content has been read from `stored`, which decodes the bytes of
    /// `source` to elements of the type `storage`. `hasher` gets all bytes that the digest covers, and has got those before the
    /// content.
    #[inline]
    fn reading(
        &self,
        source: Located<'a>,
        storage: StorageType,
        stored: Stored,
        hasher: Hasher,
    ) -> Reader<'a> {
        let reading = Reading {
            component: *self,
            storage,
            stored,
            hasher: Some(hasher),
            chunk: usize_from_u32(self.limits().chunk()),
            position: 0,
            last: 0,
            verified: None,
            mismatch: None,
            failed: None,
            validates_bools: true,
            records: None,
        };
        Reader { source, reading, buffer: Vec::new(), held: LeftElements::default() }
    }

    /// Returns the rule that bools other than 0 and 1 break: v1.1 II.4, v1.2 §2. Returns `None` for elements of other
    /// types, and in 0.1, where any byte is a bool.
    pub(crate) fn bool_rule(&self) -> Option<ErrorKind> {
        self.facts().bool_value.filter(|_| self.storage_type() == Some(StorageType::Bool))
    }
}

/// Validates that `bytes` are 0 or 1, unless `rule` is `None`. `offset` is the position of the first byte in the file,
/// if the bytes are in the file.
pub(crate) fn validate_bools(
    bytes: &[u8],
    offset: Option<u64>,
    rule: Option<ErrorKind>,
) -> Result<(), BareError> {
    let Some(rule) = rule else { return Ok(()) };
    // The fold has no branch for each byte, so valid bools are checked at the speed of memory.
    if bytes.iter().fold(0, |all, byte| all | byte) <= 1 {
        return Ok(());
    }
    let wrong = (0_u64..).zip(bytes).find(|(_, byte)| **byte > 1);
    wrong.map_or(Ok(()), |(at, byte)| {
        let offset = offset.map(|offset| offset.saturating_add(at));
        Err(BareError::new(rule, offset).found((*byte).into()))
    })
}

impl Reader<'_> {
    /// Returns the next chunk of decoded little-endian bytes: a whole number of elements, as many as fit in
    /// [`Limits::chunk`](crate::Limits::chunk). Returns `None` at the end, once everything has been verified.
    ///
    /// # Errors
    /// `bool-value`, `digest-mismatch`, `decoded-size`, `whole-elements`, `nibble-value`, the rules `zstd-…`, `limit-decoded`; in
    /// other formats, the format's rules on bools, checksums and compression; any error of the source.
    ///
    /// An error is final: every later call returns the same error, or [`Misuse::Aborted`] if the source failed.
    pub fn next_chunk(&mut self) -> Result<Option<&[u8]>, Error> {
        let Self { source, reading, buffer, .. } = self;
        reading.unless_failed(|reading| {
            let read = reading.next(source, buffer);
            read.map_err(|error| reading.damage(source, error))
        })
    }

    /// Reads the next chunk straight into `buffer`, as [`next_chunk`](Self::next_chunk) does. Returns how many bytes
    /// were written to the front of `buffer`: a whole number of storage elements and at most
    /// [`Limits::chunk`](crate::Limits::chunk), or 0 at the end, once everything has been verified. `buffer` may be
    /// empty only after all bytes have been read.
    ///
    /// # Errors
    /// The errors of [`next_chunk`](Self::next_chunk); [`Misuse::Buffer`] if bytes are left and `buffer` has no room
    /// for one element.
    pub fn read_chunk(&mut self, buffer: &mut [u8]) -> Result<usize, Error> {
        self.reading.unless_failed(|reading| {
            let read = reading.read(&self.source, buffer);
            read.map_err(|error| reading.damage(&self.source, error))
        })
    }

    /// Returns an upper bound for the size of the next chunk in bytes.
    pub(crate) fn wanted(&self) -> usize {
        self.reading.wanted()
    }

    /// Turns the check of bools off, so that bytes other than 0 and 1 are handed out.
    pub(super) fn leave_bools(&mut self) {
        self.reading.validates_bools = false;
    }

    /// Reads the whole content into memory. Nothing may have been read before.
    ///
    /// # Errors
    /// `limit-decoded` if the stored or the decoded size exceeds the limit, or if the decoded size of compressed content is not
    /// known; the errors of [`read_chunk`](Self::read_chunk).
    pub(super) fn hold(&mut self) -> Result<Vec<u8>, Error> {
        let component = self.reading.component;
        let stored = component.extent().length();
        let length = match component.stored_encoding() {
            Encoding::Raw => stored,
            _ => component.decoded_length().unwrap_or(u64::MAX).max(stored),
        };
        if length > component.limits().decoded() {
            let over = BareError::new(Limit::Decoded, component.extent().offset()).found(length);
            return Err(over.at(component.location()).into());
        }
        self.collect()
    }

    /// Reads the whole content into memory. Nothing may have been read before, and the caller has checked the size.
    fn collect(&mut self) -> Result<Vec<u8>, Error> {
        let declared = self.reading.length();
        let most = declared.and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX);
        let mut bytes = Vec::new();
        if matches!(self.reading.stored, Stored::Raw(_)) {
            // The file has at least as many bytes, so the size was not invented.
            bytes.try_reserve_exact(most).map_err(|_| BareError::from(OutOfMemory))?;
        }
        loop {
            let filled = bytes.len();
            // Once all declared bytes have been read, a read into an empty buffer verifies that the content ends there.
            let wanted = self.wanted().min(most.saturating_sub(filled));
            let needed = filled.saturating_add(wanted);
            grow(&mut bytes, needed, most).map_err(BareError::from)?;
            bytes.resize(needed, 0);
            let room = bytes.get_mut(filled..).ok_or(BareError::internal())?;
            let length = self.read_chunk(room)?;
            bytes.truncate(filled.saturating_add(length));
            if length == 0 {
                return Ok(bytes);
            }
        }
    }

    /// Returns the digest that the manifest declares and the digest that was computed, after the error `digest-mismatch`; `None`
    /// before, and after any other error.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.reading.mismatch.as_ref()
    }

    /// Returns how the content was verified, once everything has been read; `None` before.
    pub fn verified(&self) -> Option<Verified> {
        self.reading.verified
    }

    /// Returns whether [`seek`](Self::seek) can skip content without reading it. If so, the digest is not computed.
    pub(crate) fn seeks(&mut self) -> bool {
        let is_stream = matches!(
            self.reading.component.stored_encoding(),
            Encoding::Zstd | Encoding::Deflate | Encoding::Latin1
        );
        let is_stream = is_stream || self.reading.records.is_some();
        let seeks = !is_stream || matches!(self.reading.stored, Stored::Strided(_));
        if seeks {
            self.reading.hasher = Some(Hasher::new(None));
        }
        seeks
    }

    /// Skips to the decoded bytes `run`, which lie at or after the current position. Later chunks have at most `most`
    /// bytes; in a seekable zstd component the next chunk also ends with `run`, so that no frame is decoded only for
    /// bytes after `run`.
    pub(crate) fn seek(&mut self, run: &Range<u64>, most: usize) -> Result<(), Error> {
        let reading = &mut self.reading;
        let distance = run.start.saturating_sub(reading.position);
        reading.chunk = most;
        #[cfg(feature = "zstd")]
        if let Stored::Seekable(frames) = &mut reading.stored {
            extend(&mut self.buffer, most)?;
            let skipped = frames.skip(&self.source, distance, &mut self.buffer);
            skipped.map_err(|error| error.at(reading.component.location()))?;
            // The chunk must not reach into a frame that `run` does not need.
            let left = run.end.saturating_sub(run.start.max(reading.position));
            reading.chunk = usize::try_from(left).unwrap_or(most).min(most).max(1);
        }
        reading.position = reading.position.saturating_add(distance);
        Ok(())
    }

    /// Decodes the rest of a frame that has been begun, at most `most` bytes at a time, to verify the frame's checksum. Does
    /// nothing for components that are not seekable zstd.
    pub(crate) fn settle(&mut self, most: usize) -> Result<(), Error> {
        #[cfg(feature = "zstd")]
        if let Stored::Seekable(frames) = &mut self.reading.stored {
            extend(&mut self.buffer, most)?;
            let settled = frames.settle(&self.source, &mut self.buffer);
            settled.map_err(|error| error.at(self.reading.component.location()))?;
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Calls `read`, unless an earlier call has failed. An error is stored for later calls, and gets the names of the
    /// tensor and the component.
    fn unless_failed<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Some(error) = self.failed {
            return Err(self.component.tensor().named(error));
        }
        match read(self) {
            Ok(read) => Ok(read),
            Err(error) => Err(self.fail(error)),
        }
    }

    /// Stores `error` for all later calls, and adds the names of the tensor and the component to it.
    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        let error = error.at(self.component.location());
        self.failed = Some(match error.kind() {
            ErrorKind::Read => Misuse::Aborted.into(),
            _ => error.bare(),
        });
        self.component.tensor().named(error)
    }

    /// Reads the next chunk: bytes that the source lends, or bytes that are read into `buffer`. Each byte is read from the
    /// source once, so that the returned bytes are the bytes that were hashed and validated even if the file changes.
    fn next<'c, R: ReadAt>(
        &mut self,
        source: &'c R,
        buffer: &'c mut Vec<u8>,
    ) -> Result<Option<&'c [u8]>, Error> {
        if let Some(lent) = self.lent(source)? {
            return Ok(Some(lent));
        }
        extend(buffer, self.wanted())?;
        let length = self.fill(source, buffer)?;
        buffer.truncate(length);
        Ok((length > 0).then_some(buffer))
    }

    /// Returns the total number of decoded bytes, if the file gives it.
    fn length(&self) -> Option<u64> {
        if let (Stored::Raw(extent), None) = (&self.stored, &self.records) {
            return Some(extent.length());
        }
        self.component.decoded_length()
    }

    /// Returns the largest size that the next chunk may have in bytes, or 0 at the end. For compressed content of which all
    /// declared bytes have come the size is 1, because only room for another byte shows that the stream ends there.
    fn wanted(&self) -> usize {
        let is_exact = matches!(self.stored, Stored::Raw(_) | Stored::Strided(_));
        let least = u64::from(!is_exact && self.records.is_none());
        let left = match self.length() {
            _ if self.hasher.is_none() => 0,
            Some(length) => length.saturating_sub(self.position).max(least),
            None => u64::MAX,
        };
        usize::try_from(left).unwrap_or(self.chunk).min(self.chunk)
    }

    /// Returns the next chunk if the source lends it: uncompressed little-endian content that the source has in memory. Returns
    /// `None` at the end, for a field of records, and for elements that are negated when they are read.
    fn lent<'c, R: ReadAt>(&mut self, source: &'c R) -> Result<Option<&'c [u8]>, BareError> {
        let (Stored::Raw(extent), ByteOrder::Little, None, true) = (
            &self.stored,
            self.component.byte_order(),
            &self.records,
            self.component.negation().is_none(),
        ) else {
            return Ok(None);
        };
        let (at, length) = (extent.offset().saturating_add(self.position), self.wanted());
        let (Some(hasher), Some(lent)) = (&mut self.hasher, source.bytes_at(at, length)) else {
            return Ok(None);
        };
        if length == 0 {
            return Ok(None);
        }
        if lent.len() != length {
            return Err(BareError::misuse(Misuse::Supply));
        }
        hasher.update(lent);
        self.pass(lent)?;
        Ok(Some(lent))
    }

    /// Reads at most one chunk, a whole number of elements, to the front of `buffer`.
    fn read<R: ReadAt>(&mut self, source: &R, buffer: &mut [u8]) -> Result<usize, Error> {
        let most = buffer.len().min(self.chunk);
        let rest = match self.storage.divisor() {
            // The buffer has room for all remaining bytes, so it needs no rounding to whole elements.
            _ if self.wanted() <= most => 0,
            width if width.get() > 1 => most % NonZeroUsize::from(width),
            // A chunk of big-endian blocks ends between fields, so that the two bytes of a field are swapped in one
            // chunk.
            _ if self.component.byte_order() == ByteOrder::Big => most % FIELD,
            _ => 0,
        };
        let room = buffer.get_mut(..most.saturating_sub(rest)).ok_or(BareError::internal())?;
        if room.is_empty() && self.wanted() > 0 {
            // Only another read tells whether compressed content has ended, and the buffer has no room for a byte.
            return match self.next(source, &mut Vec::new())? {
                Some(_) => Err(BareError::misuse(Misuse::Buffer).into()),
                None => Ok(0),
            };
        }
        self.fill(source, room)
    }

    /// Reads decoded bytes to the front of `room`, at most until `room` is full or no bytes are left, and returns their number.
    /// At the end, where that number is 0, verifies what [`end`](Self::end) verifies.
    fn fill<R: ReadAt>(&mut self, source: &R, room: &mut [u8]) -> Result<usize, Error> {
        let wanted = self.wanted().min(room.len());
        // One call decodes no more than the declared bytes, whatever the size of the buffer. Whether the stream ends there is
        // found by the next call.
        let room = room.get_mut(..wanted).ok_or(BareError::internal())?;
        if self.hasher.is_none() {
            return Ok(0);
        }
        let is_decoded = !matches!(self.stored, Stored::Raw(_));
        if is_decoded && self.component.bool_rule().is_some() {
            // 0 is a valid bool, so if decoding fails, `first_error` does not take bytes that were not decoded for wrong bools.
            room.fill(0);
        }
        let decoded = match self.records.take() {
            Some(mut records) => {
                let decoded = records.read(room, |at, room| self.decode(source, at, room));
                self.records = Some(records);
                decoded
            }
            None => self.decode(source, self.position, room),
        };
        let length = match decoded {
            Ok(length) => length,
            Err(error) if is_decoded => return Err(self.first_error(room, error)),
            Err(error) => return Err(error),
        };
        if length == 0 {
            self.end()?;
            return Ok(0);
        }
        let bytes = room.get_mut(..length).ok_or(BareError::internal())?;
        let position = self.position;
        self.pass(bytes)?;
        // The elements of a strided array were reordered and byte-swapped when the blob was read.
        let is_done = matches!(self.stored, Stored::Strided(_));
        if !is_done && self.component.byte_order() == ByteOrder::Big {
            if let Some(fields) = self.component.swapped_fields() {
                fields.swap(position, bytes);
            } else {
                let width = usize::from(self.storage.width()).max(1);
                bytes.chunks_exact_mut(width).for_each(reverse);
            }
        }
        let negation = self.component.negation();
        if !is_done
            && !negation.is_none()
            && let Some(width) = NonZeroU8::new(self.storage.width())
        {
            let is_complex = self.component.logical().known.is_some();
            negation.apply((position, width), is_complex, bytes);
        }
        Ok(length)
    }

    /// Returns the error to report after decoding into `room` failed with `error`. If the bytes that were decoded before the
    /// failure contain a wrong bool, the error is about this bool: a smaller buffer would have found it first, and the error
    /// must not depend on the size of the buffer. An error that does not reject the file, such as a failed read, is returned
    /// unchanged. If the content has a checksum, damage is always reported before wrong bools.
    #[cold]
    fn first_error(&mut self, room: &[u8], error: Error) -> Error {
        let has_checksum = self.hasher.as_ref().is_some_and(Hasher::has_checksum);
        if has_checksum || !error.is_rejection() {
            return error;
        }
        self.pass(room).map_or_else(Error::from, |()| error)
    }

    /// Decodes the next bytes to the front of `room`, and returns their number: 0 at the end. `position` is the number of
    /// bytes that have been decoded before.
    fn decode<R: ReadAt>(
        &mut self,
        source: &R,
        position: u64,
        room: &mut [u8],
    ) -> Result<usize, Error> {
        let hasher = self.hasher.as_mut().ok_or(BareError::internal())?;
        match &mut self.stored {
            Stored::Raw(extent) => {
                let left = extent.length().saturating_sub(position);
                let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(room.len());
                let room = room.get_mut(..wanted).ok_or(BareError::internal())?;
                if wanted > 0 {
                    let at = extent.offset().saturating_add(position);
                    source.read_at(at, room)?;
                    hasher.update(room);
                }
                Ok(wanted)
            }
            #[cfg(feature = "zstd")]
            Stored::Zstd(frames) => frames.read(source, room, |bytes| hasher.update(bytes)),
            #[cfg(feature = "zstd")]
            Stored::Seekable(frames) => {
                let length = frames.read(source, room)?;
                // In generation 2, digests are computed over decoded bytes.
                hasher.update(room.get(..length).ok_or(BareError::internal())?);
                Ok(length)
            }
            #[cfg(feature = "deflate")]
            Stored::Deflate(stream) => stream.read(source, room, |bytes| hasher.update(bytes)),
            #[cfg(feature = "deflate")]
            Stored::Latin1(text) => text.read(source, room, |bytes| hasher.update(bytes)),
            Stored::Strided(strided) => {
                strided.read(position, room)?;
                Ok(room.len())
            }
        }
    }

    /// Validates the bools of `chunk`, and advances the position by its length.
    pub(super) fn pass(&mut self, chunk: &[u8]) -> Result<(), BareError> {
        let offset = self.offset_of(self.position);
        self.last = chunk.last().copied().unwrap_or(self.last);
        self.position = self.position.saturating_add(u64_from_usize(chunk.len()));
        let rule = self.component.bool_rule().filter(|_| self.validates_bools);
        validate_bools(chunk, offset, rule)
    }

    /// Returns the error to report for `error`. After a wrong bool, content with a checksum is read to its end: if the
    /// checksum is wrong, too, the content is damaged, and that error is returned instead of an error that blames the
    /// writer. An error that occurs while the rest is read is also returned instead.
    #[cold]
    fn damage<R: ReadAt>(&mut self, source: &R, error: Error) -> Error {
        let has_checksum = self.hasher.as_ref().is_some_and(Hasher::has_checksum);
        if !has_checksum || Some(error.kind()) != self.component.bool_rule() {
            return error;
        }
        self.validates_bools = false;
        let mut room = Vec::new();
        loop {
            let filled = match extend(&mut room, self.wanted()) {
                Ok(()) => self.fill(source, &mut room),
                Err(memory) => return memory.into(),
            };
            match filled {
                Ok(0) => return error,
                Ok(_) => {}
                Err(damage) => return damage,
            }
        }
    }

    /// Validates what can be checked only at the end: whole elements, the unused nibble, the checksum and the digest.
    pub(super) fn end(&mut self) -> Result<(), BareError> {
        // Components of 1.x hold whole elements. If the manifest does not give the decoded size of a component, it is known
        // only now.
        let unit =
            self.component.unit().filter(|_| self.component.facts().container.whole_elements);
        if unit.is_some_and(|unit| !self.position.is_multiple_of(unit)) {
            let bytes = self.position;
            let found = self.component.described().map_or(bytes, |element| element.beside(bytes));
            return Err(BareError::nowhere(Rule::WholeElements).found(found));
        }
        // The high nibble of the last byte must be 0 if the number of `f4_e2m1` elements is odd: v2 appendix A.
        let odd = self.component.packed_elements().is_some_and(|count| count & 1 == 1);
        if odd && self.last > 15 {
            let offset = self.position.checked_sub(1).and_then(|last| self.offset_of(last));
            return Err(BareError::new(Rule::NibbleValue, offset).found(self.last.into()));
        }
        let wrong = self.hasher.as_ref().and_then(Hasher::wrong_checksum);
        if let (Some(computed), Some(rules)) = (wrong, self.component.facts().stream) {
            let offset = self.component.extent().offset();
            let checksum = BareError::new(rules.checksum, offset);
            return Err(checksum.found(computed.into()));
        }
        let is_checked = self.hasher.as_ref().is_some_and(Hasher::has_checksum);
        if is_checked && let Some(sum) = self.component.shared_sum(&self.component.extent().range())
        {
            // Other components that lie in the same storage share this checksum, so it is verified for them, too.
            sum.set_verified();
        }
        // The hasher is taken out, so a further call at the end of the content does not compare the digest again.
        match self.hasher.take().map(Hasher::finish) {
            Some(Ok(verified)) => self.verified = Some(verified),
            Some(Err(mismatch)) => {
                self.mismatch = Some(mismatch);
                let offset = self.component.extent().offset();
                return Err(BareError::new(Rule::DigestMismatch, offset).found(mismatch.heads()));
            }
            None => {}
        }
        Ok(())
    }

    /// Returns the offset in the file of the decoded byte at `position`, or `None` if the content is compressed or was brought
    /// into row-major order.
    fn offset_of(&self, position: u64) -> Option<u64> {
        let Stored::Raw(extent) = self.stored else { return None };
        extent.offset().checked_add(position)
    }
}
