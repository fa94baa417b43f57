//! What is to be written: objects and components, before any of their bytes.

use super::compress::Level;
use super::encoded::Encoded;
use super::shared::Identity;
use crate::digest::Digest;
use crate::element::{LogicalType, StorageType};
use crate::format::{Format, Logical, Writing};
use crate::manifest::ElementType;
use crate::num::u64_from_usize;

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
    pub(super) role: &'a str,
    element: ElementType<'a>,
    amount: Amount,
    level: Option<Level>,
    /// The sha256 that its bytes are to have.
    pub(super) announced: Option<&'a Identity>,
    /// Where its bytes are already.
    pub(super) stored: Option<&'a BlobInShard<'a>>,
}

/// A blob that is in a data shard, or any other file of 2, already: v2 §2.4.
///
/// [`ShardWriter::end_blob`](super::ShardWriter::end_blob) makes one, and so can the caller, of what is
/// known of a file. [`NewComponent::stored`] refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredBlob {
    /// Where it begins in its file: a multiple of 4096, and not 0.
    pub offset: u64,
    /// Stored bytes.
    pub length: u64,
    /// Whether they are frames of `zt.zstd-seekable/1`; else they are the elements.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlobInShard<'a> {
    /// The name of the shard.
    pub shard: &'a str,
    /// Where it is in the shard, and what is known of it.
    pub blob: StoredBlob,
}

/// How much a component holds.
#[derive(Clone, Copy, Debug)]
enum Amount {
    /// Elements; none where there are more than can be counted.
    Elements(Option<u64>),
    Bytes(u64),
}

impl<'a> NewComponent<'a> {
    /// A component of so many elements: logical ones where the type is known, else those that
    /// they are stored as. A type that is given by a name that the generation knows is known.
    pub fn new(role: &'a str, element: impl Into<ElementType<'a>>, elements: u64) -> Self {
        Self::counted(role, element.into(), Some(elements))
    }

    /// A component of so many bytes, whatever its elements are.
    pub fn of_bytes(role: &'a str, element: impl Into<ElementType<'a>>, bytes: u64) -> Self {
        Self::of(role, element.into(), Amount::Bytes(bytes))
    }

    fn counted(role: &'a str, element: ElementType<'a>, elements: Option<u64>) -> Self {
        Self::of(role, element, Amount::Elements(elements))
    }

    fn of(role: &'a str, element: ElementType<'a>, amount: Amount) -> Self {
        Self { role, element, amount, level: None, announced: None, stored: None }
    }

    /// The component, whose decoded bytes will have that sha256: where they come in pieces, a blob that
    /// holds them already is found before they come. They have to come all the same.
    #[must_use]
    pub fn announced(mut self, sha256: &'a [u8; 32]) -> Self {
        self.announced = Some(sha256);
        self
    }

    /// The component, whose bytes are in a shard already, so that none are written (2 only). The shard
    /// has to be [listed](super::Writer::shard) before. What the blob holds is not looked at: it is
    /// validated by those who read it.
    #[must_use]
    pub fn stored(mut self, blob: &'a BlobInShard<'a>) -> Self {
        self.stored = Some(blob);
        self
    }

    /// The component, compressed on the way.
    #[cfg(feature = "zstd")]
    #[must_use]
    pub fn compressed(self, level: Level) -> Self {
        self.at(Some(level))
    }

    /// The component at a level of compression, or as it is.
    pub(super) fn at(mut self, level: Option<Level>) -> Self {
        self.level = level;
        self
    }

    /// What a reader takes the elements for: a type by its name, if the name is a known one and it
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

    /// Bytes of the name of its type, where this has a name that may not be known.
    pub(super) fn type_name_bytes(&self) -> u64 {
        match self.element {
            ElementType::UnknownLogical(name, _) => u64_from_usize(name.len()),
            _ => 0,
        }
    }

    /// What it is in the generation that is written; none where a 0.1 dtype is not known.
    #[inline]
    pub(super) fn resolve(&self, writing: &Writing) -> Option<Resolved<'a>> {
        let element = self.element(writing);
        let (storage, logical) = match element {
            ElementType::Plain(storage) => (storage, Logical::NONE),
            ElementType::Logical(logical) => (logical.storage(), Logical::known(logical)),
            ElementType::UnknownLogical(_, storage) => {
                (storage, Logical { known: None, unknown: true })
            }
            // Dtypes of 0.1 and 1.1, which no generation has that is written.
            ElementType::Unknown(_) | ElementType::UnknownOnLogical(..) => return None,
        };
        let bytes = match self.amount {
            Amount::Bytes(bytes) => Some(bytes),
            Amount::Elements(Some(elements)) if logical.is_packed() => Some(elements.div_ceil(2)),
            Amount::Elements(elements) => {
                let each = logical.element_size(storage);
                let each = each.map_or(storage.width(), core::num::NonZero::get);
                elements.and_then(|elements| elements.checked_mul(each.into()))
            }
        };
        let level = self.level.filter(|_| self.stored.is_none() && bytes != Some(0));
        let compressed = self.stored.map_or(level.is_some(), |stored| stored.blob.compressed);
        Some(Resolved { element, storage, logical, bytes, level, compressed })
    }
}

/// What a component is in the generation that is written.
#[derive(Clone, Copy)]
pub(super) struct Resolved<'a> {
    pub(super) element: ElementType<'a>,
    /// How it is stored, and what that means.
    pub(super) storage: StorageType,
    pub(super) logical: Logical,
    /// Bytes of all its elements; none where they are more than can be.
    pub(super) bytes: Option<u64>,
    /// The level of compression, where there is something to compress.
    pub(super) level: Option<Level>,
    /// Whether what is stored of it is compressed, here or in a shard.
    pub(super) compressed: bool,
}

