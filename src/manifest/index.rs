//! The compact index: 8 bytes an object and 8 a component. Everything else stays in the
//! manifest's bytes and is read when it is asked for. The first component of an object, which is the
//! only one of most, stands beside the object: what is looked up is found in one line of cache.

use alloc::vec::Vec;

use crate::cbor::{Fault, Remaining};
use crate::element::{LogicalType, StorageType};
use crate::error::OutOfMemory;
use crate::format::{Encoding, Format, Logical};
use crate::limits::format::MANIFEST_CAP;
use crate::num::{Assured as _, len_u32, u64_from_usize, usize_from_u32};

/// Fields of a `u64`, from the low bits up: how many bits, and where they begin.
macro_rules! bit_fields {
    ($record:ident: $($get:ident, $bits:expr, $shift:expr;)+) => {
        impl $record {
            $(
                #[inline(always)]
                pub(super) fn $get(self) -> u32 {
                    const MASK: u64 = (1 << $bits) - 1;
                    u32::try_from((self.0 >> $shift) & MASK).assured()
                }
            )+
        }

        const _: () = {
            let mut end = 0;
            $(
                assert!($shift == end, "each field begins where the one before ends");
                end += $bits;
            )+
            assert!(end == u64::BITS);
        };
    };
}

const FORMAT_BITS: u32 = 6;
const STORAGE_BITS: u32 = 5;
const LOGICAL_BITS: u32 = 5;
const ENCODING_BITS: u32 = 2;
const AT_BITS: u32 = 30;
const AFTER_BITS: u32 = 9;
const OTHERS_BITS: u32 = 27;

const _: () = {
    assert!(Format::COUNT <= 1 << FORMAT_BITS);
    assert!(Encoding::COUNT <= 1 << ENCODING_BITS);
    // One more stands for none.
    assert!(StorageType::COUNT < 1 << STORAGE_BITS);
    assert!(LogicalType::COUNT < 1 << LOGICAL_BITS);
    // Names and components are behind the head of the root, and take more than 8 bytes each.
    assert!(MANIFEST_CAP <= 1 << AT_BITS);
    assert!(MANIFEST_CAP / 8 <= 1 << OTHERS_BITS);
};

/// Where the name of an object is, and its format.
#[derive(Clone, Copy, Debug, Default)]
struct Head(u64);

bit_fields! { Head:
    name, AT_BITS, 0;
    several, 1, 30;
    others, OTHERS_BITS, 31;
    format_code, FORMAT_BITS, 58;
}

/// An object, and its first component.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ObjectRecord {
    head: Head,
    first: ComponentRecord,
}

/// The components of an object, as they come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    /// How many there have been.
    pub(super) count: u32,
    first: ComponentRecord,
    /// How many components that are not the first of their object had come before it.
    others: u32,
}

impl Gathered {
    /// None yet.
    pub(super) fn none(others: u32) -> Self {
        Self { count: 0, first: ComponentRecord::default(), others }
    }

    /// Adds one. Whether it is another than the first.
    #[inline(always)]
    pub(super) fn add(&mut self, record: ComponentRecord) -> bool {
        let is_other = self.count > 0;
        if !is_other {
            self.first = record;
        }
        self.count = self.count.wrapping_add(1);
        is_other
    }
}

impl ObjectRecord {
    #[inline(always)]
    pub(super) fn new(name: Remaining, format: Format, components: &Gathered) -> Self {
        let several = u64::from(components.count > 1) << 30;
        let (others, format) = (u64::from(components.others), u64::from(format.ordinal()));
        let head = Head(u64::from(name.left()) | several | others << 31 | format << 58);
        Self { head, first: components.first }
    }

    /// Where its name is.
    #[inline(always)]
    pub(super) fn name(self) -> Remaining {
        Remaining::from_left(self.head.name())
    }

    #[inline]
    pub(super) fn format(self) -> Format {
        let code = usize_from_u32(self.head.format_code());
        Format::LIST.get(code).copied().assured_or(Format::Unknown)
    }

    /// Its first component, if it has any.
    #[inline]
    pub(super) fn first(self) -> Option<ComponentRecord> {
        (self.first.at() > 0).then_some(self.first)
    }

    /// Whether it has others than the first.
    #[inline]
    pub(super) fn has_others(self) -> bool {
        self.head.several() == 1
    }

    /// How many components that are not the first of their object stand before it.
    pub(super) fn others(self) -> u32 {
        self.head.others()
    }

    /// Its only component, if it has one and no other.
    #[inline]
    pub(super) fn only(self) -> Option<ComponentRecord> {
        if self.has_others() { None } else { self.first() }
    }
}

/// Where a component begins, what it holds, and how far on its offset and length stand. 0 is none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ComponentRecord(u64);

bit_fields! { ComponentRecord:
    at, AT_BITS, 0;
    storage_code, STORAGE_BITS, 30;
    logical_code, LOGICAL_BITS, 35;
    type_unknown, 1, 40;
    encoding_code, ENCODING_BITS, 41;
    elsewhere, 1, 43;
    big, 1, 44;
    digest, 1, 45;
    offset_after, AFTER_BITS, 46;
    length_after, AFTER_BITS, 55;
}

