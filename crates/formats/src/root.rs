//! Archives whose tensors are in several files: one of them, the root, says which the others are.

use std::io;

use zten::front::{Builder, RawComponent, RawObject};
use zten::source::SourceArchive;
use zten::{ElementType, Error, Format as Layout, Object, Options, ReadAt};

use super::cbor;
use super::detect::Format;
use super::gguf::Split;
use super::index::Index;
use super::rules::Rule;
use super::trouble::Trouble;

/// A file whose header has been parsed.
#[derive(Debug)]
pub enum Begun<S> {
    /// An archive.
    Archive(SourceArchive<S>),
    /// A file whose tensors are in other files, too, which are to be opened.
    Root(Root<S>),
}

impl<S> Begun<S> {
    /// Returns the archive of a file that is given no others.
    ///
    /// # Errors
    /// The file names others.
    pub(crate) fn alone(self, options: &Options) -> Result<SourceArchive<S>, Trouble>
    where
        S: ReadAt<Error = io::Error>,
    {
        match self {
            Self::Archive(archive) => Ok(archive),
            Self::Root(root) => root.open::<S>(&[], options),
        }
    }
}

/// An index of safetensors files, or the first of several GGUF files, which has been parsed. Nothing has been read of the
/// files that it names.
#[derive(Debug)]
pub struct Root<S>(Kind<S>);

#[derive(Debug)]
enum Kind<S> {
    /// An index, and the file of so many bytes that it was read from.
    Index { index: Index, source: S, length: u64 },
    /// The header of the first GGUF file, and what it says of the others.
    Gguf { archive: Box<SourceArchive<S>>, split: Split },
}

/// A file beside a root, which names it.
#[derive(Debug)]
pub struct Part<'p, S> {
    /// The name in the folder.
    pub name: &'p str,
    /// The bytes.
    pub source: &'p S,
    /// The number of them.
    pub length: u64,
}

impl<S> Root<S> {
    /// An index, and the file of `length` bytes that it was read from.
    pub(crate) fn index(index: Index, source: S, length: u64) -> Self {
        Self(Kind::Index { index, source, length })
    }

    /// The header of the first GGUF file, and what it says of the others.
    pub(crate) fn gguf(archive: SourceArchive<S>, split: Split) -> Self {
        Self(Kind::Gguf { archive: Box::new(archive), split })
    }

    /// The format of the file.
    pub fn format(&self) -> Format {
        match self.0 {
            Kind::Index { .. } => Format::Index,
            Kind::Gguf { .. } => Format::Gguf,
        }
    }

    /// The source of its own bytes.
    pub fn source(&self) -> &S {
        match &self.0 {
            Kind::Index { source, .. } => source,
            Kind::Gguf { archive, .. } => archive.source(),
        }
    }

    /// The names of the files that it names, in no order: at most as many as the limit `shards` allows.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let (index, split) = match &self.0 {
            Kind::Index { index, .. } => (Some(index.files()), None),
            Kind::Gguf { split, .. } => (None, Some(split.files())),
        };
        index.into_iter().flatten().chain(split.into_iter().flatten())
    }

    /// Reads the headers of all files that it names, and makes an archive of all of them. `beside` may have other files,
    /// too.
    ///
    /// # Errors
    /// A file is missing, cannot be read, breaks a rule of its format, or contradicts the root.
    pub fn open<P>(
        self,
        beside: &[Part<'_, P>],
        options: &Options,
    ) -> Result<SourceArchive<S>, Trouble>
    where
        P: ReadAt<Error = io::Error>,
    {
        let parts = self.parts(beside)?;
        let (source, parsed) = match self.0 {
            Kind::Index { index, source, length } => (source, index.open(length, &parts, options)?),
            Kind::Gguf { archive, split } => {
                let length = archive.file_len();
                let (source, first) = archive.into_parts();
                (source, split.open((&first, length), &parts, options)?)
            }
        };
        Ok(SourceArchive::from_front(source, parsed))
    }

    /// The files that it names, shorter names first and those of one length by their bytes, as a
    /// [`Builder`] takes them.
    fn parts<'b, 'p, P>(&self, beside: &'b [Part<'p, P>]) -> Result<Vec<&'b Part<'p, P>>, Trouble> {
        let by_length = |name: &str, other: &str| (name.len(), name).cmp(&(other.len(), other));
        let mut parts = Vec::new();
        parts.try_reserve_exact(beside.len()).map_err(|_| Trouble::memory())?;
        parts.extend(beside);
        parts.sort_unstable_by(|part, other| by_length(part.name, other.name));
        let mut names = Vec::new();
        names.try_reserve_exact(self.files().count()).map_err(|_| Trouble::memory())?;
        names.extend(self.files());
        names.sort_unstable_by(|name, other| by_length(name, other));
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
                let sentence = format_args!(
                    "it was not found: beside {what} there is no regular file of that name, and links are not followed"
                );
                Err(Trouble::refused(rule, sentence).in_part(missing))
            }
        }
    }
}

/// Adds a tensor of another archive, whose data lies in the file of that ordinal, or in that of the header, and returns the
/// bytes of its data. `refused` makes the error for what the builder refuses.
pub(crate) fn push(
    builder: &mut Builder<'_>,
    object: &Object<'_>,
    file: Option<u32>,
    refused: impl FnOnce(Error) -> Trouble,
) -> Result<u64, Trouble> {
    let component = object.component("data");
    let component = component.ok_or_else(|| Trouble::internal("a tensor has no data"))?;
    let extent = component.extent();
    let (storage, logical) = match component.element_type() {
        ElementType::Plain(storage) => (storage, None),
        ElementType::Logical(logical) => (logical.storage(), Some(logical)),
        _ => return Err(Trouble::internal("a tensor has an unknown type")),
    };
    let mut shape = Vec::new();
    shape.try_reserve_exact(object.shape().len()).map_err(|_| Trouble::memory())?;
    shape.extend(object.shape());
    let attributes = object.attributes().map(cbor::copy).transpose()?;
    let layout = object.format();
    let raw = RawComponent::raw(storage, extent.offset(), extent.length());
    let raw = RawObject {
        name: object.name(),
        shape: &shape,
        layout,
        layout_name: (layout == Layout::Unknown).then(|| object.format_name()),
        attributes: attributes.as_deref(),
        components: &[RawComponent { file, logical, ..raw }],
    };
    builder.push(&raw).map_err(refused)?;
    Ok(extent.length())
}
