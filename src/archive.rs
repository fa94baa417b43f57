//! Open files: the source of the bytes, which may be in memory, and the validated manifest.

use alloc::vec::Vec;
use core::ops::Range;

#[cfg(feature = "std")]
use std::fs::File;
#[cfg(feature = "std")]
use std::path::Path;

use crate::cbor::Attributes;
#[cfg(feature = "std")]
use crate::codec::{Find, OwnShards};
use crate::debug_summary::Bytes;
#[cfg(feature = "detect")]
use crate::error::OutOfMemory;
use crate::error::{BareError, Error};
use crate::formats::ztensor::frame::{Container, Frame};
#[cfg(feature = "detect")]
use crate::index::Copies;
use crate::index::Parsed;
use crate::limits::{Limits, OpenOptions};
use crate::manifest::{Finding, Manifest, ManifestRef, Tensor, ValidatedManifest};
use crate::read_at::{BlobRef, Located, ReadAt, Sealed, Source};
use crate::rules::Generation;
use crate::verify::{Subject, Summary, check};

/// An open file: its tensors, and their elements.
///
/// | from | made by |
/// | --- | --- |
/// | a file of the file system | [`open`](crate::open()), [`OpenOptions::open`] |
/// | bytes in memory | [`Archive::from_bytes`], [`OpenOptions::from_bytes`] |
/// | any other source | [`OpenOptions::open_source`], or without I/O [`Opening`](crate::open::Opening) |
///
/// `S` is the source of the bytes. An archive that owns its source has no lifetime, so it can be stored in a struct.
/// The archive is `Send` and `Sync` if `S` is.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
/// let archive = zten::Archive::from_bytes(file)?;
/// let tensor = archive.tensor("t_f32")?;
/// assert_eq!(tensor.shape(), [2, 3]);
/// let elements = tensor.to_cow::<f32>()?;
/// # assert_eq!(elements.len(), 6);
/// # Ok::<(), zten::Error>(())
/// ```
#[cfg(feature = "std")]
pub struct Archive<S = File> {
    manifest: Manifest<ArchiveSource<S>>,
    /// The shards and sibling files that were found; `None` if nothing has looked for them.
    shards: Option<OwnShards<S>>,
}

/// An open file: its tensors, and their elements. Created by [`Archive::from_bytes`], [`OpenOptions::open_source`], or without
/// I/O by [`Opening`](crate::open::Opening). `S` is the source of the bytes.
#[cfg(not(feature = "std"))]
pub struct Archive<S> {
    manifest: Manifest<ArchiveSource<S>>,
}

/// A file in memory. `B` holds its bytes: `&[u8]`, `Vec<u8>`, `Arc<[u8]>`, or a memory map of the caller.
#[derive(Clone, Copy)]
pub struct InMemory<B>(pub B);

impl<B: AsRef<[u8]>> core::fmt::Debug for InMemory<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_tuple("InMemory").field(&Bytes(self.0.as_ref())).finish()
    }
}

#[cfg(feature = "std")]
impl<B: AsRef<[u8]> + Sync> ReadAt for InMemory<B> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0.as_ref().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.0.as_ref().bytes_at(offset, length)
    }

    fn is_immutable(&self) -> bool {
        true
    }
}

#[cfg(not(feature = "std"))]
impl<B: AsRef<[u8]>> ReadAt for InMemory<B> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0.as_ref().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.0.as_ref().bytes_at(offset, length)
    }

    fn is_immutable(&self) -> bool {
        true
    }
}

/// The source of an archive, and the part of the file that names and attributes are borrowed from: the whole file if the
/// source has it in memory, only the header if the source has only that in memory, and otherwise nothing.
struct ArchiveSource<S> {
    source: S,
    length: u64,
    /// The byte range of the header in the file, if the source lends the header from memory but not the whole file.
    header: Option<Range<u64>>,
}

impl<S> ArchiveSource<S> {
    fn new(source: S, length: u64) -> Self {
        Self { source, length, header: None }
    }
}

impl<S: ReadAt> AsRef<[u8]> for ArchiveSource<S> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        let range = self.header.clone().unwrap_or(0..self.length);
        lent(&self.source, &range).unwrap_or_default()
    }
}

/// Returns the bytes of `range` without a copy, or `None` if `source` does not have them in memory.
#[inline]
fn lent<'s>(source: &'s impl ReadAt, range: &Range<u64>) -> Option<&'s [u8]> {
    let length = range.end.saturating_sub(range.start);
    source.bytes_at(range.start, usize::try_from(length).ok()?)
}

