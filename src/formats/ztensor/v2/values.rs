//! Parsers for the values of the fields of objects and components in manifests of generation 2.

use super::profiles;
use crate::cbor::{
    BytesLeft, Checked, Fault, Input, Parsed, UNLIMITED, key, map_head, short_text, skip, strict,
    strict_array_head,
};
use crate::element::{LogicalType, StorageType};
use crate::formats::ztensor::context::{Attributes, FieldType, Name, ParseContext};
use crate::formats::ztensor::record::{Dtype, Text, Uint};
use crate::index::{Encoding, Layout, Logical, Span};
use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::rules::{Limit, Rule};

/// The largest length in bytes of the name of an object, the role of a component, or a key of attributes: v2 §3.5.
pub(super) const NAME_CAP: usize = 1024;

/// Checks `name`, of an object, a role or a key of attributes, by the rules of v2 §3.5. `at` is the input at the CBOR head of
/// the name, for the error.
pub(super) fn validate_name(at: Input<'_>, name: &[u8]) -> Checked<()> {
    if matches!(name.len(), 1..=NAME_CAP) && !name.contains(&0) {
        return Ok(());
    }
    let length = u64_from_usize(name.len());
    Err(Fault::with(Rule::NameForm, BytesLeft::of(at), length).into())
}

/// The value of `attributes`: v2 §3.1. Keys of maps within the values are not restricted.
impl<'m, const OPEN: u8> FieldType<'m, true> for Attributes<OPEN> {
    const BLANK: Self = Self(Span::NONE);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        cx.prove(at, OPEN)?;
        let (rest, ()) = attributes(cx.limits, wrong, at)?;
        Ok((rest, Self(cx.item_span(at, rest))))
    }
}

/// Checks the map of attributes at `at`, whose keys must be valid names. The map has been checked to be deterministic CBOR.
/// An item that is not a map breaks the rule `wrong`. Returns the input after the map.
fn attributes<'m>(limits: &Limits, wrong: Rule, at: Input<'m>) -> Parsed<'m, ()> {
    let (mut input, mut entries) = map_head(wrong, UNLIMITED, at)?;
    while entries.next(input) {
        let (value, name) = key(input)?;
        validate_name(input, name)?;
        // The nesting depth needs no check here, because it was checked with the record around the attributes.
        input = skip(value, 0, limits.depth())?.0;
    }
    Ok((entries.end(input, at, Limit::Keys)?, ()))
}

/// Checks the map of attributes at `at`, which will be written: it must be deterministic CBOR within the limits, with valid
/// names as keys. `open` is the number of maps that will be around it in the manifest. Returns the input after the map.
pub(crate) fn pass_attributes<'m>(limits: &Limits, at: Input<'m>, open: u8) -> Checked<Input<'m>> {
    strict(at, open, limits.depth())?;
    Ok(attributes(limits, Rule::AttributesType, at)?.0)
}

/// Returns the layout with the name `name` in generation 2, [`Layout::Unknown`] if the generation defines none: v2 §5.
pub(crate) fn layout(name: &[u8]) -> Layout {
    match name {
        b"dense" => Layout::Dense,
        b"zt.sparse_csr/1" => Layout::SparseCsr,
        b"zt.sparse_coo/1" => Layout::SparseCoo,
        name => profiles::named(name),
    }
}

/// The value of the field `blob`: an array of the offset and the length of a blob in bytes. v2 §2.4, §3.4.
#[derive(Clone, Copy)]
pub(crate) struct BlobPlace {
    pub(super) offset: Uint,
    pub(super) length: Uint,
}

impl<'m> FieldType<'m, true> for BlobPlace {
    const BLANK: Self = Self { offset: Uint::NONE, length: Uint::NONE };

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, entries) = strict_array_head(wrong, at)?;
        if entries.claimed() != Some(2) {
            return Err(Fault::new(wrong, BytesLeft::of(at)).into());
        }
        let (rest, offset) = <Uint as FieldType<'m, true>>::parse(cx, wrong, rest)?;
        let (rest, length) = <Uint as FieldType<'m, true>>::parse(cx, wrong, rest)?;
        Ok((rest, Self { offset, length }))
    }
}

/// The value of the field `dtype`, one of a closed set of twelve names: v2 §4.1.
#[derive(Clone, Copy)]
pub(crate) struct DtypeName {
    storage: StorageType,
}

