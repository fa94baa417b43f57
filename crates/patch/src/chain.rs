//! Applying patches, one after another, in one pass over their base.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io::{self, Seek, Write};

use zten::attributes::Attributes;
use zten::formats::profile;
use zten::formats::write::{
    self, Array, ArrayList, ArraySource, ChunkFn, OpaqueType, Settings, WriteFailure, WrittenFormat,
};
use zten::num::u64_from_usize;
use zten::shards::Source;
use zten::verify::Verifier;
use zten::write::{Change as Copied, Copier, Encoded, IoSink, Sink, WriteOptions, Writer};
use zten::{Component, DType, Error, ErrorKind, Generation, Tensor};
use zten_report::catalog::{PATCH_BASE, PATCH_RECORD, PATCH_RESULT};
use zten_report::digests::{hex, kind};

use crate::content::{Producer, Stopped};
use crate::failure::{PatchFailure, broken, broken_in, no_memory};
use crate::model::{Model, encoded};
use crate::patch::Patch;
use crate::{Change, Sha256};

/// Patches that are applied to a base, one after another, and the tensors of the result. Creating the chain reads no elements.
///
/// Each method that writes the result compares the digest of every component that a patch changes, and at the end the identity of
/// all tensors, with those that the patches declare. If the method fails, the bytes that it wrote are not the result, and must not
/// be published.
#[derive(Clone, Debug)]
pub struct Chain<'c, 'a> {
    pub(crate) base: &'c Model<'a>,
    pub(crate) patches: &'c [Patch<'a>],
    pub(crate) slots: Vec<ResultTensor<'a>>,
}

/// A tensor of the model that results from applying the patches.
#[derive(Clone, Debug)]
pub(crate) struct ResultTensor<'a> {
    pub(crate) name: &'a str,
    /// The tensor that supplies the bytes to which `deltas` are applied. It is a tensor of the base, or, if `origin` is a number, a
    /// tensor that the patch with this index stores whole.
    pub(crate) tensor: Tensor<'a>,
    pub(crate) origin: Option<usize>,
    /// The changes of the components of the tensor, in the order in which they are applied.
    pub(crate) deltas: Vec<Delta>,
}

/// A change of a component, named by the index of its patch in the chain and the index of the change in that patch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delta {
    pub(crate) patch: usize,
    pub(crate) change: usize,
}

