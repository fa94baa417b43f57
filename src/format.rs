//! The fields of a manifest: a file of tables for each generation, and the facts in which generations differ.
//!
//! A table is a list of fields, each with its key, slot, type, presence, and the rule that a value of another type
//! breaks. The tables document the format, and the code is generated from them: reading a record, looking up a field,
//! and writing a field. All other code gets facts about a generation from a [`Dialect`]. No field is named outside this
//! module.

mod context;
pub(crate) mod frame;
mod record;
mod table;
pub(crate) mod v0_1;
pub(crate) mod v1;
pub(crate) mod v2;

use context::OpenList;
pub(crate) use context::{Header, ParseContext, pass_attributes, push, reserve};
use frame::Container;
pub(crate) use record::{
    Arrangement, ComponentRecord, ElementOrder, Logical, Product, RawObject, ShapeSpan, Shapes,
    ShardRecord, Text,
};
pub use record::{Dimensions, Extent, Shape};
pub(crate) use v2::{Count, Profile, Types, content};

use crate::cbor::{
    BytesLeft, Checked, Fault, Input, Parsed, UNLIMITED, array_head, find, key, strict, uint,
};
use crate::digest::Digest;
use crate::element::{LogicalType, StorageType};
use crate::error::{ErrorKind, Location};
use crate::limits::format;
use crate::num::{enum_all, impl_display};
use crate::rules::{Generation, Rule, StreamRules, Unsupported};

/// A parser of the objects of a manifest, one at a time. Their components and shapes are added to the context.
pub(crate) struct Objects<'m> {
    container: Container,
    /// The reader of the root's fields around the objects, until all fields have been read.
    root: Root<'m>,
    /// The objects, while they are read; and the last name, if names must ascend.
    list: Option<OpenList<'m>>,
    last: Input<'m>,
    /// The fields of the root other than the objects, and the bytes after the manifest, once both are known.
    header: Option<(Input<'m>, Header)>,
    ordinal: u32,
}

/// The root of a manifest.
enum Root<'m> {
    V1(v1::RootReader<'m>),
    V2(v2::RootReader<'m>),
    /// All fields have been read, or there are none.
    Read,
}

impl<'m> Objects<'m> {
    /// Begins to parse the manifest of a file of the container `container`.
    pub(crate) fn open(
        container: Container,
        cx: &mut ParseContext<'_>,
        manifest: Input<'m>,
    ) -> Checked<Self> {
        let (mut list, mut header) = (None, None);
        let root = match container {
            Container::V0 => {
                let head = array_head(Rule::RootType, UNLIMITED, manifest)?;
                list = Some(OpenList::open(cx, manifest, head)?);
                Root::Read
            }
            Container::V1 => Root::V1(v1::RootReader::open(cx, manifest)?),
            // A data shard: v2 §7.2.
            Container::V2 if manifest.is_empty() => {
                header = Some((manifest, Header::NONE));
                Root::Read
            }
            Container::V2 => Root::V2(v2::RootReader::open(cx, manifest)?),
        };
        Ok(Self { container, root, list, last: Input::default(), header, ordinal: 0 })
    }

    /// Parses the next object into `raw`, so that it need not be moved. Returns false at the end of the manifest.
    /// Fields of the root around the objects are read in between.
    #[inline]
    pub(crate) fn next(
        &mut self,
        cx: &mut ParseContext<'_>,
        raw: &mut RawObject<'m>,
    ) -> Checked<bool> {
        loop {
            if let Some(list) = &mut self.list
                && list.entries.next(list.input)
            {
                cx.location = Location::new(Some(self.ordinal), None);
                self.ordinal = self.ordinal.wrapping_add(1);
                list.input = match self.container {
                    Container::V0 => v0_1::object(cx, list.input, raw)?,
                    Container::V1 => v1::object::<true>(cx, list.input, raw)?,
                    Container::V2 => v2::object::<true>(cx, &mut self.last, list.input, raw)?,
                };
                return Ok(true);
            }
            self.advance(cx)?;
            if self.list.is_none() {
                return Ok(false);
            }
        }
    }

    /// Reads fields of the root up to the next objects, if there are more.
    #[inline(never)]
    fn advance(&mut self, cx: &mut ParseContext<'_>) -> Checked<()> {
        cx.location = Location::NOWHERE;
        let behind = match self.list.take() {
            Some(list) => Some(list.end()?),
            None => None,
        };
        match core::mem::replace(&mut self.root, Root::Read) {
            Root::V1(root) => self.read_root_v1(cx, root, behind),
            Root::V2(root) => self.read_root_v2(cx, root, behind),
            Root::Read => {
                if let (None, Some(rest)) = (&self.header, behind) {
                    self.header = Some((rest, Header::NONE));
                }
                Ok(())
            }
        }
    }

    /// Returns the bytes after the manifest and the fields of the root other than the objects, after the last object.
    pub(crate) fn finish(self) -> Parsed<'m, Header> {
        self.header.ok_or_else(|| Fault::new(ErrorKind::Internal, BytesLeft::END).into())
    }
}

