//! The attributes that the profiles of generation 2 give a meaning to: v2 §5.2.

use nom::Parser as _;

use crate::cbor::{
    Checked, Fault, Input, Parsed, Remaining, UNLIMITED, array_head, seek, skip, uint,
};
use crate::element::StorageType;
use crate::format::Format;
use crate::format::claims::{Claims, ObjectClaim, Walk};
use crate::format::profile::{Factors, Profile, QuantGroup, ScaleForm, Zeros};
use crate::format::shape::{Shape, Text, Uint};
use crate::format::slots::Slot;
use crate::format::table::table;
use crate::limits::format::DEPTH_CAP;
use crate::num::{divide, divide_exactly};
use crate::rules::Rule;

table! {
    /// Those of `zt.mx/1`.
    Mx<'m>, keys MxKey, within 3 levels of deterministic CBOR, else Rule::AttributesType;
    // key           slot        type      presence                          else
    "axis"       => axis:       Uint,     optional,                         else Rule::AttributeType;
    "block_size" => block_size: Uint,     required(Rule::AttributeMissing), else Rule::AttributeType;
    "scale_form" => scale_form: Text<'m>, required(Rule::AttributeMissing), else Rule::AttributeType;
}

table! {
    /// Those of `zt.quant_group/1`.
    Quant<'m>, keys QuantKey, within 3 levels of deterministic CBOR, else Rule::AttributesType;
    // key           slot        type       presence                          else
    "axis"       => axis:       Uint,      required(Rule::AttributeMissing), else Rule::AttributeType;
    "bits"       => bits:       Uint,      required(Rule::AttributeMissing), else Rule::AttributeType;
    "packing"    => packing:    Packing,   required(Rule::AttributeMissing), else Rule::AttributeType;
    "group_size" => group_size: Uint,      required(Rule::AttributeMissing), else Rule::AttributeType;
    "scale_form" => scale_form: Text<'m>,  required(Rule::AttributeMissing), else Rule::AttributeType;
    "zero_point" => zero_point: ZeroPoint, required(Rule::AttributeMissing), else Rule::AttributeType;
}

table! {
    /// How codes lie in words.
    PackingFields<'m>, keys PackingKey, within 4 levels of deterministic CBOR, else Rule::AttributeType;
    // key         slot      type      presence                          else
    "word"     => word:     Text<'m>, required(Rule::AttributeMissing), else Rule::AttributeType;
    "order"    => order:    Text<'m>, required(Rule::AttributeMissing), else Rule::AttributeType;
    "per_word" => per_word: Uint,     required(Rule::AttributeMissing), else Rule::AttributeType;
}

table! {
    /// Where zero points are.
    ZeroPointFields<'m>, keys ZeroPointKey, within 4 levels of deterministic CBOR, else Rule::AttributeType;
    // key        slot     type      presence                          else
    "form"    => form:    Text<'m>, required(Rule::AttributeMissing), else Rule::AttributeType;
    "value"   => value:   Integer,  optional,                         else Rule::AttributeType;
    "packing" => packing: Text<'m>, optional,                         else Rule::AttributeType;
}

table! {
    /// Those of `gguf.NAME/1`.
    Gguf<'m>, keys GgufKey, within 3 levels of deterministic CBOR, else Rule::AttributesType;
    // key                slot             type  presence                          else
    "block_bytes"     => block_bytes:     Uint, required(Rule::AttributeMissing), else Rule::AttributeType;
    "elems_per_block" => elems_per_block: Uint, required(Rule::AttributeMissing), else Rule::AttributeType;
}

/// The types of GGUF whose blocks have a profile.
const GGUF: [&[u8]; 22] = [
    b"q4_0", b"q4_1", b"q5_0", b"q5_1", b"q8_0", b"q8_1", b"q2_k", b"q3_k", b"q4_k", b"q5_k",
    b"q6_k", b"q8_k", b"iq1_s", b"iq1_m", b"iq2_xxs", b"iq2_xs", b"iq2_s", b"iq3_xxs", b"iq3_s",
    b"iq4_nl", b"iq4_xs", b"mxfp4",
];