impl OpenOptions {
    /// Opens the manifest of a zTensor file of `length` bytes that is read from `source`.
    #[cfg(feature = "files")]
    pub(crate) fn open_manifest(
        &self,
        source: &dyn ReadAt,
        length: u64,
    ) -> Result<Manifest<Vec<u8>>, Error> {
        let mut start = Vec::new();
        source.append_range(Container::header_range(length)?, &mut start)?;
        let frame = read_frame(source, length, &start, self.limit())?;
        Manifest::validate(&frame, fetch(source, frame.manifest.clone())?, self)
    }
}

/// Reads the footer of a zTensor file of `length` bytes from `source`, and returns where the manifest lies. `start` holds the first
/// bytes of the file: at least the 8 bytes of the magic, or the whole file if it is shorter.
///
/// # Errors
/// `file-size`, `header-magic`, `footer-magic`, `manifest-cap`, `manifest-bounds`, `limit-manifest`; in generation 2 also
/// `unsupported-version`, `data-shard` and `manifest-alignment`; any error of the source.
pub(crate) fn read_frame(
    source: &dyn ReadAt,
    length: u64,
    start: &[u8],
    limits: &Limits,
) -> Result<Frame, Error> {
    let header = usize::try_from(Container::header_range(length)?.end).unwrap_or(usize::MAX);
    let container = Container::read(start.get(..header).unwrap_or(start))?;
    let range = container.footer_range(length)?;
    let footer = fetch(source, range.clone())?;
    Ok(Frame::read(container, &footer, range, limits)?)
}

/// Reads `range` of `source` into a new buffer. The caller has checked the length of the range against the limits.
fn fetch(source: &dyn ReadAt, range: Range<u64>) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    source.append_range(range, &mut bytes)?;
    Ok(bytes)
}

impl<B: AsRef<[u8]>> Archive<InMemory<B>>
where
    InMemory<B>: ReadAt,
{
    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.source().0.as_ref()
    }
}

impl<S: ReadAt> Archive<S> {
    /// Opens the zTensor file whose manifest lies at the range in `frame`. If the source is immutable memory, the manifest
    /// is borrowed and not copied.
    pub(crate) fn of_frame(frame: &Frame, source: S, options: &OpenOptions) -> Result<Self, Error> {
        let (range, length) = (&frame.manifest, frame.file_len());
        let section = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
        let section = section.map(|(start, end)| start..end);
        if !source.is_immutable() || lent(&source, range).is_none() {
            let bytes = fetch(&source, range.clone())?;
            return Ok(Self::new(Manifest::validate(frame, bytes, options)?, source));
        }
        if let Some(file) = lent(&source, &(0..length)) {
            let manifest = section.and_then(|section| Some((file.get(section.clone())?, section)));
            let (manifest, section) = manifest.ok_or(BareError::internal())?;
            let validated = ValidatedManifest::validate(frame, manifest, options)?;
            return Ok(Self::of(Manifest::within(
                ArchiveSource::new(source, length),
                section,
                validated,
            )));
        }
        let held =
            ArchiveSource { header: Some(range.clone()), ..ArchiveSource::new(source, length) };
        Ok(Self::of(Manifest::validate(frame, held, options)?))
    }
}

impl<S> Archive<S> {
    fn of(manifest: Manifest<ArchiveSource<S>>) -> Self {
        Self {
            manifest,
            #[cfg(feature = "std")]
            shards: None,
        }
    }

    /// Creates an archive from the manifest of a zTensor file, and the source of all bytes of that file.
    pub(crate) fn new(manifest: Manifest<Vec<u8>>, source: S) -> Self {
        Self::of(manifest.in_file(|length| ArchiveSource::new(source, length)))
    }

    /// Creates an archive of a file of another format, whose header has been parsed. Unstable.
    #[doc(hidden)]
    pub fn from_parsed(source: S, parsed: Parsed) -> Self {
        let length = parsed.file_len;
        Self::of(Manifest::of_parsed(ArchiveSource::new(source, length), parsed))
    }

    /// Stores `copies`, the pairs of tensors in two files of an index whose bytes a check compares, and adds `findings` to those
    /// from opening.
    #[cfg(feature = "detect")]
    pub(crate) fn add_copies(
        &mut self,
        copies: Option<Copies>,
        findings: impl IntoIterator<Item = Finding>,
    ) -> Result<(), OutOfMemory> {
        self.manifest.add_copies(copies, findings)
    }