impl<'c, 'a> Chain<'c, 'a> {
    /// Prepares to apply `patches` to `base`, in their order: each patch applies to the result of the patch before it.
    ///
    /// # Errors
    /// `patch-base` if a patch does not follow the patch before it, or does not fit the tensors that it is applied to: a tensor or
    /// component is missing or has another type or shape, a new name is in use already, or the patch gives the order of more or
    /// fewer tensors. `patch-record` if that order does not have each tensor once. [`OutOfMemory`](zten::error::OutOfMemory).
    pub fn new(base: &'c Model<'a>, patches: &'c [Patch<'a>]) -> Result<Self, PatchFailure> {
        let mut plan = Plan::new(base).map_err(PatchFailure::Old)?;
        let mut result = None;
        for (number, patch) in patches.iter().enumerate() {
            if result.is_some_and(|result| result != patch.record.base) {
                let sentence = format!(
                    "the patch was made of tensors with the identity {}, which is not that of the result of the patch before it",
                    hex(&patch.record.base)
                );
                return Err(PatchFailure::Patch(number, broken(&PATCH_BASE, sentence)));
            }
            plan.apply(number, patch)?;
            result = Some(patch.record.result);
        }
        let slots = plan.slots.into_iter().flatten().collect();
        Ok(Self { base, patches, slots })
    }

    /// Returns the attributes that the file of the result has: those of the last patch that changes them, or else those of the
    /// base.
    pub fn attributes(&self) -> Attributes<'_> {
        let last = self.patches.iter().rev().find_map(|patch| patch.attributes.as_ref());
        last.map_or_else(|| self.base.attributes.clone(), Encoded::entries)
    }

    /// Returns the number of tensors that the result of the patches has.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether the result has no tensors.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the identity of the tensors of the result, as the last patch declares it, or `None` if the chain has no patches.
    pub fn result(&self) -> Option<Sha256> {
        self.patches.last().map(|patch| patch.record.result)
    }

    /// Writes the result to `out`, which must be empty, as a file of `format`. A zTensor file has the generation of `options`.
    ///
    /// # Errors
    /// The base is not the base of the first patch (`patch-base`), a patch is not valid (`patch-frame`, `patch-result`), a file
    /// cannot be read or written, or the format cannot hold the result.
    pub fn write(
        &self,
        format: WrittenFormat,
        out: &mut (impl Write + Seek),
        options: &WriteOptions,
    ) -> Result<(), PatchFailure> {
        if format == WrittenFormat::ZTensor {
            return self.write_ztensor(IoSink(out), options).map(drop);
        }
        let mut arrays =
            Arrays { producer: Producer::new(self), verifiers: self.verifiers(), chain: self };
        write::write(format, &mut arrays, out, Settings::default())
            .map_err(PatchFailure::of_writer)?;
        arrays.producer.finish()
    }

    /// Writes the result to `sink` as a zTensor file, and returns what the sink returns.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn write_ztensor<S: Sink>(
        &self,
        sink: S,
        options: &WriteOptions,
    ) -> Result<S::Output, PatchFailure> {
        let mut writer = Writer::new(sink, options).map_err(PatchFailure::of_writing)?;
        let attributes = self.attributes();
        if attributes.clone().next().is_some() {
            let encoded = encoded(&attributes).map_err(PatchFailure::of_writing)?;
            writer.attributes_encoded(&encoded).map_err(PatchFailure::of_writing)?;
        }
        let (producer, failed) = (RefCell::new(Producer::new(self)), Cell::new(None));
        // The number of the tensor of the result that is being written, which both closures below need.
        let current = Cell::new(0);
        let content = |component: &Component<'_>,
                       chunk: Option<&[u8]>,
                       take: &mut dyn FnMut(&[u8]) -> Result<(), Error>| {
            let taken = producer.borrow_mut().chunk(current.get(), component, chunk, take);
            taken.map_err(|stopped| match stopped {
                Stopped::Taker(error) => error,
                Stopped::Failed(failure) => {
                    failed.set(Some(failure));
                    Error::writing()
                }
            })
        };
        let changes = |_: &Tensor<'_>| {
            let name = self.slots.get(current.get()).map(|slot| slot.name);
            Some(Copied { name, content: Some(&content), ..Copied::default() })
        };
        let is_of_2 = options.is_generation(Generation::V2);
        let copier = |verifier| {
            let copier = Copier::with_verifier(verifier).changes(&changes);
            if is_of_2 { copier.layouts(profile) } else { copier }
        };
        let mut copiers: Vec<_> = self.verifiers().into_iter().map(copier).collect();
        for (number, slot) in self.slots.iter().enumerate() {
            current.set(number);
            let at = slot.origin.map_or(0, |patch| patch.saturating_add(1));
            let Some(copier) = copiers.get_mut(at) else { continue };
            let written = copier.object(&slot.tensor, &mut writer, None);
            if let Some(failure) = failed.take() {
                return Err(failure);
            }
            written.map_err(|error| match error.kind() {
                ErrorKind::Inexpressible(_) | ErrorKind::Write => PatchFailure::of_writing(error),
                _ => slot.failed(error),
            })?;
        }
        drop(copiers);
        producer.into_inner().finish()?;
        writer.finish().map_err(PatchFailure::of_writing)
    }

    /// Returns whether the patches change elements only, so that the result has the names, types, shapes and attributes of the
    /// base. The order of the tensors is not compared.
    pub fn keeps_header(&self) -> bool {
        let stays =
            |slot: &ResultTensor<'_>| slot.origin.is_none() && slot.name == slot.tensor.name();
        self.slots.len() == self.base.tensors.len()
            && self.slots.iter().all(stays)
            && self.patches.iter().all(|patch| patch.attributes.is_none())
    }

    /// Returns the tensors of the base that the patches neither change, remove nor replace. A renamed tensor is one of them, under
    /// its name in the base.
    pub fn unchanged(&self) -> impl Iterator<Item = Tensor<'a>> + '_ {
        let is_unchanged =
            |slot: &&ResultTensor<'_>| slot.origin.is_none() && slot.deltas.is_empty();
        self.slots.iter().filter(is_unchanged).map(|slot| slot.tensor)
    }

    /// Turns a partial copy of the base's file into the result. Before the call, the caller has copied the header and all
    /// [unchanged](Self::unchanged) tensors, each to the offset that it has in the base. This function computes the changed
    /// tensors, and calls `write` with pieces of their bytes, each with the offset in the file at which the piece belongs. It reads
    /// the unchanged tensors from `copy`, the file that the caller writes, so that a copy with a wrong byte is an error.
    ///
    /// The caller must have checked that the result [keeps the header](Self::keeps_header), and that the base is a safetensors
    /// file, which stores each tensor uncompressed at one offset.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn update<'s>(
        &'s self,
        copy: &'s dyn Source,
        write: &mut dyn FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> Result<(), PatchFailure>
    where
        'a: 's,
    {
        let in_copy = |slot: &'s ResultTensor<'a>| ResultTensor {
            tensor: if slot.deltas.is_empty() { slot.tensor.read_from(copy) } else { slot.tensor },
            ..slot.clone()
        };
        let slots = self.slots.iter().map(in_copy).collect();
        let chain: Chain<'s, 's> = Chain { base: self.base, patches: self.patches, slots };
        let (mut producer, mut verifiers) = (Producer::new(&chain), chain.verifiers());
        for (number, slot) in chain.slots.iter().enumerate() {
            let data = slot.tensor.components().next();
            let mut offset = data.map_or(0, |data| data.extent().offset());
            let mut take = |bytes: &[u8]| {
                let begin = offset;
                offset = offset.saturating_add(u64_from_usize(bytes.len()));
                if slot.deltas.is_empty() { Ok(()) } else { write(begin, bytes) }
            };
            let read = chain.read(number, (&mut producer, &mut verifiers), &mut take);
            read.map_err(PatchFailure::of_writer)?;
        }
        producer.finish()
    }

    /// Computes the result, and checks its digests as a method that writes does, but writes nothing.
    ///
    /// # Errors
    /// The errors of [`write`](Self::write) except those of the output.
    pub fn dry_run(&self) -> Result<(), PatchFailure> {
        let mut producer = Producer::new(self);
        let mut verifiers = self.verifiers();
        for number in 0..self.slots.len() {
            let read = self.read(number, (&mut producer, &mut verifiers), &mut |_| Ok(()));
            read.map_err(PatchFailure::of_writer)?;
        }
        producer.finish()
    }

    /// Returns the verifier of the base, followed by the verifier of each patch. Each one checks the tensors of its file as they
    /// are read.
    pub(crate) fn verifiers(&self) -> Vec<Verifier> {
        let patches = self.patches.iter().map(|patch| patch.model.verifier.clone());
        [self.base.verifier.clone()].into_iter().chain(patches).collect()
    }

    /// Computes tensor `number` of the result, and passes its bytes to `take` in pieces. `producer` applies the changes, and
    /// `verifiers`, which [`verifiers`](Self::verifiers) returned, check the bytes that are read.
    pub(crate) fn read(
        &self,
        number: usize,
        (producer, verifiers): (&mut Producer<'_, 'a>, &mut [Verifier]),
        take: &mut ChunkFn<'_>,
    ) -> Result<(), WriteFailure<PatchFailure>> {
        let Some(slot) = self.slots.get(number) else { return Ok(()) };
        let at = slot.origin.map_or(0, |patch| patch.saturating_add(1));
        let Some(verifier) = verifiers.get_mut(at) else { return Ok(()) };
        let mut stopped = None;
        let read = verifier.object(&slot.tensor, |component, chunk| {
            if stopped.is_none() {
                stopped = producer.chunk(number, component, Some(chunk), take).err();
            }
        });
        let ended = if let Some(stopped) = stopped {
            Err(stopped)
        } else {
            read.map_err(|error| WriteFailure::Source(slot.failed(error)))?;
            producer.end(number, take)
        };
        ended.map_err(|stopped| match stopped {
            Stopped::Taker(error) => WriteFailure::Output(error),
            Stopped::Failed(failure) => WriteFailure::Source(failure),
        })
    }
}

