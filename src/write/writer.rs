//! The writer, which writes header, objects, manifest and footer in one pass.

use serde::Serialize;

use super::blob_sink::BlobSink;
use super::compress::Level;
use super::draft::Draft;
use super::encoded::Encoded;
use super::settings::WriteOptions;
use super::sink::Sink;
use crate::error::{BareError, Error, Misuse};
use crate::manifest::{Manifest, ManifestRef};

/// A writer of a file of 1.2 or 2, which writes each blob as it comes, and then the manifest and the footer. No byte is
/// written twice. Only the manifest is kept in memory and, if components share blobs, the SHA-256 of each blob.
///
/// An unfinished file has no footer, so no reader opens it.
///
/// ```
/// # #[cfg(feature = "files")] {
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("new.zt");
/// let mut file = zten::Writer::create(&path)?;
/// file.attributes(&std::collections::BTreeMap::from([("epoch", 12)]))?;
/// file.add("bias", &[2], &[1.5_f32, 2.5])?;
/// file.finish()?;
///
/// let archive = zten::open(&path)?;
/// assert_eq!(archive.tensor("bias")?.to_vec::<f32>()?, [1.5, 2.5]);
/// # }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Debug)]
pub struct Writer<S> {
    pub(super) file: BlobSink<S>,
    pub(super) draft: Draft,
    /// The compression level for tensors that are added together with their elements; `None` for no compression.
    pub(super) level: Option<Level>,
}

