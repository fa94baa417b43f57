//! Computes the bytes of the result of a chain of patches: reads the bytes of the base, and applies the changes of each patch.

use sha2::{Digest as _, Sha256 as Hasher};
use zten::formats::write::Inexpressible;
use zten::num::u64_from_usize;
use zten::{Component, DType, Error};
use zten_report::catalog::{PATCH_BASE, PATCH_FRAME, PATCH_RESULT};
use zten_report::digests::DigestLine;

use crate::chain::{Chain, Delta, ResultTensor, other_result};
use crate::elements::Elements;
use crate::failure::{PatchFailure, broken, broken_in, internal, no_memory};
use crate::frame::{Cursor, Decoder, FRAME};
use crate::identity::{entry, identity};
use crate::model::Model;
use crate::patch::Patch;
use crate::streams::StreamReader;
use crate::verify::check_base;
use crate::{Change, Sha256};

/// The reason why producing the bytes of a component stopped before its end.
pub(crate) enum Stopped<E> {
    /// The function to which the bytes of the result are passed failed, with this error.
    Taker(E),
    /// The base or a patch is not valid, cannot be read, or leads to a result that cannot be written.
    Failed(PatchFailure),
}

impl<E> From<PatchFailure> for Stopped<E> {
    fn from(failure: PatchFailure) -> Self {
        Self::Failed(failure)
    }
}

/// Changes the bytes of tensors as the patches of a chain say, and computes the digests of the result.
pub(crate) struct Producer<'c, 'a> {
    base: &'c Model<'a>,
    slots: &'c [ResultTensor<'a>],
    patches: &'c [Patch<'a>],
    readers: Vec<StreamReader<'c, 'a>>,
    decoder: Decoder,
    /// The component whose bytes are being processed; `None` between two components.
    current: Option<Current>,
    /// The bytes of the frame of the component that is being collected. The changes are applied when the frame is complete.
    frame: Vec<u8>,
    /// The length in bytes and the SHA-256 of each component of the result, by the number of its tensor and the ordinal of the
    /// component in the tensor. `None` for a component whose bytes have not all been processed.
    sums: Vec<Vec<Option<(u64, Sha256)>>>,
}

/// The component whose bytes are being processed, and how far it has been processed.
struct Current {
    slot: usize,
    ordinal: usize,
    elements: Elements,
    is_bool: bool,
    changes: Vec<(Delta, Cursor)>,
    bytes: u64,
    hasher: Hasher,
}

/// A function to which the bytes of a tensor of the result are passed, piece by piece.
pub(crate) type Take<'t, E> = dyn FnMut(&[u8]) -> Result<(), E> + 't;

impl<'c, 'a> Producer<'c, 'a> {
    pub(crate) fn new(chain: &'c Chain<'_, 'a>) -> Self {
        let patches = chain.patches;
        Self {
            base: chain.base,
            slots: &chain.slots,
            patches,
            readers: patches.iter().map(Patch::reader).collect(),
            decoder: Decoder::default(),
            current: None,
            frame: Vec::new(),
            sums: chain.slots.iter().map(|_| Vec::new()).collect(),
        }
    }

    /// Processes `chunk`, the next bytes of a `component` of the tensor with the index `slot`: applies the changes of all patches,
    /// and passes the bytes of the result to `take`. The bytes of an incomplete frame are passed later. A `chunk` of `None` ends
    /// the component.
    pub(crate) fn chunk<E>(
        &mut self,
        slot: usize,
        component: &Component<'_>,
        chunk: Option<&[u8]>,
        take: &mut Take<'_, E>,
    ) -> Result<(), Stopped<E>> {
        let ordinal = component.location().component().and_then(|at| usize::try_from(at).ok());
        let ordinal = ordinal.unwrap_or(0);
        if self.current.as_ref().is_some_and(|own| own.slot != slot || own.ordinal != ordinal) {
            self.end_component(take)?;
        }
        if self.current.is_none() {
            self.begin(slot, ordinal, component)?;
        }
        let Some(chunk) = chunk else { return self.end_component(take) };
        let Some(current) = &mut self.current else { return Ok(()) };
        if current.changes.is_empty() {
            if current.is_bool && has_other_bools(chunk) {
                let name = self.slots.get(slot).map_or("", |slot| slot.name);
                return Err(other_bools(name).into());
            }
            current.bytes = current.bytes.saturating_add(u64_from_usize(chunk.len()));
            current.hasher.update(chunk);
            return take(chunk).map_err(Stopped::Taker);
        }
        let length = FRAME.saturating_mul(current.elements.width.into());
        let mut rest = chunk;
        while !rest.is_empty() {
            let room = length.saturating_sub(self.frame.len());
            let (now, later) = rest.split_at(room.min(rest.len()));
            let failed = |_| PatchFailure::Old(no_memory());
            self.frame.try_reserve(now.len()).map_err(failed)?;
            self.frame.extend_from_slice(now);
            rest = later;
            if self.frame.len() == length {
                self.change(take)?;
            }
        }
        Ok(())
    }

