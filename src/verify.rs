//! Verifying a whole file: the content of all components is read, and sizes, digests, compression, bools and indices
//! are checked.

#[cfg(feature = "digest")]
mod canonical;
mod check;
mod copies;
mod sparse;
mod subject;
#[cfg(not(feature = "dequantize"))]
mod ungated;

use crate::codec::{Deferred, Reader};
use crate::element::StorageType;
use crate::error::{BareError, Error, ErrorKind, Location, Misuse};
use crate::index::{Encoding, Layout};
use crate::layout::{BadIndex, State};
use crate::limits::Limits;
use crate::manifest::{Component, Manifest, ManifestRef, Tensor};
use crate::num::{divide_exactly, u64_from_usize};
#[cfg(feature = "write")]
use crate::read_at::ReadAt;
use crate::rules::{Limit, Rule, Unsupported};

pub use crate::codec::{DigestAlgorithm, NoContentDigest};
pub use crate::digest::{Mismatch, Verified};
pub use crate::error::Rank;
#[cfg(feature = "digest")]
pub(crate) use canonical::sha256;
pub use check::{Check, Fault, Observer, Report, check};
#[cfg(feature = "std")]
pub use check::{check_in_order, check_on};
pub(crate) use sparse::Sparse;
pub use subject::Subject;
#[cfg(feature = "std")]
pub use subject::Threads;

/// The order in which elements are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Row-major order, which callers that receive the elements expect.
    Rows,
    /// The order in which the elements are stored in the file, such as column-major order. Reading in this order takes the least
    /// memory, and serves callers that only verify the elements.
    Stored,
}

/// A verifier of the content of single objects, which adds up the decoded bytes and compares them with the limits on a
/// whole file. [`check`] checks all objects, and what concerns the file as a whole.
///
/// Memory does not depend on the size of a component: 64 KiB, and for zstd as much as a [`Reader`] takes. Three kinds
/// of objects take more memory, which [`Limits::decoded`] bounds. Elements in column-major order or with strides that are passed to
/// a `tap` are held completely. Strided bools between other bytes are held with these bytes. A sparse object of 2, whose rows must
/// ascend and whose cells must be distinct, takes 8 bytes for each row or value. It takes twice as many if its cells do not
/// ascend, and 16 bytes more for each index that does not ascend if the indices come before the pointers; the limit does not
/// count these.
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
    /// The size in bytes of the file, and of its shards after [`with_shard_bytes`](Self::with_shard_bytes) has added them.
    bytes: u64,
    /// The number of bytes that compressed components may still decode to.
    left: u64,
    total: u64,
    mismatch: Option<Mismatch>,
}

impl Verifier {
    /// Creates a verifier for a file, with the limits that the file was opened with.
    pub fn new<B: AsRef<[u8]>>(manifest: &Manifest<B>) -> Self {
        Self::of(manifest.parts())
    }

    pub(crate) fn of(manifest: ManifestRef<'_>) -> Self {
        let (limits, bytes) = (*manifest.options().limit(), manifest.file_len());
        let total = limits.decoded_total(bytes);
        Self { limits, bytes, left: total, total, mismatch: None }
    }

    /// Adds the `bytes` of all shards to the size of the file. How much compressed components may decode to depends on
    /// the size of all files together.
    #[must_use]
    pub fn with_shard_bytes(mut self, bytes: u64) -> Self {
        self.bytes = self.bytes.saturating_add(bytes);
        let (total, decoded) = (self.limits.decoded_total(self.bytes), self.decoded());
        (self.total, self.left) = (total, total.saturating_sub(decoded));
        self
    }

    /// Returns the number of bytes that compressed components have decoded to so far.
    pub fn decoded(&self) -> u64 {
        self.total.saturating_sub(self.left)
    }

