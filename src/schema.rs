//! What a manifest may say, as tables: one file a generation.
//!
//! A table is a list of fields: key, slot, type, presence, and the rule that a value of another
//! type breaks. It is what a person reads to learn the format and what the decoder runs on.
//! Generations end here: what comes out are claims that know no dialect, and that nobody has
//! judged yet.

mod table;
pub(crate) mod v0_1;
pub(crate) mod v1;

use core::num::NonZeroU8;

use nom::Parser as _;

use crate::cbor::{Checked, Fault, Input, Keys, Mark, Parsed, array_head, key, map_head, skip};
use crate::cbor::{check_utf8, fault, text, uint, utf8};
use crate::element::{LogicalType, StorageType};
use crate::limits::Limits;
use crate::num::listed;
use crate::rules::{Limit, Rule};

pub(crate) use table::table;

listed! {
/// How a component's bytes are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding {
    /// As they are.
    Raw,
    /// Compressed: RFC 8878.
    Zstd,
    /// In a way that is not known (0.1 only): v0.1 §8.
    Unknown,
}
}

listed! {
/// How an object's components make up a tensor: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// A contiguous array in row-major order.
    Dense,
    /// Compressed sparse rows.
    SparseCsr,
    /// A list of coordinates.
    SparseCoo,
    /// Packed weights with scales and zero-points.
    QuantizedGroup,
    /// A format that is not known, or a 0.1 layout that is not.
    Unknown,
}
}

listed! {
/// A role that some format gives a meaning to: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Data,
    Values,
    Indices,
    Indptr,
    Coords,
    PackedWeight,
    Scales,
    Zeros,
}
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::Values => "values",
            Self::Indices => "indices",
            Self::Indptr => "indptr",
            Self::Coords => "coords",
            Self::PackedWeight => "packed_weight",
            Self::Scales => "scales",
            Self::Zeros => "zeros",
        }
    }

    pub(crate) fn of(name: &[u8]) -> Option<Self> {
        Self::LIST.into_iter().find(|role| role.name().as_bytes() == name)
    }
}

/// What a component claims to hold: a name that was found in the tables, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dtype {
    pub(crate) mark: Mark,
    /// None where a 0.1 dtype is not known.
    pub(crate) storage: Option<StorageType>,
    pub(crate) logical: Logical,
    /// Where `type` stands, if there is one that says more than `dtype`.
    pub(crate) type_mark: Option<Mark>,
    /// Whether the dtype itself (of 1.1) stands for a logical type, which no `type` may change.
    pub(crate) implied: bool,
}

/// What storage elements mean, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Logical {
    /// The logical type that `type` names, or that a dtype of 1.1 stands for.
    pub(crate) known: Option<LogicalType>,
    /// Whether there is a `type` that is not known.
    pub(crate) unknown: bool,
}

impl Logical {
    /// Nothing but what the storage type says.
    pub(crate) const NONE: Self = Self { known: None, unknown: false };

    /// A logical type that is known.
    pub(crate) const fn known(logical: LogicalType) -> Self {
        Self { known: Some(logical), unknown: false }
    }

    /// Bytes of which a component holds a whole number: those of a logical element, or, where its
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

    /// Bytes of one logical element on that storage type, where this is known: v1.2 §2.
    #[inline(always)]
    pub(crate) fn element_size(self, storage: StorageType) -> Option<NonZeroU8> {
        if self.unknown { None } else { NonZeroU8::new(self.unit(storage)) }
    }
}

/// What the manifest claims of one blob.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ComponentClaim {
    /// Where its role stands; in 0.1, where its entry begins.
    pub(crate) at: Mark,
    /// Where its map begins.
    pub(crate) map: Mark,
    /// Its role, where it is a known one.
    pub(crate) role: Option<Role>,
    pub(crate) dtype: Dtype,
    pub(crate) offset: Uint,
    pub(crate) length: Uint,
    pub(crate) decoded: Option<Uint>,
    pub(crate) encoding: Encoding,
    pub(crate) digest: bool,
    /// Where the data is declared big-endian, if it is.
    pub(crate) big_endian: Option<Mark>,
}

/// What the manifest claims of one object, its components having been claimed before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObjectClaim {
    pub(crate) shape: Shape,
    pub(crate) format: Format,
    /// Where its components begin.
    pub(crate) components: Mark,
}

/// What judges the claims, in the order of the manifest.
pub(crate) trait Sink<'m> {
    /// The version says so much; comes before any object.
    fn version(&mut self, version: Version);
    /// So many objects are claimed to follow in the bytes from `at`.
    fn expect(&mut self, claimed: Option<u32>, at: Mark) -> Result<(), Fault>;
    /// An object begins; what follows is in it.
    fn begin_object(&mut self);
    /// Its name, whose head is at `at`.
    fn name(&mut self, at: Mark, name: &'m [u8]);
    /// A component begins; what follows is in it.
    fn begin_component(&mut self);
    fn component(&mut self, claim: &ComponentClaim) -> Result<(), Fault>;
    /// What follows is about the component of that ordinal again.
    fn return_to_component(&mut self, ordinal: u32);
    fn object(&mut self, claim: &ObjectClaim) -> Result<(), Fault>;
    /// No more objects follow.
    fn end_objects(&mut self);
}

/// What decoding a manifest carries along.
pub(crate) struct Walk<'w, S> {
    pub(crate) sink: &'w mut S,
    pub(crate) limits: &'w Limits,
    pub(crate) version: Option<Version>,
}

