//! Assembles a file of generation 2, each part of which a case can make invalid.

mod samples;

pub use samples::{
    coo, csr, dense, encoded, file, frame, full, gguf, mx, nested, object, part, quant_group,
    sharded, table, typed, words,
};

use twox_hash::XxHash3_64;

use crate::cbor::{Item, marked, sort, text};
use crate::file::{Built, MAGIC_V2, edits, expand, place_below};

/// The location of the expected error of a file.
#[derive(Clone, Copy, Debug)]
enum Spot {
    /// The place that is marked in the manifest.
    Mark,
    /// A place this many bytes before the end of the file.
    End(usize),
    /// The byte at this offset of the file.
    At(usize),
    /// The byte at this offset, which is between blobs. The error is found when content is read.
    Padding(usize),
    /// A byte of the data: its offset (`None` if it is not in the file), and the ordinals of the object and its part.
    Data(Option<usize>, usize, usize),
}

/// A file of generation 2 that is built by changing a valid one.
#[derive(Clone, Debug)]
pub struct FileV2 {
    header: Vec<u8>,
    blobs: Vec<(usize, Vec<u8>)>,
    manifest: Item,
    after: Vec<u8>,
    start: usize,
    footer: Footer,
    keep: Option<usize>,
    spot: Spot,
}

/// Values that replace the correct ones in the footer.
#[derive(Clone, Debug, Default)]
struct Footer {
    offset: Option<u64>,
    length: Option<u64>,
    hash: Option<u64>,
    version: Option<u32>,
    reserved: u32,
    magic: Option<Vec<u8>>,
    shard: bool,
}

/// Rules that are checked before any object. Their errors name no object.
const WHOLE: &[&str] = &[
    "cbor-truncated",
    "cbor-count",
    "cbor-reserved",
    "cbor-simple",
    "cbor-break",
    "cbor-utf8",
    "cbor-shortest",
    "cbor-indefinite",
    "cbor-float",
    "cbor-tag",
    "cbor-value",
    "cbor-depth",
    "key-order",
    "duplicate-key",
];

edits!(FileV2, "parts", |pairs: &mut Vec<_>| sort(pairs));

impl FileV2 {
    /// Returns a file with `manifest`, which begins at offset 8192, and without blobs.
    pub fn new(manifest: Item) -> Self {
        Self {
            header: MAGIC_V2.to_vec(),
            blobs: Vec::new(),
            manifest,
            after: Vec::new(),
            start: 8192,
            footer: Footer::default(),
            keep: None,
            spot: Spot::Mark,
        }
    }

    /// Returns a data shard: a file that may have blobs and has no manifest.
    pub fn shard() -> Self {
        let mut file = Self::new(crate::cbor::raw(&[]));
        (file.footer.shard, file.start) = (true, 8);
        file
    }

    /// Replaces the magic at the start of the file, and expects the error there.
    pub fn header(mut self, bytes: &[u8]) -> Self {
        (self.header, self.spot) = (bytes.to_vec(), Spot::At(0));
        self
    }

    /// Adds a blob with the content `bytes` at `offset`.
    pub fn blob(mut self, offset: usize, bytes: &[u8]) -> Self {
        self.blobs.push((offset, bytes.to_vec()));
        self
    }

    /// Begins the manifest at `offset`, which must not be before the end of a blob.
    pub fn start(mut self, offset: usize) -> Self {
        self.start = offset;
        self
    }

    /// Adds bytes after the CBOR item, which count as part of the manifest, and expects the error there.
    pub fn after_item(mut self, bytes: &[u8]) -> Self {
        let length = self.manifest.encode().bytes.len();
        (self.after, self.spot) = (bytes.to_vec(), Spot::At(self.start + length));
        self
    }

    /// Sets the offset of the manifest in the footer, and expects the error there.
    pub fn manifest_offset(mut self, offset: u64) -> Self {
        (self.footer.offset, self.spot) = (Some(offset), Spot::End(40));
        self
    }

    /// Sets the length of the manifest in the footer, and expects the error there.
    pub fn manifest_length(mut self, length: u64) -> Self {
        (self.footer.length, self.spot) = (Some(length), Spot::End(32));
        self
    }

    /// Sets the hash of the manifest in the footer, and expects the error at the manifest.
    pub fn hash(mut self, hash: u64) -> Self {
        (self.footer.hash, self.spot) = (Some(hash), Spot::At(self.start));
        self
    }

    /// Sets the version in the footer, and expects the error there.
    pub fn version(mut self, version: u32) -> Self {
        (self.footer.version, self.spot) = (Some(version), Spot::End(16));
        self
    }

    /// Sets the reserved field of the footer.
    pub fn reserved(mut self, reserved: u32) -> Self {
        self.footer.reserved = reserved;
        self
    }

