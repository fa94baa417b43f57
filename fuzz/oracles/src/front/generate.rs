//! Claims that look like chance: most of them right, and changed.

use arbitrary::{Arbitrary, Result, Unstructured};
use zten::element::ByteOrder;
use zten::{Encoding, Format, LogicalType, Options, StorageType};

use super::{Component, FORMATS, Front, Object, Step};
use crate::limits;
use crate::model::{attributes, raw_attributes};

static CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// Things that a builder is told, at most.
const STEPS: u8 = 6;

const NAMES: [&str; 8] =
    ["", "a", "b", "layer.0.weight", "\0", "\u{e9}", "../x", "longer than 24 bytes is this name"];

/// Roles of any layout, and of none, in their order.
const ROLES: [&str; 9] =
    ["", "codes", "coords", "data", "indices", "indptr", "scales", "values", "\u{1f600}"];

/// Numbers that are somewhere an edge.
const EDGES: [u64; 12] = [
    0,
    1,
    2,
    127,
    128,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    1 << 61,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

impl<'a> Arbitrary<'a> for Front {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let format = u.int_in_range(0..=FORMATS.len() - 1)?;
        let header = u.int_in_range(0..=24)?;
        let mut front = Self {
            format,
            options: Options::default().limits(limits()),
            header: 0..header,
            file: vec![b' '; usize::from(u8::try_from(header).expect("a byte"))],
            steps: Vec::new(),
        };
        for _ in 0..u.int_in_range(0..=STEPS)? {
            let step = match u.int_in_range(0..=15)? {
                0 => Step::Attributes(map(u)?),
                _ => Step::Object(object(u, &mut front)?),
            };
            front.steps.push(step);
        }
        front.file.extend_from_slice(u.bytes(u.len().min(3))?);
        for _ in 0..u.int_in_range(0..=7_u8)?.saturating_sub(5) {
            mistake(u, &mut front)?;
        }
        Ok(front)
    }
}

/// Attributes, most of which are right.
fn map(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    if u.ratio(1, 16)? { raw_attributes(u) } else { attributes(u) }
}

/// An object in which nothing is wrong, unless its name or its blobs are another's.
fn object(u: &mut Unstructured<'_>, front: &mut Front) -> Result<Object> {
    let mut name = (*u.choose(&NAMES)?).to_owned();
    if u.ratio(7, 8)? {
        name.push_str(&u.int_in_range(0..=99_u8)?.to_string());
    }
    let attributes = if u.ratio(1, 4)? { Some(map(u)?) } else { None };
    let before: Vec<_> = front.objects().collect();
    if !before.is_empty() && u.ratio(1, 8)? {
        return Ok(Object { name, attributes, ..(*u.choose(&before)?).clone() });
    }
    let layout = *u.choose(&[
        Format::Dense,
        Format::Dense,
        Format::SparseCsr,
        Format::SparseCoo,
        Format::Unknown,
    ])?;
    let mut object = Object {
        name,
        shape: Vec::new(),
        layout,
        layout_name: u.ratio(1, 4)?.then(|| "blocks".to_owned()),
        attributes,
        components: Vec::new(),
    };
    match layout {
        Format::Dense => dense(u, front, &mut object)?,
        Format::SparseCsr => csr(u, front, &mut object)?,
        Format::SparseCoo => coo(u, front, &mut object)?,
        _ => unknown(u, front, &mut object)?,
    }
    Ok(object)
}

fn dense(u: &mut Unstructured<'_>, front: &mut Front, object: &mut Object) -> Result<()> {
    for _ in 0..u.int_in_range(0..=3)? {
        object.shape.push(u.int_in_range(0..=4)?);
    }
    let elements = object.shape.iter().product();
    let element = element(u)?;
    let data = component(u, front, "data", element, elements)?;
    object.components.push(Component { column_major: u.ratio(1, 4)?, ..data });
    Ok(())
}

/// A matrix in which each row has as many values as any other.
fn csr(u: &mut Unstructured<'_>, front: &mut Front, object: &mut Object) -> Result<()> {
    let (rows, columns) = (u.int_in_range(0..=3)?, u.int_in_range(1..=4)?);
    let each = u.int_in_range(0..=columns)?;
    object.shape = vec![rows, columns];
    let indices: Vec<_> = (0..rows).flat_map(|_| 0..each).collect();
    let indptr: Vec<_> = (0..=rows).map(|row| row * each).collect();
    let nnz = rows * each;
    object.components =
        vec![index(u, front, "indices", &indices)?, index(u, front, "indptr", &indptr)?];
    let element = element(u)?;
    object.components.push(component(u, front, "values", element, nnz)?);
    Ok(())
}

fn coo(u: &mut Unstructured<'_>, front: &mut Front, object: &mut Object) -> Result<()> {
    for _ in 0..u.int_in_range(1..=3)? {
        object.shape.push(u.int_in_range(1..=4)?);
    }
    let nnz = u.int_in_range(0..=3)?;
    let mut coords = Vec::new();
    for dimension in &object.shape {
        for _ in 0..nnz {
            coords.push(u.int_in_range(0..=dimension - 1)?);
        }
    }
    object.components.push(index(u, front, "coords", &coords)?);
    let element = element(u)?;
    object.components.push(component(u, front, "values", element, nnz)?);
    Ok(())
}