/// `version` of a 1.x manifest: v1.1 II.1, v1.2 §1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// 1.
    pub major: u32,
    /// 0 and 1 follow the rules of 1.1, others those of 1.2.
    pub minor: u32,
    /// The third number, where there is one.
    pub patch: Option<u32>,
}

impl Version {
    /// Whether the rules of 1.1 are to be followed.
    pub(crate) fn is_1_1(self) -> bool {
        self.minor < 2
    }
}

/// What a field's value is read into.
pub(crate) trait Slot<'m>: Sized {
    /// What is in the slot before; nobody reads it.
    const BLANK: Self;

    /// Reads the value at `at`; one of another type breaks `wrong`.
    fn take<S: Sink<'m>>(walk: &mut Walk<'_, S>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self>;
}

/// A text and where it stands; not known to be UTF-8.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Text<'m> {
    pub(crate) mark: Mark,
    pub(crate) bytes: &'m [u8],
}

impl<'m> Slot<'m> for Text<'m> {
    const BLANK: Self = Self { mark: Mark::END, bytes: &[] };

    #[inline(always)]
    fn take<S: Sink<'m>>(_: &mut Walk<'_, S>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, bytes) = text(wrong).parse(at)?;
        Ok((rest, Self { mark: Mark::of(at), bytes }))
    }
}

impl Text<'_> {
    /// Breaks `rule` if it is not what `good` wants, or `cbor-utf8` if it is not even text.
    #[cold]
    fn judge(&self, good: impl Fn(&str) -> bool, rule: Rule) -> Checked<()> {
        let text = utf8(self.mark, self.bytes)?;
        if good(text) { Ok(()) } else { Err(Fault::new(rule, self.mark).into()) }
    }

    /// Breaks `rule`, or `cbor-utf8` if it is not even text.
    #[cold]
    fn unknown(&self, rule: Rule) -> Fault {
        utf8(self.mark, self.bytes).map_or_else(fault, |_| Fault::new(rule, self.mark))
    }
}

/// An unsigned integer and where it stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uint {
    pub(crate) mark: Mark,
    pub(crate) value: u64,
}

impl<'m> Slot<'m> for Uint {
    const BLANK: Self = Self { mark: Mark::END, value: 0 };

    #[inline(always)]
    fn take<S: Sink<'m>>(_: &mut Walk<'_, S>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, value) = uint(wrong).parse(at)?;
        Ok((rest, Self { mark: Mark::of(at), value }))
    }
}

/// A shape: where it stands, and what is asked of it. The dimensions stay in the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) mark: Mark,
    pub(crate) rank: u32,
    /// 0 where a dimension is 0; none where it overflows.
    pub(crate) product: Option<u64>,
    /// The first dimension: rows of a matrix.
    pub(crate) first: u64,
}

impl<'m> Slot<'m> for Shape {
    const BLANK: Self = Self { mark: Mark::END, rank: 0, product: None, first: 0 };

    #[inline(always)]
    fn take<S: Sink<'m>>(walk: &mut Walk<'_, S>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let limit = walk.limits.rank();
        let (mut input, mut entries) = array_head(wrong, limit).parse(at)?;
        let mut product = Product::default();
        while entries.next(input) {
            let dimension;
            (input, dimension) = uint(wrong).parse(input)?;
            product.take(dimension);
        }
        let shape = product.shape(Mark::of(at));
        Ok((entries.end(input, at, Limit::Rank)?, shape))
    }
}

/// The dimensions of a shape, as they come.
struct Product {
    rank: u32,
    first: u64,
    wrapped: u64,
    overflows: bool,
    empty: bool,
}

impl Default for Product {
    #[inline(always)]
    fn default() -> Self {
        Self { rank: 0, first: 0, wrapped: 1, overflows: false, empty: false }
    }
}

impl Product {
    #[inline(always)]
    fn take(&mut self, dimension: u64) {
        if self.rank == 0 {
            self.first = dimension;
        }
        self.rank = self.rank.wrapping_add(1);
        self.empty |= dimension == 0;
        let (wrapped, overflow) = self.wrapped.overflowing_mul(dimension);
        self.wrapped = wrapped;
        self.overflows |= overflow;
    }

    #[inline(always)]
    fn shape(self, mark: Mark) -> Shape {
        // Where a dimension is 0, so is what is left of the product.
        let product = (self.empty || !self.overflows).then_some(self.wrapped);
        Shape { mark, rank: self.rank, product, first: self.first }
    }
}

#[cfg(feature = "write")]
impl Shape {
    /// The shape of those dimensions, which stand nowhere yet.
    pub(crate) fn of(dimensions: &[u64]) -> Self {
        let mut product = Product::default();
        for dimension in dimensions {
            product.take(*dimension);
        }
        product.shape(Mark::END)
    }
}

/// A map whose keys are text and unique and whose values are anybody's: attributes.
pub(crate) struct Opaque;

impl Opaque {
    /// Passes over the map at `at`, which lies within `open` levels.
    pub(crate) fn pass<'m>(
        limits: &Limits,
        wrong: Rule,
        at: Input<'m>,
        open: u8,
    ) -> Parsed<'m, Self> {
        let (mut input, mut entries) = map_head(wrong, limits.keys()).parse(at)?;
        let mut keys = Keys::default();
        while entries.next(input) {
            let (value, name) = key(input)?;
            check_utf8(Mark::of(input), name)?;
            keys.note(name);
            input = skip(value, open.saturating_add(1), limits.depth())?.0;
        }
        let rest = entries.end(input, at, Limit::Keys)?;
        keys.finish(at, input)?;
        Ok((rest, Self))
    }
}
