//! The writer: header, objects, manifest, footer, in one pass.

use serde::Serialize;

use super::blob_sink::BlobSink;
use super::compress::Level;
use super::draft::Draft;
use super::encoded::Encoded;
use super::settings::WriteOptions;
use super::sink::Sink;
use crate::error::{BareError, Error, Misuse};
use crate::manifest::{Manifest, ManifestRef};

/// Writes a file of 1.2 or 2: blobs as they come, then the manifest and the footer. Nothing is written
/// twice, and nothing but the manifest is kept in memory.
///
/// A file that was not finished has no footer, and no reader takes it for a file.
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
    /// The level of compression of what is added by its elements.
    pub(super) level: Option<Level>,
}

impl<S: Sink> Writer<S> {
    /// Begins a file.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Settings`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn new(sink: S, settings: &WriteOptions) -> Result<Self, Error> {
        let target = settings.target()?;
        let draft = Draft::new(settings.options(), target)?;
        Ok(Self { file: BlobSink::new(sink, target, None)?, draft, level: settings.level })
    }

    /// Goes on with a file of 1.x or 2: what `sink` is given goes behind the first
    /// [`manifest.appends_at()`](Manifest::appends_at) bytes of the file, which in 1.x are those before
    /// its manifest, and in 2 all of them. The file keeps its generation, version, objects, attributes
    /// and unknown fields; the old manifest of a 1.x file must not be overwritten in place, for until
    /// [`finish`](Self::finish) there would be none.
    ///
    /// The file opens as before: with the options that `manifest` was opened with, tolerances
    /// among them, or with the limits of the settings if those give any. (The canonical form is
    /// not kept.) What is added is validated without tolerances.
    ///
    /// A compressed component whose decoded size the manifest does not say (1.1) counts against `limit-decoded-total` with
    /// the most bytes that there can be. If that
    /// leaves no room for another, a copy made by [`Copier`](super::Copier) says the sizes.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Append`] where the file is of 0.1 or a data shard, or
    /// canonical form is asked for; [`Misuse::Settings`] where its generation has not what they say;
    /// [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn append(
        sink: S,
        manifest: &Manifest<impl AsRef<[u8]>>,
        settings: &WriteOptions,
    ) -> Result<Self, Error> {
        Self::behind(manifest.appends_at(), sink, manifest.parts(), settings)
    }

    /// The same as [`append`](Self::append), for what goes behind the first [`manifest.edits_at()`](Manifest::edits_at)
    /// bytes of the file: its blobs, and no manifest that is replaced. The new file must have another place: of this one a
    /// reader may have the manifest open.
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

    /// Goes on with a file of which the bytes before `position` are kept.
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
        let target = settings.target_of(manifest.dialect().writing.ok_or(misuse)?)?;
        let draft = Draft::from_manifest(manifest, settings, target)?;
        let mut file = BlobSink::at(sink, target, position);
        file.pad()?;
        Ok(Self { file, draft, level: settings.level })
    }

    /// Renames the objects that there are so far: each gets the name that `new` returns for its own, if it returns one.
    ///
    /// # Errors
    /// `duplicate-name` where two objects get one name, and [`Misuse::Unfinished`] where an object has not ended: all keep
    /// their names; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn rename<'n>(&mut self, new: impl Fn(&str) -> Option<&'n str>) -> Result<(), Error> {
        Ok(self.draft.rename(new)?)
    }

    /// Gives the file attributes, in place of those that it has: any value that serde can take apart, as a struct or a map
    /// with text as keys. They may come at any time.
    ///
    /// # Errors
    /// `attributes-type`, `key-type`, `duplicate-key`, `limit-keys`, `limit-depth` and the rules
    /// `cbor-…`, where they are no attributes; in canonical form, `duplicate-key` also where a
    /// key stands twice in one of the values; [`OutOfMemory`](crate::error::OutOfMemory). The file
    /// keeps those that it has.
    pub fn attributes<T: Serialize + ?Sized>(&mut self, attributes: &T) -> Result<(), Error> {
        self.attributes_encoded(&Encoded::from_value(attributes)?)
    }

    /// The same as [`attributes`](Self::attributes), of attributes that are encoded.
    ///
    /// # Errors
    /// The errors of [`attributes`](Self::attributes).
    pub fn attributes_encoded(&mut self, attributes: &Encoded) -> Result<(), Error> {
        Ok(self.draft.attributes(attributes)?)
    }

    /// Writes manifest and footer, and [finishes](Sink::finish) the sink: a file that was [created](Self::create) by its
    /// path is published, whole; others are returned.
    ///
    /// Before that the manifest is opened, as a reader opens it: a file that is finished is one
    /// that opens, with the limits of the settings, the tolerances that a file was opened with
    /// that is appended to, and in canonical form if this was asked for. That takes the memory
    /// of opening, beside the manifest.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Unfinished`] where an object has not ended;
    /// [`OutOfMemory`](crate::error::OutOfMemory). Whatever opening the file would fail with, and only all of it
    /// shows: `limit-manifest`, `limit-keys` of the root, `limit-decoded-total`, `limit-shards`; `shard-reference`,
    /// `blob-bounds` and `blob-overlap` of components that are [`stored`](super::NewComponent::stored), and
    /// `duplicate-key` where a shard is listed twice. Of a file that is appended to, any rule `limit-…` that it
    /// breaks itself, where the settings give limits. Nothing is written then.
    pub fn finish(mut self) -> Result<S::Output, Error> {
        let (manifest, footer) = self.draft.finish(self.file.position)?;
        self.file.put(manifest.as_bytes())?;
        self.file.put(footer.as_bytes())?;
        Ok(self.file.end()?.0)
    }
}
