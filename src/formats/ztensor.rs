//! The parser of zTensor files. `frame` finds the manifest in a file, and `parser` parses the manifest into an index.
//! `v0_1`, `v1` and `v2` each describe the fields of one generation in tables, and the facts in which the generation
//! differs from others in a [`Dialect`].
//!
//! A table is a list of fields, each with its key, slot, type, presence, and the rule that a value of another type
//! breaks. The tables document the format, and the code is generated from them: reading a record, looking up a field,
//! and writing a field. All other code gets facts about a generation from its `Dialect`. No field is named outside this
//! module.

mod context;
pub(crate) mod frame;
mod invalid;
mod parser;
mod record;
mod table;
pub(crate) mod v0_1;
pub(crate) mod v1;
pub(crate) mod v2;

use context::OpenList;
pub(crate) use context::{ManifestFields, ParseContext};
use frame::Container;
pub(crate) use invalid::named;
pub(crate) use parser::{ManifestIndex, ObjectChecker, parse};
pub(crate) use record::ParsedObject;
pub(crate) use v2::content;

use crate::cbor::{
    BytesLeft, Checked, Fault, Input, Parsed, UNLIMITED, array_head, find, key, nth_key, strict,
    uint,
};
use crate::element::{LogicalType, StorageType};
use crate::error::{ErrorKind, Location};
use crate::index::{Encoding, FaultAt, FormatFacts, Layout, Site};
use crate::rules::{Generation, Rule};

/// A parser of a manifest that returns its objects one at a time. Components and shapes of the objects are added to the index
/// of the [`ParseContext`].
pub(crate) struct Objects<'m> {
    container: Container,
    /// The reader of the fields of the root, the outermost map of the manifest, that come before and after the objects.
    root: Root<'m>,
    /// The map or array of objects, while objects are being read from it; `None` before and after.
    list: Option<OpenList<'m>>,
    last: Input<'m>,
    /// The input after the manifest, and the fields of the root other than the objects; `None` until the whole root has been
    /// read.
    header: Option<(Input<'m>, ManifestFields)>,
    ordinal: u32,
}

/// The reader of the fields of a manifest's outermost map other than its objects.
enum Root<'m> {
    V1(v1::RootReader<'m>),
    V2(v2::RootReader<'m>),
    /// All fields of the root have been read, or the manifest has none: a manifest of 0.1 is an array of objects, and the
    /// manifest of a data shard is empty.
    Read,
}

impl<'m> Objects<'m> {
    /// Begins to parse `manifest`, the manifest of a file whose magic selects `container`.
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
            // A file of generation 2 without a manifest is a data shard: v2 §7.2.
            Container::V2 if manifest.is_empty() => {
                header = Some((manifest, ManifestFields::NONE));
                Root::Read
            }
            Container::V2 => Root::V2(v2::RootReader::open(cx, manifest)?),
        };
        Ok(Self { container, root, list, last: Input::default(), header, ordinal: 0 })
    }

    /// Parses the next object into `raw`, which the caller reuses so that no object is copied. Returns false at the end of
    /// the manifest. Fields of the root that come before or after the objects are read on the way.
    #[inline]
    pub(crate) fn next(
        &mut self,
        cx: &mut ParseContext<'_>,
        raw: &mut ParsedObject<'m>,
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

    /// Reads fields of the root up to the field `objects`, or up to the end of the root if that field has been read.
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
                    self.header = Some((rest, ManifestFields::NONE));
                }
                Ok(())
            }
        }
    }

    /// Returns the input after the manifest, and the fields of the root other than the objects. The caller must have parsed
    /// all objects.
    pub(crate) fn finish(self) -> Parsed<'m, ManifestFields> {
        self.header.ok_or_else(|| Fault::new(ErrorKind::Internal, BytesLeft::END).into())
    }
}

