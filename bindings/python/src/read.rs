//! Reads and validates the content of an open file. No function here needs the interpreter's lock.

use std::iter;
use std::mem;
use std::ops::Range;

use zten::error::{Misuse, OutOfMemory};
use zten::shards::Files;
use zten::verify::{self, Observer, Report, Subject, Summary, Verifier};
use zten::view::Decoded;
use zten::{Component, Encoding, Error, Loader, Tensor};

use crate::digests::{Enforced, Sums};
use crate::interrupt::Cancel;
use crate::source::Open;

/// Reads and validates the whole file, and compares it with the caller's list of digests, if the file was opened with one.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a path to the method does not have the lifetime that `check` needs"
)]
pub(crate) fn verify(open: &Open, cancel: &Cancel) -> Result<Summary, Error> {
    check(open, cancel, |report| report.into_result())
}

/// Checks the whole file, calls `outcome` with the report, and returns the result of `outcome`. If the file was opened with a
/// list of digests, compares the content with the list too.
///
/// # Errors
/// The error of `outcome`, otherwise the first difference from the list; the errors of opening shards.
pub(crate) fn check<T>(
    open: &Open,
    cancel: &Cancel,
    outcome: impl FnOnce(Report<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let shards = open.all_shards(cancel)?;
    open.plan_components(open.manifest().tensors().flat_map(|tensor| tensor.components()))?;
    let root = open.root(cancel);
    let files = Files { root: &root, shards: &shards };
    let subject = Subject::with_shards(open.manifest(), &files);
    if let Some(blob) = open.hashed() {
        blob.in_order();
        return outcome(verify::check_in_order(subject, &mut Listing));
    }
    let Some(list) = &open.digests else { return outcome(verify::check(subject, &mut ())) };
    let mut comparison = Comparison { open, list, sums: None, difference: None };
    let checked = outcome(verify::check(subject, &mut comparison))?;
    comparison.difference.map_or(Ok(()), Err)?;
    list.compare_names(open.manifest())?;
    Ok(checked)
}

/// Has a check collect the errors of all objects. The check of a hashed file reads the objects in another order, which must not
/// decide which error is reported.
struct Listing;

impl Observer for Listing {
    fn lists_all(&self) -> bool {
        true
    }
}

/// Compares the content of a file with a list of digests while the file is checked.
struct Comparison<'a> {
    open: &'a Open,
    list: &'a Enforced,
    /// The running hashes of the tensor that is being read; `None` until its first bytes have arrived.
    sums: Option<Sums<'a>>,
    /// The error for the first component whose digest differs from the list.
    difference: Option<Error>,
}

impl<'a> Comparison<'a> {
    /// Takes the running hashes of tensor `ordinal` out of this comparison. If no byte of the tensor has arrived yet, creates
    /// empty ones.
    fn sums(&mut self, ordinal: u32) -> Result<Sums<'a>, Error> {
        match self.sums.take() {
            Some(sums) => Ok(sums),
            None => Ok(Sums::new(&self.open.tensor(ordinal)?)),
        }
    }
}

impl Observer for Comparison<'_> {
    fn takes_content(&self) -> bool {
        true
    }

    fn chunk(&mut self, component: &Component<'_>, chunk: &[u8]) {
        if let Ok(mut sums) = self.sums(component.tensor().ordinal()) {
            sums.update(component, chunk);
            self.sums = Some(sums);
        }
    }

    fn checked(&mut self, tensor: &Tensor<'_>, error: Option<&Error>) -> Result<(), Error> {
        let sums = self.sums(tensor.ordinal())?;
        if error.is_none()
            && self.difference.is_none()
            && let Err(difference) = sums.compare(self.list)
        {
            self.difference = Some(difference);
        }
        Ok(())
    }
}

/// Reads and validates all components of tensor `ordinal`. If the file was opened with a list of digests, compares the tensor
/// with it.
pub(crate) fn verify_object(open: &Open, ordinal: u32, cancel: &Cancel) -> Result<(), Error> {
    tapped(open, ordinal, cancel, |_, _| ())
}