impl ResultTensor<'_> {
    /// Returns `error` as the failure of the file that supplies the bytes of this tensor: the base or a patch.
    pub(crate) fn failed(&self, error: Error) -> PatchFailure {
        match self.origin {
            None => PatchFailure::Old(error),
            Some(patch) => PatchFailure::Patch(patch, error),
        }
    }
}

/// The list of tensors to which the patches of a chain are applied, one patch after another. No elements are read.
struct Plan<'a> {
    /// The tensors of the model to which the patches so far lead, in the order of that model. While a patch is applied, a tensor
    /// that it removes becomes `None`, so that the indices of the other tensors stay as they are.
    slots: Vec<Option<ResultTensor<'a>>>,
    /// For each tensor name, the index in `slots` of the tensor.
    names: HashMap<&'a str, usize>,
}

impl<'a> Plan<'a> {
    fn new(base: &Model<'a>) -> Result<Self, Error> {
        let (mut slots, mut names) = (Vec::new(), HashMap::new());
        slots.try_reserve(base.tensors.len()).map_err(|_| no_memory())?;
        names.try_reserve(base.tensors.len()).map_err(|_| no_memory())?;
        for (at, tensor) in base.tensors.iter().enumerate() {
            let (name, origin, deltas) = (tensor.name(), None, Vec::new());
            slots.push(Some(ResultTensor { name, tensor: *tensor, origin, deltas }));
            names.insert(name, at);
        }
        Ok(Self { slots, names })
    }

