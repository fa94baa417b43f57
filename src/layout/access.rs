//! From objects and their components to views: borrowed where they lie, or decoded.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::num::NonZeroU64;

#[cfg(feature = "ndarray")]
use ndarray::{ArrayViewD, IxDyn};

use super::blocks::{GgufBlocks, Mx, QuantGroup};
use super::buffer::{Decoded, Lines};
use super::quantized::QuantizedGroup;
use super::sparse::{Coo, Csr};
use super::view::{Kind, View};
use crate::codec::{Content, Idle, ReadAt, ReadError, Verified, grow};
use crate::element::{ByteOrder, Element, StorageType};
use crate::error::{Error, ErrorKind, Misuse};
use crate::format::{Encoding, Format};
use crate::limits::Limits;
use crate::manifest::{Component, Extent, Object, Shape};
use crate::num::u64_from_usize;
use crate::rules::Unsupported;

/// A dense object: its shape and its one component.
#[derive(Clone, Copy, Debug)]
pub struct Dense<'a> {
    data: Component<'a>,
}

impl<'a> Object<'a> {
    /// The object as a dense array.
    ///
    /// # Errors
    /// [`Misuse::Format`] where it is of another format; `unsupported-layout`, `unsupported-format` where
    /// that is not known.
    #[inline]
    pub fn dense(&self) -> Result<Dense<'a>, Error> {
        let data = match self.format() {
            // Each has it, so that where there is one component, it is that.
            Format::Dense => self.only_component().or_else(|| self.component("data")),
            _ => None,
        };
        match data {
            Some(data) => Ok(Dense { data }),
            None => Err(self.other_format()),
        }
    }

    /// The object as compressed sparse rows.
    ///
    /// # Errors
    /// The same as [`dense`](Self::dense).
    pub fn sparse_csr(&self) -> Result<Csr<Component<'a>>, Error> {
        self.read_as(Format::SparseCsr, Csr::of)
    }

    /// The object as a list of coordinates.
    ///
    /// # Errors
    /// The same as [`dense`](Self::dense).
    pub fn sparse_coo(&self) -> Result<Coo<'a, Component<'a>>, Error> {
        self.read_as(Format::SparseCoo, Coo::of)
    }

    /// The object as quantized groups.
    ///
    /// # Errors
    /// The same as [`dense`](Self::dense).
    pub fn quantized_group(&self) -> Result<QuantizedGroup<'a>, Error> {
        self.read_as(Format::QuantizedGroup, QuantizedGroup::of)
    }

    /// The object as blocks with a scale each (2).
    ///
    /// # Errors
    /// The same as [`dense`](Self::dense).
    pub fn mx(&self) -> Result<Mx<'a, Component<'a>>, Error> {
        self.read_as(Format::Mx, Mx::of)
    }

    /// The object as groups of codes (2).
    ///
    /// # Errors
    /// The same as [`dense`](Self::dense).
    pub fn quant_group(&self) -> Result<QuantGroup<'a>, Error> {
        self.read_as(Format::QuantGroup, QuantGroup::of)
    }

    /// The object as blocks of a type of GGUF (2).
    ///
    /// # Errors
    /// The same as [`dense`](Self::dense).
    pub fn gguf_blocks(&self) -> Result<GgufBlocks<'a>, Error> {
        self.read_as(Format::GgufBlocks, GgufBlocks::of)
    }

    fn read_as<T>(&self, format: Format, read: fn(&Self) -> Option<T>) -> Result<T, Error> {
        let own = (self.format() == format).then(|| read(self)).flatten();
        own.ok_or_else(|| self.other_format())
    }

    /// The reason why the object cannot be read as the layout that was asked for.
    #[cold]
    fn other_format(&self) -> Error {
        let place = self.components().next().map(|first| first.place()).unwrap_or_default();
        self.unknown_layout().unwrap_or(Error::misuse(Misuse::Format).at(place))
    }

    /// The error of an object of 0.1 or 2 whose layout is not known, so that it cannot be read as a tensor.
    pub(crate) fn unknown_layout(&self) -> Option<Error> {
        let why = self.dialect().unknown_format.filter(|_| self.format() == Format::Unknown)?;
        self.components().next().map(|first| first.error(why))
    }
}