/// Components of any roles, and now and then of very many.
fn unknown(u: &mut Unstructured<'_>, front: &mut Front, object: &mut Object) -> Result<()> {
    for _ in 0..u.int_in_range(0..=3)? {
        object.shape.push(*u.choose(&EDGES)?);
    }
    let many = if u.ratio(1, 64)? { u.int_in_range(0..=4100)? } else { 0 };
    for number in 0..many {
        object.components.push(Component {
            role: format!("{number:04}"),
            offset: front.length(),
            stored_length: 0,
            decoded_length: None,
            storage: StorageType::U8,
            logical: None,
            byte_order: ByteOrder::Little,
            encoding: Encoding::Raw,
            column_major: false,
            prefix: 0,
            checksum: None,
        });
    }
    for role in ROLES.into_iter().skip(usize::from(many > 0)) {
        if u.ratio(1, 4)? {
            let (element, elements) = (element(u)?, u.int_in_range(0..=4)?);
            object.components.push(component(u, front, role, element, elements)?);
        }
    }
    Ok(())
}

type Element = (StorageType, Option<LogicalType>);

fn element(u: &mut Unstructured<'_>) -> Result<Element> {
    if u.ratio(1, 3)? {
        let logical = *u.choose(&LogicalType::ALL)?;
        return Ok((logical.storage(), Some(logical)));
    }
    Ok((*u.choose(&StorageType::ALL)?, None))
}

/// A component of indices, as one of the types that hold them.
fn index(
    u: &mut Unstructured<'_>,
    front: &mut Front,
    role: &str,
    numbers: &[u64],
) -> Result<Component> {
    let storage = *u.choose(&[
        StorageType::U64,
        StorageType::I64,
        StorageType::U32,
        StorageType::I16,
        StorageType::U8,
        StorageType::I8,
    ])?;
    let order = order(u)?;
    let mut content = Vec::new();
    for number in numbers {
        let bytes = &number.to_le_bytes()[..usize::from(storage.width())];
        match order {
            ByteOrder::Little => content.extend(bytes),
            ByteOrder::Big => content.extend(bytes.iter().rev()),
        }
    }
    put(u, front, (role, (storage, None), order), content)
}

fn component(
    u: &mut Unstructured<'_>,
    front: &mut Front,
    role: &str,
    element: Element,
    elements: u64,
) -> Result<Component> {
    let (storage, logical) = element;
    let width = u64::from(storage.width()) * u64::from(logical.map_or(1, LogicalType::ratio));
    let packed = logical == Some(LogicalType::F4E2M1);
    let bytes = if packed { elements.div_ceil(2) } else { elements * width };
    let mut content = Vec::new();
    let mask = if storage == StorageType::Bool && u.ratio(7, 8)? { 1 } else { u8::MAX };
    for _ in 0..bytes {
        content.push(u.arbitrary::<u8>()? & mask);
    }
    let order = order(u)?;
    put(u, front, (role, element, order), content)
}

fn order(u: &mut Unstructured<'_>) -> Result<ByteOrder> {
    Ok(if u.ratio(1, 4)? { ByteOrder::Big } else { ByteOrder::Little })
}

/// Puts content at the end of the file, some of it as a frame of zstd, and some as a stream of deflate.
fn put(
    u: &mut Unstructured<'_>,
    front: &mut Front,
    (role, (storage, logical), mut byte_order): (&str, Element, ByteOrder),
    content: Vec<u8>,
) -> Result<Component> {
    let (encoding, decoded) = match u8::try_from(content.len()) {
        Ok(length) if u.ratio(1, 4)? => {
            byte_order = ByteOrder::Little;
            (Encoding::Zstd, Some(length))
        }
        Ok(length) if u.ratio(1, 4)? => (Encoding::Deflate, Some(length)),
        _ => (Encoding::Raw, None),
    };
    let prefix = if encoding == Encoding::Zstd { 0 } else { u.int_in_range(0..=6)?.max(3) - 3 };
    let prefixed = [&[0xee; 3][..prefix], &content].concat();
    let is_summed = encoding != Encoding::Zstd && (prefix > 0 || u.ratio(1, 4)?);
    let checksum = is_summed.then(|| CRC32.checksum(&prefixed));
    let gap = if u.ratio(1, 4)? { u.int_in_range(0..=8)? } else { 0 };
    front.file.resize(front.file.len() + gap, 0xaa);
    if encoding == Encoding::Raw {
        front.file.extend(&prefixed[..prefix]);
    }
    let offset = front.length();
    if let (Encoding::Deflate, Ok(length)) = (encoding, u16::try_from(prefixed.len())) {
        // One block as it is, behind its size: RFC 1951 §3.2.4.
        front.file.push(1);
        front.file.extend([length, !length].map(u16::to_le_bytes).concat());
        front.file.extend(&prefixed[..prefix]);
    } else if let Some(length) = decoded {
        // One block as it is, behind its size: RFC 8878 §3.1.1.
        let header = (u32::from(length) << 3 | 1).to_le_bytes();
        front.file.extend([0x28, 0xb5, 0x2f, 0xfd, 0x20, length]);
        front.file.extend(&header[..3]);
    }
    front.file.extend(content);
    Ok(Component {
        role: role.to_owned(),
        offset,
        stored_length: front.length() - offset,
        decoded_length: decoded.map(u64::from),
        storage,
        logical,
        byte_order,
        encoding,
        column_major: false,
        prefix: prefix as u64,
        checksum,
    })
}

