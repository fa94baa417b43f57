//! The compact index: 8 bytes an object and 8 a component. Everything else stays in the
//! manifest's bytes and is read when it is asked for.

use alloc::vec::Vec;

use crate::cbor::{Fault, Mark};
use crate::element::{LogicalType, StorageType};
use crate::error::{ErrorKind, Misuse};
use crate::format::{Encoding, Format, Logical};
use crate::num::{index, short};

/// Fields of a `u64`, from the low bits up.
macro_rules! bit_fields {
    ($record:ident: $($get:ident, $bits:literal, $shift:expr;)+) => {
        impl $record {
            $(
                #[inline(always)]
                pub(super) fn $get(self) -> u32 {
                    const MASK: u64 = (1 << $bits) - 1;
                    u32::try_from((self.0 >> $shift) & MASK).unwrap_or_default()
                }
            )+
        }
    };
}

/// Where an object's name and first component are, and its format.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjectRecord(u64);

bit_fields! { ObjectRecord:
    name, 32, 0;
    first, 26, 32;
    format_code, 6, 58;
}

impl ObjectRecord {
    pub(super) fn new(name: Mark, first: u32, format: Format) -> Self {
        let format: u64 = match format {
            Format::Dense => 0,
            Format::SparseCsr => 1,
            Format::SparseCoo => 2,
            Format::QuantizedGroup => 3,
            Format::Unknown => 4,
        };
        Self(u64::from(name.left()) | u64::from(first) << 32 | format << 58)
    }

    pub(super) fn format(self) -> Format {
        match self.format_code() {
            0 => Format::Dense,
            1 => Format::SparseCsr,
            2 => Format::SparseCoo,
            3 => Format::QuantizedGroup,
            _ => Format::Unknown,
        }
    }
}

/// Where a component begins, what it holds, and how far on its offset and length stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct ComponentRecord(u64);

bit_fields! { ComponentRecord:
    at, 31, 0;
    storage_code, 4, 31;
    logical_code, 3, 35;
    encoding_code, 2, 38;
    big, 1, 40;
    digest, 1, 41;
    offset_after, 11, 42;
    length_after, 11, 53;
}

/// What a component record is made of.
pub(super) struct ComponentFacts {
    pub(super) at: Mark,
    pub(super) storage: Option<StorageType>,
    pub(super) logical: Logical,
    pub(super) encoding: Encoding,
    pub(super) big: bool,
    pub(super) digest: bool,
    pub(super) offset: Mark,
    pub(super) length: Mark,
}

impl ComponentRecord {
    const STORAGE_UNKNOWN: u8 = 15;
    const LOGICAL_NONE: u8 = 6;
    const LOGICAL_UNKNOWN: u8 = 7;

    #[inline(always)]
    pub(super) fn new(facts: &ComponentFacts) -> Self {
        // 0 stands for too far: the value is then found by walking the map.
        let after = |mark: Mark| match facts.at.left().wrapping_sub(mark.left()) {
            near @ 0..2048 => u64::from(near),
            _ => 0,
        };
        let storage = facts.storage.map_or(Self::STORAGE_UNKNOWN, StorageType::ordinal);
        let logical = match facts.logical {
            Logical::None => Self::LOGICAL_NONE,
            Logical::Known(logical) => logical.ordinal(),
            Logical::Unknown => Self::LOGICAL_UNKNOWN,
        };
        let encoding: u64 = match facts.encoding {
            Encoding::Raw => 0,
            Encoding::Zstd => 1,
            Encoding::Unknown => 2,
        };
        Self(
            u64::from(facts.at.left())
                | u64::from(storage) << 31
                | u64::from(logical) << 35
                | encoding << 38
                | u64::from(facts.big) << 40
                | u64::from(facts.digest) << 41
                | after(facts.offset) << 42
                | after(facts.length) << 53,
        )
    }

    pub(super) fn storage(self) -> Option<StorageType> {
        u8::try_from(self.storage_code()).ok().and_then(StorageType::from_ordinal)
    }

    pub(super) fn logical(self) -> Logical {
        match u8::try_from(self.logical_code()) {
            Ok(Self::LOGICAL_UNKNOWN) => Logical::Unknown,
            Ok(code) => LogicalType::from_ordinal(code).map_or(Logical::None, Logical::Known),
            Err(_) => Logical::None,
        }
    }

    pub(super) fn encoding(self) -> Encoding {
        match self.encoding_code() {
            0 => Encoding::Raw,
            1 => Encoding::Zstd,
            _ => Encoding::Unknown,
        }
    }
}

/// A vector that grows by what the manifest's bytes have earned, never by what they claim.
#[derive(Debug)]
pub(super) struct Grown<T> {
    items: Vec<T>,
}

impl<T> Default for Grown<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T> Grown<T> {
    /// Makes room for `claimed` items of at least `smallest` bytes each in the `left` bytes.
    /// Where nothing is claimed, room comes with [`push`](Self::push).
    pub(super) fn expect(
        &mut self,
        claimed: Option<u32>,
        left: u32,
        smallest: u32,
    ) -> Result<(), Fault> {
        let most = left.checked_div(smallest).unwrap_or(left);
        self.reserve(claimed.unwrap_or(0).min(most))
    }

    fn reserve(&mut self, more: u32) -> Result<(), Fault> {
        self.items
            .try_reserve_exact(index(more))
            .map_err(|_| Fault::new(ErrorKind::Misuse(Misuse::Memory), Mark::default()))
    }

    /// Adds one that is at `at`. Without room for it, makes room for as many as the bytes left
    /// will hold if they go on like those from `begin`, and a few more.
    #[inline(always)]
    pub(super) fn push(&mut self, item: T, begin: Mark, at: Mark) -> Result<(), Fault> {
        if self.items.len() == self.items.capacity() {
            self.grow(begin, at)?;
        }
        self.items.push(item);
        Ok(())
    }

    #[cold]
    fn grow(&mut self, begin: Mark, at: Mark) -> Result<(), Fault> {
        let (used, left) = (begin.left().saturating_sub(at.left()), at.left());
        let have = short(self.items.len());
        let each = used.checked_div(have).unwrap_or(u32::MAX).max(1);
        let to_come = left.checked_div(each).unwrap_or(0);
        let margin = to_come.checked_div(32).unwrap_or(0);
        // Never more than twice as many, so that a few tiny ones do not promise many.
        let more = to_come.saturating_add(margin).min(have).saturating_add(8);
        self.reserve(more)
    }

    /// What has come, in little more memory than it needs.
    pub(super) fn into_vec(self) -> Vec<T> {
        // Room for one in sixteen more is not worth the copy; and where there is no memory for
        // one, what is there will do. Shrinking in place would abort then.
        if self.items.capacity().saturating_sub(self.items.len()) > self.items.len() >> 4 {
            let mut fitting = Vec::new();
            if fitting.try_reserve_exact(self.items.len()).is_ok() {
                fitting.extend(self.items);
                return fitting;
            }
        }
        self.items
    }

    pub(super) fn len(&self) -> u32 {
        short(self.items.len())
    }
}
