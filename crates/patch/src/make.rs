//! Making patches: comparing two models tensor by tensor, and writing what differs.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};

use sha2::{Digest as _, Sha256 as Hasher};
use zten::formats::profile;
use zten::formats::write::Inexpressible;
use zten::manifest::ElementType;
use zten::num::u64_from_usize;
use zten::verify::Verifier;
use zten::write::{Change as Copied, Checksum, Copier, Encoded, Level, Sink, WriteOptions, Writer};
use zten::{Component, DType, Error, ErrorKind, Generation, Layout, Tensor};
use zten_report::digests::{self, DigestLine, kind};
use zten_report::sums::{Of, sum};

use crate::Sha256;
use crate::content::{has_other_bools, other_bools};
use crate::elements::Elements;
use crate::failure::{PatchFailure, internal, no_memory};
use crate::frame::{Encoder, FRAME, resize};
use crate::identity::{entry, identity};
use crate::model::{Model, are_equal, encoded};
use crate::record::{Change, PatchRecord};
use crate::streams::{StreamWriter, WHOLE};

/// Settings of [`make`] for the patch that it writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The zstd level at which the streams and whole tensors of the patch are compressed.
    pub level: Level,
}

/// The counts of a new patch, and the identities of its two models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of tensors with the same content in both models, under the same name or renamed.
    pub unchanged: u64,
    /// The number of tensors for which the patch stores changes of elements.
    pub changed: u64,
    /// The number of changed elements that the patch stores as differences. Changed elements in frames that are stored whole are
    /// not counted.
    pub elements: u64,
    /// The number of tensors that the patch stores whole: those that are added, or whose type, shape or attributes change.
    pub whole: u64,
    /// The number of tensors of the old model that the patch removes.
    pub removed: u64,
    /// The number of tensors of the old model that have another name in the new one.
    pub renamed: u64,
    /// The number of bytes of all tensors of the new model, after decoding.
    pub bytes: u64,
    /// The identity of the tensors of the old model, as `zten hash --id` prints it.
    pub base: Sha256,
    /// The identity of the tensors of the new model, as `zten hash --id` prints it.
    pub result: Sha256,
}

/// Writes the patch that changes the model `old` into the model `new` to `sink`. Returns what the sink returns at its end, and a
/// summary of the patch.
///
/// Each tensor is read once, with two exceptions. If `new` lacks tensors of `old`, these may have been renamed. So a tensor that
/// only `new` has is compared with them by its digest first, and is read again if it has to be stored whole. Tensors that are not
/// dense are verified before they are compared. The decoded bytes of each compressed component count against the limit
/// `decoded-total` of its model once.
///
/// # Errors
/// A model cannot be read, is not valid or exceeds a limit; the sink fails; or a patch cannot hold a tensor: it has bools other
/// than 0 and 1, or it would have to be stored whole and generation 2 of zTensor cannot hold it, its type or layout is not known,
/// or its sparse indices are not all `u32` or all `u64`.
pub fn make<S: Sink>(
    old: &Model<'_>,
    new: &Model<'_>,
    sink: S,
    settings: &Settings,
) -> Result<(S::Output, Summary), PatchFailure> {
    let options = WriteOptions::default().generation(Generation::V2).checksum(Checksum::Xxh3);
    let writer = Writer::new(sink, &options).map_err(PatchFailure::of_writing)?;
    let mut maker = Maker {
        writer,
        streams: StreamWriter::new(settings.level),
        encoder: Encoder::default(),
        frames: Default::default(),
        entries: Default::default(),
        record: PatchRecord { format: &new.format, ..PatchRecord::default() },
        summary: Summary::default(),
        level: settings.level,
        kinds: Vec::new(),
        verifiers: [old.verifier.clone(), new.verifier.clone()],
    };
    maker.tensors(old, new)?;
    maker.finish(old, new)
}

/// The state of [`make`] while it compares two models and writes the patch.
struct Maker<'m, S: Sink> {
    writer: Writer<S>,
    streams: StreamWriter,
    encoder: Encoder,
    /// The bytes of the current frame of the old component, and those of the same frame of the new component.
    frames: [Vec<u8>; 2],
    /// The entries in a list of digests of the components read so far: of the old model, and of the new one.
    entries: [Vec<DigestLine<'m>>; 2],
    record: PatchRecord<'m>,
    summary: Summary,
    level: Level,
    /// The type and shape of the component of each change in `record`, as a text. [`finish`](Self::finish) puts these texts into
    /// the record, which cannot own them.
    kinds: Vec<String>,
    /// The verifiers of the old and of the new model, from whose limit `decoded-total` the decoded bytes of each compressed
    /// component are subtracted once. A tensor that is read twice is first read with a clone.
    verifiers: [Verifier; 2],
}

