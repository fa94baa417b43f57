//! Safetensors in several files: an index in JSON maps each tensor to its file.
//!
//! The index is the root of an archive, and its sibling files contain the components.

mod header;

use alloc::format;
use alloc::vec::Vec;

use crate::escape;
use crate::index::{Blobs, Builder, FileFormat, Parsed};
use crate::limits::{Limits, OpenOptions};
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::builder_error::{self, format_error};
use super::cbor::Map;
use super::error::{FormatError, Subject};
use super::json_text;
use super::limits::{check_keys, check_length};
use super::root::{self, Part};
use super::rules::Rule;
use super::safetensors;

use header::{Header, Weights};

pub(crate) use header::PARTS;

/// The suffix of the name of an index.
pub(crate) const SUFFIX: &str = ".index.json";
/// The longest index that is read: as long as the header of one file may be.
const LONGEST: u64 = 100_000_000;

/// The format, for the index of objects that it fills.
static INDEX: FileFormat =
    FileFormat::new("safetensors index", Blobs::Disjoint, safetensors::RULES);

/// Returns whether a file is an index, by its name alone: no byte of it has been read.
pub(crate) fn is_named_so(name: &str) -> bool {
    let start = name.len().checked_sub(SUFFIX.len());
    let end = start.and_then(|start| name.get(start..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(SUFFIX))
}

/// An index of several safetensors files, which has been parsed.
#[derive(Debug)]
pub(crate) struct Index {
    header: Header,
    /// Bytes of the index.
    length: u64,
    _feature: Feature,
}

/// A value that only the feature has. Without it there is no index, and the compiler leaves out all that one takes.
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
    /// The index cannot be read, is longer than it may be, or breaks a rule.
    pub(crate) fn read(
        source: &dyn ReadAt,
        length: u64,
        limits: &Limits,
    ) -> Result<Self, FormatError> {
        let Some(feature) = FEATURE else { return Err(super::not_read()) };
        if length > LONGEST {
            let sentence = format_args!("index exceeds the maximum of {LONGEST} bytes");
            return Err(FormatError::violation_at(Rule::LimitHeader, sentence, LONGEST));
        }
        check_length(length, limits, "the index").map_err(|error| error.or_at(0))?;
        let mut bytes = Vec::new();
        source.append_range(0..length, &mut bytes)?;
        Ok(Self { header: Header::parse(&bytes, limits)?, length, _feature: feature })
    }

    /// The names of the files that the index names, in no particular order.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        self.header.weights.files()
    }

    /// Reads the headers of all files that the index names, and returns the joined header of an archive. `parts` are these
    /// files in the order that [`Builder`] requires.
    ///
    /// # Errors
    /// A file cannot be read, breaks a rule of its format, or contradicts the index.
    pub(crate) fn open(
        self,
        parts: &[Part<'_>],
        options: &OpenOptions,
    ) -> Result<Parsed, FormatError> {
        let Self { header: Header { weights, total_size, metadata }, length, .. } = self;
        let mut builder = Builder::new(&INDEX, 0..length, length, options).map_err(format_error)?;
        let mut ordered = Vec::new();
        ordered.try_reserve_exact(parts.len()).map_err(|_| FormatError::memory())?;
        for part in parts {
            ordered.push((*part, builder.file(part.name, part.length).map_err(format_error)?));
        }
        // Tensors come in the order of the names of their files.
        ordered.sort_unstable_by_key(|(part, _)| part.name);
        let weights = &weights;
        let mut all = All { builder, weights, parts, options, metadata, bytes: 0, file_bytes: 0 };
        for (part, ordinal) in &ordered {
            let added = all.add(part, *ordinal);
            added.map_err(|error| error.in_part(part.name))?;
        }
        all.check_size(total_size)?;
        let All { mut builder, mut metadata, .. } = all;
        let twice = |key: &str| {
            let key = escape::quoted(key);
            FormatError::violation(
                Rule::IndexMetadata,
                format!("the files do not agree on the metadata {key}"),
            )
        };
        metadata.check_unique(twice)?;
        json_text::decode(&mut metadata, options.limit().depth())?;
        let cbor = metadata.finish(twice)?;
        if !cbor.is_empty() {
            builder.attributes(&cbor).map_err(format_error)?;
        }
        // Duplicate names cannot occur: the index maps each name to one file, and the names in one file are unique.
        builder_error::finish(builder, Rule::SafetensorsDuplicateName)
    }
}