    /// Reads and validates all components of `object`, in whichever file they are. Calls `tap` with every chunk of each
    /// component: decoded, little-endian, and validated as far as a chunk can be. The digest is compared after the last
    /// chunk.
    ///
    /// # Errors
    /// Any rule on content, with offsets in the component's file; anything unsupported, such as a digest that cannot be
    /// verified; the errors of [`Component::reader`].
    pub fn object(
        &mut self,
        object: &Tensor<'_>,
        tap: impl FnMut(&Component<'_>, &[u8]),
    ) -> Result<(), Error> {
        self.read(object, Order::Rows, tap)
    }

    /// Validates all components of `object` as [`object`](Self::object) does, but reads elements in their stored order,
    /// so that column-major elements take no additional memory. Fields of records are not read one by one: the checksum over all
    /// of the records is verified.
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
        let mut sparse = Sparse::new(object.layout(), object.shape().iter().copied(), nnz);
        if object.facts().single_cells {
            let at = |over: BadIndex| match object.component("coords") {
                Some(coords) => over.error(&coords),
                None => BareError::internal(),
            };
            sparse.ask_for_single_cells(&self.limits).map_err(at)?;
        }
        for component in object.components() {
            // A component in a missing shard cannot be read, so its type does not matter.
            if component.is_in_shard() && deferred.pass(component.located())?.is_none() {
                continue;
            }
            // A component of an unknown type is noted as unsupported, and its digest and frames are verified all the
            // same.
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

    /// Returns the digest of the manifest and the computed digest, if the last call failed with `digest-mismatch`.
    pub fn mismatch(&self) -> Option<&Mismatch> {
        self.mismatch.as_ref()
    }

    /// Validates the rules on a file opened as canonical that need all of its content: padding is zero, and in 2 equal
    /// bytes are stored in one blob.
    ///
    /// # Errors
    /// `canonical-padding`, `canonical-sharing`; any error of the source, or of reading again blobs that may be equal; out of
    /// memory.
    #[cfg(feature = "write")]
    pub fn padding<R: ReadAt>(
        &self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &R,
    ) -> Result<(), Error> {
        canonical::validate(manifest.parts(), source)
    }

    /// Reads and validates `component`, and calls `take` with its chunks. An unknown logical type is no error here. For a component
    /// of an unknown dtype or encoding, only its digest and frames are verified, and then the error is returned that the component
    /// is unsupported. Of a field of records in stored order, only the checksum is verified. In both cases `take` is not called.
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
        if matches!(order, Order::Stored) && component.field().is_some() {
            // Reading each field would read all of the records once for each field. The bytes of a field are
            // verified with the records, and numbers have no rules of their own.
            return component.verify_surrounding();
        }
        let storage = component.storage_type().unwrap_or(StorageType::U8);
        let begun = sparse.begin(component.role(), storage);
        begun.map_err(|error| error.at(component.location()))?;
        let has_strided_bools = matches!(order, Order::Stored) && component.has_strided_bools();
        let mut content = match order {
            Order::Rows => component.any_reader()?,
            // The bytes between strided bools may have any value, and strides may repeat a bool millions of times. So
            // stored bytes are read once, and only if some are neither 0 nor 1 it is found out whether these are bools.
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
        // A component whose size had to be measured is read twice, and the source may have changed between the two reads.
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

    /// Verifies the digest, the checksum and the frames of a component that is not read, and checks it if it is a pickle.
    /// A damaged file and a dangerous pickle are invalid, and that is reported before what is unsupported.
    fn uninterpreted(&mut self, component: &Component<'_>) -> Result<(), Error> {
        if let Some(mut content) = component.uninterpreted_reader()? {
            self.read_to_end(component, &mut content, |_| Ok(()))?;
            required(component, content.verified())?;
        }
        match (component.facts().pickles, component.state()) {
            (Some(rules), State::Unread(ErrorKind::Unsupported(row))) if row == rules.unread => {
                component.check_pickle(rules)
            }
            _ => Ok(()),
        }
    }

    /// Reads `content` to its end, calls `take` with each chunk, and subtracts decoded bytes of compressed components
    /// from the limit on the whole file.
    fn read_to_end(
        &mut self,
        component: &Component<'_>,
        content: &mut Reader<'_>,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let compressed = component.encoding().is_compressed();
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
                self.charge(component, u64_from_usize(chunk.len()))?;
            }
            take(chunk)?;
        }
    }

    /// Subtracts `bytes`, which the caller has read of `component`, from the limit on the whole file. A caller that reads a
    /// component as often as a file says bounds its work by this limit. Unstable.
    ///
    /// # Errors
    /// `limit-decoded-total`.
    #[doc(hidden)]
    pub fn count_bytes(&mut self, component: &Component<'_>, bytes: u64) -> Result<(), Error> {
        Ok(self.charge(component, bytes)?)
    }

    /// Subtracts `bytes`, to which a compressed component has decoded, from the limit on the whole file.
    pub(crate) fn charge(
        &mut self,
        component: &Component<'_>,
        bytes: u64,
    ) -> Result<(), BareError> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| decoded_total_error(component, self.total))?;
        Ok(())
    }

    /// Checks, before anything is decoded, that a component in frames does not claim to decode to more bytes than the
    /// limit on the whole file leaves.
    fn check_decoded_total(&self, component: &Component<'_>) -> Result<(), BareError> {
        let claimed = component.decoded_length().unwrap_or_default();
        if component.encoding() != Encoding::ZstdSeekable || claimed <= self.left {
            return Ok(());
        }
        Err(decoded_total_error(component, self.total))
    }

    /// Creates the checks of the indices of `object`.
    pub(crate) fn sparse<'a>(object: &Tensor<'a>) -> Result<Sparse<Dimensions<'a>>, Error> {
        Ok(Sparse::new(object.layout(), object.shape().iter().copied(), nnz(object)?))
    }
}

