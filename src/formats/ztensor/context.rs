//! Parsing a manifest: the state of the parser, and the values of the fields that all generations share.

use core::ops::Range;

use super::record::{ParsedComponent, Text, Uint};
use super::{Dialect, Version, v2};
use crate::cbor::{
    BytesLeft, Checked, Entries, Fault, Input, Parsed, array_head, check_utf8, fault,
    pass_attributes, read_text, read_uint, short_text, strict, strict_array_head, utf8,
};
use crate::digest::Digest;
use crate::error::Location;
use crate::index::{
    ComponentFault, ComponentRecord, Extent, Facts, IndexBuilder, Layout, Product, ShapeSpan,
    ShardRecord, Site, Span, reserve,
};
use crate::limits::Limits;
use crate::names::by_length;
use crate::num::{Word, len_u32, usize_from_u32};
use crate::rules::{Limit, Rule};

/// The state of a manifest parser: the limits, the current object and component, and the index to which parsed
/// components and shapes are added.
#[derive(Debug)]
pub(crate) struct ParseContext<'o> {
    pub(crate) limits: &'o Limits,
    /// The dialect of the manifest. Until the version is read, it is the newest dialect of the container.
    pub(crate) dialect: &'static Dialect,
    /// The ordinals of the object and of the component that are being parsed, for errors.
    pub(crate) location: Location,
    pub(crate) index: IndexBuilder,
    /// The number of objects that the manifest declares, or the number for which its bytes have room if that is smaller.
    pub(crate) expected: u32,
    /// The bytes that are parsed: a manifest, or one object of a manifest.
    bytes: Input<'o>,
    /// The last shape that was parsed: its CBOR bytes, its span in the index, and the product of its dimensions.
    last_shape: (Input<'o>, ShapeSpan, Product),
    /// The offset in the file at or before which all blobs of this file must end.
    blobs_end: u64,
    manifest: Range<u64>,
    /// Whether the table of shards has been parsed. It has not if an object is checked before it is written.
    has_table: bool,
    /// The range of the last CBOR item that was checked to be deterministic as a whole, so that items within it need no
    /// check.
    proven: Range<BytesLeft>,
}

/// The smallest size in bytes of an object: a name and a map of three empty fields. It bounds how many objects a manifest
/// can have.
const OBJECT_BYTES: u32 = 29;

impl<'o> ParseContext<'o> {
    /// Creates the context for parsing `bytes`, which belong to no file unless [`in_file`](Self::in_file) is called.
    /// Components and shapes are added to `index`.
    pub(crate) fn new(
        limits: &'o Limits,
        dialect: &'static Dialect,
        bytes: Input<'o>,
        index: IndexBuilder,
    ) -> Self {
        Self {
            limits,
            dialect,
            location: Location::NOWHERE,
            index,
            expected: 0,
            bytes,
            last_shape: (&[], ShapeSpan::EMPTY, Product::ONE),
            blobs_end: u64::MAX,
            manifest: u64::MAX..u64::MAX,
            has_table: false,
            proven: BytesLeft::END..BytesLeft::END,
        }
    }

    /// Sets `manifest`, the range of the manifest in its file, and `blobs_end`, the offset at or before which all blobs of
    /// the file must end.
    pub(crate) fn in_file(self, manifest: Range<u64>, blobs_end: u64) -> Self {
        Self { manifest, blobs_end, has_table: true, ..self }
    }

    /// Returns the offset from the start of the parsed bytes of the item that begins at `at`.
    #[inline]
    pub(super) fn offset(&self, at: Input<'_>) -> u32 {
        len_u32(self.bytes.len().wrapping_sub(at.len()))
    }

