//! Objects that look like chance, and in which nothing is wrong.

use arbitrary::{Result, Unstructured};
use zten::write::canonical_order;
use zten::{LogicalType, StorageType};

use super::{Element, Object, Part, values};

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

/// Roles of any format, and of none.
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

/// An object in which nothing is wrong.
pub(super) fn right(u: &mut Unstructured<'_>, canonical: bool) -> Result<Object> {
    let mut name = (*u.choose(&NAMES)?).to_owned();
    if u.ratio(3, 4)? {
        name.push_str(&u.int_in_range(0..=99_u8)?.to_string());
    }
    let kind = u.int_in_range(0..=6)?;
    let (format, shape, mut parts) = match kind {
        0 | 1 => dense(u)?,
        2 => csr(u)?,
        3 => coo(u)?,
        4 => quantized(u)?,
        _ => custom(u)?,
    };
    if kind < 5 && u.ratio(1, 8)? {
        // Roles that the format does not know are its producer's.
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
    Ok(Object { name, format: format.to_owned(), shape, attributes, parts, piece, right: true })
}

type Body = (&'static str, Vec<u64>, Vec<Part>);

/// A part of so many elements, whose bytes may be any.
fn part(u: &mut Unstructured<'_>, role: &str, element: Element, elements: u64) -> Result<Part> {
    let bytes = elements * element.size();
    let bool = element.element().storage() == Some(StorageType::Bool);
    let mut content = Vec::new();
    // As many as there are to be had, then over again.
    let drawn: Vec<u8> = (0..bytes.min(16)).map(|_| u.arbitrary()).collect::<Result<_>>()?;
    content.extend(drawn.iter().cycle().take(usize::try_from(bytes).unwrap_or_default()));
    if bool {
        for byte in &mut content {
            *byte &= 1;
        }
    }
    let role = role.to_owned();
    Ok(Part { role, element, elements, level: None, content, named: None })
}

pub(super) fn element(u: &mut Unstructured<'_>) -> Result<Element> {
    let storage = *u.choose(&StorageType::ALL)?;
    Ok(match u.int_in_range(0..=7)? {
        0..5 => Element::Plain(storage),
        5 | 6 => Element::Logical(*u.choose(&LogicalType::V1_2)?),
        _ => Element::Named(u.choose(&["f4", "", "F32", "int4"])?.to_string(), storage),
    })
}

fn any_part(u: &mut Unstructured<'_>, role: &str) -> Result<Part> {
    let (element, elements) = (element(u)?, u.int_in_range(0..=9)?);
    part(u, role, element, elements)
}

/// Indices as the bytes that they are stored as.
fn indices(role: &str, indices: &[u64]) -> Part {
    Part {
        role: role.to_owned(),
        element: Element::Plain(StorageType::U64),
        elements: indices.len() as u64,
        level: None,
        content: indices.iter().flat_map(|index| index.to_le_bytes()).collect(),
        named: None,
    }
}

fn dense(u: &mut Unstructured<'_>) -> Result<Body> {
    let rank = u.int_in_range(0..=3)?;
    let mut shape: Vec<u64> = (0..rank).map(|_| u.int_in_range(0..=4)).collect::<Result<_>>()?;
    match u.int_in_range(0..=15)? {
        // Nothing in a vast space.
        0 => shape = vec![1 << 40, 0, 1 << 40],
        // More than one piece of what is compressed in blocks.
        1 => shape = vec![u.int_in_range(200..=5000)?],
        _ => {}
    }
    let element = element(u)?;
    let product = if shape.contains(&0) { 0 } else { shape.iter().product() };
    let data = part(u, "data", element, product)?;
    Ok(("dense", shape, vec![data]))
}

fn csr(u: &mut Unstructured<'_>) -> Result<Body> {
    let (rows, columns) = (u.int_in_range(0..=4_u64)?, u.int_in_range(0..=5_u64)?);
    let nnz = if rows == 0 || columns == 0 { 0 } else { u.int_in_range(0..=6)? };
    let mut pointers: Vec<u64> =
        (1..rows).map(|_| u.int_in_range(0..=nnz)).collect::<Result<_>>()?;
    pointers.sort_unstable();
    pointers.insert(0, 0);
    if rows > 0 {
        pointers.push(nnz);
    }
    let within: Vec<u64> =
        (0..nnz).map(|_| u.int_in_range(0..=columns.saturating_sub(1))).collect::<Result<_>>()?;
    let element = sparse_element(u)?;
    let values = part(u, "values", element, nnz)?;
    let parts = vec![indices("indptr", &pointers), values, indices("indices", &within)];
    Ok(("sparse_csr", vec![rows, columns], parts))
}

fn coo(u: &mut Unstructured<'_>) -> Result<Body> {
    let rank = u.int_in_range(1..=3)?;
    let shape: Vec<u64> = (0..rank).map(|_| u.int_in_range(0..=4)).collect::<Result<_>>()?;
    let nnz = if shape.contains(&0) { 0 } else { u.int_in_range(0..=5_u64)? };
    let mut coords = Vec::new();
    for dimension in &shape {
        for _ in 0..nnz {
            coords.push(u.int_in_range(0..=dimension - 1)?);
        }
    }
    let element = sparse_element(u)?;
    let values = part(u, "values", element, nnz)?;
    Ok(("sparse_coo", shape, vec![indices("coords", &coords), values]))
}

/// Values of a type that is not known are not counted, and so may be any number: these are one
/// an entry.
fn sparse_element(u: &mut Unstructured<'_>) -> Result<Element> {
    element(u)
}

fn quantized(u: &mut Unstructured<'_>) -> Result<Body> {
    let (words, outputs) = (u.int_in_range(0..=2_u64)?, u.int_in_range(0..=4)?);
    let float =
        Element::Plain(*u.choose(&[StorageType::F16, StorageType::Bf16, StorageType::F32])?);
    let codes = *u.choose(&[8_u64, 4])?;
    let shape = vec![words * codes, outputs];
    // A reader of groups of 24 to 64 inputs finds one.
    let groups = if words == 0 { 0 } else { outputs };
    let parts = vec![
        part(u, "zeros", float.clone(), groups)?,
        part(u, "scales", float, groups)?,
        part(u, "packed_weight", Element::Plain(StorageType::I32), words * outputs)?,
    ];
    Ok(("quantized_group", shape, parts))
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