impl<'a> Component<'a> {
    /// The elements where they lie in the file. For components of an
    /// [`Archive`](crate::Archive), which holds that file.
    ///
    /// # Errors
    /// [`Misuse::NoFile`] where the component comes from a manifest without its file; as
    /// [`bind`](Self::bind).
    pub fn view(&self) -> Result<View<'a>, Error> {
        self.bind(self.file()?)
    }

    /// Binds the component to the file it is in, all of whose bytes are in `file`. This is for
    /// those who have opened a manifest by itself; it is up to them that it is that file's.
    /// Components of an [`Archive`](crate::Archive) have a [`view`](Self::view).
    ///
    /// # Errors
    /// [`Misuse::Compressed`] where it is not raw; [`Misuse::Size`] where `file` is shorter than
    /// the file that was opened; `unsupported-dtype`, `unsupported-encoding` in 0.1.
    #[inline]
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<View<'d>, Error> {
        let storage = self.readable()?;
        let extent = self.extent();
        let length = usize::try_from(extent.length()).ok();
        let blob = length.and_then(|length| file.bytes_at(extent.offset(), length));
        let blob = blob.ok_or_else(|| Error::misuse(Misuse::Size).at(self.place()))?;
        self.bound(blob, self.kind_of(storage, extent))
    }

    /// Binds the component to its own stored bytes, [`extent`](Self::extent) of the file.
    ///
    /// # Errors
    /// The same as [`bind`](Self::bind); [`Misuse::Size`] where there are not exactly as many bytes.
    pub fn bind_blob<'d>(&self, blob: &'d [u8]) -> Result<View<'d>, Error> {
        let storage = self.readable()?;
        let extent = self.extent();
        let bound = self.bound(blob, self.kind_of(storage, extent))?;
        if u64_from_usize(blob.len()) != extent.length() {
            return Err(Error::misuse(Misuse::Size).at(self.place()));
        }
        Ok(bound)
    }

    /// Binds it to its stored bytes, if they are its elements.
    #[inline]
    fn bound<'d>(&self, bytes: &'d [u8], kind: Kind) -> Result<View<'d>, Error> {
        if !self.is_raw() {
            return Err(Error::misuse(Misuse::Compressed).at(self.place()));
        }
        Ok(View::new(bytes, kind, None))
    }

    /// The kind of its stored bytes.
    pub(crate) fn kind(&self) -> Result<Kind, Error> {
        Ok(self.kind_of(self.readable()?, self.extent()))
    }

    #[inline]
    fn kind_of(&self, storage: StorageType, extent: Extent) -> Kind {
        Kind {
            storage,
            logical: self.logical(),
            order: self.byte_order(),
            bool_rule: self.bool_rule(),
            offset: self.is_raw().then(|| extent.offset()),
            place: self.place(),
        }
    }

    /// The type in which its elements are stored, if they can be read.
    ///
    /// # Errors
    /// `unsupported-dtype` or `unsupported-encoding`: v0.1 §8; in 2 `unsupported-encoding`,
    /// `unsupported-type`, `unsupported-shard`: v2 §3.4, §4.2, §7.
    #[inline]
    pub fn readable(&self) -> Result<StorageType, Error> {
        let storage = self.stored_or_why().and_then(|storage| {
            match (self.logical().unknown, self.dialect().unknown_type) {
                (true, Some(why)) => Err(why),
                _ => Ok(storage),
            }
        });
        storage.map_err(|why| self.error(why))
    }

    /// The type in which its elements are stored, if their bytes can be read, whatever they mean.
    pub(crate) fn stored(&self) -> Result<StorageType, Error> {
        self.stored_or_why().map_err(|why| self.error(why))
    }

    /// [`stored`](Self::stored), or why they cannot.
    #[inline]
    fn stored_or_why(&self) -> Result<StorageType, Unsupported> {
        if self.is_in_other_file() {
            return Err(Unsupported::Shard);
        }
        if self.encoding() == Encoding::Unknown {
            return Err(Unsupported::Encoding);
        }
        self.storage_type().ok_or(Unsupported::Dtype)
    }

    /// The error of all of it, at its first byte in the file.
    ///
    /// It takes a copy, so that the component need not have an address where all is well.
    #[cold]
    pub(crate) fn error(self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(kind, self.extent().offset()).at(self.place())
    }

    /// All of the content, decoded, little-endian and verified, in memory of its own. Memory
    /// grows as bytes come and never by what is claimed; where the manifest gives the decoded
    /// size, it is at most that, rounded up to 64 bytes.
    ///
    /// # Errors
    /// The same as [`content`](Self::content) and [`Content::next_chunk`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn decode<R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
    ) -> Result<Decoded, ReadError<R::Error>> {
        self.collect(self.content(source, limits)?)
    }

    /// The same as [`decode`](Self::decode), with threads that have nothing else to do.
    pub(crate) fn decode_on<S: ReadAt + Sync + ?Sized>(
        &self,
        source: &S,
        limits: &Limits,
        idle: &Idle,
    ) -> Result<Decoded, ReadError<S::Error>> {
        let content = self.content(source, limits)?;
        #[cfg(all(feature = "zstd", feature = "std"))]
        if let Some(pieces) = content.pieces() {
            let lines = Lines::zeros(pieces.decoded);
            let mut lines = lines.map_err(|error| Error::from(error).at(self.place()))?;
            if let Some(verified) = content.read_together(pieces, lines.as_mut(), limits, idle) {
                return Ok(Decoded::new(lines, self.decoded_kind()?, verified));
            }
            return self.decode(source, limits);
        }
        self.collect(content)
    }

    /// All of a content of which nothing has been read.
    fn collect<R: ReadAt>(
        &self,
        mut content: Content<'_, R>,
    ) -> Result<Decoded, ReadError<R::Error>> {
        let most = self.decoded_length().and_then(|bytes| usize::try_from(bytes).ok());
        let most = most.unwrap_or(usize::MAX);
        let no_memory = |error| Error::from(error).at(self.place());
        let mut lines = Lines::default();
        if self.encoding() == Encoding::Raw {
            // All of it lies in the file.
            let length = usize::try_from(self.extent().length()).unwrap_or(usize::MAX);
            lines.reserve(length).map_err(no_memory)?;
        }
        loop {
            // A byte more than is declared would take a line more.
            let left = most.saturating_sub(lines.len()).min(content.wanted());
            let length = content.read_chunk(lines.room(left, most).map_err(no_memory)?)?;
            if length == 0 {
                break;
            }
            lines.add(length);
        }
        Ok(Decoded::new(lines, self.decoded_kind()?, outcome(&content)?))
    }

    /// The same as [`decode`](Self::decode), into memory of the caller's: `buffer` must be exactly as
    /// long as the decoded content, [`decoded_length`](Self::decoded_length) where that is
    /// known. Bytes go from the source, or from the decoder, straight into `buffer`, and are
    /// hashed there; nothing is allocated but what decoding zstd needs. The elements can be
    /// borrowed as native ones if `buffer` is aligned for them.
    ///
    /// If it fails, `buffer` holds whatever had been read by then.
    ///
    /// # Errors
    /// The same as [`decode`](Self::decode); [`Misuse::Buffer`] where `buffer` has another length.
    pub fn read_into<'b, R: ReadAt>(
        &self,
        source: R,
        limits: &Limits,
        buffer: &'b mut [u8],
    ) -> Result<View<'b>, ReadError<R::Error>> {
        let kind = self.kind_in(buffer)?;
        self.fill(kind, self.content(source, limits)?, buffer)
    }

    /// The same as [`read_into`](Self::read_into), with threads that have nothing else to do.
    pub(crate) fn read_into_on<'b, S: ReadAt + Sync + ?Sized>(
        &self,
        source: &S,
        limits: &Limits,
        buffer: &'b mut [u8],
        idle: &Idle,
    ) -> Result<View<'b>, ReadError<S::Error>> {
        let kind = self.kind_in(buffer)?;
        let content = self.content(source, limits)?;
        #[cfg(all(feature = "zstd", feature = "std"))]
        if let Some(pieces) = content.pieces() {
            return match content.read_together(pieces, buffer, limits, idle) {
                Some(verified) => Ok(View::new(buffer, kind, Some(verified))),
                None => self.read_into(source, limits, buffer),
            };
        }
        self.fill(kind, content, buffer)
    }

    /// The kind of its bytes in `buffer`, which has to be as long as they are, where that is known.
    fn kind_in(&self, buffer: &[u8]) -> Result<Kind, Error> {
        let kind = self.decoded_kind()?;
        if self.decoded_length().is_some_and(|length| length != u64_from_usize(buffer.len())) {
            return Err(Error::misuse(Misuse::Buffer).at(self.place()));
        }
        Ok(kind)
    }

    /// Reads all of a content, of which nothing has been read, into `buffer`.
    fn fill<'b, R: ReadAt>(
        &self,
        kind: Kind,
        mut content: Content<'_, R>,
        buffer: &'b mut [u8],
    ) -> Result<View<'b>, ReadError<R::Error>> {
        let mut rest = &mut *buffer;
        loop {
            let length = content.read_chunk(rest)?;
            if length == 0 {
                break;
            }
            rest = rest.get_mut(length..).ok_or(Error::internal().at(self.place()))?;
        }
        if !rest.is_empty() {
            return Err(Error::misuse(Misuse::Buffer).at(self.place()).into());
        }
        Ok(View::new(buffer, kind, Some(outcome(&content)?)))
    }

    /// The kind of its decoded bytes.
    fn decoded_kind(&self) -> Result<Kind, Error> {
        Ok(Kind { order: ByteOrder::Little, ..self.kind()? })
    }

    /// All elements, in this machine's byte order: borrowed from the file where they lie raw,
    /// aligned and in that order; else decoded into memory of their own, within the limits that the
    /// file was opened with. For components of an [`Archive`](crate::Archive).
    ///
    /// Bytes that are decoded or copied have been verified by its digest on the way. What is borrowed has
    /// not been read: [`Archive::verify`](crate::Archive::verify) verifies all of a file.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the elements are not of type `T`; `bool-value` where a 1.x bool is
    /// neither 0 nor 1; [`Misuse::NoFile`] where the component comes from a manifest without its
    /// file; as [`read_elements`](Self::read_elements).
    pub fn to_cow<T: Element>(&self) -> Result<Cow<'a, [T]>, Error> {
        let file = self.file()?;
        if self.is_raw() {
            match self.bind(file)?.as_slice() {
                Ok(elements) => return Ok(Cow::Borrowed(elements)),
                Err(error) => match error.kind() {
                    // Each element can be read by itself.
                    ErrorKind::Misuse(
                        Misuse::Alignment | Misuse::ByteOrder | Misuse::BoolBytes,
                    ) => {}
                    _ => return Err(error),
                },
            }
        }
        Ok(Cow::Owned(self.read_elements(file, self.limits())?))
    }

    /// All elements, decoded and verified, in this machine's byte order, in memory of their own.
    /// Memory grows as bytes come and never by what is claimed.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the elements are not of type `T`; as
    /// [`content`](Self::content) and [`Content::next_chunk`](crate::source::Content::next_chunk);
    /// [`Misuse::Size`] where a 0.1 entry of unknown layout holds part of an element;
    /// [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn read_elements<T: Element, R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<Vec<T>, ReadError<R::Error>> {
        self.kind()?.is_of::<T>()?;
        let most = self.decoded_length().map(|bytes| bytes / NonZeroU64::from(T::DTYPE.divisor()));
        let most = most.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        let mut content = self.content(source, limits)?;
        let mut elements = Vec::new();
        while let Some(chunk) = content.next_chunk()? {
            let pieces = chunk.chunks_exact(size_of::<T>());
            if !pieces.remainder().is_empty() {
                return Err(Error::misuse(Misuse::Size).at(self.place()).into());
            }
            let needed = elements.len().saturating_add(pieces.len());
            grow(&mut elements, needed, most)
                .map_err(|error| Error::from(error).at(self.place()))?;
            elements.extend(pieces.filter_map(|piece| T::read(piece, ByteOrder::Little)));
        }
        Ok(elements)
    }

    /// Returns whether it holds the indices of a sparse object.
    pub fn is_index(&self) -> bool {
        match self.object().format() {
            Format::SparseCsr => matches!(self.role(), "indices" | "indptr"),
            Format::SparseCoo => self.role() == "coords",
            _ => false,
        }
    }
}

