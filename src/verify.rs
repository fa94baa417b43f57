//! Reading all of a file and validating what is in it: sizes, digests, compression, bools, indices.

#[cfg(feature = "digest")]
mod canonical;
mod sparse;

use crate::codec::{Deferred, Files, ReadAt, Reader, Shards};
use crate::element::StorageType;
use crate::error::{BareError, Error, Location, Misuse};
use crate::format::{Encoding, Layout};
use crate::layout::BadIndex;
use crate::limits::Limits;
use crate::manifest::{Component, Dimensions, Manifest, ManifestRef, Tensor};
use crate::num::{divide_exactly, u64_from_usize};
use crate::rules::{Limit, Rule, Unsupported};

pub use crate::codec::{Mismatch, Verified};
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
/// [`Reader`] needs. Three kinds of objects take more, at most as many bytes as
/// [`Limits::decoded`] says: elements in column-major order that are handed on, all of them; bools that lie by strides
/// beside bytes that are none, those bytes; and a sparse object of 2, whose rows ascend and no cell of which may be there
/// twice, 8 bytes a row or a value (twice as many if its cells do not ascend).
///
/// ```
/// let archive = zten::open("corpus/accept/1.2.3/csr_raw.zt")?;
/// let mut verifier = zten::verify::Verifier::new(archive.manifest());
/// for tensor in &archive {
///     verifier.object(&tensor, |_, _| ())?;
/// }
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Verifier {
    limits: Limits,
    /// Bytes of all files.
    bytes: u64,
    /// Bytes that compressed components may still decode to.
    left: u64,
    total: u64,
    mismatch: Option<Mismatch>,
}

impl Verifier {
    /// A verifier for a file, with the limits that it was opened with.
    pub fn new<B: AsRef<[u8]>>(manifest: &Manifest<B>) -> Self {
        Self::of(manifest.parts())
    }

    pub(crate) fn of(manifest: ManifestRef<'_>) -> Self {
        let (limits, bytes) = (*manifest.options().limit(), manifest.file_len());
        let total = limits.decoded_total(bytes);
        Self { limits, bytes, left: total, total, mismatch: None }
    }

