//! Declarations of the objects and components to write, before any of their bytes.

use alloc::vec::Vec;
use core::num::NonZeroU8;

use super::compress::Level;
use super::encoded::Encoded;
use crate::cbor::{BytesLeft, Encoder};
use crate::digest::Digest;
use crate::element::{DType, LogicalType, StorageType};
use crate::error::BareError;
use crate::format::{Layout, Logical, Product, Writing};
use crate::manifest::ElementType;
use crate::rules::{Rule, Unsupported};

impl From<DType> for ElementType<'_> {
    fn from(dtype: DType) -> Self {
        match dtype.stored() {
            Some((_, Some(logical))) => Self::Logical(logical),
            Some((storage, None)) => Self::Plain(storage),
            None => Self::Unknown(dtype.name()),
        }
    }
}

impl From<StorageType> for ElementType<'_> {
    fn from(storage: StorageType) -> Self {
        Self::Plain(storage)
    }
}

impl From<LogicalType> for ElementType<'_> {
    fn from(logical: LogicalType) -> Self {
        Self::Logical(logical)
    }
}

/// One component that is to be written: its role, and what and how many its elements are.
#[derive(Clone, Copy, Debug)]
pub struct NewComponent<'a> {
    role: &'a str,
    element: ElementType<'a>,
    /// The number of its elements, or of its bytes; none where there are more elements than can be counted.
    count: Option<u64>,
    in_bytes: bool,
    /// The level of compression, if it is compressed.
    pub(super) level: Option<Level>,
    /// The sha256 that its bytes are to have.
    known_sha256: Option<&'a Identity>,
    /// The blob that already holds its bytes, if there is one.
    stored: Option<&'a BlobInShard<'a>>,
}

/// A blob that is in a data shard, or any other file of 2, already: v2 §2.4.
///
/// [`ShardWriter::end_blob`](super::ShardWriter::end_blob) makes one, and so can the caller, of what is
/// known of a file. [`NewComponent::stored`] refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// The offset in its file: a multiple of 4096, and not 0.
    pub offset: u64,
    /// Stored bytes.
    pub length: u64,
    /// True if the bytes are frames of `zt.zstd-seekable/1`; else they are the elements.
    pub compressed: bool,
    /// The digest of its decoded bytes, by an algorithm that is known in 2, if it is to have one.
    pub digest: Option<Digest<'static>>,
}

impl StoredBlob {
    /// The blob, in the shard that the root calls so.
    pub fn in_shard(self, shard: &str) -> BlobInShard<'_> {
        BlobInShard { shard, blob: self }
    }
}

/// A blob, and the name of the shard that it is in: v2 §7.1.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobInShard<'a> {
    /// The name of the shard.
    pub shard: &'a str,
    /// The blob: its position in the shard, and what is known of it.
    pub blob: StoredBlob,
}

/// The fields of a shard in the table of its root, beside its name: v2 §7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardRecord {
    /// Bytes of the file, 48 or more.
    pub size: u64,
    /// The digest of the whole file, by an algorithm that is known in 2.
    pub digest: Digest<'static>,
}

/// SHA-256 of decoded bytes.
///
/// Bytes that have gone into a sink cannot be read again, and equal XXH3 is no proof of equal bytes. Equal SHA-256 and
/// length is taken for one: an attacker who can make two such could forge any digest.
pub(super) type Identity = [u8; 32];

impl<'a> NewComponent<'a> {
    /// A component of so many elements: logical ones where the type is known, else those that
    /// they are stored as. A type that is given by a name that the generation knows is known.
    pub fn new(role: &'a str, element: impl Into<ElementType<'a>>, elements: u64) -> Self {
        Self::counted(role, element, Some(elements))
    }

    /// A component of so many bytes, whatever its elements are.
    pub fn of_bytes(role: &'a str, element: impl Into<ElementType<'a>>, bytes: u64) -> Self {
        Self { in_bytes: true, ..Self::new(role, element, bytes) }
    }