    /// Ends tensor `slot` after all of its bytes were passed to [`chunk`](Self::chunk).
    pub(crate) fn end<E>(&mut self, slot: usize, take: &mut Take<'_, E>) -> Result<(), Stopped<E>> {
        self.end_component(take)?;
        let Some(tensor) = self.slots.get(slot).map(|slot| slot.tensor) else { return Ok(()) };
        for (ordinal, component) in tensor.components().enumerate() {
            // `chunk` is never called for a component without bytes, so its digest is computed here.
            if self.sum(slot, ordinal).is_none() {
                self.begin(slot, ordinal, &component)?;
                self.end_component(take)?;
            }
        }
        Ok(())
    }

    fn sum(&self, slot: usize, ordinal: usize) -> Option<(u64, Sha256)> {
        *self.sums.get(slot)?.get(ordinal)?
    }

    /// Begins `component`, the component with this `ordinal` of tensor `slot`, and finds the changes of all patches to it.
    fn begin(
        &mut self,
        slot: usize,
        ordinal: usize,
        component: &Component<'_>,
    ) -> Result<(), PatchFailure> {
        let (elements, hasher) = (Elements::of(component), Hasher::new());
        let mut changes = Vec::new();
        for delta in self.slots.get(slot).map(|own| own.deltas.as_slice()).unwrap_or_default() {
            let Some(patch) = self.patches.get(delta.patch) else { continue };
            if let Some(change) = patch.record.changed.get(delta.change)
                && change.role == component.role()
                && let Some(begin) = patch.begins.get(delta.change)
            {
                changes
                    .try_reserve(1)
                    .map_err(|_| PatchFailure::Patch(delta.patch, no_memory()))?;
                changes.push((*delta, Cursor::new(*begin, change.lengths)));
            }
        }
        self.frame.clear();
        let is_bool = component.dtype() == DType::Bool;
        self.current =
            Some(Current { slot, ordinal, elements, is_bool, changes, bytes: 0, hasher });
        Ok(())
    }

    /// Applies the changes of all patches to the current frame, and passes the bytes of the frame to `take`.
    fn change<E>(&mut self, take: &mut Take<'_, E>) -> Result<(), Stopped<E>> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let Some(slot) = self.slots.get(current.slot) else { return Ok(()) };
        let (mut is_changed, mut damage) = (false, None);
        for (delta, cursor) in &mut current.changes {
            let Some(streams) = self.readers.get_mut(delta.patch) else { continue };
            match self.decoder.frame(current.elements, streams, cursor, &mut self.frame) {
                Ok(changes) => is_changed |= changes,
                Err(error) => {
                    damage = Some((*delta, error));
                    break;
                }
            }
        }
        if damage.is_none() && current.is_bool && has_other_bools(&self.frame) {
            let last = current.changes.last().filter(|_| is_changed);
            let Some((delta, _)) = last else { return Err(other_bools(slot.name).into()) };
            damage = Some((
                *delta,
                broken(&PATCH_FRAME, "the patch changes a bool to a byte other than 0 and 1"),
            ));
        }
        if let Some(damage) = damage {
            return Err(blamed(self.patches, slot, &current.changes, damage).into());
        }
        current.bytes = current.bytes.saturating_add(u64_from_usize(self.frame.len()));
        current.hasher.update(&self.frame);
        take(&self.frame).map_err(Stopped::Taker)?;
        self.frame.clear();
        Ok(())
    }

    /// Ends the current component: applies the changes to its last, incomplete frame, checks that each change has no bytes left in
    /// the streams, and compares the digest of the component with the one that its last change declares.
    fn end_component<E>(&mut self, take: &mut Take<'_, E>) -> Result<(), Stopped<E>> {
        if !self.frame.is_empty() {
            self.change(take)?;
        }
        let Some(current) = self.current.take() else { return Ok(()) };
        let Some(slot) = self.slots.get(current.slot) else { return Ok(()) };
        for (delta, cursor) in &current.changes {
            if let Err(error) = cursor.finish() {
                let damage = (*delta, error);
                return Err(blamed(self.patches, slot, &current.changes, damage).into());
            }
        }
        let sum = current.hasher.finalize().into();
        if let Some((delta, _)) = current.changes.last()
            && change(self.patches, *delta).is_some_and(|change| change.result != sum)
        {
            let sentence = "the changed elements do not have the digest that the patch gives";
            let damage = (*delta, broken(&PATCH_RESULT, sentence));
            return Err(blamed(self.patches, slot, &current.changes, damage).into());
        }
        let sums = self.sums.get_mut(current.slot);
        let sums = sums.ok_or_else(|| PatchFailure::Old(internal()))?;
        while sums.len() <= current.ordinal {
            sums.push(None);
        }
        if let Some(place) = sums.get_mut(current.ordinal) {
            *place = Some((current.bytes, sum));
        }
        Ok(())
    }

