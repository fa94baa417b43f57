//! Storage that several tensors share, or that one tensor repeats by strides of 0. A PyTorch checkpoint stores such bytes once;
//! most other formats store them once for each tensor.

use zten::formats::write::{is_tied, tie_order};
use zten::num::u64_from_usize;
use zten::{Encoding, Layout, Tensor};

use super::select::Selection;
use crate::args::{Convert, Tied};
use crate::input::file::FileWithShards;
use crate::size::human;

/// The largest factor between the bytes that are written of shared storage and its distinct bytes, without `--tied copy`.
/// Two or three names for one matrix are usual; a checkpoint of a few MiB that becomes many GiB is a surprise or an attack.
const MOST: u64 = 4;

/// A tensor, and the byte range of its data in its file.
struct Stored<'a> {
    shard: Option<&'a str>,
    start: u64,
    end: u64,
    /// The number of bytes that the elements take in the new file. It may exceed the range, whose bytes several elements may share.
    written: u64,
    tensor: Tensor<'a>,
}

/// The storage that the selected tensors of a file share or repeat.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The number of tensors that share storage with another.
    names: u64,
    /// The number of storages that these tensors share.
    storages: u64,
    /// The number of distinct bytes of the storage that is shared or repeated.
    distinct: u64,
    /// The number of bytes that this storage takes in the output if the elements of each tensor are written.
    written: u64,
    /// The part of `written` that belongs to repetitions in `ties`. A format that stores equal tensors once does not write it.
    tied: u64,
    /// Pairs of ordinals of a tensor and of an earlier tensor with the same elements, sorted.
    pub(super) ties: Vec<(u32, u32)>,
}

impl Shared {
    /// Finds the storage that the selected tensors of `archive` share or repeat. Returns an error if memory runs out.
    pub(super) fn find(archive: &FileWithShards, selection: &Selection) -> Result<Self, String> {
        let mut all = Vec::new();
        for at in 0..selection.len(archive) {
            let tensor = archive.manifest().tensor_at(selection.ordinal(at));
            let Some(stored) = tensor.and_then(Stored::of) else { continue };
            all.try_reserve(1).map_err(|_| "out of memory".to_owned())?;
            all.push(stored);
        }
        all.sort_unstable_by(|one, other| {
            let range = (one.shard, one.start, one.end);
            let order = range.cmp(&(other.shard, other.start, other.end));
            // Tied tensors come next to each other, the first one of the file before its repetitions.
            let order = order.then_with(|| tie_order(&one.tensor, &other.tensor));
            order.then_with(|| one.tensor.ordinal().cmp(&other.tensor.ordinal()))
        });
        let (mut shared, mut rest) = (Self::default(), all.as_slice());
        while let Some(first) = rest.first() {
            let mut end = first.end;
            let overlapping = rest.iter().take_while(|own| {
                let overlaps = own.shard == first.shard && own.start < end;
                end = end.max(own.end);
                overlaps
            });
            let count = overlapping.count();
            let (cluster, others) = rest.split_at(count.max(1));
            shared.add(cluster);
            rest = others;
        }
        shared.ties.sort_unstable();
        Ok(shared)
    }

    /// Adds a cluster of tensors: several whose byte ranges overlap, or a single one.
    fn add(&mut self, cluster: &[Stored<'_>]) {
        let start = cluster.first().map_or(0, |own| own.start);
        let end = cluster.iter().map(|own| own.end).max().unwrap_or(start);
        let distinct = end.saturating_sub(start);
        let written = cluster.iter().fold(0_u64, |sum, own| sum.saturating_add(own.written));
        if cluster.len() > 1 {
            self.names = self.names.saturating_add(u64_from_usize(cluster.len()));
            self.storages = self.storages.saturating_add(1);
        } else if written <= distinct {
            return;
        }
        self.distinct = self.distinct.saturating_add(distinct);
        self.written = self.written.saturating_add(written);
        let mut first: Option<&Stored<'_>> = None;
        for own in cluster {
            match first {
                Some(kept) if is_tied(&own.tensor, &kept.tensor) => {
                    self.ties.push((own.tensor.ordinal(), kept.tensor.ordinal()));
                    self.tied = self.tied.saturating_add(own.written);
                }
                _ => first = Some(own),
            }
        }
    }

    /// Checks that the storage that is shared or repeated takes at most [`MOST`] times its bytes in the output, unless the user has
    /// asked for copies. `once` is true if the output stores equal tensors once.
    pub(super) fn check(&self, args: &Convert, once: bool) -> Result<(), String> {
        let written = self.written.saturating_sub(if once { self.tied } else { 0 });
        if args.tied == Some(Tied::Copy) || written <= self.distinct.saturating_mul(MOST) {
            return Ok(());
        }
        let (distinct, written) = (human(self.distinct), human(written));
        Err(format!(
            "tensors share or repeat {distinct} of storage, which would be written as {written}: \
             --tied copy writes all of it, --tied keep-first the first of tensors with the same elements"
        ))
    }

    /// Returns a note for the user: how many tensors share storage, how many storages they share, and how often these storages are
    /// written. Returns `None` if no tensors share storage. `once` is true if the output stores tensors with equal elements once.
    pub(super) fn note(&self, once: bool) -> Option<String> {
        let again = if once { u64_from_usize(self.ties.len()) } else { 0 };
        let Self { names, storages, .. } = self;
        let times = match names.saturating_sub(again) {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        let what = match storages {
            0 => return None,
            1 => "one storage".to_owned(),
            many => format!("{many} storages"),
        };
        Some(format!("{names} names share {what}: written {times}"))
    }
}

impl<'a> Stored<'a> {
    /// Returns `tensor` with the byte range of its data if the tensor is dense, uncompressed and has data, and `None` for
    /// any other tensor. Also returns `None` for a field of records: its range is that of the records, but no byte belongs
    /// to two fields.
    fn of(tensor: Tensor<'a>) -> Option<Self> {
        let data = tensor.component("data").filter(|_| tensor.layout() == Layout::Dense)?;
        if data.is_field_of_records() {
            return None;
        }
        let written = data.decoded_length()?;
        if data.encoding() != Encoding::Raw || data.extent().length() == 0 {
            return None;
        }
        let (start, end) = (data.extent().offset(), data.extent().end());
        Some(Self { shard: data.shard(), start, end, written, tensor })
    }
}
