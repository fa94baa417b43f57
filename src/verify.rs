//! Reading all of a file and validating what is in it: sizes, digests, compression, bools, indices.

#[cfg(feature = "digest")]
mod canonical;
mod sparse;

use crate::codec::{Deferred, Files, Locate, ReadAt, ReadError, Shards};
use crate::element::StorageType;
use crate::error::{Error, Misuse, Place};
use crate::format::{Encoding, Format};
use crate::layout::BadIndex;
use crate::limits::Limits;
use crate::manifest::{Component, Dimensions, Manifest, ManifestRef, Object};
use crate::num::{divide_exactly, u64_from_usize};
use crate::rules::{Limit, Rule, Unsupported};

pub use crate::codec::{DigestAlgorithm, Mismatch, NoContentDigest, Verified};
#[cfg(feature = "digest")]
pub(crate) use canonical::sha256;
pub(crate) use sparse::Sparse;

/// The order in which elements are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Row-major, which whoever takes them expects.
    Rows,
    /// The order in which they are stored.
    Stored,
}

/// Validates the content of objects, one after another, within the limits on a whole file.
///
/// Memory does not depend on the size of a component: 64 KiB, and for zstd what
/// [`Content`](crate::source::Content) needs. Two kinds of objects take more, at most as many bytes as
/// [`Limits::decoded`] says: elements in column-major order that are handed on, all of them; and a sparse object of 2,
/// whose rows ascend and no cell of which may be there twice, 8 bytes a row or a value (twice as many if its cells do not
/// ascend).
///
/// ```
/// # let file = &std::fs::read("corpus/accept/1.2.3/csr_raw.zt").unwrap()[..];
/// let archive = zten::Archive::open(file)?;
/// let mut verifier = zten::verify::Verifier::new(file.len() as u64, &zten::Limits::default());
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
    mismatch: Option<Mismatch>,
}

impl Verifier {
    /// A verifier for a file of `file_len` bytes.
    pub fn new(file_len: u64, limits: &Limits) -> Self {
        let total = limits.decoded_total(file_len);
        Self { limits: *limits, left: total, total, mismatch: None }
    }

    /// Bytes that compressed components have decoded to so far.
    pub fn decoded(&self) -> u64 {
        self.total.saturating_sub(self.left)
    }

    /// Reads all components of an object, wherever they are. `tap` sees every chunk of each: decoded,
    /// little-endian, and validated so far.
    ///
    /// # Errors
    /// Any rule on content, with offsets in the file that the component is in; what is unsupported, a digest that cannot be
    /// verified among it; what [`Locate::locate`] fails with.
    pub fn object<L: Locate>(
        &mut self,
        object: &Object<'_>,
        files: L,
        tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), ReadError<L::Error>> {
        self.located(object, files, Order::Rows, tap).map_err(L::flatten)
    }

    /// Validates all components of an object, as [`object`](Self::object), in the order in which their elements are
    /// stored: those in column-major order take no more memory than others.
    ///
    /// # Errors
    /// The same as [`object`](Self::object).
    pub fn check<L: Locate>(
        &mut self,
        object: &Object<'_>,
        files: L,
    ) -> Result<(), ReadError<L::Error>> {
        self.located(object, files, Order::Stored, |_, _| ()).map_err(L::flatten)
    }

    pub(crate) fn located<L: Locate>(
        &mut self,
        object: &Object<'_>,
        files: L,
        order: Order,
        mut tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), ReadError<<L::Source as ReadAt>::Error>> {
        let mut deferred = Deferred::default();
        let nnz = deferred.pass(self.nnz(object, files))?.flatten();
        let mut sparse = Sparse::new(object.format(), object.shape().iter(), nnz);
        if object.dialect().single_cells {
            let at = |over: BadIndex| match object.component("coords") {
                Some(coords) => over.error(&coords),
                None => Error::internal(),
            };
            sparse.ask_for_single_cells(&self.limits).map_err(at)?;
        }
        for component in object.components() {
            let located = deferred.pass(files.locate(&component))?;
            let Some((component, source)) = located else { continue };
            // Bytes of a type that is not known have a digest and frames all the same.
            deferred.pass(component.readable())?;
            let read = self.component(&component, &mut sparse, source, order, |chunk| {
                tap(&component, chunk);
                Ok::<(), ReadError<<L::Source as ReadAt>::Error>>(())
            });
            deferred.pass(read)?;
        }
        deferred.note(object.unknown_layout());
        deferred.finish(())
    }

    /// Reads all objects of a file, and in one that was opened as canonical the padding. What is not
    /// supported does not keep the rest from being validated: a broken rule further on says more
    /// about the file.
    ///
    /// # Errors
    /// The same as [`object`](Self::object) and [`alone`](Self::alone); `canonical-padding`, `canonical-sharing`.
    pub fn file<R: ReadAt + ?Sized>(
        &mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &R,
    ) -> Result<Summary, ReadError<R::Error>> {
        let read = self.objects(manifest.parts(), source)?;
        self.finish(manifest.parts(), source, read, self.alone(manifest).err())
    }

