//! `sparse_coo`: a list of coordinates. v1.1 III.3, v1.2 §3.

mod entries;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::cmp::Ordering;

pub use entries::{CooEntries, Coordinate};

use super::index::{Coords, Indices};
use super::{Decoded, View};
use crate::codec::{ReadAt, ReadError};
use crate::element::Element;
use crate::error::{Error, Misuse, OutOfMemory};
use crate::format::Format;
use crate::limits::Limits;
use crate::manifest::{Component, Object, Shape};
use crate::num::{u64_from_usize, usize_from_u32};
use crate::rules::Rule;

/// A `sparse_coo` object: a tensor of rank 1 or more, and the components that hold it.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/coo_zstd_crc.zt").unwrap();
/// let archive = zten::Archive::open(&file)?;
/// let object = archive.get("coo3d").unwrap();
/// // Compressed: into memory of its own. What is raw can be bound where it lies.
/// let decoded = object.sparse_coo()?.decode(archive.data(), &zten::Limits::default())?;
/// let tensor = decoded.coo();
/// for (coordinate, value) in tensor.entries::<f32>()? {
///     println!("{:?} {value}", coordinate.collect::<Vec<u64>>());
/// }
/// let mut dense = [0_f32; 2 * 3 * 5];
/// tensor.to_dense(&mut dense)?;
/// # assert_eq!((dense[8], dense[29]), (-1.25, -0.75));
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct SparseCoo<'a> {
    shape: Shape<'a>,
    values: Component<'a>,
    coords: Component<'a>,
}

impl<'a> Object<'a> {
    /// The object as a list of coordinates.
    ///
    /// # Errors
    /// [`Misuse::Format`] where it is of another format; `unsupported-layout` where a 0.1 layout
    /// is not known.
    pub fn sparse_coo(&self) -> Result<SparseCoo<'a>, Error> {
        let read = || {
            let (values, coords) = (self.component("values")?, self.component("coords")?);
            Some(SparseCoo { shape: self.shape(), values, coords })
        };
        let coo = if self.format() == Format::SparseCoo { read() } else { None };
        coo.ok_or_else(|| self.other_format())
    }
}

impl<'a> SparseCoo<'a> {
    /// The dimensions, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.shape
    }

    /// The component `values`: nnz logical elements.
    pub fn values(&self) -> Component<'a> {
        self.values
    }

    /// The component `coords`: rank × nnz indices, all of the first dimension, then all of the
    /// second.
    pub fn coords(&self) -> Component<'a> {
        self.coords
    }

    /// The tensor where it lies in the file, all of whose coordinates are checked: O(rank × nnz)
    /// time, 8 bytes of memory a dimension. For objects of an [`Archive`](crate::Archive), which
    /// holds that file. Digests are not looked at.
    ///
    /// # Errors
    /// As [`Component::view`] and [`bind`](Self::bind).
    pub fn view(&self) -> Result<Coo<'a>, Error> {
        self.bind(self.values.file()?)
    }

    /// Binds the tensor to the file it is in, all of whose bytes are in `file`, and checks all
    /// coordinates: O(rank × nnz) time, 8 bytes of memory a dimension. Digests are not looked
    /// at.
    ///
    /// # Errors
    /// As [`Component::bind`]; `index-range`, at the byte of the file.
    pub fn bind<'d>(&self, file: &'d [u8]) -> Result<Coo<'d>, Error> {
        Coo::validate(self.dimensions()?, self.values.bind(file)?, self.coords.bind(file)?)
    }

    /// Decodes the tensor, whatever its encoding, into memory of its own, and checks it.
    ///
    /// # Errors
    /// As [`Component::decode`] and [`bind`](Self::bind); `coo-nnz` where the manifest does not
    /// give the sizes (zstd in 1.1).
    pub fn decode<R: ReadAt + ?Sized>(
        &self,
        source: &R,
        limits: &Limits,
    ) -> Result<DecodedCoo, ReadError<R::Error>> {
        let coords = self.coords.decode(source, limits)?;
        let values = self.values.decode(source, limits)?;
        let coo = Coo::validate(self.dimensions()?, values.view(), coords.view())?;
        let (shape, nnz) = (coo.shape.into_owned(), coo.nnz);
        Ok(DecodedCoo { shape, nnz, values, coords })
    }

    /// The dimensions, in memory: as many as the limit `rank` allows.
    fn dimensions(&self) -> Result<Vec<u64>, Error> {
        let mut dimensions = Vec::new();
        let memory = Error::from(OutOfMemory).at(self.coords.place());
        dimensions.try_reserve_exact(usize_from_u32(self.shape.rank())).map_err(|_| memory)?;
        dimensions.extend(self.shape());
        Ok(dimensions)
    }
}

/// A decoded tensor that has been checked: what a [`Coo`] can borrow from.
#[derive(Debug)]
pub struct DecodedCoo {
    shape: Vec<u64>,
    nnz: usize,
    values: Decoded,
    coords: Decoded,
}

impl DecodedCoo {
    /// The tensor. It was checked when it was decoded: this takes no time.
    pub fn coo(&self) -> Coo<'_> {
        Coo {
            shape: Cow::Borrowed(&self.shape),
            nnz: self.nnz,
            values: self.values.view(),
            coords: Indices::over(self.coords.view()),
        }
    }
}

/// A tensor as a list of coordinates that have been checked: every one is within the shape.
///
/// Entry `i` has, in dimension `d`, the coordinate at position `d × nnz + i` of `coords`.
/// Entries may be in any order, and may be repeated.
#[derive(Debug)]
pub struct Coo<'d> {
    shape: Cow<'d, [u64]>,
    nnz: usize,
    values: View<'d>,
    coords: Indices<'d>,
}

