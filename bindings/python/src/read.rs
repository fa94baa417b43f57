//! Reads and validates content, without the interpreter's lock.

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

/// Validates the whole file, and compares it with the list of digests, if there is one.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "a path to the method does not have the lifetime that `check` needs"
)]
pub(crate) fn verify(open: &Open, cancel: &Cancel) -> Result<Summary, Error> {
    check(open, cancel, |report| report.into_result())
}

/// Checks the whole file, compares it with the list of digests, if there is one, and calls `outcome` with the report. A
/// difference from the list is returned only if the file has no error.
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

/// Lists all errors, so that the order in which the objects are read does not decide which is reported.
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
    /// Removes and returns the running hashes of tensor `ordinal`, or creates new ones if no byte of the tensor has arrived.
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

/// Validates all components of tensor `ordinal`.
pub(crate) fn verify_object(open: &Open, ordinal: u32, cancel: &Cancel) -> Result<(), Error> {
    tapped(open, ordinal, cancel, |_, _| ())
}

/// Validates all components of tensor `ordinal`, and calls `tap` with each component and each of its decoded chunks.
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

/// Compares tensor `ordinal` with the list of digests, if there is one, before a part of the tensor is read: a digest covers
/// the whole tensor. It is compared only once.
fn require_listed(open: &Open, ordinal: u32, cancel: &Cancel) -> Result<(), Error> {
    match &open.digests {
        Some(list) if !list.has_verified(ordinal) => verify_object(open, ordinal, cancel),
        _ => Ok(()),
    }
}

/// Returns a verifier for `open`, with the sizes of its shards.
fn verifier(open: &Open) -> Verifier {
    Verifier::new(open.manifest()).with_shard_bytes(open.shard_bytes())
}

/// Reads and verifies components on several threads. `places` has the ordinals of tensor and component, and `buffers` a buffer
/// of its decoded length for each component.
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
    // Remote bytes are fetched in the announced order, which is file by file.
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

/// Returns a loader for `open`: on several threads for local files, on one thread for remote files, which are fetched in one
/// order.
fn loader(open: &Open) -> Loader {
    let loader = Loader::new(open.manifest()).with_shard_bytes(open.manifest(), open.shard_bytes());
    if open.is_remote() { loader.threads(1) } else { loader }
}

/// The destination of the decoded bytes of a component.
enum ReadDestination<'b> {
    /// The part of the caller's buffer that is not filled yet.
    Given(&'b mut [u8]),
    /// Memory of this call that grows as bytes arrive.
    Grown(Vec<u8>),
}

/// Reads and validates all components of tensor `ordinal`, into `buffers` in the order of the components. Returns the content
/// of components whose buffer is `None`.
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
    /// Appends `chunk`.
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

/// Copies `items` to the front of `buffer`, and returns the rest of the buffer.
fn fill<'b, T: Copy>(buffer: &'b mut [T], items: &[T]) -> Result<&'b mut [T], Error> {
    let split = buffer.split_at_mut_checked(items.len());
    let (room, behind) = split.ok_or(Misuse::Buffer)?;
    room.copy_from_slice(items);
    Ok(behind)
}

/// Reads the part `ranges` of a dense tensor into `buffer`. Of an uncompressed component only the bytes of the part are read,
/// so its digest is not verified. A compressed component is read as a whole and verified.
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
                // All bytes are read: elements with strides are scattered, and a digest of the shard covers all bytes.
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

/// Reads, decodes and verifies the component at `place`, the ordinals of tensor and component.
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

/// Fills `values` with the dequantized elements of tensor `ordinal`, in row-major order.
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
    // For a digest that cannot be compared, this returns the error that names the digest.
    if unverifiable { verify_object(open, ordinal, cancel) } else { Ok(()) }
}

/// Fills `values` with the dequantized elements of tensor `ordinal` from `start` on, counted in row-major order.
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

/// Calls `read` with tensor `ordinal`, bound to the file and to the shards of its components.
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
