//! One component of an object: one blob, and how to read it.

use nom::Parser as _;

use super::blobs::Extent;
use super::index::ComponentRecord;
use super::object::string;
use super::reader::Reader;
use super::Generation;
use crate::cbor::{Attributes, find, uint};
use crate::digest::Digest;
use crate::element::{ByteOrder, LogicalType, StorageType};
use crate::error::Place;
use crate::rules::Rule;
use crate::schema::{Encoding, Logical, v0_1};

/// What the elements of a component are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ElementType<'a> {
    /// What their storage type says.
    Plain(StorageType),
    /// A logical type on its storage type.
    Logical(LogicalType),
    /// A logical type that is not known, and the storage elements that can be read.
    UnknownLogical(&'a str, StorageType),
    /// A 0.1 dtype that is not known: v0.1 §8.
    Unknown(&'a str),
}

impl<'a> ElementType<'a> {
    /// Its name, as 1.2 spells it where it is known.
    pub fn name(&self) -> &'a str {
        match self {
            Self::Plain(storage) => storage.name(),
            Self::Logical(logical) => logical.name(),
            Self::UnknownLogical(name, _) | Self::Unknown(name) => name,
        }
    }

    /// How the elements are stored, where that is known.
    pub fn storage(&self) -> Option<StorageType> {
        match self {
            Self::Plain(storage) | Self::UnknownLogical(_, storage) => Some(*storage),
            Self::Logical(logical) => Some(logical.storage()),
            Self::Unknown(_) => None,
        }
    }
}

/// One blob, and how to read it: v1.1 II.3, v1.2 §1.
#[derive(Clone, Copy)]
pub struct Component<'a> {
    reader: Reader<'a>,
    record: ComponentRecord,
    object: u32,
    ordinal: u32,
}

impl<'a> Component<'a> {
    pub(super) fn new(
        reader: Reader<'a>,
        record: ComponentRecord,
        object: u32,
        ordinal: u32,
    ) -> Self {
        Self { reader, record, object, ordinal }
    }

    /// Its role in the object: `data`, `values`, ...
    pub fn role(&self) -> &'a str {
        match self.reader.generation {
            Generation::V0_1 => v0_1::ROLE,
            _ => core::str::from_utf8(self.reader.role(self.record)).unwrap_or_default(),
        }
    }

    /// Where in the manifest it stands: object and component, from 0.
    pub fn place(&self) -> Place {
        Place::new(Some(self.object), Some(self.ordinal))
    }

    /// Which rules it follows.
    pub fn generation(&self) -> Generation {
        self.reader.generation
    }

    /// How its elements are stored; none where a 0.1 dtype is not known.
    pub fn storage_type(&self) -> Option<StorageType> {
        self.record.storage()
    }

    /// What its elements are.
    pub fn element_type(&self) -> ElementType<'a> {
        let name = |key| find(self.reader.component_map(self.record), key).and_then(string);
        match (self.record.logical(), self.record.storage()) {
            (Logical::Known(logical), _) => ElementType::Logical(logical),
            (Logical::None, Some(storage)) => ElementType::Plain(storage),
            (Logical::Unknown, Some(storage)) => {
                ElementType::UnknownLogical(name("type").unwrap_or_default(), storage)
            }
            (_, None) => ElementType::Unknown(name("dtype").unwrap_or_default()),
        }
    }

    /// How its bytes are stored.
    pub fn encoding(&self) -> Encoding {
        self.record.encoding()
    }

    /// The name of its encoding, known or not.
    pub fn encoding_name(&self) -> &'a str {
        match self.encoding() {
            Encoding::Raw => "raw",
            Encoding::Zstd => "zstd",
            Encoding::Unknown => find(self.reader.component_map(self.record), "encoding")
                .and_then(string)
                .unwrap_or_default(),
        }
    }

    /// The order of the bytes of its elements.
    pub fn byte_order(&self) -> ByteOrder {
        if self.record.big() == 1 { ByteOrder::Big } else { ByteOrder::Little }
    }

    /// Where its blob lies in the file.
    pub fn extent(&self) -> Extent {
        self.reader.extent(self.record)
    }

    /// Its bytes when decoded: the stored ones if it is raw, what `uncompressed_length` says if
    /// it is compressed; none where that is not said.
    pub fn decoded_length(&self) -> Option<u64> {
        match self.encoding() {
            Encoding::Raw => Some(self.extent().length()),
            Encoding::Zstd => {
                let map = self.reader.component_map(self.record);
                let at = find(map, "uncompressed_length")?;
                (self.reader.generation != Generation::V0_1).then_some(())?;
                uint(Rule::DecodedLengthType).parse(at).ok().map(|(_, length)| length)
            }
            Encoding::Unknown => None,
        }
    }

    /// Its digest over the stored bytes, if it has one.
    pub fn digest(&self) -> Option<Digest<'a>> {
        if self.record.digest() == 0 {
            return None;
        }
        let map = self.reader.component_map(self.record);
        match self.reader.generation {
            Generation::V0_1 => Digest::read_v0(string(find(map, "checksum")?)?),
            _ => Digest::read_v1(string(find(map, "digest")?)?),
        }
    }

    /// All fields of its map as the manifest spells them, unknown ones included. In 0.1 these
    /// are the fields of the entry.
    pub fn fields(&self) -> Option<Attributes<'a>> {
        Attributes::read(self.reader.component_map(self.record))
    }
}

impl core::fmt::Debug for Component<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Component")
            .field("role", &self.role())
            .field("type", &self.element_type())
            .field("extent", &self.extent())
            .finish()
    }
}
