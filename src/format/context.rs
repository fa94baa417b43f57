//! Parsing a manifest: the state beside the bytes that are left, and the values of fields in any generation.

use alloc::vec::Vec;
use core::ops::Range;

use super::record::{
    ComponentRecord, Product, RawComponent, ShapeSpan, Shapes, ShardRecord, Text, Uint,
};
use super::{Dialect, Facts, Layout, Version, v2};
use crate::cbor::{
    BytesLeft, Checked, Entries, Fault, Input, Keys, Parsed, array_head, check_utf8, fault, key,
    map_head, read_text, read_uint, short_text, skip, strict, strict_array_head, utf8,
};
use crate::digest::Digest;
use crate::error::{Location, OutOfMemory};
use crate::limits::Limits;
use crate::num::Word;
use crate::rules::{Limit, Rule};

/// The limits and the place of a parser, and the lists into which components and shapes go as they are parsed.
#[derive(Debug)]
pub(crate) struct ParseContext<'o> {
    pub(crate) limits: &'o Limits,
    /// The dialect of the objects: that of the container, until the version is known.
    pub(crate) dialect: &'static Dialect,
    /// The object and component that is being parsed.
    pub(crate) location: Location,
    pub(crate) components: Vec<ComponentRecord>,
    pub(crate) shapes: Shapes,
    pub(crate) shards: Vec<ShardRecord>,
    /// The number of objects that the manifest claims, as far as its bytes can hold as many.
    pub(crate) expected: u32,
    /// The end of all blobs, and the range of the manifest.
    blobs_end: u64,
    manifest: Range<u64>,
    /// The last item that was found to be deterministic CBOR as a whole.
    proven: Range<BytesLeft>,
}

/// The fewest bytes of CBOR that an object takes: a name and a map of three empty fields.
const OBJECT_BYTES: u32 = 29;

impl<'o> ParseContext<'o> {
    /// The context of a manifest that lies at `manifest`, in a file whose blobs end at `blobs_end` at the latest.
    pub(crate) fn new(
        limits: &'o Limits,
        dialect: &'static Dialect,
        manifest: Range<u64>,
        blobs_end: u64,
    ) -> Self {
        Self {
            limits,
            dialect,
            location: Location::NOWHERE,
            components: Vec::new(),
            shapes: Shapes::new(),
            shards: Vec::new(),
            expected: 0,
            blobs_end,
            manifest,
            proven: BytesLeft::END..BytesLeft::END,
        }
    }

    /// Makes room for the objects that are claimed at `at`, each with one component, as most have: for no more
    /// than the bytes that are left can hold.
    pub(super) fn expect(&mut self, claimed: Option<u32>, at: BytesLeft) -> Checked<()> {
        self.expected = claimed.unwrap_or(0).min(at.get() / OBJECT_BYTES);
        Ok(reserve(&mut self.components, self.expected)?)
    }

    /// Checks a component by itself and keeps its record.
    #[inline(always)]
    pub(super) fn component(&mut self, component: &RawComponent, facts: Facts) -> Checked<()> {
        component.check_type()?;
        // The length of a shard is looked at when all of them are known.
        let blobs_end = if component.shard.is_none() { self.blobs_end } else { u64::MAX };
        let extent = component.extent(facts, blobs_end)?;
        let record = component.record(self.dialect, facts, extent)?;
        if facts.shares_blobs && component.shard.is_none() {
            self.check_apart_from_manifest(component, &record)?;
        }
        Ok(push(&mut self.components, record)?)
    }

    /// Checks that a blob of this file is the manifest's own, or apart from it: v2 §2.4. Before 2, all blobs end
    /// before it.
    fn check_apart_from_manifest(
        &self,
        component: &RawComponent,
        record: &ComponentRecord,
    ) -> Result<(), Fault> {
        let (extent, manifest) = (record.extent, &self.manifest);
        let apart = extent.length() == 0
            || extent.end() <= manifest.start
            || manifest.end <= extent.offset()
            || extent.range() == *manifest;
        if apart {
            return Ok(());
        }
        Err(Fault::with(Rule::BlobOverlap, component.offset.bytes_left, extent.offset()))
    }

    /// Checks that the item at `at`, which lies within `open` levels, is deterministic CBOR, unless that is known.
    #[inline(never)]
    pub(super) fn prove(&mut self, at: Input<'_>, open: u8) -> Checked<()> {
        let from = BytesLeft::of(at);
        if from > self.proven.start || from <= self.proven.end {
            let (rest, ()) = strict(at, open, self.limits.depth())?;
            self.proven = from..BytesLeft::of(rest);
        }
        Ok(())
    }
}

