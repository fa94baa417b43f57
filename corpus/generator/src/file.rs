//! Assembles zTensor files of the generations 0.1 and 1.x from blobs, a manifest and a footer. A case of the corpus can make
//! each of the three invalid.

use crate::cbor::{Head, Item, Mark, marked, sort, text};

/// The first bytes of a 0.1 file.
pub const MAGIC_V0: &[u8; 8] = b"ZTEN0001";
/// The first and the last bytes of a 1.x file.
pub const MAGIC_V1: &[u8; 8] = b"ZTEN1000";
/// The first bytes of a version 2 container.
pub const MAGIC_V2: &[u8; 8] = b"\x89ZT2\r\n\x1a\n";

/// The value of the size field in the footer, which should be the length of the manifest.
#[derive(Clone, Copy, Debug)]
enum SizeField {
    /// The length of the manifest.
    Right,
    /// This number, whatever the length of the manifest is.
    Is(u64),
    /// The length of the file minus a number.
    FileMinus(usize),
}

/// The location of an expected error that is not marked in the manifest.
#[derive(Clone, Copy, Debug)]
enum Spot {
    /// The size field. The error names no object.
    SizeField,
    /// The last byte of the manifest. The error names no object.
    LastByte,
    /// The byte of the file with the error (`None` if it has no offset), and the ordinals of object and component.
    Data(Option<usize>, usize, usize),
    /// A byte between the blobs. The error names no object.
    Padding(usize),
}

/// A zTensor file of generation 0.1 or 1.x that is built by changing a valid one.
#[derive(Clone, Debug)]
pub struct File {
    header: Vec<u8>,
    blobs: Vec<(usize, Vec<u8>)>,
    start: Option<usize>,
    manifest: Item,
    after: Vec<u8>,
    size: SizeField,
    footer: Vec<u8>,
    tail: Vec<u8>,
    keep: Option<usize>,
    spot: Option<Spot>,
}

/// The bytes of a file, and the location of the expected error.
#[derive(Debug)]
pub struct Built {
    /// The bytes of the file.
    pub bytes: Vec<u8>,
    /// The offset in the file at which the error is expected, if the error has one.
    pub offset: Option<usize>,
    /// The ordinal in the manifest of the object that the error names, if it names one.
    pub object: Option<usize>,
    /// The ordinal in its object of the component that the error names, if it names one.
    pub component: Option<usize>,
    /// True if the error is found only when content is read.
    pub in_content: bool,
}

/// Defines methods that change a manifest. Paths are those of `Item::find`. `NAME:ROLE` is short for
/// `objects/NAME/…/ROLE`, and `NAME:` for `objects/NAME`.
macro_rules! edits {
    ($file:ty, $components:literal, $sort:expr) => {
        impl $file {
            /// Sets the value at `path`. A new field is added at the end of its map, or in generation 2 at its position in
            /// deterministic CBOR.
            pub fn set(mut self, path: &str, value: Item) -> Self {
                let path = $crate::file::expand(path, $components);
                let (parent, step) = path.rsplit_once('/').unwrap_or(("", &path));
                if path.is_empty() {
                    self.manifest = value;
                } else if self.manifest.find(parent).position(step).is_some() {
                    *self.manifest.find(&path) = value;
                } else {
                    let pairs = self.manifest.pairs(parent);
                    pairs.push((text(step), value));
                    $sort(pairs);
                }
                self
            }

            /// Sets the value at `path`, and expects the error at its initial byte.
            pub fn bad(self, path: &str, value: Item) -> Self {
                self.set(path, marked(value))
            }

            /// Expects the error at the value at `path`.
            pub fn mark(self, path: &str) -> Self {
                self.edit(path, marked)
            }

            /// Replaces the item at `path` by the result of `change`.
            pub fn edit(mut self, path: &str, change: impl FnOnce(Item) -> Item) -> Self {
                let item = self.manifest.find(&$crate::file::expand(path, $components));
                *item = change(item.clone());
                self
            }

            /// Removes the field at `path`.
            pub fn without(mut self, path: &str) -> Self {
                let path = $crate::file::expand(path, $components);
                let (parent, step) = path.rsplit_once('/').unwrap_or(("", &path));
                self.manifest.pairs(parent).retain(|(key, _)| *key != text(step));
                self
            }

            /// Removes the field at `path`, and expects the error at the map that then lacks it.
            pub fn lacks(self, path: &str) -> Self {
                let full = $crate::file::expand(path, $components);
                let (parent, _) = full.rsplit_once('/').unwrap_or(("", &full));
                self.without(path).mark(parent)
            }

            /// Adds a pair at the end of the map at `path`.
            pub fn push(mut self, path: &str, key: Item, value: Item) -> Self {
                self.manifest.pairs(&$crate::file::expand(path, $components)).push((key, value));
                self
            }
        }
    };
}
pub(crate) use edits;

edits!(File, "components", |_: &mut Vec<_>| ());