    /// Creates an empty builder for a second index of this file, which may name the same sibling files. It is used when the
    /// header alone does not decide what the file holds.
    #[cfg(all(feature = "detect", feature = "dequantize"))]
    pub(crate) fn builder_of_same<'o>(
        &self,
        options: &'o OpenOptions,
    ) -> Result<crate::index::Builder<'o>, Error>
    where
        S: ReadAt,
    {
        self.manifest.builder_of_same(options)
    }

    /// Returns the options that the file was opened with.
    #[cfg(all(feature = "detect", feature = "dequantize"))]
    pub(crate) fn options(&self) -> &OpenOptions
    where
        S: ReadAt,
    {
        self.manifest.parts().options()
    }

    /// Replaces the index by that of `parsed`, which describes the same file. The findings and the shards stay.
    #[cfg(all(feature = "detect", feature = "dequantize"))]
    pub(crate) fn with_parsed(mut self, parsed: Parsed) -> Self {
        self.manifest = self.manifest.with_parsed(parsed);
        self
    }

    /// Returns the source of the bytes.
    pub fn source(&self) -> &S {
        &self.manifest.bytes.source
    }

    /// Returns the source of the bytes, and drops the manifest.
    pub fn into_source(self) -> S {
        self.manifest.into_holder().source
    }

    /// Returns the name of the file format: `zTensor`, or the name of another format.
    pub fn format(&self) -> &'static str {
        self.manifest.file_format()
    }

    /// Returns the generation of zTensor that the file follows; `None` for other formats.
    pub fn generation(&self) -> Option<Generation> {
        self.manifest.generation()
    }

    /// Returns the [findings](Manifest::findings) of the manifest, which did not keep the file from opening.
    pub fn findings(&self) -> &[Finding] {
        self.manifest.findings()
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.manifest.len()
    }

    /// Returns whether the file has no tensors.
    pub fn is_empty(&self) -> bool {
        self.manifest.is_empty()
    }

    /// Returns the limits that the file was opened with.
    pub fn limits(&self) -> &Limits {
        self.manifest.limits()
    }

    /// Returns the length of the file in bytes when it was opened.
    pub fn file_len(&self) -> u64 {
        self.manifest.bytes.length
    }
}

impl<S: ReadAt> Archive<S> {
    /// Returns the manifest. Tensors that are taken from it are not connected to the source of this archive.
    pub fn manifest(&self) -> &Manifest<impl AsRef<[u8]> + use<S>> {
        &self.manifest
    }

    /// Returns the manifest, with this archive as the source from which its components are read.
    #[inline]
    fn parts(&self) -> ManifestRef<'_> {
        self.manifest.parts().with_source(self)
    }

    /// Returns the tensors, in the order of the file.
    pub fn tensors(&self) -> Tensors<'_> {
        Tensors { parts: self.parts(), left: 0..self.parts().len() }
    }

    /// Returns the names of the tensors, in the order of the file.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors().map(|tensor| tensor.name())
    }

    /// Returns the tensor called `name`, or `None` if there is no such tensor. In O(log n); with `std` in constant time, for which
    /// the first call builds a table of 8 bytes a name if there are 256 names or more.
    #[inline]
    pub fn get(&self, name: &str) -> Option<Tensor<'_>> {
        self.parts().get(name)
    }

    /// Returns the tensor called `name`, or an error that names the tensor with the most similar name, if a name is similar.
    ///
    /// ```
    /// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
    /// let error = archive.tensor("t_fp32").unwrap_err();
    /// assert_eq!(error.to_string(), r#"no tensor named "t_fp32"; did you mean "t_f32"?"#);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::NoTensor`](crate::error::Misuse::NoTensor). The most similar name is searched for among at most 65,536 names of
    /// at most 128 bytes each.
    #[inline]
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.parts().require(name)
    }

    /// Returns whether there is a tensor called `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the attributes of the file; empty if the file has none: v1.1 II.1, v1.2 §1.
    pub fn attributes(&self) -> Attributes<'_> {
        self.manifest.attributes()
    }

    /// Reads all components and validates what opening does not: sizes, compression, digests, bools, indices, shards, and in a
    /// file opened as canonical also the padding. Ends at the first broken rule. The limits that the file was opened with apply.
    /// [`Verifier`](crate::verify::Verifier) says how much memory it takes. [`check`] returns all errors, and passes the content to
    /// the caller.
    ///
    /// ```
    /// let verified = zten::open("corpus/accept/1.2.3/csr_raw.zt")?.verify()?;
    /// assert_eq!((verified.components(), verified.digests()), (18, 0));
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any rule on content; anything unsupported, such as a digest that cannot be verified or a missing shard; any
    /// error of the source.
    pub fn verify(&self) -> Result<Summary, Error> {
        check(self, &mut ()).into_result()
    }
}

