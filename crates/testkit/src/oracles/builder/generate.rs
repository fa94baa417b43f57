//! Generates calls of a builder from fuzzer input: valid calls, and valid calls that are then changed.

use crate::objects::{self, ObjectComponent, Type};
use arbitrary::{Arbitrary, Result, Unstructured};
use zten::element::{ByteOrder, Negation};
use zten::element::{LogicalType, StorageType};
use zten::{Encoding, Layout, OpenOptions};
use zten_corpus::base::zstd_frame;

use super::{BuiltObject, Calls, Component, FORMATS, Step};
use crate::oracles::limits;
use crate::oracles::model::{attributes, raw_attributes};

static CRC32: crc::Crc<u32> = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC);

/// The largest number of calls of a builder.
const STEPS: u8 = 6;

const NAMES: [&str; 8] =
    ["", "a", "b", "layer.0.weight", "\0", "\u{e9}", "../x", "longer than 24 bytes is this name"];

/// The roles that the layouts define, and roles that none of them defines, in ascending order.
const ROLES: [&str; 9] =
    ["", "codes", "coords", "data", "indices", "indptr", "scales", "values", "\u{1f600}"];

/// Numbers that are edge cases of some format, such as the largest number of a size.
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

impl<'a> Arbitrary<'a> for Calls {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let format = u.int_in_range(0..=FORMATS.len() - 1)?;
        let header = u.int_in_range(0..=24)?;
        let mut calls = Self {
            format,
            options: OpenOptions::default().limits(limits()),
            header: 0..header,
            descriptions: None,
            file: vec![b' '; usize::from(u8::try_from(header).expect("a byte"))],
            steps: Vec::new(),
        };
        for _ in 0..u.int_in_range(0..=STEPS)? {
            let step = match u.int_in_range(0..=15)? {
                0 => Step::Attributes(map(u)?),
                _ => Step::Object(object(u, &mut calls)?),
            };
            calls.steps.push(step);
        }
        calls.file.extend_from_slice(u.bytes(u.len().min(3))?);
        set_descriptions(u, &mut calls)?;
        for _ in 0..u.int_in_range(0..=7_u8)?.saturating_sub(5) {
            mistake(u, &mut calls)?;
        }
        Ok(calls)
    }
}

/// Sets the argument of `Builder::descriptions_at`, sometimes, and the offset of each object in the header. Any
/// offset is valid, because the builder uses offsets only in errors.
fn set_descriptions(u: &mut Unstructured<'_>, calls: &mut Calls) -> Result<()> {
    if u.ratio(1, 4)? {
        calls.descriptions = Some(*u.choose(&EDGES)?);
    }
    for step in &mut calls.steps {
        if let Step::Object(object) = step {
            object.source_offset = u.arbitrary::<u32>()? >> u.int_in_range(0..=31)?;
        }
    }
    Ok(())
}

/// Generates attributes as CBOR, which are usually valid.
fn map(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    if u.ratio(1, 16)? { raw_attributes(u) } else { attributes(u) }
}

