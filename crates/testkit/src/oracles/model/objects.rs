//! Generates valid objects of models from fuzzer input.

use crate::objects::{self, Type};
use arbitrary::{Result, Unstructured};
use zten::element::{LogicalType, StorageType};
use zten::write::canonical_order;

use super::{Element, ModelComponent, ModelObject, values};

const NAMES: [&str; 10] = [
    "",
    "a",
    "b",
    "w",
    "layer.0.weight",
    "a/b",
    "\0",
    "\u{e9}",
    "../x",
    "a name longer than 24 bytes",
];

/// The roles that the layouts define, and roles that none of them defines.
pub(super) const ROLES: [&str; 12] = [
    "data",
    "values",
    "indices",
    "indptr",
    "coords",
    "packed_weight",
    "scales",
    "zeros",
    "",
    "mine",
    "\u{1f600}",
    "a role that is longer than 24 bytes",
];

/// Generates a valid object. If `canonical`, its components are in canonical order and not compressed.
pub(super) fn right(u: &mut Unstructured<'_>, canonical: bool) -> Result<ModelObject> {
    let mut name = (*u.choose(&NAMES)?).to_owned();
    if u.ratio(3, 4)? {
        name.push_str(&u.int_in_range(0..=99_u8)?.to_string());
    }
    let kind = u.int_in_range(0..=6)?;
    let (format, shape, mut parts) = match kind {
        0..4 => known(u, kind)?,
        4 => quantized(u)?,
        _ => custom(u)?,
    };
    if kind < 5 && u.ratio(1, 8)? {
        // Components whose roles the layout does not define are allowed.
        parts.push(any_part(u, "extra")?);
    }
    for part in &mut parts {
        part.level = if !canonical && u.ratio(1, 4)? { Some(u.int_in_range(1..=5)?) } else { None };
    }
    if canonical {
        parts.sort_by(|a, b| canonical_order(&a.role, &b.role));
    } else if u.arbitrary()? {
        parts.reverse();
    }
    let attributes = match u.int_in_range(0..=3)? {
        0 if kind == 4 => {
            let packing = *u.choose(&["8_per_i32", "4_per_i32"])?;
            let bits = if packing == "8_per_i32" { 4 } else { 8 };
            Some(values::quantization(packing, bits, u.int_in_range(24..=64)?))
        }
        0 | 1 => Some(values::attributes(u)?),
        _ => None,
    };
    let piece = *u.choose(&[1, 3, 7, 8, 64, 4096])?;
    Ok(ModelObject {
        name,
        format: format.to_owned(),
        shape,
        attributes,
        parts,
        piece,
        right: true,
    })
}

type Body = (&'static str, Vec<u64>, Vec<ModelComponent>);

impl From<objects::ObjectComponent> for ModelComponent {
    fn from(part: objects::ObjectComponent) -> Self {
        let objects::ObjectComponent { role, of, elements, content } = part;
        let element = of.logical.map_or(Element::Plain(of.storage), Element::Logical);
        Self { role: role.to_owned(), element, elements, level: None, content, named: None }
    }
}

pub(super) fn element(u: &mut Unstructured<'_>) -> Result<Element> {
    let of = Type::any(u, &LogicalType::V1_2)?;
    of.logical.map_or_else(|| plain(u, of.storage), |logical| Ok(Element::Logical(logical)))
}

/// Returns the element type `storage`, or sometimes an unknown logical type that is stored as `storage`.
fn plain(u: &mut Unstructured<'_>, storage: StorageType) -> Result<Element> {
    Ok(if u.ratio(7, 8)? {
        Element::Plain(storage)
    } else {
        Element::Named((*u.choose(&["f4", "", "F32", "int4"])?).to_owned(), storage)
    })
}

fn any_part(u: &mut Unstructured<'_>, role: &'static str) -> Result<ModelComponent> {
    let (of, elements) = (Type::any(u, &LogicalType::V1_2)?, u.int_in_range(0..=9)?);
    let part = objects::ObjectComponent::any(u, role, of, elements)?;
    perhaps_unknown(u, part)
}

/// Converts a generated component to a component of a model, and sometimes gives it an unknown logical type.
fn perhaps_unknown(
    u: &mut Unstructured<'_>,
    part: objects::ObjectComponent,
) -> Result<ModelComponent> {
    let (of, mut part) = (part.of, ModelComponent::from(part));
    if of.logical.is_none() {
        part.element = plain(u, of.storage)?;
    }
    Ok(part)
}

/// Generates the shape and components of an object of a known layout, which `kind` selects.
fn known(u: &mut Unstructured<'_>, kind: u8) -> Result<Body> {
    let (of, in_order) = (Type::any(u, &LogicalType::V1_2)?, u.arbitrary()?);
    let (format, (shape, parts)) = match kind {
        2 => ("sparse_csr", objects::csr(u, of, [StorageType::U64; 2], in_order)?),
        3 => ("sparse_coo", objects::coo(u, of, StorageType::U64, in_order)?),
        _ => {
            let body = match u.int_in_range(0..=15)? {
                // A shape with a huge dimension and no elements.
                0 => objects::array(u, vec![1 << 40, 0, 1 << 40], of)?,
                // Content of hundreds or thousands of elements, many more than the other arrays have.
                1 => {
                    let shape = vec![u.int_in_range(200..=5000)?];
                    objects::array(u, shape, of)?
                }
                _ => objects::dense(u, of)?,
            };
            ("dense", body)
        }
    };
    let part = |part: objects::ObjectComponent| match part.role {
        "data" | "values" => perhaps_unknown(u, part),
        _ => Ok(part.into()),
    };
    let parts = parts.into_iter().map(part).collect::<Result<_>>()?;
    Ok((format, shape, parts))
}

fn quantized(u: &mut Unstructured<'_>) -> Result<Body> {
    let (words, outputs) = (u.int_in_range(0..=2_u64)?, u.int_in_range(0..=4)?);
    let float = Type::from(*u.choose(&[StorageType::F16, StorageType::Bf16, StorageType::F32])?);
    let codes = *u.choose(&[8_u64, 4])?;
    let shape = vec![words * codes, outputs];
    // An output has at most 16 inputs, and a group size in the attributes is at least 24. So all inputs of an output are one
    // group, with one scale and one zero point.
    let groups = if words == 0 { 0 } else { outputs };
    let parts = [
        objects::ObjectComponent::any(u, "zeros", float, groups)?,
        objects::ObjectComponent::any(u, "scales", float, groups)?,
        objects::ObjectComponent::any(
            u,
            "packed_weight",
            StorageType::I32.into(),
            words * outputs,
        )?,
    ];
    Ok(("quantized_group", shape, parts.into_iter().map(ModelComponent::from).collect()))
}

fn custom(u: &mut Unstructured<'_>) -> Result<Body> {
    let format = *u.choose(&["mine", "", "Dense", "sparse_bsr", "gguf.q4_0", "\u{e9}"])?;
    let rank = u.int_in_range(0..=2)?;
    let shape = (0..rank).map(|_| u.arbitrary()).collect::<Result<_>>()?;
    let (first, count) = (u.int_in_range(0..=ROLES.len() - 1)?, u.int_in_range(0..=4)?);
    let roles = ROLES.iter().cycle().skip(first).take(count);
    let parts = roles.map(|role| any_part(u, role)).collect::<Result<_>>()?;
    Ok((format, shape, parts))
}