    /// Compares the identity of all tensors of the result with the one that the last patch declares. The caller has read all
    /// tensors. Without patches there is nothing to compare. If the identities differ, reads the base again to find out what is at
    /// fault.
    ///
    /// # Errors
    /// `patch-base` if the base is not the one that the first patch was made of, and `patch-result` otherwise; or the base cannot
    /// be read.
    pub(crate) fn finish(self) -> Result<(), PatchFailure> {
        let Some((number, patch)) = self.patches.iter().enumerate().next_back() else {
            return Ok(());
        };
        let mut entries: Vec<DigestLine<'_>> = Vec::new();
        for (slot, sums) in self.slots.iter().zip(&self.sums) {
            for (component, sum) in slot.tensor.components().zip(sums) {
                entries.extend(sum.map(|sum| entry(slot.name, &component, sum)));
            }
        }
        let found = identity(entries);
        if found == patch.record.result {
            return Ok(());
        }
        // The digests of the changed components were right. So the fault is in a tensor that no patch changes: the base has another
        // content than the patch was made of, or a patch stores a damaged tensor.
        check_base(self.base, self.patches)?;
        Err(PatchFailure::Patch(number, other_result(&patch.record.result, &found)))
    }
}

/// Returns the failure that the tensor `name` has bools with other bytes than 0 and 1. zten writes no file with such bools, and if
/// it wrote 1 for each of them, the result would not have the identity that the patch declares.
pub(crate) fn other_bools(name: &str) -> PatchFailure {
    let sentence = "it has bools other than 0 and 1, which only files of 0.1 can have";
    PatchFailure::Inexpressible(Inexpressible::tensor(name, sentence))
}

/// Returns whether a byte of `bools`, the elements of a tensor of bools, is neither 0 nor 1.
pub(crate) fn has_other_bools(bools: &[u8]) -> bool {
    bools.iter().any(|byte| *byte > 1)
}

/// Returns the change that `delta` names by the indices of a patch and of a change in it.
fn change<'p>(patches: &'p [Patch<'_>], delta: Delta) -> Option<&'p Change<'p>> {
    patches.get(delta.patch)?.record.changed.get(delta.change)
}

/// Returns the failure of applying `changes` to a component of the tensor `slot`: of the patch whose change `delta` failed with
/// `error`, or of the file that supplies the tensor: the base, or a patch that stores it whole. Reads the component of this file
/// (called base below) again to find out which. If its digest is not the one that the first patch was made of, the base is at
/// fault, because the elements of another base lead to errors in a valid patch, too: bools become neither 0 nor 1, and a sparse
/// tensor with another number of values needs more or fewer frames.
fn blamed(
    patches: &[Patch<'_>],
    slot: &ResultTensor<'_>,
    changes: &[(Delta, Cursor)],
    (delta, error): (Delta, Error),
) -> PatchFailure {
    let damaged = PatchFailure::Patch(delta.patch, error.about(Some(slot.name.to_owned()), None));
    let first = changes.first().and_then(|(first, _)| change(patches, *first));
    let Some(first) = first else { return damaged };
    let Some(component) = slot.tensor.component(first.role) else { return damaged };
    let sentence = match digest(&component) {
        Err(error) => return slot.failed(error),
        Ok(sum) if sum == first.base => return damaged,
        Ok(sum) if sum == first.result => {
            "the elements are those of the result of the patch, so the patch was applied already"
        }
        Ok(_) => "the elements are not those that the patch was made of",
    };
    slot.failed(broken_in(slot.name, &PATCH_BASE, sentence))
}

/// Returns the SHA-256 of the decoded bytes of `component`.
fn digest(component: &Component<'_>) -> Result<Sha256, Error> {
    let (mut reader, mut hasher) = (component.reader()?, Hasher::new());
    while let Some(chunk) = reader.next_chunk()? {
        hasher.update(chunk);
    }
    Ok(hasher.finalize().into())
}