    /// Returns the bytes of the CBOR item that begins at `at` and ends where `rest` begins.
    #[inline]
    fn item(&self, at: Input<'_>, rest: Input<'_>) -> Input<'o> {
        let start = self.bytes.len().wrapping_sub(at.len());
        self.bytes.get(start..self.bytes.len().wrapping_sub(rest.len())).unwrap_or_default()
    }

    /// Returns the span of the CBOR item that begins at `at` and ends where `rest` begins.
    #[inline]
    pub(super) fn item_span(&self, at: Input<'_>, rest: Input<'_>) -> Span {
        Span::new(self.offset(at), len_u32(at.len().wrapping_sub(rest.len())))
    }

    /// Returns the span of `text` in the parsed bytes. `behind` is the position directly after the text, as the number of bytes
    /// from there to the end.
    #[inline]
    pub(super) fn text_span(&self, text: Input<'_>, behind: BytesLeft) -> Span {
        let end = len_u32(self.bytes.len()).wrapping_sub(behind.get());
        let length = len_u32(text.len());
        Span::new(end.wrapping_sub(length), length)
    }

    /// Reserves memory for the components of `claimed` objects, which begin at `at`, with one component for each object, as
    /// most objects have. Never reserves memory for more objects than the bytes after `at` can hold, so a short file that
    /// claims many objects cannot make the parser allocate much.
    pub(super) fn expect(&mut self, claimed: Option<u32>, at: BytesLeft) -> Checked<()> {
        self.expected = claimed.unwrap_or(0).min(at.get() / OBJECT_BYTES);
        Ok(reserve(&mut self.index.components, self.expected)?)
    }

    /// Checks `component` by the rules that do not depend on its object, and adds it to the index. `map` is the input at
    /// the component's map, for errors.
    #[inline(always)]
    pub(super) fn component(
        &mut self,
        component: &ParsedComponent,
        map: Input<'_>,
        facts: Facts,
    ) -> Checked<()> {
        let (record, details) = component.record();
        let checked =
            record.check(facts, self.dialect.needs_decoded_length, self.blobs_end(record.file));
        checked.map_err(|found| self.fault(map, found))?;
        if facts.shares_blobs && !record.in_shard() {
            let apart = self.check_apart_from_manifest(record.extent);
            apart.map_err(|found| self.fault(map, found))?;
        }
        Ok(self.index.component(record, details)?)
    }

    /// Returns the offset at or before which the blobs in the file with the ordinal `file` must end. Files other than the
    /// parsed one are shards. The largest offset is returned if the table has no such shard.
    #[inline]
    fn blobs_end(&self, file: u32) -> u64 {
        if file == ComponentRecord::FILE_OF_HEADER {
            return self.blobs_end;
        }
        let shard = self.index.shards.get(usize_from_u32(file));
        shard.map_or(u64::MAX, ShardRecord::blobs_end)
    }

    /// Converts `fault`, an error about a field of the component whose map begins at `map`, to an error with the position of
    /// that field.
    #[cold]
    #[inline(never)]
    fn fault(&self, map: Input<'_>, fault: ComponentFault) -> Fault {
        let field = self.dialect.site(map, fault.site).unwrap_or(map);
        Fault::with(fault.kind, BytesLeft::of(field), fault.found)
    }

    /// Checks that a blob of this file is empty, is the whole manifest, or does not overlap the manifest: v2 §2.4.
    fn check_apart_from_manifest(&self, extent: Extent) -> Result<(), ComponentFault> {
        let manifest = &self.manifest;
        let apart = extent.length() == 0
            || extent.end() <= manifest.start
            || manifest.end <= extent.offset()
            || extent.range() == *manifest;
        if apart {
            return Ok(());
        }
        let kind = Rule::BlobOverlap.into();
        Err(ComponentFault { kind, site: Site::Offset, found: extent.offset() })
    }

    /// Returns the ordinal of the shard called `name` in the table of shards, or 0 if no table has been parsed: v2 §7.1. `at`
    /// is the position of the name, for the error if the table has no such shard.
    pub(super) fn shard(&self, name: Input<'_>, at: BytesLeft) -> Result<u32, Fault> {
        if !self.has_table {
            return Ok(0);
        }
        let IndexBuilder { shards, .. } = &self.index;
        let found = shards.binary_search_by(|shard| by_length(shard.name.of(self.bytes), name));
        found.map(len_u32).map_err(|_| Fault::new(Rule::ShardReference, at))
    }

    /// Checks that the CBOR item at `at` is deterministic and does not nest more deeply than the limit, unless the item lies in
    /// the last item that was checked as a whole. `open` is the number of maps, arrays and tags around the item.
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

/// The fields of a manifest's root other than the objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ManifestFields {
    /// The span in the manifest of the CBOR map of the file's attributes; [`Span::NONE`] without attributes.
    pub(crate) attributes: Span,
    pub(crate) version: Option<Version>,
}

impl ManifestFields {
    /// The fields for a manifest that has no field but the objects (0.1), or that is empty (a data shard).
    pub(crate) const NONE: Self = Self { attributes: Span::NONE, version: None };
}

