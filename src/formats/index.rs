//! Safetensors files and checkpoints of PyTorch in several files: an index in JSON maps each tensor to its file.
//!
//! The index is the root of an archive, and its sibling files contain the components.

mod copies;
mod header;

use alloc::format;
use alloc::vec::Vec;

use crate::archive::Archive;
use crate::escape;
use crate::finding::counted;
use crate::index::{Blobs, Builder, FileFormat, Parsed};
use crate::limits::{Limits, OpenOptions};
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::builder_error::{self, format_error};
use super::cbor::Map;
use super::detect;
use super::error::{FormatError, Subject};
use super::json_text;
use super::limits::{check_keys, check_length};
use super::root::{self, PartFile};
use super::rules::Rule;
use super::safetensors;
use super::torch;

use copies::Unselected;
use header::{Count, IndexHeader, Weights};

pub(crate) use header::PartFormat;

/// The suffix of the name of an index, the JSON file that lists which file contains each tensor of a model.
pub(crate) const SUFFIX: &str = ".index.json";
/// The length in bytes of the longest index that is read: as long as the header of one safetensors file may be.
const LONGEST: u64 = 100_000_000;

/// The format of a `.index.json` file of safetensors files: its name, and the rules for the tensors that it lists.
static SAFETENSORS: FileFormat =
    FileFormat::new("safetensors index", Blobs::Disjoint, safetensors::RULES);
/// The format of a `.index.json` file of PyTorch checkpoints: its name, and the rules for the tensors that it lists,
/// which may share storages.
static TORCH: FileFormat = FileFormat::new("PyTorch index", Blobs::Any, torch::RULES);