/// Returns a digest of the content of `tensor`: of the roles, types, shapes and digests of its components. `sums` has the lengths
/// and digests of the components. The name of the tensor is left out, so that renamed tensors are found by this digest.
fn content(tensor: &Tensor<'_>, sums: &[(u64, Sha256)]) -> Sha256 {
    let mut all: Vec<_> = tensor.components().zip(sums).collect();
    all.sort_unstable_by_key(|(component, _)| component.role());
    let mut hasher = Hasher::new();
    for (component, (_, sum)) in all {
        for text in [component.role(), &kind(tensor, &component)] {
            hasher.update(Hasher::digest(text));
        }
        hasher.update(sum);
    }
    hasher.finalize().into()
}

impl<'m, S: Sink> Maker<'m, S> {
    /// Compares all tensors of `old` with those of `new`, and writes what changed to the patch.
    fn tensors(&mut self, old: &Model<'m>, new: &Model<'m>) -> Result<(), PatchFailure> {
        let mut left: HashMap<&str, Tensor<'m>> = HashMap::new();
        left.try_reserve(old.tensors.len()).map_err(|_| PatchFailure::Old(no_memory()))?;
        left.extend(old.tensors.iter().map(|tensor| (tensor.name(), *tensor)));
        let mut added = Vec::new();
        for tensor in &new.tensors {
            match left.remove(tensor.name()) {
                Some(before) if is_same_kind(&before, tensor) => {
                    self.compare([before, *tensor])?;
                }
                Some(before) => {
                    self.sum_of_old(&before)?;
                    self.whole(tensor)?;
                }
                None => added.push(*tensor),
            }
        }
        // The tensors that are left were removed or renamed.
        let mut removed: HashMap<Sha256, VecDeque<Tensor<'m>>> = HashMap::new();
        for tensor in old.tensors.iter().filter(|tensor| left.contains_key(tensor.name())) {
            let sums = self.sum_of_old(tensor)?;
            removed.entry(content(tensor, &sums)).or_default().push_back(*tensor);
        }
        for tensor in added {
            if removed.is_empty() {
                self.whole(&tensor)?;
                continue;
            }
            let [_, mut verifier] = self.verifiers.clone();
            let sums = sums(&mut verifier, &tensor).map_err(PatchFailure::New)?;
            let same = removed.get_mut(&content(&tensor, &sums));
            let is_same = |own: &Tensor<'_>| are_equal(&own.attributes(), &tensor.attributes());
            let same = same.filter(|own| own.front().is_some_and(is_same));
            let same = same.and_then(VecDeque::pop_front);
            let Some(same) = same else {
                self.whole(&tensor)?;
                continue;
            };
            left.remove(same.name());
            self.record.renamed.push([same.name(), tensor.name()]);
            self.note(&tensor, &sums, 1).map_err(PatchFailure::New)?;
            self.summary.unchanged = self.summary.unchanged.saturating_add(1);
        }
        let is_left = |tensor: &&Tensor<'m>| left.contains_key(tensor.name());
        self.record.removed.extend(old.tensors.iter().filter(is_left).map(Tensor::name));
        Ok(())
    }

    /// Notes the lengths and digests `sums` of the components of a `tensor` of the old (`side` 0) or new (`side` 1) model, and
    /// subtracts the decoded bytes from the limit `decoded-total` of this model.
    fn note(
        &mut self,
        tensor: &Tensor<'m>,
        sums: &[(u64, Sha256)],
        side: usize,
    ) -> Result<(), Error> {
        for (component, sum) in tensor.components().zip(sums) {
            self.count(&component, sum.0, side)?;
            self.note_component(&component, *sum, side);
        }
        Ok(())
    }

    /// Subtracts `bytes`, to which `component` has decoded, from the limit `decoded-total` of the old (`side` 0) or new (`side` 1)
    /// model. Does nothing for a raw component: the limits of opening the file bound how many bytes raw components have.
    fn count(&mut self, component: &Component<'_>, bytes: u64, side: usize) -> Result<(), Error> {
        match self.verifiers.get_mut(side) {
            Some(verifier) if component.encoding().is_compressed() => {
                verifier.count_bytes(component, bytes)
            }
            _ => Ok(()),
        }
    }

