//! Opening patches, and checking everything in them that can be checked without the base.

use std::collections::HashSet;

use zten::attributes::Attributes;
use zten::manifest::Manifest;
use zten::shards::Source;
use zten::write::Encoded;
use zten::{Error, Generation, Tensor};
use zten_report::catalog::{PATCH_FILE, PATCH_RECORD, PATCH_STREAM};

use crate::failure::{broken, no_memory};
use crate::model::Model;
use crate::record::{ATTRIBUTES, Change, KEY, PatchRecord};
use crate::streams::{PatchTensor, Positions, StreamReader, Streams, part};
use crate::{Sha256, frame::Cursor};

/// An open patch. Its record, which describes the changes of each tensor, has been validated, and so have the lengths of the
/// streams, which hold the new elements. The bytes in the streams are checked only when the patch is applied.
#[derive(Clone, Debug)]
pub struct Patch<'a> {
    pub(crate) record: PatchRecord<'a>,
    /// For each change in `record`, the position in each stream at which the bytes of the change begin.
    pub(crate) begins: Vec<Positions>,
    /// The tensors that the patch stores whole, each with its name in the result.
    pub(crate) whole: Vec<(&'a str, Tensor<'a>)>,
    pub(crate) streams: Streams<'a>,
    pub(crate) attributes: Option<Encoded>,
    pub(crate) model: Model<'a>,
}

impl<'a> Patch<'a> {
    /// Opens the patch whose file has this `manifest`, and checks the description of its changes. The streams and whole tensors are
    /// read from `source` when the patch is applied.
    ///
    /// # Errors
    /// The file breaks the rule `patch-file`, `patch-version`, `patch-record` or `patch-stream`; or
    /// [`OutOfMemory`](zten::error::OutOfMemory).
    pub fn open<B: AsRef<[u8]>>(
        manifest: &'a Manifest<B>,
        source: &'a dyn Source,
    ) -> Result<Self, Error> {
        if manifest.generation() != Some(Generation::V2) || manifest.shards().len() > 0 {
            let sentence = "this is not a patch: a patch is one zTensor file of generation 2";
            return Err(broken(&PATCH_FILE, sentence));
        }
        let model = Model::new(manifest, source)?;
        let all = manifest.attributes();
        let record = PatchRecord::read(&all)?;
        let attributes = read_attributes(&all)?;
        let mut streams = Streams::new();
        let mut whole = Vec::new();
        let mut chunks = Vec::new();
        for tensor in &model.tensors {
            match part(tensor.name()) {
                Some(PatchTensor::Chunk { ordinal, number }) => {
                    chunks.try_reserve(1).map_err(|_| no_memory())?;
                    chunks.push((ordinal, number, tensor));
                }
                Some(PatchTensor::Whole(name)) => {
                    whole.try_reserve(1).map_err(|_| no_memory())?;
                    whole.push((name, *tensor));
                }
                None => {
                    let name = zten::escape::quoted(tensor.name());
                    let sentence = format!(
                        "the tensor {name} of the patch is neither a chunk of a stream nor a tensor that is stored whole"
                    );
                    return Err(broken(&PATCH_STREAM, sentence));
                }
            }
        }
        chunks.sort_unstable_by_key(|(ordinal, number, _)| (*ordinal, *number));
        for (ordinal, number, tensor) in chunks {
            streams.add(tensor, ordinal, number)?;
        }
        whole.sort_unstable_by_key(|(name, _)| (name.len(), *name));
        check_names(&record, &whole)?;
        let begins = begins(&record.changed, &streams)?;
        Ok(Self { record, begins, whole, streams, attributes, model })
    }

    /// Creates a reader of the streams of this patch, which has its own count of the bytes that it may decode.
    pub(crate) fn reader(&self) -> StreamReader<'_, 'a> {
        StreamReader::new(&self.streams, self.model.verifier.clone())
    }

    /// Returns the identity of the tensors to which the patch can be applied, as `zten hash --id` prints it.
    pub fn base(&self) -> Sha256 {
        self.record.base
    }

    /// Returns the identity of the tensors that result from applying the patch, as `zten hash --id` prints it.
    pub fn result(&self) -> Sha256 {
        self.record.result
    }

