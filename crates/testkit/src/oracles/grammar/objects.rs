//! Generating objects of every layout whose components agree: v2 §5.1, §5.2.

use crate::objects::{self, Body, ObjectComponent, Type};
use arbitrary::{Result, Unstructured};
use zten::element::{LogicalType, StorageType};
use zten_corpus::cbor::{Item, fields, sorted_map, text, uint};

pub(super) struct GrammarObject {
    pub(super) layout: String,
    pub(super) shape: Vec<u64>,
    /// The attributes that the layout of the object requires, if it requires any.
    pub(super) attributes: Option<Item>,
    pub(super) parts: Vec<ObjectComponent>,
    /// The unknown logical type of all components, if they have one.
    pub(super) logical: Option<&'static str>,
}

impl GrammarObject {
    fn new(layout: &str, (shape, parts): Body, attributes: Option<Item>) -> Self {
        Self { layout: layout.to_owned(), shape, attributes, parts, logical: None }
    }
}

/// Generates one object, which is valid, except that its layout or the type of its components may be unknown.
pub(super) fn object(u: &mut Unstructured<'_>) -> Result<GrammarObject> {
    match u.int_in_range(0..=9)? {
        0..=2 => dense(u),
        3 => unknown(u),
        kind @ 4..=5 => sparse(u, kind == 4),
        6 | 7 => mx(u),
        8 => gguf(u),
        _ => quant_group(u),
    }
}

fn dense(u: &mut Unstructured<'_>) -> Result<GrammarObject> {
    let of = any(u)?;
    let mut object = GrammarObject::new("dense", objects::dense(u, of)?, None);
    object.logical = u.ratio(1, 16)?.then_some("mine.type");
    Ok(object)
}

fn unknown(u: &mut Unstructured<'_>) -> Result<GrammarObject> {
    let of = any(u)?;
    let mut parts = Vec::new();
    for role in ["data", "mine", "scales"].into_iter().take(u.int_in_range(1..=3)?) {
        let count = u.int_in_range(0..=9)?;
        parts.push(ObjectComponent::any(u, role, of, count)?);
    }
    Ok(GrammarObject::new("mine.layout/1", (vec![3, 0], parts), None))
}

fn sparse(u: &mut Unstructured<'_>, is_matrix: bool) -> Result<GrammarObject> {
    let (of, index) = (any(u)?, *u.choose(&[StorageType::U32, StorageType::U64])?);
    Ok(if is_matrix {
        GrammarObject::new("zt.sparse_csr/1", objects::csr(u, of, [index; 2], true)?, None)
    } else {
        GrammarObject::new("zt.sparse_coo/1", objects::coo(u, of, index, true)?, None)
    })
}

fn mx(u: &mut Unstructured<'_>) -> Result<GrammarObject> {
    let (block, blocks) = (u.int_in_range(2..=5_u64)?, u.int_in_range(0..=4_u64)?);
    let others: u64 = u.int_in_range(0..=3)?;
    let along_first = u.arbitrary()?;
    let along = block * blocks;
    let shape = if along_first { vec![along, others] } else { vec![others, along] };
    let mut attributes = vec![("block_size", uint(block)), ("scale_form", text("e8m0_exponent"))];
    if along_first || u.arbitrary()? {
        attributes.insert(0, ("axis", uint(u64::from(!along_first))));
    }
    let types: [Type; 4] = [
        LogicalType::F4E2M1.into(),
        LogicalType::F8E4M3Fn.into(),
        LogicalType::F8E5M2.into(),
        StorageType::I8.into(),
    ];
    let of = *u.choose(&types)?;
    let data = ObjectComponent::any(u, "data", of, along * others)?;
    let scales = ObjectComponent::any(u, "scales", LogicalType::F8E8M0.into(), blocks * others)?;
    Ok(GrammarObject::new("zt.mx/1", (shape, vec![data, scales]), Some(map_of(attributes))))
}

fn gguf(u: &mut Unstructured<'_>) -> Result<GrammarObject> {
    let rows = u.int_in_range(0..=3_u64)?;
    let attributes = fields([("block_bytes", uint(34)), ("elems_per_block", uint(32))]);
    let data = ObjectComponent::any(u, "data", StorageType::U8.into(), rows * 2 * 34)?;
    Ok(GrammarObject::new("gguf.q8_0/1", (vec![rows, 64], vec![data]), Some(attributes)))
}

fn quant_group(u: &mut Unstructured<'_>) -> Result<GrammarObject> {
    let groups = u.int_in_range(0..=3_u64)?;
    let packing =
        fields([("word", text("u8")), ("order", text("lsb_first")), ("per_word", uint(2))]);
    let (form, packed) = (*u.choose(&["none", "same_as_data", "plain"])?, groups * 2);
    let zero_point = match form {
        // The field `value` has no meaning in this form.
        "none" if u.arbitrary()? => fields([("form", text("none")), ("value", text("mine"))]),
        "none" => fields([("form", text("none"))]),
        packing => fields([("form", text("tensor")), ("packing", text(packing))]),
    };
    let attributes = vec![
        ("axis", uint(0)),
        ("bits", uint(4)),
        ("packing", packing),
        ("group_size", uint(2)),
        ("scale_form", text("f16_factors")),
        ("zero_point", zero_point),
    ];
    let bytes = StorageType::U8.into();
    let mut parts = vec![
        ObjectComponent::any(u, "data", bytes, packed)?,
        ObjectComponent::any(u, "scales", StorageType::F16.into(), groups * 2)?,
    ];
    match form {
        "none" => {}
        "plain" => parts.push(ObjectComponent::any(u, "zeros", bytes, groups * 2)?),
        _ => parts.push(ObjectComponent::any(u, "zeros", bytes, groups)?),
    }
    let body = (vec![groups * 2, 2], parts);
    let mut object = GrammarObject::new("zt.quant_group/1", body, Some(map_of(attributes)));
    object.logical = u.ratio(1, 8)?.then_some("mine.type");
    Ok(object)
}

/// Creates a map of `fields` in the order of deterministic CBOR.
fn map_of(fields: Vec<(&str, Item)>) -> Item {
    sorted_map(fields.into_iter().map(|(key, value)| (text(key), value)).collect())
}

fn any(u: &mut Unstructured<'_>) -> Result<Type> {
    Type::any(u, &LogicalType::ALL)
}