    /// Notes the length and digest `sum` of a `component` of the old (0) or new (1) model.
    fn note_component(&mut self, component: &Component<'m>, sum: (u64, Sha256), side: usize) {
        if let Some(entries) = self.entries.get_mut(side) {
            entries.push(entry(component.tensor().name(), component, sum));
        }
        if side == 1 {
            self.summary.bytes = self.summary.bytes.saturating_add(sum.0);
        }
    }

    /// Computes and notes the digests of a `tensor` of the old model.
    fn sum_of_old(&mut self, tensor: &Tensor<'m>) -> Result<Vec<(u64, Sha256)>, PatchFailure> {
        let [mut verifier, _] = self.verifiers.clone();
        let sums = sums(&mut verifier, tensor).map_err(PatchFailure::Old)?;
        self.note(tensor, &sums, 0).map_err(PatchFailure::Old)?;
        Ok(sums)
    }

    /// Writes `tensor` of the new model to the patch as a whole, without differences from a tensor of the old model.
    fn whole(&mut self, tensor: &Tensor<'m>) -> Result<(), PatchFailure> {
        let is_known = |own: Component<'_>| {
            matches!(own.element_type(), ElementType::Plain(_) | ElementType::Logical(_))
        };
        // A program that reads the patch would not interpret an unknown type or layout, and so would not verify the tensor.
        let is_known = tensor.components().all(is_known)
            && (tensor.layout() != Layout::Unknown
                || profile(tensor).map_err(PatchFailure::New)?.is_some());
        if !is_known {
            let sentence = "it would have to be stored whole, but its type or layout is unknown, and a patch can store only known ones";
            return Err(PatchFailure::Inexpressible(Inexpressible::tensor(
                tensor.name(),
                sentence,
            )));
        }
        if !keeps_indices(tensor) {
            let sentence = "it would have to be stored whole, but a patch stores sparse indices only as u32 or u64, all of one type";
            return Err(PatchFailure::Inexpressible(Inexpressible::tensor(
                tensor.name(),
                sentence,
            )));
        }
        let name = format!("{WHOLE}{}", tensor.name());
        let keeps_bools = Cell::new(true);
        let hashers: Vec<_> = tensor.components().map(|_| (0_u64, Hasher::new())).collect();
        let hashers = RefCell::new(hashers);
        let take = |component: &Component<'_>,
                    chunk: Option<&[u8]>,
                    take: &mut dyn FnMut(&[u8]) -> Result<(), Error>| {
            let Some(chunk) = chunk else { return Ok(()) };
            if component.dtype() == DType::Bool && has_other_bools(chunk) {
                keeps_bools.set(false);
            }
            let ordinal = component.location().component().and_then(|at| usize::try_from(at).ok());
            let mut hashers = hashers.borrow_mut();
            if let Some((bytes, hasher)) = ordinal.and_then(|at| hashers.get_mut(at)) {
                *bytes = bytes.saturating_add(u64_from_usize(chunk.len()));
                hasher.update(chunk);
            }
            take(chunk)
        };
        let changes = |_: &Tensor<'_>| {
            Some(Copied { name: Some(&name), content: Some(&take), ..Copied::default() })
        };
        let [_, verifier] = self.verifiers.clone();
        let copier = Copier::with_verifier(verifier).changes(&changes);
        let mut copier = copier.layouts(profile).compressed(self.level);
        let written = copier.object(tensor, &mut self.writer, None);
        written.map_err(|error| match error.kind() {
            ErrorKind::Write => PatchFailure::Output(error.into()),
            _ => PatchFailure::New(error),
        })?;
        if !keeps_bools.get() {
            return Err(other_bools(tensor.name()));
        }
        let sums = hashers.into_inner().into_iter();
        let sums: Vec<_> = sums.map(|(bytes, own)| (bytes, own.finalize().into())).collect();
        self.note(tensor, &sums, 1).map_err(PatchFailure::New)?;
        self.summary.whole = self.summary.whole.saturating_add(1);
        Ok(())
    }

    /// Compares the tensor `before` of the old model with the tensor `after` of the new model, which has the same name, type and
    /// shape, and writes the elements that differ.
    fn compare(&mut self, [before, after]: [Tensor<'m>; 2]) -> Result<(), PatchFailure> {
        // The readers of single components do not check that indices fit together.
        if !matches!(before.layout(), Layout::Dense) {
            let [mut old, mut new] = self.verifiers.clone();
            old.check(&before).map_err(PatchFailure::Old)?;
            new.check(&after).map_err(PatchFailure::New)?;
        }
        let mut is_changed = false;
        for component in after.components() {
            let Some(old) = before.component(component.role()) else { continue };
            is_changed |= self.component(&old, &component)?;
        }
        let count =
            if is_changed { &mut self.summary.changed } else { &mut self.summary.unchanged };
        *count = count.saturating_add(1);
        Ok(())
    }

    /// Compares the component `old` of the old model with the component `new` of the new model, writes the elements that differ,
    /// and returns whether any element differs.
    fn component(
        &mut self,
        old: &Component<'m>,
        new: &Component<'m>,
    ) -> Result<bool, PatchFailure> {
        let elements = Elements::of(new);
        let length = FRAME.saturating_mul(elements.width.into());
        let mut readers =
            [old.reader().map_err(PatchFailure::Old)?, new.reader().map_err(PatchFailure::New)?];
        let before = self.streams.lengths();
        // As long as both components are equal, one hasher serves both, which halves the time for models that differ little.
        let (mut common, mut hashers) = (Hasher::new(), None::<[Hasher; 2]>);
        let (mut bytes, mut unchanged) = (0_u64, 0_usize);
        loop {
            let sides = [PatchFailure::Old, PatchFailure::New];
            for ((frame, reader), side) in self.frames.iter_mut().zip(&mut readers).zip(sides) {
                fill(reader, frame, length).map_err(side)?;
            }
            let read = self.frames.each_ref().map(|frame| u64_from_usize(frame.len()));
            for (side, ((component, read), failed)) in
                [old, new].into_iter().zip(read).zip(sides).enumerate()
            {
                self.count(component, read, side).map_err(failed)?;
            }
            let [old_frame, new_frame] = &self.frames;
            if old_frame.len() != new_frame.len() {
                return Err(PatchFailure::New(internal()));
            }
            if new_frame.is_empty() {
                break;
            }
            if new.dtype() == DType::Bool && has_other_bools(new_frame) {
                return Err(other_bools(new.tensor().name()));
            }
            bytes = bytes.saturating_add(u64_from_usize(new_frame.len()));
            let is_equal = old_frame == new_frame;
            match &mut hashers {
                None if is_equal => {
                    common.update(new_frame);
                    unchanged = unchanged.saturating_add(1);
                    continue;
                }
                None => {
                    self.streams.unchanged(unchanged).map_err(PatchFailure::of_writing)?;
                    let [old, new] = hashers.insert([common.clone(), common.clone()]);
                    old.update(old_frame);
                    new.update(new_frame);
                }
                Some([old, new]) => {
                    old.update(old_frame);
                    new.update(new_frame);
                }
            }
            if is_equal {
                self.streams.unchanged(1).map_err(PatchFailure::of_writing)?;
                continue;
            }
            let frames = [old_frame.as_slice(), new_frame];
            let count = self.encoder.frame(elements, frames, &mut self.streams);
            let count = u64_from_usize(count.map_err(PatchFailure::of_writing)?);
            self.summary.elements = self.summary.elements.saturating_add(count);
            self.streams.flush(&mut self.writer, false).map_err(PatchFailure::of_writing)?;
        }
        let is_changed = hashers.is_some();
        let [base, result]: [Sha256; 2] =
            hashers.unwrap_or([common.clone(), common]).map(|own| own.finalize().into());
        self.note_component(old, (bytes, base), 0);
        self.note_component(new, (bytes, result), 1);
        if is_changed {
            let mut lengths = self.streams.lengths();
            for (length, before) in lengths.iter_mut().zip(before) {
                *length = length.saturating_sub(before);
            }
            let (tensor, role) = (new.tensor(), new.role());
            let name = tensor.name();
            self.record.changed.push(Change { name, role, kind: "", base, result, lengths });
            self.kinds.push(kind(&tensor, new));
        }
        Ok(is_changed)
    }

    /// Writes the last, incomplete chunk of each stream and the attribute that describes the changes, and completes the file.
    /// Returns what the sink returns, and the summary of the patch.
    ///
    /// # Errors
    /// Writing to the sink fails; out of memory.
    fn finish(
        mut self,
        old: &Model<'m>,
        new: &Model<'m>,
    ) -> Result<(S::Output, Summary), PatchFailure> {
        self.streams.flush(&mut self.writer, true).map_err(PatchFailure::of_writing)?;
        let [base, result] = self.entries.map(identity);
        let mut record = PatchRecord { base, result, ..self.record.clone() };
        record.order = order(&record, old, new);
        for (change, kind) in record.changed.iter_mut().zip(&self.kinds) {
            change.kind = kind;
        }
        let attributes = if are_equal(&old.attributes, &new.attributes) {
            None
        } else {
            Some(encoded(&new.attributes).map_err(PatchFailure::New)?)
        };
        let record_attributes = record.write(attributes.as_ref().map(Encoded::as_bytes));
        let all = record_attributes.map_err(PatchFailure::of_writing)?;
        self.writer.attributes_encoded(&all).map_err(PatchFailure::of_writing)?;
        let mut summary = Summary { base, result, ..self.summary };
        summary.removed = u64_from_usize(record.removed.len());
        summary.renamed = u64_from_usize(record.renamed.len());
        Ok((self.writer.finish().map_err(PatchFailure::of_writing)?, summary))
    }
}

