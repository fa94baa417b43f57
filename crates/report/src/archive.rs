//! The description of an archive, its objects and their components: `docs/json.md`.

use std::borrow::Cow;
use std::path::Path;

use serde::{Serialize, Serializer};
use zten::element::ByteOrder;
use zten::shards::Shard;
use zten::tools::{ElementType, StorageType};
use zten::{DType, Encoding, Generation, Layout, Manifest, Tensor};

use crate::blocks::{Blocks, block_name};
use crate::finding::format_name;
use crate::json::{self, Integer, List, Schema};
use crate::network::file_name;
use crate::spelled;
use crate::totals::FileTotals;
use crate::value;

/// The description of an archive without its lists.
#[derive(Clone, Debug, Serialize)]
pub struct Head<'a> {
    /// The format of the file.
    pub format: &'static str,
    /// The generation of a zTensor file.
    pub generation: Option<&'static str>,
    /// The version that a 1.x file names: `1.2.0`.
    pub version: Option<String>,
    /// The attributes of the file, if it has any.
    pub attributes: Option<value::Map<'a>>,
    /// Whether the file is a data shard, in which another file lists what is in it.
    pub data_shard: bool,
}

impl<'a> Head<'a> {
    /// The description of the archive with that manifest.
    pub fn new(manifest: &'a Manifest<impl AsRef<[u8]>>) -> Self {
        Self {
            format: format_name(manifest),
            generation: manifest.generation().map(Generation::as_str),
            version: spelled::version(manifest),
            attributes: manifest.own_attributes().map(value::Map),
            data_shard: manifest.is_data_shard(),
        }
    }
}

/// Describes an archive with some or all of its objects, which are listed twice and never held. The path is that of
/// the file, if it has one.
pub fn archive<'a, I: Iterator<Item = Tensor<'a>>>(
    path: Option<&'a Path>,
    manifest: &'a Manifest<impl AsRef<[u8]>>,
    objects: impl Fn() -> I,
) -> impl Serialize {
    #[derive(Serialize)]
    struct Archive<'a, S: Serialize, O: Serialize> {
        schema: Schema,
        file: Option<Cow<'a, str>>,
        #[serde(flatten)]
        head: Head<'a>,
        shards: S,
        objects: O,
        totals: FileTotals,
    }
    Archive {
        schema: Schema,
        file: path.map(file_name),
        head: Head::new(manifest),
        shards: List(move || manifest.shards().map(shard)),
        totals: FileTotals::of(objects()),
        objects: List(move || objects().map(Object::new)),
    }
}

/// Describes a shard.
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

/// The description of an object with its components.
#[derive(Clone, Copy, Debug)]
pub struct Object<'a> {
    tensor: Tensor<'a>,
    has_attributes: bool,
}

impl<'a> Object<'a> {
    /// The description of an object.
    pub fn new(tensor: Tensor<'a>) -> Self {
        Self { tensor, has_attributes: true }
    }

    /// The same without its attributes.
    #[must_use]
    pub fn without_attributes(self) -> Self {
        Self { has_attributes: false, ..self }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Fields<'a, L: Serialize, C: Serialize> {
            name: &'a str,
            ordinal: u32,
            layout: &'a str,
            layout_known: bool,
            shape: L,
            #[serde(serialize_with = "json::integer_or_null")]
            bits: Option<u64>,
            #[serde(serialize_with = "json::integer_or_null")]
            group_size: Option<u64>,
            attributes: Option<value::Map<'a>>,
            components: C,
        }
        let tensor = &self.tensor;
        let blocks = Blocks::of(tensor);
        let attributes = tensor.own_attributes().filter(|_| self.has_attributes);
        Fields {
            name: tensor.name(),
            ordinal: tensor.ordinal(),
            layout: tensor.layout_name(),
            layout_known: is_known(tensor),
            shape: List(|| tensor.shape().iter().map(Integer)),
            bits: blocks.and_then(|blocks| blocks.bits),
            group_size: blocks.map(|blocks| blocks.size),
            attributes: attributes.map(value::Map),
            components: List(|| tensor.components().map(|one| Component::new(&one))),
        }
        .serialize(serializer)
    }
}

/// Returns whether the layout of an object is one that a reader knows.
pub fn is_known(object: &Tensor<'_>) -> bool {
    object.layout() != Layout::Unknown || block_name(object).is_some()
}

/// The description of a component.
#[derive(Clone, Debug, Serialize)]
pub struct Component<'a> {
    /// Its role in the object.
    pub role: &'a str,
    /// The type of its elements, as the file spells it.
    pub dtype: Cow<'a, str>,
    /// The type that its elements are stored as, where that is known.
    pub storage: Option<&'static str>,
    /// Whether a reader knows the type.
    pub dtype_known: bool,
    /// The offset of its bytes in the file, or in the shard.
    #[serde(serialize_with = "json::integer")]
    pub offset: u64,
    /// The number of its bytes.
    #[serde(serialize_with = "json::integer")]
    pub length: u64,
    /// The number of its decoded bytes, where the manifest tells.
    #[serde(serialize_with = "json::integer_or_null")]
    pub decoded_length: Option<u64>,
    /// The encoding, as the file spells it.
    pub encoding: &'a str,
    /// Whether a reader knows the encoding.
    pub encoding_known: bool,
    /// The order of the bytes of an element.
    pub byte_order: &'static str,
    /// The digest, if it has one.
    pub digest: Option<Digest<'a>>,
    /// The name of the shard that it is in, if it is in one.
    pub shard: Option<&'a str>,
}

impl<'a> Component<'a> {
    /// The description of a component.
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
                text: spelled::digest(component).unwrap_or_default().into(),
                verifiable: is_verifiable(&digest),
            }),
            shard: component.shard(),
        }
    }
}

/// A digest of stored bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Digest<'a> {
    /// The name of the algorithm.
    pub algorithm: &'a str,
    /// The whole of it, as the file spells it.
    pub text: Cow<'a, str>,
    /// Whether a reader can verify it.
    pub verifiable: bool,
}

fn is_verifiable(digest: &zten::Digest<'_>) -> bool {
    !matches!(digest, zten::Digest::Unverifiable(_))
}
