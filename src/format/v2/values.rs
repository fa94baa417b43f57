//! What stands in the fields of an object and of a part of generation 2.

use nom::Parser as _;

use super::profiles;
use crate::cbor::{
    Checked, Fault, Input, Parsed, Remaining, UNLIMITED, check_utf8, key, map_head, short_text,
    skip, strict_array_head, strict_text, strict_uint,
};
use crate::digest::Digest;
use crate::element::{LogicalType, StorageType};
use crate::format::context::{ParseContext, ShapeField, Slot};
use crate::format::record::{Dtype, Logical, Product, Text, Uint};
use crate::format::{Encoding, Format};
use crate::limits::Limits;
use crate::num::{Word, u64_from_usize};
use crate::rules::{Limit, Rule};

/// Names of objects and parts, and keys of attributes, have at most so many bytes: v2 §3.5.
pub(super) const NAME_CAP: usize = 1024;

/// Validates a name, whose head is at `at`: v2 §3.5.
pub(super) fn validate_name(at: Input<'_>, name: &[u8]) -> Checked<()> {
    if matches!(name.len(), 1..=NAME_CAP) && !name.contains(&0) {
        return Ok(());
    }
    let length = u64_from_usize(name.len());
    Err(Fault::with(Rule::NameForm, Remaining::of(at), length).into())
}

/// A number with the shortest head, and where it stands.
#[inline(always)]
fn uint(wrong: Rule, at: Input<'_>) -> Parsed<'_, Uint> {
    let (rest, value) = strict_uint(wrong).parse(at)?;
    Ok((rest, Uint { remaining: Remaining::of(at), value }))
}

/// A text with the shortest head, not known to be UTF-8, and where it stands.
#[inline]
fn text(wrong: Rule, at: Input<'_>) -> Parsed<'_, Text<'_>> {
    let (rest, bytes) = strict_text(wrong).parse(at)?;
    Ok((rest, Text { remaining: Remaining::of(at), bytes, behind: Remaining::of(rest) }))
}

/// `attributes` within that many levels, and where they stand: v2 §3.1. The keys within their values
/// are free.
#[derive(Clone, Copy)]
pub(crate) struct Attributes<const OPEN: u8>(pub(super) Remaining);

impl<'m, const OPEN: u8> Slot<'m> for Attributes<OPEN> {
    const BLANK: Self = Self(Remaining::END);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        cx.prove(at, OPEN)?;
        let (rest, ()) = attributes(cx.limits, wrong, at)?;
        Ok((rest, Self(Remaining::of(at))))
    }
}

/// Passes over the attributes at `at`, which are deterministic CBOR.
pub(super) fn attributes<'m>(limits: &Limits, wrong: Rule, at: Input<'m>) -> Parsed<'m, ()> {
    let (mut input, mut entries) = map_head(wrong, UNLIMITED).parse(at)?;
    while entries.next(input) {
        let (value, name) = key(input)?;
        validate_name(input, name)?;
        // How deep it is has been counted.
        input = skip(value, 0, limits.depth())?.0;
    }
    Ok((entries.end(input, at, Limit::Keys)?, ()))
}

/// `shape`, of at most 64 dimensions: v2 §3.3.
#[derive(Clone, Copy)]
pub(crate) struct ShapeOf64(pub(super) ShapeField);

impl<'m> Slot<'m> for ShapeOf64 {
    const BLANK: Self = Self(ShapeField::BLANK);

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (mut input, mut entries) = strict_array_head(wrong).parse(at)?;
        if let Some(rank @ 65..) = entries.claimed() {
            return Err(Fault::with(Rule::ShapeRank, Remaining::of(at), rank.into()).into());
        }
        if entries.claimed() > Some(cx.limits.rank()) {
            return Err(Fault::new(Limit::Rank, Remaining::of(at)).into());
        }
        let (first, mut product) = (input, Product::ONE);
        while entries.next(input) {
            let dimension;
            (input, dimension) = uint(wrong, input)?;
            product.multiply(dimension.value);
        }
        let span = cx.keep_shape(first, input)?;
        Ok((input, Self(ShapeField { remaining: Remaining::of(at), span, product })))
    }
}

/// `layout`: `dense` or the name of a profile, any text: v2 §5.
#[derive(Clone, Copy)]
pub(crate) struct Layout(pub(super) Format);

impl<'m> Slot<'m> for Layout {
    const BLANK: Self = Self(Format::Unknown);

    #[inline(always)]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && word == const { Word::new("dense") }
        {
            return Ok((rest, Self(Format::Dense)));
        }
        let (rest, text) = text(wrong, at)?;
        let format = Self::named(text.bytes);
        if format == Format::Unknown {
            check_utf8(text.remaining, text.bytes)?;
        }
        Ok((rest, Self(format)))
    }
}

impl Layout {
    /// The format of that name.
    #[inline]
    pub(super) fn named(name: &[u8]) -> Format {
        match name {
            b"dense" => Format::Dense,
            b"zt.sparse_csr/1" => Format::SparseCsr,
            b"zt.sparse_coo/1" => Format::SparseCoo,
            name => profiles::named(name),
        }
    }
}

/// `blob`: an array of offset and length. v2 §2.4, §3.4.
#[derive(Clone, Copy)]
pub(crate) struct BlobPlace {
    pub(super) offset: Uint,
    pub(super) length: Uint,
}