/// The CBOR map or array of objects of a manifest, while it is being read. `input` begins at the next object.
pub(super) struct OpenList<'m> {
    pub(super) at: Input<'m>,
    pub(super) input: Input<'m>,
    pub(super) entries: Entries,
}

impl<'m> OpenList<'m> {
    /// Begins to read the map or array of objects at `at`. The head has been read: `input` is the input after it, and
    /// `entries` the number of objects. Reserves memory for the objects.
    pub(super) fn open(
        cx: &mut ParseContext<'_>,
        at: Input<'m>,
        (input, entries): (Input<'m>, Entries),
    ) -> Checked<Self> {
        cx.expect(entries.claimed(), BytesLeft::of(input))?;
        Ok(Self { at, input, entries })
    }

    /// Returns the input after the map or array. The caller must have read the last object.
    pub(super) fn end(self) -> Checked<Input<'m>> {
        self.entries.end(self.input, self.at, Limit::Keys)
    }
}

/// A type into which the value of a field is parsed. With `STRICT`, the value must be deterministic CBOR, with the shortest
/// heads.
pub(crate) trait FieldType<'m, const STRICT: bool = false>: Sized {
    /// The value of a field before it has been parsed. Parsing overwrites it.
    const BLANK: Self;

    /// Parses the value at `at`. A value of another type breaks the rule `wrong`.
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self>;
}

impl<'m, const STRICT: bool> FieldType<'m, STRICT> for Text<'m> {
    const BLANK: Self = Self::NONE;

    #[inline]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, bytes) = read_text::<STRICT>(wrong, at)?;
        Ok((rest, Self { bytes_left: BytesLeft::of(at), bytes, behind: BytesLeft::of(rest) }))
    }
}

impl Text<'_> {
    /// Checks that the text is UTF-8 (rule `cbor-utf8`) and that `valid` returns true for the text (rule `rule`).
    #[cold]
    fn validate(&self, valid: impl Fn(&str) -> bool, rule: Rule) -> Checked<()> {
        let text = utf8(self.bytes_left, self.bytes)?;
        if valid(text) { Ok(()) } else { Err(Fault::new(rule, self.bytes_left).into()) }
    }

    /// Returns the error for a text that is none of the expected ones: of `cbor-utf8` if the text is not UTF-8, and otherwise
    /// of `rule`.
    #[cold]
    pub(super) fn unknown(&self, rule: Rule) -> Fault {
        utf8(self.bytes_left, self.bytes).map_or_else(fault, |_| Fault::new(rule, self.bytes_left))
    }
}

impl<'m, const STRICT: bool> FieldType<'m, STRICT> for Uint {
    const BLANK: Self = Self::NONE;

    #[inline(always)]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, value) = read_uint::<STRICT>(wrong, at)?;
        Ok((rest, Self { bytes_left: BytesLeft::of(at), value }))
    }
}

/// A text in a manifest that the specification leaves open, such as the encoding in 0.1. The text has been checked to be
/// UTF-8.
#[derive(Clone, Copy)]
pub(crate) struct Name<'m>(pub(super) Text<'m>);

impl<'m, const STRICT: bool> FieldType<'m, STRICT> for Name<'m> {
    const BLANK: Self = Self(Text::NONE);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = <Text<'m> as FieldType<'m, STRICT>>::parse(cx, wrong, at)?;
        check_utf8(text.bytes_left, text.bytes)?;
        Ok((rest, Self(text)))
    }
}

/// The span in the manifest of the text of a digest, whose syntax has been checked: v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4.
#[derive(Clone, Copy)]
pub(crate) struct DigestText(pub(super) Span);

impl<'m, const STRICT: bool> FieldType<'m, STRICT> for DigestText {
    const BLANK: Self = Self(Span::NONE);

    #[inline]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, bytes) = read_text::<STRICT>(wrong, at)?;
        let text = Text { bytes_left: BytesLeft::of(at), bytes, behind: BytesLeft::of(rest) };
        Ok((rest, Self::of::<STRICT>(cx, text)?))
    }
}

impl DigestText {
    /// Checks the syntax of the digest `text`, and returns its span. In generation 2, for which `STRICT` is true, the digits of an
    /// unknown algorithm must be lower-case hexadecimal. Before generation 2, these digits are not checked.
    #[inline]
    pub(super) fn of<const STRICT: bool>(cx: &ParseContext<'_>, text: Text<'_>) -> Checked<Self> {
        let known =
            if STRICT { Digest::is_known_v2(text.bytes) } else { Digest::is_known(text.bytes) };
        if !known {
            text.validate(|text| (cx.dialect.facts.read_digest)(text).is_some(), Rule::DigestForm)?;
        }
        Ok(Self(cx.text_span(text.bytes, text.behind)))
    }
}

