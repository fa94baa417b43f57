//! Access to the elements of objects and their components: borrowed in place, or decoded.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use core::slice::ChunksExact;

#[cfg(feature = "ndarray")]
use ndarray::{ArrayViewD, IxDyn};

use super::blocks::{GgufBlocks, Mx, MxBlocks};
use super::buffer::{Data, Decoded, Lines};
use super::groups::QuantGroup;
use super::quantized::{Quantization, Quantized};
use super::sparse::{Coo, Csr};
use super::state::State;
use super::view::{View, ViewType};
use crate::codec::{Reader, ThreadBudget, grow};
use crate::digest::Verified;
use crate::element::{ByteOrder, Element, StorageType};
use crate::error::{BareError, Error, ErrorKind, Misuse};
use crate::index::{Encoding, Layout, SpecialElements};
use crate::manifest::{Component, Extent, Tensor};
use crate::num::u64_from_usize;
use crate::read_at::ReadAt as _;
use crate::rules::Unsupported;

impl<'a> Tensor<'a> {
    /// Returns the component `data` of a dense object, whose elements are read in row-major order: v1.1 III.1, v1.2 §3.
    ///
    /// # Errors
    /// `unsupported-layout` (0.1) or `unsupported-format` (2) if the layout of the object is unknown; [`Misuse::Layout`] for any
    /// other layout, and in 1.x for an unknown one, too.
    #[inline]
    pub fn dense(&self) -> Result<Component<'a>, Error> {
        let data = match self.layout() {
            // Every dense object has a component `data`. So if the object has a single component, it is `data`, and its role
            // need not be compared.
            Layout::Dense => self.only_component().or_else(|| self.component("data")),
            _ => None,
        };
        match data {
            Some(data) => Ok(data),
            None => Err(self.other_format()),
        }
    }

    /// Borrows all elements of a dense object, in row-major order. If `T` is only the storage type of the elements, the slice holds
    /// storage elements: two floats for each complex number, or one byte for two elements of `f4_e2m1`.
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
    /// The errors of [`dense`](Self::dense), [`Component::view`] and [`View::as_slice`]: elements that are compressed, not
    /// aligned, or (0.1) in the other byte order cannot be borrowed. [`to_cow`](Self::to_cow) decodes such elements.
    #[inline]
    pub fn as_slice<T: Element>(&self) -> Result<&'a [T], Error> {
        let data = self.dense()?;
        // The tensor of the error is created here, so that no address of `self` is passed: see `Component::view_in`.
        data.view()?.as_slice().map_err(|error| data.tensor().named(error))
    }

    /// Returns all elements of a dense object in this machine's byte order. They are borrowed if they lie raw in memory,
    /// aligned and in this byte order, and otherwise decoded into owned memory within the limits that the file was opened
    /// with.
    ///
    /// Elements that are decoded or copied have been verified by the digest of the component, if it has one. Borrowed elements
    /// have not been verified: [`Archive::verify`](crate::Archive::verify) verifies all of a file.
    ///
    /// ```
    /// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
    /// let weights = archive.tensor("t_f32")?.to_cow::<f32>()?;
    /// assert_eq!(weights.len(), 2 * 3);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::Type`] if the elements are not of type `T`; `bool-value` if a 1.x bool is neither 0 nor 1;
    /// [`Misuse::NoFile`] if the tensor comes from a manifest without its file; the errors of [`to_vec`](Self::to_vec).
    pub fn to_cow<T: Element>(&self) -> Result<Cow<'a, [T]>, Error> {
        let data = self.dense()?;
        if data.is_raw()
            && let Some(view) = data.view_in_memory()?
        {
            match view.as_slice() {
                Ok(elements) => return Ok(Cow::Borrowed(elements)),
                Err(error) => match error.kind() {
                    // Elements that cannot be borrowed for these reasons can still be read one by one.
                    ErrorKind::Misuse(
                        Misuse::Alignment | Misuse::ByteOrder | Misuse::BoolBytes,
                    ) => {}
                    _ => return Err(self.named(error)),
                },
            }
        }
        self.to_vec().map(Cow::Owned)
    }

    /// Returns a decoded and verified copy of all elements of a dense object in this machine's byte order. Memory grows
    /// with the bytes that are read, whatever the file claims.
    ///
    /// # Errors
    /// The errors of [`dense`](Self::dense); [`Misuse::Type`] if the elements are not of type `T`; the errors of
    /// [`reader`](Self::reader) and [`Reader::next_chunk`]; [`Misuse::Size`] if a 0.1 entry of unknown layout holds part
    /// of an element; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, Error> {
        let data = self.dense()?;
        let most = data.decoded_length().map(|bytes| bytes / NonZeroU64::from(T::DTYPE.divisor()));
        let most = most.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX);
        let mut elements = Vec::new();
        data.each_chunk::<T>(|pieces| {
            let needed = elements.len().saturating_add(pieces.len());
            grow(&mut elements, needed, most)?;
            elements.extend(pieces.filter_map(|piece| T::read(piece, ByteOrder::Little)));
            Ok(())
        })?;
        Ok(elements)
    }

    /// Fills `elements` with all elements of a dense object, decoded and verified, in this machine's byte order. After
    /// an error the content of `elements` is unspecified.
    ///
    /// # Errors
    /// The errors of [`to_vec`](Self::to_vec); [`Misuse::Buffer`] if the number of elements is not the length of
    /// `elements`.
    pub fn read_into<T: Element>(&self, elements: &mut [T]) -> Result<(), Error> {
        let data = self.dense()?;
        let bytes = u64_from_usize(size_of_val(elements));
        if data.decoded_length().is_some_and(|length| length != bytes) {
            data.kind()?.is_of::<T>().map_err(|error| self.named(error))?;
            return Err(data.misuse(Misuse::Buffer));
        }
        if let Some(bytes) = T::as_mut_bytes(elements) {
            data.kind()?.is_of::<T>().map_err(|error| self.named(error))?;
            return data.read_into(bytes).map(drop);
        }
        let mut rest = &mut *elements;
        data.each_chunk::<T>(|pieces| {
            let (room, behind) = core::mem::take(&mut rest)
                .split_at_mut_checked(pieces.len())
                .ok_or(BareError::misuse(Misuse::Buffer))?;
            let read = pieces.filter_map(|piece| T::read(piece, ByteOrder::Little));
            room.iter_mut().zip(read).for_each(|(slot, element)| *slot = element);
            rest = behind;
            Ok(())
        })?;
        if rest.is_empty() { Ok(()) } else { Err(data.misuse(Misuse::Buffer)) }
    }

    /// Creates a reader of a dense object, which returns its elements piece by piece.
    ///
    /// # Errors
    /// The errors of [`dense`](Self::dense) and [`Component::reader`].
    pub fn reader(&self) -> Result<Reader<'a>, Error> {
        self.dense()?.reader()
    }

    /// Reads the object as compressed sparse rows, and checks its indices. Components that lie raw in memory are
    /// borrowed, and other components are decoded.
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense)); the errors of
    /// [`Component::read`]; `csr-indptr-start`, `csr-indptr-order`, `csr-indptr-end`, `index-range`; `csr-nnz`,
    /// `csr-indptr-size` if the manifest does not give the sizes (zstd in 1.1).
    pub fn csr(&self) -> Result<Csr<'a>, Error> {
        self.read_as(Layout::SparseCsr, Csr::of)
    }

    /// Reads the object as a list of coordinates, and checks them. Components that lie raw in memory are borrowed, and
    /// other components are decoded.
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense)); the errors of
    /// [`Component::read`]; `index-range`; `coo-nnz` if the manifest does not give the sizes (zstd in 1.1).
    pub fn coo(&self) -> Result<Coo<'a>, Error> {
        self.read_as(Layout::SparseCoo, Coo::of)
    }

    /// Reads the object as quantized groups, and checks that its components match each other. Components that lie raw
    /// in memory are borrowed, and other components are decoded.
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense)); the errors of
    /// [`quantization`](Self::quantization) and [`Component::read`]; [`Misuse::Quantization`] at the object if its rank is
    /// not 2, and at a component whose type or number of elements does not match the shape and the attributes.
    pub fn quantized(&self) -> Result<Quantized<'a>, Error> {
        self.read_as(Layout::QuantizedGroup, Quantized::of)
    }

    /// Returns the attributes `bits`, `group_size` and `packing` of quantized groups: v1.2 §3. Opening does not
    /// validate these attributes, and they may be missing.
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense));
    /// [`Misuse::Quantization`] at the object if an attribute is missing or of another type, `bits` is not from 1 to 32,
    /// `group_size` is 0, `packing` is unknown, or `bits` is not the number of bits that `packing` gives to a code.
    pub fn quantization(&self) -> Result<Quantization, Error> {
        self.read_as(Layout::QuantizedGroup, Quantization::of)
    }

    /// Reads the object as blocks with one scale each (2), and checks it. Components that lie raw in memory are
    /// borrowed, and other components are decoded. The elements are not converted.
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense)); the errors of
    /// [`Component::read`]; `nibble-value`; `unsupported-type` if the `type` of its elements is unknown.
    pub fn mx(&self) -> Result<Mx<'a>, Error> {
        self.read_as(Layout::Mx, Mx::of)
    }

    /// Returns the sizes of the blocks of an object with one scale for each block, without reading its elements.
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense));
    /// `unsupported-type`.
    pub fn mx_blocks(&self) -> Result<MxBlocks, Error> {
        self.read_as(Layout::Mx, MxBlocks::of)
    }

    /// Returns the object as groups of codes (2). [`to_f32`](Self::to_f32) computes its weights.
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense));
    /// `unsupported-type` if a component other than scales that are exponents has a `type`.
    pub fn quant_group(&self) -> Result<QuantGroup<'a>, Error> {
        self.read_as(Layout::QuantGroup, QuantGroup::of)
    }

    /// Returns the object as blocks of a GGUF type (2).
    ///
    /// # Errors
    /// [`Misuse::Layout`] if the object has another layout (if that is unknown, see [`dense`](Self::dense)).
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

    /// Returns the component with the role `role`. Opening has checked that there is one.
    pub(super) fn require(&self, role: &str) -> Result<Component<'a>, BareError> {
        self.component(role).ok_or_else(|| BareError::internal().at(self.location()))
    }

    /// Returns the error of an object that does not have the requested layout.
    #[cold]
    fn other_format(&self) -> Error {
        let location = self.components().next().map(|first| first.location()).unwrap_or_default();
        let error = self.unknown_layout().unwrap_or(BareError::misuse(Misuse::Layout).at(location));
        self.named(error)
    }

    /// Returns the error of an object of 0.1 or 2 with an unknown layout, which cannot be read as a tensor. Returns `None` for any
    /// other object.
    pub(crate) fn unknown_layout(&self) -> Option<BareError> {
        let why = self.facts().unknown_format.filter(|_| self.layout() == Layout::Unknown)?;
        self.components().next().map(|first| first.error(why))
    }

    /// Returns the error of the first component with a `type` that the profile of the object (2) does not define; `None` if
    /// there is no such component.
    pub(crate) fn type_beyond_profile(&self) -> Option<BareError> {
        let part = self.components().find(Component::is_beyond_profile)?;
        Some(part.error(Unsupported::LogicalType))
    }

    /// Returns whether the tensor can be read, and whether zten interprets its elements.
    pub fn state(&self) -> State {
        let states = self.components().map(|component| component.state());
        let whole = self.unknown_layout().or_else(|| self.type_beyond_profile());
        // In a file of another format than zTensor, which has no generation, the name of a layout comes from our parser of the
        // format, so zten knows the layout: GGUF blocks, for example.
        let is_known = self.facts().generation.is_none()
            && !self.layout_name().ends_with(crate::element::OPAQUE_BLOCKS);
        let is_opaque = self.layout() == Layout::Unknown && !is_known;
        let whole = match whole {
            Some(error) => State::Unread(error.kind),
            None if is_opaque => State::Opaque,
            None => State::Readable,
        };
        states.fold(whole, State::or_worse)
    }

    /// Borrows a dense object as an array with its shape, in row-major order, without copying.
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
    /// The errors of [`as_slice`](Self::as_slice); [`Misuse::Type`] if there is not one `T` for each element of the
    /// array, as for `f4_e2m1` or for the `f32` of a complex type; [`Misuse::Size`] if `ndarray` cannot address the
    /// shape: the product of its dimensions that are not 0 must be below 2^63 (2^31 on 32 bits).
    #[cfg(feature = "ndarray")]
    pub fn array<T: Element>(&self) -> Result<ArrayViewD<'a, T>, Error> {
        let misuse = |misuse| self.named(BareError::misuse(misuse).at(self.location()));
        let elements = self.as_slice::<T>()?;
        let mut shape = super::buffer::with_room(self.shape().len(), self.location())?;
        for dimension in self.shape() {
            shape.push(usize::try_from(*dimension).map_err(|_| misuse(Misuse::Size))?);
        }
        if self.element_count() != Some(u64_from_usize(elements.len())) {
            return Err(misuse(Misuse::Type));
        }
        ArrayViewD::from_shape(IxDyn(&shape), elements).map_err(|_| misuse(Misuse::Size))
    }
}

