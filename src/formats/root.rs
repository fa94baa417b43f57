//! Archives whose tensors are in several files. One of the files, the root, names the other files.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

use crate::archive::Archive;
use crate::element::StorageType;
use crate::error::{Error, ErrorKind};
use crate::index::{
    Builder, Encoding, Layout, Parsed, RawComponent, RawElements, RawObject, SpecialElements,
};
use crate::layout::State;
use crate::limits::OpenOptions;
use crate::manifest::{Component, ElementType, Tensor};
use crate::num::sort_by;
use crate::read_at::ReadAt;

use super::builder_error::format_error;
use super::cbor;
use super::detect::Format;
use super::error::{FormatError, Subject};
use super::gguf::Split;
use super::index::Index;
use super::rules::Rule;
#[cfg(feature = "ztensor")]
use super::ztensor::frame::Frame;
use crate::file_name::FileName;
use crate::shards::IS_LINK;

/// The header of a file, as far as it can be parsed from this file alone.
pub(crate) enum RootHeader {
    /// A zTensor file whose header and footer have been read, but not its manifest.
    #[cfg(feature = "ztensor")]
    ZTensor(Frame),
    /// The header of a GGUF file, which may be the first file of a split model.
    #[cfg(feature = "gguf")]
    Gguf(Parsed),
    /// An index of safetensors files or checkpoints of PyTorch.
    #[cfg(feature = "parts")]
    Index(Index),
    /// The header of a file of any other format.
    Other(Parsed),
}

impl RootHeader {
    /// Joins the header with `source`, the bytes of the file called `name`. Returns an archive, or a root if the file names
    /// sibling files. Reads the manifest of a zTensor file.
    pub(crate) fn begin<S: ReadAt>(
        self,
        source: S,
        name: FileName<'_>,
        options: &OpenOptions,
    ) -> Result<Begun<S>, Error> {
        Ok(Begun::Archive(match self {
            #[cfg(feature = "ztensor")]
            Self::ZTensor(frame) => Archive::of_frame(&frame, source, options)?,
            #[cfg(feature = "gguf")]
            Self::Gguf(parsed) => {
                let archive = Archive::from_parsed(source, parsed);
                match Split::of(&archive.attributes(), name, options.limit())? {
                    None => archive,
                    Some(split) => {
                        let archive = Box::new(archive);
                        return Ok(Begun::Root(Root(RootKind::Gguf { archive, split })));
                    }
                }
            }
            #[cfg(feature = "parts")]
            Self::Index(index) => return Ok(Begun::Root(Root(RootKind::Index { index, source }))),
            Self::Other(parsed) => Archive::from_parsed(source, parsed),
        }))
    }
}

/// A file whose header has been parsed.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "each file has one value, which is moved once")]
pub enum Begun<S: ReadAt> {
    /// An archive, which needs no other file.
    Archive(Archive<S>),
    /// A file that names sibling files with more tensors. The caller opens the sibling files.
    Root(Root<S>),
}

impl<S: ReadAt> Begun<S> {
    /// Returns the archive of a file that names no sibling files.
    ///
    /// # Errors
    /// `index-file` or `gguf-split-file` if the file names sibling files.
    pub fn require_unsharded(self, options: &OpenOptions) -> Result<Archive<S>, Error> {
        match self {
            Self::Archive(archive) => Ok(archive),
            Self::Root(root) => root.open(&[], options),
        }
    }
}

/// A parsed root: an index of safetensors files or checkpoints of PyTorch, or the first of several GGUF files. The files that the
/// root names have not been read.
#[derive(Debug)]
pub struct Root<S: ReadAt>(RootKind<S>);

#[derive(Debug)]
enum RootKind<S: ReadAt> {
    /// An index, and the file that it was read from.
    Index { index: Index, source: S },
    /// The header of the first GGUF file, and the names and numbers of the other files.
    Gguf { archive: Box<Archive<S>>, split: Split },
}