    /// The same, for a file that has shards of so many bytes together: what compressed components may decode to depends
    /// on the bytes of all files.
    #[must_use]
    pub fn with_shard_bytes(mut self, bytes: u64) -> Self {
        self.bytes = self.bytes.saturating_add(bytes);
        let (total, decoded) = (self.limits.decoded_total(self.bytes), self.decoded());
        (self.total, self.left) = (total, total.saturating_sub(decoded));
        self
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
    /// verified among it; the errors of [`Component::reader`].
    pub fn object(
        &mut self,
        object: &Tensor<'_>,
        tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), Error> {
        self.read(object, Order::Rows, tap)
    }

    /// Validates all components of an object, as [`object`](Self::object), in the order in which their elements are
    /// stored: those in column-major order take no more memory than others.
    ///
    /// # Errors
    /// The same as [`object`](Self::object).
    pub fn check(&mut self, object: &Tensor<'_>) -> Result<(), Error> {
        self.read(object, Order::Stored, |_, _| ())
    }

    pub(crate) fn read(
        &mut self,
        object: &Tensor<'_>,
        order: Order,
        tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), Error> {
        self.read_components(object, order, tap).map_err(|error| object.named(error))
    }

    fn read_components(
        &mut self,
        object: &Tensor<'_>,
        order: Order,
        mut tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), Error> {
        let mut deferred = Deferred::default();
        let nnz = deferred.pass(nnz(object))?.flatten();
        let mut sparse = Sparse::new(object.layout(), object.shape().iter(), nnz);
        if object.dialect().single_cells {
            let at = |over: BadIndex| match object.component("coords") {
                Some(coords) => over.error(&coords),
                None => BareError::internal(),
            };
            sparse.ask_for_single_cells(&self.limits).map_err(at)?;
        }
        for component in object.components() {
            // What is in a shard that was not found cannot be read, whatever its type is.
            if component.is_in_shard() && deferred.pass(component.located())?.is_none() {
                continue;
            }
            // Bytes of a type that is not known have a digest and frames all the same.
            deferred.pass(component.readable())?;
            let read = self.component(&component, &mut sparse, order, |chunk| {
                tap(&component, chunk);
                Ok::<(), Error>(())
            });
            deferred.pass(read)?;
        }
        deferred.note(object.unknown_layout().or_else(|| object.type_beyond_profile()));
        deferred.finish(())
    }

    /// Reads all objects of a file, and in one that was opened as canonical the padding. What is not
    /// supported does not keep the rest from being validated: a broken rule further on says more
    /// about the file.
    ///
    /// # Errors
    /// The same as [`object`](Self::object) and [`require_unsharded`](Self::require_unsharded); `canonical-padding`, `canonical-sharing`.
    pub fn file<R: ReadAt>(
        &mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &R,
    ) -> Result<Summary, Error> {
        let read = self.objects(manifest.parts().read_from(source))?;
        finish(manifest.parts(), source, read, find_shard(manifest.parts()).err())
    }

    /// The same as [`file`](Self::file), of a file whose shards have been looked for: those are verified first, if they have
    /// not been.
    ///
    /// # Errors
    /// The same as [`object`](Self::object) and [`Shards::verify`]; `canonical-padding`, `canonical-sharing`.
    pub fn file_in<R: ReadAt, S: ReadAt>(
        &mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        root: &R,
        shards: &mut Shards<'_, S>,
    ) -> Result<Summary, Error> {
        let of_shards = match shards.verify() {
            // Without memory they are not verified, and nothing can be read of them.
            Err(error) if error.rule().is_some() => Some(error.bare()),
            other => other.map(|()| None)?,
        };
        let read = self.objects(manifest.parts().read_from(&Files { root, shards }))?;
        finish(manifest.parts(), root, read, of_shards)
    }

    /// Validates that a file lists no shards (2), whether components are in them or not: they are
    /// other files than this one. v2 §7.1. After all objects, it is what
    /// [`file`](Self::file) does.
    ///
    /// # Errors
    /// `unsupported-shard`, at the first one.
    pub fn require_unsharded(&self, manifest: &Manifest<impl AsRef<[u8]>>) -> Result<(), Error> {
        Ok(find_shard(manifest.parts())?)
    }

    /// Reads all objects.
    pub(crate) fn objects(
        &mut self,
        manifest: ManifestRef<'_>,
    ) -> Result<(Summary, Deferred), Error> {
        let (mut summary, mut deferred) = (Summary::default(), Deferred::default());
        for object in manifest.tensors() {
            deferred.pass(self.read(&object, Order::Stored, |_, _| ()))?;
            for component in object.components() {
                let digest = u64::from(component.digest().is_some());
                summary.components = summary.components.saturating_add(1);
                summary.digests = summary.digests.saturating_add(digest);
            }
        }
        Ok((summary, deferred))
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
    pub fn padding<R: ReadAt>(
        &self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &R,
    ) -> Result<(), Error> {
        canonical::validate(manifest.parts(), source)
    }

    /// Reads one component, validates it, and hands its chunks to `take`, whatever its elements mean.
    pub(crate) fn component(
        &mut self,
        component: &Component<'_>,
        sparse: &mut Sparse<Dimensions<'_>>,
        order: Order,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if let Err(unsupported) = component.stored() {
            if !component.is_in_shard() || !component.has_no_source() {
                self.uninterpreted(component)?;
            }
            return Err(unsupported.into());
        }
        let storage = component.storage_type().unwrap_or(StorageType::U8);
        let begun = sparse.begin(component.role(), storage);
        begun.map_err(|error| error.at(component.location()))?;
        let has_strided_bools = matches!(order, Order::Stored) && component.has_strided_bools();
        let mut content = match order {
            Order::Rows => component.any_reader()?,
            // Bytes between bools are none, and strides may repeat a bool very often.
            Order::Stored if has_strided_bools => component.reader_of_bytes()?,
            Order::Stored => component.reader_as_stored()?,
        };
        let mut is_clean = true;
        self.check_decoded_total(component)?;
        let mut bytes = 0_u64;
        self.read_to_end(component, &mut content, |chunk| {
            bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
            is_clean &= !has_strided_bools || chunk.iter().fold(0, |all, byte| all | byte) <= 1;
            sparse.validate(chunk).map_err(|bad| bad.error(component))?;
            take(chunk)
        })?;
        // What had to be measured has been read twice, and a source may change between.
        if let (Some(count), Some(size)) =
            (sparse.count(component.role()), component.element_size())
            && count.checked_mul(size) != Some(bytes)
        {
            return Err(BareError::misuse(Misuse::Supply).at(component.location()).into());
        }
        sparse.finish().map_err(|bad| bad.error(component))?;
        if !is_clean {
            component.validate_strided_bools()?;
        }
        Ok(required(component, content.verified())?)
    }

    /// Verifies the digest and the frames of a component whose type or encoding is not known: a file that is damaged
    /// is invalid, whatever else cannot be read of it.
    fn uninterpreted(&mut self, component: &Component<'_>) -> Result<(), Error> {
        let Some(mut content) = component.uninterpreted_reader()? else { return Ok(()) };
        self.read_to_end(component, &mut content, |_| Ok(()))?;
        Ok(required(component, content.verified())?)
    }

    /// Reads all of a content, and charges what it decodes to.
    fn read_to_end(
        &mut self,
        component: &Component<'_>,
        content: &mut Reader<'_>,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let compressed = !matches!(component.encoding(), Encoding::Raw | Encoding::Unknown);
        self.mismatch = None;
        loop {
            let chunk = match content.next_chunk() {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.mismatch = content.mismatch().copied();
                    return Err(error);
                }
            };
            if compressed {
                let left = self.left.checked_sub(u64_from_usize(chunk.len()));
                self.left = left.ok_or_else(|| decoded_total_error(component, self.total))?;
            }
            take(chunk)?;
        }
    }

    /// Checks that a component in frames claims to decode to no more than may still be decoded, before
    /// anything is.
    fn check_decoded_total(&self, component: &Component<'_>) -> Result<(), BareError> {
        let claimed = component.decoded_length().unwrap_or_default();
        if component.encoding() != Encoding::ZstdSeekable || claimed <= self.left {
            return Ok(());
        }
        Err(decoded_total_error(component, self.total))
    }

    /// The checks of the indices of an object.
    pub(crate) fn sparse<'a>(object: &Tensor<'a>) -> Result<Sparse<Dimensions<'a>>, Error> {
        Ok(Sparse::new(object.layout(), object.shape().iter(), nnz(object)?))
    }
}