impl<'m> Slot<'m> for BlobPlace {
    const BLANK: Self = Self { offset: Uint::BLANK, length: Uint::BLANK };

    #[inline(always)]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, entries) = strict_array_head(wrong).parse(at)?;
        if entries.claimed() != Some(2) {
            return Err(Fault::new(wrong, Remaining::of(at)).into());
        }
        let (rest, offset) = uint(wrong, rest)?;
        let (rest, length) = uint(wrong, rest)?;
        Ok((rest, Self { offset, length }))
    }
}

/// `dtype`: one of a closed set of twelve. v2 §4.1.
#[derive(Clone, Copy)]
pub(crate) struct DtypeName {
    remaining: Remaining,
    storage: StorageType,
}

impl<'m> Slot<'m> for DtypeName {
    const BLANK: Self = Self { remaining: Remaining::END, storage: StorageType::U8 };

    #[inline]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && let Some(storage) = StorageType::from_word_v2(word)
        {
            return Ok((rest, Self { remaining: Remaining::of(at), storage }));
        }
        let (rest, text) = text(wrong, at)?;
        match StorageType::from_v2(text.bytes) {
            Some(storage) => Ok((rest, Self { remaining: text.remaining, storage })),
            None => Err(Fault::new(Rule::DtypeUnknown, text.remaining).into()),
        }
    }
}

impl DtypeName {
    /// What it and the `type` beside it say of the elements: v2 §4.2.
    ///
    /// A `bool` is the storage type of that name: its content has the rule of 1.2.
    #[inline]
    pub(super) fn and(self, logical_type: Option<TypeName>) -> Checked<Dtype> {
        let mut storage = self.storage;
        let logical = match &logical_type {
            None => Logical::NONE,
            Some(TypeName { meaning: Meaning::Bool, remaining }) => {
                if storage != StorageType::U8 {
                    return Err(Fault::new(Rule::LogicalTypeStorage, *remaining).into());
                }
                storage = StorageType::Bool;
                Logical::NONE
            }
            Some(TypeName { meaning: Meaning::Known(known), .. }) => {
                Logical { known: Some(*known), unknown: false }
            }
            Some(TypeName { meaning: Meaning::Unknown, .. }) => {
                Logical { known: None, unknown: true }
            }
        };
        Ok(Dtype {
            remaining: self.remaining,
            storage: Some(storage),
            logical,
            type_remaining: logical_type.map(|name| name.remaining),
            implied: false,
        })
    }
}

/// `type`: an open set. v2 §4.2, appendix A.
#[derive(Clone, Copy)]
pub(crate) struct TypeName {
    remaining: Remaining,
    meaning: Meaning,
}

#[derive(Clone, Copy)]
enum Meaning {
    Bool,
    Known(LogicalType),
    Unknown,
}

impl<'m> Slot<'m> for TypeName {
    const BLANK: Self = Self { remaining: Remaining::END, meaning: Meaning::Unknown };

    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, Text { remaining, bytes, .. }) = text(wrong, at)?;
        check_utf8(remaining, bytes)?;
        let meaning = match LogicalType::from_v2(bytes) {
            _ if bytes == b"bool" => Meaning::Bool,
            Some(logical) => Meaning::Known(logical),
            None => Meaning::Unknown,
        };
        Ok((rest, Self { remaining, meaning }))
    }
}

/// `digest`, found to be well-formed: v2 §3.4.
#[derive(Clone, Copy)]
pub(crate) struct DigestText(pub(super) Remaining);

impl<'m> Slot<'m> for DigestText {
    const BLANK: Self = Self(Remaining::END);

    #[inline]
    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = text(wrong, at)?;
        if !Digest::is_known_v2(text.bytes) {
            text.validate(|text| Digest::read_v2(text).is_some(), Rule::DigestForm)?;
        }
        Ok((rest, Self(text.remaining)))
    }
}

/// `encoding`: an open set. v2 §3.4.
#[derive(Clone, Copy)]
pub(crate) struct EncodingName(pub(super) Encoding);

impl<'m> Slot<'m> for EncodingName {
    const BLANK: Self = Self(Encoding::Raw);

    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = text(wrong, at)?;
        let encoding = match text.bytes {
            b"zt.zstd-seekable/1" => Encoding::ZstdSeekable,
            _ => Encoding::Unknown,
        };
        check_utf8(text.remaining, text.bytes)?;
        Ok((rest, Self(encoding)))
    }
}

/// `decoded_length`: v2 §3.4.
#[derive(Clone, Copy)]
pub(crate) struct DecodedLength(pub(super) Uint);

impl<'m> Slot<'m> for DecodedLength {
    const BLANK: Self = Self(Uint::BLANK);

    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, length) = uint(wrong, at)?;
        Ok((rest, Self(length)))
    }
}

/// `shard`, and where it stands: v2 §7.1.
#[derive(Clone, Copy)]
pub(crate) struct ShardName(pub(super) Remaining);

impl<'m> Slot<'m> for ShardName {
    const BLANK: Self = Self(Remaining::END);

    fn parse(_: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = text(wrong, at)?;
        check_utf8(text.remaining, text.bytes)?;
        Ok((rest, Self(text.remaining)))
    }
}