/// Parses `entry`, the name and the fields of an object that is about to be written, into `raw`.
pub(crate) fn parse_entry<'m>(
    cx: &mut ParseContext<'_>,
    entry: Input<'m>,
    raw: &mut ParsedObject<'m>,
) -> Checked<()> {
    if cx.dialect.facts.container.sorted_by_length {
        v2::object::<false>(cx, &mut Input::default(), entry, raw)?;
    } else {
        v1::object::<false>(cx, entry, raw)?;
    }
    Ok(())
}

/// Checks that `manifest` is deterministic CBOR, if `container` is that of generation 2, the only one that requires it. The
/// parser calls this for a manifest that it has rejected, so that an error in the form of the CBOR is reported before any
/// other error, and names no object.
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

/// Returns how manifests of `generation` are written; `None` if zten does not write this generation.
pub(crate) fn written(generation: Generation) -> Option<&'static Writing> {
    match generation {
        Generation::V1_2 => v1::V1_2.writing,
        Generation::V2 => v2::V2.writing,
        _ => None,
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
    /// The patch version, the third number; `None` if the manifest gives only two numbers.
    pub patch: Option<u32>,
}

impl core::fmt::Display for Version {
    /// Writes the version as a manifest spells it: `1.2.0`, or `1.2` without a patch version.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

/// The facts in which a generation of zTensor differs from others. Each generation has one constant of this type, and code
/// reads the constant instead of asking which generation a file has. The constant of 1.2 lists all facts, and each other
/// constant lists the facts that differ from 1.2.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The facts that code uses after a manifest has been parsed.
    pub(crate) facts: FormatFacts,
    pub(crate) nesting: Nesting,
    /// The function that returns whether a key is a field of an object. In 0.1, all other keys of an object are its
    /// attributes. `None` if objects have a field for attributes.
    pub(crate) object_fields: Option<fn(&[u8]) -> bool>,
    /// Whether the generation has shards: other files that hold blobs of components.
    pub(crate) has_shards: bool,
    /// The fields of objects and components that are looked up in the manifest again when an error or a writer needs them.
    pub(crate) fields: Fields,
    /// Whether the names of logical types may be dtypes, as in 1.1.
    pub(crate) logical_dtypes: bool,
    /// Whether each compressed component must have a field with its decoded size.
    pub(crate) needs_decoded_length: bool,
    /// How files of the generation are written and appended to; `None` if zten does not write the generation.
    pub(crate) writing: Option<&'static Writing>,
}

/// The facts that a writer needs about a generation.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) generation: Generation,
    pub(crate) container: Container,
    /// The constant with the facts about the generation that a parser needs.
    pub(crate) dialect: &'static Dialect,
    /// The encoding that the generation uses for compressed components.
    pub(crate) compression: Encoding,
    /// Whether the manifest must be deterministic CBOR, whose maps may have any number of keys.
    pub(crate) deterministic: bool,
    /// Whether `bool` is a logical type, as in generation 2. If false, it is a dtype, as in 1.x.
    pub(crate) bool_is_type: bool,
    /// The alignment in bytes of blobs in a canonical file. The first blob begins at this offset.
    pub(crate) canonical_alignment: u64,
    /// Returns the logical type that has the given name in the generation; `None` if there is no such type.
    pub(crate) logical_type: fn(&[u8]) -> Option<LogicalType>,
    /// Returns the layout that has the given name in the generation; [`Layout::Unknown`] if there is no such layout.
    pub(crate) format: fn(&[u8]) -> Layout,
    /// Returns the name of the given layout in the generation; `None` if the generation cannot store the layout.
    pub(crate) format_name: fn(Layout) -> Option<&'static str>,
}

impl Writing {
    /// Returns whether a `type` that is unknown in the source would get another meaning in this generation: `name` is a
    /// logical type that is stored as another type than `storage`, or the name of the storage type itself. A logical type
    /// that is stored as `storage` does not count, because it keeps its meaning: a file of 1.2 can hold such a `type` of 2,
    /// which 2 then takes back.
    pub(crate) fn knows_type(&self, name: &str, storage: StorageType) -> bool {
        let logical = (self.logical_type)(name.as_bytes());
        let plain = if self.bool_is_type { StorageType::Bool } else { storage };
        logical.is_some_and(|logical| logical.storage() != storage) || name == plain.name()
    }
}

