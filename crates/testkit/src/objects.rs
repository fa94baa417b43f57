//! Generates pseudorandom valid objects, with which oracles build the files that they test.

use arbitrary::{Result, Unstructured};
use zten::element::{LogicalType, StorageType};

/// The element type of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// The storage type, in which the elements are stored.
    pub storage: StorageType,
    /// The logical type, which says what a stored element means, if there is one.
    pub logical: Option<LogicalType>,
}

impl From<StorageType> for Type {
    fn from(storage: StorageType) -> Self {
        Self { storage, logical: None }
    }
}

impl From<LogicalType> for Type {
    fn from(logical: LogicalType) -> Self {
        Self { storage: logical.storage(), logical: Some(logical) }
    }
}

impl Type {
    /// Chooses a type: in one of three cases one of the types in `logical`, and otherwise any storage type.
    ///
    /// # Errors
    /// The choice falls on a type in `logical`, which is empty. If `u` runs out of bytes, zeros follow.
    pub fn any(u: &mut Unstructured<'_>, logical: &[LogicalType]) -> Result<Self> {
        let is_logical = u.ratio(1, 3)?;
        Ok(if is_logical {
            (*u.choose(logical)?).into()
        } else {
            (*u.choose(&StorageType::ALL)?).into()
        })
    }

    /// Returns the number of bits of an element.
    fn bits(self) -> u64 {
        match self.logical {
            Some(LogicalType::F4E2M1) => 4,
            logical => {
                let ratio = logical.map_or(1, LogicalType::ratio);
                8 * u64::from(self.storage.width()) * u64::from(ratio)
            }
        }
    }
}

/// A component of a generated object, with its decoded elements in little-endian order.
#[derive(Clone, Debug)]
pub struct ObjectComponent {
    /// The role of the component in its object, such as `indices`.
    pub role: &'static str,
    /// The type of the elements.
    pub of: Type,
    /// The number of elements of the component.
    pub elements: u64,
    /// The bytes of the elements.
    pub content: Vec<u8>,
}

impl ObjectComponent {
    /// Generates a component of `elements` elements, whose content repeats 16 pseudorandom bytes. In bools only the lowest bit of
    /// a byte is kept, and unused bits at the end are 0.
    ///
    /// # Errors
    /// Never: if `u` runs out of bytes, zeros follow.
    pub fn any(
        u: &mut Unstructured<'_>,
        role: &'static str,
        of: Type,
        elements: u64,
    ) -> Result<Self> {
        let bits = elements * of.bits();
        let length = usize::try_from(bits.div_ceil(8)).unwrap();
        let mut drawn = vec![0; length.min(16)];
        u.fill_buffer(&mut drawn)?;
        let mut content: Vec<u8> = drawn.into_iter().cycle().take(length).collect();
        if of.storage == StorageType::Bool {
            for byte in &mut content {
                *byte &= 1;
            }
        }
        if !bits.is_multiple_of(8)
            && let Some(last) = content.last_mut()
        {
            *last &= 0x0f;
        }
        Ok(Self { role, of, elements, content })
    }

    /// Creates a component of the role `role` whose elements are `indices`, stored as numbers of the type `storage`.
    /// Higher bits of an index that do not fit are dropped.
    pub fn indices(role: &'static str, storage: StorageType, indices: &[u64]) -> Self {
        let width = usize::from(storage.width());
        let number = |index: &u64| index.to_le_bytes().into_iter().take(width);
        let content = indices.iter().flat_map(number).collect();
        Self { role, of: storage.into(), elements: indices.len() as u64, content }
    }
}

/// The shape and the components of an object.
pub type Body = (Vec<u64>, Vec<ObjectComponent>);

/// Generates a dense array of the shape `shape` with elements of the type `of`.
///
/// # Errors
/// Never: if `u` runs out of bytes, zeros follow.
pub fn array(u: &mut Unstructured<'_>, shape: Vec<u64>, of: Type) -> Result<Body> {
    let elements = if shape.contains(&0) { 0 } else { shape.iter().product() };
    let data = ObjectComponent::any(u, "data", of, elements)?;
    Ok((shape, vec![data]))
}

/// Generates a dense array of at most three dimensions of size 0 to 5, with elements of the type `of`.
///
/// # Errors
/// Never: if `u` runs out of bytes, zeros follow.
pub fn dense(u: &mut Unstructured<'_>, of: Type) -> Result<Body> {
    let rank = u.int_in_range(0..=3)?;
    let shape = (0..rank).map(|_| u.int_in_range(0..=5)).collect::<Result<_>>()?;
    array(u, shape, of)
}

/// Chooses some of the numbers below `of`, which are cells of an array: sorted and distinct if `in_order`, and
/// otherwise in any order and with possible repetitions.
fn cells(u: &mut Unstructured<'_>, of: u64, in_order: bool) -> Result<Vec<u64>> {
    if in_order {
        let chosen = |cell| u.ratio(1, 3).map(|is| is.then_some(cell)).transpose();
        return (0..of).filter_map(chosen).collect();
    }
    let count = if of == 0 { 0 } else { u.int_in_range(0..=3)? };
    (0..count).map(|_| u.int_in_range(0..=of - 1)).collect()
}

/// Generates a matrix in compressed sparse rows (CSR) with values of the type `of`, and column indices and row
/// pointers of the types `index` and `pointer`. Indices are sorted and distinct within each row if `in_order`.
///
/// # Errors
/// Never: if `u` runs out of bytes, zeros follow.
pub fn csr(
    u: &mut Unstructured<'_>,
    of: Type,
    [index, pointer]: [StorageType; 2],
    in_order: bool,
) -> Result<Body> {
    let (rows, columns) = (u.int_in_range(0..=4)?, u.int_in_range(0..=6)?);
    let (mut indptr, mut indices) = (vec![0], Vec::new());
    for _ in 0..rows {
        indices.extend(cells(u, columns, in_order)?);
        indptr.push(indices.len() as u64);
    }
    let values = ObjectComponent::any(u, "values", of, indices.len() as u64)?;
    let indices = ObjectComponent::indices("indices", index, &indices);
    Ok((
        vec![rows, columns],
        vec![ObjectComponent::indices("indptr", pointer, &indptr), values, indices],
    ))
}

/// Generates a sparse tensor of one to three dimensions with values of the type `of` and coordinates (COO) of the
/// type `index`. The coordinates are sorted and distinct if `in_order`.
///
/// # Errors
/// Never: if `u` runs out of bytes, zeros follow.
pub fn coo(u: &mut Unstructured<'_>, of: Type, index: StorageType, in_order: bool) -> Result<Body> {
    let rank = u.int_in_range(1..=3)?;
    let shape: Vec<u64> = (0..rank).map(|_| u.int_in_range(0..=4)).collect::<Result<_>>()?;
    let cells = cells(u, shape.iter().product(), in_order)?;
    let mut coords = Vec::new();
    for (dimension, size) in shape.iter().enumerate() {
        let behind: u64 = shape[dimension + 1..].iter().product();
        coords.extend(cells.iter().map(|cell| cell / behind % size));
    }
    let values = ObjectComponent::any(u, "values", of, cells.len() as u64)?;
    Ok((shape, vec![ObjectComponent::indices("coords", index, &coords), values]))
}