/// An iterator over the dimensions of a sparse object, outermost first.
type Dimensions<'a> = core::iter::Copied<core::slice::Iter<'a, u64>>;

/// Returns the number of values of a sparse object, or `None` if `object` is not sparse. If the manifest does not give the size
/// of a component (zstd in 1.1), the component is decoded to measure it. The sizes of all components are compared, except that of
/// values whose type is unknown.
///
/// # Errors
/// `csr-nnz`, `csr-indptr-size` or `coo-nnz` if the sizes do not match; the errors of decoding.
fn nnz(object: &Tensor<'_>) -> Result<Option<u64>, Error> {
    let (indexed, rule, per_value) = match object.layout() {
        Layout::SparseCsr => ("indices", Rule::CsrNnz, 1),
        Layout::SparseCoo => ("coords", Rule::CooNnz, u64_from_usize(object.shape().len())),
        _ => return Ok(None),
    };
    // Opening the file has checked that sparse objects have all parts, that types of indices are known, and that a
    // matrix has rows.
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
        let rows = *object.shape().first().ok_or(internal)?;
        let found = count_of(&indptr)?.ok_or(internal)?;
        if rows.checked_add(1) != Some(found) {
            let error = BareError::nowhere(Rule::CsrIndptrSize).at(indptr.location());
            return Err(error.found(found).into());
        }
    }
    Ok(Some(nnz))
}

/// Returns the number of elements of `component`; a complex number is one element. The component is decoded to find the number if
/// the manifest does not give the decoded length. Returns `None` if an element has no size in bytes that zten knows: its type is
/// unknown, or two elements share a byte.
fn count_of(component: &Component<'_>) -> Result<Option<u64>, Error> {
    let Some(size) = component.element_size() else {
        return Ok(None);
    };
    let bytes =
        if let Some(bytes) = component.decoded_length() { bytes } else { measure(component)? };
    Ok(bytes.checked_div(size))
}

/// Returns the decoded size of `component` in bytes, by decoding it. These bytes do not count against the limit on the
/// whole file, because the component is decoded again later.
pub(crate) fn measure(component: &Component<'_>) -> Result<u64, Error> {
    let mut content = component.reader()?;
    let mut bytes = 0_u64;
    while let Some(chunk) = content.next_chunk()? {
        bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
    }
    Ok(bytes)
}

/// The number of components and digests of the objects in which a verification of a whole file found no error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    components: u64,
    digests: u64,
}

impl Summary {
    /// Returns the number of components that were read. All of them keep every rule.
    pub fn components(&self) -> u64 {
        self.components
    }

    /// Returns the number of components that have a digest, all of which match. In a component without a digest,
    /// changed bytes that break no rule are not noticed.
    pub fn digests(&self) -> u64 {
        self.digests
    }

    /// Counts the components of `object`, which has been verified.
    fn count(&mut self, object: &Tensor<'_>) {
        for component in object.components() {
            let digest = u64::from(component.digest().is_some());
            self.components = self.components.saturating_add(1);
            self.digests = self.digests.saturating_add(digest);
        }
    }
}

/// Returns the error that the compressed components of a file together decode to more than `total` bytes. `component` is the
/// component with which they exceed this number.
#[cold]
pub(crate) fn decoded_total_error(component: &Component<'_>, total: u64) -> BareError {
    component.error(Limit::DecodedTotal).found(total.saturating_add(1))
}

/// Returns an error if the component has a digest that could not be verified.
pub(crate) fn required(
    component: &Component<'_>,
    verified: Option<Verified>,
) -> Result<(), BareError> {
    match verified {
        Some(Verified::Digest | Verified::NoDigest) | None => Ok(()),
        Some(Verified::Unverifiable) => Err(component.error(Unsupported::Digest)),
    }
}
