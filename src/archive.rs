//! Open files: the source of the bytes, which may be in memory, and the validated manifest.

use core::ops::Range;

#[cfg(feature = "std")]
use std::fs::File;
#[cfg(feature = "std")]
use std::path::Path;

use crate::cbor::Attributes;
#[cfg(feature = "std")]
use crate::codec::{Find, OwnShards};
use crate::codec::{Located, ReadAt, Source, sealed};
use crate::debug_summary::Bytes;
use crate::error::{BareError, Error, Misuse};
use crate::formats::ztensor::frame::{Container, Frame};
use crate::index::Parsed;
use crate::limits::{Limits, OpenOptions};
use crate::manifest::{Component, Finding, Manifest, ManifestRef, Tensor, ValidatedManifest};
use crate::num::u64_from_usize;
use crate::open::Opening;
use crate::rules::Generation;
use crate::verify::{Subject, Summary, check};

/// An open file: its tensors, and their elements.
///
/// | from | made by |
/// | --- | --- |
/// | a file of the file system | [`open`](crate::open()), [`OpenOptions::open`] |
/// | bytes in memory | [`Archive::from_bytes`], [`OpenOptions::from_bytes`] |
/// | any other source | [`OpenOptions::open_source`], or [`Archive::new`] with a manifest that has been opened by itself |
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
    manifest: Manifest<Held<S>>,
    /// The shards; `None` if they were not looked for.
    shards: Option<OwnShards<S>>,
}

/// An open file: its tensors, and their elements. Created by [`Archive::from_bytes`], [`OpenOptions::open_source`], or
/// [`Archive::new`] with a manifest that was opened separately. `S` is the source of the bytes.
#[cfg(not(feature = "std"))]
pub struct Archive<S> {
    manifest: Manifest<Held<S>>,
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
}

#[cfg(not(feature = "std"))]
impl<B: AsRef<[u8]>> ReadAt for InMemory<B> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0.as_ref().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.0.as_ref().bytes_at(offset, length)
    }
}

/// A holder of a file for [`Manifest`], whose bytes are the whole file if the source has it in memory, and empty
/// otherwise.
struct Held<S> {
    source: S,
    length: u64,
}

impl<S: ReadAt> AsRef<[u8]> for Held<S> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        let length = usize::try_from(self.length).ok();
        length.and_then(|length| self.source.bytes_at(0, length)).unwrap_or_default()
    }
}

impl OpenOptions {
    /// Opens a zTensor file whose bytes are in memory.
    ///
    /// # Errors
    /// Any rule of the catalog, except rules that need data.
    pub fn from_bytes<B>(&self, bytes: B) -> Result<Archive<InMemory<B>>, Error>
    where
        B: AsRef<[u8]>,
        InMemory<B>: ReadAt,
    {
        let (section, validated) = parse(bytes.as_ref(), self)?;
        let length = u64_from_usize(bytes.as_ref().len());
        let held = Held { source: InMemory(bytes), length };
        Ok(Archive::of(Manifest::within(held, section, validated)))
    }

    /// Opens a zTensor file of `length` bytes from any source, such as an open file or an object store. Nothing but
    /// `source` is accessed, so the process may have been confined since the source was opened. The caller [looks
    /// for](Archive::find_shards) shards.
    ///
    /// # Errors
    /// Any error of the source; any rule of the catalog, except rules that need data.
    pub fn open_source<S: ReadAt>(&self, source: S, length: u64) -> Result<Archive<S>, Error> {
        let manifest = self.open_manifest(&source, length)?;
        Ok(Archive::new(manifest, source))
    }

    /// Opens the manifest of a zTensor file of `length` bytes that is read from `source`.
    pub(crate) fn open_manifest(
        &self,
        source: &dyn ReadAt,
        length: u64,
    ) -> Result<Manifest<alloc::vec::Vec<u8>>, Error> {
        let fetch = |range: Range<u64>| {
            let mut bytes = alloc::vec::Vec::new();
            source.append_range(range, &mut bytes).map(|()| bytes)
        };
        let opening = Opening::new(length, self)?;
        let header = fetch(opening.needs())?;
        let footer = opening.header(&header).map_err(|error| name_format(error, &header))?;
        let body = footer.footer(&fetch(footer.needs())?)?;
        let bytes = fetch(body.needs())?;
        body.manifest(bytes)
    }
}

impl<B: AsRef<[u8]>> Archive<InMemory<B>>
where
    InMemory<B>: ReadAt,
{
    /// Opens a zTensor file whose bytes are in memory: `&[u8]`, `Vec<u8>`, `Arc<[u8]>`, or a memory map of the caller.
    ///
    /// If `B` returns other bytes at a later call, as a memory map does whose file another process changes, results are
    /// unspecified. Such calls do not panic, except for debug assertions in builds that have them, and for sorting
    /// names of equal hashes that change meanwhile.
    ///
    /// # Errors
    /// Any rule of the catalog, except rules that need data.
    pub fn from_bytes(bytes: B) -> Result<Self, Error> {
        OpenOptions::default().from_bytes(bytes)
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        self.source().0.as_ref()
    }
}

impl<S> Archive<S> {
    fn of(manifest: Manifest<Held<S>>) -> Self {
        Self {
            manifest,
            #[cfg(feature = "std")]
            shards: None,
        }
    }

