//! Writing tensors from slices of native numbers, in one call.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use serde::Serialize;

use super::declare::{NewComponent, NewObject};
use super::encoded::Encoded;
#[cfg(feature = "std")]
use super::settings::WriteOptions;
#[cfg(feature = "std")]
use super::sink::IoSink;
use super::sink::Sink;
use super::{TensorWriter, Writer};
use crate::element::{DType, Element};
use crate::error::{BareError, Error, Misuse, Named, OutOfMemory};
use crate::num::u64_from_usize;

/// The elements of a component that is written: a slice of any [`Element`], or bytes of a given type.
///
/// ```
/// use zten::{DType, write::ComponentData};
/// let part = ComponentData::from(&[1.5_f32, 2.5]);
/// let packed = ComponentData::of_bytes(DType::F4E2M1, &[0x21, 0x43]);
/// ```
#[derive(Clone, Debug)]
pub struct ComponentData<'a> {
    dtype: DType,
    elements: u64,
    /// The little-endian bytes; `None` if memory ran out while they were copied.
    bytes: Option<Cow<'a, [u8]>>,
}

impl<'a> ComponentData<'a> {
    /// Creates the data of a component whose elements have the type `dtype`, given as little-endian bytes.
    pub fn of_bytes(dtype: DType, bytes: &'a [u8]) -> Self {
        let bits = u64_from_usize(bytes.len()).saturating_mul(8);
        let elements = dtype.bits().and_then(|each| bits.checked_div(each.into()));
        Self { dtype, elements: elements.unwrap_or(0), bytes: Some(Cow::Borrowed(bytes)) }
    }

    fn new<T: Element>(elements: &'a [T]) -> Self {
        let dtype = DType::of(T::DTYPE, T::LOGICAL);
        let count = u64_from_usize(elements.len());
        let bytes = match T::as_bytes(elements) {
            Some(bytes) => Some(Cow::Borrowed(bytes)),
            None => copied(elements).map(Cow::Owned),
        };
        Self { dtype, elements: count, bytes }
    }

    /// Returns the type of the elements.
    pub(crate) fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the little-endian bytes of the elements.
    pub(crate) fn bytes(&self) -> Result<&[u8], OutOfMemory> {
        self.bytes.as_deref().ok_or(OutOfMemory)
    }
}

/// Copies `elements` as little-endian bytes. Returns `None` if memory is out.
fn copied<T: Element>(elements: &[T]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size_of_val(elements)).ok()?;
    for element in elements {
        bytes.extend(element.to_le().into_iter().take(size_of::<T>()));
    }
    Some(bytes)
}

impl<'a, T: Element> From<&'a [T]> for ComponentData<'a> {
    fn from(elements: &'a [T]) -> Self {
        Self::new(elements)
    }
}

impl<'a, T: Element> From<&'a Vec<T>> for ComponentData<'a> {
    fn from(elements: &'a Vec<T>) -> Self {
        Self::new(elements)
    }
}

impl<'a, T: Element, const N: usize> From<&'a [T; N]> for ComponentData<'a> {
    fn from(elements: &'a [T; N]) -> Self {
        Self::new(elements)
    }
}

#[cfg(feature = "std")]
impl<W: std::io::Write> Writer<IoSink<W>> {
    /// Begins a file that is written to any [`io::Write`](std::io::Write), from its first byte to its last.
    /// [`finish`](Self::finish) flushes `writer` and returns it. Padding and manifests are written in small pieces, so wrap
    /// a file in a [`BufWriter`](std::io::BufWriter), which passes large pieces through.
    ///
    /// # Errors
    /// The header cannot be written.
    pub fn to(writer: W) -> Result<Self, Error> {
        Self::new(IoSink(writer), &WriteOptions::default())
    }
}

