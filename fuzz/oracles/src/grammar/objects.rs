//! Objects of every layout, whose parts agree: v2 §5.1, §5.2.

use arbitrary::{Result, Unstructured};
use zten_corpus::cbor::{Item, fields, sorted_map, text, uint};

use super::elements::{ALL, BLOCKS, E8M0, F16, Type, U8, U32, U64};

pub(super) struct Object {
    pub(super) layout: String,
    pub(super) shape: Vec<u64>,
    /// Those that its layout asks for, if it asks.
    pub(super) attributes: Option<Item>,
    pub(super) parts: Vec<Part>,
}

pub(super) struct Part {
    pub(super) role: &'static str,
    pub(super) dtype: &'static str,
    pub(super) logical: Option<&'static str>,
    /// Decoded.
    pub(super) content: Vec<u8>,
}

impl Part {
    /// So many elements of that type.
    fn new(u: &mut Unstructured<'_>, role: &'static str, of: Type, count: usize) -> Result<Self> {
        Ok(Self::holding(role, of, of.elements(u, count)?))
    }

    fn holding(role: &'static str, of: Type, content: Vec<u8>) -> Self {
        Self { role, dtype: of.dtype, logical: of.logical, content }
    }

    /// Those indices, of one type or the other.
    fn indices(role: &'static str, wide: bool, indices: &[u64]) -> Self {
        let content: Vec<u8> = if wide {
            indices.iter().flat_map(|index| index.to_le_bytes()).collect()
        } else {
            let narrow = |index: &u64| u32::try_from(*index).expect("a small index").to_le_bytes();
            indices.iter().flat_map(narrow).collect()
        };
        Self::holding(role, if wide { U64 } else { U32 }, content)
    }
}

/// One object, which is valid or of a layout or a type that is not known.
pub(super) fn object(u: &mut Unstructured<'_>) -> Result<Object> {
    match u.int_in_range(0..=9)? {
        0..=2 => dense(u),
        3 => unknown(u),
        4 => csr(u),
        5 => coo(u),
        6 | 7 => mx(u),
        8 => gguf(u),
        _ => quant_group(u),
    }
}

fn dense(u: &mut Unstructured<'_>) -> Result<Object> {
    let rank = u.int_in_range(0..=3)?;
    let shape: Vec<u64> = (0..rank).map(|_| u.int_in_range(0..=5)).collect::<Result<_>>()?;
    let count = shape.iter().product::<u64>();
    let of = *u.choose(&ALL)?;
    let mut data = Part::new(u, "data", of, small(count))?;
    if u.ratio(1, 16)? {
        data.logical = Some("mine.type");
    }
    Ok(Object { layout: "dense".to_owned(), shape, attributes: None, parts: vec![data] })
}

fn unknown(u: &mut Unstructured<'_>) -> Result<Object> {
    let of = *u.choose(&ALL)?;
    let mut parts = Vec::new();
    for role in ["data", "mine", "scales"].into_iter().take(u.int_in_range(1..=3)?) {
        let count = u.int_in_range(0..=9)?;
        parts.push(Part::new(u, role, of, count)?);
    }
    Ok(Object { layout: "mine.layout/1".to_owned(), shape: vec![3, 0], attributes: None, parts })
}

/// Cells of a grid of so many, sorted.
fn cells(u: &mut Unstructured<'_>, of: u64) -> Result<Vec<u64>> {
    (0..of).filter_map(|cell| u.ratio(1, 3).map(|is| is.then_some(cell)).transpose()).collect()
}

fn csr(u: &mut Unstructured<'_>) -> Result<Object> {
    let shape: Vec<u64> = vec![u.int_in_range(0..=4)?, u.int_in_range(0..=6)?];
    let (mut indptr, mut indices) = (vec![0], Vec::new());
    for _ in 0..shape[0] {
        indices.extend(cells(u, shape[1])?);
        indptr.push(indices.len() as u64);
    }
    let wide = u.arbitrary()?;
    let of = *u.choose(&ALL)?;
    let parts = vec![
        Part::indices("indptr", wide, &indptr),
        Part::new(u, "values", of, indices.len())?,
        Part::indices("indices", wide, &indices),
    ];
    Ok(Object { layout: "zt.sparse_csr/1".to_owned(), shape, attributes: None, parts })
}

