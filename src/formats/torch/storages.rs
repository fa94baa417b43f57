//! The storages of a checkpoint, and the tensors that lie in them. Several tensors may share a storage.

use alloc::vec::Vec;
use core::fmt;

use crate::element::{ByteOrder, LogicalType, Negation, StorageType};
use crate::escape::Short;
use crate::finding::counted;
use crate::formats::error::FormatError;
use crate::formats::kind::FormatDType;
use crate::formats::rules::Rule;
use crate::formats::zip::Member;
use crate::index::RawComponent;
use crate::limits::Limits;
use crate::num::sort_by;

use super::globals::{Dtype, Global};
use super::pickle::{Pickle, Pickled, Storage, StoragePart};

/// The storages of a checkpoint, sorted by their keys.
#[derive(Default)]
pub(super) struct Storages<'d> {
    records: Vec<StorageRecord<'d>>,
}

/// A storage: a member of an archive, or a range of a stream.
#[derive(Clone, Copy)]
pub(super) struct StorageRecord<'d> {
    pub(super) key: &'d str,
    pub(super) member: Member,
    /// Whether the elements of a tensor with a name lie in the storage.
    is_used: bool,
    /// The node of the first reference to the storage in the pickle.
    reference: Option<u32>,
}

impl<'d> StorageRecord<'d> {
    pub(super) fn new(key: &'d str, member: Member) -> Self {
        Self { key, member, is_used: false, reference: None }
    }
}

impl<'d> Storages<'d> {
    /// Adds a storage. The caller [sorts](Self::sort) the storages after the last one.
    pub(super) fn add(&mut self, record: StorageRecord<'d>) -> Result<(), FormatError> {
        self.records.try_reserve(1).map_err(|_| FormatError::memory())?;
        self.records.push(record);
        Ok(())
    }

    /// Sorts the storages by their keys, for [`index_of`](Self::index_of).
    pub(super) fn sort(&mut self) {
        // The sort is not stable, so storages with the same key are ordered by their offsets. Every build then reports the same
        // storage in an error.
        let order = |record: &StorageRecord<'d>| (record.key, record.member.start);
        sort_by(&mut self.records, |one, other| order(one).cmp(&order(other)));
    }

    /// Returns the archive members, or ranges of a stream, that hold the storages.
    pub(super) fn members(&mut self) -> impl Iterator<Item = &mut Member> {
        self.records.iter_mut().map(|record| &mut record.member)
    }

    /// Returns the position in `records` of the storage with the key `key`; `None` if there is no such storage.
    pub(super) fn index_of(&self, key: &str) -> Option<usize> {
        self.records.binary_search_by(|record| record.key.cmp(key)).ok()
    }

    /// Checks all storages, parts of storages, tensors and keys of dictionaries that the pickle makes, even if they are
    /// unreachable from the root or lie within an unsupported value: PyTorch makes all of them. Also checks that the pickle
    /// refers to each storage of the file. `is_big` says whether the elements of the file are big-endian.
    pub(super) fn check_made(
        &mut self,
        pickle: &Pickle<'_>,
        limits: &Limits,
        is_big: bool,
    ) -> Result<(), FormatError> {
        for node in pickle.storages() {
            self.check_storage(pickle, node)?;
        }
        for node in pickle.tensors() {
            self.tensor(pickle, node, (limits, is_big))?;
        }
        pickle.maps().try_for_each(|node| pickle.check_keys(node))?;
        let unnamed = self.records.iter().find(|record| record.reference.is_none());
        unnamed.map_or(Ok(()), |record| Err(record.unused_error()))?;
        self.check_parts(pickle)
    }

    /// Checks the parts of storages in a stream: all references to parts with the same key give the same storage, offset,
    /// length and dtype, and no part of a storage has the key of a storage. PyTorch ignores all but the first reference to a
    /// key.
    fn check_parts(&self, pickle: &Pickle<'_>) -> Result<(), FormatError> {
        let mut parts = Vec::new();
        for node in pickle.storages() {
            let storage = pickle.storage(node)?;
            if let Some(part) = storage.part {
                parts.try_reserve(1).map_err(|_| FormatError::memory())?;
                parts.push((part, storage.key, storage.dtype.name(), node));
            }
        }
        sort_by(&mut parts, |one, other| (one.0.key, one.3).cmp(&(other.0.key, other.3)));
        for (one, other) in parts.iter().zip(parts.iter().skip(1)) {
            let is_same = (one.0, one.1, one.2) == (other.0, other.1, other.2);
            if one.0.key == other.0.key && !is_same {
                let sentence = "two references to a part of a storage differ in offset, length, dtype or storage";
                return Err(FormatError::violation_at(
                    Rule::TorchStorage,
                    sentence,
                    pickle.node_at(other.3),
                )
                .about(other.0.key));
            }
        }
        match parts.iter().find(|(part, ..)| self.index_of(part.key).is_some()) {
            Some((part, _, _, node)) => {
                let sentence = "a part of a storage has the key of a storage";
                let error =
                    FormatError::violation_at(Rule::TorchStorage, sentence, pickle.node_at(*node));
                Err(error.about(part.key))
            }
            None => Ok(()),
        }
    }