/// Parses an entry (the name and the fields of an object) that is not in a manifest, into `raw`.
pub(crate) fn parse_entry<'m>(
    cx: &mut ParseContext<'_>,
    entry: Input<'m>,
    raw: &mut RawObject<'m>,
) -> Checked<()> {
    if cx.dialect.facts.sorted_by_length {
        v2::object::<false>(cx, &mut Input::default(), entry, raw)?;
    } else {
        v1::object::<false>(cx, entry, raw)?;
    }
    Ok(())
}

/// Validates the form of a whole manifest, if its container requires a form. For a rejected manifest, a fault in the
/// form is reported before any other fault, and without an object.
#[cold]
pub(crate) fn check_form(
    container: Container,
    cx: &mut ParseContext<'_>,
    manifest: Input<'_>,
) -> Checked<()> {
    if container == Container::V2 && !manifest.is_empty() {
        let location = core::mem::replace(&mut cx.location, Location::NOWHERE);
        strict(manifest, 0, cx.limits.depth())?;
        cx.location = location;
    }
    Ok(())
}

/// Returns the form in which files of `generation` are written, or `None` if the generation is not written.
pub(crate) fn written(generation: Generation) -> Option<&'static Writing> {
    match generation {
        Generation::V1_2 => v1::V1_2.writing,
        Generation::V2 => v2::V2.writing,
        _ => None,
    }
}

impl_display! { Encoding: name; Layout: name; }

enum_all! {
/// The encoding of a component's stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding with
    /// The name: `raw`, `zstd`, `zt.zstd-seekable/1`. For an unknown encoding it is `unknown`, and
    /// [`Component::encoding_name`](crate::Component::encoding_name) returns the name in the file.
    pub fn name -> &'static str
{
    /// Not compressed.
    Raw = "raw",
    /// Compressed with zstd: RFC 8878.
    Zstd = "zstd",
    /// Compressed with zstd in frames of equal decoded size, with a table of their sizes: `zt.zstd-seekable/1` of 2.
    ZstdSeekable = "zt.zstd-seekable/1",
    /// Compressed with deflate: RFC 1951. Only in files of other formats.
    Deflate = "deflate",
    /// An unknown encoding (0.1 and 2 only): v0.1 §8, v2 §3.4.
    Unknown = "unknown",
}
}

enum_all! {
/// The layout of an object, which is how its components make up a tensor: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout with
    /// The name in 1.x: `sparse_csr`. For an unknown layout it is `unknown`, and
    /// [`Tensor::layout_name`](crate::Tensor::layout_name) returns the name in the file.
    pub fn name -> &'static str
{
    /// A contiguous array in row-major order.
    Dense = "dense",
    /// Compressed sparse rows.
    SparseCsr = "sparse_csr",
    /// A list of coordinates.
    SparseCoo = "sparse_coo",
    /// Packed weights with scales and zero-points.
    QuantizedGroup = "quantized_group",
    /// Blocks of elements, with a scale for each: `zt.mx/1` of 2.
    Mx = "zt.mx/1",
    /// Codes in words, with scales and zero points: `zt.quant_group/1` of 2. Such objects can be listed, and their
    /// components can be read.
    QuantGroup = "zt.quant_group/1",
    /// Blocks of a GGUF type, as bytes: `gguf.NAME/1` of 2.
    GgufBlocks = "gguf",
    /// An unknown layout.
    Unknown = "unknown",
}
}

enum_all! {
/// A role that has a meaning in some layout: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role with pub(crate) fn name -> &'static str {
    Data = "data",
    Values = "values",
    Indices = "indices",
    Indptr = "indptr",
    Coords = "coords",
    PackedWeight = "packed_weight",
    Scales = "scales",
    Zeros = "zeros",
}
}

impl Role {
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        Self::LIST.into_iter().find(|role| role.name().as_bytes() == name)
    }
}

