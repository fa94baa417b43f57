//! Writing data shards: files with blobs that another file, their root, refers to. v2 §7.

use super::blob_sink::BlobSink;
use super::declare::{NewObject, ShardRecord, StoredBlob};
use super::object::TensorWriter;
use super::settings::{Checksum, WriteOptions};
use super::sink::Sink;
use super::writer::Writer;
use crate::digest::Sum;
use crate::error::{BareError, Error, Misuse};
use crate::formats::ztensor::frame::Container;

/// A writer of a data shard, which writes each blob as it comes, and then the footer. v2 §7.2. No content is kept in
/// memory.
///
/// The root describes the content of the shard. A shard may be written together with its root, object by object
/// ([`Writer::object_in`]), or separately, even on another machine. The writer returns what a root needs to refer to
/// the shard and its blobs.
///
/// ```
/// use zten::write::{NewComponent, NewObject, WriteOptions, ShardWriter, Writer};
/// use zten::{DType, Generation};
///
/// let options = WriteOptions::default().generation(Generation::V2);
/// let mut shard = ShardWriter::new(Vec::new(), &options)?;
/// shard.write(&1.5_f32.to_le_bytes())?;
/// shard.write(&2.5_f32.to_le_bytes())?;
/// let blob = shard.end_blob()?;
/// let (file, record) = shard.finish()?; // to be stored in the folder of the root, as `STEM-00001.zt`
/// assert_eq!(file.len() as u64, record.size);
///
/// let mut writer = Writer::new(Vec::new(), &options)?;
/// writer.shard("00001", &record)?;
/// let blob = blob.in_shard("00001");
/// let data = [NewComponent::new("data", DType::F32, 2).stored(&blob)];
/// writer.add_object(&NewObject::custom("bias", &[2], "dense", &data), &[])?;
/// let root = writer.finish()?;
///
/// let archive = zten::Archive::from_bytes(&root)?;
/// assert_eq!(archive.tensor("bias")?.dense()?.shard(), Some("00001"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardWriter<S> {
    file: BlobSink<S>,
    /// Whether a blob has begun and has not been finished.
    within: bool,
}

impl<S: Sink> ShardWriter<S> {
    /// Begins a data shard, which is written to `sink`. Blobs get the digest of the settings. The file gets the same
    /// kind of digest, or an xxh3 if blobs get none.
    ///
    /// # Errors
    /// Any error of the sink; [`Misuse::NoShards`] if the settings are not for generation 2, or ask for canonical form;
    /// [`Misuse::Settings`].
    pub fn new(sink: S, settings: &WriteOptions) -> Result<Self, Error> {
        let target = settings.target()?;
        target.has_shards()?;
        let whole = match target.checksum {
            Checksum::None => Checksum::Xxh3,
            checksum => checksum,
        };
        Ok(Self { file: BlobSink::new(sink, target, whole.sum())?, within: false })
    }

    /// Writes `bytes` of the current blob, and begins a blob if there is none. A blob may be written in any number of
    /// pieces. Elements must be little-endian.
    ///
    /// # Errors
    /// Any error of the sink. The shard is then incomplete, and all further calls fail with [`Misuse::Aborted`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.begin_blob()?;
        self.file.write_blob(bytes)
    }

    /// Ends the current blob, which may be empty, and returns its position in the shard, its length and its digest.
    ///
    /// # Errors
    /// Any error of the sink.
    pub fn end_blob(&mut self) -> Result<StoredBlob, Error> {
        self.begin_blob()?;
        self.within = false;
        self.file.end_blob()
    }

    /// Begins a blob, if no blob has begun.
    fn begin_blob(&mut self) -> Result<(), BareError> {
        if !self.within {
            self.file.begin_blob(0, None, None)?;
            self.within = true;
        }
        Ok(())
    }

    /// Writes the footer and flushes the sink. Returns the result of the sink, and the record of the shard for its
    /// root.
    ///
    /// # Errors
    /// Any error of the sink; [`Misuse::Unfinished`] if a blob has not ended.
    pub fn finish(mut self) -> Result<(S::Output, ShardRecord), Error> {
        if self.within {
            return Err(BareError::misuse(Misuse::Unfinished).into());
        }
        // A data shard has no manifest: v2 §7.2.
        self.file.put(Container::V2.footer(0, &[]).as_bytes())?;
        let size = self.file.position;
        let (sink, sum) = self.file.end()?;
        // The digest of a shard is always computed.
        let digest = sum.as_ref().map(Sum::finish).ok_or(BareError::internal())?;
        Ok((sink, ShardRecord { size, digest }))
    }
}

/// Writing files with shards (2), which are other files that hold blobs of the file.
///
/// ```
/// use zten::write::{NewObject, WriteOptions, ShardWriter, Writer};
/// use zten::{DType, Generation};
///
/// let options = WriteOptions::default().generation(Generation::V2);
/// let mut writer = Writer::new(Vec::new(), &options)?;
/// let mut shard = ShardWriter::new(Vec::new(), &options)?;
/// let weight = NewObject::dense("weight", &[2, 2], DType::U8);
/// let mut object = writer.object_in("00001", &mut shard, &weight)?;
/// object.write_part("data", &[1, 2, 3, 4])?;
/// object.finish()?;
/// let (file, record) = shard.finish()?; // to be stored in the folder of the root, as `STEM-00001.zt`
/// writer.shard("00001", &record)?;
/// let root = writer.finish()?;
///
/// let archive = zten::Archive::from_bytes(&root)?;
/// let listed = archive.manifest().shards().next().unwrap();
/// assert_eq!((listed.name(), listed.size()), ("00001", file.len() as u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<S: Sink> Writer<S> {
    /// Lists a shard called `name`, in which components are: a data shard, or any other file of 2. The shard is not
    /// read. It may be listed before or after its components. A name that is listed twice, and a component whose shard is not
    /// listed, are errors of [`finish`](Self::finish).
    ///
    /// # Errors
    /// `shard-name`, `shard-size`, `digest-form`; [`Misuse::NoShards`]; [`OutOfMemory`](crate::error::OutOfMemory).
    pub fn shard(&mut self, name: &str, record: &ShardRecord) -> Result<(), Error> {
        Ok(self.draft.shard(name, record)?)
    }

    /// Begins an object as [`object`](Self::object) does, but writes its components to a shard, which must be
    /// [listed](Self::shard) with the name `name`. Several shards may be written at the same time.
    ///
    /// # Errors
    /// The errors of [`object`](Self::object); [`Misuse::NoShards`]; [`Misuse::Unfinished`] if a blob of the shard has
    /// not ended.
    pub fn object_in<'w, 'a>(
        &'w mut self,
        name: &'a str,
        shard: &'w mut ShardWriter<S>,
        object: &NewObject<'a>,
    ) -> Result<TensorWriter<'w, 'a, S>, Error> {
        self.file.target.has_shards()?;
        if shard.within {
            return Err(Misuse::Unfinished.into());
        }
        TensorWriter::begin(&mut self.draft, &mut shard.file, Some(name), object)
    }
}
