//! What distinguishes a generation: facts, and where its fields are.

use nom::Parser as _;

#[cfg(feature = "write")]
use super::Encoding;
use super::{Format, Generation};
use crate::cbor::{Input, UNLIMITED, array_head, find, key, uint};
use crate::digest::Digest;
#[cfg(feature = "write")]
use crate::element::LogicalType;
use crate::element::StorageType;
use crate::error::ErrorKind;
#[cfg(any(feature = "v0", feature = "v1"))]
use crate::limits::format;
use crate::rules::{Rule, Unsupported};

/// A generation of the format. There is one constant for each; no other code asks which it is.
#[derive(Debug)]
#[cfg_attr(
    feature = "write",
    expect(clippy::struct_excessive_bools, reason = "each is a fact by itself, and no state")
)]
pub(crate) struct Dialect {
    /// The name of the file format.
    pub(crate) format: &'static str,
    /// The generation, if the format is zTensor.
    pub(crate) generation: Option<Generation>,
    pub(crate) nesting: Nesting,

    /// True if objects have attributes.
    #[cfg(feature = "write")]
    pub(crate) has_attributes: bool,
    /// True if components may be in other files.
    #[cfg(feature = "write")]
    pub(crate) has_shards: bool,

    /// The rule that two objects of one name break.
    pub(crate) duplicate_name: ErrorKind,
    /// The rule that a bool breaks that is neither 0 nor 1; none if bools are any byte, and all but 0 are true.
    pub(crate) bool_value: Option<ErrorKind>,
    /// The name of a layout that has but one.
    pub(super) layout_names: fn(Format) -> &'static str,
    /// Fields for which records have no place.
    pub(crate) fields: Fields,

    /// Reads a digest; none if it is malformed.
    pub(crate) read_digest: for<'m> fn(&'m str) -> Option<Digest<'m>>,
    /// What a component may have for indices.
    pub(crate) index_types: IndexTypes,
    /// Whether a dtype may stand for a logical type.
    pub(crate) logical_dtypes: bool,
    /// Whether a compressed component has to say how long it is when decoded.
    pub(crate) needs_decoded_length: bool,
    /// Why an object of a format that is not known cannot be validated, if its components being
    /// readable is not all there is to it.
    pub(crate) unknown_format: Option<Unsupported>,
    /// Why a component of a type that is not known cannot be read, if it cannot.
    pub(super) unknown_type: Option<Unsupported>,
    pub(crate) facts: Facts,
    /// Whether no cell of a sparse object is there twice, and those of a row are in order.
    pub(crate) single_cells: bool,
    /// What files of it are written as, if they are written, and appended to.
    #[cfg(feature = "write")]
    pub(crate) writing: Option<&'static Writing>,
    /// Whether an object has a field of that key.
    #[cfg(feature = "write")]
    pub(crate) is_object_field: fn(&[u8]) -> bool,
}

/// Facts that hold for all of a container. Its parser hands them on as a constant, so that what only
/// 2 has costs the others nothing.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself, and no state")]
pub(crate) struct Facts {
    /// What offsets are a multiple of.
    pub(crate) alignment: u64,
    /// Whether blobs may be identical, the manifest being one of them.
    pub(crate) shares_blobs: bool,
    /// Whether names are sorted by length first, and by their bytes where lengths are equal; the
    /// parser has validated that.
    pub(crate) sorted_by_length: bool,
    /// Whether objects of a known format have no components but those of the format.
    pub(crate) exact_roles: bool,
    /// Whether components hold whole elements of one byte or more, whatever their format.
    pub(crate) whole_elements: bool,
}

impl Facts {
    /// Those of the containers before 2.
    #[cfg(any(feature = "v0", feature = "v1"))]
    pub(super) const BEFORE_2: Self = Self {
        alignment: format::ALIGNMENT,
        shares_blobs: false,
        sorted_by_length: false,
        exact_roles: false,
        whole_elements: true,
    };
}