    /// Returns the format of the file that the patch was made for, such as `safetensors` or `zTensor 2`.
    pub fn format(&self) -> &'a str {
        self.record.format
    }

    /// Returns the changes of components whose type and shape stay, in the order of the patch.
    pub fn changed(&self) -> &[Change<'a>] {
        &self.record.changed
    }

    /// Returns the names of the tensors of the base that the patch removes.
    pub fn removed(&self) -> &[&'a str] {
        &self.record.removed
    }

    /// Returns the old and the new name of each tensor of the base that the patch renames.
    pub fn renamed(&self) -> &[[&'a str; 2]] {
        &self.record.renamed
    }

    /// Returns the tensors that the patch stores whole, each with its name in the result. They are the tensors that are added, and
    /// those whose type, shape or attributes change.
    pub fn whole(&self) -> impl ExactSizeIterator<Item = (&'a str, Tensor<'a>)> + '_ {
        self.whole.iter().copied()
    }

    /// Returns the attributes that the file of the result has, or `None` if the patch does not change the attributes of the base.
    pub fn attributes(&self) -> Option<Attributes<'_>> {
        self.attributes.as_ref().map(Encoded::entries)
    }

    /// Returns the generation of zTensor in which the result is written if the patch was made for a zTensor file: 2 if that file
    /// had generation 2, and otherwise 1.2, because older generations are not written. Returns `None` for a file of another format.
    pub fn generation(&self) -> Option<Generation> {
        match self.record.format.strip_prefix("zTensor ")? {
            "2" => Some(Generation::V2),
            _ => Some(Generation::V1_2),
        }
    }
}

/// Returns the attributes of the result, which are an entry of `all`, the attributes of the patch file. Returns `None` if there is
/// no such entry. Fails if this entry is not a map, and if `all` has any other entry than this one and the description of the
/// changes.
fn read_attributes(all: &Attributes<'_>) -> Result<Option<Encoded>, Error> {
    if let Some((key, _)) = all.clone().find(|(key, _)| !matches!(*key, KEY | ATTRIBUTES)) {
        let sentence = format!("the patch has the unknown attribute {}", zten::escape::quoted(key));
        return Err(broken(&PATCH_RECORD, sentence));
    }
    let Some(item) = all.item(ATTRIBUTES) else { return Ok(None) };
    if !matches!(item.value(), zten::attributes::Value::Map(_)) {
        return Err(broken(&PATCH_RECORD, "the attributes of the result are not a map"));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(item.as_bytes().len()).map_err(|_| no_memory())?;
    bytes.extend_from_slice(item.as_bytes());
    Ok(Some(Encoded::from_cbor(bytes)))
}

/// Checks that no tensor is both changed by `record` and stored whole.
fn check_names(record: &PatchRecord<'_>, whole: &[(&str, Tensor<'_>)]) -> Result<(), Error> {
    let mut names = HashSet::new();
    names.try_reserve(whole.len()).map_err(|_| no_memory())?;
    names.extend(whole.iter().map(|(name, _)| *name));
    match record.changed.iter().find(|change| names.contains(change.name)) {
        None => Ok(()),
        Some(change) => {
            let name = zten::escape::quoted(change.name);
            let sentence = format!("the patch both changes the tensor {name} and stores it whole");
            Err(broken(&PATCH_RECORD, sentence))
        }
    }
}

/// Returns, for each change, the position in each stream where the bytes of the change begin. The bytes of the changes follow each
/// other in the order of `changed`. Fails unless they fill the streams exactly.
fn begins(changed: &[Change<'_>], streams: &Streams<'_>) -> Result<Vec<Positions>, Error> {
    let mut begins = Vec::new();
    begins.try_reserve_exact(changed.len()).map_err(|_| no_memory())?;
    let mut next = Positions::default();
    for change in changed {
        begins.push(next);
        next = Cursor::new(next, change.lengths).end;
    }
    if next != streams.lengths() {
        let sentence = "the streams have more or fewer bytes than the changes need";
        return Err(broken(&PATCH_STREAM, sentence));
    }
    Ok(begins)
}
