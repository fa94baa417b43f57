//! Objects and components as parsers of any format hand them out: plain records, and where their fields stand.

use core::num::NonZeroU8;

use super::extent::Extent;
use super::shape::{Product, ShapeSpan, Text, Uint};
use super::{Dialect, Encoding, Facts, Format, Role};
use crate::cbor::{Fault, Remaining};
use crate::element::{LogicalType, StorageType};
use crate::rules::Rule;

/// The elements of a component: a name that was found in the tables, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dtype {
    pub(crate) remaining: Remaining,
    /// None if a 0.1 dtype is not known.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// The place of `type`, if there is one that says more than `dtype`.
    pub(crate) type_remaining: Option<Remaining>,
    /// True if the dtype itself (of 1.1) stands for a logical type, which no `type` may change.
    pub(crate) implied: bool,
}

/// The meaning of storage elements, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logical {
    /// The logical type that `type` names, or that a dtype of 1.1 stands for.
    pub(crate) known: Option<LogicalType>,
    /// True if there is a `type` that is not known.
    pub(crate) unknown: bool,
}

impl Logical {
    /// Nothing but what the storage type says.
    pub(crate) const NONE: Self = Self { known: None, unknown: false };

    /// A logical type that is known.
    pub(crate) const fn known(logical: LogicalType) -> Self {
        Self { known: Some(logical), unknown: false }
    }

    /// Bytes of which a component holds a whole number: those of a logical element, or, if its
    /// `type` is not known, of an element of the dtype.
    #[inline(always)]
    pub(crate) fn unit(self, storage: StorageType) -> u8 {
        storage.width().wrapping_mul(self.ratio())
    }

    /// Storage elements for each [unit](Self::unit).
    #[inline(always)]
    pub(crate) fn ratio(self) -> u8 {
        self.known.map_or(1, LogicalType::ratio)
    }

    /// Bytes of one logical element on that storage type, if this is known: v1.2 §2. Elements that share
    /// a byte have no such number, but [`bytes`](Self::bytes).
    #[inline(always)]
    pub(crate) fn element_size(self, storage: StorageType) -> Option<NonZeroU8> {
        if self.unknown || self.is_packed() { None } else { NonZeroU8::new(self.unit(storage)) }
    }

    /// Returns whether two elements share a byte: v2 appendix A.
    #[inline(always)]
    pub(crate) fn is_packed(self) -> bool {
        cfg!(feature = "v2") && self.known == Some(LogicalType::F4E2M1)
    }
}

/// One component, as its record spells it, and where its fields stand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawComponent {
    /// The place of its role; in 0.1, of its entry.
    pub(crate) at: Remaining,
    /// The place of its map.
    pub(crate) map: Remaining,
    /// Its role, if it is a known one.
    pub(crate) role: Option<Role>,
    pub(crate) dtype: Dtype,
    pub(crate) offset: Uint,
    pub(crate) length: Uint,
    pub(crate) decoded: Option<Uint>,
    pub(crate) encoding: Encoding,
    /// The place of its digest, if it has one.
    pub(crate) digest: Option<Remaining>,
    /// The place where the data is declared big-endian, if it is.
    pub(crate) big_endian: Option<Remaining>,
    /// The place of the name of the shard that it is in, if it is in one.
    pub(crate) shard: Option<Remaining>,
}

impl RawComponent {
    /// Checks that a known `type` is one of the dtype: v1.2 §2, v2 §4.2.
    #[inline(always)]
    pub(super) fn check_type(&self) -> Result<(), Fault> {
        let dtype = &self.dtype;
        if let (Logical { known: Some(logical), unknown: false }, Some(remaining)) =
            (dtype.logical, dtype.type_remaining)
            && (dtype.implied || dtype.storage != Some(logical.storage()))
        {
            return Err(Fault::new(Rule::LogicalTypeStorage, remaining));
        }
        Ok(())
    }

    /// Checks the lengths of the component, whose blob lies at `extent`, and returns its record.
    #[inline(always)]
    pub(crate) fn record(
        &self,
        dialect: &Dialect,
        facts: Facts,
        extent: Extent,
    ) -> Result<ComponentRecord, Fault> {
        let dtype = &self.dtype;
        let width = dtype.storage.map_or(1, StorageType::width);
        let unknown_type = if dtype.storage.is_none() {
            Some(dtype.remaining)
        } else {
            dtype.type_remaining.filter(|_| dtype.logical.unknown)
        };
        let record = ComponentRecord {
            extent,
            decoded: self.decoded.map_or(0, |decoded| decoded.value),
            has_decoded: self.decoded.is_some(),
            at: self.at,
            digest: self.digest.unwrap_or(Remaining::END),
            shard: self.shard.unwrap_or(Remaining::END),
            type_name: unknown_type.unwrap_or(Remaining::END),
            role: self.role,
            storage: dtype.storage,
            logical: dtype.logical,
            has_type: dtype.type_remaining.is_some(),
            encoding: self.encoding,
            big_endian: self.big_endian.is_some() && width > 1,
        };
        self.check_size(&record, dialect, facts)?;
        if let (Some(remaining), Encoding::Zstd, 2..) = (self.big_endian, self.encoding, width) {
            return Err(Fault::new(Rule::EndiannessCompressed, remaining));
        }
        Ok(record)
    }