/// The `version` of a 1.x manifest: v1.1 II.1, v1.2 §1.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The major version, which is 1.
    pub major: u32,
    /// The minor version. Files of minor version 0 and 1 follow the rules of 1.1, and other files those of 1.2.
    pub minor: u32,
    /// The third number, if there is one.
    pub patch: Option<u32>,
}

impl core::fmt::Display for Version {
    /// Writes the version as a manifest spells it: `1.2.0`.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

/// The facts about a generation. Each generation has a constant, and no other code asks which generation a file has.
/// The constant of 1.2 lists all facts, and the other constants list the facts that differ.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself, and no state")]
pub(crate) struct Dialect {
    /// The name of the file format.
    pub(crate) format: &'static str,
    /// The generation, if the format is zTensor.
    pub(crate) generation: Option<Generation>,
    pub(crate) nesting: Nesting,

    /// Returns whether a key is a field of an object, and not an attribute; `None` if objects have attributes of their
    /// own.
    pub(crate) object_fields: Option<fn(&[u8]) -> bool>,
    /// Whether components may be in shards.
    pub(crate) has_shards: bool,

    /// The rule that two objects with the same name break.
    pub(crate) duplicate_name: ErrorKind,
    /// The rule that bools other than 0 and 1 break; `None` if a bool may be any byte, and every byte but 0 is true.
    pub(crate) bool_value: Option<ErrorKind>,
    /// The rules on deflated content and on checksums; `None` in zTensor, whose components have digests.
    pub(crate) stream: Option<&'static StreamRules>,
    /// Returns the name of a layout that has a single name.
    pub(in crate::format) layout_names: fn(Layout) -> &'static str,
    /// The fields that records do not store.
    pub(crate) fields: Fields,

    /// Reads a digest, or returns `None` if the digest is malformed.
    pub(crate) read_digest: for<'m> fn(&'m str) -> Option<Digest<'m>>,
    /// The types that indices may have.
    pub(crate) index_types: IndexTypes,
    /// Whether a dtype may stand for a logical type.
    pub(crate) logical_dtypes: bool,
    /// Whether a compressed component must give its decoded size.
    pub(crate) needs_decoded_length: bool,
    /// The error of an object of an unknown layout in a verification; `None` if it is enough that its components can be
    /// read.
    pub(crate) unknown_format: Option<Unsupported>,
    /// The error of a component of an unknown type; `None` if its storage elements may be read.
    pub(crate) unknown_type: Option<Unsupported>,
    pub(crate) facts: Facts,
    /// Whether the cells of a sparse object must be distinct, and the indices of each row must ascend.
    pub(crate) single_cells: bool,
    /// The form in which files of the generation are written and appended to; `None` if they are not written.
    pub(crate) writing: Option<&'static Writing>,
}

/// Facts about all files of a container. Its parser passes them on as a constant, so that features of 2 cost other
/// containers nothing.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself, and no state")]
pub(crate) struct Facts {
    /// The alignment of blobs in bytes.
    pub(crate) alignment: u64,
    /// True if blobs may be identical, the manifest being one of them.
    pub(crate) shares_blobs: bool,
    /// True if names are sorted by length first, and by their bytes where lengths are equal; the
    /// parser has validated that.
    pub(crate) sorted_by_length: bool,
    /// True if objects of a known format have no components but those of the format.
    pub(crate) exact_roles: bool,
    /// True if components hold whole elements of one byte or more, whatever their format.
    pub(crate) whole_elements: bool,
}

impl Facts {
    /// The facts of the containers before 2.
    pub(in crate::format) const BEFORE_2: Self = Self {
        alignment: format::ALIGNMENT,
        shares_blobs: false,
        sorted_by_length: false,
        exact_roles: false,
        whole_elements: true,
    };
}

/// The form of the files of a generation that is written.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) generation: Generation,
    pub(crate) container: Container,
    /// The dialect of its manifest.
    pub(crate) dialect: &'static Dialect,
    /// The encoding of compressed components.
    pub(crate) compression: Encoding,
    /// True if the manifest is deterministic CBOR, whose maps may have any number of keys.
    pub(crate) deterministic: bool,
    /// True if digests are those of decoded bytes.
    pub(crate) digests_decoded: bool,
    /// True if the bools are a type, and not a dtype.
    pub(crate) bool_is_type: bool,
    /// The alignment of blobs of a canonical file, at which the first one begins.
    pub(crate) canonical_alignment: u64,
    /// The type of that name.
    pub(crate) logical_type: fn(&[u8]) -> Option<LogicalType>,
    /// The format of that name.
    pub(crate) format: fn(&[u8]) -> Layout,
    /// The name of a format, if there is one.
    pub(crate) format_name: fn(Layout) -> Option<&'static str>,
}