    pub(super) fn role(&self) -> &'a str {
        self.role
    }

    fn counted(role: &'a str, element: impl Into<ElementType<'a>>, count: Option<u64>) -> Self {
        let (element, in_bytes) = (element.into(), false);
        Self { role, element, count, in_bytes, level: None, known_sha256: None, stored: None }
    }

    /// The component, whose decoded bytes will have that sha256: where they come in pieces, a blob that
    /// holds them already is found before they come. They have to come all the same.
    #[must_use]
    pub fn with_known_sha256(mut self, sha256: &'a [u8; 32]) -> Self {
        self.known_sha256 = Some(sha256);
        self
    }

    /// The component, whose bytes are in a shard already, so that none are written (2 only). The shard
    /// has to be [listed](super::Writer::shard). What the blob holds is not looked at: it is
    /// validated by those who read it.
    #[must_use]
    pub fn stored(mut self, blob: &'a BlobInShard<'a>) -> Self {
        self.stored = Some(blob);
        self
    }

    /// The component, compressed on the way.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Resolves what a reader takes the elements for: a type by its name, if the name is a known one and it
    /// sits on that storage type; in 1.x none, if it is the storage type's own.
    fn element(&self, writing: &Writing) -> ElementType<'a> {
        let element = self.element;
        let ElementType::UnknownLogical(name, storage) = element else { return element };
        match (writing.logical_type)(name.as_bytes()) {
            _ if writing.bool_is_type && name == "bool" && storage == StorageType::U8 => {
                ElementType::Plain(StorageType::Bool)
            }
            _ if !writing.bool_is_type && name == storage.name() => ElementType::Plain(storage),
            Some(logical) if logical.storage() == storage => ElementType::Logical(logical),
            _ => element,
        }
    }

    /// Resolves it for the generation that is written. Of the blob, the offset and the digest are unknown.
    pub(super) fn resolve(&self, ordinal: u32, writing: &Writing) -> Result<Part<'a>, BareError> {
        let (storage, logical, type_name) = match self.element(writing) {
            ElementType::Plain(StorageType::Bool) if writing.bool_is_type => {
                (StorageType::Bool, Logical::NONE, Some(StorageType::Bool.name()))
            }
            ElementType::Plain(storage) => (storage, Logical::NONE, None),
            ElementType::Logical(logical) => {
                let name = logical.name();
                if (writing.logical_type)(name.as_bytes()).is_none() {
                    return Err(BareError::nowhere(Unsupported::LogicalType));
                }
                (logical.storage(), Logical::known(logical), Some(name))
            }
            ElementType::UnknownLogical(name, storage) => {
                (storage, Logical { known: None, unknown: true }, Some(name))
            }
            // Dtypes of 0.1 and 1.1, which no generation has that is written.
            ElementType::Unknown(_) | ElementType::UnknownOnLogical(..) => {
                return Err(BareError::nowhere(Unsupported::Dtype));
            }
        };
        let packed = logical.is_packed();
        let each = logical.element_size(storage).map_or(storage.width(), NonZeroU8::get);
        let bytes = match self.count {
            count if self.in_bytes => count,
            Some(elements) if packed => Some(elements.div_ceil(2)),
            count => count.and_then(|elements| elements.checked_mul(each.into())),
        };
        let bytes = bytes.ok_or(BareError::nowhere(Rule::ShapeOverflow))?;
        let level = self.level.filter(|_| self.stored.is_none() && bytes != 0);
        let own =
            || StoredBlob { offset: 0, length: bytes, compressed: level.is_some(), digest: None };
        Ok(Part {
            role: self.role,
            ordinal,
            storage,
            type_name,
            packed,
            bytes,
            level,
            known_sha256: self.known_sha256,
            is_stored: self.stored.is_some(),
            blob: self.stored.map_or_else(own, |stored| stored.blob),
            digest: BytesLeft::END,
            shard: self.stored.map(|stored| stored.shard),
        })
    }
}

/// A component as it is in the generation that is written, and where it is.
pub(super) struct Part<'a> {
    pub(super) role: &'a str,
    /// The place among those that were declared.
    pub(super) ordinal: u32,
    pub(super) storage: StorageType,
    /// The name of its type, where that says more than the storage type.
    pub(super) type_name: Option<&'a str>,
    /// True if two elements share a byte.
    pub(super) packed: bool,
    /// Decoded bytes.
    pub(super) bytes: u64,
    /// The level of compression, where there is something to compress.
    pub(super) level: Option<Level>,
    pub(super) known_sha256: Option<&'a Identity>,
    /// True if its bytes are in a shard already.
    pub(super) is_stored: bool,
    pub(super) blob: StoredBlob,
    /// The place of its digest, if it has one, before the end of the entry that was checked.
    pub(super) digest: BytesLeft,
    /// The shard that it is in, if it is in one.
    pub(super) shard: Option<&'a str>,
}