/// The profile that `layout` names, if it is none of the sparse ones.
#[inline(never)]
pub(super) fn named(layout: &[u8]) -> Format {
    let gguf = layout.strip_prefix(b"gguf.").and_then(|name| name.strip_suffix(b"/1"));
    match layout {
        b"zt.mx/1" => Format::Mx,
        b"zt.quant_group/1" => Format::QuantGroup,
        _ if gguf.is_some_and(|name| GGUF.contains(&name)) => Format::GgufBlocks,
        _ => Format::Unknown,
    }
}

/// Validates the attributes of an object of a profile, which is at `at`, and has its parts validated
/// by what they say.
#[inline(never)]
pub(super) fn validate<'m, C: Claims<'m>>(
    walk: &mut Walk<'_, C>,
    at: Input<'m>,
    claim: &ObjectClaim,
) -> Checked<()> {
    let Some(attributes) = claim.attributes else {
        return Err(Fault::new(Rule::AttributeMissing, Remaining::of(at)).into());
    };
    let map = seek(at, attributes);
    let shape = Dimensions { shape: claim.shape, at: seek(at, claim.shape.remaining) };
    let (_, profile) = match claim.format {
        Format::Mx => Mx::read(walk, map, |_, mx| Ok(mx.profile(&shape)?))?,
        Format::QuantGroup => Quant::read(walk, map, |_, quant| Ok(quant.profile(&shape)?))?,
        _ => Gguf::read(walk, map, |_, gguf| Ok(gguf.profile(&shape)?))?,
    };
    walk.profile(claim, &profile)
}

/// A shape, and where its dimensions are.
struct Dimensions<'m> {
    shape: Shape,
    at: Input<'m>,
}

impl Dimensions<'_> {
    /// The product, which has been found to fit in 64 bits.
    fn product(&self) -> u64 {
        self.shape.product.unwrap_or(0)
    }

    /// The dimension of that axis.
    fn along(&self, axis: Uint) -> Result<u64, Fault> {
        let none = Fault::with(Rule::AttributeAxis, axis.remaining, axis.value);
        let head = array_head(Rule::ShapeType, UNLIMITED).parse(self.at);
        let (mut input, mut entries) = head.map_err(|_| none)?;
        let mut before = axis.value;
        while entries.next(input) {
            let (rest, dimension) = uint(Rule::ShapeType).parse(input).map_err(|_| none)?;
            if before == 0 {
                return Ok(dimension);
            }
            (input, before) = (rest, before.saturating_sub(1));
        }
        Err(none)
    }
}

impl Mx<'_> {
    fn profile(&self, shape: &Dimensions<'_>) -> Result<Profile, Fault> {
        let Shape { remaining, rank, .. } = shape.shape;
        let last = Uint { remaining, value: u64::from(rank).saturating_sub(1) };
        let along = shape.along(self.axis.unwrap_or(last))?;
        let Uint { remaining, value } = self.block_size;
        let whole = divide_exactly(along, value).is_some();
        let blocks = divide(shape.product(), value).filter(|_| whole && value >= 2);
        let blocks = blocks.ok_or(Fault::with(Rule::MxBlockSize, remaining, value))?;
        match self.scale_form.bytes {
            b"e8m0_exponent" => Ok(Profile::Mx { scales: blocks.quotient }),
            _ => Err(Fault::new(Rule::ScaleForm, self.scale_form.remaining)),
        }
    }
}

impl Gguf<'_> {
    fn profile(&self, shape: &Dimensions<'_>) -> Result<Profile, Fault> {
        let Uint { remaining, value } = self.elems_per_block;
        let blocks = divide_exactly(shape.product(), value);
        let blocks = blocks.ok_or(Fault::with(Rule::GgufBlock, remaining, value))?;
        let Uint { remaining, value } = self.block_bytes;
        if value == 0 {
            return Err(Fault::with(Rule::GgufBlock, remaining, value));
        }
        Ok(Profile::Gguf { bytes: blocks.checked_mul(value) })
    }
}

