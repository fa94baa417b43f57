//! The oracle that generates files of generation 2 by the grammar of the specification (v2 §2 to §8), without the
//! writer of the library. A fuzzer alone would never find the hash of a manifest, or keys in order.

mod objects;
mod values;

use crate::hex;
use crate::objects::ObjectComponent;
use arbitrary::{Result, Unstructured};
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;
use zten::element::{LogicalType, StorageType};
use zten::verify::Verifier;
use zten_corpus::cbor::{Item, fields, sorted_map, text, uint, uints};
use zten_corpus::v2::{FileV2, frame, table};

use self::objects::GrammarObject;
use super::damage::{Broken, Damage};
use super::{open, options, steps};

/// The largest number of objects of a file.
const OBJECTS: u8 = 4;
/// The largest number of changes that are made to a file one after another.
const DAMAGES: u8 = 4;
/// The alignment of blobs in bytes.
const BLOCK: usize = 4096;

/// How many objects were generated, and how many damaged files were opened, to show that a test reaches all cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grown {
    /// The number of objects in the generated file.
    pub objects: usize,
    /// The number of damaged copies of the file, each with one change more than the one before.
    pub damaged: usize,
    /// The number of damaged copies that still open.
    pub opened: usize,
}

/// Generates a file of generation 2 from `bytes`, and damaged forms of it. The file must be valid, and all of them must
/// keep the promises of [`open`] and [`steps`].
///
/// # Panics
/// Panics if a promise does not hold.
pub fn grammar(bytes: &[u8]) -> Grown {
    let mut u = Unstructured::new(bytes);
    let (file, objects) = file(&mut u).expect("zeros follow");
    valid(&file, objects);
    assert!(open(&file), "what is valid opens");
    let mut grown = Grown { objects, ..Grown::default() };
    let mut broken = Broken::parse(&file);
    for _ in 0..u.int_in_range(0..=DAMAGES).expect("zeros follow") {
        let damage: Damage = u.arbitrary().expect("zeros follow");
        broken.suffer(&damage);
        let file = broken.file();
        grown.damaged += 1;
        grown.opened += usize::from(open(&file));
        steps(&file, &[u.arbitrary().expect("zeros follow"), 1, 200]);
    }
    grown
}

/// Checks that the file has `objects` objects, and is valid except for the unsupported features that were generated
/// on purpose.
fn valid(file: &[u8], objects: usize) {
    let archive = options().from_bytes(file).unwrap_or_else(|error| panic!("rejected: {error}"));
    assert_eq!(archive.len(), objects);
    let mut verifier = Verifier::new(archive.manifest());
    for object in archive.tensors() {
        if let Err(error) = verifier.object(&object, |_, _| ()) {
            assert!(error.is_unsupported(), "invalid: {error}");
        }
    }
}

/// Generates a file. Returns its bytes and the number of its objects.
fn file(u: &mut Unstructured<'_>) -> Result<(Vec<u8>, usize)> {
    let mut data = Vec::new();
    let (mut objects, mut names) = (Vec::new(), Vec::new());
    for ordinal in 0..u.int_in_range(0..=OBJECTS)? {
        names.push(values::name(u, ordinal)?);
    }
    let has_shard = u.ratio(1, 8)?;
    let (mut in_shard, mut shared) = (has_shard.then_some(4096), None);
    for name in &names {
        let GrammarObject { layout, shape, attributes, parts, logical } = objects::object(u)?;
        let mut all = Vec::new();
        for part in parts {
            let role = text(part.role);
            all.push((
                role,
                stored(
                    u,
                    (&part, logical),
                    Placing { data: &mut data, shared: &mut shared, in_shard: &mut in_shard },
                )?,
            ));
        }
        let mut object = vec![
            (text("parts"), sorted_map(all)),
            (text("shape"), uints(&shape)),
            (text("layout"), text(&layout)),
        ];
        let attributes = attributes.map_or_else(|| values::attributes(u), |own| Ok(Some(own)))?;
        object.extend(attributes.map(|attributes| (text("attributes"), attributes)));
        object.extend(values::unknown(u)?);
        objects.push((text(name), sorted_map(object)));
    }
    let count = objects.len();
    let mut root = vec![(text("objects"), sorted_map(objects))];
    root.extend(values::attributes(u)?.map(|attributes| (text("attributes"), attributes)));
    if has_shard {
        let listed = fields([("size", uint(1 << 20)), ("digest", text("xxh3:0123456789abcdef"))]);
        root.push((text("shards"), fields([("s", listed)])));
    }
    root.extend(values::unknown(u)?);
    let start = (1 + data.len().div_ceil(BLOCK)) * BLOCK;
    let file = FileV2::new(sorted_map(root)).blob(BLOCK, &data).start(start);
    Ok((file.bytes(), count))
}