/// A shape: its span in the index, the product of its dimensions, and its position in the manifest.
#[derive(Clone, Copy)]
pub(crate) struct ShapeField {
    pub(super) span: ShapeSpan,
    pub(super) product: Product,
    pub(super) bytes_left: BytesLeft,
}

impl<'m, const STRICT: bool> FieldType<'m, STRICT> for ShapeField {
    const BLANK: Self =
        Self { span: ShapeSpan::EMPTY, product: Product::ONE, bytes_left: BytesLeft::END };

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let bytes_left = BytesLeft::of(at);
        // Neighboring tensors often have equal shapes. Equal bytes mean an equal shape, because no CBOR item is the
        // beginning of another one, so the shape is not parsed again.
        let (last, span, product) = cx.last_shape;
        if !last.is_empty()
            && let Some(rest) = at.strip_prefix(last)
        {
            return Ok((rest, Self { span, product, bytes_left }));
        }
        let limit = cx.limits.rank();
        let (mut input, mut entries) =
            if STRICT { strict_array_head(wrong, at)? } else { array_head(wrong, limit, at)? };
        if STRICT && entries.claimed() > Some(limit.min(RANK)) {
            return Err(too_many(bytes_left, entries.claimed()).into());
        }
        let mut product = Product::ONE;
        cx.index.shapes.begin();
        while entries.next(input) {
            let dimension;
            (input, dimension) = <Uint as FieldType<'m, STRICT>>::parse(cx, wrong, input)?;
            product.multiply(dimension.value);
            let kept = cx.index.shapes.push(dimension.value);
            kept.map_err(|kind| Fault::new(kind, bytes_left))?;
        }
        let rest = entries.end(input, at, Limit::Rank)?;
        let span = cx.index.shapes.finish();
        cx.last_shape = (cx.item(at, rest), span, product);
        Ok((rest, Self { span, product, bytes_left }))
    }
}

/// The largest number of dimensions that a shape of generation 2 may have: v2 §3.3.
const RANK: u32 = 64;

/// Returns the error for a shape of generation 2 at `at` that has too many dimensions. `rank` is the number of dimensions, if
/// it is known. If it exceeds 64, the shape breaks a rule of the format; otherwise the shape exceeds the caller's limit.
#[cold]
fn too_many(at: BytesLeft, rank: Option<u32>) -> Fault {
    match rank {
        Some(rank) if rank > RANK => Fault::with(Rule::ShapeRank, at, rank.into()),
        _ => Fault::new(Limit::Rank, at),
    }
}

/// The span in the manifest of a CBOR map of attributes. `OPEN` is the number of maps and arrays around this map.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<const OPEN: u8>(pub(super) Span);

impl<'m, const OPEN: u8> FieldType<'m> for Attributes<OPEN> {
    const BLANK: Self = Self(Span::NONE);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, ()) = pass_attributes(cx.limits, wrong, at, OPEN)?;
        Ok((rest, Self(cx.item_span(at, rest))))
    }
}

/// The layout of an object (`format` in 1.x, `layout` in 2), and the name in the file if the layout is unknown or holds
/// GGUF blocks.
#[derive(Clone, Copy)]
pub(crate) struct LayoutName {
    pub(super) layout: Layout,
    pub(super) name: Span,
}

impl<'m, const STRICT: bool> FieldType<'m, STRICT> for LayoutName {
    const BLANK: Self = Self { layout: Layout::Unknown, name: Span::NONE };

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && word == const { Word::new("dense") }
        {
            return Ok((rest, Self { layout: Layout::Dense, name: Span::NONE }));
        }
        let (rest, text) = <Text<'m> as FieldType<'m, STRICT>>::parse(cx, wrong, at)?;
        let layout = if STRICT { v2::layout(text.bytes) } else { Layout::named(text.bytes) };
        if layout == Layout::Unknown {
            check_utf8(text.bytes_left, text.bytes)?;
        }
        let name = match cx.dialect.facts.layout_name(layout) {
            Some(_) => Span::NONE,
            None => cx.text_span(text.bytes, text.behind),
        };
        Ok((rest, Self { layout, name }))
    }
}
