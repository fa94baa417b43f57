//! Safetensors in several files: an index in JSON says which tensor is in which of them.
//!
//! The files lie beside the index. They have been opened before it is read, by their suffix, and it
//! says which of them it means.

mod header;

use zten::{ElementType, Limits, Object, Options};

use super::cbor::Map;
use super::kind::Kind;
use super::limits::validate_keys;
use super::listing::{Listing, Tensors};
use super::place::Place;
use super::rules::Rule;
use super::safetensors;
use super::source::Source;
use super::tensor::Tensor;
use super::trouble::Trouble;
pub(crate) use header::PARTS;
use header::{Header, Weights};
use zten::num::{u64_from_usize, usize_from_u32};
use zten_present::escape;

/// What the names of indices end with.
const SUFFIX: &str = ".index.json";
/// The longest index that is read: as long as the header of one file may be.
const LONGEST: u64 = 100_000_000;

/// Whether a file is an index, as its name says: it is asked before a byte of it is read.
pub(crate) fn is_named_so(name: &str) -> bool {
    let start = name.len().checked_sub(SUFFIX.len());
    let end = start.and_then(|start| name.get(start..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(SUFFIX))
}

/// A file beside the index, by its name.
#[derive(Debug)]
pub struct Beside {
    /// Its name in the folder.
    pub name: String,
    /// The file.
    pub source: Source,
}

/// Reads an index and the headers of all files that it names. Places are in the files that are
/// returned.
pub(super) fn list(
    index: &Source,
    beside: Vec<Beside>,
    limits: &Limits,
) -> Result<(Vec<Beside>, Listing), Trouble> {
    let Header { weights, total_size, metadata } = read(index, limits)?;
    let parts = parts(&weights, beside)?;
    let mut all = All { tensors: Tensors::default(), metadata, bytes: 0, file_bytes: 0 };
    for (number, part) in parts.iter().enumerate() {
        all.add(number, part, &weights, limits).map_err(|trouble| trouble.in_part(&part.name))?;
    }
    all.validate_size(total_size)?;
    let cbor = all.metadata.finish(|key| {
        let key = escape::quoted(key);
        Trouble::refused(
            Rule::IndexMetadata,
            format!("the files do not agree on the metadata {key}"),
        )
    })?;
    Ok((parts, Listing { attributes: cbor, tensors: all.tensors }))
}

fn read(index: &Source, limits: &Limits) -> Result<Header, Trouble> {
    if index.len() > LONGEST {
        let sentence = format!("the index is longer than {LONGEST} bytes");
        return Err(Trouble::refused_at(Rule::LimitHeader, sentence, LONGEST));
    }
    Header::parse(&index.fetch(0, index.len())?, limits)
}

/// The names of the files that an index names.
pub(super) fn listed(index: &Source, limits: &Limits) -> Result<Vec<String>, Trouble> {
    let Header { weights, .. } = read(index, limits)?;
    Ok(weights.files().map(str::to_owned).collect())
}

/// The files that the index names, in the order of their names.
fn parts(weights: &Weights, mut beside: Vec<Beside>) -> Result<Vec<Beside>, Trouble> {
    beside.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    beside.retain(|file| weights.file(&file.name).is_some());
    let found = |name: &str| beside.binary_search_by(|file| file.name.as_str().cmp(name)).is_ok();
    match weights.files().filter(|name| !found(name)).min() {
        None => Ok(beside),
        Some(missing) => {
            let sentence = "it is no regular file beside the index; links are not followed";
            Err(Trouble::refused(Rule::IndexFile, sentence).in_part(missing))
        }
    }
}

/// What has been found in the files so far.
struct All {
    tensors: Tensors,
    metadata: Map,
    /// Bytes of all tensors, and of all files.
    bytes: u64,
    file_bytes: u64,
}

impl All {
    /// Adds what is in a file, which must be what the index says is in it.
    fn add(
        &mut self,
        number: usize,
        part: &Beside,
        weights: &Weights,
        limits: &Limits,
    ) -> Result<(), Trouble> {
        let options = Options::default().limits(*limits);
        let (archive, metadata) = safetensors::archive(&part.source, &options)?;
        let file = weights.file(&part.name);
        for object in archive.objects() {
            if weights.of_tensor(object.name()) != file {
                let sentence = "the index does not say that it is in this file";
                return Err(Trouble::refused(Rule::IndexTensor, sentence).about(object.name()));
            }
            let tensor = tensor(&object, number)?;
            self.bytes = self.bytes.saturating_add(tensor.bytes);
            self.tensors.push(&tensor)?;
        }
        self.file_bytes = self.file_bytes.saturating_add(part.source.len());
        self.metadata.append(metadata)?;
        validate_keys(u64_from_usize(self.metadata.len()), limits, "the metadata of all files")?;
        // None is in a file twice, so as many as there should be are all that should be.
        let count = usize_from_u32(archive.len());
        match file.filter(|file| weights.count(*file) != count) {
            None => Ok(()),
            Some(file) => {
                let missing = weights.in_file(file).find(|name| archive.get(name).is_none());
                let name = escape::quoted(missing.unwrap_or_default());
                let sentence = format!("the index says that the tensor {name} is in it");
                Err(Trouble::refused(Rule::IndexTensor, sentence))
            }
        }
    }

    /// Some writers count the bytes of the tensors, and some those of the files.
    fn validate_size(&self, total: Option<u64>) -> Result<(), Trouble> {
        match total {
            Some(total) if total != self.bytes && total != self.file_bytes => {
                let Self { bytes, file_bytes, .. } = self;
                Err(Trouble::refused(
                    Rule::IndexTotalSize,
                    format!(
                        "the index has a total_size of {total} bytes, and there are {bytes} of tensors \
                     in {file_bytes} of files"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}

/// The tensor that is an object of a part of that number.
fn tensor(object: &Object<'_>, file: usize) -> Result<Tensor, Trouble> {
    let component = object.component("data");
    let component = component.ok_or_else(|| Trouble::internal("a tensor has no data"))?;
    let kind = match component.element_type() {
        ElementType::Plain(storage) => Kind::Plain(storage),
        ElementType::Logical(logical) => Kind::Logical(logical),
        _ => return Err(Trouble::internal("a tensor has an unknown type")),
    };
    let extent = component.extent();
    let place = Place::Part { file, offset: extent.offset() };
    let (name, shape) = (object.name().to_owned(), object.shape().to_vec());
    Ok(Tensor { name, shape, kind, bytes: extent.length(), place })
}