/// What distinguishes the files of a generation that is written.
#[cfg(feature = "write")]
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact by itself, and no state")]
pub(crate) struct Writing {
    pub(crate) generation: Generation,
    /// What its manifest follows.
    pub(crate) dialect: &'static Dialect,
    /// How components are compressed.
    pub(crate) compression: Encoding,
    /// Whether the manifest is deterministic CBOR, whose maps may have any number of keys.
    pub(crate) deterministic: bool,
    /// Whether digests are those of decoded bytes.
    pub(crate) digests_decoded: bool,
    /// Whether the bools are a type, and not a dtype.
    pub(crate) bool_is_type: bool,
    /// Whether the product of every shape has to fit in 64 bits.
    pub(crate) bounded_shapes: bool,
    /// What blobs of a canonical file are aligned to, and where the first one begins.
    pub(crate) canonical_alignment: u64,
    /// The type of that name.
    pub(crate) logical_type: fn(&[u8]) -> Option<LogicalType>,
    /// The format of that name.
    pub(crate) format: fn(&[u8]) -> Format,
    /// The name of a format, if there is one.
    pub(crate) format_name: fn(Format) -> Option<&'static str>,
}

/// The fields of an object and of a component that are looked up again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) layout: Field,
    pub(crate) blob: Blob,
    pub(crate) dtype: Field,
    pub(crate) logical_type: Option<Field>,
    pub(crate) encoding: Field,
    pub(crate) decoded_length: Option<Field>,
}

/// How the records of objects and components nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nesting {
    /// One record is an object and its only component, which has that role.
    Flat(&'static str),
    /// The record of an object follows its name, and that of a component its role.
    Named,
    /// There are no records: the format is no zTensor.
    Absent,
}

/// Where a component says where its blob lies.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Blob {
    /// Offset and length are fields.
    Fields(Field, Field),
    /// One field is an array of the two.
    Pair(Field),
}

impl Blob {
    /// Offset and length in the record of a component, which has been checked.
    pub(crate) fn find<'m>(&self, map: Input<'m>) -> Option<(Input<'m>, Input<'m>)> {
        match self {
            Self::Fields(offset, length) => offset.find(map).zip(length.find(map)),
            Self::Pair(pair) => {
                let head = array_head(Rule::BlobType, UNLIMITED).parse(pair.find(map)?);
                let (offset, _) = head.ok()?;
                let (length, _) = uint(Rule::BlobType).parse(offset).ok()?;
                Some((offset, length))
            }
        }
    }
}

/// What a component may have for indices.
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
    /// The dialect of another file format.
    #[cfg(feature = "std")]
    pub(crate) const fn other(
        format: &'static str,
        duplicate_name: ErrorKind,
        bool_value: Option<ErrorKind>,
    ) -> Self {
        const NONE: Field = Field("");
        Self {
            format,
            generation: None,
            nesting: Nesting::Absent,
            #[cfg(feature = "write")]
            has_attributes: true,
            #[cfg(feature = "write")]
            has_shards: false,
            duplicate_name,
            bool_value,
            layout_names: Format::name,
            fields: Fields {
                layout: NONE,
                blob: Blob::Pair(NONE),
                dtype: NONE,
                logical_type: None,
                encoding: NONE,
                decoded_length: None,
            },
            read_digest: |_| None,
            index_types: IndexTypes::Integers,
            logical_dtypes: false,
            needs_decoded_length: true,
            unknown_format: None,
            unknown_type: None,
            facts: Facts {
                alignment: 1,
                shares_blobs: false,
                sorted_by_length: false,
                exact_roles: true,
                whole_elements: true,
            },
            single_cells: false,
            #[cfg(feature = "write")]
            writing: None,
            #[cfg(feature = "write")]
            is_object_field: |_| true,
        }
    }
}

// What only generation 2 has costs the others nothing where it is not compiled in.
impl Dialect {
    /// Why a component of a type that is not known cannot be read, if it cannot.
    #[inline(always)]
    pub(crate) fn unknown_type(&self) -> Option<Unsupported> {
        self.unknown_type.filter(|_| cfg!(feature = "v2"))
    }
}

impl Dialect {
    /// The name of a layout; none if the file alone has it.
    pub(crate) fn layout_name(&self, layout: Format) -> Option<&'static str> {
        match layout {
            Format::Unknown | Format::GgufBlocks => None,
            known => Some((self.layout_names)(known)),
        }
    }

    /// The record of the component that begins at `at`, if there is one.
    pub(crate) fn component_map<'m>(&self, at: Input<'m>) -> Option<Input<'m>> {
        match self.nesting {
            Nesting::Absent => None,
            Nesting::Flat(_) => Some(at),
            Nesting::Named => Some(key(at).ok()?.0),
        }
    }
}

/// A field of a record that has been checked: to be looked up again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field(pub(super) &'static str);

impl Field {
    /// Its value in the map at `map`, if it is there.
    pub(crate) fn find(self, map: Input<'_>) -> Option<Input<'_>> {
        find(map, self.0)
    }
}