/// Fields of a manifest beside its objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    /// The place of the file's attributes.
    pub(crate) attributes: Option<BytesLeft>,
    pub(crate) version: Option<Version>,
}

impl Header {
    /// The header of a manifest that is nothing but objects.
    pub(super) const NONE: Self = Self { attributes: None, version: None };
}

/// A map or array of which some entries have been read.
pub(super) struct OpenList<'m> {
    pub(super) at: Input<'m>,
    pub(super) input: Input<'m>,
    pub(super) entries: Entries,
}

impl<'m> OpenList<'m> {
    /// Opens the objects at `at`, whose head has been read.
    pub(super) fn open(
        cx: &mut ParseContext<'_>,
        at: Input<'m>,
        (input, entries): (Input<'m>, Entries),
    ) -> Checked<Self> {
        cx.expect(entries.claimed(), BytesLeft::of(input))?;
        Ok(Self { at, input, entries })
    }

    /// Ends the list, after its last entry: the bytes after it.
    pub(super) fn end(self) -> Checked<Input<'m>> {
        self.entries.end(self.input, self.at, Limit::Keys)
    }
}

/// Adds an item. Its room grows with what was added, never with what the manifest claims.
#[inline]
pub(crate) fn push<T>(items: &mut Vec<T>, item: T) -> Result<(), Fault> {
    if items.len() == items.capacity() {
        reserve(items, 1)?;
    }
    items.push(item);
    Ok(())
}

/// Makes room for more items.
#[inline(never)]
pub(crate) fn reserve<T>(items: &mut Vec<T>, more: u32) -> Result<(), Fault> {
    let reserved = items.try_reserve(crate::num::usize_from_u32(more));
    reserved.map_err(|_| Fault::new(OutOfMemory, BytesLeft::END))
}

/// A type that a field's value is read into. `STRICT` slots are those of deterministic CBOR, whose heads are as
/// short as they can be.
pub(crate) trait Slot<'m, const STRICT: bool = false>: Sized {
    /// The value of a slot before; it is never read.
    const BLANK: Self;

    /// Reads the value at `at`; one of another type breaks `wrong`.
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self>;
}

impl<'m, const STRICT: bool> Slot<'m, STRICT> for Text<'m> {
    const BLANK: Self = Self::NONE;

    #[inline]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, bytes) = read_text::<STRICT>(wrong, at)?;
        Ok((rest, Self { bytes_left: BytesLeft::of(at), bytes, behind: BytesLeft::of(rest) }))
    }
}

impl Text<'_> {
    /// Breaks `rule` if it is not what `valid` wants, or `cbor-utf8` if it is not even text.
    #[cold]
    fn validate(&self, valid: impl Fn(&str) -> bool, rule: Rule) -> Checked<()> {
        let text = utf8(self.bytes_left, self.bytes)?;
        if valid(text) { Ok(()) } else { Err(Fault::new(rule, self.bytes_left).into()) }
    }

    /// Breaks `rule`, or `cbor-utf8` if it is not even text.
    #[cold]
    pub(super) fn unknown(&self, rule: Rule) -> Fault {
        utf8(self.bytes_left, self.bytes).map_or_else(fault, |_| Fault::new(rule, self.bytes_left))
    }
}

impl<'m, const STRICT: bool> Slot<'m, STRICT> for Uint {
    const BLANK: Self = Self::NONE;

    #[inline(always)]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, value) = read_uint::<STRICT>(wrong, at)?;
        Ok((rest, Self { bytes_left: BytesLeft::of(at), value }))
    }
}

/// A text that is UTF-8: a name out of an open set.
#[derive(Clone, Copy)]
pub(crate) struct Name<'m>(pub(super) Text<'m>);

impl<'m, const STRICT: bool> Slot<'m, STRICT> for Name<'m> {
    const BLANK: Self = Self(Text::NONE);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = <Text<'m> as Slot<'m, STRICT>>::parse(cx, wrong, at)?;
        check_utf8(text.bytes_left, text.bytes)?;
        Ok((rest, Self(text)))
    }
}

/// The place of a digest, found to be well-formed: v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4.
#[derive(Clone, Copy)]
pub(crate) struct DigestText(pub(super) BytesLeft);

impl<'m, const STRICT: bool> Slot<'m, STRICT> for DigestText {
    const BLANK: Self = Self(BytesLeft::END);

