//! Files that are opened as archives.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use zten::attributes::Attributes;
use zten::element::ByteOrder;
use zten::{ElementType, Encoding, Limits, Object, Options, ReadAt, ReadError};

use super::batter::Content;
use super::{Kind, Read};
use crate::cbor::Map;
use crate::{Block, Trouble, open_bytes, open_source};

/// Bytes that note which ranges are read.
#[derive(Debug)]
pub(super) struct Noted<'b> {
    bytes: &'b [u8],
    pub(super) ranges: RefCell<Vec<(u64, u64)>>,
}

impl<'b> Noted<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, ranges: RefCell::default() }
    }
}

impl ReadAt for Noted<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = offset + u64::try_from(buffer.len()).unwrap();
        self.ranges.borrow_mut().push((offset, end));
        let range = usize::try_from(offset).unwrap()..usize::try_from(end).unwrap();
        buffer.copy_from_slice(self.bytes.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// Opens a file in both ways, which agree, and reads all of it: its metadata, as CBOR, and its tensors.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Content, Trouble> {
    let options = Options::default();
    let length = u64::try_from(bytes.len()).unwrap();
    let source = open_source(Noted::new(bytes), length, Path::new(name), &options);
    let (source, archive) = match (source, open_bytes(bytes, &options)) {
        (Ok(source), Ok(archive)) => {
            // The file has the name of its array.
            let is_named = archive.file_format() != ".npy";
            let listed = |objects: Vec<Object<'_>>| {
                let facts = |object| {
                    let (name, facts) = facts(object);
                    (is_named.then_some(name), facts)
                };
                format!("{:?}", objects.iter().map(facts).collect::<Vec<_>>())
            };
            assert_eq!(listed(archive.objects().collect()), listed(source.objects().collect()));
            (source, archive)
        }
        // Bytes have no name that could tell the format.
        (Err(one), Err(other)) => {
            let id = |trouble: &Trouble| trouble.finding().row.map(|row| row.id);
            let is_unknown = id(&other).is_some_and(|id| id.starts_with("format-"));
            assert!(is_unknown || one.to_string() == other.to_string(), "{one}; {other}");
            return Err(one);
        }
        (one, other) => panic!("{:?} and {:?}", one.err(), other.err()),
    };
    assert!(["safetensors", "GGUF", ".npy", ".npz"].contains(&archive.file_format()));
    assert_eq!(archive.generation(), None);
    let mut tensors = Vec::new();
    for (object, borrowed) in source.objects().zip(archive.objects()) {
        assert_eq!(source.require(object.name()).unwrap().ordinal(), object.ordinal());
        tensors.push(tensor(&object, &borrowed, bytes)?);
    }
    Ok((metadata(archive.attributes())?, tensors))
}

/// Metadata in deterministic order.
pub(super) fn metadata(attributes: Option<Attributes<'_>>) -> Result<Vec<u8>, Trouble> {
    let mut map = Map::default();
    for (key, value) in attributes.into_iter().flatten() {
        map.put(key, |out| {
            out.raw(value.as_bytes())?;
            Ok(())
        })?;
    }
    map.finish(Trouble::internal)
}

/// The facts of a tensor that come from the header: its name, and the others.
pub(super) fn facts(object: &Object<'_>) -> (String, (Vec<u64>, Kind, std::ops::Range<u64>)) {
    let data = object.component("data").unwrap();
    let kind = match data.element_type() {
        ElementType::Plain(storage) => Kind::Plain(storage),
        ElementType::Logical(logical) => Kind::Logical(logical),
        other => panic!("{other:?}"),
    };
    (object.name().to_owned(), (object.shape().to_vec(), kind, data.extent().range()))
}

/// A tensor with its bytes, which both archives agree on.
fn tensor(object: &Object<'_>, borrowed: &Object<'_>, file: &[u8]) -> Result<Read, Trouble> {
    let (name, (shape, kind, range)) = facts(object);
    let component = object.component("data").unwrap();
    let is_raw = component.encoding() == Encoding::Raw && !component.is_column_major();
    let bytes = match component.read_to_vec(Noted::new(file), &Limits::default()) {
        // What is wrong with a bool shows only in what is verified.
        Err(ReadError::Refused(error)) if is_raw && error.id() == Some("tensor-bool-value") => {
            let place = |at| usize::try_from(at).unwrap();
            file[place(range.start)..place(range.end)].to_vec()
        }
        read => read?,
    };
    let length = u64::try_from(bytes.len()).unwrap();
    if let Some(block) = Block::of(object) {
        assert_eq!(block.bytes_of(&shape), Some(length));
        let attributes = object.attributes().unwrap();
        let ggml_type = attributes.clone().find(|(key, _)| *key == "ggml_type").unwrap().1;
        assert_eq!((attributes.count(), ggml_type.get::<&str>().unwrap()), (3, block.name));
        return Ok((name, shape, kind, bytes));
    }
    assert_eq!(kind.bytes(&shape), Some(length));
    let view = borrowed.dense().unwrap().view();
    assert_eq!(view.is_ok(), is_raw);
    if is_raw && component.byte_order() == ByteOrder::Little {
        assert_eq!(view.unwrap().as_bytes(), bytes);
    }
    Ok((name, shape, kind, bytes))
}