/// Reads and validates all components of tensor `ordinal` as [`verify_object`] does, and calls `tap` with each chunk of decoded
/// bytes and the component that the chunk belongs to.
fn tapped(
    open: &Open,
    ordinal: u32,
    cancel: &Cancel,
    mut tap: impl FnMut(&Component<'_>, &[u8]),
) -> Result<(), Error> {
    bound(open, ordinal, cancel, |tensor| {
        open.plan_components(tensor.components())?;
        let Some(list) = &open.digests else { return verifier(open).object(tensor, tap) };
        let mut sums = Sums::new(tensor);
        verifier(open).object(tensor, |component, chunk| {
            sums.update(component, chunk);
            tap(component, chunk);
        })?;
        sums.compare(list)
    })
}

/// Reads the whole tensor `ordinal` and compares it with the list of digests, before a part of the tensor is read: a digest
/// covers all bytes of a component. Does nothing if the file was opened without a list, or the tensor has been compared before.
fn require_listed(open: &Open, ordinal: u32, cancel: &Cancel) -> Result<(), Error> {
    match &open.digests {
        Some(list) if !list.has_verified(ordinal) => verify_object(open, ordinal, cancel),
        _ => Ok(()),
    }
}

/// Creates a verifier for tensors of `open`. Its limit on all decoded bytes together grows with the bytes of the file and its
/// shards.
fn verifier(open: &Open) -> Verifier {
    Verifier::new(open.manifest()).with_shard_bytes(open.shard_bytes())
}

/// Reads, decodes and verifies several components into `buffers`, on several threads unless the file is remote. `places` has, for
/// each component, the ordinal of its tensor and its own ordinal in the tensor. `buffers` has a buffer of its decoded length for
/// each.
pub(crate) fn components(
    open: &Open,
    places: &[(u32, u32)],
    buffers: Vec<&mut [u8]>,
    cancel: &Cancel,
) -> Result<(), Error> {
    let mut targets = Vec::new();
    for (place, buffer) in places.iter().zip(buffers) {
        targets.push((open.component(*place)?, buffer));
    }
    // The bytes of remote files are fetched ahead in the order of the plan, which lists them shard by shard.
    targets.sort_by_key(|(component, _)| component.shard());
    let components = targets.iter().map(|(component, _)| *component);
    let shards = open.shards_for(components.clone(), cancel)?;
    open.plan_components(components)?;
    let files = Files { root: &open.root(cancel), shards: &shards };
    for (component, _) in &mut targets {
        *component = component.read_from(&files);
    }
    loader(open).read_into(&mut targets)?;
    let Some(list) = &open.digests else { return Ok(()) };
    targets.iter().try_for_each(|(component, bytes)| list.compare(component, bytes, cancel))
}

/// Creates a loader for components of `open`. It uses one thread for a remote file, whose bytes are fetched one after another,
/// and several threads for any other file.
fn loader(open: &Open) -> Loader {
    let loader = Loader::new(open.manifest()).with_shard_bytes(open.manifest(), open.shard_bytes());
    if open.is_remote() { loader.threads(1) } else { loader }
}

/// The memory into which the decoded bytes of a component are copied.
enum ReadDestination<'b> {
    /// The end of the caller's buffer, which is not filled yet.
    Given(&'b mut [u8]),
    /// Memory that is allocated as bytes arrive, for a component whose decoded length is unknown.
    Grown(Vec<u8>),
}

/// Reads and validates all components of tensor `ordinal`. `buffers` has, in the order of the components, a buffer of the decoded
/// length or `None` for each. Returns the decoded bytes of the components whose buffer is `None`, and `None` for the others.
///
/// # Errors
/// The errors of reading and validating; [`Misuse::Buffer`] if a buffer has another length than its component.
pub(crate) fn object(
    open: &Open,
    ordinal: u32,
    buffers: Vec<Option<&mut [u8]>>,
    cancel: &Cancel,
) -> Result<Vec<Option<Vec<u8>>>, Error> {
    let slots = buffers.into_iter();
    let mut slots: Vec<_> = slots
        .map(|buffer| {
            buffer.map_or_else(|| ReadDestination::Grown(Vec::new()), ReadDestination::Given)
        })
        .collect();
    let mut put = Ok(());
    tapped(open, ordinal, cancel, |component, chunk| {
        let at = component.location().component().and_then(|at| usize::try_from(at).ok());
        let slot = at.and_then(|at| slots.get_mut(at));
        if put.is_ok() {
            put = slot.ok_or(Misuse::Buffer.into()).and_then(|slot| slot.put(chunk));
        }
    })?;
    put?;
    if slots.iter().any(|slot| matches!(slot, ReadDestination::Given(rest) if !rest.is_empty())) {
        return Err(Misuse::Buffer.into());
    }
    let grown = |slot| match slot {
        ReadDestination::Given(_) => None,
        ReadDestination::Grown(bytes) => Some(bytes),
    };
    Ok(slots.into_iter().map(grown).collect())
}

impl ReadDestination<'_> {
    /// Copies `chunk` behind the bytes that were put before.
    ///
    /// # Errors
    /// [`Misuse::Buffer`] if the caller's buffer is too small; [`OutOfMemory`] if no memory is left.
    fn put(&mut self, chunk: &[u8]) -> Result<(), Error> {
        match self {
            Self::Given(left) => *left = fill(mem::take(left), chunk)?,
            Self::Grown(bytes) => {
                bytes.try_reserve(chunk.len()).map_err(|_| OutOfMemory)?;
                bytes.extend_from_slice(chunk);
            }
        }
        Ok(())
    }
}