    #[inline]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, bytes) = read_text::<STRICT>(wrong, at)?;
        let text = Text { bytes_left: BytesLeft::of(at), bytes, behind: BytesLeft::of(rest) };
        Ok((rest, Self::of::<STRICT>(cx.dialect, text)?))
    }
}

impl DigestText {
    /// Checks the form of a digest, as far as it is known.
    #[inline]
    pub(super) fn of<const STRICT: bool>(dialect: &Dialect, text: Text<'_>) -> Checked<Self> {
        let known =
            if STRICT { Digest::is_known_v2(text.bytes) } else { Digest::is_known(text.bytes) };
        if !known {
            text.validate(|text| (dialect.read_digest)(text).is_some(), Rule::DigestForm)?;
        }
        Ok(Self(text.bytes_left))
    }
}

/// A shape: where it stands, where it is kept, and its product.
#[derive(Clone, Copy)]
pub(crate) struct ShapeField {
    pub(super) bytes_left: BytesLeft,
    pub(super) span: ShapeSpan,
    pub(super) product: Product,
}

impl<'m, const STRICT: bool> Slot<'m, STRICT> for ShapeField {
    const BLANK: Self =
        Self { bytes_left: BytesLeft::END, span: ShapeSpan::EMPTY, product: Product::ONE };

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (bytes_left, limit) = (BytesLeft::of(at), cx.limits.rank());
        let (mut input, mut entries) =
            if STRICT { strict_array_head(wrong, at)? } else { array_head(wrong, limit, at)? };
        if STRICT && entries.claimed() > Some(limit.min(RANK)) {
            return Err(too_many(bytes_left, entries.claimed()).into());
        }
        let (first, mut product) = (input, Product::ONE);
        while entries.next(input) {
            let dimension;
            (input, dimension) = <Uint as Slot<'m, STRICT>>::parse(cx, wrong, input)?;
            product.multiply(dimension.value);
        }
        let length = first.len().wrapping_sub(input.len());
        let kept = cx.shapes.keep(first.get(..length).unwrap_or(first));
        let span = kept.map_err(|out| Fault::new(out, BytesLeft::END))?;
        Ok((entries.end(input, at, Limit::Rank)?, Self { bytes_left, span, product }))
    }
}

/// Dimensions of a shape of 2, at most: v2 §3.3.
const RANK: u32 = 64;

/// The fault of a shape of 2 that has more dimensions than it may, or than the limit allows.
#[cold]
fn too_many(at: BytesLeft, rank: Option<u32>) -> Fault {
    match rank {
        Some(rank) if rank > RANK => Fault::with(Rule::ShapeRank, at, rank.into()),
        _ => Fault::new(Limit::Rank, at),
    }
}

/// Passes over the attributes at `at`, which lie within `open` levels: a map whose keys are text
/// and unique, and whose values may be anything.
pub(crate) fn pass_attributes<'m>(
    limits: &Limits,
    wrong: Rule,
    at: Input<'m>,
    open: u8,
) -> Parsed<'m, ()> {
    let (mut input, mut entries) = map_head(wrong, limits.keys(), at)?;
    let mut keys = Keys::of(input);
    while entries.next(input) {
        let (value, name) = key(input)?;
        check_utf8(BytesLeft::of(input), name)?;
        keys.note(name);
        input = skip(value, open.saturating_add(1), limits.depth())?.0;
    }
    let rest = entries.end(input, at, Limit::Keys)?;
    keys.finish()?;
    Ok((rest, ()))
}

/// Attributes within that many levels, and where they stand.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<const OPEN: u8>(pub(super) BytesLeft);

impl<'m, const OPEN: u8> Slot<'m> for Attributes<OPEN> {
    const BLANK: Self = Self(BytesLeft::END);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, ()) = pass_attributes(cx.limits, wrong, at, OPEN)?;
        Ok((rest, Self(BytesLeft::of(at))))
    }
}

/// The layout of an object: `format` in 1.x, `layout` in 2.
impl<'m, const STRICT: bool> Slot<'m, STRICT> for Layout {
    const BLANK: Self = Self::Unknown;

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && word == const { Word::new("dense") }
        {
            return Ok((rest, Self::Dense));
        }
        let (rest, text) = <Text<'m> as Slot<'m, STRICT>>::parse(cx, wrong, at)?;
        let format = if STRICT { v2::layout(text.bytes) } else { Self::named(text.bytes) };
        if format == Self::Unknown {
            check_utf8(text.bytes_left, text.bytes)?;
        }
        Ok((rest, format))
    }
}
