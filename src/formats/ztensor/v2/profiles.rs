//! The profiles of generation 2, layouts with parameters such as `zt.mx/1`: which attributes each has, and which components
//! these attributes require. v2 §5.2.

use crate::cbor::{BytesLeft, Checked, Fault, Input, Parsed, skip};
use crate::element::{LogicalType, StorageType};
use crate::formats::ztensor::context::{FieldType, ParseContext};
use crate::formats::ztensor::record::{ParsedObject, Text, Uint};
use crate::formats::ztensor::table::table;
use crate::index::{ComponentRecord, Layout, Logical, Role};
use crate::limits::format::DEPTH_CAP;
use crate::num::divide_exactly;
use crate::rules::Rule;

table! {
    /// The attributes of `zt.mx/1`. `axis` is the dimension along which blocks lie (the last if absent), and `block_size`
    /// the number of elements that share a scale.
    Mx<'m>, keys MxKey, reader MxReader, within 3 levels of deterministic CBOR, else Rule::AttributesType;
    // key           field       type      presence                          else (another type)
    "axis"       => axis:       Uint,     optional,                         else Rule::AttributeType;
    "block_size" => block_size: Uint,     required(Rule::AttributeMissing), else Rule::AttributeType;
    "scale_form" => scale_form: Text<'m>, required(Rule::AttributeMissing), else Rule::AttributeType;
}

table! {
    /// The attributes of `zt.quant_group/1`. `axis` is the dimension along which groups lie, `group_size` the number of
    /// elements of a group (0: one group for a whole lane), and `bits` the size of a code.
    Quant<'m>, keys QuantKey, reader QuantReader, within 3 levels of deterministic CBOR, else Rule::AttributesType;
    // key           field       type       presence                          else (another type)
    "axis"       => axis:       Uint,      required(Rule::AttributeMissing), else Rule::AttributeType;
    "bits"       => bits:       Uint,      required(Rule::AttributeMissing), else Rule::AttributeType;
    "packing"    => packing:    Packing,   required(Rule::AttributeMissing), else Rule::AttributeType;
    "group_size" => group_size: Uint,      required(Rule::AttributeMissing), else Rule::AttributeType;
    "scale_form" => scale_form: Text<'m>,  required(Rule::AttributeMissing), else Rule::AttributeType;
    "zero_point" => zero_point: ZeroPoint, required(Rule::AttributeMissing), else Rule::AttributeType;
}

table! {
    /// How codes are packed into words: the type of a word, whether the first code is in the lowest or highest bits, and
    /// the number of codes in a word.
    PackingFields<'m>, keys PackingKey, reader PackingReader, within 4 levels of deterministic CBOR, else Rule::AttributeType;
    // key         field     type      presence                          else (another type)
    "word"     => word:     Text<'m>, required(Rule::AttributeMissing), else Rule::AttributeType;
    "order"    => order:    Text<'m>, required(Rule::AttributeMissing), else Rule::AttributeType;
    "per_word" => per_word: Uint,     required(Rule::AttributeMissing), else Rule::AttributeType;
}

table! {
    /// The zero points: whether there are any, and their value or packing.
    ZeroPointFields<'m>, keys ZeroPointKey, reader ZeroPointReader, within 4 levels of deterministic CBOR, else Rule::AttributeType;
    // key        field    type        presence                          else (another type)
    "form"    => form:    Text<'m>,   required(Rule::AttributeMissing), else Rule::AttributeType;
    "value"   => value:   Unread<'m>, optional,                         else Rule::AttributeType;
    "packing" => packing: Unread<'m>, optional,                         else Rule::AttributeType;
}

table! {
    /// The attributes of `gguf.NAME/1`: the size of a block in bytes, and its number of elements.
    Gguf<'m>, keys GgufKey, reader GgufReader, within 3 levels of deterministic CBOR, else Rule::AttributesType;
    // key                field            type  presence                          else (another type)
    "block_bytes"     => block_bytes:     Uint, required(Rule::AttributeMissing), else Rule::AttributeType;
    "elems_per_block" => elems_per_block: Uint, required(Rule::AttributeMissing), else Rule::AttributeType;
}

/// The components that an object with a profile must have.
pub(crate) type Profile = [Option<PartRule>; 3];

/// A component that a profile requires: its role, the types that its elements may have, and the number of its elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartRule {
    pub(crate) role: Role,
    pub(crate) types: Types,
    pub(crate) count: Count,
}