impl<'a, S: ReadAt> From<&'a Archive<S>> for Subject<'a> {
    fn from(archive: &'a Archive<S>) -> Self {
        Subject::of(archive.parts(), archive, archive.source())
    }
}

#[cfg(feature = "std")]
impl Archive {
    /// Looks for the shards of the file at `path`, as [`zten::open`](crate::open()) does: in the same folder by their names,
    /// `STEM-NAME.zt`, or in its folder `blobs` by their digests, `ALGORITHM/DIGITS`. Links are not followed, except in the
    /// cache of a hub, from the snapshots to the blobs of the same repository. v2 §7.1.
    ///
    /// # Errors
    /// The errors of [`find_shards`](Self::find_shards).
    pub fn find_shards_beside(self, path: impl AsRef<Path>) -> Result<Self, Error> {
        if self.manifest.shards().len() == 0 {
            return Ok(self);
        }
        self.find_shards(&crate::shards::ShardFinder::of(path.as_ref()))
    }
}

#[cfg(feature = "std")]
impl<S: ReadAt> Archive<S> {
    /// Looks for all shards of the file (2) with `finder`, and validates the frame and size of the shards that are
    /// found. The digest of a shard is compared once, when a component without a digest of its own is read, or by
    /// [`verify`](Self::verify).
    ///
    /// # Errors
    /// The errors of [`Manifest::bind_shards`].
    pub fn find_shards<F: Find<Source = S>>(mut self, finder: &F) -> Result<Self, Error> {
        self.shards = Some(OwnShards::find(&self.manifest, finder)?);
        Ok(self)
    }
}

impl<S: ReadAt> Sealed for Archive<S> {}

impl<S: ReadAt> Source for Archive<S> {
    fn locate(&self, blob: &BlobRef<'_>) -> Result<Located<'_>, Error> {
        #[cfg(feature = "std")]
        if let (Some(name), Some(shards)) = (blob.shard, &self.shards) {
            return shards.locate(self.manifest.parts(), blob, name);
        }
        self.source().locate(blob)
    }

    #[cfg(feature = "std")]
    fn verify_shards(&self) -> Option<Result<(), Error>> {
        Some(self.shards.as_ref()?.verify(self.manifest.parts()))
    }

    #[cfg(feature = "std")]
    fn sibling(&self, name: &str) -> Option<Located<'_>> {
        self.shards.as_ref()?.sibling(self.manifest.parts(), name)
    }

    #[cfg(feature = "std")]
    fn shard_bytes(&self) -> u64 {
        self.shards.as_ref().map_or(0, |shards| shards.bytes(self.manifest.parts()))
    }
}

impl<S: ReadAt> core::fmt::Debug for Archive<S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Archive").field("manifest", &self.manifest).finish_non_exhaustive()
    }
}

/// An iterator over the tensors of an [`Archive`], in the order of the file.
#[derive(Clone)]
pub struct Tensors<'a> {
    parts: ManifestRef<'a>,
    left: Range<u32>,
}

impl<'a> Iterator for Tensors<'a> {
    type Item = Tensor<'a>;

    #[inline]
    fn next(&mut self) -> Option<Tensor<'a>> {
        self.parts.object(self.left.next()?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }

    fn nth(&mut self, n: usize) -> Option<Tensor<'a>> {
        self.parts.object(self.left.nth(n)?)
    }
}

impl ExactSizeIterator for Tensors<'_> {}

impl core::fmt::Debug for Tensors<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tensors").field("left", &self.left).finish_non_exhaustive()
    }
}

#[expect(clippy::into_iter_without_iter, reason = "`tensors` is that method")]
impl<'a, S: ReadAt> IntoIterator for &'a Archive<S> {
    type Item = Tensor<'a>;
    type IntoIter = Tensors<'a>;

    fn into_iter(self) -> Tensors<'a> {
        self.tensors()
    }
}
