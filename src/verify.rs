//! Reading all of a file and judging what is in it: sizes, digests, compression, bools, indices.

use crate::codec::{ReadAt, ReadError, Verified};
use crate::element::{ByteOrder, StorageType};
use crate::error::Error;
use crate::layout::{BadIndex, Below, Coords, Indptr, Widened};
use crate::limits::Limits;
use crate::manifest::{Component, Generation, Object, Shape};
use crate::num::wide;
use crate::rules::{Limit, Rule, Unsupported};
use crate::schema::{Encoding, Format};

/// Judges the content of objects, one after another, within the limits on a whole file.
///
/// Memory does not depend on the size of a component: 64 KiB, and for zstd what
/// [`Content`](crate::Content) needs.
///
/// ```
/// # let file = &std::fs::read("corpus/accept/1.2.3/csr_raw.zt").unwrap()[..];
/// let archive = zten::Archive::open(file)?;
/// let mut verifier = zten::Verifier::new(file.len() as u64, &zten::Limits::default());
/// for object in archive.objects() {
///     verifier.object(&object, archive.data(), |_, _| ()).map_err(zten::Error::from)?;
/// }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Verifier {
    limits: Limits,
    /// Bytes that compressed components may still decode to.
    left: u64,
    total: u64,
}

impl Verifier {
    /// A verifier for a file of `file_len` bytes.
    pub fn new(file_len: u64, limits: &Limits) -> Self {
        let total = limits.decoded_total(file_len);
        Self { limits: *limits, left: total, total }
    }

    /// Bytes that compressed components have decoded to so far.
    pub fn decoded(&self) -> u64 {
        self.total.saturating_sub(self.left)
    }

    /// Reads all components of an object. `tap` sees every chunk of each: decoded,
    /// little-endian, and judged so far.
    ///
    /// # Errors
    /// Any rule on content; what is unsupported, a digest that cannot be verified among it.
    pub fn object<R: ReadAt + ?Sized>(
        &mut self,
        object: &Object<'_>,
        source: &R,
        mut tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), ReadError<R::Error>> {
        let nnz = self.nnz(object, source)?;
        for component in object.components() {
            let mut check = Check::of(object, &component, nnz);
            self.component(&component, source, |chunk| {
                check.take(&component, chunk)?;
                tap(&component, chunk);
                Ok(())
            })?;
            check.finish().map_err(|bad| bad.error(&component))?;
        }
        match object.components().next() {
            Some(first)
                if object.format() == Format::Unknown && first.generation() == Generation::V0_1 =>
            {
                let error = Error::new(Unsupported::Layout, first.extent().offset());
                Err(error.at(first.place()).into())
            }
            _ => Ok(()),
        }
    }

    /// Reads one component and hands its chunks to `take`.
    fn component<R: ReadAt + ?Sized>(
        &mut self,
        component: &Component<'_>,
        source: &R,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), ReadError<R::Error>> {
        let compressed = component.encoding() == Encoding::Zstd;
        let mut content = component.content(source, &self.limits)?;
        while let Some(chunk) = content.next_chunk()? {
            if compressed {
                let over = Error::new(Limit::DecodedTotal, component.extent().offset());
                let over = over.found(self.total.saturating_add(1)).at(component.place());
                self.left = self.left.checked_sub(wide(chunk.len())).ok_or(over)?;
            }
            take(chunk)?;
        }
        if content.verified() == Some(Verified::Unverifiable) {
            let error = Error::new(Unsupported::Digest, component.extent().offset());
            return Err(error.at(component.place()).into());
        }
        Ok(())
    }

    /// How many values a sparse object has. Where the manifest does not give the sizes of all
    /// its components (zstd in 1.1), they are measured, and held against each other.
    fn nnz<R: ReadAt + ?Sized>(
        &self,
        object: &Object<'_>,
        source: &R,
    ) -> Result<Option<u64>, ReadError<R::Error>> {
        let (indexed, rule, per_value) = match object.format() {
            Format::SparseCsr => ("indices", Rule::CsrNnz, 1),
            Format::SparseCoo => ("coords", Rule::CooNnz, u64::from(object.shape().rank())),
            _ => return Ok(None),
        };
        let (Some(values), Some(indices)) = (object.component("values"), object.component(indexed))
        else {
            return Ok(None);
        };
        let count = self.count(&indices, source)?;
        let disagree = Error::nowhere(rule).found(count.unwrap_or(0)).at(indices.place());
        if let (Some(count), Some(values)) = (count, self.count(&values, source)?)
            && values.checked_mul(per_value) != Some(count)
        {
            return Err(disagree.into());
        }
        let nnz = count.and_then(|count| count.checked_div(per_value));
        if nnz.and_then(|nnz| nnz.checked_mul(per_value)) != count {
            return Err(disagree.into());
        }
        if let Some(indptr) = object.component("indptr").filter(|_| per_value == 1)
            && object.format() == Format::SparseCsr
        {
            let rows = object.shape().next().unwrap_or_default();
            let found = self.count(&indptr, source)?.unwrap_or_default();
            if rows.checked_add(1) != Some(found) {
                let error = Error::nowhere(Rule::CsrIndptrSize).found(found);
                return Err(error.at(indptr.place()).into());
            }
        }
        Ok(nnz)
    }

    /// How many logical elements a component holds, where its type is known.
    fn count<R: ReadAt + ?Sized>(
        &self,
        component: &Component<'_>,
        source: &R,
    ) -> Result<Option<u64>, ReadError<R::Error>> {
        let Some(size) = component.element_size() else {
            return Ok(None);
        };
        let mut bytes = component.decoded_length().unwrap_or_default();
        if component.decoded_length().is_none() {
            // The limit on all components together is charged when they are read for good.
            let mut content = component.content(source, &self.limits)?;
            while let Some(chunk) = content.next_chunk()? {
                bytes = bytes.saturating_add(wide(chunk.len()));
            }
        }
        Ok(bytes.checked_div(size))
    }
}

/// What is asked of the indices in a component.
enum Check<D> {
    Nothing,
    Indptr(Indptr, u64),
    Below(Below),
    Coords(Coords<D>),
}

impl<'a> Check<Shape<'a>> {
    fn of(object: &Object<'a>, component: &Component<'a>, nnz: Option<u64>) -> Self {
        let Some(nnz) = nnz else { return Self::Nothing };
        match (object.format(), component.role()) {
            (Format::SparseCsr, "indptr") => {
                let storage = component.storage_type().unwrap_or(StorageType::U64);
                Self::Indptr(Indptr::of(storage), nnz)
            }
            (Format::SparseCsr, "indices") => {
                Self::Below(Below::new(object.shape().nth(1).unwrap_or_default()))
            }
            (Format::SparseCoo, "coords") => Self::Coords(Coords::new(object.shape(), nnz)),
            _ => Self::Nothing,
        }
    }

    fn take(&mut self, component: &Component<'_>, chunk: &[u8]) -> Result<(), Error> {
        let storage = component.storage_type().unwrap_or(StorageType::U64);
        let indices = Widened::new(chunk, storage, ByteOrder::Little);
        let taken = match self {
            Self::Nothing => Ok(()),
            Self::Indptr(indptr, _) => indices.each(|index| indptr.take(index)),
            Self::Below(below) => indices.each(|index| below.take(index)),
            Self::Coords(coords) => indices.each(|index| coords.take(index)),
        };
        taken.map_err(|bad| bad.error(component))
    }

    fn finish(&self) -> Result<(), BadIndex> {
        match self {
            Self::Indptr(indptr, nnz) => indptr.finish(*nnz),
            _ => Ok(()),
        }
    }
}