    /// The same as [`file`](Self::file), of a file whose shards have been looked for: those are verified first, if they have
    /// not been.
    ///
    /// # Errors
    /// The same as [`object`](Self::object) and [`Shards::verify`]; `canonical-padding`, `canonical-sharing`.
    pub fn file_in<R: ReadAt + ?Sized, S: ReadAt<Error = R::Error>>(
        &mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        root: &R,
        shards: &mut Shards<'_, S>,
    ) -> Result<Summary, ReadError<R::Error>> {
        let of_shards = match shards.verify(&self.limits) {
            // Without memory they are not verified, and nothing can be read of them.
            Err(ReadError::Refused(error)) if error.id().is_some() => Some(error),
            other => other.map(|()| None)?,
        };
        let read = self.objects(manifest.parts(), Files { root, shards });
        self.finish(manifest.parts(), root, read.map_err(ReadError::flatten)?, of_shards)
    }

    /// Validates that a file lists no shards (2), whether components are in them or not: they are
    /// other files than this one. v2 §7.1. After all objects, it is what
    /// [`file`](Self::file) does.
    ///
    /// # Errors
    /// `unsupported-shard`, at the first one.
    pub fn alone(&self, manifest: &Manifest<impl AsRef<[u8]>>) -> Result<(), Error> {
        let first = manifest.shards().next();
        first.map_or(Ok(()), |shard| Err(shard.error(Unsupported::Shard)))
    }

    /// Reads all objects.
    fn objects<L: Locate>(
        &mut self,
        manifest: ManifestRef<'_>,
        files: L,
    ) -> Result<(Summary, Deferred), ReadError<<L::Source as ReadAt>::Error>> {
        let (mut summary, mut deferred) = (Summary::default(), Deferred::default());
        for object in manifest.objects() {
            deferred.pass(self.located(&object, files, Order::Stored, |_, _| ()))?;
            for component in object.components() {
                let digest = u64::from(component.digest().is_some());
                summary.components = summary.components.saturating_add(1);
                summary.digests = summary.digests.saturating_add(digest);
            }
        }
        Ok((summary, deferred))
    }

    /// Validates what a file that was opened as canonical has beside its objects, and says what was deferred.
    fn finish<R: ReadAt + ?Sized>(
        &self,
        manifest: ManifestRef<'_>,
        root: &R,
        (summary, mut deferred): (Summary, Deferred),
        last: Option<Error>,
    ) -> Result<Summary, ReadError<R::Error>> {
        #[cfg(feature = "digest")]
        if manifest.options().is_canonical() {
            canonical::validate(manifest, root, &self.limits)?;
        }
        deferred.note(last);
        deferred.finish(summary)
    }