    /// Creates an archive from a manifest that was [opened separately](mod@crate::open), and the source of the rest of
    /// its file.
    pub fn new(manifest: Manifest<alloc::vec::Vec<u8>>, source: S) -> Self {
        Self::of(manifest.in_file(|length| Held { source, length }))
    }

    /// Creates an archive of a file of another format, whose header has been parsed. Unstable.
    #[doc(hidden)]
    pub fn from_parsed(source: S, parsed: Parsed) -> Self {
        let length = parsed.file_len;
        Self::of(Manifest::of_parsed(Held { source, length }, parsed))
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

    /// Returns whether there are no tensors.
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

    /// Returns the manifest with this archive as the source of its content.
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

    /// Returns the tensor called `name`. In O(log n); with `std` in constant time, for which the first call builds a
    /// table of 8 bytes a name if there are 256 names or more.
    #[inline]
    pub fn get(&self, name: &str) -> Option<Tensor<'_>> {
        self.parts().get(name)
    }

    /// Returns the tensor called `name`, or an error that names the tensor with the most similar name.
    ///
    /// ```
    /// let archive = zten::open("corpus/accept/1.2.3/dense_all.zt")?;
    /// let error = archive.tensor("t_fp32").unwrap_err();
    /// assert_eq!(error.to_string(), r#"no tensor named "t_fp32"; did you mean "t_f32"?"#);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Misuse::NoTensor`]. At most 65,536 names, of at most 128 bytes each, are compared with `name`.
    #[inline]
    pub fn tensor(&self, name: &str) -> Result<Tensor<'_>, Error> {
        self.parts().require(name)
    }

    /// Returns whether there is a tensor called `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the attributes of the file; empty if the file has none (1.x): v1.1 II.1, v1.2 §1.
    pub fn attributes(&self) -> Attributes<'_> {
        self.manifest.attributes()
    }

    /// Reads all of the file and validates what opening does not: sizes, compression, digests, bools, indices, and in a
    /// file opened as canonical also the padding. The limits that the file was opened with apply. Memory does not
    /// depend on the size of the file. [`check`] returns all errors, and passes the content to the caller.
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
        self.find_shards(&crate::source::Sibling(path.as_ref()))
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

impl<S: ReadAt> sealed::Sealed for Archive<S> {}

impl<S: ReadAt> Source for Archive<S> {
    fn locate(&self, component: &Component<'_>) -> Result<Located<'_>, Error> {
        #[cfg(feature = "std")]
        if let (Some(name), Some(shards)) = (component.shard(), &self.shards) {
            return shards.locate(self.manifest.parts(), component, name);
        }
        self.source().locate(component)
    }

    #[cfg(feature = "std")]
    fn verify_shards(&self) -> Option<Result<(), Error>> {
        Some(self.shards.as_ref()?.verify(self.manifest.parts()))
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

/// Parses a file in memory by the steps of [`open`](mod@crate::open), and returns the range of its manifest and the
/// validated manifest.
fn parse(file: &[u8], options: &OpenOptions) -> Result<(Range<usize>, ValidatedManifest), Error> {
    let section = |range: &Range<u64>| {
        let start = usize::try_from(range.start).ok();
        start.zip(usize::try_from(range.end).ok()).map(|(start, end)| start..end)
    };
    let supply = BareError::misuse(Misuse::Supply);
    let fetch = |range| file.get(section(range)?);
    let length = u64_from_usize(file.len());
    let header = Container::header_range(length)?;
    let header = fetch(&header).ok_or(supply)?;
    let container = Container::read(header).map_err(|error| name_format(error.into(), header))?;
    let footer = container.footer_range(length)?;
    let bytes = fetch(&footer).ok_or(supply)?;
    let frame = Frame::read(container, bytes, footer, options.limit())?;
    let section = section(&frame.manifest).ok_or(supply)?;
    let manifest = file.get(section.clone()).ok_or(supply)?;
    Ok((section, ValidatedManifest::validate(&frame, manifest, options)?))
}

/// Adds the name of the file's format to `error`, if the first bytes of the file tell the format.
#[cfg(feature = "std")]
#[cold]
fn name_format(error: Error, header: &[u8]) -> Error {
    const FORMATS: [(&[u8], &str); 4] = [
        (b"GGUF", "it is a GGUF file, which `zten::formats` opens"),
        (b"\x93NUMPY", "it is a NumPy array, which `zten::formats` opens"),
        (
            b"PK\x03\x04",
            "it is a zip file; `zten::formats` opens `.npz` files and checkpoints of PyTorch",
        ),
        (b"\x89HDF", "it is an HDF5 file"),
    ];
    const SAFETENSORS: &str = "it may be a safetensors file, which `zten::formats` opens";
    // A safetensors file begins with the length of its header, 2 bytes to 100 MB. Read as a number, every magic is
    // larger.
    let length = header.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let is_length = length.is_some_and(|length| (2..=100_000_000).contains(&length));
    let known = FORMATS.into_iter().find(|(magic, _)| header.starts_with(magic));
    match known.map(|(_, hint)| hint).or(is_length.then_some(SAFETENSORS)) {
        None => error,
        Some(hint) => error.hinting(hint),
    }
}

/// Returns the error as it is: without `std`, errors have no texts of their own.
#[cfg(not(feature = "std"))]
fn name_format(error: Error, _: &[u8]) -> Error {
    error
}