impl<S: Sink> Writer<S> {
    /// Writes a dense tensor whose elements are in memory, in row-major order: v1.2 §3.
    ///
    /// ```
    /// let mut file = zten::Writer::to(Vec::new())?;
    /// file.add("bias", &[2], &[1.5_f32, 2.5])?;
    /// let file = file.finish()?;
    /// assert_eq!(zten::Archive::from_bytes(file)?.tensor("bias")?.to_vec::<f32>()?, [1.5, 2.5]);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any rule on tensors, including `duplicate-name`; [`Misuse::Length`] if the number of elements is not that of
    /// `shape`; [`Misuse::Unfinished`] if an earlier tensor has not ended; [`Misuse::Order`] if the canonical form requires
    /// another order; [`OutOfMemory`]; the error of the sink.
    pub fn add<'a>(
        &mut self,
        name: &str,
        shape: &[u64],
        elements: impl Into<ComponentData<'a>>,
    ) -> Result<(), Error> {
        let part = elements.into();
        let new = self.with_level(&NewObject::dense(name, shape, part.dtype));
        self.add_object(&new, &[("data", part.bytes()?)])
    }

    /// Begins a dense tensor whose elements are written piece by piece, as little-endian bytes in row-major order.
    ///
    /// ```
    /// use std::io::Write as _;
    ///
    /// let mut file = zten::Writer::to(Vec::new())?;
    /// let mut big = file.begin("embedding", &[3, 2], zten::DType::U8)?;
    /// for row in 0..3 {
    ///     big.write_all(&[row; 2])?;
    /// }
    /// big.finish()?;
    /// let file = file.finish()?;
    /// # assert_eq!(zten::Archive::from_bytes(file)?.tensor("embedding")?.to_vec::<u8>()?, [0, 0, 1, 1, 2, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`object`](Self::object).
    pub fn begin<'a>(
        &mut self,
        name: &'a str,
        shape: &'a [u64],
        dtype: DType,
    ) -> Result<TensorWriter<'_, 'a, S>, Error> {
        let new = self.with_level(&NewObject::dense(name, shape, dtype));
        self.object(&new)
    }

    /// Writes a matrix as compressed sparse rows: v1.2 §3. `parts`, in any order, are `indptr` (rows + 1 `u64`), `indices`
    /// (the column of each entry, `u64`) and `values`.
    ///
    /// ```
    /// let mut file = zten::Writer::to(Vec::new())?;
    /// let (values, indices, indptr) = ([1.5_f32, 2.5], [2_u64, 0], [0_u64, 1, 2]);
    /// let parts = [("values", (&values).into()), ("indices", (&indices).into()), ("indptr", (&indptr).into())];
    /// file.add_csr("m", &[2, 3], &parts)?;
    /// # let file = file.finish()?;
    /// # assert_eq!(zten::Archive::from_bytes(file)?.tensor("m")?.csr()?.nnz(), 2);
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`add`](Self::add); [`Misuse::Parts`] if a part is missing, unknown or given twice; the rules `csr-…`
    /// and `index-range`.
    pub fn add_csr(
        &mut self,
        name: &str,
        shape: &[u64; 2],
        parts: &[(&str, ComponentData<'_>)],
    ) -> Result<(), Error> {
        let new = NewObject::sparse_csr(name, shape, DType::Unknown, 0);
        self.add_parts(&new, ["indptr", "values", "indices"], parts)
    }

    /// Writes a tensor as a list of coordinates: v1.2 §3. `parts`, in any order, are `coords` (rank × nnz `u64`, all
    /// coordinates of the first dimension first) and `values`.
    ///
    /// # Errors
    /// The errors of [`add_csr`](Self::add_csr).
    pub fn add_coo(
        &mut self,
        name: &str,
        shape: &[u64],
        parts: &[(&str, ComponentData<'_>)],
    ) -> Result<(), Error> {
        let new = NewObject::sparse_coo(name, shape, DType::Unknown, 0);
        self.add_parts(&new, ["coords", "values"], parts)
    }

    /// Writes packed weights: v1.1 III.4, v1.2 §3. `parts`, in any order, are `packed_weight`, `scales` and `zeros`, which
    /// [`Quantized`](crate::view::Quantized) describes. `attributes` is any value that serde serializes as a map, with
    /// `bits`, `group_size` and `packing`.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add); [`Misuse::Parts`] if a part is missing, unknown or given twice.
    pub fn add_quantized<T: Serialize + ?Sized>(
        &mut self,
        name: &str,
        shape: &[u64; 2],
        attributes: &T,
        parts: &[(&str, ComponentData<'_>)],
    ) -> Result<(), Error> {
        let attributes = Encoded::from_value(attributes)?;
        let new = NewObject::quantized_group(name, shape, [(DType::Unknown, 0); 3]);
        self.add_parts(&new.attributes(&attributes), ["zeros", "scales", "packed_weight"], parts)
    }

    /// Writes `object`, whose components have the `roles`, in this order. `parts` may be in any order.
    fn add_parts<const N: usize>(
        &mut self,
        object: &NewObject<'_>,
        roles: [&str; N],
        parts: &[(&str, ComponentData<'_>)],
    ) -> Result<(), Error> {
        let find = |role| {
            let mut own = parts.iter().filter(|(name, _)| *name == role);
            own.next().filter(|_| own.next().is_none()).map(|(_, part)| part)
        };
        let new = roles.map(|role| {
            let (dtype, elements) =
                find(role).map_or((DType::Unknown, 0), |part| (part.dtype, part.elements));
            self.component_with_level(NewComponent::new(role, dtype, elements))
        });
        if parts.len() != N || roles.iter().any(|role| find(role).is_none()) {
            let named = Named { tensor: Some(object.name), ..Named::default() };
            return Err(Error::from(BareError::misuse(Misuse::Parts)).named(&named));
        }
        let mut bytes: [(&str, &[u8]); N] = roles.map(|role| (role, &[][..]));
        for (role, own) in &mut bytes {
            if let Some(part) = find(role) {
                *own = part.bytes()?;
            }
        }
        self.add_object(&object.made_of(&new), &bytes)
    }

    /// Returns the object, with compression if the settings ask for it.
    #[cfg(feature = "zstd")]
    fn with_level<'a>(&self, object: &NewObject<'a>) -> NewObject<'a> {
        self.level.map_or(*object, |level| object.compressed(level))
    }

    /// Returns the object unchanged: without the feature `zstd` nothing is compressed.
    #[cfg(not(feature = "zstd"))]
    fn with_level<'a>(&self, object: &NewObject<'a>) -> NewObject<'a> {
        *object
    }

    /// Returns the component, with compression if the settings ask for it.
    #[cfg(feature = "zstd")]
    fn component_with_level<'a>(&self, component: NewComponent<'a>) -> NewComponent<'a> {
        self.level.map_or(component, |level| component.compressed(level))
    }

    /// Returns the component unchanged: without the feature `zstd` nothing is compressed.
    #[cfg(not(feature = "zstd"))]
    fn component_with_level<'a>(&self, component: NewComponent<'a>) -> NewComponent<'a> {
        component
    }
}