    /// Returns the position of the record of `storage`, and checks that the record has the length that the pickle gives the
    /// storage. `at` is the offset of the reference to the storage.
    fn find(&self, storage: Storage<'_>, at: u64) -> Result<usize, FormatError> {
        let violation = |sentence: fmt::Arguments<'_>| {
            Err(FormatError::violation_at(Rule::TorchStorage, sentence, at))
        };
        let key = Short(storage.key);
        let found =
            self.index_of(storage.key).and_then(|index| Some((index, self.records.get(index)?)));
        let Some((index, StorageRecord { member, .. })) = found else {
            return violation(format_args!("the storage {key} is not in the file"));
        };
        match storage.bytes() {
            Some(bytes) if bytes == member.size => Ok(index),
            Some(bytes) => {
                let [own, given] = [member.size, bytes].map(|bytes| counted(bytes, "byte"));
                violation(format_args!(
                    "the storage {key} has {own} in the file, but the pickle gives it {given}"
                ))
            }
            None => {
                violation(format_args!("the storage {key} has more bytes than 64 bits can count"))
            }
        }
    }

    /// Checks that the reference `node` to a storage names a member of the same length, and agrees with the first reference to
    /// this storage in device and, unless the storage is empty, in class. PyTorch makes the storage from the first reference
    /// and ignores the class and device in later ones.
    fn check_storage(&mut self, pickle: &Pickle<'_>, node: u32) -> Result<(), FormatError> {
        let at = pickle.node_at(node);
        let storage = pickle.storage(node)?;
        let index = self.find(storage, at)?;
        let Some(record) = self.records.get_mut(index) else {
            return Err(FormatError::internal("no record was made for a storage of the pickle"));
        };
        let first = pickle.storage(*record.reference.get_or_insert(node))?;
        // PyTorch gives the same key to empty storages of different types.
        let is_same = (first.dtype, first.is_typed) == (storage.dtype, storage.is_typed);
        if (is_same || record.member.size == 0) && first.device == storage.device {
            return Ok(());
        }
        let sentence = "two references to a storage differ in class or device";
        Err(FormatError::violation_at(Rule::TorchStorage, sentence, at).about(storage.key))
    }

    /// Finds the storage of the tensor `node`, and checks that the elements of the tensor lie within the storage. `is_big` says
    /// whether the elements of the file are big-endian.
    ///
    /// # Errors
    /// `torch-storage` if the storage is not in the file, has another length there, or does not contain its part;
    /// `torch-tensor` if the shape, strides, offset or dtype of the tensor are invalid; exceeded limits.
    pub(super) fn tensor(
        &self,
        pickle: &Pickle<'_>,
        node: u32,
        (limits, is_big): (&Limits, bool),
    ) -> Result<Tensor, FormatError> {
        let at = pickle.node_at(node);
        let wrong =
            |sentence: &'static str| FormatError::violation_at(Rule::TorchTensor, sentence, at);
        let outside = || wrong("the elements of the tensor do not lie within its storage");
        let too_large = || wrong("the elements of the tensor are more than 63 bits can count");
        let [storage, offset, shape, strides, dtype, metadata] = pickle.first(node);
        let (Pickled::Storage(storage), Pickled::Tuple(shape), Pickled::Tuple(strides)) =
            (storage, shape, strides)
        else {
            return Err(FormatError::internal(
                "the node of a tensor lacks a storage, a shape or strides",
            ));
        };
        let storage = pickle.storage(storage)?;
        let index = self.find(storage, at)?;
        let Some(StorageRecord { member, .. }) = self.records.get(index).copied() else {
            return Err(FormatError::internal("no record was made for a storage of the pickle"));
        };
        let (from, size) = storage.range().ok_or_else(|| {
            let sentence = "a part of the storage does not lie within the storage";
            FormatError::violation_at(Rule::TorchStorage, sentence, at)
        })?;
        let dtype = match dtype {
            Pickled::Global(Global::Dtype(dtype)) => dtype,
            _ => storage.dtype,
        };
        let shape = pickle.dimensions(shape, (limits, at))?;
        let strides = pickle.dimensions(strides, (limits, at))?;
        if strides.len() != shape.len() {
            return Err(wrong("the tensor does not have one stride for each dimension"));
        }
        let offset = pickle.count(offset).ok_or_else(outside)?;
        let width = dtype.width();
        // PyTorch would swap the bytes of elements of another width.
        if is_big && storage.is_typed && storage.dtype.width() != width {
            return Err(wrong(
                "the dtype of the tensor has another width than the class of its storage",
            ));
        }
        // PyTorch counts elements in signed 64-bit integers and multiplies dimensions in order, so a product may overflow even
        // if a later dimension is 0.
        let fits = |number: &u64| i64::try_from(*number).is_ok();
        let product = |total: u64, dimension: &u64| total.checked_mul(*dimension).filter(fits);
        let count = shape.iter().try_fold(1, product).ok_or_else(too_large)?;
        let bytes = count.checked_mul(width).filter(fits).ok_or_else(too_large)?;
        // The last element has the highest index in each dimension. A view without elements may have any offset, even one
        // beyond the end of its storage.
        let last = shape.iter().zip(&strides).try_fold(0_u64, |last, (dimension, stride)| {
            dimension.saturating_sub(1).checked_mul(*stride)?.checked_add(last)
        });
        let range = match count {
            0 => Some((0, 0)),
            _ => offset.checked_mul(width).zip(last).and_then(|(start, last)| {
                let span = last.checked_add(1)?.checked_mul(width)?;
                (start.checked_add(span)? <= size).then_some((from.checked_add(start)?, span))
            }),
        };
        let (start, span) = range.ok_or_else(outside)?;
        // PyTorch swaps the bytes of a storage by the width of its class, which is one byte for a storage without a type.
        let is_swapped_here_alone = is_big && !storage.is_typed && width > 1 && count > 0;
        Ok(Tensor {
            shape,
            strides,
            dtype,
            index,
            member,
            start,
            span,
            bytes,
            at,
            position: pickle.position(node),
            is_swapped_here_alone,
            view: pickle.view(metadata),
        })
    }

    /// Checks that no two storages have the same key. The storages are [sorted](Self::sort).
    pub(super) fn check_unique(&self) -> Result<(), FormatError> {
        let mut pairs = self.records.iter().zip(self.records.iter().skip(1));
        match pairs.find(|(one, next)| one.key == next.key) {
            Some((one, _)) => {
                let sentence = "is the key of two storages";
                let error = FormatError::predicate(Rule::TorchStorage, sentence);
                Err(error.or_at(one.member.start).about(one.key))
            }
            None => Ok(()),
        }
    }

    /// Marks the storage of `tensor` as used.
    pub(super) fn mark_used(&mut self, tensor: &Tensor) {
        if let Some(record) = self.records.get_mut(tensor.index) {
            record.is_used = true;
        }
    }

    /// Checks that every storage is marked as used: that a tensor with a name has its elements there.
    pub(super) fn check_used(&self) -> Result<(), FormatError> {
        let Some(record) = self.records.iter().find(|record| !record.is_used) else {
            return Ok(());
        };
        Err(record.unused_error())
    }
}