    /// Returns the range of the blob, in a file whose blobs end at `most`: v0.1 §3.2, v1.1 I.2 and IV.2,
    /// v1.2 §4 and §5, v2 §2.4.
    #[inline(always)]
    pub(crate) fn extent(&self, facts: Facts, most: u64) -> Result<Extent, Fault> {
        let (offset, length) = (self.offset.value, self.length.value);
        if offset & facts.alignment.wrapping_sub(1) != 0 {
            return Err(Fault::with(Rule::BlobAlignment, self.offset.remaining, offset));
        }
        if offset == 0 && (length > 0 || facts.shares_blobs) {
            return Err(Fault::new(Rule::BlobHeader, self.offset.remaining));
        }
        Extent::within(offset, length, most)
            .ok_or_else(|| Fault::with(Rule::BlobBounds, self.length.remaining, length))
    }

    /// Checks the decoded length, as far as the manifest gives it.
    #[inline(always)]
    fn check_size(
        &self,
        record: &ComponentRecord,
        dialect: &Dialect,
        facts: Facts,
    ) -> Result<(), Fault> {
        let at = match (self.encoding, self.decoded) {
            (Encoding::Raw, Some(decoded)) if decoded.value != self.length.value => {
                let Uint { remaining, value } = decoded;
                return Err(Fault::with(Rule::DecodedLengthRaw, remaining, value));
            }
            (Encoding::Zstd, None) if dialect.needs_decoded_length => {
                return Err(Fault::new(Rule::DecodedLengthMissing, self.map));
            }
            (Encoding::Raw, _) | (_, None) => self.length.remaining,
            (_, Some(decoded)) => decoded.remaining,
        };
        if let (Some(bytes), true) = (record.size(), facts.whole_elements) {
            let unit = record.storage.map_or(1, |storage| record.logical.unit(storage));
            if bytes & u64::from(unit.wrapping_sub(1)) != 0 {
                return Err(Fault::with(Rule::WholeElements, at, bytes));
            }
        }
        Ok(())
    }
}

/// One component. Places that are [`Remaining::END`] stand for a field that is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentRecord {
    pub(crate) extent: Extent,
    /// The length that the manifest gives for the decoded bytes, if it gives one.
    pub(crate) decoded: u64,
    pub(crate) has_decoded: bool,
    /// The role, a text; in 0.1 the entry, which is its map.
    pub(crate) at: Remaining,
    /// The digest, a text.
    pub(crate) digest: Remaining,
    /// The name of the shard, a text.
    pub(crate) shard: Remaining,
    /// The name of a type that is not known: that of the dtype if [`storage`](Self::storage) is none.
    pub(crate) type_name: Remaining,
    /// The role, if some layout gives it a meaning.
    pub(crate) role: Option<Role>,
    /// None if the dtype, of 0.1, is not known.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// True if there is a `type` that says more than the dtype.
    pub(crate) has_type: bool,
    pub(crate) encoding: Encoding,
    pub(crate) big_endian: bool,
}

impl ComponentRecord {
    /// The record of raw bytes without a type.
    #[cfg(any(test, feature = "std"))]
    pub(crate) fn raw(extent: Extent) -> Self {
        Self {
            extent,
            decoded: 0,
            has_decoded: false,
            at: Remaining::END,
            digest: Remaining::END,
            shard: Remaining::END,
            type_name: Remaining::END,
            role: None,
            storage: Some(StorageType::U8),
            logical: Logical::NONE,
            has_type: false,
            encoding: Encoding::Raw,
            big_endian: false,
        }
    }

    /// Returns whether its blob is in another file.
    #[inline(always)]
    pub(crate) fn in_shard(&self) -> bool {
        self.shard != Remaining::END
    }

    /// Decoded bytes, if the manifest gives them.
    #[inline(always)]
    pub(crate) fn size(&self) -> Option<u64> {
        if self.encoding == Encoding::Raw {
            return Some(self.extent.length());
        }
        self.has_decoded.then_some(self.decoded)
    }

    /// Bytes of one logical element, a power of two, if its types are known and no two elements share a byte.
    #[inline(always)]
    pub(crate) fn element_size(&self) -> Option<NonZeroU8> {
        self.logical.element_size(self.storage?)
    }

    /// The number of logical elements, if it is known.
    pub(crate) fn count(&self) -> Option<u64> {
        Some(self.size()? >> self.element_size()?.trailing_zeros())
    }
}

impl RawObject<'_> {
    /// No object.
    pub(crate) const NONE: Self = Self {
        name: Text::NONE,
        shape: ShapeSpan::EMPTY,
        product: Product::ONE,
        layout: Format::Unknown,
        first: 0,
        attributes: None,
        shape_at: Remaining::END,
        components_at: Remaining::END,
    };
}

/// One object, after its components, which are the last that were parsed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawObject<'m> {
    pub(crate) name: Text<'m>,
    pub(crate) shape: ShapeSpan,
    pub(crate) product: Product,
    pub(crate) layout: Format,
    /// The ordinal of its first component among all.
    pub(crate) first: u32,
    /// The place of the attributes, if there are some.
    pub(crate) attributes: Option<Remaining>,
    /// The places of the shape and of the components, for faults.
    pub(crate) shape_at: Remaining,
    pub(crate) components_at: Remaining,
}
