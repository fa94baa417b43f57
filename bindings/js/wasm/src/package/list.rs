//! Describes the file and its objects from the manifest, for the JavaScript package. Names are not escaped, because programs use
//! them.

use std::io::{self, Write as _};

use crate::border::Answer;
use crate::problem;
use crate::session::{self, File};
use serde::Serialize;
use zten::attributes::Encoder;
use zten::conventions::Convention;
use zten::finding::{Finding, format_name};
use zten::json::{Integer, List, to_writer};
use zten::{Component, DType, Encoding, Generation, Layout, Tensor};
use zten_report::archive::DescribedObject;
use zten_report::check::Note;
use zten_report::notation::version;

pub(crate) fn file(file: &'static File, out: &mut Answer) -> io::Result<()> {
    #[derive(Serialize)]
    struct Head<'a> {
        format: &'static str,
        generation: Option<&'static str>,
        version: Option<String>,
        objects: usize,
        shards: usize,
        groups: bool,
        notes: Vec<Note<'a>>,
    }
    let manifest = file.manifest();
    let (_, notes) = Finding::split(Finding::of_open(manifest));
    let head = Head {
        format: format_name(manifest),
        generation: manifest.generation().map(Generation::as_str),
        version: version(manifest),
        objects: manifest.len(),
        shards: manifest.shards().len(),
        groups: file.may_have_groups()
            || file.tensors().any(|tensor| Convention::of(&tensor).is_some()),
        notes: notes.iter().map(Note::new).collect(),
    };
    to_writer(out, &head)
}

pub(crate) fn objects(file: &File, first: u32, count: u32, out: &mut Answer) -> io::Result<()> {
    to_writer(out, &List(|| session::tensors(file, first, count).map(Listed::new)))
}

pub(crate) fn find(file: &File, name: &[u8], out: &mut Answer) -> io::Result<()> {
    let name = std::str::from_utf8(name).map_err(|_| io::ErrorKind::InvalidInput)?;
    match session::find(file, name) {
        Ok(tensor) => to_writer(out, &Listed::new(tensor)),
        Err(error) => problem::reading(file, &error, out),
    }
}

pub(crate) fn attributes(file: &File, object: u32, out: &mut Answer) -> io::Result<()> {
    let attributes = if object == u32::MAX {
        file.manifest().own_attributes()
    } else {
        let tensor = session::tensor(file, object).map_err(|_| io::ErrorKind::NotFound)?;
        tensor.own_attributes()
    };
    let Some(attributes) = attributes else { return Ok(()) };
    // The attributes are written as a CBOR map of indefinite length, so that they need not be counted before the first one is
    // written.
    out.write_all(&[0xbf])?;
    for (key, item) in attributes {
        let mut text = Encoder::default();
        text.text(key).map_err(|_| io::ErrorKind::OutOfMemory)?;
        out.write_all(text.as_bytes())?;
        out.write_all(item.as_bytes())?;
    }
    out.write_all(&[0xff])
}

/// The description of an object, as `zten ls --json` has it, with what the host needs to know to read its components.
#[derive(Serialize)]
struct Listed<'a> {
    object: DescribedObject<'a, false>,
    /// True if validating each component by itself validates the object: no rule relates two components.
    independent: bool,
    components: Vec<Reading>,
}

impl<'a> Listed<'a> {
    fn new(tensor: Tensor<'a>) -> Self {
        let independent = match tensor.layout() {
            Layout::Dense => true,
            Layout::Unknown => tensor.components().all(|one| one.generation().is_none()),
            _ => false,
        };
        let components = tensor.components().map(|one| Reading::new(&one)).collect();
        Self { object: DescribedObject(tensor), independent, components }
    }
}

/// What the host needs to know to read a component, such as which bytes of which file it has to fetch first.
#[derive(Serialize)]
struct Reading {
    /// The offset of the first byte of the file or shard that reading the component reads.
    start: Integer,
    /// The offset after the last byte of the file or shard that reading the component reads.
    end: Integer,
    /// The number of elements, if the element type packs several into a byte; `None` for other types.
    elements: Option<Integer>,
    windowed: bool,
}

impl Reading {
    fn new(component: &Component<'_>) -> Self {
        let range = component.read_range();
        Self {
            start: Integer(range.start),
            end: Integer(range.end),
            elements: component.packed_elements().map(Integer),
            windowed: is_windowed(component),
        }
    }
}

/// Returns whether the stored bytes of `component` are its elements in order, so that a part can be read without later bytes.
fn is_windowed(component: &Component<'_>) -> bool {
    let is_bool = component.dtype() == DType::Bool;
    // A component of bools with a checksum is read whole: if a bool is invalid and the checksum is wrong, the checksum is
    // reported.
    component.encoding() == Encoding::Raw
        && !component.is_strided()
        // The checksum of a storage that several tensors share needs all bytes of the storage before the first element. A
        // checksum of this component alone does not.
        && (component.has_checksum() || component.read_range() == component.extent().range())
        && !(is_bool && component.has_checksum())
}