impl<'m> FieldType<'m, true> for DtypeName {
    const BLANK: Self = Self { storage: StorageType::U8 };

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && let Some(storage) = StorageType::from_word::<true>(word)
        {
            return Ok((rest, Self { storage }));
        }
        let (rest, text) = <Text<'m> as FieldType<'m, true>>::parse(cx, wrong, at)?;
        match StorageType::from_v2(text.bytes) {
            Some(storage) => Ok((rest, Self { storage })),
            None => Err(Fault::new(Rule::DtypeUnknown, text.bytes_left).into()),
        }
    }
}

impl DtypeName {
    /// Checks that a component whose `type` is `bool` has the dtype `u8`: v2 §4.2.
    #[inline]
    pub(super) fn check(self, logical_type: Option<TypeName>) -> Result<(), Fault> {
        match logical_type {
            Some(TypeName { meaning: Meaning::Bool, bytes_left, .. })
                if self.storage != StorageType::U8 =>
            {
                Err(Fault::new(Rule::LogicalTypeStorage, bytes_left))
            }
            _ => Ok(()),
        }
    }

    /// Returns the element type that this dtype and the field `type` declare together: v2 §4.2.
    ///
    /// The type `bool` becomes the storage type of that name, so that the rule of 1.2 for the content of bools applies.
    #[inline]
    pub(super) fn and(self, logical_type: Option<TypeName>) -> Dtype {
        let (storage, logical) = match logical_type.map(|name| name.meaning) {
            None => (self.storage, Logical::NONE),
            Some(Meaning::Bool) => (StorageType::Bool, Logical::NONE),
            Some(Meaning::Known(logical)) => (self.storage, Logical::known(logical)),
            Some(Meaning::Unknown) => (self.storage, Logical { known: None, unknown: true }),
        };
        Dtype {
            storage: Some(storage),
            logical,
            has_type: logical_type.is_some(),
            unknown_name: logical_type.map_or(Span::NONE, |name| name.name),
        }
    }
}

/// The value of the field `type`, a logical type. The set of names is open, so unknown names are accepted: v2 §4.2, appendix
/// A.
#[derive(Clone, Copy)]
pub(crate) struct TypeName {
    bytes_left: BytesLeft,
    name: Span,
    meaning: Meaning,
}

#[derive(Clone, Copy)]
enum Meaning {
    Bool,
    Known(LogicalType),
    Unknown,
}

impl<'m> FieldType<'m, true> for TypeName {
    const BLANK: Self =
        Self { bytes_left: BytesLeft::END, name: Span::NONE, meaning: Meaning::Unknown };

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, Name(Text { bytes_left, bytes, behind })) =
            <Name<'m> as FieldType<'m, true>>::parse(cx, wrong, at)?;
        let meaning = match LogicalType::from_v2(bytes) {
            _ if bytes == b"bool" => Meaning::Bool,
            Some(logical) => Meaning::Known(logical),
            None => Meaning::Unknown,
        };
        Ok((rest, Self { bytes_left, name: cx.text_span(bytes, behind), meaning }))
    }
}

/// The value of the field `encoding`, and the span of its name. Files may use encodings that zten does not know: v2 §3.4.
#[derive(Clone, Copy)]
pub(crate) struct EncodingName {
    pub(super) encoding: Encoding,
    pub(super) name: Span,
}

impl<'m> FieldType<'m, true> for EncodingName {
    const BLANK: Self = Self { encoding: Encoding::Raw, name: Span::NONE };

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, Name(text)) = <Name<'m> as FieldType<'m, true>>::parse(cx, wrong, at)?;
        let known = text.bytes == b"zt.zstd-seekable/1";
        let encoding = if known { Encoding::ZstdSeekable } else { Encoding::Unknown };
        Ok((rest, Self { encoding, name: cx.text_span(text.bytes, text.behind) }))
    }
}

/// The value of the field `shard`: the ordinal in the table of shards of the shard that it names. v2 §7.1.
#[derive(Clone, Copy)]
pub(crate) struct ShardName(pub(super) u32);

impl<'m> FieldType<'m, true> for ShardName {
    const BLANK: Self = Self(0);

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, Name(text)) = <Name<'m> as FieldType<'m, true>>::parse(cx, wrong, at)?;
        Ok((rest, Self(cx.shard(text.bytes, text.bytes_left)?)))
    }
}