    /// Applies patch `number` to the list of tensors: removes and renames tensors, notes the changes of components, adds the
    /// tensors that the patch holds whole, or puts them in place of the tensors of the same name, and puts the tensors in order.
    fn apply(&mut self, number: usize, patch: &Patch<'a>) -> Result<(), PatchFailure> {
        self.rename(patch).map_err(|error| failure(number, error))?;
        for (change, own) in patch.record.changed.iter().enumerate() {
            let slot = self.names.get(own.name).and_then(|at| self.slots.get_mut(*at)?.as_mut());
            let slot = slot.ok_or_else(|| failure(number, missing(own.name, "changes")))?;
            check(slot, own).map_err(|error| failure(number, error))?;
            slot.deltas.try_reserve(1).map_err(|_| failure(number, no_memory()))?;
            slot.deltas.push(Delta { patch: number, change });
        }
        for (name, tensor) in patch.whole() {
            let slot = ResultTensor { name, tensor, origin: Some(number), deltas: Vec::new() };
            if let Some(place) = self.names.get(name).and_then(|at| self.slots.get_mut(*at)) {
                *place = Some(slot);
                continue;
            }
            self.slots.try_reserve(1).map_err(|_| failure(number, no_memory()))?;
            self.names.insert(name, self.slots.len());
            self.slots.push(Some(slot));
        }
        let ordered = patch.record.order.as_ref().map(Vec::len);
        let count = self.slots.iter().flatten().count();
        if let Some(ordered) = ordered.filter(|ordered| *ordered != count) {
            let sentence = format!(
                "the result would have {count} tensors, but the patch gives the order of {ordered}"
            );
            return Err(failure(number, broken(&PATCH_BASE, sentence)));
        }
        self.order(patch).map_err(|error| PatchFailure::Patch(number, error))
    }