/// Generates a valid object to add to `calls`, with these exceptions: its name or its blobs may be those of an object in `calls`,
/// and its attributes or its bools may be invalid.
fn object(u: &mut Unstructured<'_>, calls: &mut Calls) -> Result<BuiltObject> {
    let mut name = (*u.choose(&NAMES)?).to_owned();
    if u.ratio(7, 8)? {
        name.push_str(&u.int_in_range(0..=99_u8)?.to_string());
    }
    let attributes = if u.ratio(1, 4)? { Some(map(u)?) } else { None };
    let before: Vec<_> = calls.objects().collect();
    if !before.is_empty() && u.ratio(1, 8)? {
        return Ok(BuiltObject { name, attributes, ..(*u.choose(&before)?).clone() });
    }
    let layout = *u.choose(&[
        Layout::Dense,
        Layout::Dense,
        Layout::SparseCsr,
        Layout::SparseCoo,
        Layout::Unknown,
    ])?;
    let mut object = BuiltObject {
        name,
        shape: Vec::new(),
        layout,
        layout_name: u.ratio(1, 4)?.then(|| "blocks".to_owned()),
        attributes,
        components: Vec::new(),
        source_offset: 0,
    };
    let of = Type::any(u, &LogicalType::ALL)?;
    let (shape, mut parts) = match layout {
        Layout::Dense => objects::dense(u, of)?,
        Layout::SparseCsr => {
            let types = [index(u)?, index(u)?];
            objects::csr(u, of, types, true)?
        }
        Layout::SparseCoo => {
            let index = index(u)?;
            objects::coo(u, of, index, true)?
        }
        _ => {
            unknown(u, calls, &mut object)?;
            return Ok(object);
        }
    };
    parts.sort_by_key(|part| part.role);
    object.shape = shape;
    for part in parts {
        let column_major = layout == Layout::Dense && u.ratio(1, 4)?;
        object.components.push(Component { column_major, ..component(u, calls, part)? });
    }
    Ok(object)
}

/// Adds components with any roles to an object of an unknown layout: usually few, sometimes very many.
fn unknown(u: &mut Unstructured<'_>, calls: &mut Calls, object: &mut BuiltObject) -> Result<()> {
    for _ in 0..u.int_in_range(0..=3)? {
        object.shape.push(*u.choose(&EDGES)?);
    }
    let many = if u.ratio(1, 64)? { u.int_in_range(0..=4100)? } else { 0 };
    for number in 0..many {
        object.components.push(Component {
            role: format!("{number:04}"),
            offset: calls.length(),
            stored_length: 0,
            decoded_length: None,
            storage: StorageType::U8,
            logical: None,
            byte_order: ByteOrder::Little,
            encoding: Encoding::Raw,
            column_major: false,
            strides: None,
            negation: Negation::default(),
            prefix: 0,
            checksum: None,
        });
    }
    for role in ROLES.into_iter().skip(usize::from(many > 0)) {
        if u.ratio(1, 4)? {
            let (of, elements) = (Type::any(u, &LogicalType::ALL)?, u.int_in_range(0..=4)?);
            let part = ObjectComponent::any(u, role, of, elements)?;
            object.components.push(component(u, calls, part)?);
        }
    }
    Ok(())
}

/// Chooses an integer type in which indices may be stored.
fn index(u: &mut Unstructured<'_>) -> Result<StorageType> {
    Ok(*u.choose(&[
        StorageType::U64,
        StorageType::I64,
        StorageType::U32,
        StorageType::I16,
        StorageType::U8,
        StorageType::I8,
    ])?)
}

/// Appends the content of `part` to the file: raw, as a zstd frame or deflated, in either byte order. Returns the
/// component that describes it.
fn component(
    u: &mut Unstructured<'_>,
    calls: &mut Calls,
    part: ObjectComponent,
) -> Result<Component> {
    let ObjectComponent { role, of: Type { storage, logical }, mut content, .. } = part;
    if storage == StorageType::Bool && u.ratio(1, 8)? {
        u.fill_buffer(&mut content)?;
    }
    let (mut byte_order, mut encoding, mut decoded_length) =
        (ByteOrder::Little, Encoding::Raw, None);
    let (mut prefix, mut checksum) = (0, None);
    if content.len() <= 255 && u.ratio(1, 4)? {
        (encoding, decoded_length) = (Encoding::Zstd, Some(content.len() as u64));
        content = zstd_frame(&content);
    } else {
        if u.ratio(1, 4)? {
            byte_order = ByteOrder::Big;
            content.chunks_mut(storage.width().into()).for_each(<[u8]>::reverse);
        }
        prefix = u.int_in_range(0..=6)?.max(3) - 3;
        let prefixed = [&[0xee; 3][..prefix], &content].concat();
        if prefix > 0 || u.ratio(1, 4)? {
            checksum = Some(CRC32.checksum(&prefixed));
        }
        if content.len() <= 255 && u.ratio(1, 4)? {
            (encoding, decoded_length) = (Encoding::Deflate, Some(content.len() as u64));
            // A deflate stream of a single stored block: a header of one byte, the size of the block, the complement of
            // the size, and the bytes (RFC 1951 §3.2.4).
            let length = u16::try_from(prefixed.len()).expect("a short block");
            let sizes = [length, !length].map(u16::to_le_bytes).concat();
            content = [&[1], &*sizes, &prefixed].concat();
        }
    }
    let gap = if u.ratio(1, 4)? { u.int_in_range(0..=8)? } else { 0 };
    calls.file.resize(calls.file.len() + gap, 0xaa);
    if encoding == Encoding::Raw {
        calls.file.extend(&[0xee; 3][..prefix]);
    }
    let offset = calls.length();
    calls.file.extend(content);
    Ok(Component {
        role: role.to_owned(),
        offset,
        stored_length: calls.length() - offset,
        decoded_length,
        storage,
        logical,
        byte_order,
        encoding,
        column_major: false,
        strides: None,
        negation: Negation::default(),
        prefix: prefix as u64,
        checksum,
    })
}