impl<'d> Coo<'d> {
    /// The one way to make one that has not been checked before.
    fn validate(shape: Vec<u64>, values: View<'d>, coords: View<'d>) -> Result<Self, Error> {
        let whole = |nnz: usize| nnz.checked_mul(shape.len()) == Some(coords.len());
        let nnz = coords.len().checked_div(shape.len());
        let Some(nnz) = nnz.filter(|nnz| whole(*nnz) && values.may_hold(*nnz)) else {
            let found = u64_from_usize(coords.len());
            return Err(Error::nowhere(Rule::CooNnz).found(found).at(coords.kind().place));
        };
        let mut check = Coords::new(shape.iter().copied(), u64_from_usize(nnz));
        let taken = Indices::over(coords).iter().each(|coordinate| check.validate(coordinate));
        taken.map_err(|bad| bad.error_in(&coords))?;
        Ok(Self { shape: Cow::Owned(shape), nnz, values, coords: Indices::over(coords) })
    }

    /// The dimensions, outermost first: 1 or more.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The number of entries, repeated ones and stored zeros included.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// The values, one logical element an entry. Of a logical type that is not known, these are
    /// storage elements, and how many make up an entry is not known either.
    pub fn values(&self) -> View<'d> {
        self.values
    }

    /// All coordinates: nnz of the first dimension, then nnz of the second, and so on.
    pub fn coords(&self) -> Indices<'d> {
        self.coords
    }

    /// The coordinates of all entries in one dimension, outermost first.
    pub fn axis(&self, dimension: usize) -> Option<Indices<'d>> {
        let start = self.nnz.checked_mul(dimension)?;
        let end = start.checked_add(self.nnz)?;
        let axis = self.coords.part(start..end);
        axis.filter(|_| dimension < self.shape.len())
    }

    /// Where an entry is: its coordinate in each dimension. None if there is no such entry.
    pub fn coordinate(&self, entry: usize) -> Option<Coordinate<'d>> {
        (entry < self.nnz).then(|| self.place(entry))
    }

    /// Coordinate and value of every entry, in the order they are stored.
    ///
    /// # Errors
    /// [`Misuse::Type`] where the values are not one `T` an entry; `bool-value`.
    pub fn entries<T: Element>(&self) -> Result<CooEntries<'d, T>, Error> {
        let values = self.values.one_each(self.nnz)?;
        Ok(CooEntries::new(self.coords, self.nnz, self.shape.len(), values))
    }

    /// Fills `dense` with the tensor in row-major order, and zeros (`false`) where it has no
    /// entry. Entries are written in the order they are stored: where a place is repeated, the
    /// last one is what stays. [`has_duplicates`](Self::has_duplicates) tells whether that
    /// happens; SciPy adds such entries up.
    ///
    /// # Errors
    /// As [`entries`](Self::entries); [`Misuse::Buffer`] where `dense` has not exactly as many
    /// elements as the product of the shape.
    pub fn to_dense<T: Element>(&self, dense: &mut [T]) -> Result<(), Error> {
        let entries = self.entries::<T>()?;
        let product = if self.shape.contains(&0) {
            Some(0)
        } else {
            self.shape.iter().try_fold(1_u64, |product, dimension| product.checked_mul(*dimension))
        };
        if product != Some(u64_from_usize(dense.len())) {
            return Err(Error::misuse(Misuse::Buffer).at(self.values.kind().place));
        }
        dense.fill(T::ZERO);
        for (coordinate, value) in entries {
            // Always below the length of `dense`: the coordinates have been checked.
            let at = coordinate.zip(self.shape()).try_fold(0_u64, |at, (place, dimension)| {
                at.checked_mul(*dimension)?.checked_add(place)
            });
            let at = at.and_then(|at| usize::try_from(at).ok());
            let slot = at.and_then(|at| dense.get_mut(at));
            *slot.ok_or_else(|| Error::internal().at(self.values.kind().place))? = value;
        }
        Ok(())
    }

    /// Whether the entries never fall in row-major order. O(rank × nnz).
    pub fn is_sorted(&self) -> bool {
        self.neighbours().all(Ordering::is_le)
    }

    /// Whether a place has more than one entry. O(rank × nnz) and no memory where the entries
    /// are sorted; otherwise O(rank × nnz log nnz), and memory for their order: `usize` an
    /// entry.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn has_duplicates(&self) -> Result<bool, Error> {
        let mut sorted = true;
        for order in self.neighbours() {
            if order.is_eq() {
                return Ok(true);
            }
            sorted &= order.is_lt();
        }
        if sorted {
            return Ok(false);
        }
        let mut entries: Vec<usize> = Vec::new();
        let memory = Error::from(OutOfMemory).at(self.coords.view().kind().place);
        entries.try_reserve_exact(self.nnz).map_err(|_| memory)?;
        entries.extend(0..self.nnz);
        entries.sort_unstable_by(|one, other| self.compare(*one, *other));
        let same =
            |pair: &[usize]| matches!(pair, [one, next] if self.compare(*one, *next).is_eq());
        Ok(entries.windows(2).any(same))
    }

    /// How each entry compares with the next.
    fn neighbours(&self) -> impl Iterator<Item = Ordering> {
        (0..self.nnz).zip(1..self.nnz).map(|(entry, next)| self.compare(entry, next))
    }

    /// How the places of two entries compare in row-major order.
    fn compare(&self, one: usize, other: usize) -> Ordering {
        self.place(one).cmp(self.place(other))
    }

    /// Where an entry is, which there is.
    fn place(&self, entry: usize) -> Coordinate<'d> {
        Coordinate::new(self.coords, entry, self.nnz, self.shape.len())
    }
}
