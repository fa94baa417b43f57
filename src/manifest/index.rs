//! The results of validating a manifest: the index of its objects, and the bytes that hold its names and other texts.

use alloc::vec::Vec;
use core::ops::Range;

use crate::cbor::Input;
use crate::formats::ztensor::frame::Frame;
use crate::formats::ztensor::{Dialect, Version};
use crate::index::{Copies, Finding, FormatFacts, Index};
use crate::limits::OpenOptions;
use crate::num::{u64_from_usize, usize_from_u32};
use crate::read_at::Source;

/// Returns `bytes`, which were checked to be UTF-8, as text. If the caller's bytes have changed since they were checked,
/// returns the part before the first byte that is not UTF-8.
pub(super) fn utf8(bytes: &[u8]) -> &str {
    match core::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid()),
    }
}

/// The validated content of a manifest, and the facts that are not in the manifest's bytes.
pub(crate) struct ValidatedManifest {
    /// The position of the manifest in a zTensor file, as its footer gives it; `None` for other formats.
    pub(super) frame: Option<Frame>,
    /// The range of the file that was parsed: the manifest, or the header of another format.
    pub(super) header: Range<u64>,
    pub(super) file_len: u64,
    pub(super) text: TextIn,
    pub(super) index: Index,
    /// The facts about the generation of a zTensor file that the parser needs; `None` for other formats.
    pub(super) dialect: Option<&'static Dialect>,
    /// The version that the `version` field of a 1.x file gives; `None` for other generations and formats.
    pub(super) version: Option<Version>,
    /// The options that the file was opened with. Their limits also hold for its content, and a file that has been
    /// appended to is opened with them again.
    pub(super) options: OpenOptions,
    /// The findings that did not keep the file from opening.
    pub(crate) findings: Vec<Finding>,
    /// The pairs of tensors in two files of an index that a check compares; `None` if no tensor is in two files.
    pub(super) copies: Option<Copies>,
}

/// Which bytes the spans of names, attributes and other texts refer to.
pub(crate) enum TextIn {
    /// The texts are in the held bytes, which are the manifest alone.
    Held,
    /// The texts are in this range of the held bytes, which are the whole file.
    File(Range<usize>),
    /// The texts are in this buffer: the manifest of a zTensor file, or the texts that the parser of another format has kept. The
    /// held bytes are those of the whole file, as far as its source lends them.
    Own(Vec<u8>),
}

/// The bytes and the index that objects and components read from.
#[derive(Clone, Copy)]
pub(crate) struct ManifestRef<'a> {
    /// The bytes of the manifest, or of the whole file: [`ValidatedManifest::text`] tells which.
    pub(super) held: &'a [u8],
    pub(super) validated: &'a ValidatedManifest,
    /// The source of the content: a file, or a file and its shards. `None` for a manifest without its file.
    pub(super) source: Option<&'a dyn Source>,
}

impl<'a> ManifestRef<'a> {
    #[inline]
    pub(super) fn new(held: &'a [u8], validated: &'a ValidatedManifest) -> Self {
        Self { held, validated, source: None }
    }

    #[inline]
    pub(crate) fn index(&self) -> &'a Index {
        &self.validated.index
    }

    /// Returns the options that the file was opened with.
    pub(crate) fn options(&self) -> &'a OpenOptions {
        &self.validated.options
    }

    /// Returns the facts in which file formats and generations differ, for the format of this file.
    #[inline]
    pub(crate) fn facts(&self) -> &'static FormatFacts {
        self.index().facts
    }

    /// Returns the version that the field `version` of a 1.x file gives; `None` for other generations and formats.
    pub(super) fn version(&self) -> Option<Version> {
        self.validated.version
    }

    /// Returns the facts about the generation of a zTensor file that its parser, its checks and its writer use. Returns `None`
    /// for other formats.
    pub(crate) fn dialect(&self) -> Option<&'static Dialect> {
        self.validated.dialect
    }

    /// Returns the bytes of the manifest from the start of a map on: the map of the object or component whose
    /// description begins at `source_offset`. Returns `None` for other formats.
    pub(super) fn map(&self, source_offset: u32) -> Option<Input<'a>> {
        // Only zTensor files have a dialect, so the function returns here for other formats. In those, `source_offset` is an
        // offset in the header, but `as_bytes` returns only the texts that the parser has kept, so the slice would be wrong.
        let dialect = self.validated.dialect?;
        dialect.map(self.as_bytes().get(usize_from_u32(source_offset)..)?)
    }

    #[inline]
    pub(crate) fn as_bytes(&self) -> &'a [u8] {
        match &self.validated.text {
            TextIn::Held => self.held,
            TextIn::File(section) => self.held.get(section.clone()).unwrap_or_default(),
            TextIn::Own(text) => text,
        }
    }

    /// Returns this manifest with `source` as the source of its content. Content is not borrowed from the held bytes any
    /// more.
    pub(crate) fn read_from<'s>(self, source: &'s dyn Source) -> ManifestRef<'s>
    where
        'a: 's,
    {
        // Content is borrowed if the held bytes are the whole file, but here it must be read from the new source. So only the bytes
        // up to the end of the texts of the manifest are kept, without the footer.
        let held = match &self.validated.text {
            TextIn::File(section) => self.held.get(..section.end).unwrap_or_default(),
            TextIn::Own(_) => &[],
            TextIn::Held => self.held,
        };
        ManifestRef { held, source: Some(source), ..self }
    }

    /// Returns this manifest with `archive` as the source of its content. Content may also be borrowed from the held bytes.
    #[inline]
    pub(crate) fn with_source<'s>(self, archive: &'s dyn Source) -> ManifestRef<'s>
    where
        'a: 's,
    {
        ManifestRef { source: Some(archive), ..self }
    }

    /// Returns the source of the content; `None` for a manifest without its file.
    pub(crate) fn source(&self) -> Option<&'a dyn Source> {
        self.source
    }

    /// Returns all bytes of the file; `None` if the file is not in memory.
    #[inline]
    pub(crate) fn file(&self) -> Option<&'a [u8]> {
        let is_file = u64_from_usize(self.held.len()) == self.validated.file_len;
        match self.validated.text {
            TextIn::File(_) | TextIn::Own(_) if is_file => Some(self.held),
            _ => None,
        }
    }
}
