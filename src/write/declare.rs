//! Declarations of the objects and components to write, before any of their bytes.

use alloc::vec::Vec;
use core::num::NonZeroU8;

use super::compress::Level;
use super::encoded::Encoded;
use crate::cbor::Encoder;
use crate::digest::Digest;
use crate::element::{DType, LogicalType, StorageType};
use crate::error::BareError;
use crate::formats::ztensor::Writing;
use crate::index::{Layout, Logical, Product, Span};
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

/// A component to write: its role, and the type and number of its elements.
#[derive(Clone, Copy, Debug)]
pub struct NewComponent<'a> {
    role: &'a str,
    element: ElementType<'a>,
    /// The number of elements, or of bytes if `in_bytes`; `None` if the number of elements overflows.
    count: Option<u64>,
    in_bytes: bool,
    /// The level of compression; `None` for no compression.
    pub(super) level: Option<Level>,
    /// The sha256 that the decoded bytes must have, if the caller knows it.
    known_sha256: Option<&'a Identity>,
    /// The blob of a shard that already holds the bytes, if there is one.
    stored: Option<&'a BlobInShard<'a>>,
}

/// A blob that has been written to a data shard or to any other file of 2: v2 §2.4.
///
/// [`ShardWriter::end_blob`](super::ShardWriter::end_blob) returns one, and callers that know the content of a file can
/// create one. [`NewComponent::stored`] refers to a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// The offset of the blob in its file, in bytes: a positive multiple of 4096.
    pub offset: u64,
    /// The number of stored bytes.
    pub length: u64,
    /// Whether the bytes are frames of `zt.zstd-seekable/1`. Otherwise they are raw elements.
    pub compressed: bool,
    /// The digest of the decoded bytes, by an algorithm that 2 knows; `None` for no digest.
    pub digest: Option<Digest<'static>>,
}

impl StoredBlob {
    /// Returns the blob together with the name that the root gives to its shard.
    pub fn in_shard(self, shard: &str) -> BlobInShard<'_> {
        BlobInShard { shard, blob: self }
    }
}

/// A blob, and the name of the shard that it is in: v2 §7.1.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobInShard<'a> {
    /// The name that the root gives to the shard.
    pub shard: &'a str,
    /// The position and the properties of the blob.
    pub blob: StoredBlob,
}

/// The fields of a shard in the table of its root, apart from its name: v2 §7.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardRecord {
    /// The size of the shard in bytes: 48 or more.
    pub size: u64,
    /// The digest of all bytes of the shard. Its algorithm must be one that generation 2 defines.
    pub digest: Digest<'static>,
}

/// The SHA-256 of decoded bytes, which identifies equal blobs.
///
/// Bytes that were written to a sink cannot be read again to compare them, and equal XXH3 does not prove that bytes are
/// equal. Equal SHA-256 and length count as proof: an attacker who can produce a collision could forge any digest.
pub(super) type Identity = [u8; 32];

impl<'a> NewComponent<'a> {
    /// Creates a component of `elements` elements: logical elements of a known type, or storage elements of an unknown
    /// type. A type that is given by a name counts as known if the generation knows the name.
    pub fn new(role: &'a str, element: impl Into<ElementType<'a>>, elements: u64) -> Self {
        Self::counted(role, element, Some(elements))
    }

    /// Creates a component of `bytes` bytes of elements of any type.
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

    /// Returns the component with the sha256 that its decoded bytes will have. If components
    /// [share](super::WriteOptions::sharing) blobs and the bytes come in pieces, an identical blob is thereby found before they
    /// come. The bytes must be passed all the same. If components do not share blobs, the sha256 is ignored.
    #[must_use]
    pub fn with_known_sha256(mut self, sha256: &'a [u8; 32]) -> Self {
        self.known_sha256 = Some(sha256);
        self
    }

    /// Returns the component as one whose bytes are already in a shard, so that no bytes are written (2 only). The
    /// shard must be [listed](super::Writer::shard). The content of the blob is not checked here, but by readers.
    #[must_use]
    pub fn stored(mut self, blob: &'a BlobInShard<'a>) -> Self {
        self.stored = Some(blob);
        self
    }

    /// Returns the component, to be compressed at `level` when it is written.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        self.level = Some(level);
        self
    }

    /// Returns the type that a reader finds: a type given by name becomes a known type if the generation knows the name
    /// on that storage type. In 1.x the name of the storage type itself adds nothing.
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

    /// Resolves the component for the generation that is written. The offset and the digest of its blob are not known
    /// yet, unless the blob is in a shard already.
    ///
    /// # Errors
    /// `unsupported-type` if the generation does not have the logical type; `unsupported-dtype` if the type cannot be written;
    /// `shape-overflow` if the number of bytes exceeds 64 bits.
    pub(super) fn resolve(
        &self,
        ordinal: u32,
        writing: &Writing,
    ) -> Result<DeclaredComponent<'a>, BareError> {
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
            // Only files of 0.1, of 1.1 and of other formats can have these dtypes. zten writes 1.2 and 2, so the component is
            // rejected.
            ElementType::Unknown(_)
            | ElementType::UnknownOnLogical(..)
            | ElementType::Opaque(..) => {
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
        Ok(DeclaredComponent {
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
            digest: Span::NONE,
            shard: self.stored.map(|stored| stored.shard),
        })
    }
}

