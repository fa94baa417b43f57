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

/// A parser of the objects of a manifest, one at a time. Their components and shapes are added to the context.
pub(crate) struct Objects<'m> {
    container: Container,
    /// The reader of the root's fields around the objects, until all fields have been read.
    root: Root<'m>,
    /// The objects that have not been read yet, and the name of the object that was read last, if names must ascend. `None`
    /// outside of the list of objects.
    list: Option<OpenList<'m>>,
    last: Input<'m>,
    /// The fields of the root other than the objects, and the bytes after the manifest, once both are known.
    header: Option<(Input<'m>, ManifestFields)>,
    ordinal: u32,
}

/// The reader of the fields of a manifest's outermost map other than its objects.
enum Root<'m> {
    V1(v1::RootReader<'m>),
    V2(v2::RootReader<'m>),
    /// No field is left to read. A manifest of 0.1 has no such fields, and the manifest of a data shard is empty.
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
                header = Some((manifest, ManifestFields::NONE));
                Root::Read
            }
            Container::V2 => Root::V2(v2::RootReader::open(cx, manifest)?),
        };
        Ok(Self { container, root, list, last: Input::default(), header, ordinal: 0 })
    }

    /// Parses the next object into `raw`, so that the object need not be moved. Returns false at the end of the manifest.
    /// Fields of the manifest's root before and after the objects are read on the way.
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

    /// Reads fields of the manifest's root up to the list of objects, or up to the end of the root.
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

    /// Returns the bytes after the manifest and the fields of the root other than the objects, after the last object.
    pub(crate) fn finish(self) -> Parsed<'m, ManifestFields> {
        self.header.ok_or_else(|| Fault::new(ErrorKind::Internal, BytesLeft::END).into())
    }
}

/// Parses an entry (the name and the fields of an object) that is not in a manifest, into `raw`.
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

/// The `version` of a 1.x manifest: v1.1 II.1, v1.2 §1.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The major version, which is 1.
    pub major: u32,
    /// The minor version. Files of minor version 0 and 1 follow the rules of 1.1, and other files those of 1.2.
    pub minor: u32,
    /// The patch version, the third number; `None` if the version has only two numbers.
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
pub(crate) struct Dialect {
    /// The facts that code uses after a manifest has been parsed.
    pub(crate) facts: FormatFacts,
    pub(crate) nesting: Nesting,
    /// The function that returns whether a key is a field of an object. In 0.1, all other keys of an object are its
    /// attributes. `None` if objects have a field for attributes.
    pub(crate) object_fields: Option<fn(&[u8]) -> bool>,
    /// Whether components may be in shards.
    pub(crate) has_shards: bool,
    /// The fields that are found in the manifest again when an error or a writer needs them.
    pub(crate) fields: Fields,
    /// Whether the names of logical types may be dtypes, as in 1.1.
    pub(crate) logical_dtypes: bool,
    /// Whether a compressed component must give its decoded size.
    pub(crate) needs_decoded_length: bool,
    /// The form in which files of the generation are written and appended to; `None` if they are not written.
    pub(crate) writing: Option<&'static Writing>,
}

/// The form in which files of a generation are written.
#[derive(Debug)]
pub(crate) struct Writing {
    pub(crate) generation: Generation,
    pub(crate) container: Container,
    /// The dialect of the manifest.
    pub(crate) dialect: &'static Dialect,
    /// The encoding of compressed components.
    pub(crate) compression: Encoding,
    /// Whether the manifest must be deterministic CBOR, whose maps may have any number of keys.
    pub(crate) deterministic: bool,
    /// Whether `bool` is a logical type (2) and not a dtype (1.x).
    pub(crate) bool_is_type: bool,
    /// The alignment in bytes of blobs in a canonical file. The first blob begins at this offset.
    pub(crate) canonical_alignment: u64,
    /// The function that returns the logical type that the given name has in the generation; `None` if there is none.
    pub(crate) logical_type: fn(&[u8]) -> Option<LogicalType>,
    /// The function that returns the layout that the given name has in the generation.
    pub(crate) format: fn(&[u8]) -> Layout,
    /// The function that returns the name of a layout in the generation; `None` if the generation does not have the layout.
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

/// The fields of a component that tell where its blob lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blob {
    /// The offset and the length are two fields.
    Fields(Field, Field),
    /// One field is an array of the offset and the length.
    Pair(Field),
}

impl Blob {
    /// Returns whether a field that tells where the blob lies has the key `key`.
    pub(crate) fn has(&self, key: &[u8]) -> bool {
        match self {
            Self::Fields(offset, length) => offset.is(key) || length.is(key),
            Self::Pair(pair) => pair.is(key),
        }
    }

    /// Returns the offset and the length of the blob in the component's map, which has been checked.
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
    /// Returns the end of the manifest that begins at the map of an object or component. `at` is the end that begins at
    /// the key of the map, or in 0.1 at the map itself. Returns `None` if the bytes have changed since they were
    /// checked.
    pub(crate) fn map<'m>(&self, at: Input<'m>) -> Option<Input<'m>> {
        match self.nesting {
            Nesting::Flat => Some(at),
            Nesting::Named => Some(key(at).ok()?.0),
        }
    }

    /// Returns the end of the manifest that begins at `part` of an object, so that an error can give the offset of that
    /// part. `map` is the end of the manifest that begins at the object's map. Returns `None` if the map has no such
    /// field.
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

    /// Returns the end of the manifest that begins at the field `site` of a component. `map` is the end of the manifest
    /// that begins at the component's map. Returns `None` if the map has no such field.
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
    /// Stands for a field that the maps of a generation do not have. Its key is empty.
    pub(in crate::formats::ztensor) const NONE: Self = Self("");

    /// Returns whether the field has the key `key`.
    pub(crate) fn is(self, key: &[u8]) -> bool {
        self.0.as_bytes() == key
    }

    /// Returns the input at the value of the field in the map at `map`, or `None` if the map does not have the field.
    pub(crate) fn find(self, map: Input<'_>) -> Option<Input<'_>> {
        find(map, self.0)
    }
}
