//! Files that are opened as archives.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use zten::attributes::Attributes;
use zten::{Archive, ElementType, Object, Options, ReadAt, StorageType};

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
    let archive = match (open_bytes(bytes, &options), source) {
        (Ok(archive), Ok(source)) => {
            let listed = |objects: Vec<Object<'_>>| {
                format!("{:?}", objects.iter().map(facts).collect::<Vec<_>>())
            };
            assert_eq!(listed(archive.objects().collect()), listed(source.objects().collect()));
            archive
        }
        // Bytes have no name that could tell the format.
        (Err(one), Err(other)) if !one.to_string().contains("none of") => {
            assert_eq!(one.to_string(), other.to_string());
            return Err(other);
        }
        (Err(_), Err(other)) => return Err(other),
        (one, other) => panic!("{:?} and {:?}", one.err(), other.err()),
    };
    assert!(["safetensors", "GGUF"].contains(&archive.file_format()));
    assert_eq!(archive.generation(), None);
    let tensors = archive.objects().map(|object| tensor(&archive, &object)).collect();
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

/// The facts of a tensor that come from the header.
pub(super) fn facts(object: &Object<'_>) -> (String, Vec<u64>, Kind, std::ops::Range<u64>) {
    let data = object.component("data").unwrap();
    let kind = match data.element_type() {
        ElementType::Plain(storage) => Kind::Plain(storage),
        ElementType::Logical(logical) => Kind::Logical(logical),
        other => panic!("{other:?}"),
    };
    (object.name().to_owned(), object.shape().to_vec(), kind, data.extent().range())
}

/// A tensor with its bytes, which the archive finds by the name.
fn tensor(archive: &Archive<&[u8]>, object: &Object<'_>) -> Read {
    let (name, shape, kind, range) = facts(object);
    assert_eq!(archive.require(&name).unwrap().ordinal(), object.ordinal());
    let range = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
    let bytes = archive.data()[range].to_vec();
    let length = u64::try_from(bytes.len()).unwrap();
    if let Some(block) = Block::of(object) {
        assert_eq!(block.bytes_of(&shape), Some(length));
        let attributes = object.attributes().unwrap();
        let ggml_type = attributes.clone().find(|(key, _)| *key == "ggml_type").unwrap().1;
        assert_eq!((attributes.count(), ggml_type.get::<&str>().unwrap()), (3, block.name));
        return (name, shape, kind, bytes);
    }
    assert_eq!(kind.bytes(&shape), Some(length));
    if kind != Kind::Plain(StorageType::Bool) {
        let view = object.dense().unwrap().view().unwrap();
        assert_eq!(view.as_bytes(), bytes);
    }
    (name, shape, kind, bytes)
}