/// A component that was declared for the file that is being written: its fields as they are in the generation of that file, and
/// the position of its blob.
pub(super) struct DeclaredComponent<'a> {
    pub(super) role: &'a str,
    /// The position of the component among the declared components of its object, counted from 0.
    pub(super) ordinal: u32,
    pub(super) storage: StorageType,
    /// The name of the type, if it is more than the storage type.
    pub(super) type_name: Option<&'a str>,
    /// Whether two elements share a byte.
    pub(super) packed: bool,
    /// The number of decoded bytes.
    pub(super) bytes: u64,
    /// The level of compression, if the component is compressed and has bytes.
    pub(super) level: Option<Level>,
    pub(super) known_sha256: Option<&'a Identity>,
    /// Whether the bytes are already in a shard.
    pub(super) is_stored: bool,
    pub(super) blob: StoredBlob,
    /// The span of the digest, a text, in the entry of the object that has been checked; missing if there is no digest.
    pub(super) digest: Span,
    /// The name of the shard that holds the component, if it is in a shard.
    pub(super) shard: Option<&'a str>,
}

/// An object that has been declared.
pub(super) struct Declared<'a> {
    pub(super) name: &'a str,
    pub(super) layout: &'a str,
    pub(super) shape: &'a [u64],
    /// The attributes as CBOR.
    pub(super) attributes: Option<Encoder>,
    pub(super) parts: Vec<DeclaredComponent<'a>>,
}

/// An object to write.
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

/// The layout of an object that is written: a layout that zten knows, whose name depends on the generation of the file, or the
/// name that the caller gives, which may be the name of any layout.
#[derive(Clone, Copy, Debug)]
enum LayoutName<'a> {
    Known(Layout),
    Named(&'a str),
}

/// The components of an object: a few components in place, or a list of the caller.
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
    /// Creates a dense array in row-major order: v1.2 §3. Its component is `data`.
    pub fn dense(name: &'a str, shape: &'a [u64], element: impl Into<ElementType<'a>>) -> Self {
        let data = NewComponent::counted("data", element, product(shape));
        Self::new(name, LayoutName::Known(Layout::Dense), shape, Components::one(data))
    }

    /// Creates a matrix of `nnz` values as compressed sparse rows: v1.2 §3. Its components are `indptr` (rows + 1
    /// `u64`), `values` (nnz values) and `indices` (nnz `u64`).
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

    /// Creates a list of `nnz` coordinates and values: v1.2 §3. Its components are `coords` (rank × nnz `u64`, all
    /// coordinates of the first dimension first) and `values`.
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

    /// Creates packed weights with scales and zero points: v1.1 III.4, v1.2 §3. The types and numbers of elements are
    /// given for `packed_weight`, `scales` and `zeros`, in this order. The components are written in the opposite
    /// order, which is canonical.
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

    /// Creates an object of blocks of `block_size` elements along an axis, each with a scale: `zt.mx/1` of 2. The axis
    /// is the last unless the attributes name another. The components are `data`, of the given type, and `scales`. The
    /// attributes must include those of [`Encoded::mx`].
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

    /// Creates an object of `bytes` bytes of blocks of a GGUF type: `gguf.NAME/1` of 2, whose name is `layout`. Its
    /// component is `data`. Its attributes must include those of [`Encoded::gguf`].
    pub fn gguf(name: &'a str, shape: &'a [u64], layout: &'a str, bytes: u64) -> Self {
        let data = NewComponent::of_bytes("data", StorageType::U8, bytes);
        Self::new(name, LayoutName::Named(layout), shape, Components::one(data))
    }

    /// Creates an object of any layout, known or not, with any components. The rules of a known layout are checked when
    /// the object is written.
    pub fn custom(
        name: &'a str,
        shape: &'a [u64],
        format: &'a str,
        components: &'a [NewComponent<'a>],
    ) -> Self {
        Self::new(name, LayoutName::Named(format), shape, Components::Many(components))
    }

    #[cfg_attr(
        target_pointer_width = "64",
        expect(
            clippy::large_types_passed_by_value,
            reason = "the only caller that has the largest variant moves it here once"
        )
    )]
    fn new(
        name: &'a str,
        layout: LayoutName<'a>,
        shape: &'a [u64],
        components: Components<'a>,
    ) -> Self {
        Self { name, layout, shape, attributes: None, components }
    }

    /// Returns the same object with `components` in place of its components.
    pub(super) fn made_of<'c>(&self, components: &'c [NewComponent<'c>]) -> NewObject<'c>
    where
        'a: 'c,
    {
        NewObject { components: Components::Many(components), ..*self }
    }

    /// Returns the name of the layout in the generation, or `None` if the generation does not have the layout.
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

    /// Returns the object with `attributes` in place of its attributes.
    #[must_use]
    pub fn attributes(mut self, attributes: &'a Encoded) -> Self {
        self.attributes = Some(attributes);
        self
    }

    /// Returns the object with compression of all its components. The components of [`custom`](Self::custom) objects
    /// have their own setting.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(mut self, level: Level) -> Self {
        if let Components::Few(all, _) = &mut self.components {
            *all = all.map(|component| component.compressed(level));
        }
        self
    }

    /// Returns whether the object has a component with the role `role`.
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

/// Returns the number of elements of `shape`, or `None` if it overflows and no dimension is 0.
fn product(shape: &[u64]) -> Option<u64> {
    let mut product = Product::ONE;
    for dimension in shape {
        product.multiply(*dimension);
    }
    product.elements()
}