impl Resolved<'_> {
    /// How many storage elements its bytes are.
    pub(super) fn stored_elements(&self) -> Option<u64> {
        self.bytes?.checked_div(self.storage.width().into())
    }
}

/// One object that is to be written.
///
/// ```
/// use zten::{StorageType, write::NewObject};
/// let object = NewObject::dense("layer1.weight", &[768, 1024], StorageType::F32);
/// let matrix = NewObject::sparse_csr("adjacency", &[1000, 1000], StorageType::F32, 5000);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NewObject<'a> {
    pub(super) name: &'a str,
    layout: Layout<'a>,
    pub(super) shape: &'a [u64],
    pub(super) attributes: Option<&'a Encoded>,
    components: Components<'a>,
}

/// How its components make up a tensor: what each generation has its own name for, or a name.
#[derive(Clone, Copy, Debug)]
enum Layout<'a> {
    Known(Format),
    Named(&'a str),
}

/// The components of an object; few enough to need no memory, or the caller's.
#[derive(Clone, Copy, Debug)]
enum Components<'a> {
    One([NewComponent<'a>; 1]),
    Two([NewComponent<'a>; 2]),
    Three([NewComponent<'a>; 3]),
    Many(&'a [NewComponent<'a>]),
}

impl<'a> NewObject<'a> {
    /// A dense array in row-major order: v1.2 §3. Its component is `data`.
    pub fn dense(name: &'a str, shape: &'a [u64], element: impl Into<ElementType<'a>>) -> Self {
        let data = NewComponent::counted("data", element.into(), product(shape));
        Self::new(name, Layout::Known(Format::Dense), shape, Components::One([data]))
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
        let index = |role, count| NewComponent::counted(role, StorageType::U64.into(), count);
        let components = [
            index("indptr", rows.checked_add(1)),
            NewComponent::new("values", element, nnz),
            index("indices", Some(nnz)),
        ];
        Self::new(name, Layout::Known(Format::SparseCsr), shape, Components::Three(components))
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
        let coords = NewComponent::counted("coords", StorageType::U64.into(), count);
        let components = [coords, NewComponent::new("values", element, nnz)];
        Self::new(name, Layout::Known(Format::SparseCoo), shape, Components::Two(components))
    }

    /// Packed weights with scales and zero-points: v1.1 III.4, v1.2 §3. The types and numbers of
    /// elements are those of `packed_weight`, `scales` and `zeros`; the components are written
    /// in the opposite order, which is the canonical one.
    pub fn quantized_group(
        name: &'a str,
        shape: &'a [u64],
        [packed_weight, scales, zeros]: [(StorageType, u64); 3],
    ) -> Self {
        let part = |role, (storage, count): (StorageType, u64)| {
            NewComponent::new(role, ElementType::Plain(storage), count)
        };
        let components =
            [part("zeros", zeros), part("scales", scales), part("packed_weight", packed_weight)];
        Self::new(name, Layout::Known(Format::QuantizedGroup), shape, Components::Three(components))
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
        let components = [
            NewComponent::counted("data", element.into(), elements),
            NewComponent::counted("scales", LogicalType::F8E8M0.into(), scales),
        ];
        Self::new(name, Layout::Known(Format::Mx), shape, Components::Two(components))
    }

    /// So many bytes of blocks of a type of GGUF: `gguf.NAME/1` of 2, whose name is `layout`. Its
    /// component is `data`. Its attributes are to be those of [`Encoded::gguf`], or more.
    pub fn gguf(name: &'a str, shape: &'a [u64], layout: &'a str, bytes: u64) -> Self {
        let data = NewComponent::of_bytes("data", StorageType::U8, bytes);
        Self::new(name, Layout::Named(layout), shape, Components::One([data]))
    }

    /// An object of any format, known or not, with any components. What a known format asks
    /// for is validated when it is written.
    pub fn custom(
        name: &'a str,
        shape: &'a [u64],
        format: &'a str,
        components: &'a [NewComponent<'a>],
    ) -> Self {
        Self::new(name, Layout::Named(format), shape, Components::Many(components))
    }

    fn new(
        name: &'a str,
        layout: Layout<'a>,
        shape: &'a [u64],
        components: Components<'a>,
    ) -> Self {
        Self { name, layout, shape, attributes: None, components }
    }

    /// The name of its format; none where the generation has no such format.
    pub(super) fn format_name(&self, writing: &Writing) -> Option<&'a str> {
        match self.layout {
            Layout::Known(format) => (writing.format_name)(format),
            Layout::Named(name) => Some(name),
        }
    }

    /// What a reader takes its format for.
    pub(super) fn format(&self, writing: &Writing) -> Format {
        match self.layout {
            Layout::Known(format) => format,
            Layout::Named(name) => (writing.format)(name.as_bytes()),
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
        let compressed = |component: NewComponent<'a>| component.compressed(level);
        self.components = match self.components {
            Components::One(all) => Components::One(all.map(compressed)),
            Components::Two(all) => Components::Two(all.map(compressed)),
            Components::Three(all) => Components::Three(all.map(compressed)),
            many @ Components::Many(_) => many,
        };
        self
    }

    /// Its components, in the order in which their bytes are written.
    pub(super) fn components(&self) -> &[NewComponent<'a>] {
        match &self.components {
            Components::One(all) => all,
            Components::Two(all) => all,
            Components::Three(all) => all,
            Components::Many(all) => all,
        }
    }
}

/// The number of elements of a shape; none where it overflows and no dimension is 0.
fn product(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))
}