/// Reads and verifies `tensor`, and returns the length in bytes and the SHA-256 of each of its components, in the order of the
/// manifest.
fn sums(verifier: &mut Verifier, tensor: &Tensor<'_>) -> Result<Vec<(u64, Sha256)>, Error> {
    let all = sum(verifier, tensor, Of::Bytes)?.into_iter();
    Ok(all.map(|own| (own.bytes.unwrap_or(0), own.sha256.unwrap_or_default())).collect())
}

/// Fills `frame` with the next bytes of `reader`: `length` bytes, or fewer at the end.
fn fill(reader: &mut zten::Reader<'_>, frame: &mut Vec<u8>, length: usize) -> Result<(), Error> {
    resize(frame, length)?;
    let mut filled = 0_usize;
    while let Some(room) = frame.get_mut(filled..).filter(|room| !room.is_empty()) {
        let read = reader.read_chunk(room)?;
        if read == 0 {
            break;
        }
        filled = filled.saturating_add(read);
    }
    frame.truncate(filled);
    Ok(())
}

/// Returns whether generation 2 of zTensor can store the indices of the sparse `tensor` in the type that they have: `u64` or `u32`,
/// and the same type for all indices. Returns true for a tensor without indices.
fn keeps_indices(tensor: &Tensor<'_>) -> bool {
    let mut indices = tensor.components().filter(Component::is_index).map(|own| own.dtype());
    let first = indices.next();
    matches!(first, None | Some(DType::U64 | DType::U32)) && indices.all(|own| Some(own) == first)
}

