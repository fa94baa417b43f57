//! Elements of objects and their components: borrowed in place, or decoded.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::slice::ChunksExact;

#[cfg(feature = "ndarray")]
use ndarray::{ArrayViewD, IxDyn};

use super::blocks::{GgufBlocks, Mx, MxBlocks, QuantGroup};
use super::buffer::{Data, Decoded, Lines};
use super::quantized::{Quantization, Quantized};
use super::sparse::{Coo, Csr};
use super::view::{Kind, View};
use crate::codec::{ReadAt as _, Reader, ThreadBudget, Verified, grow};
use crate::element::{ByteOrder, Element, StorageType};
use crate::error::{BareError, Error, ErrorKind, Misuse};
use crate::format::{Encoding, Layout};
use crate::manifest::{Component, Extent, Tensor};
use crate::num::u64_from_usize;
use crate::rules::Unsupported;

impl<'a> Tensor<'a> {
    /// The component of a dense object, which has its elements in row-major order: v1.1 III.1, v1.2 §3.
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; `unsupported-layout`, `unsupported-format` where
    /// that is not known.
    #[inline]
    pub fn dense(&self) -> Result<Component<'a>, Error> {
        let data = match self.layout() {
            // Each has it, so that where there is one component, it is that.
            Layout::Dense => self.only_component().or_else(|| self.component("data")),
            _ => None,
        };
        match data {
            Some(data) => Ok(data),
            None => Err(self.other_format()),
        }
    }

    /// All elements of a dense object, borrowed: `product(shape)` of them, times the ratio of a complex type.
    ///
    /// ```
    /// # let bytes = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
    /// # // In memory a file begins anywhere: one that is mapped is aligned.
    /// # let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    /// # let file = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    /// # file.copy_from_slice(&bytes);
    /// let archive = zten::Archive::from_bytes(&*file)?;
    /// let weights: &[f32] = archive.tensor("t_f32")?.as_slice()?;
    /// assert_eq!(weights.len(), 2 * 3);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`dense`](Self::dense) and [`Component::as_slice`].
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], Error> {
        self.dense()?.as_slice()
    }

    /// All elements of a dense object, borrowed or decoded.
    ///
    /// ```
    /// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
    /// let weights = archive.tensor("t_f32")?.to_cow::<f32>()?;
    /// assert_eq!(weights.len(), 2 * 3);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`dense`](Self::dense) and [`Component::to_cow`].
    pub fn to_cow<T: Element>(&self) -> Result<Cow<'a, [T]>, Error> {
        self.dense()?.to_cow()
    }

    /// All elements of a dense object, decoded and verified.
    ///
    /// # Errors
    /// The errors of [`dense`](Self::dense) and [`Component::to_vec`].
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        self.dense()?.to_vec()
    }

    /// Fills `elements` with all elements of a dense object, decoded and verified.
    ///
    /// # Errors
    /// The errors of [`dense`](Self::dense) and [`Component::read_elements`].
    pub fn read_into<T: Element>(&self, elements: &mut [T]) -> Result<(), Error> {
        self.dense()?.read_elements(elements)
    }

    /// Reads a dense object piece by piece.
    ///
    /// # Errors
    /// The errors of [`dense`](Self::dense) and [`Component::reader`].
    pub fn reader(&self) -> Result<Reader<'a>, Error> {
        self.dense()?.reader()
    }

    /// The object as compressed sparse rows, checked. Parts that lie raw in memory are borrowed, others are decoded.
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; the errors of [`Component::data`]; `csr-indptr-start`,
    /// `csr-indptr-order`, `csr-indptr-end`, `index-range`; `csr-nnz`, `csr-indptr-size` where the manifest does not
    /// give the sizes (zstd in 1.1).
    pub fn csr(&self) -> Result<Csr<'a>, Error> {
        self.read_as(Layout::SparseCsr, Csr::of)
    }

    /// The object as a list of coordinates, checked. Parts that lie raw in memory are borrowed, others are decoded.
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; the errors of [`Component::data`]; `index-range`; `coo-nnz`
    /// where the manifest does not give the sizes (zstd in 1.1).
    pub fn coo(&self) -> Result<Coo<'a>, Error> {
        self.read_as(Layout::SparseCoo, Coo::of)
    }

    /// The object as quantized groups, whose components are checked to fit together. Those that lie raw in memory are
    /// borrowed, others are decoded.
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; the errors of [`quantization`](Self::quantization) and
    /// [`Component::data`]; [`Misuse::Quantization`] at the object where its rank is not 2, and at the component that
    /// has not the type or the number of elements that shape and attributes ask for.
    pub fn quantized(&self) -> Result<Quantized<'a>, Error> {
        self.read_as(Layout::QuantizedGroup, Quantized::of)
    }

    /// The attributes `bits`, `group_size` and `packing` of quantized groups: v1.2 §3. They are no part of what
    /// opening validates, and may be missing.
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; [`Misuse::Quantization`] at the object, where one is missing
    /// or of another type, `bits` is not from 1 to 32, `group_size` is 0, `packing` is not known,
    /// or a word is not just filled by as many codes of as many bits.
    pub fn quantization(&self) -> Result<Quantization, Error> {
        self.read_as(Layout::QuantizedGroup, Quantization::of)
    }

    /// The object as blocks with a scale each (2), checked. Parts that lie raw in memory are borrowed, others are
    /// decoded. The elements stay as they are.
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; the errors of [`Component::data`]; `nibble-value`;
    /// `unsupported-type` where the `type` of its elements is unknown.
    pub fn mx(&self) -> Result<Mx<'a>, Error> {
        self.read_as(Layout::Mx, Mx::of)
    }

    /// The blocks of such an object, without its elements.
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; `unsupported-type`.
    #[doc(hidden)]
    pub fn mx_blocks(&self) -> Result<MxBlocks, Error> {
        self.read_as(Layout::Mx, MxBlocks::of)
    }

    /// The object as groups of codes (2).
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout; `unsupported-type` where a part has a `type`, but for scales that
    /// are exponents.
    pub fn quant_group(&self) -> Result<QuantGroup<'a>, Error> {
        self.read_as(Layout::QuantGroup, QuantGroup::of)
    }

    /// The object as blocks of a type of GGUF (2).
    ///
    /// # Errors
    /// [`Misuse::Layout`] where it is of another layout.
    pub fn gguf_blocks(&self) -> Result<GgufBlocks<'a>, Error> {
        self.read_as(Layout::GgufBlocks, GgufBlocks::of)
    }

    fn read_as<T>(&self, format: Layout, read: fn(&Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.layout() != format {
            return Err(self.other_format());
        }
        if let Some(error) = self.type_beyond_profile() {
            return Err(self.named(error));
        }
        read(self).map_err(|error| self.named(error))
    }

    /// The component of that role, which opening has found to be there.
    pub(super) fn require(&self, role: &str) -> Result<Component<'a>, BareError> {
        self.component(role).ok_or_else(|| BareError::internal().at(self.location()))
    }

    /// The reason why the object cannot be read as the layout that was asked for.
    #[cold]
    fn other_format(&self) -> Error {
        let location = self.components().next().map(|first| first.location()).unwrap_or_default();
        let error = self.unknown_layout().unwrap_or(BareError::misuse(Misuse::Layout).at(location));
        self.named(error)
    }

    /// The error of an object of 0.1 or 2 whose layout is not known, so that it cannot be read as a tensor.
    pub(crate) fn unknown_layout(&self) -> Option<BareError> {
        let why = self.dialect().unknown_format.filter(|_| self.layout() == Layout::Unknown)?;
        self.components().next().map(|first| first.error(why))
    }

    /// The error of the first component with a `type` that the profile of the object (2) does not define.
    pub(crate) fn type_beyond_profile(&self) -> Option<BareError> {
        let part = self.components().find(Component::is_beyond_profile)?;
        Some(part.error(Unsupported::LogicalType))
    }

    /// The array of a dense object where it lies, in its shape and row-major order: nothing is copied.
    ///
    /// ```
    /// # let bytes = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
    /// # // In memory a file begins anywhere: one that is mapped is aligned.
    /// # let mut words = vec![0_u64; bytes.len().div_ceil(8)];
    /// # let file = &mut zerocopy::IntoBytes::as_mut_bytes(&mut words[..])[..bytes.len()];
    /// # file.copy_from_slice(&bytes);
    /// let archive = zten::Archive::from_bytes(&*file)?;
    /// let array = archive.tensor("t_f32")?.array::<f32>()?; // 2 × 3
    /// assert_eq!(array.shape(), [2, 3]);
    /// assert_eq!(array[[1, 1]], 0.75);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`as_slice`](Self::as_slice). [`Misuse::Type`], too, where there is not one `T` for each place of
    /// the array, as of `f4_e2m1` or the `f32` of a complex type; [`Misuse::Size`] where `ndarray` cannot address
    /// the shape: the product of its dimensions that are not 0 has to be below 2^63 (2^31 on 32 bits).
    #[cfg(feature = "ndarray")]
    pub fn array<T: Element>(&self) -> Result<ArrayViewD<'a, T>, Error> {
        let misuse = |misuse| self.named(BareError::misuse(misuse).at(self.location()));
        let elements = self.as_slice::<T>()?;
        let mut shape = super::buffer::with_room(self.shape().len(), self.location())?;
        for dimension in self.shape() {
            shape.push(usize::try_from(dimension).map_err(|_| misuse(Misuse::Size))?);
        }
        if self.shape().elements() != Some(u64_from_usize(elements.len())) {
            return Err(misuse(Misuse::Type));
        }
        ArrayViewD::from_shape(IxDyn(&shape), elements).map_err(|_| misuse(Misuse::Size))
    }
}