/// The types that a profile allows for the elements of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Types {
    /// The types of data of `zt.mx/1`: `f4_e2m1`, `f8_e4m3fn`, `f8_e5m2`, `i8`, and unknown logical types.
    Mx,
    /// Scales whose attribute `scale_form` is `e8m0_exponent`: `f8_e8m0`.
    E8M0,
    /// Scales whose attribute `scale_form` is `f32_factors`: floats of 16, 32 or 64 bits. The profile defines no key `type` for
    /// them.
    Floats,
    /// Scales whose attribute `scale_form` is `f16_factors`: `f16` or `bf16`. The profile defines no key `type` for them.
    Halves,
    /// Bytes, as GGUF blocks require: the dtype must be `u8`, and the component must not have the key `type`.
    U8,
    /// The types of words into which codes are packed: signed or unsigned integers as wide as this type.
    Word(StorageType),
    /// All types: the profile does not restrict the type of the elements.
    Plain,
}

/// The number of elements that a component must have.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    /// Exactly this number. `None` means that the number is not whole or exceeds 64 bits, so that no component has it.
    Exactly(Option<u64>),
    /// One of these two numbers. `None` means that the number exceeds 64 bits, so that no component has it.
    Either(Option<u64>, Option<u64>),
    /// The number of scales divided by this number: one element for each group of this many scales.
    PerScales(u64),
}

impl Types {
    /// Returns whether the component `part` has one of these types. If `part` has a `type` that its profile (a versioned layout
    /// such as `zt.mx/1`) does not define, only the dtype is compared: see [`ComponentRecord::is_beyond_profile`].
    pub(crate) fn allow(self, part: &ComponentRecord) -> bool {
        use LogicalType as L;
        use StorageType as S;
        let Logical { known, unknown } = part.logical;
        let Some(storage) = part.storage else { return false };
        match self {
            Self::Mx if known.is_some() => {
                matches!(known, Some(L::F4E2M1 | L::F8E4M3Fn | L::F8E5M2))
            }
            Self::Mx => unknown || storage == S::I8,
            Self::E8M0 => known == Some(L::F8E8M0),
            Self::U8 => !part.has_type && storage == S::U8,
            Self::Floats => matches!(storage, S::F64 | S::F32 | S::F16 | S::Bf16),
            Self::Halves => matches!(storage, S::F16 | S::Bf16),
            // The logical type `bool` is stored as `u8`, and has its own storage type here.
            Self::Word(word) => {
                (storage.is_integer() || storage == S::Bool) && storage.width() == word.width()
            }
            Self::Plain => true,
        }
    }

    /// Returns whether the size of an element of `part` is known, although its `type` may be unknown. Words have the size
    /// of their dtype.
    pub(crate) fn has_size(self, part: &ComponentRecord) -> bool {
        match self {
            Self::Mx => !part.logical.unknown,
            Self::Floats | Self::Halves | Self::Plain => !part.has_type,
            _ => true,
        }
    }

    /// Returns the size in bytes of `count` elements of `part`, for which [`has_size`](Self::has_size) is true. Returns `None`
    /// if the size exceeds 64 bits.
    pub(crate) fn bytes(self, part: &ComponentRecord, count: u64) -> Option<u64> {
        if self == Self::Mx && part.logical.is_packed() {
            return Some(count.div_ceil(2));
        }
        count.checked_mul(part.storage?.width().into())
    }
}

impl ComponentRecord {
    /// Returns whether this component, of an object with the layout `layout`, has a field `type` that the layout's profile
    /// does not define. The values of such a component are unknown.
    pub(crate) fn is_beyond_profile(&self, layout: Layout) -> bool {
        match layout {
            Layout::Mx => self.logical.unknown,
            Layout::QuantGroup => {
                let exponents = Logical::known(LogicalType::F8E8M0);
                self.has_type && (self.role, self.logical) != (Some(Role::Scales), exponents)
            }
            _ => false,
        }
    }
}

/// The names of the ggml types that have a profile `gguf.NAME/1`, in the place of `NAME`.
const GGUF: [&[u8]; 22] = [
    b"q4_0", b"q4_1", b"q5_0", b"q5_1", b"q8_0", b"q8_1", b"q2_k", b"q3_k", b"q4_k", b"q5_k",
    b"q6_k", b"q8_k", b"iq1_s", b"iq1_m", b"iq2_xxs", b"iq2_xs", b"iq2_s", b"iq3_xxs", b"iq3_s",
    b"iq4_nl", b"iq4_xs", b"mxfp4",
];