/// Returns whether `name`, the name of a file, is the name of an index. Only the name decides, because the function is called
/// before the file is read.
pub(crate) fn is_named_so(name: &str) -> bool {
    let start = name.len().checked_sub(SUFFIX.len());
    let end = start.and_then(|start| name.get(start..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(SUFFIX))
}

/// An index of several safetensors files or checkpoints of PyTorch, which has been parsed.
#[derive(Debug)]
pub(crate) struct Index {
    header: IndexHeader,
    /// The length in bytes of the index file itself.
    length: u64,
    _feature: Feature,
}

/// The type of a field of [`Index`] that has a value only with the feature `parts`. Without the feature no index can be
/// created, so the compiler removes the code that takes an index.
#[cfg(feature = "parts")]
type Feature = ();
#[cfg(not(feature = "parts"))]
type Feature = core::convert::Infallible;

#[cfg(feature = "parts")]
const FEATURE: Option<Feature> = Some(());
#[cfg(not(feature = "parts"))]
const FEATURE: Option<Feature> = None;

impl Index {
    /// Reads and parses an index of `length` bytes.
    ///
    /// # Errors
    /// The index cannot be read, exceeds a limit, or breaks a rule.
    pub(crate) fn read(
        source: &dyn ReadAt,
        length: u64,
        limits: &Limits,
    ) -> Result<Self, FormatError> {
        let Some(feature) = FEATURE else { return Err(super::not_read()) };
        if length > LONGEST {
            let sentence = format_args!("the index exceeds the maximum of {LONGEST} bytes");
            return Err(FormatError::violation_at(Rule::LimitHeader, sentence, LONGEST));
        }
        check_length(length, limits, "the index").map_err(|error| error.or_at(0))?;
        let mut bytes = Vec::new();
        source.append_range(0..length, &mut bytes)?;
        Ok(Self { header: IndexHeader::parse(&bytes, limits)?, length, _feature: feature })
    }

    /// Returns the names of the files that the index names, in no particular order.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.header.weights.files()
    }

    /// Reads the headers of all files that the index names, and returns the joined header of an archive, and the tensors that
    /// the index does not select. `parts` are these files in the order that [`Builder`] requires.
    ///
    /// # Errors
    /// A file cannot be read, breaks a rule of its format, or contradicts the index; the files do not agree on their metadata;
    /// an exceeded limit.
    pub(crate) fn open(
        self,
        parts: &[PartFile<'_>],
        options: &OpenOptions,
    ) -> Result<(Parsed, Unselected), FormatError> {
        let Self { header, length, .. } = self;
        let IndexHeader {
            weights,
            part_format,
            total_size,
            total_parameters,
            metadata,
            unknown_keys,
        } = header;
        let part_format = part_format.unwrap_or(PartFormat::Safetensors);
        let format = match part_format {
            PartFormat::Safetensors => &SAFETENSORS,
            PartFormat::Torch => &TORCH,
        };
        let mut builder = Builder::new(format, 0..length, length, options).map_err(format_error)?;
        let mut ordered = Vec::new();
        ordered.try_reserve_exact(parts.len()).map_err(|_| FormatError::memory())?;
        for part in parts {
            ordered.push((*part, builder.file(part.name, part.length).map_err(format_error)?));
        }
        // Files are read in the order of their names, so the order of tensors does not depend on the order in the index.
        ordered.sort_unstable_by_key(|(part, _)| part.name);
        let weights = &weights;
        let (selected, whole, unselected) = Default::default();
        let mut all =
            All { builder, weights, options, metadata, selected, whole, unselected, file_bytes: 0 };
        for (part, ordinal) in &ordered {
            let added = all.add(part, *ordinal, part_format);
            added.map_err(|error| error.in_part(part.name))?;
        }
        if let Some((key, count)) = unknown_keys {
            let sentence =
                "is a key of the index other than `weight_map` and `metadata`, which zten ignores";
            let note = FormatError::predicate(Rule::IndexKey, sentence);
            all.builder.found_times(note.about(&key).into(), count);
        }
        all.note_counts(total_size, total_parameters);
        let All { mut builder, mut metadata, unselected, .. } = all;
        let twice = |key: &str| {
            let key = escape::quoted(key);
            FormatError::violation(
                Rule::IndexMetadata,
                format!("the files do not agree on the metadata {key}"),
            )
        };
        metadata.check_unique(twice)?;
        if part_format == PartFormat::Safetensors {
            json_text::decode(&mut metadata, options.limit().depth(), header::duplicate_key_in)?;
        }
        let cbor = metadata.finish(twice)?;
        if !cbor.is_empty() {
            builder.attributes(&cbor).map_err(format_error)?;
        }
        // Duplicate names cannot occur: the index maps each name to one file, and the names in one file are unique.
        let parsed = builder_error::finish(builder, Rule::SafetensorsDuplicateName)?;
        Ok((parsed, unselected))
    }
}

/// Opens a checkpoint of PyTorch of `length` bytes, and returns an archive and a copy of its attributes. The first bytes
/// say whether the checkpoint is a zip archive or a stream. The file name does not.
fn torch_archive<'s>(
    source: &'s dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<(Archive<&'s dyn ReadAt>, Map), FormatError> {
    if !cfg!(feature = "torch") {
        return Err(super::not_read());
    }
    let start = super::start(source, length)?;
    let open = if detect::is_stream(&start) { torch::open_stream } else { torch::open };
    let archive = Archive::from_parsed(source, open(source, length, options)?);
    let mut metadata = Map::default();
    for (key, item) in archive.attributes() {
        metadata.put(key, |out| Ok(out.raw(item.as_bytes())?))?;
    }
    Ok((archive, metadata))
}

/// The total size of several tensors: their number of bytes and their number of elements.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    bytes: u64,
    elements: u64,
}