fn coo(u: &mut Unstructured<'_>) -> Result<Object> {
    let rank = u.int_in_range(1..=3)?;
    let shape: Vec<u64> = (0..rank).map(|_| u.int_in_range(0..=4)).collect::<Result<_>>()?;
    let cells = cells(u, shape.iter().product())?;
    let mut coords = Vec::new();
    for dimension in 0..shape.len() {
        let behind: u64 = shape[dimension + 1..].iter().product();
        coords.extend(cells.iter().map(|cell| cell / behind % shape[dimension]));
    }
    let (wide, of) = (u.arbitrary()?, *u.choose(&ALL)?);
    let values = Part::new(u, "values", of, cells.len())?;
    let parts = vec![Part::indices("coords", wide, &coords), values];
    Ok(Object { layout: "zt.sparse_coo/1".to_owned(), shape, attributes: None, parts })
}

fn mx(u: &mut Unstructured<'_>) -> Result<Object> {
    let (block, blocks) = (u.int_in_range(2..=5_u64)?, u.int_in_range(0..=4_u64)?);
    let others: u64 = u.int_in_range(0..=3)?;
    let along_first = u.arbitrary()?;
    let along = block * blocks;
    let shape = if along_first { vec![along, others] } else { vec![others, along] };
    let mut attributes = vec![("block_size", uint(block)), ("scale_form", text("e8m0_exponent"))];
    if along_first || u.arbitrary()? {
        attributes.insert(0, ("axis", uint(u64::from(!along_first))));
    }
    let of = *u.choose(&BLOCKS)?;
    let data = Part::new(u, "data", of, small(along * others))?;
    let scales = Part::new(u, "scales", E8M0, small(blocks * others))?;
    let attributes = Some(map_of(attributes));
    Ok(Object { layout: "zt.mx/1".to_owned(), shape, attributes, parts: vec![data, scales] })
}

fn gguf(u: &mut Unstructured<'_>) -> Result<Object> {
    let rows = u.int_in_range(0..=3_u64)?;
    let attributes = fields([("block_bytes", uint(34)), ("elems_per_block", uint(32))]);
    let data = Part::new(u, "data", U8, small(rows * 2 * 34))?;
    Ok(Object {
        layout: "gguf.q8_0/1".to_owned(),
        shape: vec![rows, 64],
        attributes: Some(attributes),
        parts: vec![data],
    })
}

fn quant_group(u: &mut Unstructured<'_>) -> Result<Object> {
    let groups = u.int_in_range(0..=3_u64)?;
    let packing =
        fields([("word", text("u8")), ("order", text("lsb_first")), ("per_word", uint(2))]);
    let (form, packed) = (*u.choose(&["none", "same_as_data", "plain"])?, groups * 2);
    let zero_point = match form {
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
    let mut parts = vec![
        Part::new(u, "data", U8, small(packed))?,
        Part::new(u, "scales", F16, small(groups * 2))?,
    ];
    match form {
        "none" => {}
        "plain" => parts.push(Part::new(u, "zeros", U8, small(groups * 2))?),
        _ => parts.push(Part::new(u, "zeros", U8, small(groups))?),
    }
    Ok(Object {
        layout: "zt.quant_group/1".to_owned(),
        shape: vec![groups * 2, 2],
        attributes: Some(map_of(attributes)),
        parts,
    })
}

/// Fields in the order of deterministic CBOR.
fn map_of(fields: Vec<(&str, Item)>) -> Item {
    sorted_map(fields.into_iter().map(|(key, value)| (text(key), value)).collect())
}

fn small(count: u64) -> usize {
    usize::try_from(count).expect("a small count")
}