impl File {
    /// Returns a 1.x file with `manifest`, and without blobs.
    pub fn v1(manifest: Item) -> Self {
        Self {
            header: MAGIC_V1.to_vec(),
            blobs: Vec::new(),
            start: None,
            manifest,
            after: Vec::new(),
            size: SizeField::Right,
            footer: MAGIC_V1.to_vec(),
            tail: Vec::new(),
            keep: None,
            spot: None,
        }
    }

    /// Returns a 0.1 file with `manifest`, and without blobs.
    pub fn v0(manifest: Item) -> Self {
        Self::v1(manifest).header(MAGIC_V0).footer(b"")
    }

    // The methods from here on change the container: header, blobs and footer.

    /// Replaces the magic at the start of the file.
    pub fn header(mut self, bytes: &[u8]) -> Self {
        self.header = bytes.to_vec();
        self
    }

    /// Replaces the bytes after the size field.
    pub fn footer(mut self, bytes: &[u8]) -> Self {
        self.footer = bytes.to_vec();
        self
    }

    /// Adds a blob with the content `bytes` at `offset`.
    pub fn blob(mut self, offset: usize, bytes: &[u8]) -> Self {
        self.blobs.push((offset, bytes.to_vec()));
        self
    }

    /// Begins the manifest at `offset`, instead of where the last blob ends. `offset` must not be before this end.
    pub fn start(mut self, offset: usize) -> Self {
        self.start = Some(offset);
        self
    }

    /// Adds bytes after the CBOR item, which count as part of the manifest.
    pub fn after_item(mut self, bytes: &[u8]) -> Self {
        self.after = bytes.to_vec();
        self
    }

    /// Sets the size field to `size`.
    pub fn size(mut self, size: u64) -> Self {
        self.size = SizeField::Is(size);
        self
    }

    /// Sets the size field to the length of the file minus `less`.
    pub fn size_from_end(mut self, less: usize) -> Self {
        self.size = SizeField::FileMinus(less);
        self
    }

    /// Adds bytes after the end of the file.
    pub fn tail(mut self, bytes: &[u8]) -> Self {
        self.tail = bytes.to_vec();
        self
    }

    /// Keeps only the first `length` bytes of the file.
    pub fn keep(mut self, length: usize) -> Self {
        self.keep = Some(length);
        self
    }

    /// Expects the error at the size field.
    pub fn at_size_field(mut self) -> Self {
        self.spot = Some(Spot::SizeField);
        self
    }

    /// Expects the error at the last byte of the manifest.
    pub fn at_last_manifest_byte(mut self) -> Self {
        self.spot = Some(Spot::LastByte);
        self
    }

    /// Expects the error at the byte at `offset`, which is data of component number `component` of object number
    /// `object`.
    pub fn at_data(mut self, offset: usize, object: usize, component: usize) -> Self {
        self.spot = Some(Spot::Data(Some(offset), object, component));
        self
    }

    /// Expects the error in decoded data, which has no offset in the file.
    pub fn at_decoded(mut self, object: usize, component: usize) -> Self {
        self.spot = Some(Spot::Data(None, object, component));
        self
    }

    /// Expects the error at the byte at `offset`, which belongs to no blob.
    pub fn at_padding(mut self, offset: usize) -> Self {
        self.spot = Some(Spot::Padding(offset));
        self
    }

    /// Sets a value as [`Self::set`] does. A new field is added at its position in deterministic CBOR.
    pub fn put(self, path: &str, value: Item) -> Self {
        let full = expand(path, "components");
        let mut file = self.set(path, value);
        sort(file.manifest.pairs(full.rsplit_once('/').map_or("", |(parent, _)| parent)));
        file
    }

    /// Expects the error at the key at `path`.
    pub fn mark_key(mut self, path: &str) -> Self {
        let path = expand(path, "components");
        let (parent, step) = path.rsplit_once('/').unwrap_or(("", &path));
        let pairs = self.manifest.pairs(parent);
        let index = match step.strip_prefix('#') {
            Some(index) => index.parse().expect("a number after `#`"),
            None => pairs.iter().position(|(key, _)| *key == text(step)).expect("the key"),
        };
        pairs[index].0 = marked(pairs[index].0.clone());
        self
    }

    /// Returns the item at `path`, and drops the file.
    pub fn take(mut self, path: &str) -> Item {
        self.manifest.find(&expand(path, "components")).clone()
    }

    /// Adds a pair at the beginning of the map at `path`.
    pub fn push_front(mut self, path: &str, key: Item, value: Item) -> Self {
        self.manifest.pairs(&expand(path, "components")).insert(0, (key, value));
        self
    }

    /// Replaces the head of the map or array at `path`.
    pub fn head(mut self, path: &str, head: Head) -> Self {
        *self.manifest.head_mut(&expand(path, "components")) = head;
        self
    }

    // Assembling the file.