impl<S: Sink> Writer<S> {
    /// Begins a new file, which is written to `sink`.
    ///
    /// # Errors
    /// Any error of the sink; [`Misuse::Settings`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn new(sink: S, settings: &WriteOptions) -> Result<Self, Error> {
        let target = settings.target()?;
        let draft = Draft::new(settings.options(), target)?;
        Ok(Self { file: BlobSink::new(sink, target, None)?, draft, level: settings.level })
    }

    /// Appends to a file of 1.x or 2. The bytes that are written to `sink` belong after the first
    /// [`manifest.appends_at()`](Manifest::appends_at) bytes of the file: in 1.x after the bytes before its manifest,
    /// and in 2 after all of its bytes. The file keeps its generation, version, objects, attributes and unknown
    /// fields. Do not overwrite the old manifest of a 1.x file in place: until [`finish`](Self::finish) the file would
    /// have no manifest.
    ///
    /// The new file opens with the options that `manifest` was opened with, including tolerances, or with the limits of
    /// the settings if these give limits. (The canonical form is not kept.) Objects that are added are validated
    /// without tolerances.
    ///
    /// A compressed component whose decoded size is not in the manifest (1.1) counts against `limit-decoded-total` with
    /// the largest size that it can have. If no room is left for further objects, copy the file with
    /// [`Copier`](super::Copier), which writes the sizes.
    ///
    /// # Errors
    /// Any error of the sink; [`Misuse::Append`] if the file is of 0.1, of another format or a data shard, or the settings ask for
    /// canonical form; [`Misuse::Settings`] if the generation of the file does not have what the settings ask for;
    /// `limit-decoded` if a compressed component of the file exceeds the limit; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn append(
        sink: S,
        manifest: &Manifest<impl AsRef<[u8]>>,
        settings: &WriteOptions,
    ) -> Result<Self, Error> {
        Self::behind(manifest.appends_at(), sink, manifest.parts(), settings)
    }

    /// Writes a new edition of a file, as [`append`](Self::append) does, after the first
    /// [`manifest.edits_at()`](Manifest::edits_at) bytes of the file: these hold its blobs, but not the manifest that
    /// is replaced. Write the new file at another path, because a reader may have the old manifest open.
    ///
    /// ```
    /// use zten::Writer;
    /// let mut file = Writer::to(Vec::new())?;
    /// file.add("old", &[2], &[1.5_f32, 2.5])?;
    /// let old = zten::Archive::from_bytes(file.finish()?)?;
    ///
    /// let mut edition = Writer::edit(Vec::new(), old.manifest(), &Default::default())?;
    /// edition.rename(|name| (name == "old").then_some("new"))?;
    /// let kept = old.manifest().edits_at() as usize;
    /// let new = [&old.bytes()[..kept], &edition.finish()?].concat();
    /// assert_eq!(zten::Archive::from_bytes(new)?.tensor("new")?.to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`append`](Self::append).
    pub fn edit(
        sink: S,
        manifest: &Manifest<impl AsRef<[u8]>>,
        settings: &WriteOptions,
    ) -> Result<Self, Error> {
        Self::behind(manifest.edits_at(), sink, manifest.parts(), settings)
    }

    /// Creates a writer that continues a file at the offset `position`. The bytes before this offset stay as they are, and
    /// contain the blobs that `manifest` lists.
    fn behind(
        position: u64,
        sink: S,
        manifest: ManifestRef<'_>,
        settings: &WriteOptions,
    ) -> Result<Self, Error> {
        let misuse = BareError::misuse(Misuse::Append);
        let frame = manifest.frame().ok_or(misuse)?;
        if settings.canonical || frame.is_data_shard() {
            return Err(misuse.into());
        }
        let target = settings
            .target_of(manifest.dialect().and_then(|dialect| dialect.writing).ok_or(misuse)?)?;
        let draft = Draft::from_manifest(manifest, settings, target)?;
        let mut file = BlobSink::at(sink, target, position);
        file.pad()?;
        Ok(Self { file, draft, level: settings.level })
    }

    /// Renames the objects that have been written so far: each object whose name `new` returns a name for gets that
    /// name.
    ///
    /// # Errors
    /// `duplicate-name` if two objects would get the same name, and [`Misuse::Unfinished`] if an object has not ended:
    /// then all objects keep their names; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn rename<'n>(&mut self, new: impl Fn(&str) -> Option<&'n str>) -> Result<(), Error> {
        Ok(self.draft.rename(new)?)
    }

    /// Sets the attributes of the file, and replaces earlier ones. `attributes` may be any value that serde serializes
    /// as a map with text keys, such as a struct. Attributes can be set at any time.
    ///
    /// # Errors
    /// `attributes-type`, `key-type`, `duplicate-key`, `limit-keys`, `limit-depth` and the rules `cbor-…`, if the value
    /// cannot be attributes; in canonical form and in 2, `duplicate-key` also if a map within a value has duplicate keys;
    /// [`OutOfMemory`](crate::error::OutOfMemory). After an error the file keeps its earlier attributes.
    pub fn attributes<T: Serialize + ?Sized>(&mut self, attributes: &T) -> Result<(), Error> {
        self.attributes_encoded(&Encoded::from_value(attributes)?)
    }

    /// Sets the attributes of the file from encoded attributes, as [`attributes`](Self::attributes) does.
    ///
    /// # Errors
    /// The errors of [`attributes`](Self::attributes).
    pub fn attributes_encoded(&mut self, attributes: &Encoded) -> Result<(), Error> {
        Ok(self.draft.attributes(attributes)?)
    }

    /// Writes the manifest and the footer, and [finishes](Sink::finish) the sink. A file that was
    /// [created](Self::create) by its path is published in one step. Other sinks are returned.
    ///
    /// Before that, the manifest is opened as a reader would open it, so that every finished file opens: with the
    /// limits of the settings, with the tolerances of the file that is appended to, and in canonical form if the
    /// settings ask for it. This takes as much memory as opening the file, in addition to the manifest.
    ///
    /// # Errors
    /// Any error of the sink; [`Misuse::Unfinished`] if an object has not ended;
    /// [`OutOfMemory`](crate::error::OutOfMemory). Errors of opening the file that depend on all of it:
    /// `limit-manifest`, `limit-keys` of the root, `limit-decoded-total`, `limit-shards`; `shard-reference`,
    /// `blob-bounds` and `blob-overlap` of [`stored`](super::NewComponent::stored) components, and `duplicate-key` if a
    /// shard is listed twice. If the settings give limits and the file that is appended to exceeds them, the rules
    /// `limit-…`. After these errors nothing is written.
    pub fn finish(mut self) -> Result<S::Output, Error> {
        let (manifest, footer) = self.draft.finish(self.file.position)?;
        self.file.put(manifest.as_bytes())?;
        self.file.put(footer.as_bytes())?;
        Ok(self.file.end()?.0)
    }
}