impl Quant<'_> {
    fn profile(&self, shape: &Dimensions<'_>) -> Result<Profile, Fault> {
        let along = shape.along(self.axis)?;
        let Packing { word, per_word } = self.packing;
        let Uint { remaining, value: bits } = self.bits;
        let codes = divide_exactly(u64::from(word.width()).saturating_mul(8), bits);
        let codes = codes.filter(|_| matches!(bits, 2 | 3 | 4 | 5 | 6 | 8));
        let codes = codes.ok_or(Fault::with(Rule::QuantBits, remaining, bits))?;
        if per_word.value != codes {
            return Err(Fault::new(Rule::QuantPacking, per_word.remaining));
        }
        let Uint { remaining, value: size } = self.group_size;
        // Of an axis of 0 there are no lanes to count, and no scales.
        let lanes = divide(shape.product(), along).map_or(0, |lanes| lanes.quotient);
        let scales = if size == 0 {
            Factors { by_size: lanes.checked_mul(along), by_text: Some(lanes) }
        } else {
            let groups = divide_exactly(along, size);
            let groups = groups.ok_or(Fault::with(Rule::QuantGroupSize, remaining, size))?;
            let count = lanes.checked_mul(groups);
            Factors { by_size: count, by_text: count }
        };
        let scale_form = match self.scale_form.bytes {
            b"f32_factors" => ScaleForm::F32,
            b"f16_factors" => ScaleForm::F16,
            b"e8m0_exponent" => ScaleForm::E8M0,
            _ => return Err(Fault::new(Rule::ScaleForm, self.scale_form.remaining)),
        };
        Ok(Profile::QuantGroup(QuantGroup {
            word,
            per_word: codes,
            words: divide_exactly(shape.product(), codes),
            scales,
            scale_form,
            zeros: self.zero_point.0,
        }))
    }
}

/// `packing`, found to be known.
#[derive(Clone, Copy)]
struct Packing {
    word: StorageType,
    per_word: Uint,
}

impl<'m> Slot<'m> for Packing {
    const BLANK: Self = Self { word: StorageType::U8, per_word: Uint::BLANK };

    fn parse<C: Claims<'m>>(walk: &mut Walk<'_, C>, _: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        PackingFields::read(walk, at, |_, PackingFields { word, order, per_word, .. }| {
            let unknown = |text: Text<'_>| Fault::new(Rule::QuantPacking, text.remaining);
            if !matches!(order.bytes, b"lsb_first" | b"msb_first") {
                return Err(unknown(order).into());
            }
            let word = match word.bytes {
                b"u8" => StorageType::U8,
                b"u16" => StorageType::U16,
                b"u32" => StorageType::U32,
                b"u64" => StorageType::U64,
                _ => return Err(unknown(word).into()),
            };
            Ok(Self { word, per_word })
        })
    }
}

/// `zero_point`, found to be known.
#[derive(Clone, Copy)]
struct ZeroPoint(Zeros);

impl<'m> Slot<'m> for ZeroPoint {
    const BLANK: Self = Self(Zeros::Absent);

    fn parse<C: Claims<'m>>(walk: &mut Walk<'_, C>, _: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        ZeroPointFields::read(walk, at, |_, ZeroPointFields { form, value, packing, .. }| {
            let unknown = |text: Text<'_>| Fault::new(Rule::QuantZeroPoint, text.remaining).into();
            let missing = Fault::new(Rule::AttributeMissing, Remaining::of(at));
            match form.bytes {
                b"none" => Ok(Self(Zeros::Absent)),
                b"implied" => value.map(|_| Self(Zeros::Absent)).ok_or(missing.into()),
                b"tensor" => {
                    let packing = packing.ok_or(missing)?;
                    match packing.bytes {
                        b"plain" => Ok(Self(Zeros::Plain)),
                        b"same_as_data" => Ok(Self(Zeros::Packed)),
                        _ => Err(unknown(packing)),
                    }
                }
                _ => Err(unknown(form)),
            }
        })
    }
}

/// An integer of either sign.
#[derive(Clone, Copy)]
struct Integer;

impl<'m> Slot<'m> for Integer {
    const BLANK: Self = Self;

    fn parse<C: Claims<'m>>(_: &mut Walk<'_, C>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        // Major types 0 and 1.
        if at.first().is_none_or(|initial| *initial >= 0x40) {
            return Err(Fault::new(wrong, Remaining::of(at)).into());
        }
        let (rest, ()) = skip(at, 0, DEPTH_CAP)?;
        Ok((rest, Self))
    }
}