    /// The digest that the manifest gives and the one that was computed, if what failed last was
    /// `digest-mismatch`.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.mismatch.as_ref()
    }

    /// Validates what only all content shows of a file that was opened as a canonical one: its padding is
    /// zero, and in 2 equal bytes are in one blob.
    ///
    /// # Errors
    /// `canonical-padding`, `canonical-sharing`; whatever the source fails with.
    #[cfg(feature = "write")]
    pub fn padding<R: ReadAt + ?Sized>(
        &self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &R,
    ) -> Result<(), ReadError<R::Error>> {
        canonical::validate(manifest.parts(), source, &self.limits)
    }

    /// Reads one component, validates it, and hands its chunks to `take`, whatever its elements mean.
    pub(crate) fn component<R: ReadAt, E: From<ReadError<R::Error>>>(
        &mut self,
        component: &Component<'_>,
        sparse: &mut Sparse<Dimensions<'_>>,
        source: R,
        order: Order,
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let refused = |error: Error| E::from(ReadError::Refused(error));
        let storage = component.storage_type().unwrap_or(StorageType::U8);
        let begun = sparse.begin(component.role(), storage);
        begun.map_err(|error| refused(error.at(component.place())))?;
        let compressed = component.encoding() != Encoding::Raw;
        let mut content = match order {
            Order::Rows => component.any_content(source, &self.limits)?,
            Order::Stored => component.content_as_stored(source, &self.limits)?,
        };
        self.admit(component).map_err(refused)?;
        let mut bytes = 0_u64;
        self.mismatch = None;
        loop {
            let chunk = match content.next_chunk() {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(error) => {
                    self.mismatch = content.mismatch().copied();
                    return Err(error.into());
                }
            };
            bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
            if compressed {
                let left = self.left.checked_sub(u64_from_usize(chunk.len()));
                self.left = left.ok_or_else(|| refused(beyond_total(component, self.total)))?;
            }
            sparse.validate(chunk).map_err(|bad| refused(bad.error(component)))?;
            take(chunk)?;
        }
        // What had to be measured has been read twice, and a source may change between.
        if let (Some(count), Some(size)) =
            (sparse.count(component.role()), component.element_size())
            && count.checked_mul(size) != Some(bytes)
        {
            return Err(refused(Error::misuse(Misuse::Supply).at(component.place())));
        }
        sparse.finish().map_err(|bad| refused(bad.error(component)))?;
        required(component, content.verified()).map_err(refused)
    }

    /// Checks that a component in frames claims to decode to no more than may still be decoded, before
    /// anything is.
    fn admit(&self, component: &Component<'_>) -> Result<(), Error> {
        let claimed = component.decoded_length().unwrap_or_default();
        if component.encoding() != Encoding::ZstdSeekable || claimed <= self.left {
            return Ok(());
        }
        Err(beyond_total(component, self.total))
    }

    /// The checks of the indices of an object.
    pub(crate) fn sparse<'a, L: Locate>(
        &self,
        object: &Object<'a>,
        files: L,
    ) -> Result<Sparse<Dimensions<'a>>, ReadError<<L::Source as ReadAt>::Error>> {
        Ok(Sparse::new(object.format(), object.shape().iter(), self.nnz(object, files)?))
    }

    /// The number of values of a sparse object. Where the manifest does not give the sizes of all
    /// its components (zstd in 1.1), they are measured, and compared with each other.
    fn nnz<L: Locate>(
        &self,
        object: &Object<'_>,
        files: L,
    ) -> Result<Option<u64>, ReadError<<L::Source as ReadAt>::Error>> {
        let (indexed, rule, per_value) = match object.format() {
            Format::SparseCsr => ("indices", Rule::CsrNnz, 1),
            Format::SparseCoo => ("coords", Rule::CooNnz, u64::from(object.shape().rank())),
            _ => return Ok(None),
        };
        // Each has its parts, indices are of known types, and a matrix has rows.
        let internal = Error::internal().at(Place::new(Some(object.ordinal()), None));
        let part = |role| object.component(role).ok_or(internal);
        let (values, indices) = (part("values")?, part(indexed)?);
        let count = self.count(&indices, files)?.ok_or(internal)?;
        let values = self.count(&values, files)?;
        let nnz = divide_exactly(count, per_value)
            .filter(|nnz| values.is_none_or(|values| values == *nnz))
            .ok_or(Error::nowhere(rule).found(count).at(indices.place()))?;
        if object.format() == Format::SparseCsr {
            let indptr = part("indptr")?;
            let rows = object.shape().first().ok_or(internal)?;
            let found = self.count(&indptr, files)?.ok_or(internal)?;
            if rows.checked_add(1) != Some(found) {
                let error = Error::nowhere(Rule::CsrIndptrSize).at(indptr.place());
                return Err(error.found(found).into());
            }
        }
        Ok(Some(nnz))
    }

    /// The number of logical elements that a component holds, where its type is known.
    fn count<L: Locate>(
        &self,
        component: &Component<'_>,
        files: L,
    ) -> Result<Option<u64>, ReadError<<L::Source as ReadAt>::Error>> {
        let Some(size) = component.element_size() else {
            return Ok(None);
        };
        let bytes = if let Some(bytes) = component.decoded_length() {
            bytes
        } else {
            let (component, source) = files.locate(component)?;
            self.measure(&component, source)?
        };
        Ok(bytes.checked_div(size))
    }

    /// The number of bytes that a component holds when decoded, by decoding it. The limit on all
    /// components together is charged when they are read for good.
    pub(crate) fn measure<R: ReadAt>(
        &self,
        component: &Component<'_>,
        source: R,
    ) -> Result<u64, ReadError<R::Error>> {
        let mut content = component.content(source, &self.limits)?;
        let mut bytes = 0_u64;
        while let Some(chunk) = content.next_chunk()? {
            bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
        }
        Ok(bytes)
    }
}

/// The numbers of what verifying a whole file has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    components: u64,
    digests: u64,
}

impl Summary {
    /// The number of components that were read, all of which keep every rule.
    pub fn components(&self) -> u64 {
        self.components
    }

    /// The number of them that have a digest, all of which match: of the others, changed bytes that break
    /// no rule go unseen.
    pub fn digests(&self) -> u64 {
        self.digests
    }
}

/// All compressed components together decode to more than `total`, which this one goes beyond.
#[cold]
pub(crate) fn beyond_total(component: &Component<'_>, total: u64) -> Error {
    component.error(Limit::DecodedTotal).found(total.saturating_add(1))
}

/// Checks that a component's digest has been verified, if it has one.
pub(crate) fn required(component: &Component<'_>, verified: Option<Verified>) -> Result<(), Error> {
    match verified {
        Some(Verified::Digest | Verified::NoDigest) | None => Ok(()),
        Some(Verified::Unverifiable) => Err(component.error(Unsupported::Digest)),
    }
}
