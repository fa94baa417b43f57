//! A root and its shards: those that are there already, and those that are written with it. v2 §7.1.

use alloc::string::String;

use super::declare::NewObject;
use super::object::ObjectWriter;
use super::shard_list::ShardRecord;
use super::shard_writer::{NamedShard, ShardWriter};
use super::sink::{Sink, WriteError};
use super::writer::Writer;
use crate::error::{Error, Misuse, OutOfMemory};
use crate::num::{len_u32, usize_from_u32};

/// A shard that a [`Writer`] has [begun](Writer::begin_shard), and of no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenShard(u32);

/// Shards (2): other files that hold blobs of this one.
///
/// ```
/// use zten::write::{NewObject, Settings, Writer};
/// use zten::{Generation, StorageType};
///
/// let settings = Settings::default().generation(Generation::V2);
/// let mut writer = Writer::new(Vec::new(), &settings)?;
/// let first = writer.begin_shard("00001", Vec::new())?;
/// let weight = NewObject::dense("weight", &[2, 2], StorageType::U8);
/// let mut object = writer.object_in(first, &weight)?;
/// object.write("data", &[1, 2, 3, 4])?;
/// object.end()?;
/// let shard = writer.end_shard(first)?; // to be stored beside the root, as `STEM-00001.zt`
/// let root = writer.finish()?;
///
/// let archive = zten::Archive::open(&root)?;
/// let listed = archive.shards().next().unwrap();
/// assert_eq!((listed.name(), listed.size()), ("00001", shard.len() as u64));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl<S: Sink> Writer<S> {
    /// Lists a file that is there already, so that components can be [`stored`] in it: a data shard, or
    /// any other file of 2. Of it nothing is read.
    ///
    /// [`stored`]: super::NewComponent::stored
    ///
    /// # Errors
    /// `shard-name`, `shard-size`, `digest-form`, `limit-shards`, `limit-manifest`;
    /// [`Misuse::NoShards`], [`Misuse::ShardName`]; [`OutOfMemory`].
    pub fn shard(&mut self, name: &str, record: &ShardRecord) -> Result<(), Error> {
        self.draft.begin_shard(name)?;
        self.draft.end_shard(name, record).inspect_err(|_| self.draft.abandon_shard(name))
    }

    /// Begins a data shard of that name, which has to [end](Self::end_shard) before the file does. Any
    /// number may be written side by side. Its blobs lie as those of the file do; the digest of the
    /// whole shard is of the algorithm of those of its components, or an xxh3 where they get none.
    ///
    /// # Errors
    /// Whatever the sink fails with; `shard-name`, `limit-shards`, `limit-manifest`;
    /// [`Misuse::NoShards`], [`Misuse::ShardName`]; [`OutOfMemory`].
    pub fn begin_shard(&mut self, name: &str, sink: S) -> Result<OpenShard, WriteError<S::Error>> {
        self.draft.begin_shard(name)?;
        let begun = self.open_shard(name, sink);
        begun.inspect_err(|_| self.draft.abandon_shard(name))
    }

    fn open_shard(&mut self, name: &str, sink: S) -> Result<OpenShard, WriteError<S::Error>> {
        let no_memory = |_| Error::from(OutOfMemory);
        self.shards.try_reserve(1).map_err(no_memory)?;
        let mut owned = String::new();
        owned.try_reserve_exact(name.len()).map_err(no_memory)?;
        owned.push_str(name);
        let writer = ShardWriter::with_target(sink, *self.file.target())?;
        self.draft.grown(writer.file.position());
        self.shards.push(Some(NamedShard { name: owned, writer }));
        Ok(OpenShard(len_u32(self.shards.len()).saturating_sub(1)))
    }

    /// Begins an object as [`object`](Self::object) does, whose components go to that shard.
    ///
    /// # Errors
    /// As [`object`](Self::object); [`Misuse::UnknownShard`] where the shard has ended.
    pub fn object_in<'a>(
        &mut self,
        shard: OpenShard,
        object: &NewObject<'a>,
    ) -> Result<ObjectWriter<'_, 'a, S>, Error> {
        let shard = self.shards.get_mut(usize_from_u32(shard.0)).and_then(Option::as_mut);
        let NamedShard { name, writer } = shard.ok_or(Error::misuse(Misuse::UnknownShard))?;
        self.draft.declare(object, self.file.position())?;
        ObjectWriter::begin(&mut self.draft, &mut writer.file, Some(name), object)
    }

    /// Writes the footer of a shard, and returns its sink, which has been flushed.
    ///
    /// # Errors
    /// Whatever the sink fails with; [`Misuse::Unfinished`] where an object has not ended;
    /// [`Misuse::UnknownShard`] where the shard has ended already; [`OutOfMemory`].
    pub fn end_shard(&mut self, shard: OpenShard) -> Result<S, WriteError<S::Error>> {
        if self.draft.is_within_object() {
            return Err(Error::misuse(Misuse::Unfinished).into());
        }
        let shard = self.shards.get_mut(usize_from_u32(shard.0)).and_then(Option::take);
        let NamedShard { name, writer } = shard.ok_or(Error::misuse(Misuse::UnknownShard))?;
        self.draft.ended_shard(writer.file.position());
        let (sink, record) = writer.finish()?;
        self.draft.end_shard(&name, &record)?;
        Ok(sink)
    }
}