/// Returns the layout for the profile name `layout`. The caller has handled the names of sparse layouts.
#[inline(never)]
pub(super) fn named(layout: &[u8]) -> Layout {
    let gguf = layout.strip_prefix(b"gguf.").and_then(|name| name.strip_suffix(b"/1"));
    match layout {
        b"zt.mx/1" => Layout::Mx,
        b"zt.quant_group/1" => Layout::QuantGroup,
        _ if gguf.is_some_and(|name| GGUF.contains(&name)) => Layout::GgufBlocks,
        _ => Layout::Unknown,
    }
}

/// Reads `attributes`, the map of attributes of an object with a profile. Returns the components that these attributes and
/// the shape of the object require.
#[inline(never)]
pub(crate) fn profile(
    cx: &mut ParseContext<'_>,
    object: &ParsedObject<'_>,
    attributes: Input<'_>,
) -> Checked<Profile> {
    let ParsedObject { layout, product, shape, map, .. } = *object;
    let shape_at = BytesLeft::of(cx.dialect.fields.shape.find(map).unwrap_or(map));
    let elements = product.elements().ok_or_else(|| Fault::internal(attributes))?;
    let (_, profile) = match layout {
        Layout::Mx => Mx::read(cx, attributes, |cx, mx| {
            Ok(mx.profile(cx.index.shapes.get(shape), elements, shape_at)?)
        })?,
        Layout::QuantGroup => Quant::read(cx, attributes, |cx, quant| {
            Ok(quant.profile(cx.index.shapes.get(shape), elements)?)
        })?,
        _ => Gguf::read(cx, attributes, |_, gguf| Ok(gguf.profile(elements)?))?,
    };
    Ok(profile)
}

/// Returns the size of dimension number `axis` of `shape`, counted from 0. An axis that `shape` does not have is an error.
fn along(shape: &[u64], axis: Uint) -> Result<u64, Fault> {
    let dimension = usize::try_from(axis.value).ok().and_then(|axis| shape.get(axis)).copied();
    dimension.ok_or_else(|| Fault::with(Rule::AttributeAxis, axis.bytes_left, axis.value))
}

/// Creates the rule that the component with the role `role` has elements of one of `types`, as many as `count`.
fn part(role: Role, types: Types, count: Count) -> PartRule {
    PartRule { role, types, count }
}

impl Mx<'_> {
    fn profile(&self, shape: &[u64], elements: u64, shape_at: BytesLeft) -> Result<Profile, Fault> {
        let along = match self.axis {
            Some(axis) => along(shape, axis)?,
            None => *shape.last().ok_or_else(|| Fault::new(Rule::AttributeAxis, shape_at))?,
        };
        let Uint { bytes_left, value } = self.block_size;
        let whole = divide_exactly(along, value).is_some();
        let blocks = elements.checked_div(value).filter(|_| whole && value >= 2);
        let blocks = blocks.ok_or(Fault::with(Rule::MxBlockSize, bytes_left, value))?;
        if self.scale_form.bytes != b"e8m0_exponent" {
            return Err(Fault::new(Rule::ScaleForm, self.scale_form.bytes_left));
        }
        let scales = part(Role::Scales, Types::E8M0, Count::Exactly(Some(blocks)));
        let data = part(Role::Data, Types::Mx, Count::Exactly(Some(elements)));
        Ok([Some(data), Some(scales), None])
    }
}

impl Gguf<'_> {
    fn profile(&self, elements: u64) -> Result<Profile, Fault> {
        let Uint { bytes_left, value } = self.elems_per_block;
        let blocks = divide_exactly(elements, value);
        let blocks = blocks.ok_or(Fault::with(Rule::GgufBlock, bytes_left, value))?;
        let Uint { bytes_left, value } = self.block_bytes;
        if value == 0 {
            return Err(Fault::with(Rule::GgufBlock, bytes_left, value));
        }
        let bytes = Count::Exactly(blocks.checked_mul(value));
        Ok([Some(part(Role::Data, Types::U8, bytes)), None, None])
    }
}