impl Writing {
    /// Returns whether a `type` that is unknown elsewhere says something here of elements that are stored like that. Names of
    /// logical types on their own storage do not count: they are what 1.2 keeps of the types of 2.
    pub(crate) fn knows_type(&self, name: &str, storage: StorageType) -> bool {
        let logical = (self.logical_type)(name.as_bytes());
        let plain = if self.bool_is_type { StorageType::Bool } else { storage };
        logical.is_some_and(|logical| logical.storage() != storage) || name == plain.name()
    }
}

/// The fields of an object and of a component that are looked up again. One that a generation has not is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) shape: Field,
    pub(crate) layout: Field,
    pub(crate) attributes: Field,
    pub(crate) components: Field,
    pub(crate) blob: Blob,
    pub(crate) dtype: Field,
    pub(crate) logical_type: Field,
    pub(crate) digest: Field,
    pub(crate) encoding: Field,
    pub(crate) decoded_length: Field,
}

/// The nesting of the records of objects and components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// One record is an object and its only component.
    Flat,
    /// The record of an object follows its name, and that of a component its role.
    Named,
    /// The format is no zTensor, and has no records.
    Absent,
}

/// The fields of a component that say where its blob lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blob {
    /// Offset and length are fields.
    Fields(Field, Field),
    /// One field is an array of the two.
    Pair(Field),
}

impl Blob {
    /// Returns whether a field of that key is among them.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        match self {
            Self::Fields(offset, length) => offset.is(key) || length.is(key),
            Self::Pair(pair) => pair.is(key),
        }
    }

    /// Offset and length in the record of a component, which has been checked.
    pub(crate) fn find<'m>(&self, map: Input<'m>) -> Option<(Input<'m>, Input<'m>)> {
        match self {
            Self::Fields(offset, length) => offset.find(map).zip(length.find(map)),
            Self::Pair(pair) => {
                let head = array_head(Rule::BlobType, UNLIMITED, pair.find(map)?);
                let (offset, _) = head.ok()?;
                let (length, _) = uint(Rule::BlobType, offset).ok()?;
                Some((offset, length))
            }
        }
    }
}

/// The types that indices may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexTypes {
    U64,
    Integers,
    /// `u32` or `u64`, and all of an object the same.
    Unsigned,
}

impl IndexTypes {
    pub(crate) fn allow(self, storage: StorageType) -> bool {
        match self {
            Self::U64 => storage == StorageType::U64,
            Self::Integers => storage.is_integer(),
            Self::Unsigned => matches!(storage, StorageType::U32 | StorageType::U64),
        }
    }
}

impl Dialect {
    /// The dialect of another file format, none of whose records are looked at again.
    pub(crate) const fn other(
        format: &'static str,
        duplicate_name: ErrorKind,
        bool_value: Option<ErrorKind>,
        stream: Option<&'static StreamRules>,
    ) -> Self {
        Self {
            format,
            generation: None,
            nesting: Nesting::Absent,
            duplicate_name,
            bool_value,
            stream,
            read_digest: |_| None,
            index_types: IndexTypes::Integers,
            facts: Facts { alignment: 1, exact_roles: true, ..Facts::BEFORE_2 },
            writing: None,
            ..v1::V1_2
        }
    }

    /// The name of a layout; none if the file alone has it.
    pub(crate) fn layout_name(&self, layout: Layout) -> Option<&'static str> {
        match layout {
            Layout::Unknown | Layout::GgufBlocks => None,
            known => Some((self.layout_names)(known)),
        }
    }

    /// The record of the component that begins at `at`, if there is one.
    pub(crate) fn component_map<'m>(&self, at: Input<'m>) -> Option<Input<'m>> {
        match self.nesting {
            Nesting::Absent => None,
            Nesting::Flat => Some(at),
            Nesting::Named => Some(key(at).ok()?.0),
        }
    }
}

/// A field of a record that has been checked: to be looked up again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field(pub(in crate::format) &'static str);

impl Field {
    /// A field that no record has.
    pub(in crate::format) const NONE: Self = Self("");

    /// Returns whether it has that key.
    pub(crate) fn is(self, key: &[u8]) -> bool {
        self.0.as_bytes() == key
    }

    /// The value in the map at `map`, if it is there.
    pub(crate) fn find(self, map: Input<'_>) -> Option<Input<'_>> {
        find(map, self.0)
    }
}