impl Size {
    /// Adds a tensor of the shape `shape` whose elements take `bytes` bytes.
    fn add(&mut self, shape: &[u64], bytes: u64) {
        let elements = shape.iter().fold(1, |product: u64, size| product.saturating_mul(*size));
        self.elements = self.elements.saturating_add(elements);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The state of joining the files of an index: the tensors and metadata of the files that have been read.
struct All<'o> {
    builder: Builder<'o>,
    weights: &'o Weights,
    options: &'o OpenOptions,
    metadata: Map,
    /// The total size of the tensors that the index selects.
    selected: Size,
    /// The total size of all tensors in the files.
    whole: Size,
    unselected: Unselected,
    /// The total length in bytes of the files that have been added so far.
    file_bytes: u64,
}

impl All<'_> {
    /// Adds the metadata of the file `part`, and the tensors in it that the index maps to it. Keeps the other tensors of the file
    /// in `unselected`. `ordinal` is the ordinal of the file. Returns an error if the file lacks a tensor that the index maps to
    /// it.
    fn add(
        &mut self,
        part: &PartFile<'_>,
        ordinal: u32,
        part_format: PartFormat,
    ) -> Result<(), FormatError> {
        let (weights, limits) = (self.weights, self.options.limit());
        let open = match part_format {
            PartFormat::Safetensors => safetensors::archive,
            PartFormat::Torch => torch_archive,
        };
        let opened = open(part.source, part.length, self.options);
        let (archive, metadata) =
            opened.map_err(|error| super::error_of_part(part, self.options, error))?;
        let file = weights.file(part.name);
        self.builder.found_in_file(archive.findings(), part.name);
        let mut count = 0_usize;
        for tensor in &archive {
            let mapped = weights.of_tensor(tensor.name());
            let bytes = if mapped == file {
                let bytes = root::push(&mut self.builder, &tensor, Some(ordinal))?;
                self.selected.add(tensor.shape(), bytes);
                count = count.saturating_add(1);
                bytes
            } else {
                self.unselected.add(&tensor, (part, ordinal), mapped.is_some(), limits)?
            };
            self.whole.add(tensor.shape(), bytes);
        }
        self.file_bytes = self.file_bytes.saturating_add(part.length);
        self.metadata.append(metadata)?;
        check_keys(u64_from_usize(self.metadata.len()), limits, "the metadata of all files")?;
        // `count` is the number of tensors in this file that the index maps to it. Names are unique in the index and in the file,
        // so if this number equals the number of tensors that the index maps to the file, no tensor is missing.
        match file.filter(|file| weights.count(*file) != count) {
            None => Ok(()),
            Some(file) => {
                let missing = weights.in_file(file).find(|name| !archive.contains(name));
                let name = escape::quoted(missing.unwrap_or_default());
                let sentence = format!("lacks the tensor {name}, which the index assigns to it");
                let error = FormatError::violation(Rule::IndexTensor, sentence);
                Err(error.with_subject(Subject::Part))
            }
        }
    }

    /// Adds notes if `total_size` or `total_parameters` of the index is wrong. Some writers count the bytes of the tensors, others
    /// the bytes of the files, and some leave tensors out of the index that they have counted.
    fn note_counts(&mut self, total_size: Option<Count>, total_parameters: Option<Count>) {
        let Self { selected, whole, file_bytes, .. } = *self;
        let rule = Rule::IndexTotalSize;
        let note = match total_size {
            Some(Count::Number(size))
                if ![selected.bytes, whole.bytes, file_bytes].contains(&size) =>
            {
                let (size, bytes) = (counted(size, "byte"), counted(selected.bytes, "byte"));
                let files = counted(file_bytes, "byte");
                let sentence = format_args!(
                    "total_size is {size}, but the tensors have {bytes}, and the files have {files}"
                );
                Some(FormatError::violation(rule, sentence))
            }
            Some(Count::Other) => {
                Some(FormatError::violation(rule, "total_size is not a whole number of bytes"))
            }
            Some(Count::Number(_)) | None => None,
        };
        if let Some(note) = note {
            self.builder.found(note.into());
        }
        let rule = Rule::IndexTotalParameters;
        let note = match total_parameters {
            Some(Count::Number(number))
                if ![selected.elements, whole.elements].contains(&number) =>
            {
                let elements = counted(selected.elements, "element");
                let sentence =
                    format_args!("total_parameters is {number}, but the tensors have {elements}");
                Some(FormatError::violation(rule, sentence))
            }
            Some(Count::Other) => {
                Some(FormatError::violation(rule, "total_parameters is not a whole number"))
            }
            Some(Count::Number(_)) | None => None,
        };
        if let Some(note) = note {
            self.builder.found(note.into());
        }
    }
}