/// A sibling file that a root names.
#[derive(Clone, Copy)]
pub struct PartFile<'p> {
    /// The name of the file in the folder of the root.
    pub name: &'p str,
    /// The source of the file's bytes.
    pub source: &'p dyn ReadAt,
    /// The length of the file in bytes.
    pub length: u64,
}

impl fmt::Debug for PartFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut part = f.debug_struct("PartFile");
        part.field("name", &self.name).field("length", &self.length).finish_non_exhaustive()
    }
}

impl<S: ReadAt> Root<S> {
    /// Returns the format of the root file: GGUF, or an index.
    pub fn format(&self) -> Format {
        match self.0 {
            RootKind::Index { .. } => Format::Index,
            RootKind::Gguf { .. } => Format::Gguf,
        }
    }

    /// Returns the source of the root's own bytes.
    pub fn source(&self) -> &S {
        match &self.0 {
            RootKind::Index { source, .. } => source,
            RootKind::Gguf { archive, .. } => archive.source(),
        }
    }

    /// Returns the names of the sibling files that the root names, in no particular order. Their number is within the limit
    /// `shards`.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let (index, split) = match &self.0 {
            RootKind::Index { index, .. } => (Some(index.files()), None),
            RootKind::Gguf { split, .. } => (None, Some(split.files())),
        };
        index.into_iter().flatten().chain(split.into_iter().flatten())
    }

    /// Reads the headers of all files that the root names, and joins the files to one archive. Files in `siblings` that the
    /// root does not name are ignored.
    ///
    /// # Errors
    /// A file is missing, cannot be read, breaks a rule of its format, or contradicts the root.
    pub fn open(
        self,
        siblings: &[PartFile<'_>],
        options: &OpenOptions,
    ) -> Result<Archive<S>, Error> {
        let parts = self.parts(siblings)?;
        if !cfg!(feature = "parts") {
            return Err(FormatError::internal("this build does not read sibling files").into());
        }
        let (source, parsed) = match self.0 {
            RootKind::Index { index, source } => {
                let (parsed, unselected) = index.open(&parts, options)?;
                let mut archive = Archive::from_parsed(source, parsed);
                unselected.resolve(&mut archive, &parts)?;
                return Ok(archive);
            }
            RootKind::Gguf { archive, split } => {
                let parsed = split.open(&archive, &parts, options)?;
                (archive.into_source(), parsed)
            }
        };
        Ok(Archive::from_parsed(source, parsed))
    }

    /// Returns the error for the sibling file `name`, which is a link to `target` that zten does not follow. `advice` says what
    /// the user can do instead.
    pub fn linked(&self, name: &str, target: &str, advice: &'static str) -> Error {
        let rule = match self.format() {
            Format::Index => Rule::IndexFile,
            _ => Rule::GgufSplitFile,
        };
        let error = FormatError::violation(rule, format_args!("{IS_LINK}{target}"));
        error.with_subject(Subject::Part).advising(advice).in_part(name).into()
    }

    /// Returns the files in `siblings` that the root names, in the order that [`Builder`] requires: by the length of their names,
    /// then by the bytes of their names.
    ///
    /// # Errors
    /// A file that the root names is not in `siblings`.
    fn parts<'p>(&self, siblings: &[PartFile<'p>]) -> Result<Vec<PartFile<'p>>, FormatError> {
        let by_length = |name: &str, other: &str| (name.len(), name).cmp(&(other.len(), other));
        let mut parts: Vec<PartFile<'p>> = Vec::new();
        parts.try_reserve_exact(siblings.len()).map_err(|_| FormatError::memory())?;
        parts.extend(siblings);
        sort_by(&mut parts, |part, other| by_length(part.name, other.name));
        let mut names = Vec::new();
        names.try_reserve_exact(self.files().count()).map_err(|_| FormatError::memory())?;
        names.extend(self.files());
        sort_by(&mut names, |name, other| by_length(name, other));
        parts.retain(|part| names.binary_search_by(|name| by_length(name, part.name)).is_ok());
        let is_missing =
            |name: &&&str| parts.binary_search_by(|part| by_length(part.name, name)).is_err();
        match names.iter().find(is_missing) {
            None => Ok(parts),
            Some(missing) => {
                let (rule, what) = match self.format() {
                    Format::Index => (Rule::IndexFile, "the index"),
                    _ => (Rule::GgufSplitFile, "the first file"),
                };
                let sentence = format_args!("is not in the folder of {what}");
                let error = FormatError::violation(rule, sentence).with_subject(Subject::Part);
                Err(error.in_part(missing))
            }
        }
    }
}