/// Validates what a file that was opened as canonical has beside its objects, and says what was deferred.
pub(crate) fn finish(
    manifest: ManifestRef<'_>,
    root: &dyn ReadAt,
    (summary, mut deferred): (Summary, Deferred),
    last: Option<BareError>,
) -> Result<Summary, Error> {
    let finished = || {
        #[cfg(feature = "digest")]
        if manifest.options().is_canonical() {
            canonical::validate(manifest, root)?;
        }
        deferred.note(last);
        deferred.finish(summary)
    };
    finished().map_err(|error| {
        // What was deferred, and what comes behind the objects, has no names.
        let object = error.location().object().and_then(|ordinal| manifest.object(ordinal));
        match object {
            Some(object) => object.named(error),
            None => error,
        }
    })
}

/// The error of the first shard that a file lists, which is another file: v2 §7.1.
pub(crate) fn find_shard(manifest: ManifestRef<'_>) -> Result<(), BareError> {
    let first = manifest.shards().next();
    first.map_or(Ok(()), |shard| Err(shard.error(Unsupported::Shard)))
}

/// The number of values of a sparse object. Where the manifest does not give the sizes of all
/// its components (zstd in 1.1), they are measured, and compared with each other.
fn nnz(object: &Tensor<'_>) -> Result<Option<u64>, Error> {
    let (indexed, rule, per_value) = match object.layout() {
        Layout::SparseCsr => ("indices", Rule::CsrNnz, 1),
        Layout::SparseCoo => ("coords", Rule::CooNnz, u64::from(object.shape().rank())),
        _ => return Ok(None),
    };
    // Each has its parts, indices are of known types, and a matrix has rows.
    let internal = BareError::internal().at(Location::new(Some(object.ordinal()), None));
    let part = |role| object.component(role).ok_or(internal);
    let (values, indices) = (part("values")?, part(indexed)?);
    let found = count_of(&indices)?.ok_or(internal)?;
    let values = count_of(&values)?;
    let nnz = divide_exactly(found, per_value)
        .filter(|nnz| values.is_none_or(|values| values == *nnz))
        .ok_or(BareError::nowhere(rule).found(found).at(indices.location()))?;
    if object.layout() == Layout::SparseCsr {
        let indptr = part("indptr")?;
        let rows = object.shape().first().ok_or(internal)?;
        let found = count_of(&indptr)?.ok_or(internal)?;
        if rows.checked_add(1) != Some(found) {
            let error = BareError::nowhere(Rule::CsrIndptrSize).at(indptr.location());
            return Err(error.found(found).into());
        }
    }
    Ok(Some(nnz))
}

/// The number of logical elements that a component holds, where its type is known.
fn count_of(component: &Component<'_>) -> Result<Option<u64>, Error> {
    let Some(size) = component.element_size() else {
        return Ok(None);
    };
    let bytes =
        if let Some(bytes) = component.decoded_length() { bytes } else { measure(component)? };
    Ok(bytes.checked_div(size))
}

/// The number of bytes that a component holds when decoded, by decoding it. The limit on all
/// components together is charged when they are read for good.
pub(crate) fn measure(component: &Component<'_>) -> Result<u64, Error> {
    let mut content = component.reader()?;
    let mut bytes = 0_u64;
    while let Some(chunk) = content.next_chunk()? {
        bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
    }
    Ok(bytes)
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
pub(crate) fn decoded_total_error(component: &Component<'_>, total: u64) -> BareError {
    component.error(Limit::DecodedTotal).found(total.saturating_add(1))
}

/// Checks that a component's digest has been verified, if it has one.
pub(crate) fn required(
    component: &Component<'_>,
    verified: Option<Verified>,
) -> Result<(), BareError> {
    match verified {
        Some(Verified::Digest | Verified::NoDigest) | None => Ok(()),
        Some(Verified::Unverifiable) => Err(component.error(Unsupported::Digest)),
    }
}