    /// Replaces the magic of the footer, and expects the error there.
    pub fn footer_magic(mut self, magic: &[u8]) -> Self {
        (self.footer.magic, self.spot) = (Some(magic.to_vec()), Spot::End(8));
        self
    }

    /// Keeps only the first `length` bytes, and expects the error at the end.
    pub fn keep(mut self, length: usize) -> Self {
        (self.keep, self.spot) = (Some(length), Spot::End(0));
        self
    }

    /// Expects the error `bytes` bytes before the end.
    pub fn at_end(mut self, bytes: usize) -> Self {
        self.spot = Spot::End(bytes);
        self
    }

    /// Expects the error at the byte at `offset`, which is data of part number `part` of object number `object`.
    pub fn at_data(mut self, offset: usize, object: usize, part: usize) -> Self {
        self.spot = Spot::Data(Some(offset), object, part);
        self
    }

    /// Expects the error at the length of the part `data` of `w`.
    pub fn mark_length(self) -> Self {
        self.mark_length_of("w:data")
    }

    /// Expects the error at the length of `part`.
    pub fn mark_length_of(self, part: &str) -> Self {
        self.mark(&format!("{part}/blob/#1"))
    }

    /// Expects the error at the offset of the part `data` of `object`.
    pub fn mark_offset(self, object: &str) -> Self {
        self.mark(&format!("{object}:data/blob/#0"))
    }

    /// Replaces the pairs of the map at `path`, in the given order.
    pub fn pairs(mut self, path: &str, pairs: Vec<(Item, Item)>) -> Self {
        *self.manifest.pairs(&expand(path, "parts")) = pairs;
        self
    }

    /// Expects the error at the first byte of the manifest.
    pub fn at_manifest(mut self) -> Self {
        self.spot = Spot::At(self.start);
        self
    }

    /// Expects the error at the byte at `offset`, which is between blobs.
    pub fn at_padding(mut self, offset: usize) -> Self {
        self.spot = Spot::Padding(offset);
        self
    }

    /// Returns the bytes of a valid file.
    pub fn bytes(&self) -> Vec<u8> {
        self.build("").bytes
    }

    /// Assembles the file. Returns its bytes, and the location where it breaks `rule`.
    pub(crate) fn build(&self, rule: &str) -> Built {
        let mut bytes = self.header.clone();
        for (offset, data) in &self.blobs {
            let end = offset + data.len();
            bytes.resize(end.max(bytes.len()), 0);
            bytes[*offset..end].copy_from_slice(data);
        }
        bytes.resize(self.start.max(bytes.len()), 0);
        let start = bytes.len();
        assert!(self.footer.shard || start == self.start, "the manifest lies behind the blobs");
        let encoded = self.manifest.encode();
        bytes.extend(&encoded.bytes);
        bytes.extend(&self.after);
        let footer = &self.footer;
        let own = |value: u64| if footer.shard { 0 } else { value };
        let (manifest, length) = (&bytes[start..], (bytes.len() - start) as u64);
        let hash = footer.hash.unwrap_or(own(XxHash3_64::oneshot(manifest)));
        bytes.extend(footer.offset.unwrap_or(own(start as u64)).to_le_bytes());
        bytes.extend(footer.length.unwrap_or(own(length)).to_le_bytes());
        bytes.extend(hash.to_le_bytes());
        bytes.extend(footer.version.unwrap_or(2).to_le_bytes());
        bytes.extend(footer.reserved.to_le_bytes());
        bytes.extend(footer.magic.as_deref().unwrap_or(MAGIC_V2));
        bytes.truncate(self.keep.unwrap_or(bytes.len()));
        let (offset, (object, component)) = match (self.spot, &encoded.mark) {
            (Spot::End(before), None) => (Some(bytes.len() - before), (None, None)),
            (Spot::At(at) | Spot::Padding(at), None) => (Some(at), (None, None)),
            (Spot::Data(at, object, part), None) => (at, (Some(object), Some(part))),
            (Spot::Mark, Some(mark)) if WHOLE.contains(&rule) => {
                (Some(start + mark.offset), (None, None))
            }
            (Spot::Mark, Some(mark)) => (Some(start + mark.offset), place_below(mark, "parts")),
            (Spot::Mark, None) => (None, (None, None)),
            _ => panic!("one file, one expected error"),
        };
        let in_content = matches!(self.spot, Spot::Data(..) | Spot::Padding(_));
        Built { bytes, offset, object, component, in_content }
    }
}

/// Returns the footer of a file whose manifest is at `offset`.
pub fn footer(manifest: &[u8], offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in [offset, manifest.len() as u64, XxHash3_64::oneshot(manifest)] {
        bytes.extend(number.to_le_bytes());
    }
    bytes.extend(2_u64.to_le_bytes());
    bytes.extend(MAGIC_V2);
    bytes
}