    /// Removes the tensors that `patch` removes, and gives the tensors that it renames their new names.
    fn rename(&mut self, patch: &Patch<'a>) -> Result<(), Error> {
        for name in patch.removed() {
            let at = self.names.remove(name).ok_or_else(|| missing(name, "removes"))?;
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = None;
            }
        }
        // All old names are removed before the new names are added, so that two tensors may exchange their names.
        let mut moved = Vec::new();
        moved.try_reserve(patch.renamed().len()).map_err(|_| no_memory())?;
        for [old, new] in patch.renamed() {
            let at = self.names.remove(old).ok_or_else(|| missing(old, "renames"))?;
            moved.push((at, *new));
        }
        for (at, new) in moved {
            if let Some(Some(slot)) = self.slots.get_mut(at) {
                slot.name = new;
            }
            if self.names.insert(new, at).is_some() {
                let name = zten::escape::quoted(new);
                let sentence = format!(
                    "the patch renames a tensor to {name}, which is the name of another tensor"
                );
                return Err(broken(&PATCH_BASE, sentence));
            }
        }
        Ok(())
    }

    /// Puts the tensors into the order that `patch` gives, if it gives one. The caller has checked that this order has as many
    /// positions as there are tensors.
    fn order(&mut self, patch: &Patch<'a>) -> Result<(), Error> {
        let Some(order) = &patch.record.order else { return Ok(()) };
        let wrong = || {
            broken(
                &PATCH_RECORD,
                "the order in the patch does not have the position of each tensor exactly once",
            )
        };
        let mut old: Vec<_> =
            std::mem::take(&mut self.slots).into_iter().flatten().map(Some).collect();
        for at in order {
            let at = usize::try_from(*at).ok().and_then(|at| old.get_mut(at));
            let slot = at.and_then(Option::take).ok_or_else(wrong)?;
            self.names.insert(slot.name, self.slots.len());
            self.slots.push(Some(slot));
        }
        Ok(())
    }
}

/// Converts an `error` of applying patch `number`, counted from 0, into a failure. If the first patch does not fit, the failure is
/// about the base (the old model), because the user may have named the wrong file. A later patch does not fit the patch before it.
fn failure(number: usize, error: Error) -> PatchFailure {
    if number == 0 { PatchFailure::Old(error) } else { PatchFailure::Patch(number, error) }
}

fn missing(name: &str, changes: &str) -> Error {
    let quoted = zten::escape::quoted(name);
    broken(&PATCH_BASE, format!("the model has no tensor {quoted}, which the patch {changes}"))
}

/// Checks that the tensor `slot` has the component that `change` changes, with the type and the shape that the component had when
/// the patch was made.
fn check(slot: &ResultTensor<'_>, change: &Change<'_>) -> Result<(), Error> {
    let Some(component) = slot.tensor.component(change.role) else {
        let role = zten::escape::quoted(change.role);
        let sentence = format!("the tensor has no component {role}, which the patch changes");
        return Err(broken_in(change.name, &PATCH_BASE, sentence));
    };
    let own = kind(&slot.tensor, &component);
    if own != change.kind {
        let expected = zten::escape::word(change.kind, 80);
        let sentence = format!("the tensor is {own}, but was {expected} when the patch was made");
        return Err(broken_in(change.name, &PATCH_BASE, sentence));
    }
    Ok(())
}

/// The tensors of the result as a source of arrays, from which the writers of other formats than zTensor read.
struct Arrays<'s, 'c, 'a> {
    chain: &'s Chain<'c, 'a>,
    producer: Producer<'s, 'a>,
    verifiers: Vec<Verifier>,
}

impl ArrayList for Arrays<'_, '_, '_> {
    fn count(&self) -> usize {
        self.chain.slots.len()
    }

    fn name(&self, at: usize) -> &str {
        self.chain.slots.get(at).map_or("", |slot| slot.name)
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        let tensor = self.chain.slots.get(at).ok_or("no such tensor")?.tensor;
        match OpaqueType::of(&tensor) {
            Some(_) if !tensor.has_attributes() => {
                Ok(Array { shape: tensor.shape().to_vec(), dtype: DType::Unknown })
            }
            _ => Array::of(&tensor),
        }
    }

    fn opaque(&self, at: usize) -> Option<OpaqueType<'_>> {
        OpaqueType::of(&self.chain.slots.get(at)?.tensor)
    }

    fn attributes(&self) -> Attributes<'_> {
        self.chain.attributes()
    }
}

impl ArraySource for Arrays<'_, '_, '_> {
    type Error = PatchFailure;

    fn read(
        &mut self,
        at: usize,
        take: &mut ChunkFn<'_>,
    ) -> Result<(), WriteFailure<PatchFailure>> {
        self.chain.read(at, (&mut self.producer, &mut self.verifiers), take)
    }
}

/// Returns the error that the tensors of a result have the identity `found`, but the patch declares the identity `expected`.
pub(crate) fn other_result(expected: &Sha256, found: &Sha256) -> Error {
    let (expected, found) = (hex(expected), hex(found));
    let sentence = format!("the result has the identity {found}, but the patch gives {expected}");
    broken(&PATCH_RESULT, sentence)
}