/// What a component record is made of.
pub(super) struct ComponentFacts {
    pub(super) at: Remaining,
    pub(super) storage: Option<StorageType>,
    pub(super) logical: Logical,
    pub(super) encoding: Encoding,
    /// Whether it is in another file.
    pub(super) elsewhere: bool,
    pub(super) big: bool,
    pub(super) digest: bool,
    pub(super) offset: Remaining,
    pub(super) length: Remaining,
}

impl ComponentRecord {
    /// Whether its blob is in another file.
    #[inline(always)]
    pub(super) fn is_elsewhere(self) -> bool {
        cfg!(feature = "v2") && self.elsewhere() == 1
    }

    #[inline(always)]
    pub(super) fn new(facts: &ComponentFacts) -> Self {
        const FAR: u32 = 1 << AFTER_BITS;
        // 0 stands for too far: the value is then found by walking the map.
        let after = |remaining: Remaining| match facts.at.left().wrapping_sub(remaining.left()) {
            near @ 0..FAR => u64::from(near),
            _ => 0,
        };
        // What is not there has the code behind the last.
        let storage =
            facts.storage.map_or(u64_from_usize(StorageType::COUNT), |it| it.ordinal().into());
        let logical = facts.logical.known;
        let logical = logical.map_or(u64_from_usize(LogicalType::COUNT), |it| it.ordinal().into());
        Self(
            u64::from(facts.at.left())
                | storage << 30
                | logical << 35
                | u64::from(facts.logical.unknown) << 40
                | u64::from(facts.encoding.ordinal()) << 41
                | u64::from(facts.elsewhere) << 43
                | u64::from(facts.big) << 44
                | u64::from(facts.digest) << 45
                | after(facts.offset) << 46
                | after(facts.length) << 55,
        )
    }

    #[inline]
    pub(super) fn storage(self) -> Option<StorageType> {
        StorageType::LIST.get(usize_from_u32(self.storage_code())).copied()
    }

    #[inline]
    pub(super) fn logical(self) -> Logical {
        let known = LogicalType::LIST.get(usize_from_u32(self.logical_code())).copied();
        Logical { known, unknown: self.type_unknown() == 1 }
    }

    #[inline]
    pub(super) fn encoding(self) -> Encoding {
        Encoding::LIST
            .get(usize_from_u32(self.encoding_code()))
            .copied()
            .assured_or(Encoding::Unknown)
    }
}

/// A vector that grows by what the manifest's bytes allow, never by what they claim.
#[derive(Debug)]
pub(super) struct BoundedVec<T> {
    items: Vec<T>,
}

impl<T> Default for BoundedVec<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T> BoundedVec<T> {
    /// Makes room for `claimed` items of at least `smallest` bytes each in the `left` bytes.
    /// Where nothing is claimed, room comes with [`push`](Self::push).
    pub(super) fn expect(
        &mut self,
        claimed: Option<u32>,
        left: u32,
        smallest: u32,
    ) -> Result<(), Fault> {
        let most = left.checked_div(smallest).assured_or(left);
        self.reserve(claimed.unwrap_or(0).min(most))
    }

    fn reserve(&mut self, more: u32) -> Result<(), Fault> {
        self.items
            .try_reserve_exact(usize_from_u32(more))
            .map_err(|_| Fault::new(OutOfMemory, Remaining::default()))
    }

    /// Adds one that is at `at`. Without room for it, makes room for as many as the bytes left
    /// will hold if they go on like those from `begin`, and a few more.
    #[inline(always)]
    pub(super) fn push(&mut self, item: T, begin: Remaining, at: Remaining) -> Result<(), Fault> {
        if self.items.len() == self.items.capacity() {
            self.grow(begin, at)?;
        }
        self.items.push(item);
        Ok(())
    }

    #[cold]
    fn grow(&mut self, begin: Remaining, at: Remaining) -> Result<(), Fault> {
        let (used, left) = (begin.left().checked_sub(at.left()).assured(), at.left());
        let have = len_u32(self.items.len());
        let each = used.checked_div(have).unwrap_or(u32::MAX).max(1);
        let to_come = left.checked_div(each).assured();
        let margin = to_come >> 5;
        // Never more than twice as many, so that a few tiny ones do not promise many.
        let more = to_come.saturating_add(margin).min(have).saturating_add(8);
        self.reserve(more)
    }

    /// What has come, in little more memory than it needs.
    pub(super) fn into_vec(mut self) -> Vec<T> {
        // Room for one in sixteen more is not worth the copy; and where there is no memory for
        // one, what is there will do. Shrinking in place would abort then.
        if self.items.capacity().checked_sub(self.items.len()).assured() > self.items.len() >> 4 {
            let mut fitting = Vec::new();
            if fitting.try_reserve_exact(self.items.len()).is_ok() {
                fitting.append(&mut self.items);
                return fitting;
            }
        }
        self.items
    }

    pub(super) fn len(&self) -> u32 {
        len_u32(self.items.len())
    }
}
