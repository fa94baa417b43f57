//! A small CBOR builder that can also write invalid CBOR.
//!
//! A manifest is a tree of [`Item`]s. Cases change the tree by path, and put a [`marked`] item where the error is expected. The
//! encoder reports the offset of the mark and the way to it.

/// The encoding of the head of a map or array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The right count in its shortest encoding.
    Shortest,
    /// The right count in eight bytes, which is valid CBOR but not its shortest encoding.
    Wide,
    /// An indefinite length, with a break at the end.
    Indefinite,
    /// A count that differs from the number of entries.
    Claim(u64),
}

/// A CBOR item, or bytes in place of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// Bytes as they are: a scalar, a string, or invalid CBOR.
    Raw(Vec<u8>),
    /// An array: the encoding of its head, and its items.
    Array(Head, Vec<Item>),
    /// A map.
    Map(Head, Vec<(Item, Item)>),
    /// Bytes before an item, such as the head of a tag.
    Prefixed(Vec<u8>, Box<Item>),
    /// An item after whose start, at this number of bytes, the error is expected.
    Marked(usize, Box<Item>),
    /// An item after which the manifest ends, whatever would follow.
    Last(Box<Item>),
}

/// A step from an item to one of its children.
#[derive(Clone, Debug)]
pub struct Step {
    /// The ordinal of the child.
    pub index: usize,
    /// The encoded key, if the item is a map.
    pub key: Vec<u8>,
}

/// The offset of a mark, and the way to it from the root.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The offset from the start of the manifest.
    pub offset: usize,
    /// The steps from the root to the item. The root itself has no step.
    pub path: Vec<Step>,
}

/// The result of encoding an [`Item`].
#[derive(Debug, Default)]
pub struct Encoded {
    /// The encoded bytes.
    pub bytes: Vec<u8>,
    /// The mark, if the tree has one.
    pub mark: Option<Mark>,
    path: Vec<Step>,
    ended: bool,
}

/// Appends a head whose value takes 0, 1, 2, 4 or 8 bytes after the first byte: `width` is 0 to 4.
pub fn push_head_of(out: &mut Vec<u8>, width: u8, major: u8, value: u64) {
    let be = value.to_be_bytes();
    if width == 0 {
        out.push(major << 5 | be[7]);
    } else {
        out.push(major << 5 | (23 + width));
        out.extend_from_slice(&be[8 - (1 << (width - 1))..]);
    }
}

/// Returns the smallest `width` of a head with this value.
pub fn head_width(value: u64) -> u8 {
    match value {
        0..24 => 0,
        24..0x100 => 1,
        0x100..0x1_0000 => 2,
        0x1_0000..0x1_0000_0000 => 3,
        _ => 4,
    }
}

/// Adds a head in its shortest form.
pub fn push_head(out: &mut Vec<u8>, major: u8, value: u64) {
    push_head_of(out, head_width(value), major, value);
}

/// Appends a text string to `out`, with the shortest head.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    push_head(out, 3, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Returns a head in its shortest form.
pub fn head(major: u8, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_head(&mut out, major, value);
    out
}

/// Returns a head whose value takes eight bytes, needed or not.
pub fn wide_head(major: u8, value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    push_head_of(&mut out, 4, major, value);
    out
}

/// Returns an item that is encoded as exactly these bytes.
pub fn raw(bytes: &[u8]) -> Item {
    Item::Raw(bytes.to_vec())
}

/// Returns an unsigned integer as a CBOR item.
pub fn uint(value: u64) -> Item {
    Item::Raw(head(0, value))
}

/// Returns a text string of bytes that need not be UTF-8.
pub fn text_of(bytes: &[u8]) -> Item {
    Item::Raw([&head(3, bytes.len() as u64), bytes].concat())
}

/// Returns a text string as a CBOR item.
pub fn text(value: &str) -> Item {
    text_of(value.as_bytes())
}

/// Returns a text string whose length takes eight bytes.
pub fn wide_text(value: &str) -> Item {
    Item::Raw([&wide_head(3, value.len() as u64), value.as_bytes()].concat())
}

/// Returns a byte string as a CBOR item.
pub fn bytes(value: &[u8]) -> Item {
    Item::Raw([&head(2, value.len() as u64), value].concat())
}

/// Returns a string of indefinite length: `major` is 2 for bytes and 3 for text.
pub fn chunked(major: u8, chunks: &[&[u8]]) -> Item {
    let mut out = vec![major << 5 | 31];
    for chunk in chunks {
        out.extend(head(major, chunk.len() as u64));
        out.extend_from_slice(chunk);
    }
    out.push(0xff);
    Item::Raw(out)
}

/// Returns an array of `items`, whose head gives the right count in its shortest encoding.
pub fn array(items: Vec<Item>) -> Item {
    Item::Array(Head::Shortest, items)
}

/// Returns an array of unsigned integers.
pub fn uints(values: &[u64]) -> Item {
    array(values.iter().map(|&value| uint(value)).collect())
}

/// Returns a map of `pairs` in the given order, whose head gives the right count in its shortest encoding.
pub fn map(pairs: Vec<(Item, Item)>) -> Item {
    Item::Map(Head::Shortest, pairs)
}

/// Sorts the entries of a map by the bytes of their keys, as deterministic CBOR does.
pub fn sort(pairs: &mut [(Item, Item)]) {
    pairs.sort_by_key(|(key, _)| key.encode().bytes);
}