impl Quant<'_> {
    fn profile(&self, shape: &[u64], elements: u64) -> Result<Profile, Fault> {
        let along = along(shape, self.axis)?;
        let Packing { word, per_word } = self.packing;
        let Uint { bytes_left, value: bits } = self.bits;
        let codes = divide_exactly(u64::from(word.width()).saturating_mul(8), bits);
        let codes = codes.filter(|_| matches!(bits, 2 | 3 | 4 | 5 | 6 | 8));
        let codes = codes.ok_or(Fault::with(Rule::QuantBits, bytes_left, bits))?;
        if per_word.value != codes {
            return Err(Fault::new(Rule::QuantPacking, per_word.bytes_left));
        }
        let Uint { bytes_left, value: size } = self.group_size;
        // If the axis has the size 0, there are no lanes and no scales.
        let lanes = elements.checked_div(along).unwrap_or(0);
        let scales = if size == 0 {
            // The text of the profile asks for one scale for each lane, but the size that it gives is one for each element.
            // Both are accepted.
            Count::Either(lanes.checked_mul(along), Some(lanes))
        } else {
            let groups = divide_exactly(along, size);
            let groups = groups.ok_or(Fault::with(Rule::QuantGroupSize, bytes_left, size))?;
            Count::Exactly(lanes.checked_mul(groups))
        };
        let types = match self.scale_form.bytes {
            b"f32_factors" => Types::Floats,
            b"f16_factors" => Types::Halves,
            b"e8m0_exponent" => Types::E8M0,
            _ => return Err(Fault::new(Rule::ScaleForm, self.scale_form.bytes_left)),
        };
        let words = Count::Exactly(divide_exactly(elements, codes));
        let zeros = match self.zero_point {
            ZeroPoint::Absent => None,
            ZeroPoint::Plain => Some(part(Role::Zeros, Types::Plain, Count::PerScales(1))),
            ZeroPoint::Packed => {
                Some(part(Role::Zeros, Types::Word(word), Count::PerScales(codes)))
            }
        };
        let data = part(Role::Data, Types::Word(word), words);
        Ok([Some(data), Some(part(Role::Scales, types, scales)), zeros])
    }
}

/// The parsed value of the attribute `packing` of `zt.quant_group/1`: the type of a word, and the number of codes in a word.
#[derive(Clone, Copy)]
struct Packing {
    word: StorageType,
    per_word: Uint,
}

impl<'m> FieldType<'m, true> for Packing {
    const BLANK: Self = Self { word: StorageType::U8, per_word: Uint::NONE };

    fn parse(cx: &mut ParseContext<'_>, _: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        PackingFields::read(cx, at, |_, PackingFields { word, order, per_word, .. }| {
            let unknown = |text: Text<'_>| Fault::new(Rule::QuantPacking, text.bytes_left);
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

/// What the attribute `zero_point` of `zt.quant_group/1` requires of the component `zeros`.
#[derive(Clone, Copy)]
enum ZeroPoint {
    Absent,
    /// The component `zeros` has one element for each scale.
    Plain,
    /// The component `zeros` has codes that are packed in words, as the component `data` has.
    Packed,
}

impl<'m> FieldType<'m, true> for ZeroPoint {
    const BLANK: Self = Self::Absent;

    fn parse(cx: &mut ParseContext<'_>, _: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        ZeroPointFields::read(cx, at, |cx, ZeroPointFields { form, value, packing, .. }| {
            let unknown = |text: Text<'_>| Fault::new(Rule::QuantZeroPoint, text.bytes_left).into();
            let missing = Fault::new(Rule::AttributeMissing, BytesLeft::of(at));
            match form.bytes {
                b"none" => Ok(Self::Absent),
                b"implied" => value.ok_or(missing)?.integer().map(|()| Self::Absent),
                b"tensor" => match packing.ok_or(missing)?.text(cx)? {
                    Text { bytes: b"plain", .. } => Ok(Self::Plain),
                    Text { bytes: b"same_as_data", .. } => Ok(Self::Packed),
                    packing => Err(unknown(packing)),
                },
                _ => Err(unknown(form)),
            }
        })
    }
}

/// The input at an attribute's value of any CBOR type. The value is parsed later, if the value of another attribute requires
/// it.
#[derive(Clone, Copy)]
struct Unread<'m>(Input<'m>);

impl<'m> FieldType<'m, true> for Unread<'m> {
    const BLANK: Self = Self(&[]);

    fn parse(_: &mut ParseContext<'_>, _: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        // The nesting depth needs no check here, because it was checked when the attributes were parsed as a whole.
        let (rest, ()) = skip(at, 0, DEPTH_CAP)?;
        Ok((rest, Self(at)))
    }
}

impl<'m> Unread<'m> {
    /// Checks that the value is an integer of either sign (major types 0 and 1).
    fn integer(self) -> Checked<()> {
        if self.0.first().is_none_or(|initial| *initial >= 0x40) {
            return Err(Fault::new(Rule::AttributeType, BytesLeft::of(self.0)).into());
        }
        Ok(())
    }

    /// Parses the unread value, which must be a text. Another type breaks `attribute-type`.
    fn text(self, cx: &mut ParseContext<'_>) -> Checked<Text<'m>> {
        Ok(<Text<'m> as FieldType<'m, true>>::parse(cx, Rule::AttributeType, self.0)?.1)
    }
}