/// The fields of objects and components that are found in the manifest again. A field that a generation does not have is
/// [`Field::NONE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    /// The key of an object's name in 0.1, where an object is an entry of a list. In other generations the name is
    /// itself the key of the object's map, and there is no such field: [`Field::NONE`].
    pub(crate) name: Field,
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
    pub(crate) byte_order: Field,
}

/// How the CBOR maps that describe objects and components are nested in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// One map describes an object and its only component (0.1).
    Flat,
    /// The map of an object is the value of its name, and within it the map of a component is the value of its role.
    Named,
}

/// The fields of a component that hold the offset and the length of its blob.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blob {
    /// The offset and the length of the blob are the values of two fields, given in this order.
    Fields(Field, Field),
    /// The value of one field is an array of the offset and the length of the blob.
    Pair(Field),
}

impl Blob {
    /// Returns whether `key` is the key of a field that holds the offset or the length of a blob.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        match self {
            Self::Fields(offset, length) => offset.is(key) || length.is(key),
            Self::Pair(pair) => pair.is(key),
        }
    }

    /// Finds the offset and the length of a blob in `map`, the checked map of a component. Returns the inputs at both values.
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

impl Dialect {
    /// Returns the rest of the manifest from the map of an object or component on. `at` is the rest of the manifest from the
    /// key of this map on, or in 0.1 from the map itself on. Returns `None` if the bytes have changed since they were
    /// checked.
    pub(crate) fn map<'m>(&self, at: Input<'m>) -> Option<Input<'m>> {
        match self.nesting {
            Nesting::Flat => Some(at),
            Nesting::Named => Some(key(at).ok()?.0),
        }
    }

    /// Finds the field of an object, or of one of its components, that `part` names, so that an error can give the offset of
    /// the field. `map` is the rest of the manifest from the object's map on. Returns the rest of the manifest from the field
    /// on; `None` if there is no such field.
    #[cold]
    pub(crate) fn field_at<'m>(&self, map: Input<'m>, part: FaultAt) -> Option<Input<'m>> {
        match part {
            FaultAt::Name => None,
            FaultAt::Shape => self.fields.shape.find(map),
            FaultAt::Components => self.fields.components.find(map),
            FaultAt::Component(ordinal, site) => {
                let component = match self.nesting {
                    Nesting::Flat => map,
                    Nesting::Named => nth_key(self.fields.components.find(map)?, ordinal)?.0,
                };
                Some(self.site(component, site).unwrap_or(component))
            }
        }
    }

    /// Finds the field `site` of a component, so that an error can give the offset of the field. `map` is the rest of the
    /// manifest from the component's map on. Returns the rest of the manifest from the field on; `None` if the component has
    /// no such field.
    #[cold]
    pub(crate) fn site<'m>(&self, map: Input<'m>, site: Site) -> Option<Input<'m>> {
        let fields = &self.fields;
        match site {
            Site::Component => None,
            Site::Offset => Some(fields.blob.find(map)?.0),
            Site::Length => Some(fields.blob.find(map)?.1),
            Site::Decoded | Site::Size => fields.decoded_length.find(map),
            Site::Dtype => fields.dtype.find(map),
            Site::Type => fields.logical_type.find(map),
            Site::ByteOrder => fields.byte_order.find(map),
        }
    }
}

/// A field of a checked CBOR map. It holds the key, by which the field can be found in the map again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field(pub(in crate::formats::ztensor) &'static str);

impl Field {
    /// A placeholder for a field that the maps of a generation do not have. Its key is empty, so no map has it.
    pub(in crate::formats::ztensor) const NONE: Self = Self("");

    /// Returns whether `key` is the key of this field.
    pub(crate) fn is(self, key: &[u8]) -> bool {
        self.0.as_bytes() == key
    }

    /// Returns the input at the value of this field in the CBOR map at `map`; `None` if the map does not have the field.
    pub(crate) fn find(self, map: Input<'_>) -> Option<Input<'_>> {
        find(map, self.0)
    }
}