impl StorageRecord<'_> {
    /// Returns the error for a storage without a tensor.
    fn unused_error(&self) -> FormatError {
        let sentence = "is a storage that no tensor uses";
        let error = FormatError::predicate(Rule::TorchStorage, sentence);
        error.or_at(self.member.start).about(self.key)
    }
}

impl Storage<'_> {
    /// Returns the length in bytes of all elements of the storage; `None` if the length exceeds 64 bits.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.length.and_then(|length| length.checked_mul(self.dtype.width()))
    }

    /// Returns the offset and the length in bytes of the [`part`](Self::part) within the storage, or of the whole storage if
    /// there is no part. Returns `None` if the part does not lie within the storage, or if a number of bytes exceeds 64 bits.
    fn range(&self) -> Option<(u64, u64)> {
        let whole = self.bytes()?;
        let Some(StoragePart { offset, length, .. }) = self.part else { return Some((0, whole)) };
        let (offset, length) = (offset?, length?);
        let (start, size) =
            (offset.checked_mul(self.dtype.width())?, length.checked_mul(self.dtype.width())?);
        (start.checked_add(size)? <= whole).then_some((start, size))
    }
}

/// A tensor whose elements lie within a storage.
pub(super) struct Tensor {
    pub(super) shape: Vec<u64>,
    /// The stride of each dimension, in elements.
    strides: Vec<u64>,
    pub(super) dtype: Dtype,
    /// The position of the storage in [`Storages::records`].
    index: usize,
    /// Where the bytes of the storage are in the file.
    member: Member,
    /// The offset in the decompressed member at which the elements begin.
    start: u64,
    /// The number of bytes from `start` to the end of the last element.
    span: u64,
    /// The length in bytes of all elements of the tensor, each counted once for every index.
    bytes: u64,
    /// The offset in the file of the instruction that makes the tensor.
    pub(super) at: u64,
    /// The offset of the instruction that makes the tensor, counted from the start of the pickle.
    pub(super) position: u32,
    /// True if zten swaps the bytes of the big-endian elements, and PyTorch on a little-endian machine does not.
    pub(super) is_swapped_here_alone: bool,
    /// How the values of the tensor differ from the stored elements; `None` if they are the stored elements.
    pub(super) view: Option<LazyView>,
}

