//! Storage that several tensors share, or that one tensor repeats: a checkpoint of PyTorch stores it once, and a file of
//! another format has it as often as it is named.

use zten::num::u64_from_usize;
use zten::{Encoding, Layout, Tensor};
use zten_formats::write::is_tied;

use super::select::Selection;
use crate::args::{Convert, Tied};
use crate::file::FileWithShards;
use crate::size::human;

/// How many times its distinct bytes shared storage may be written, if nothing else is asked for. Two or three names for one
/// matrix are usual; a file of a few MiB that becomes one of many GiB is not what anyone expects.
const MOST: u64 = 4;

/// The data of a tensor, as its file has it.
struct Stored<'a> {
    shard: Option<&'a str>,
    start: u64,
    end: u64,
    /// Bytes of all its elements.
    written: u64,
    tensor: Tensor<'a>,
}

/// The storage that the selected tensors of a file share or repeat.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Names of tensors that share storage with another, and the storages that they share.
    names: u64,
    storages: u64,
    /// Bytes of storage that is shared or repeated, and of what is written of it.
    distinct: u64,
    written: u64,
    /// Bytes of what is written that a format which stores equal bytes once stores once.
    tied: u64,
    /// Tensors with the same elements as another, which comes first: the ordinals of both, sorted.
    pub(super) ties: Vec<(u32, u32)>,
}

impl Shared {
    /// Finds the storage that selected tensors share or repeat.
    pub(super) fn find(archive: &FileWithShards, selection: &Selection) -> Result<Self, String> {
        let mut all = Vec::new();
        for at in 0..selection.len(archive) {
            let tensor = archive.manifest().tensor_at(selection.ordinal(at));
            let Some(stored) = tensor.and_then(Stored::of) else { continue };
            all.try_reserve(1).map_err(|_| "out of memory".to_owned())?;
            all.push(stored);
        }
        all.sort_unstable_by_key(|own| (own.shard, own.start, own.end, own.tensor.ordinal()));
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

    /// Adds tensors whose data overlaps, or one.
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

    /// Checks that no more is written than a few times the distinct bytes, unless the user has asked for copies. `once` says
    /// that the format stores equal tensors once.
    pub(super) fn check(&self, args: &Convert, once: bool) -> Result<(), String> {
        let written = self.written.saturating_sub(if once { self.tied } else { 0 });
        if args.tied == Some(Tied::Copy) || written <= self.distinct.saturating_mul(MOST) {
            return Ok(());
        }
        let (distinct, written) = (human(self.distinct), human(written));
        Err(format!(
            "tensors share or repeat {distinct} of storage, which would be written as {written}: \
             --tied copy writes all of it, --tied keep-first one of those with the same elements"
        ))
    }

    /// Says how often shared storage is written, if any is. `once` says that the format stores equal tensors once.
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
    /// The data of a dense tensor that is stored as it is and has some.
    fn of(tensor: Tensor<'a>) -> Option<Self> {
        let data = tensor.component("data").filter(|_| tensor.layout() == Layout::Dense)?;
        let written = data.decoded_length()?;
        if data.encoding() != Encoding::Raw || data.extent().length() == 0 {
            return None;
        }
        let (start, end) = (data.extent().offset(), data.extent().end());
        Some(Self { shard: data.shard(), start, end, written, tensor })
    }
}