/// The tensors and metadata that have been found in the files so far.
struct All<'o, 'p> {
    builder: Builder<'o>,
    weights: &'o Weights,
    parts: &'o [Part<'p>],
    options: &'o OpenOptions,
    metadata: Map,
    /// Bytes of all tensors, and of all files.
    bytes: u64,
    file_bytes: u64,
}

impl All<'_, '_> {
    /// Adds the tensors and metadata of the file `part`, whose ordinal is `ordinal`. The tensors must be exactly those that the
    /// index maps to this file.
    fn add(&mut self, part: &Part<'_>, ordinal: u32) -> Result<(), FormatError> {
        let (weights, limits) = (self.weights, self.options.limit());
        let (archive, metadata) = safetensors::archive(part.source, part.length, self.options)?;
        let file = weights.file(part.name);
        self.builder.found_in_file(archive.findings(), part.name);
        for tensor in &archive {
            let mapped = weights.of_tensor(tensor.name());
            if mapped != file {
                return Err(self.in_other_file(tensor.name(), mapped).about(tensor.name()));
            }
            let bytes = root::push(&mut self.builder, &tensor, Some(ordinal))?;
            self.bytes = self.bytes.saturating_add(bytes);
        }
        self.file_bytes = self.file_bytes.saturating_add(part.length);
        self.metadata.append(metadata)?;
        check_keys(u64_from_usize(self.metadata.len()), limits, "the metadata of all files")?;
        // Every tensor of the file is mapped to the file, and names are unique, so equal counts mean equal sets.
        match file.filter(|file| weights.count(*file) != archive.len()) {
            None => Ok(()),
            Some(file) => {
                let missing = weights.in_file(file).find(|name| !archive.contains(name));
                let name = escape::quoted(missing.unwrap_or_default());
                let sentence = format!("lacks the tensor {name}, which the index says is in it");
                let error = FormatError::violation(Rule::IndexTensor, sentence);
                Err(error.with_subject(Subject::Part))
            }
        }
    }

    /// Returns the error for a tensor that the index maps to the file `mapped`, but that was found in another file. If the
    /// tensor is in the file `mapped`, too, the error says so.
    fn in_other_file(&self, tensor: &str, mapped: Option<usize>) -> FormatError {
        let is_mapped =
            |part: &&Part<'_>| mapped.is_some() && self.weights.file(part.name) == mapped;
        if let Some(other) = self.parts.iter().find(is_mapped) {
            match safetensors::archive(other.source, other.length, self.options) {
                Ok((archive, _)) if archive.contains(tensor) => {
                    let name = escape::quoted(other.name);
                    let sentence =
                        format_args!("is in {name}, too, where the index says that it is");
                    return FormatError::predicate(Rule::IndexOverlay, sentence);
                }
                // The header of the other file may not have been supplied yet.
                Err(error) if !error.is_rejection() => return error,
                _ => {}
            }
        }
        FormatError::predicate(Rule::IndexTensor, "is in this file, but not according to the index")
    }

    /// Checks the `total_size` of the index. Some writers count the bytes of the tensors, others the bytes of the files.
    fn check_size(&self, total: Option<u64>) -> Result<(), FormatError> {
        match total {
            Some(total) if total != self.bytes && total != self.file_bytes => {
                let Self { bytes, file_bytes, .. } = self;
                Err(FormatError::violation(
                    Rule::IndexTotalSize,
                    format!(
                        "the total_size of {total} bytes does not match {bytes} bytes of tensors in {file_bytes} bytes of files"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }
}