/// Copies `items` to the front of `buffer`, and returns the end of the buffer, which is not filled yet.
///
/// # Errors
/// [`Misuse::Buffer`] if the buffer is shorter than `items`.
fn fill<'b, T: Copy>(buffer: &'b mut [T], items: &[T]) -> Result<&'b mut [T], Error> {
    let split = buffer.split_at_mut_checked(items.len());
    let (room, behind) = split.ok_or(Misuse::Buffer)?;
    room.copy_from_slice(items);
    Ok(behind)
}

/// Reads the part of the dense tensor `ordinal` within `ranges`, which has the start and end in each of the first dimensions, into
/// `buffer`. No ranges mean the whole tensor. Of an uncompressed component only the bytes of the part are read, so its digest is
/// not verified. A compressed component is read as a whole and verified.
pub(crate) fn slice(
    open: &Open,
    ordinal: u32,
    ranges: &[Range<u64>],
    buffer: &mut [u8],
    cancel: &Cancel,
) -> Result<(), Error> {
    if !ranges.is_empty() {
        require_listed(open, ordinal, cancel)?;
    }
    bound(open, ordinal, cancel, |tensor| {
        let (component, slice) = (tensor.dense()?, tensor.slice(ranges)?);
        if component.encoding() == Encoding::Raw {
            if component.is_strided() || open.is_compared(&component) {
                // The whole component is read: the elements of a part of a strided component are scattered over it, and a
                // digest to compare is over all its bytes.
                open.plan_components([component])?;
            } else {
                open.plan(component.shard(), slice.file_ranges()?)?;
            }
        }
        slice.read(buffer)?;
        match &open.digests {
            Some(list) if ranges.is_empty() => list.compare(&component, buffer, cancel),
            _ => Ok(()),
        }
    })
}

/// Reads, decodes and verifies the component at `place`, the ordinal of its tensor and its own ordinal in the tensor. Returns its
/// decoded bytes.
pub(crate) fn bytes(open: &Open, place: (u32, u32), cancel: &Cancel) -> Result<Decoded, Error> {
    let component = open.component(place)?;
    let shards = open.shards_for(iter::once(component), cancel)?;
    open.plan_components([component])?;
    let files = Files { root: &open.root(cancel), shards: &shards };
    let decoded = loader(open).read(iter::once(component.read_from(&files)))?;
    let decoded = decoded.into_iter().next().ok_or(Misuse::NoTensor)?;
    if let Some(list) = &open.digests {
        list.compare(&component, &decoded, cancel)?;
    }
    Ok(decoded)
}

/// Reads the quantized tensor `ordinal`, verifies its digests, and fills `values` with its dequantized elements in row-major order.
///
/// # Errors
/// The errors of the content; [`Misuse::Buffer`] if the tensor does not have as many elements as `values`.
pub(crate) fn dequantize(
    open: &Open,
    ordinal: u32,
    values: &mut [f32],
    cancel: &Cancel,
) -> Result<(), Error> {
    require_listed(open, ordinal, cancel)?;
    let unverifiable = bound(open, ordinal, cancel, |tensor| {
        open.plan_components(tensor.components())?;
        let (mut reader, mut rest) = (tensor.dequantizer()?, values);
        while let Some(chunk) = reader.next_chunk()? {
            rest = fill(mem::take(&mut rest), chunk)?;
        }
        let is_full = rest.is_empty();
        if is_full { Ok(reader.unverifiable().is_some()) } else { Err(Misuse::Buffer.into()) }
    })?;
    // The dequantizer skips a digest of an unknown algorithm. Verifying the tensor returns the error that names the digest.
    if unverifiable { verify_object(open, ordinal, cancel) } else { Ok(()) }
}

/// Fills `values` with dequantized elements of the quantized tensor `ordinal`: those from element `start` on, counted in
/// row-major order. Only the blocks of these elements are read, so digests of the file are not compared.
pub(crate) fn dequantize_range(
    open: &Open,
    ordinal: u32,
    start: u64,
    values: &mut [f32],
    cancel: &Cancel,
) -> Result<(), Error> {
    require_listed(open, ordinal, cancel)?;
    let end = u64::try_from(values.len()).ok().and_then(|count| start.checked_add(count));
    let end = end.ok_or(Misuse::Slice)?;
    bound(open, ordinal, cancel, |tensor| tensor.dequantize_range(start..end, values))
}

/// Opens the shards of tensor `ordinal`, calls `read` with the tensor, whose components can then be read from the file and the
/// shards, and returns the result of `read`.
fn bound<T>(
    open: &Open,
    ordinal: u32,
    cancel: &Cancel,
    read: impl FnOnce(&Tensor<'_>) -> Result<T, Error>,
) -> Result<T, Error> {
    let tensor = open.tensor(ordinal)?;
    let components: Vec<_> = tensor.components().collect();
    let shards = open.shards_for(components.iter().copied(), cancel)?;
    let files = Files { root: &open.root(cancel), shards: &shards };
    read(&tensor.read_from(&files))
}
