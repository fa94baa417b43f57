//! JSON descriptions of an archive, its objects and their components: see `docs/json.md`.

use std::borrow::Cow;
use std::path::Path;

use serde::{Serialize, Serializer};
use zten::conventions::Convention;
use zten::element::ByteOrder;
use zten::element::StorageType;
use zten::manifest::{ElementType, Finding};
use zten::shards::Shard;
use zten::{DType, Encoding, Generation, Layout, Manifest, Tensor};

use crate::blocks::{Blocks, block_name, reason, state};
use crate::notation;
use crate::totals::FileTotals;
use zten::finding::format_name;
use zten::json::value;
use zten::json::{self, Integer, List, Schema};
use zten::network::file_name;

/// Returns the JSON document that describes the archive with the header `manifest`, and those of its objects that the iterator
/// `objects` yields. The function `objects` is called again for each pass over them, so that no list of objects is kept in memory.
/// `path` is the path of the archive's file, and `None` for an archive in memory.
pub fn archive<'a, I: Iterator<Item = Tensor<'a>>>(
    path: Option<&'a Path>,
    manifest: &'a Manifest<impl AsRef<[u8]>>,
    objects: impl Fn() -> I,
) -> impl Serialize {
    #[derive(Serialize)]
    struct Archive<'a, S: Serialize, O: Serialize> {
        schema: Schema,
        file: Option<Cow<'a, str>>,
        format: &'a str,
        generation: Option<&'a str>,
        version: Option<String>,
        attributes: Option<value::Map<'a>>,
        data_shard: bool,
        left_out: Option<String>,
        shards: S,
        objects: O,
        totals: FileTotals,
    }
    Archive {
        schema: Schema,
        file: path.map(file_name),
        format: format_name(manifest),
        generation: manifest.generation().map(Generation::as_str),
        version: notation::version(manifest),
        attributes: manifest.own_attributes().map(value::Map),
        data_shard: manifest.is_data_shard(),
        left_out: left_out(manifest),
        shards: List(move || manifest.shards().map(shard)),
        totals: FileTotals::of(objects()),
        objects: List(move || objects().map(DescribedObject::<true>)),
    }
}

/// Returns the sentence that says which values of a file its archive leaves out, because zten has no form for them; `None` if
/// nothing is left out.
pub fn left_out(manifest: &Manifest<impl AsRef<[u8]>>) -> Option<String> {
    Some(left_out_note(manifest)?.error().sentence().to_string())
}

/// Returns the name and the kind, as in `"epoch" (datetime.date)`, of each value that the archive of a PyTorch checkpoint leaves
/// out. Further texts are not kept once these texts take 1 MiB of memory, so the last values of a large checkpoint may be missing.
/// The slice is empty if nothing is left out.
pub fn left_out_names(manifest: &Manifest<impl AsRef<[u8]>>) -> &[String] {
    left_out_note(manifest).map_or(&[], Finding::names)
}

/// Returns the note that says which values of a checkpoint its archive leaves out, or `None` if there is no such note.
fn left_out_note(manifest: &Manifest<impl AsRef<[u8]>>) -> Option<&Finding> {
    manifest.findings().iter().find(|note| note.error().rule() == Some("torch-left-out"))
}

/// Returns the JSON description of `shard`: its name, its size in bytes, and its digest if the header gives one.
fn shard(shard: Shard<'_>) -> impl Serialize {
    #[derive(Serialize)]
    struct Listed<'a> {
        name: &'a str,
        size: Integer,
        digest: Option<Digest<'a>>,
    }
    let digest = shard.digest().map(|digest| Digest {
        algorithm: digest.algorithm(),
        text: digest.to_string().into(),
        verifiable: is_verifiable(&digest),
    });
    Listed { name: shard.name(), size: Integer(shard.size()), digest }
}

/// The JSON description of an object with its components, and with its attributes if `ATTRIBUTES` is true.
#[derive(Clone, Copy, Debug)]
pub struct DescribedObject<'a, const ATTRIBUTES: bool>(pub Tensor<'a>);

impl<const ATTRIBUTES: bool> Serialize for DescribedObject<'_, ATTRIBUTES> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if ATTRIBUTES {
            fields(&self.0, self.0.own_attributes().map(value::Map), serializer)
        } else {
            fields(&self.0, (), serializer)
        }
    }
}