/// Returns a map whose keys are sorted.
pub fn sorted_map(mut pairs: Vec<(Item, Item)>) -> Item {
    sort(&mut pairs);
    map(pairs)
}

/// Returns a map with text keys in the order in which they are given.
pub fn fields<const N: usize>(pairs: [(&str, Item); N]) -> Item {
    keyed(pairs)
}

/// Returns a map with text keys, as [`fields`] does, of any number of pairs.
pub fn keyed(pairs: impl IntoIterator<Item = (impl AsRef<str>, Item)>) -> Item {
    map(pairs.into_iter().map(|(key, value)| (text(key.as_ref()), value)).collect())
}

/// Returns an item with a tag before it.
pub fn tag(number: u64, item: Item) -> Item {
    Item::Prefixed(head(6, number), Box::new(item))
}

/// Returns the item with the error expected at its initial byte.
pub fn marked(item: Item) -> Item {
    marked_at(0, item)
}

/// Returns the item with the error expected `skip` bytes after its start.
pub fn marked_at(skip: usize, item: Item) -> Item {
    Item::Marked(skip, Box::new(item))
}

/// Returns the item as the last one of the manifest: nothing after it is encoded.
pub fn last(item: Item) -> Item {
    Item::Last(Box::new(item))
}

/// Returns `depth` levels around `inner`. Each level is opened by `open` and closed by `close`.
pub fn nested(depth: usize, open: &[u8], inner: &[u8], close: &[u8]) -> Item {
    Item::Raw([open.repeat(depth), inner.to_vec(), close.repeat(depth)].concat())
}

impl Item {
    /// Encodes the tree. Returns its bytes and its mark.
    pub fn encode(&self) -> Encoded {
        let mut out = Encoded::default();
        self.write(&mut out);
        out
    }

    /// Returns the item at `path`: keys of maps, or `#n` for entry number n, joined by `/`.
    ///
    /// Marks and prefixes on the way are skipped, but not those of the last item.
    pub fn find(&mut self, path: &str) -> &mut Self {
        path.split('/').filter(|step| !step.is_empty()).fold(self, |item, step| {
            let index = item.bare().position(step);
            let index = index.unwrap_or_else(|| panic!("the manifest has no `{path}`"));
            match item.bare() {
                Self::Array(_, items) => &mut items[index],
                Self::Map(_, pairs) => &mut pairs[index].1,
                _ => unreachable!("it has a position"),
            }
        })
    }

    /// Returns the pairs of the map at `path`. Panics if another item is there.
    pub fn pairs(&mut self, path: &str) -> &mut Vec<(Self, Self)> {
        match self.find(path).bare() {
            Self::Map(_, pairs) => pairs,
            _ => panic!("`{path}` is not a map"),
        }
    }

    /// Returns the head of the map or array at `path`.
    pub fn head_mut(&mut self, path: &str) -> &mut Head {
        match self.find(path).bare() {
            Self::Map(head, _) | Self::Array(head, _) => head,
            _ => panic!("`{path}` is neither map nor array"),
        }
    }

    /// Returns the ordinal of an entry, given by its key or as `#n`. Returns `None` if the item is not a map with this key. An
    /// ordinal `#n` need not exist.
    pub fn position(&self, step: &str) -> Option<usize> {
        if let Some(index) = step.strip_prefix('#') {
            return index.parse().ok();
        }
        match self {
            Self::Map(_, pairs) => pairs.iter().position(|(key, _)| *key == text(step)),
            _ => None,
        }
    }

    /// Returns the item without marks and prefixes.
    fn bare(&mut self) -> &mut Self {
        match self {
            Self::Prefixed(_, item) | Self::Marked(_, item) | Self::Last(item) => item.bare(),
            item => item,
        }
    }

    fn write(&self, out: &mut Encoded) {
        if out.ended {
            return;
        }
        match self {
            Self::Raw(bytes) => out.bytes.extend_from_slice(bytes),
            Self::Array(head, items) => {
                out.open(*head, 4, items.len());
                for (index, item) in items.iter().enumerate() {
                    out.path.push(Step { index, key: Vec::new() });
                    item.write(out);
                    out.path.pop();
                }
                out.close(*head);
            }
            Self::Map(head, pairs) => {
                out.open(*head, 5, pairs.len());
                for (index, (key, value)) in pairs.iter().enumerate() {
                    out.path.push(Step { index, key: key.encode().bytes });
                    key.write(out);
                    value.write(out);
                    out.path.pop();
                }
                out.close(*head);
            }
            Self::Prefixed(prefix, item) => {
                out.bytes.extend_from_slice(prefix);
                item.write(out);
            }
            Self::Marked(skip, item) => {
                assert!(out.mark.is_none(), "one file, one mark");
                let offset = out.bytes.len() + skip;
                out.mark = Some(Mark { offset, path: out.path.clone() });
                item.write(out);
            }
            Self::Last(item) => {
                item.write(out);
                out.ended = true;
            }
        }
    }
}

impl Encoded {
    fn open(&mut self, style: Head, major: u8, count: usize) {
        let bytes = match style {
            Head::Shortest => head(major, count as u64),
            Head::Wide => wide_head(major, count as u64),
            Head::Indefinite => vec![major << 5 | 31],
            Head::Claim(claim) => head(major, claim),
        };
        self.bytes.extend(bytes);
    }

    fn close(&mut self, style: Head) {
        if style == Head::Indefinite && !self.ended {
            self.bytes.push(0xff);
        }
    }
}
