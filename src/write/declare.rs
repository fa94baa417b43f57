//! What is to be written: objects and components, before any of their bytes.

use alloc::vec::Vec;

use serde::Serialize;
use serde_cbor_2::Serializer;

use super::compress::Level;
use super::shared::Identity;
use crate::brief::Bytes;
use crate::cbor::Output;
use crate::element::{LogicalType, StorageType};
use crate::error::{Error, Misuse, OutOfMemory};
#[cfg(feature = "v2")]
use crate::format::v2::{GgufKey, MxKey};
use crate::format::{Format, Logical, Writing};
use crate::manifest::ElementType;

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

/// Attributes of a file or an object, as CBOR: a map whose keys are text. v1.2 §1.
///
/// ```
/// let attributes = zten::write::Encoded::from_value(&std::collections::BTreeMap::from([("bits", 4)]))?;
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded(Vec<u8>);

impl core::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        Bytes(&self.0).fmt(f)
    }
}

impl Encoded {
    /// The CBOR of any value that serde can take apart: a struct, a map. Whether it is one that
    /// can be attributes is validated where it is used.
    ///
    /// # Errors
    /// [`Misuse::Attributes`] where it cannot be written as CBOR; [`OutOfMemory`].
    pub fn from_value<T: Serialize>(value: &T) -> Result<Self, Error> {
        let mut taken = Taken(Output::default());
        let outcome = value.serialize(&mut Serializer::new(&mut taken));
        outcome.map_err(|error| {
            let no_memory = error.is_scratch_too_small();
            if no_memory { OutOfMemory.into() } else { Error::misuse(Misuse::Attributes) }
        })?;
        Ok(Self(taken.0.into_bytes()))
    }

    /// The attributes of [`NewObject::mx`] that say how blocks lie: v2 §5.2. Without an axis, along the
    /// last one.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    #[cfg(feature = "v2")]
    pub fn mx(block_size: u64, axis: Option<u64>) -> Result<Self, Error> {
        let mut out = Output::default();
        out.map(if axis.is_some() { 3 } else { 2 })?;
        if let Some(axis) = axis {
            MxKey::axis.write(&mut out)?;
            out.uint(axis)?;
        }
        MxKey::block_size.write(&mut out)?;
        out.uint(block_size)?;
        MxKey::scale_form.write(&mut out)?;
        out.text("e8m0_exponent")?;
        Ok(Self(out.into_bytes()))
    }

    /// The attributes of [`NewObject::gguf`]: elements and bytes of a block. v2 §5.2.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    #[cfg(feature = "v2")]
    pub fn gguf(elems_per_block: u64, block_bytes: u64) -> Result<Self, Error> {
        let mut out = Output::default();
        out.map(2)?;
        GgufKey::block_bytes.write(&mut out)?;
        out.uint(block_bytes)?;
        GgufKey::elems_per_block.write(&mut out)?;
        out.uint(elems_per_block)?;
        Ok(Self(out.into_bytes()))
    }

    /// Bytes that should be the CBOR of attributes; validated where they are used.
    pub fn from_cbor(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Takes what the serializer writes, where a plain `Vec` would abort when out of memory.
struct Taken(Output);

impl serde_cbor_2::ser::Write for Taken {
    type Error = serde_cbor_2::Error;

    fn write_all(&mut self, bytes: &[u8]) -> Result<(), Self::Error> {
        // No other error of the serializer's own can be told from those of the value.
        self.0.raw(bytes).map_err(|_| Self::Error::scratch_too_small(0))
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
        Self { role, element, amount, level: None, announced: None }
    }

    /// The component, whose decoded bytes will have that sha256: where they come in pieces, a blob that
    /// holds them already is found before they come. They have to come all the same.
    #[must_use]
    pub fn announced(mut self, sha256: &'a [u8; 32]) -> Self {
        self.announced = Some(sha256);
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
    pub(super) fn element(&self, writing: &Writing) -> ElementType<'a> {
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

    /// How it is stored and what it means; none where a 0.1 dtype is not known.
    pub(super) fn types(&self, writing: &Writing) -> Option<(StorageType, Logical)> {
        match self.element(writing) {
            ElementType::Plain(storage) => Some((storage, Logical::NONE)),
            ElementType::Logical(logical) => Some((logical.storage(), Logical::known(logical))),
            ElementType::UnknownLogical(_, storage) => {
                Some((storage, Logical { known: None, unknown: true }))
            }
            // Dtypes of 0.1 and 1.1, which no generation has that is written.
            ElementType::Unknown(_) | ElementType::UnknownOnLogical(..) => None,
        }
    }

    /// Bytes of all its elements; none where they are more than can be.
    pub(super) fn bytes(&self, writing: &Writing) -> Option<u64> {
        let elements = match self.amount {
            Amount::Elements(elements) => elements?,
            Amount::Bytes(bytes) => return Some(bytes),
        };
        let (storage, logical) = self.types(writing)?;
        if logical.is_packed() {
            return Some(elements.div_ceil(2));
        }
        let each = logical.element_size(storage).map_or(storage.width(), core::num::NonZero::get);
        elements.checked_mul(each.into())
    }

    /// The level of compression, where there is something to compress.
    pub(super) fn level(&self, writing: &Writing) -> Option<Level> {
        self.level.filter(|_| self.bytes(writing) != Some(0))
    }

    /// How many storage elements its bytes are.
    pub(super) fn stored_elements(&self, writing: &Writing) -> Option<u64> {
        let (storage, _) = self.types(writing)?;
        self.bytes(writing)?.checked_div(storage.width().into())
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
    #[cfg(feature = "v2")]
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
    #[cfg(feature = "v2")]
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