/// Where the blob of a component can be placed: in the file, on the last blob, or in the shard.
struct Placing<'d> {
    /// The bytes of all blobs so far.
    data: &'d mut Vec<u8>,
    /// The offset and the bytes of the last blob, which another component with the same bytes may share.
    shared: &'d mut Option<(u64, Vec<u8>)>,
    /// The offset of the next blob in the shard, if the file has a shard.
    in_shard: &'d mut Option<u64>,
}

/// Places the blob of the component `part`, compressed or not, and returns the CBOR map that describes the component.
/// `unknown_type` replaces its logical type.
fn stored(
    u: &mut Unstructured<'_>,
    (part, unknown_type): (&ObjectComponent, Option<&'static str>),
    placing: Placing<'_>,
) -> Result<Item> {
    let compressed = u.ratio(1, 4)?;
    let bytes = if compressed { compress(u, &part.content)? } else { part.content.clone() };
    // In generation 2, bools are a logical type on bytes.
    let (dtype, logical) = match part.of.storage {
        StorageType::Bool => ("u8", Some("bool")),
        storage => (storage.name(), part.of.logical.map(LogicalType::name)),
    };
    let mut fields = vec![(text("dtype"), text(dtype))];
    fields.extend(unknown_type.or(logical).map(|logical| (text("type"), text(logical))));
    if compressed {
        let unknown = u.ratio(1, 16)?;
        let name = if unknown { "mine.coding/1" } else { "zt.zstd-seekable/1" };
        fields.push((text("encoding"), text(name)));
        fields.push((text("decoded_length"), uint(part.content.len() as u64)));
    }
    let digest = match u.int_in_range(0..=7)? {
        0..3 => None,
        3..6 => Some(format!("xxh3:{:016x}", XxHash3_64::oneshot(&part.content))),
        6 => Some(format!("sha256:{}", hex(&Sha256::digest(&part.content)))),
        _ => Some("mine:0".to_owned()),
    };
    fields.extend(digest.map(|digest| (text("digest"), text(&digest))));
    fields.extend(values::unknown(u)?);
    let Placing { data, shared, in_shard } = placing;
    let mut offset = None;
    if let Some(next) = in_shard
        && u.ratio(1, 4)?
    {
        fields.push((text("shard"), text("s")));
        offset = Some(*next);
        *next += (bytes.len().next_multiple_of(BLOCK)) as u64;
    } else if let Some((at, blob)) = shared
        && *blob == bytes
        && u.arbitrary()?
    {
        offset = Some(*at);
    }
    let offset = offset.unwrap_or_else(|| {
        data.resize(data.len().next_multiple_of(BLOCK), u8::from(bytes.len() > 7));
        let at = (BLOCK + data.len()) as u64;
        data.extend(&bytes);
        *shared = Some((at, bytes.clone()));
        at
    });
    fields.push((text("blob"), uints(&[offset, bytes.len() as u64])));
    Ok(sorted_map(fields))
}

/// Encodes `content` as zstd frames of one raw block each, followed by a seek table.
fn compress(u: &mut Unstructured<'_>, content: &[u8]) -> Result<Vec<u8>> {
    let most = content.len().clamp(1, 255);
    let piece = u.int_in_range(1..=most)?.max(content.len() / 16).min(255);
    let frames: Vec<(Vec<u8>, usize)> =
        content.chunks(piece).map(|piece| (frame(piece), piece.len())).collect();
    let entries: Vec<(usize, usize)> =
        frames.iter().map(|(frame, decoded)| (frame.len(), *decoded)).collect();
    let mut bytes: Vec<u8> = frames.into_iter().flat_map(|(frame, _)| frame).collect();
    bytes.extend(table(&entries, u.int_in_range(0..=3)?));
    Ok(bytes)
}