impl<'a> Component<'a> {
    /// Borrows the elements as a view, whatever their alignment and byte order.
    ///
    /// # Errors
    /// [`Misuse::NoFile`] if the component comes from a manifest without its file; [`Misuse::NotInMemory`] if the file
    /// is not in memory; [`Misuse::Compressed`] if the component is not raw; the errors of [`readable`](Self::readable); errors of
    /// the shard that the component is in.
    pub fn view(&self) -> Result<View<'a>, Error> {
        self.view_in_memory()?.ok_or_else(|| self.misuse(Misuse::NotInMemory))
    }

    /// Borrows the elements as a view, or returns `None` if the file is not in memory.
    #[inline]
    fn view_in_memory(&self) -> Result<Option<View<'a>>, Error> {
        match self.file() {
            Some(file) if !self.is_in_shard() => self.view_in(file).map(Some),
            _ => self.lent().map_err(|error| self.tensor().named(error)),
        }
    }

    /// Borrows the elements from a source that lends ranges of the file, or returns `None` if the source does not lend
    /// this one.
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

    /// Borrows the bytes of the elements, in the order of [`byte_order`](Self::byte_order).
    ///
    /// # Errors
    /// The errors of [`view`](Self::view).
    pub fn bytes(&self) -> Result<&'a [u8], Error> {
        Ok(self.view()?.as_bytes())
    }

    /// Creates a view of the component in `file`, all bytes of the file that the component is in.
    ///
    /// # Errors
    /// [`Misuse::Compressed`] if the component is not raw; [`Misuse::Size`] if `file` ends before the component does;
    /// `unsupported-shard` if the component is in a shard; the errors of [`readable`](Self::readable).
    // Inlined, as `get` and `dense` are: a struct whose address is passed stays in memory, and loading 16 bytes of it
    // where two stores of 8 have just been stalls the processor. Looking up would take nearly twice as long.
    #[inline]
    fn view_in<'d>(&self, file: &'d [u8]) -> Result<View<'d>, Error> {
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
        let storage = self.stored_and_known().map_err(|why| self.unread(why))?;
        let extent = self.extent();
        let length = usize::try_from(extent.length()).ok();
        let blob = length.and_then(|length| file.bytes_at(extent.offset(), length));
        let blob = blob.ok_or_else(|| BareError::misuse(Misuse::Size).at(self.location()))?;
        self.bound(blob, self.kind_of(storage, extent))
    }

    /// Creates a view of the component in `blob`, the bytes of its file at [`extent`](Self::extent). This is for callers
    /// that have opened a manifest separately and read the blob themselves. Components of an
    /// [`Archive`](crate::Archive) have a [`view`](Self::view).
    ///
    /// # Errors
    /// [`Misuse::Compressed`] if the component is not raw; [`Misuse::Size`] if the length of `blob` is not that of the
    /// extent; the errors of [`readable`](Self::readable).
    pub fn bind<'d>(&self, blob: &'d [u8]) -> Result<View<'d>, Error> {
        let storage = self.readable()?;
        let extent = self.extent();
        let bound = self.bound(blob, self.kind_of(storage, extent));
        let bound = bound.map_err(|error| self.tensor().named(error))?;
        if u64_from_usize(blob.len()) != extent.length() {
            return Err(self.misuse(Misuse::Size));
        }
        Ok(bound)
    }

    /// Creates a view of `bytes`, the stored bytes, or fails if these are not the elements in row-major order.
    #[inline]
    fn bound<'d>(&self, bytes: &'d [u8], kind: ViewType) -> Result<View<'d>, BareError> {
        if !self.is_raw() {
            return Err(BareError::misuse(Misuse::Compressed).at(self.location()));
        }
        Ok(View::new(bytes, kind, None))
    }

    /// Returns the type and byte order of the stored elements.
    pub(crate) fn kind(&self) -> Result<ViewType, BareError> {
        let storage = self.stored_and_known().map_err(|why| self.unread(why))?;
        Ok(self.kind_of(storage, self.extent()))
    }

    #[inline]
    fn kind_of(&self, storage: StorageType, extent: Extent) -> ViewType {
        ViewType {
            storage,
            logical: self.logical(),
            order: self.byte_order(),
            bool_rule: self.bool_rule(),
            offset: self.is_raw().then(|| extent.offset()),
            location: self.location(),
        }
    }

    /// Returns the storage type of the elements, or fails if the elements cannot be read.
    ///
    /// # Errors
    /// `unsupported-dtype` or `unsupported-encoding`: v0.1 §8; in 2 `unsupported-encoding`,
    /// `unsupported-type`, `unsupported-shard`: v2 §3.4, §4.2, §7. In other formats, the rule of the format about elements that
    /// zten does not read. Components of 1.1 and 1.2 can always be read.
    #[inline]
    pub fn readable(&self) -> Result<StorageType, Error> {
        match self.stored_and_known() {
            Ok(storage) => Ok(storage),
            Err(why) => Err(self.tensor().named(self.unread(why))),
        }
    }

    /// Returns the storage type of the elements, or the reason why they cannot be read.
    #[inline]
    fn stored_and_known(&self) -> Result<StorageType, Unsupported> {
        self.if_known(self.stored_or_why()?)
    }

    /// Returns `storage`, unless the component has an unknown logical type, and the format of the file says that such elements
    /// are not read. Then returns the reason.
    #[inline]
    fn if_known(&self, storage: StorageType) -> Result<StorageType, Unsupported> {
        match (self.logical().unknown, self.facts().unknown_type) {
            (true, Some(why)) => Err(why),
            _ => Ok(storage),
        }
    }

    /// Returns the storage type of the elements. Unlike [`readable`](Self::readable), does not fail for an unknown
    /// logical type.
    pub(crate) fn stored(&self) -> Result<StorageType, BareError> {
        self.stored_or_why().map_err(|why| self.unread(why))
    }

    /// Returns the error of a component that cannot be read because of `why`. A rule that the format's parser has given
    /// as the reason replaces `why`.
    #[cold]
    fn unread(self, why: Unsupported) -> BareError {
        self.error(self.reason(why))
    }

    /// Returns the kind of the error that [`unread`](Self::unread) returns.
    fn reason(&self, why: Unsupported) -> ErrorKind {
        match self.special_elements() {
            Some(SpecialElements::Unread(row)) if why == Unsupported::Dtype => {
                ErrorKind::Unsupported(row)
            }
            _ => why.into(),
        }
    }

    /// Returns the state of the component.
    pub(crate) fn state(&self) -> State {
        // The state describes the component itself, so it does not matter whether the component is in a shard, of which a manifest
        // without its file knows nothing.
        match self.declared().and_then(|storage| self.if_known(storage)) {
            Err(why) => State::Unread(self.reason(why)),
            _ if self.logical().unknown => State::Opaque,
            _ => State::Readable,
        }
    }

    /// Returns the storage type as [`stored`](Self::stored) does, or the reason why the elements cannot be read.
    #[inline]
    fn stored_or_why(&self) -> Result<StorageType, Unsupported> {
        if self.is_in_shard() && self.has_no_source() {
            return Err(Unsupported::Shard);
        }
        self.declared()
    }

    /// Returns the storage type that the manifest gives, or the reason why the elements cannot be read in any file: an unknown
    /// encoding, or a dtype without a storage type.
    #[inline]
    fn declared(&self) -> Result<StorageType, Unsupported> {
        if self.encoding() == Encoding::Unknown {
            return Err(Unsupported::Encoding);
        }
        self.storage_type().ok_or(Unsupported::Dtype)
    }

    /// Returns an error of the whole component, at its first byte in the file.
    ///
    /// `self` is passed by value, so that the component need not be in memory on the path without errors.
    #[cold]
    pub(crate) fn error(self, kind: impl Into<ErrorKind>) -> BareError {
        BareError::new(kind, self.extent().offset()).at(self.location())
    }

    /// Returns the content: borrowed if it lies raw in memory, and otherwise decoded and verified.
    ///
    /// # Errors
    /// The errors of [`view`](Self::view) and [`read`](Self::read).
    pub(super) fn data(&self) -> Result<Data<'a>, Error> {
        if self.is_raw()
            && let Some(view) = self.view_in_memory()?
        {
            return Ok(Data::Borrowed(view));
        }
        self.read().map(Data::Decoded)
    }

    /// Returns a decoded, little-endian and verified copy of the content. Memory grows with the bytes that are read,
    /// whatever the file claims. If the manifest gives the decoded size, the copy takes at most that much memory, rounded up
    /// to 64 bytes. The reader takes memory besides: see [`Reader`].
    ///
    /// # Errors
    /// The errors of [`reader`](Self::reader) and [`Reader::next_chunk`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn read(&self) -> Result<Decoded, Error> {
        self.collect(self.reader()?)
    }

    /// Reads the content as [`read`](Self::read) does, on idle threads as well.
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

    /// Reads the whole content from `reader`, which must not have been used.
    fn collect(&self, mut reader: Reader<'_>) -> Result<Decoded, Error> {
        let most = self.decoded_length().and_then(|bytes| usize::try_from(bytes).ok());
        let most = most.unwrap_or(usize::MAX);
        let no_memory = |error| self.tensor().named(BareError::from(error).at(self.location()));
        let mut lines = Lines::default();
        if self.encoding() == Encoding::Raw {
            // The file has these bytes, so they may be reserved at once. A larger decoded size comes from strides that
            // repeat elements, and memory for it grows as it is read.
            let length = usize::try_from(self.extent().length()).unwrap_or(usize::MAX);
            lines.reserve(length.min(most)).map_err(no_memory)?;
        }
        loop {
            // The reader wants one byte of room after the declared size, to see that the content ends. That byte could take
            // another line of 64 bytes, so no room is asked for beyond the declared size.
            let left = most.saturating_sub(lines.len()).min(reader.wanted());
            let length = reader.read_chunk(lines.room(left, most).map_err(no_memory)?)?;
            if length == 0 {
                break;
            }
            lines.add(length);
        }
        Ok(Decoded::new(lines, self.decoded_kind()?, outcome(&reader)?))
    }

    /// Reads the content as [`read`](Self::read) does into `buffer`, whose length must be that of the decoded content
    /// ([`decoded_length`](Self::decoded_length) if that is known). Bytes go from the source or the decoder straight
    /// into `buffer` and are hashed there. Memory is allocated only for decoding, for elements that are not stored in row-major
    /// order, for fields of records, and for bytes outside of the component that its checksum covers. The elements can be
    /// borrowed as native elements if `buffer` is aligned for them.
    ///
    /// After an error the content of `buffer` is unspecified.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read); [`Misuse::Buffer`] if `buffer` has another length.
    pub fn read_into<'b>(&self, buffer: &'b mut [u8]) -> Result<View<'b>, Error> {
        let kind = self.kind_in(buffer)?;
        self.fill(kind, self.reader()?, buffer)
    }

    /// Reads the content as [`read_into`](Self::read_into) does, on idle threads as well.
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

    /// Returns the type and byte order of the decoded elements, or fails if the decoded size is known and `buffer` has
    /// another length.
    fn kind_in(&self, buffer: &[u8]) -> Result<ViewType, Error> {
        let kind = self.decoded_kind()?;
        if self.decoded_length().is_some_and(|length| length != u64_from_usize(buffer.len())) {
            return Err(self.misuse(Misuse::Buffer));
        }
        Ok(kind)
    }

    /// Returns the error of a wrong call, with the names of this component.
    #[cold]
    fn misuse(&self, misuse: Misuse) -> Error {
        self.tensor().named(BareError::misuse(misuse).at(self.location()))
    }

    /// Reads the whole content into `buffer`. Nothing may have been read from `reader` before.
    fn fill<'b>(
        &self,
        kind: ViewType,
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

    /// Returns the type of the decoded elements, whose byte order is little-endian.
    pub(crate) fn decoded_kind(&self) -> Result<ViewType, Error> {
        Ok(ViewType { order: ByteOrder::Little, ..self.kind()? })
    }

    /// Calls `take` with the bytes of the elements, chunk by chunk.
    ///
    /// # Errors
    /// [`Misuse::Type`] if the elements are not of type `T`; [`Misuse::Size`] if a chunk ends within an element; the errors of the
    /// reader and of `take`.
    fn each_chunk<T: Element>(
        &self,
        mut take: impl FnMut(ChunksExact<'_, u8>) -> Result<(), BareError>,
    ) -> Result<(), Error> {
        let kind = self.kind().and_then(|kind| kind.is_of::<T>());
        kind.map_err(|error| self.tensor().named(error))?;
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

    /// Returns whether the component holds indices of a sparse object.
    pub fn is_index(&self) -> bool {
        match self.tensor().layout() {
            Layout::SparseCsr => matches!(self.role(), "indices" | "indptr"),
            Layout::SparseCoo => self.role() == "coords",
            _ => false,
        }
    }
}

/// Returns the outcome of verifying the digest, after `reader` has read the whole content.
fn outcome(reader: &Reader<'_>) -> Result<Verified, BareError> {
    reader.verified().ok_or(BareError::internal())
}