impl<'a> Component<'a> {
    /// The elements where they lie, whatever their alignment and byte order.
    ///
    /// # Errors
    /// [`Misuse::NoFile`] where the component comes from a manifest without its file, [`Misuse::NotInMemory`] where the
    /// file is not in memory; the errors of [`bind`](Self::bind).
    pub fn view(&self) -> Result<View<'a>, Error> {
        self.view_in_memory()?.ok_or_else(|| self.misuse(Misuse::NotInMemory))
    }

    /// The elements where they lie; none where the file is not in memory.
    #[inline]
    fn view_in_memory(&self) -> Result<Option<View<'a>>, Error> {
        match self.file() {
            Some(file) if !self.is_in_shard() => self.bind(file).map(Some),
            _ => self.lent().map_err(|error| self.tensor().named(error)),
        }
    }

    /// The elements where they lie in a file that is lent piece by piece, if it is.
    fn lent(&self) -> Result<Option<View<'a>>, Error> {
        let located = self.located()?;
        let (storage, extent) = (self.readable()?, self.extent());
        let misuse = |misuse| BareError::misuse(misuse).at(self.location());
        if !self.is_raw() {
            return Err(misuse(Misuse::Compressed).into());
        }
        let length = usize::try_from(extent.length()).map_err(|_| misuse(Misuse::Size))?;
        let Some(blob) = located.lent(extent.offset(), length) else { return Ok(None) };
        Ok(Some(self.bound(blob, self.kind_of(storage, extent))?))
    }

    /// The bytes of the elements where they lie, in the order that [`byte_order`](Self::byte_order) says.
    ///
    /// # Errors
    /// The errors of [`view`](Self::view).
    pub fn bytes(&self) -> Result<&'a [u8], Error> {
        Ok(self.view()?.as_bytes())
    }

    /// The elements as native ones, borrowed.
    ///
    /// # Errors
    /// The errors of [`view`](Self::view) and [`View::as_slice`]: bytes that are compressed, not aligned, or (0.1)
    /// in the other byte order are not borrowed. [`to_cow`](Self::to_cow) decodes them.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], Error> {
        self.view()?.as_slice().map_err(|error| self.tensor().named(error))
    }

    /// Binds the component to the file it is in, all of whose bytes are in `file`. This is for
    /// those who have opened a manifest by itself; it is up to them that it is that file's.
    /// Components of an [`Archive`](crate::Archive) have a [`view`](Self::view).
    ///
    /// # Errors
    /// [`Misuse::Compressed`] where it is not raw; [`Misuse::Size`] where `file` is shorter than
    /// the file that was opened; `unsupported-dtype`, `unsupported-encoding` in 0.1.
    // Inlined, as `get` and `dense` are: a struct whose address is passed stays in memory, and loading 16 bytes of it
    // where two stores of 8 have just been stalls the processor. Looking up would take nearly twice as long.
    #[inline]
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<View<'d>, Error> {
        match self.bound_in(file) {
            Ok(view) => Ok(view),
            Err(error) => Err(self.tensor().named(error)),
        }
    }

    #[inline]
    fn bound_in<'d>(&self, file: &'d [u8]) -> Result<View<'d>, BareError> {
        if self.is_in_shard() {
            return Err(self.error(Unsupported::Shard));
        }
        let storage = self.stored_and_known().map_err(|why| self.error(why))?;
        let extent = self.extent();
        let length = usize::try_from(extent.length()).ok();
        let blob = length.and_then(|length| file.bytes_at(extent.offset(), length));
        let blob = blob.ok_or_else(|| BareError::misuse(Misuse::Size).at(self.location()))?;
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
            let error = BareError::misuse(Misuse::Size).at(self.location());
            return Err(self.tensor().named(error));
        }
        Ok(bound)
    }

    /// Binds it to its stored bytes, if they are its elements.
    #[inline]
    fn bound<'d>(&self, bytes: &'d [u8], kind: Kind) -> Result<View<'d>, BareError> {
        if !self.is_raw() {
            return Err(BareError::misuse(Misuse::Compressed).at(self.location()));
        }
        Ok(View::new(bytes, kind, None))
    }

    /// The kind of its stored bytes.
    pub(crate) fn kind(&self) -> Result<Kind, BareError> {
        let storage = self.stored_and_known().map_err(|why| self.error(why))?;
        Ok(self.kind_of(storage, self.extent()))
    }

    #[inline]
    fn kind_of(&self, storage: StorageType, extent: Extent) -> Kind {
        Kind {
            storage,
            logical: self.logical(),
            order: self.byte_order(),
            bool_rule: self.bool_rule(),
            offset: self.is_raw().then(|| extent.offset()),
            location: self.location(),
        }
    }

    /// The type in which its elements are stored, if they can be read.
    ///
    /// # Errors
    /// `unsupported-dtype` or `unsupported-encoding`: v0.1 §8; in 2 `unsupported-encoding`,
    /// `unsupported-type`, `unsupported-shard`: v2 §3.4, §4.2, §7.
    #[inline]
    pub fn readable(&self) -> Result<StorageType, Error> {
        match self.stored_and_known() {
            Ok(storage) => Ok(storage),
            Err(why) => Err(self.tensor().named(self.error(why))),
        }
    }

    /// The type in which its elements are stored, or why they cannot be read.
    #[inline]
    fn stored_and_known(&self) -> Result<StorageType, Unsupported> {
        let storage = self.stored_or_why()?;
        match (self.logical().unknown, self.dialect().unknown_type) {
            (true, Some(why)) => Err(why),
            _ => Ok(storage),
        }
    }

    /// The type in which its elements are stored, if their bytes can be read, whatever they mean.
    pub(crate) fn stored(&self) -> Result<StorageType, BareError> {
        self.stored_or_why().map_err(|why| self.error(why))
    }

    /// [`stored`](Self::stored), or why they cannot.
    #[inline]
    fn stored_or_why(&self) -> Result<StorageType, Unsupported> {
        if self.is_in_shard() && self.has_no_source() {
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
    pub(crate) fn error(self, kind: impl Into<ErrorKind>) -> BareError {
        BareError::new(kind, self.extent().offset()).at(self.location())
    }

    /// The content: borrowed where it lies raw in memory, else decoded and verified.
    ///
    /// # Errors
    /// The errors of [`view`](Self::view) and [`read`](Self::read).
    pub fn data(&self) -> Result<Data<'a>, Error> {
        if self.is_raw()
            && let Some(view) = self.view_in_memory()?
        {
            return Ok(Data::Borrowed(view));
        }
        self.read().map(Data::Decoded)
    }

    /// All of the content, decoded, little-endian and verified, in memory of its own. Memory
    /// grows as bytes come and never by what is claimed; where the manifest gives the decoded
    /// size, it is at most that, rounded up to 64 bytes.
    ///
    /// # Errors
    /// The errors of [`reader`](Self::reader) and [`Reader::next_chunk`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn read(&self) -> Result<Decoded, Error> {
        self.collect(self.reader()?)
    }

    /// The same as [`read`](Self::read), with threads that have nothing else to do.
    pub(crate) fn read_on(&self, thread_budget: &ThreadBudget) -> Result<Decoded, Error> {
        let reader = self.reader()?;
        #[cfg(all(feature = "zstd", feature = "std"))]
        if let Some(frames) = reader.frames() {
            let lines = Lines::zeros(frames.decoded);
            let mut lines = lines.map_err(|error| BareError::from(error).at(self.location()))?;
            if let Some(verified) = reader.read_parallel(frames, lines.as_mut(), thread_budget) {
                return Ok(Decoded::new(lines, self.decoded_kind()?, verified));
            }
            return self.read();
        }
        self.collect(reader)
    }

    /// All of a content of which nothing has been read.
    fn collect(&self, mut reader: Reader<'_>) -> Result<Decoded, Error> {
        let most = self.decoded_length().and_then(|bytes| usize::try_from(bytes).ok());
        let most = most.unwrap_or(usize::MAX);
        let no_memory = |error| self.tensor().named(BareError::from(error).at(self.location()));
        let mut lines = Lines::default();
        if self.encoding() == Encoding::Raw {
            // So much lies in the file. Strides may repeat it.
            let length = usize::try_from(self.extent().length()).unwrap_or(usize::MAX);
            lines.reserve(length.min(most)).map_err(no_memory)?;
        }
        loop {
            // A byte more than is declared would take a line more.
            let left = most.saturating_sub(lines.len()).min(reader.wanted());
            let length = reader.read_chunk(lines.room(left, most).map_err(no_memory)?)?;
            if length == 0 {
                break;
            }
            lines.add(length);
        }
        Ok(Decoded::new(lines, self.decoded_kind()?, outcome(&reader)?))
    }

    /// The same as [`read`](Self::read), into memory of the caller's: `buffer` must be exactly as
    /// long as the decoded content, [`decoded_length`](Self::decoded_length) where that is
    /// known. Bytes go from the source, or from the decoder, straight into `buffer`, and are
    /// hashed there; nothing is allocated but what decoding zstd needs. The elements can be
    /// borrowed as native ones if `buffer` is aligned for them.
    ///
    /// `buffer` holds whatever had been read when it fails.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`Misuse::Buffer`] where `buffer` has another length.
    pub fn read_into<'b>(&self, buffer: &'b mut [u8]) -> Result<View<'b>, Error> {
        let kind = self.kind_in(buffer)?;
        self.fill(kind, self.reader()?, buffer)
    }

    /// The same as [`read_into`](Self::read_into), with threads that have nothing else to do.
    pub(crate) fn read_into_on<'b>(
        &self,
        buffer: &'b mut [u8],
        thread_budget: &ThreadBudget,
    ) -> Result<View<'b>, Error> {
        let kind = self.kind_in(buffer)?;
        let reader = self.reader()?;
        #[cfg(all(feature = "zstd", feature = "std"))]
        if let Some(frames) = reader.frames() {
            return match reader.read_parallel(frames, buffer, thread_budget) {
                Some(verified) => Ok(View::new(buffer, kind, Some(verified))),
                None => self.read_into(buffer),
            };
        }
        self.fill(kind, reader, buffer)
    }

    /// The kind of its bytes in `buffer`, which has to be as long as they are, where that is known.
    fn kind_in(&self, buffer: &[u8]) -> Result<Kind, Error> {
        let kind = self.decoded_kind()?;
        if self.decoded_length().is_some_and(|length| length != u64_from_usize(buffer.len())) {
            return Err(self.misuse(Misuse::Buffer));
        }
        Ok(kind)
    }

    /// A call that is wrong, at this component.
    #[cold]
    fn misuse(&self, misuse: Misuse) -> Error {
        self.tensor().named(BareError::misuse(misuse).at(self.location()))
    }

    /// Reads all of a content, of which nothing has been read, into `buffer`.
    fn fill<'b>(
        &self,
        kind: Kind,
        mut reader: Reader<'_>,
        buffer: &'b mut [u8],
    ) -> Result<View<'b>, Error> {
        let mut rest = &mut *buffer;
        loop {
            let length = reader.read_chunk(rest)?;
            if length == 0 {
                break;
            }
            rest = rest.get_mut(length..).ok_or(BareError::internal().at(self.location()))?;
        }
        if !rest.is_empty() {
            return Err(self.misuse(Misuse::Buffer));
        }
        Ok(View::new(buffer, kind, Some(outcome(&reader)?)))
    }

    /// The kind of its decoded bytes.
    pub(crate) fn decoded_kind(&self) -> Result<Kind, Error> {
        Ok(Kind { order: ByteOrder::Little, ..self.kind()? })
    }

    /// All elements, in this machine's byte order: borrowed from the file where they lie in memory, raw,
    /// aligned and in that order; else decoded into memory of their own, within the limits that the
    /// file was opened with.
    ///
    /// Bytes that are decoded or copied have been verified by its digest on the way. What is borrowed has
    /// not been read: [`Archive::verify`](crate::Archive::verify) verifies all of a file.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the elements are not of type `T`; `bool-value` where a 1.x bool is
    /// neither 0 nor 1; [`Misuse::NoFile`] where the component comes from a manifest without its
    /// file; the errors of [`to_vec`](Self::to_vec).
    pub fn to_cow<T: Element>(&self) -> Result<Cow<'a, [T]>, Error> {
        if self.is_raw()
            && let Some(view) = self.view_in_memory()?
        {
            match view.as_slice() {
                Ok(elements) => return Ok(Cow::Borrowed(elements)),
                Err(error) => match error.kind() {
                    // Each element can be read by itself.
                    ErrorKind::Misuse(
                        Misuse::Alignment | Misuse::ByteOrder | Misuse::BoolBytes,
                    ) => {}
                    _ => return Err(self.tensor().named(error)),
                },
            }
        }
        self.to_vec().map(Cow::Owned)
    }

    /// All elements, decoded and verified, in this machine's byte order, in memory of their own.
    /// Memory grows as bytes come and never by what is claimed.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the elements are not of type `T`; the errors of
    /// [`reader`](Self::reader) and [`Reader::next_chunk`];
    /// [`Misuse::Size`] where a 0.1 entry of unknown layout holds part of an element;
    /// [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        let most = self.decoded_length().map(|bytes| bytes / NonZeroU64::from(T::DTYPE.divisor()));
        let most = most.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        let mut elements = Vec::new();
        self.each_chunk::<T>(|pieces| {
            let needed = elements.len().saturating_add(pieces.len());
            grow(&mut elements, needed, most)?;
            elements.extend(pieces.filter_map(|piece| T::read(piece, ByteOrder::Little)));
            Ok(())
        })?;
        Ok(elements)
    }

    /// Fills `elements` with all elements, decoded and verified, in this machine's byte order. If it fails, they are
    /// whatever had been read by then.
    ///
    /// # Errors
    /// The errors of [`to_vec`](Self::to_vec); [`Misuse::Buffer`] where there are more or fewer elements.
    pub fn read_elements<T: Element>(&self, elements: &mut [T]) -> Result<(), Error> {
        let bytes = u64_from_usize(size_of_val(elements));
        if self.decoded_length().is_some_and(|length| length != bytes) {
            self.kind()?.is_of::<T>().map_err(|error| self.tensor().named(error))?;
            return Err(self.misuse(Misuse::Buffer));
        }
        if let Some(bytes) = T::as_mut_bytes(elements) {
            self.kind()?.is_of::<T>().map_err(|error| self.tensor().named(error))?;
            return self.read_into(bytes).map(drop);
        }
        let mut rest = &mut *elements;
        self.each_chunk::<T>(|pieces| {
            let (room, behind) = core::mem::take(&mut rest)
                .split_at_mut_checked(pieces.len())
                .ok_or(BareError::misuse(Misuse::Buffer))?;
            let read = pieces.filter_map(|piece| T::read(piece, ByteOrder::Little));
            room.iter_mut().zip(read).for_each(|(slot, element)| *slot = element);
            rest = behind;
            Ok(())
        })?;
        if rest.is_empty() { Ok(()) } else { Err(self.misuse(Misuse::Buffer)) }
    }

    /// Hands the bytes of its elements to `take`, as many as come at once.
    fn each_chunk<T: Element>(
        &self,
        mut take: impl FnMut(ChunksExact<'_, u8>) -> Result<(), BareError>,
    ) -> Result<(), Error> {
        self.kind()?.is_of::<T>().map_err(|error| self.tensor().named(error))?;
        let mut reader = self.reader()?;
        while let Some(chunk) = reader.next_chunk()? {
            let pieces = chunk.chunks_exact(size_of::<T>());
            if !pieces.remainder().is_empty() {
                return Err(self.misuse(Misuse::Size));
            }
            take(pieces).map_err(|error| self.tensor().named(error.at(self.location())))?;
        }
        Ok(())
    }

    /// Returns whether it holds the indices of a sparse object.
    pub fn is_index(&self) -> bool {
        match self.tensor().layout() {
            Layout::SparseCsr => matches!(self.role(), "indices" | "indptr"),
            Layout::SparseCoo => self.role() == "coords",
            _ => false,
        }
    }
}

/// The result of a content that has been read to its end.
fn outcome(reader: &Reader<'_>) -> Result<Verified, BareError> {
    reader.verified().ok_or(BareError::internal())
}