/// How the values of a tensor differ from the elements in its storage: PyTorch conjugates or negates them when they are
/// read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LazyView {
    /// Whether the imaginary parts are negated.
    pub(super) is_conjugated: bool,
    /// Whether the elements are negated.
    pub(super) is_negated: bool,
}

impl Tensor {
    /// Returns the component that holds the elements. `is_big` says whether the elements are big-endian.
    ///
    /// # Errors
    /// The rule and the kind of tensor, if zten does not read the elements.
    pub(super) fn component(&self, is_big: bool) -> Result<RawComponent<'_>, (Rule, &'static str)> {
        let Self { member, start, span, .. } = *self;
        let kind = self.dtype.kind().ok_or((Rule::TorchDtype, self.dtype.name()))?;
        let (storage, logical) = match kind {
            FormatDType::Logical(logical) => (logical.storage(), Some(logical)),
            FormatDType::Plain(storage) => (storage, None),
        };
        let is_whole = start == 0 && span == member.size;
        if member.is_deflated && (!is_whole || span != self.bytes) {
            return Err((Rule::TorchValue, "part of compressed"));
        }
        let negation = self.negation(kind, member.is_deflated)?;
        let mut component = RawComponent {
            storage,
            logical,
            byte_order: if is_big { ByteOrder::Big } else { ByteOrder::Little },
            strides: Some(&self.strides),
            negation,
            ..member.component(member.start)
        };
        if !is_whole {
            component.offset = member.start.saturating_add(start);
            component.stored_length = span;
            component.decoded_length = None;
            let end = member.start.saturating_add(member.size);
            component.checksum_range = component.checksum.map(|_| [member.start, end]);
        }
        Ok(component)
    }

    /// Returns whether the real parts, and whether the imaginary parts, of the elements have the opposite sign of the stored
    /// numbers, because the tensor is a negated or conjugated view. `kind` is the type of the elements.
    ///
    /// # Errors
    /// The rule and the kind of tensor, if zten does not read such elements: zten negates floats of 16, 32 and 64 bits and
    /// complex numbers, and conjugates complex numbers, if they are not compressed.
    fn negation(
        &self,
        kind: FormatDType,
        is_deflated: bool,
    ) -> Result<Negation, (Rule, &'static str)> {
        let Some(LazyView { is_conjugated, is_negated }) = self.view else {
            return Ok(Negation::default());
        };
        match kind {
            _ if is_deflated => {}
            FormatDType::Logical(LogicalType::Complex64 | LogicalType::Complex128) => {
                return Ok(Negation { real: is_negated, imaginary: is_negated != is_conjugated });
            }
            FormatDType::Plain(
                StorageType::F64 | StorageType::F32 | StorageType::F16 | StorageType::Bf16,
            ) if !is_conjugated => return Ok(Negation { real: is_negated, imaginary: false }),
            _ => {}
        }
        Err((Rule::TorchValue, if is_conjugated { "conjugated" } else { "negated" }))
    }

    /// Returns the component that holds the elements, if they lie in row-major order without gaps, as the parts of a sparse
    /// tensor must. Returns `None` if they do not, if they are to be conjugated or negated, or if zten does not read them.
    pub(super) fn whole_component(&self, is_big: bool) -> Option<RawComponent<'static>> {
        let component = self.component(is_big).ok().filter(|_| self.view.is_none())?;
        let mut next = 1_u64;
        let is_row_major = self.shape.iter().zip(&self.strides).rev().all(|(dimension, stride)| {
            let is_next = *dimension == 1 || *stride == next;
            next = next.saturating_mul(*dimension);
            is_next
        });
        let is_whole = is_row_major || self.shape.contains(&0);
        is_whole.then(|| unstrided(&component))
    }
}

/// Returns a copy of `component` whose elements lie in row-major order without gaps.
fn unstrided(component: &RawComponent<'_>) -> RawComponent<'static> {
    RawComponent {
        offset: component.offset,
        stored_length: component.stored_length,
        decoded_length: component.decoded_length,
        logical: component.logical,
        byte_order: component.byte_order,
        encoding: component.encoding,
        checksum: component.checksum,
        checksum_range: component.checksum_range,
        ..RawComponent::raw(component.storage, component.offset, component.stored_length)
    }
}