/// The result of a content that has been read to its end.
fn outcome<R: ReadAt>(content: &Content<'_, R>) -> Result<Verified, Error> {
    content.verified().ok_or(Error::internal())
}

impl<'a> Dense<'a> {
    /// The dimensions, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.data.object().shape()
    }

    /// The component that holds the elements.
    pub fn component(&self) -> Component<'a> {
        self.data
    }

    /// The elements where they lie in the file. For objects of an [`Archive`](crate::Archive),
    /// which holds that file. The view has `product(shape)` elements, times the ratio of a complex
    /// type. [`to_cow`](Self::to_cow) also takes what is compressed or not aligned.
    ///
    /// # Errors
    /// The errors of [`Component::view`].
    pub fn view(&self) -> Result<View<'a>, Error> {
        self.data.view()
    }

    /// All elements in row-major order, `product(shape)` of them (of a complex type as its storage
    /// type, twice as many): as [`Component::to_cow`].
    ///
    /// ```
    /// # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
    /// let archive = zten::Archive::open(file)?;
    /// let weights = archive.require("t_f32")?.dense()?.to_cow::<f32>()?;
    /// assert_eq!(weights.len(), 2 * 3);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as [`Component::to_cow`].
    pub fn to_cow<T: Element>(&self) -> Result<Cow<'a, [T]>, Error> {
        self.component().to_cow()
    }

    /// All elements in row-major order, in memory of their own: as [`Component::read_elements`].
    ///
    /// # Errors
    /// The same as [`Component::read_elements`].
    pub fn read_elements<T: Element, R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<Vec<T>, ReadError<R::Error>> {
        self.component().read_elements(source, limits)
    }

    /// The array where it lies in the file, in the shape of the object and row-major order: nothing is
    /// copied. For objects of an [`Archive`](crate::Archive), which holds that file.
    ///
    /// ```
    /// # let bytes = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
    /// # // In memory a file begins anywhere: one that is mapped is aligned.
    /// # let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    /// # let file = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    /// # file.copy_from_slice(&bytes);
    /// # let file = &*file;
    /// let archive = zten::Archive::open(file)?;
    /// let array = archive.get("t_f32").unwrap().dense()?.array::<f32>()?; // 2 × 3
    /// assert_eq!(array.shape(), [2, 3]);
    /// assert_eq!(array[[1, 1]], 0.75);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The same as [`view`](Self::view) and [`View::as_slice`]: bytes that are compressed, not aligned, or (0.1)
    /// in the other byte order are not borrowed. [`Misuse::Type`], too, where there is not one `T` for each place of the array, as
    /// of `f4_e2m1` or the `f32` of a complex type; [`Misuse::Size`] where `ndarray` cannot address
    /// the shape: the product of its dimensions that are not 0 has to be below 2^63 (2^31 on 32 bits).
    #[cfg(feature = "ndarray")]
    pub fn array<T: Element>(&self) -> Result<ArrayViewD<'a, T>, Error> {
        let place = self.component().place();
        let misuse = |misuse| Error::misuse(misuse).at(place);
        let elements = self.view()?.as_slice::<T>()?;
        let mut shape = super::buffer::with_room(self.shape().len(), place)?;
        for dimension in self.shape() {
            shape.push(usize::try_from(dimension).map_err(|_| misuse(Misuse::Size))?);
        }
        if self.shape().elements() != Some(u64_from_usize(elements.len())) {
            return Err(misuse(Misuse::Type));
        }
        ArrayViewD::from_shape(IxDyn(&shape), elements).map_err(|_| misuse(Misuse::Size))
    }
}