/// An object that has been declared.
pub(super) struct Declared<'a> {
    pub(super) name: &'a str,
    pub(super) layout: &'a str,
    pub(super) shape: &'a [u64],
    /// CBOR.
    pub(super) attributes: Option<Encoder>,
    pub(super) parts: Vec<Part<'a>>,
}

/// One object that is to be written.
///
/// ```
/// use zten::{DType, write::NewObject};
/// let object = NewObject::dense("layer1.weight", &[768, 1024], DType::F32);
/// let matrix = NewObject::sparse_csr("adjacency", &[1000, 1000], DType::F32, 5000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewObject<'a> {
    pub(super) name: &'a str,
    layout: LayoutName<'a>,
    pub(super) shape: &'a [u64],
    pub(super) attributes: Option<&'a Encoded>,
    components: Components<'a>,
}

/// The layout of an object: a known one, which each generation has its own name for, or a name.
#[derive(Clone, Copy, Debug)]
enum LayoutName<'a> {
    Known(Layout),
    Named(&'a str),
}

/// The components of an object; few enough to need no memory, or the caller's.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    target_pointer_width = "64",
    expect(clippy::large_enum_variant, reason = "most are few, which take no memory of the heap")
)]
enum Components<'a> {
    Few([NewComponent<'a>; 3], usize),
    Many(&'a [NewComponent<'a>]),
}

impl<'a> Components<'a> {
    fn one(data: NewComponent<'a>) -> Self {
        Self::Few([data; 3], 1)
    }

    fn two(first: NewComponent<'a>, second: NewComponent<'a>) -> Self {
        Self::Few([first, second, second], 2)
    }
}

impl<'a> NewObject<'a> {
    /// A dense array in row-major order: v1.2 §3. Its component is `data`.
    pub fn dense(name: &'a str, shape: &'a [u64], element: impl Into<ElementType<'a>>) -> Self {
        let data = NewComponent::counted("data", element, product(shape));
        Self::new(name, LayoutName::Known(Layout::Dense), shape, Components::one(data))
    }

    /// A matrix of `nnz` values as compressed sparse rows: v1.2 §3. Its components are
    /// `indptr`, `values` and `indices`: rows + 1 of `u64`, nnz values, nnz of `u64`.
    pub fn sparse_csr(
        name: &'a str,
        shape: &'a [u64; 2],
        element: impl Into<ElementType<'a>>,
        nnz: u64,
    ) -> Self {
        let [rows, _] = shape;
        let index = |role, count| NewComponent::counted(role, StorageType::U64, count);
        let components = [
            index("indptr", rows.checked_add(1)),
            NewComponent::new("values", element, nnz),
            index("indices", Some(nnz)),
        ];
        Self::new(name, LayoutName::Known(Layout::SparseCsr), shape, Components::Few(components, 3))
    }

    /// A list of `nnz` coordinates and values: v1.2 §3. Its components are `coords`, rank × nnz
    /// of `u64`, all of the first dimension before all of the second, and `values`.
    pub fn sparse_coo(
        name: &'a str,
        shape: &'a [u64],
        element: impl Into<ElementType<'a>>,
        nnz: u64,
    ) -> Self {
        let rank = u64::try_from(shape.len()).ok();
        let count = rank.and_then(|rank| rank.checked_mul(nnz));
        let coords = NewComponent::counted("coords", StorageType::U64, count);
        let components = Components::two(coords, NewComponent::new("values", element, nnz));
        Self::new(name, LayoutName::Known(Layout::SparseCoo), shape, components)
    }