    /// Returns the number of bytes of the manifest.
    pub fn manifest_len(&self) -> usize {
        self.manifest.encode().bytes.len() + self.after.len()
    }

    /// Assembles the file. Returns its bytes, and the location where it breaks `rule`.
    pub fn build(&self, rule: &str) -> Built {
        let mut bytes = self.header.clone();
        for (offset, data) in &self.blobs {
            let end = offset + data.len();
            bytes.resize(end.max(bytes.len()), 0);
            bytes[*offset..end].copy_from_slice(data);
        }
        let start = self.start.unwrap_or(bytes.len());
        bytes.resize(start.max(bytes.len()), 0);
        let manifest = self.manifest.encode();
        let item_end = start + manifest.bytes.len();
        bytes.extend(&manifest.bytes);
        bytes.extend(&self.after);
        let manifest_len = bytes.len() - start;
        let size = match self.size {
            SizeField::Right => manifest_len as u64,
            SizeField::Is(size) => size,
            SizeField::FileMinus(less) => (bytes.len() + 8 + self.footer.len() - less) as u64,
        };
        bytes.extend(size.to_le_bytes());
        bytes.extend(&self.footer);
        bytes.extend(&self.tail);
        bytes.truncate(self.keep.unwrap_or(bytes.len()));

        let length = bytes.len();
        let is_v0 = self.header == MAGIC_V0;
        let size_field = if is_v0 { length.checked_sub(8) } else { length.checked_sub(16) };
        let (offset, (object, component)) = match (self.spot, manifest.mark) {
            (Some(Spot::SizeField), None) => (size_field, (None, None)),
            (Some(Spot::LastByte), None) => (Some(start + manifest_len - 1), (None, None)),
            (Some(Spot::Data(at, object, component)), None) => {
                (at, (Some(object), Some(component)))
            }
            (Some(Spot::Padding(at)), None) => (Some(at), (None, None)),
            (None, Some(mark)) => (Some(start + mark.offset), place(rule, is_v0, &mark)),
            (None, None) => (container_offset(rule, length, size_field, item_end), (None, None)),
            _ => panic!("one file, one expected error"),
        };
        Built {
            bytes,
            offset,
            object,
            component,
            in_content: matches!(self.spot, Some(Spot::Data(..) | Spot::Padding(_))),
        }
    }
}

/// Returns the offset that a rule of the container reports; `None` for other rules, or if the file is too short to have this
/// offset.
fn container_offset(
    rule: &str,
    length: usize,
    size_field: Option<usize>,
    item_end: usize,
) -> Option<usize> {
    match rule {
        "file-size" => Some(length),
        "header-magic" | "canonical-generation" => Some(0),
        "footer-magic" => length.checked_sub(8),
        "manifest-cap" | "manifest-bounds" | "limit-manifest" => size_field,
        "manifest-trailing" => Some(item_end),
        _ => None,
    }
}

/// The rules about a blob. A reader of 0.1 checks them when it has decoded the whole entry, so their errors name the component of
/// the entry, too.
const BLOB_RULES: &[&str] = &[
    "blob-alignment",
    "blob-header",
    "blob-bounds",
    "blob-overlap",
    "digest-form",
    "endianness-compressed",
    "whole-elements",
    "dense-size",
];

/// Rules about the manifest as a whole. Their errors name no object.
const WHOLE_RULES: &[&str] = &["canonical-generation", "canonical-cbor", "canonical-manifest"];

/// Returns the ordinals of the object and the component that contain a mark, if errors of `rule` name them.
fn place(rule: &str, is_v0: bool, mark: &Mark) -> (Option<usize>, Option<usize>) {
    if WHOLE_RULES.contains(&rule) {
        return (None, None);
    }
    if is_v0 {
        let object = mark.path.first().map(|step| step.index);
        return (object, object.filter(|_| BLOB_RULES.contains(&rule)).map(|_| 0));
    }
    place_below(mark, "components")
}

/// Returns the ordinal of the object that contains a mark, and the ordinal of the entry in its map `components` that contains it.
/// Each is `None` if the mark is outside.
pub(crate) fn place_below(mark: &Mark, components: &str) -> (Option<usize>, Option<usize>) {
    let path = mark.path.as_slice();
    let is = |index: usize, key: &str| {
        path.get(index).is_some_and(|step| Item::Raw(step.key.clone()) == text(key))
    };
    let object = path.get(1).filter(|_| is(0, "objects")).map(|step| step.index);
    (object, path.get(3).filter(|_| object.is_some() && is(2, components)).map(|step| step.index))
}

/// Expands `NAME:ROLE`, the short form of a path. `components` is the key of the map of components.
pub(crate) fn expand(path: &str, components: &str) -> String {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let full = match first.split_once(':') {
        None => return path.to_owned(),
        Some((name, "")) => format!("objects/{name}/{rest}"),
        Some((name, role)) => format!("objects/{name}/{components}/{role}/{rest}"),
    };
    full.trim_end_matches('/').to_owned()
}
