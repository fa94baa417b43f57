//! The writer: header, objects, manifest, footer, in one pass.

use super::declare::{Encoded, NewObject};
use super::draft::Draft;
use super::settings::{Settings, Target};
use super::shared::Blobs;
use super::sink::{Sink, WriteError};
use crate::error::{Error, Misuse};
use crate::manifest::Manifest;
use crate::num::{Assured as _, u64_from_usize};

/// Writes a file of 1.2 or 2: blobs as they come, then the manifest and the footer. Nothing is written
/// twice, and nothing but the manifest is kept in memory.
///
/// A file that was not finished has no footer, and no reader takes it for a file.
///
/// ```
/// use zten::StorageType;
/// use zten::write::{NewObject, Settings, Writer};
///
/// let mut writer = Writer::new(Vec::new(), &Settings::default())?;
/// let mut object = writer.object(&NewObject::dense("bias", &[2], StorageType::F32))?;
/// object.write("data", &1.5_f32.to_le_bytes())?;
/// object.write("data", &2.5_f32.to_le_bytes())?;
/// object.end()?;
/// let file = writer.finish()?;
///
/// let archive = zten::Archive::open(&file)?;
/// let view = archive.get("bias").unwrap().dense()?.bind(&file)?;
/// assert!(view.elements::<f32>()?.eq([1.5, 2.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<S> {
    sink: S,
    /// Where the next byte goes.
    position: u64,
    pub(super) draft: Draft,
    /// An object has begun and not ended.
    within: bool,
    /// What components share, where they do.
    pub(super) blobs: Blobs,
}

impl<S: Sink> Writer<S> {
    /// Begins a file.
    ///
    /// # Errors
    /// Whatever the sink fails with; `limit-keys` and `limit-manifest` where the limits allow no
    /// file at all; [`Misuse::Settings`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn new(sink: S, settings: &Settings) -> Result<Self, WriteError<S::Error>> {
        let target = settings.target()?;
        let mut writer = Self::at(sink, Draft::new(settings, target)?, 0);
        writer.put(&target.container().header())?;
        writer.pad()?;
        Ok(writer)
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
    /// Where the manifest does not say how many bytes a compressed component of the file decodes
    /// to (1.1), the most that there can be are counted against `limit-decoded-total`. If that
    /// leaves no room for another, a copy made by [`Copier`](super::Copier) says the sizes.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Append`] where the file is of 0.1 or a data shard, or
    /// canonical form is asked for; [`Misuse::Settings`] where its generation has not what they say; where the settings give limits, any rule `limit-…` that the file itself
    /// breaks; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn append(
        sink: S,
        manifest: &Manifest<impl AsRef<[u8]>>,
        settings: &Settings,
    ) -> Result<Self, WriteError<S::Error>> {
        let manifest = manifest.parts();
        let misuse = Error::misuse(Misuse::Append);
        let frame = manifest.frame();
        if settings.is_canonical() || frame.is_data_shard() {
            return Err(misuse.into());
        }
        let target = settings.target_of(manifest.dialect().writing.ok_or(misuse)?)?;
        let draft = Draft::from_manifest(manifest, settings, target)?;
        let mut writer = Self::at(sink, draft, frame.appends_at());
        writer.pad()?;
        Ok(writer)
    }

    fn at(sink: S, draft: Draft, position: u64) -> Self {
        Self { sink, position, draft, within: false, blobs: Blobs::default() }
    }

    /// Gives the file attributes, in place of those that it has. They may come at any time.
    ///
    /// # Errors
    /// `attributes-type`, `key-type`, `duplicate-key`, `limit-keys`, `limit-depth` and the rules
    /// `cbor-…`, where they are no attributes; in canonical form, `duplicate-key` also where a
    /// key stands twice in one of the values. `limit-keys` where the root of a file that is
    /// appended to has no room for another key; `limit-manifest`; [`OutOfMemory`](crate::error::OutOfMemory). The file
    /// keeps those that it has.
    pub fn attributes(&mut self, attributes: &Encoded) -> Result<(), Error> {
        self.draft.attributes(attributes)
    }

    /// Declares an object, which has to end before anything else is written.
    pub(super) fn declare(&mut self, object: &NewObject<'_>) -> Result<(), Error> {
        if self.within {
            return Err(Error::misuse(Misuse::Unfinished));
        }
        self.draft.declare(object, self.position)?;
        self.within = true;
        Ok(())
    }

    /// An object has ended.
    pub(super) fn ended(&mut self) -> Result<(), Error> {
        self.draft.ended()?;
        self.within = false;
        Ok(())
    }

    /// Writes manifest and footer, and returns the sink, which has been flushed.
    ///
    /// Before that the manifest is opened, as a reader opens it: a file that is finished is one
    /// that opens, with the limits of the settings, the tolerances that a file was opened with
    /// that is appended to, and in canonical form if this was asked for. That takes the memory
    /// of opening, beside the manifest.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Unfinished`] where an object has not ended;
    /// [`OutOfMemory`](crate::error::OutOfMemory). What opening the file would fail with: `limit-manifest`, and
    /// `duplicate-name` where names were chosen to hide it until now. `limit-decoded-total` where
    /// the file has become shorter, as its old manifest was spelled at length.
    pub fn finish(mut self) -> Result<S, WriteError<S::Error>> {
        if self.within {
            return Err(Error::misuse(Misuse::Unfinished).into());
        }
        let end = self.draft.finish(self.position)?;
        for bytes in [end.manifest.as_bytes(), end.footer.as_bytes()] {
            self.sink.write(bytes).map_err(WriteError::Sink)?;
        }
        self.sink.flush().map_err(WriteError::Sink)?;
        Ok(self.sink)
    }

    pub(super) fn target(&self) -> &Target {
        self.draft.target()
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError<S::Error>> {
        let position = self.position.checked_add(u64_from_usize(bytes.len()));
        self.position = position.ok_or(Error::misuse(Misuse::Length))?;
        self.sink.write(bytes).map_err(WriteError::Sink)
    }

    /// Fills up to the next place for a blob with zeros.
    pub(super) fn pad(&mut self) -> Result<(), WriteError<S::Error>> {
        const ZEROS: [u8; 4096] = [0; 4096];
        let next = self.target().aligned(self.position).ok_or(Error::misuse(Misuse::Length))?;
        while self.position < next {
            let left = next.saturating_sub(self.position);
            let length = usize::try_from(left).unwrap_or(ZEROS.len()).min(ZEROS.len());
            self.put(ZEROS.get(..length).assured())?;
        }
        Ok(())
    }
}