    /// Packed weights with scales and zero-points: v1.1 III.4, v1.2 §3. The types and numbers of
    /// elements are those of `packed_weight`, `scales` and `zeros`; the components are written
    /// in the opposite order, which is the canonical one.
    pub fn quantized_group(
        name: &'a str,
        shape: &'a [u64],
        [packed_weight, scales, zeros]: [(DType, u64); 3],
    ) -> Self {
        let part = |role, (dtype, count): (DType, u64)| NewComponent::new(role, dtype, count);
        let components =
            [part("zeros", zeros), part("scales", scales), part("packed_weight", packed_weight)];
        let components = Components::Few(components, 3);
        Self::new(name, LayoutName::Known(Layout::QuantizedGroup), shape, components)
    }

    /// Blocks of `block_size` elements along an axis, the last unless the attributes say another, each
    /// with a scale: `zt.mx/1` of 2. Its components are `data`, of that type, and `scales`. Its
    /// attributes are to be those of [`Encoded::mx`], or more.
    pub fn mx(
        name: &'a str,
        shape: &'a [u64],
        element: impl Into<ElementType<'a>>,
        block_size: u64,
    ) -> Self {
        let elements = product(shape);
        let scales = elements.and_then(|elements| elements.checked_div(block_size));
        let components = Components::two(
            NewComponent::counted("data", element, elements),
            NewComponent::counted("scales", LogicalType::F8E8M0, scales),
        );
        Self::new(name, LayoutName::Known(Layout::Mx), shape, components)
    }

    /// Returns an object of `bytes` bytes of blocks of a type of GGUF: `gguf.NAME/1` of 2, whose name is `layout`. Its
    /// component is `data`. Its attributes are to be those of [`Encoded::gguf`], or more.
    pub fn gguf(name: &'a str, shape: &'a [u64], layout: &'a str, bytes: u64) -> Self {
        let data = NewComponent::of_bytes("data", StorageType::U8, bytes);
        Self::new(name, LayoutName::Named(layout), shape, Components::one(data))
    }

    /// An object of any format, known or not, with any components. What a known format asks
    /// for is validated when it is written.
    pub fn custom(
        name: &'a str,
        shape: &'a [u64],
        format: &'a str,
        components: &'a [NewComponent<'a>],
    ) -> Self {
        Self::new(name, LayoutName::Named(format), shape, Components::Many(components))
    }

    fn new(
        name: &'a str,
        layout: LayoutName<'a>,
        shape: &'a [u64],
        components: Components<'a>,
    ) -> Self {
        Self { name, layout, shape, attributes: None, components }
    }

    /// The same object, made of those components.
    pub(super) fn made_of<'c>(&self, components: &'c [NewComponent<'c>]) -> NewObject<'c>
    where
        'a: 'c,
    {
        NewObject { components: Components::Many(components), ..*self }
    }

    /// The name of its format; none where the generation has no such format.
    pub(super) fn format_name(&self, writing: &Writing) -> Option<&'a str> {
        match self.layout {
            LayoutName::Known(format) => (writing.format_name)(format),
            LayoutName::Named(name) => Some(name),
        }
    }

    /// Returns the layout that a reader sees.
    pub(super) fn format(&self, writing: &Writing) -> Layout {
        match self.layout {
            LayoutName::Known(format) => format,
            LayoutName::Named(name) => (writing.format)(name.as_bytes()),
        }
    }

    /// The object with attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: &'a Encoded) -> Self {
        self.attributes = Some(attributes);
        self
    }

    /// The object with all its components compressed on the way, but those of
    /// [`custom`](Self::custom), which say it themselves.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        if let Components::Few(all, _) = &mut self.components {
            *all = all.map(|component| component.compressed(level));
        }
        self
    }

    /// Returns whether it has a component of that role.
    pub(super) fn has(&self, role: &str) -> bool {
        self.components().iter().any(|component| component.role == role)
    }

    /// Returns the components, in the order in which their bytes are written.
    pub(super) fn components(&self) -> &[NewComponent<'a>] {
        match &self.components {
            Components::Few(all, count) => all.get(..*count).unwrap_or(all),
            Components::Many(all) => all,
        }
    }
}

/// The number of elements of a shape; none where it overflows and no dimension is 0.
fn product(shape: &[u64]) -> Option<u64> {
    let mut product = Product::ONE;
    for dimension in shape {
        product.multiply(*dimension);
    }
    product.elements()
}