/// Changes one of the calls in some way that is usually wrong. The result may still be valid.
fn mistake(u: &mut Unstructured<'_>, calls: &mut Calls) -> Result<()> {
    let length = calls.length();
    match u.int_in_range(0..=15)? {
        0 => calls.header = any(u, length)?..any(u, length)?,
        1 => calls.options = OpenOptions::default().limits(small(u)?),
        2 => calls.file.truncate(u.int_in_range(0..=calls.file.len())?),
        3 => {
            let at = u.int_in_range(0..=calls.file.len().max(1) - 1)?;
            let byte = u.arbitrary()?;
            calls.file.iter_mut().skip(at).take(1).for_each(|there| *there = byte);
        }
        choice => {
            let Some(last) = calls.steps.len().checked_sub(1) else { return Ok(()) };
            let at = u.int_in_range(0..=last)?;
            let Step::Object(object) = &mut calls.steps[at] else { return Ok(()) };
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

fn of_object(u: &mut Unstructured<'_>, object: &mut BuiltObject) -> Result<()> {
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
                Layout::Dense,
                Layout::SparseCsr,
                Layout::SparseCoo,
                Layout::Unknown,
                Layout::QuantizedGroup,
                Layout::Mx,
                Layout::QuantGroup,
                Layout::GgufBlocks,
            ])?;
        }
        // Attributes of 61 to 67 nested levels: a map, and arrays in it. The limit `depth` is 64 levels by default.
        _ => {
            let levels = u.int_in_range(60..=66)?;
            object.attributes = Some([&b"\xa1\x61a"[..], &vec![0x81; levels], &[0]].concat());
        }
    }
    Ok(())
}

fn of_component(u: &mut Unstructured<'_>, component: &mut Component, length: u64) -> Result<()> {
    match u.int_in_range(0..=14)? {
        14 => component.negation = Negation { real: u.arbitrary()?, imaginary: u.arbitrary()? },
        13 => {
            let rank = u.int_in_range(0..=3)?;
            let strides = (0..rank).map(|_| u.int_in_range(0..=6)).collect::<Result<_>>()?;
            component.strides = Some(strides);
        }
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

/// Generates an offset or a size for a file of `length` bytes: an edge case, a number next to `length`, a number below it, or any
/// number.
fn any(u: &mut Unstructured<'_>, length: u64) -> Result<u64> {
    Ok(match u.int_in_range(0..=3)? {
        0 => *u.choose(&EDGES)?,
        1 => length.wrapping_add(u.int_in_range(0..=2)?).wrapping_sub(1),
        2 => u.arbitrary::<u64>()? >> u.int_in_range(0..=63)?,
        _ => u.int_in_range(0..=length)?,
    })
}

/// Returns limits of which one is so small that generated calls may exceed it.
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