/// Returns whether the tensors `old` and `new` have the same layout, type, shape, attributes and lengths, so that they can only
/// differ in their elements.
fn is_same_kind(old: &Tensor<'_>, new: &Tensor<'_>) -> bool {
    let is_same = |component: Component<'_>| {
        old.component(component.role()).is_some_and(|own| {
            kind(old, &own) == kind(new, &component)
                && own.decoded_length().is_some()
                && own.decoded_length() == component.decoded_length()
                && Elements::of(&own) == Elements::of(&component)
        })
    };
    old.components().len() == new.components().len()
        && digests::layout(old) == digests::layout(new)
        && new.components().all(is_same)
        && are_equal(&old.attributes(), &new.attributes())
}

/// Returns the order of the tensors of `new`: for each of them, its position in the order that the result of the patch has if the
/// patch gives no order. Returns `None` if both orders are the same, so that the patch needs none.
fn order(record: &PatchRecord<'_>, old: &Model<'_>, new: &Model<'_>) -> Option<Vec<u32>> {
    let renamed: HashMap<_, _> = record.renamed.iter().map(|[old, new]| (*old, *new)).collect();
    let kept: HashMap<_, _> = new.tensors.iter().map(|own| (own.name(), false)).collect();
    let mut usual = HashMap::new();
    for tensor in &old.tensors {
        let name = renamed.get(tensor.name()).copied().unwrap_or(tensor.name());
        if kept.contains_key(name) {
            let next = u32::try_from(usual.len()).unwrap_or(u32::MAX);
            usual.insert(name, next);
        }
    }
    // Tensors that are stored whole and are new in the result follow all others, in the order in which `Patch::open` sorts them.
    let mut added: Vec<_> = new.tensors.iter().map(Tensor::name).collect();
    added.retain(|name| !usual.contains_key(name));
    added.sort_unstable_by_key(|name| (name.len(), *name));
    for name in added {
        let next = u32::try_from(usual.len()).unwrap_or(u32::MAX);
        usual.insert(name, next);
    }
    let order = new.tensors.iter().filter_map(|own| usual.get(own.name()).copied());
    let order: Vec<_> = order.collect();
    if order.iter().copied().eq(0..u32::try_from(order.len()).unwrap_or(u32::MAX)) {
        None
    } else {
        Some(order)
    }
}
