//! What stands in the fields of a 1.x component and object: dtypes, types, digests, encodings, formats.

use nom::Parser as _;

use crate::cbor::{Input, Parsed, Remaining, check_utf8, short_text, text};
use crate::digest::Digest;
use crate::element::{LogicalType, StorageType};
use crate::format::context::ParseContext;
use crate::format::dialect::Dialect;
use crate::format::record::{Dtype, Logical};
use crate::format::shape::Text;
use crate::format::slots::Slot;
use crate::format::{Encoding, Format};
use crate::num::{SMALL, Word};
use crate::rules::Rule;

/// `dtype`: one of a closed set, which is larger in 1.1. v1.1 II.4, v1.2 §2.
#[derive(Clone, Copy)]
pub(crate) struct DtypeName {
    remaining: Remaining,
    storage: StorageType,
    /// The logical type that a 1.1 dtype stands for.
    implied: Option<LogicalType>,
}

impl<'m> Slot<'m> for DtypeName {
    const BLANK: Self = Self { remaining: Remaining::END, storage: StorageType::U8, implied: None };

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && let Some(storage) = StorageType::from_word(word)
        {
            return Ok((rest, Self { remaining: Remaining::of(at), storage, implied: None }));
        }
        let (rest, dtype) = Self::any(cx.dialect, wrong, at)?;
        Ok((rest, dtype))
    }
}

impl DtypeName {
    /// A dtype that only 1.1 has, or one that is spelled at length.
    #[cold]
    #[inline(never)]
    fn any<'m>(dialect: &Dialect, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (remaining, (rest, bytes)) = (Remaining::of(at), text(wrong).parse(at)?);
        if let Some(storage) = StorageType::from_v1(bytes) {
            return Ok((rest, Self { remaining, storage, implied: None }));
        }
        match LogicalType::from_dtype_v1_1(bytes) {
            Some(logical) if dialect.logical_dtypes => {
                Ok((rest, Self { remaining, storage: logical.storage(), implied: Some(logical) }))
            }
            _ => {
                let behind = Remaining::of(rest);
                Err(Text { remaining, bytes, behind }.unknown(Rule::DtypeUnknown).into())
            }
        }
    }

    /// What it and the `type` beside it say of the elements. A `type` equal to the dtype says nothing.
    #[inline(always)]
    pub(super) fn and(self, logical_type: Option<TypeName>) -> Dtype {
        let named = logical_type.filter(|name| !self.is(name.spelled));
        let logical = match named {
            None => Logical { known: self.implied, unknown: false },
            Some(name) => {
                Logical { known: name.logical.or(self.implied), unknown: name.logical.is_none() }
            }
        };
        Dtype {
            remaining: self.remaining,
            storage: Some(self.storage),
            logical,
            type_remaining: named.map(|name| name.remaining),
            implied: self.implied.is_some(),
        }
    }

    /// Whether a `type` spells it just so.
    fn is(self, spelled: Spelled) -> bool {
        match (self.implied, spelled) {
            (None, Spelled::Dtype(storage)) => storage == self.storage,
            (Some(implied), Spelled::Dtype1_1(logical)) => implied == logical,
            _ => false,
        }
    }
}

/// What a `type` would be if it stood in `dtype`.
#[derive(Clone, Copy)]
enum Spelled {
    Dtype(StorageType),
    Dtype1_1(LogicalType),
    Neither,
}

/// `type`: an open set. v1.2 §2.
#[derive(Clone, Copy)]
pub(crate) struct TypeName {
    remaining: Remaining,
    logical: Option<LogicalType>,
    spelled: Spelled,
}

impl<'m> Slot<'m> for TypeName {
    const BLANK: Self =
        Self { remaining: Remaining::END, logical: None, spelled: Spelled::Neither };

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, Text { remaining, bytes, .. }) = Text::parse(cx, wrong, at)?;
        check_utf8(remaining, bytes)?;
        let logical = LogicalType::from_name(bytes);
        let storage = StorageType::from_v1(bytes).map(Spelled::Dtype);
        let old = || LogicalType::from_dtype_v1_1(bytes).map(Spelled::Dtype1_1);
        let spelled = storage.or_else(old).unwrap_or(Spelled::Neither);
        Ok((rest, Self { remaining, logical, spelled }))
    }
}

/// `digest`, found to be well-formed: v1.1 II.3, v1.2 §1.
#[derive(Clone, Copy)]
pub(crate) struct DigestText(pub(super) Remaining);

impl<'m> Slot<'m> for DigestText {
    const BLANK: Self = Self(Remaining::END);

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = Text::parse(cx, wrong, at)?;
        if SMALL || !Digest::is_known(text.bytes) {
            text.validate(|text| Digest::read_v1(text).is_some(), Rule::DigestForm)?;
        }
        Ok((rest, Self(text.remaining)))
    }
}

impl<'m> Slot<'m> for Encoding {
    const BLANK: Self = Self::Raw;

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        let (rest, text) = Text::parse(cx, wrong, at)?;
        match text.bytes {
            b"raw" => Ok((rest, Self::Raw)),
            b"zstd" => Ok((rest, Self::Zstd)),
            _ => Err(text.unknown(Rule::EncodingUnknown).into()),
        }
    }
}

impl Format {
    /// The format of that name in 1.x: v1.1 III, v1.2 §3.
    pub(crate) fn named(name: &[u8]) -> Self {
        let rows = &[
            ("dense", Self::Dense),
            ("sparse_csr", Self::SparseCsr),
            ("sparse_coo", Self::SparseCoo),
            ("quantized_group", Self::QuantizedGroup),
        ];
        rows.iter().find(|row| row.0.as_bytes() == name).map_or(Self::Unknown, |row| row.1)
    }
}

impl<'m> Slot<'m> for Format {
    const BLANK: Self = Self::Unknown;

    #[inline(always)]
    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        if let Some((rest, _, word)) = short_text(at)
            && word == const { Word::new("dense") }
        {
            return Ok((rest, Self::Dense));
        }
        let (rest, text) = Text::parse(cx, wrong, at)?;
        let format = Self::named(text.bytes);
        if format == Self::Unknown {
            check_utf8(text.remaining, text.bytes)?;
        }
        Ok((rest, format))
    }
}