fn fields<S: Serializer>(
    object: &Tensor<'_>,
    attributes: impl Serialize,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Fields<'a, L: Serialize, A: Serialize, C: Serialize> {
        name: &'a str,
        ordinal: u32,
        layout: &'a str,
        layout_known: bool,
        state: &'static str,
        reason: Option<&'static str>,
        shape: L,
        #[serde(serialize_with = "json::integer_or_null")]
        bits: Option<u64>,
        #[serde(serialize_with = "json::integer_or_null")]
        group_size: Option<u64>,
        attributes: A,
        components: C,
    }
    let blocks = Blocks::of(object);
    let state = state(object);
    Fields {
        name: object.name(),
        ordinal: object.ordinal(),
        layout: object.layout_name(),
        layout_known: is_known(object),
        state: state.name(),
        reason: reason(state),
        shape: List(|| object.shape().iter().copied().map(Integer)),
        bits: blocks.and_then(|blocks| blocks.bits),
        group_size: blocks.map(|blocks| blocks.size),
        attributes,
        components: List(|| object.components().map(|one| Component::new(&one))),
    }
    .serialize(serializer)
}

/// Returns whether zten knows the layout of `object`: a layout of zTensor, a block type of GGUF, or a convention by which several
/// tensors store a quantized one.
pub fn is_known(object: &Tensor<'_>) -> bool {
    let is_known = object.layout() != Layout::Unknown || block_name(object).is_some();
    is_known || Convention::of(object).is_some()
}

/// The description of a component of an object, which becomes an entry of `components` in the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct Component<'a> {
    /// The role of the component in its object, such as `data` or `values`.
    pub role: &'a str,
    /// The type of the elements, as the file spells it. For blocks of GGUF it is the ggml name of the block type, such as `Q4_K`.
    pub dtype: Cow<'a, str>,
    /// The name of the storage type, in which the elements are stored. If an unknown type is defined on top of a dtype that is
    /// known, it is the name of that dtype. `None` if the type of storage is not known.
    pub storage: Option<&'static str>,
    /// Whether zten knows the type of the elements.
    pub dtype_known: bool,
    /// The offset in bytes at which the component begins, in the file, or in the shard if the component is in a shard.
    #[serde(serialize_with = "json::integer")]
    pub offset: u64,
    /// The number of bytes that the component takes in the file, before decoding.
    #[serde(serialize_with = "json::integer")]
    pub length: u64,
    /// The number of bytes of the component after decoding, or `None` if the manifest does not give it.
    #[serde(serialize_with = "json::integer_or_null")]
    pub decoded_length: Option<u64>,
    /// The encoding, such as `raw` or `zstd`, as the file spells it.
    pub encoding: &'a str,
    /// Whether zten knows the encoding, and so can decode the component.
    pub encoding_known: bool,
    /// The byte order of the stored elements: `little` or `big`.
    pub byte_order: &'static str,
    /// The digest that the manifest gives the component, or `None` if it gives none.
    pub digest: Option<Digest<'a>>,
    /// The name of the shard that contains the component, if it is in a shard.
    pub shard: Option<&'a str>,
}

impl<'a> Component<'a> {
    /// Creates the description of `component` from its record in the manifest. Reads no bytes of the component.
    pub fn new(component: &zten::Component<'a>) -> Self {
        let element = component.element_type();
        let block = block_name(&component.tensor());
        Self {
            role: component.role(),
            dtype_known: component.dtype() != DType::Unknown || block.is_some(),
            dtype: block.map_or_else(|| element.name().into(), Cow::Owned),
            storage: match element {
                ElementType::UnknownOnLogical(_, dtype) => Some(dtype.name()),
                _ => element.storage().map(StorageType::name),
            },
            offset: component.extent().offset(),
            length: component.extent().length(),
            decoded_length: component.decoded_length(),
            encoding: component.encoding_name(),
            encoding_known: component.encoding() != Encoding::Unknown,
            byte_order: match component.byte_order() {
                ByteOrder::Little => "little",
                ByteOrder::Big => "big",
            },
            digest: component.digest().map(|digest| Digest {
                algorithm: digest.algorithm(),
                text: notation::digest(component).unwrap_or_default().into(),
                verifiable: is_verifiable(&digest),
            }),
            shard: component.shard(),
        }
    }
}

/// The digest of a component or of a shard, as the manifest states it.
#[derive(Clone, Debug, Serialize)]
pub struct Digest<'a> {
    /// The name of the digest's algorithm, such as `sha256`.
    pub algorithm: &'a str,
    /// The digest as the file spells it, with the name of its algorithm.
    pub text: Cow<'a, str>,
    /// Whether zten can verify the digest. It cannot if it does not know the algorithm.
    pub verifiable: bool,
}

fn is_verifiable(digest: &zten::Digest<'_>) -> bool {
    !matches!(digest, zten::Digest::Unverifiable(_))
}