/// Adds `tensor`, a tensor of another archive, to `builder`, and returns the length of its elements in bytes. `file` is the
/// ordinal of the sibling file that holds the tensor, or `None` if the file whose header is parsed holds it.
pub(crate) fn push(
    builder: &mut Builder<'_>,
    tensor: &Tensor<'_>,
    file: Option<u32>,
) -> Result<u64, FormatError> {
    let mut components = Vec::new();
    for component in tensor.components() {
        components.try_reserve(1).map_err(|_| FormatError::memory())?;
        components.push(RawComponent { file, ..raw_component(&component, tensor.state())? });
    }
    let mut shape = Vec::new();
    shape.try_reserve_exact(tensor.shape().len()).map_err(|_| FormatError::memory())?;
    shape.extend(tensor.shape());
    let attributes = cbor::copy(tensor.attributes())?;
    let layout = tensor.layout();
    let raw = RawObject {
        name: tensor.name(),
        shape: &shape,
        layout,
        layout_name: (layout == Layout::Unknown).then(|| tensor.layout_name()),
        attributes: attributes.as_deref(),
        components: &components,
        source_offset: tensor.source_offset(),
    };
    builder.push(&raw).map_err(format_error)?;
    Ok(byte_length(tensor))
}

/// Returns the length of the elements of `tensor` in bytes, or the number of its stored bytes if the file does not tell the
/// length of the elements.
pub(crate) fn byte_length(tensor: &Tensor<'_>) -> u64 {
    let lengths = tensor
        .components()
        .map(|component| component.decoded_length().unwrap_or(component.extent().length()));
    lengths.fold(0, u64::saturating_add)
}

/// Converts `component` back to the raw component that a [`Builder`] takes. `state` is the state of the tensor that has the
/// component.
pub(crate) fn raw_component<'c>(
    component: &Component<'c>,
    state: State,
) -> Result<RawComponent<'c>, FormatError> {
    let (storage, logical, elements) = match (component.element_type(), state) {
        (ElementType::Plain(storage), _) => (storage, None, RawElements::Known),
        (ElementType::Logical(logical), _) => {
            (logical.storage(), Some(logical), RawElements::Known)
        }
        (ElementType::Unknown(type_name), State::Unread(ErrorKind::Unsupported(reason))) => {
            (StorageType::U8, None, RawElements::Unread { type_name, reason })
        }
        (ElementType::Unknown(type_name), State::Opaque) => {
            let Some(SpecialElements::Opaque(size)) = component.special_elements() else {
                return Err(FormatError::internal(
                    "the size of the elements of an opaque tensor is not known",
                ));
            };
            (StorageType::U8, None, RawElements::Opaque { type_name, size })
        }
        _ => {
            return Err(FormatError::internal(
                "a tensor of an unknown type is neither opaque nor unread",
            ));
        }
    };
    let (extent, encoding) = (component.extent(), component.stored_encoding());
    let (prefix, checksum) = component.stream();
    let surrounding = component.surrounding();
    Ok(RawComponent {
        role: component.role(),
        prefix,
        decoded_length: component.content_length().filter(|_| encoding != Encoding::Raw),
        logical,
        elements,
        field: component.field(),
        byte_order: component.byte_order(),
        column_major: component.is_column_major(),
        strides: component.strides(),
        encoding,
        negation: component.negation(),
        checksum: surrounding.as_ref().map(|(_, checksum)| *checksum).or(checksum),
        checksum_range: surrounding.map(|(range, _)| [range.start, range.end]),
        ..RawComponent::raw(storage, extent.offset(), extent.length())
    })
}