/// Changes one claim; what comes out may be right all the same.
fn mistake(u: &mut Unstructured<'_>, front: &mut Front) -> Result<()> {
    let length = front.length();
    match u.int_in_range(0..=15)? {
        0 => front.header = any(u, length)?..any(u, length)?,
        1 => front.options = Options::default().limits(small(u)?),
        2 => front.file.truncate(u.int_in_range(0..=front.file.len())?),
        3 => {
            let at = u.int_in_range(0..=front.file.len().max(1) - 1)?;
            let byte = u.arbitrary()?;
            front.file.iter_mut().skip(at).take(1).for_each(|there| *there = byte);
        }
        choice => {
            let Some(last) = front.steps.len().checked_sub(1) else { return Ok(()) };
            let at = u.int_in_range(0..=last)?;
            let Step::Object(object) = &mut front.steps[at] else { return Ok(()) };
            if choice < 8 {
                of_object(u, object)?;
            } else if let Some(last) = object.components.len().checked_sub(1) {
                let at = u.int_in_range(0..=last)?;
                of_component(u, &mut object.components[at], length)?;
            }
        }
    }
    Ok(())
}

fn of_object(u: &mut Unstructured<'_>, object: &mut Object) -> Result<()> {
    match u.int_in_range(0..=8)? {
        0 => object.shape.push(*u.choose(&EDGES)?),
        1 => drop(object.shape.pop()),
        2 => {
            let dimension = *u.choose(&EDGES)?;
            object.shape.iter_mut().take(1).for_each(|first| *first = dimension);
        }
        3 => object.shape = vec![1; u.int_in_range(63..=66)?],
        4 => drop(object.components.pop()),
        5 => object.components.extend_from_within(..object.components.len().min(1)),
        6 => object.components.reverse(),
        7 => {
            object.layout = *u.choose(&[
                Format::Dense,
                Format::SparseCsr,
                Format::SparseCoo,
                Format::Unknown,
                Format::QuantizedGroup,
                Format::Mx,
                Format::QuantGroup,
                Format::GgufBlocks,
            ])?;
        }
        // Deeper than attributes may be, or just not.
        _ => {
            let levels = u.int_in_range(60..=66)?;
            object.attributes = Some([&b"\xa1\x61a"[..], &vec![0x81; levels], &[0]].concat());
        }
    }
    Ok(())
}

fn of_component(u: &mut Unstructured<'_>, component: &mut Component, length: u64) -> Result<()> {
    match u.int_in_range(0..=12)? {
        10 => component.column_major = !component.column_major,
        11 => component.prefix = any(u, length)?,
        12 => component.checksum = u.arbitrary()?,
        0 => component.offset = any(u, length)?,
        1 => component.stored_length = any(u, length)?,
        2 => component.decoded_length = Some(any(u, length)?),
        3 => component.decoded_length = None,
        4 => (*u.choose(&ROLES)?).clone_into(&mut component.role),
        5 => component.storage = *u.choose(&StorageType::ALL)?,
        6 => component.logical = Some(*u.choose(&LogicalType::ALL)?),
        7 => component.logical = None,
        8 => component.byte_order = ByteOrder::Big,
        _ => {
            component.encoding = *u.choose(&[
                Encoding::Raw,
                Encoding::Zstd,
                Encoding::ZstdSeekable,
                Encoding::Deflate,
                Encoding::Unknown,
            ])?;
        }
    }
    Ok(())
}

/// A number in a file of so many bytes, at an edge, or just beside one.
fn any(u: &mut Unstructured<'_>, length: u64) -> Result<u64> {
    Ok(match u.int_in_range(0..=3)? {
        0 => *u.choose(&EDGES)?,
        1 => length.wrapping_add(u.int_in_range(0..=2)?).wrapping_sub(1),
        2 => u.arbitrary::<u64>()? >> u.int_in_range(0..=63)?,
        _ => u.int_in_range(0..=length)?,
    })
}

/// Limits that few claims keep.
fn small(u: &mut Unstructured<'_>) -> Result<zten::Limits> {
    let (name, value) = *u.choose(&[
        ("manifest", 0),
        ("manifest", 1),
        ("manifest", 40),
        ("depth", 6),
        ("rank", 0),
        ("rank", 2),
        ("keys", 0),
        ("keys", 2),
        ("window", 0),
        ("decoded", 8),
        ("decoded-total", 0),
        ("decoded-total", 40),
    ])?;
    Ok(limits().with_named(name, value).expect("a known limit"))
}
