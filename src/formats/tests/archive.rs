//! Opening files as archives, as the tests of all formats do.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec::Vec;
use std::io;
use std::path::Path;
use std::sync::Mutex;

use crate::archive::Tensors;
use crate::cbor::Attributes;
use crate::element::ByteOrder;
use crate::element::StorageType;
use crate::error::Error;
use crate::formats::Block;
use crate::formats::cbor::Map;
use crate::formats::error::FormatError;
use crate::index::Encoding;
use crate::layout::State;
use crate::limits::OpenOptions;
use crate::manifest::ElementType;
use crate::manifest::Tensor;
use crate::read_at::ReadAt;

use super::batter::Content;
use super::{FormatDType, Read};

/// A source of bytes that records which ranges are read.
#[derive(Debug)]
pub(super) struct Noted<'b> {
    bytes: &'b [u8],
    pub(super) ranges: Mutex<Vec<(u64, u64)>>,
}

impl<'b> Noted<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, ranges: Mutex::default() }
    }
}

impl ReadAt for Noted<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let end = offset + u64::try_from(buffer.len()).unwrap();
        self.ranges.lock().unwrap().push((offset, end));
        let range = usize::try_from(offset).unwrap()..usize::try_from(end).unwrap();
        let bytes = self.bytes.get(range).ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }
}

/// Opens a file from memory and from a source, checks that both give the same archive or, unless the format is not recognized,
/// the same error, and reads all of the archive: the metadata as CBOR, and the tensors. If a tensor is unread, returns the
/// error of verifying the file.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<Content, Error> {
    let options = OpenOptions::default();
    let length = u64::try_from(bytes.len()).unwrap();
    let source = options.open_named(Noted::new(bytes), length, Path::new(name));
    let (source, archive) = match (source, options.from_bytes(bytes)) {
        (Ok(source), Ok(archive)) => {
            // The tensor of a `.npy` file has the name of the file, which bytes in memory lack.
            let is_named = archive.format() != ".npy";
            let listed = |tensors: Tensors<'_>| {
                let facts = |tensor| {
                    let (name, facts) = facts(&tensor);
                    (is_named.then_some(name), facts)
                };
                format!("{:?}", tensors.map(facts).collect::<Vec<_>>())
            };
            assert_eq!(listed(archive.tensors()), listed(source.tensors()));
            (source, archive)
        }
        // Bytes in memory have no name from which the format could be detected, so the errors may differ.
        (Err(one), Err(other)) => {
            let id = |error: &Error| error.rule();
            let is_unknown = id(&other).is_some_and(|id| id.starts_with("format-"));
            assert!(is_unknown || one.to_string() == other.to_string(), "{one}; {other}");
            return Err(one);
        }
        (one, other) => panic!("{:?} and {:?}", one.err(), other.err()),
    };
    assert!(["safetensors", "GGUF", ".npy", ".npz", "PyTorch"].contains(&archive.format()));
    assert_eq!(archive.generation(), None);
    let mut tensors = Vec::new();
    if source.tensors().any(|tensor| matches!(tensor.state(), State::Unread(_))) {
        return Err(source.verify().unwrap_err());
    }
    for (read, borrowed) in source.tensors().zip(archive.tensors()) {
        assert_eq!(source.tensor(read.name()).unwrap().ordinal(), read.ordinal());
        tensors.push(tensor(&read, &borrowed, bytes)?);
    }
    Ok((metadata(archive.attributes())?, tensors))
}

/// Returns the metadata as deterministic CBOR.
pub(super) fn metadata(attributes: Attributes<'_>) -> Result<Vec<u8>, Error> {
    let mut map = Map::default();
    for (key, value) in attributes {
        map.put(key, |out| {
            out.raw(value.as_bytes())?;
            Ok(())
        })?;
    }
    Ok(map.finish(FormatError::internal)?)
}

/// Returns the facts about a tensor that the header gives: its name; and its shape, element type and range of bytes.
pub(super) fn facts(
    tensor: &Tensor<'_>,
) -> (String, (Vec<u64>, FormatDType, std::ops::Range<u64>)) {
    let data = tensor.component("data").unwrap();
    let kind = match data.element_type() {
        ElementType::Plain(storage) => FormatDType::Plain(storage),
        ElementType::Logical(logical) => FormatDType::Logical(logical),
        // Elements that zten does not interpret are read as bytes.
        ElementType::Opaque(..) | ElementType::Unknown(_) => FormatDType::Plain(StorageType::U8),
        other => panic!("{other:?}"),
    };
    (tensor.name().to_owned(), (tensor.shape().to_vec(), kind, data.extent().range()))
}

/// Reads a tensor from both archives, checks that the bytes are equal and that their number fits the shape, and returns the
/// tensor with its bytes. Bools that are neither 0 nor 1 are returned as they are stored.
fn tensor(read: &Tensor<'_>, borrowed: &Tensor<'_>, file: &[u8]) -> Result<Read, Error> {
    let (name, (shape, kind, range)) = facts(read);
    let component = read.component("data").unwrap();
    let is_raw = component.encoding() == Encoding::Raw && !component.is_strided();
    let bytes = match component.read() {
        // A wrong bool is found only by readers that verify content.
        Err(error) if is_raw && error.rule() == Some("tensor-bool-value") => {
            let place = |at| usize::try_from(at).unwrap();
            file[place(range.start)..place(range.end)].to_vec()
        }
        decoded => decoded?.to_vec(),
    };
    let length = u64::try_from(bytes.len()).unwrap();
    if let Some(block) = Block::of(read) {
        assert_eq!(block.bytes_of(&shape), Some(length));
        let attributes = read.attributes();
        let ggml_type = attributes.clone().find(|(key, _)| *key == "ggml_type").unwrap().1;
        assert_eq!((attributes.count(), ggml_type.get::<&str>().unwrap()), (3, block.name));
        return Ok((name, shape, kind, bytes));
    }
    match component.element_type() {
        ElementType::Opaque(_, size) => {
            assert_eq!(shape.iter().product::<u64>() * size, length);
        }
        _ => assert_eq!(kind.bytes(&shape), Some(length)),
    }
    let view = borrowed.dense().unwrap().view();
    assert_eq!(view.is_ok(), is_raw);
    if is_raw && component.byte_order() == ByteOrder::Little {
        assert_eq!(view.unwrap().as_bytes(), bytes);
    }
    Ok((name, shape, kind, bytes))
}
