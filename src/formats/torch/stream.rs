//! The stream that PyTorch wrote before 1.6: five pickles, and then the storages, each after its number of elements.

use alloc::vec::Vec;
use core::cell::Cell;

use crate::formats::error::{FormatError, follow};
use crate::formats::limits::check_length;
use crate::formats::rules::Rule;
use crate::formats::zip::{Member, Window, defer};
use crate::limits::OpenOptions;
use crate::num::{sort_by, u64_from_usize};
use crate::read_at::ReadAt;

use super::machine::{Context, Setting};
use super::pickle::{Pickle, Pickled, end_of_pickle};
use super::storages::{StorageRecord, Storages};
use super::{FIRST, LONGEST, check_longest};

/// The number of pickles: a magic number, the version, facts about the system that wrote the stream, the value, and the keys of the
/// storages.
pub(super) const PICKLES: usize = 5;
/// The version of the stream, the value of its second pickle. PyTorch reads no other version.
const VERSION: i64 = 1001;
/// The number of bytes in front of each storage: they give its number of elements, in little-endian order.
const COUNT: u64 = 8;

/// The offsets at which the pickles begin, and the offset at which the last one ends.
type Bounds = [usize; PICKLES + 1];

/// Reads the bytes of the five pickles of a stream of `length` bytes, and finds where each of them begins and ends.
pub(super) fn read_pickles(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<(Vec<u8>, Bounds), FormatError> {
    // A stream does not give the length of its pickles, so twice as many bytes are read until the pickles end within them.
    let most = length.min(LONGEST).min(options.limit().manifest());
    let mut prefix = most.min(FIRST);
    loop {
        let mut bytes = Vec::new();
        source.append_range(0..prefix, &mut bytes)?;
        match bounds(&bytes) {
            Some(bounds) => {
                let [.., end] = bounds;
                bytes.truncate(end);
                return Ok((bytes, bounds));
            }
            None if prefix < most => prefix = prefix.saturating_mul(2).min(most),
            None if prefix < length => {
                check_length(prefix.saturating_add(1), options.limit(), "a pickle of the stream")?;
                check_longest(prefix.saturating_add(1), 0)?;
                return Err(find_fault(&bytes, options));
            }
            None => return Err(find_fault(&bytes, options)),
        }
    }
}

/// Returns the error for a stream whose five pickles do not all end within `bytes`, its first bytes: the first fault that
/// the machine finds in these pickles.
fn find_fault(bytes: &[u8], options: &OpenOptions) -> FormatError {
    let (steps, mut at) = (Cell::new(0), 0_usize);
    for _ in 0..PICKLES {
        let rest = bytes.get(at..).unwrap_or_default();
        let end = end_of_pickle(rest).unwrap_or(rest.len());
        let pickle = rest.get(..end).unwrap_or_default();
        if let Err(error) = Pickle::read(pickle, u64_from_usize(at), setting(options), &steps) {
            return error;
        }
        at = at.saturating_add(end);
    }
    FormatError::internal(
        "a pickle of the stream does not end, but the machine reads it to its end",
    )
}

/// Returns the settings with which the machine reads the fourth pickle of a stream, the pickle of the value.
fn setting(options: &OpenOptions) -> Setting<'_> {
    Setting {
        context: Context::Stream,
        limits: options.limit(),
        tolerates_globals: options.tolerates_globals(),
    }
}

/// Returns where the five pickles at the start of `bytes` begin and end; `None` if one of them does not end within `bytes`.
fn bounds(bytes: &[u8]) -> Option<Bounds> {
    let mut bounds = [0; PICKLES + 1];
    let mut at = 0_usize;
    for bound in bounds.iter_mut().skip(1) {
        at = at.checked_add(end_of_pickle(bytes.get(at..)?)?)?;
        *bound = at;
    }
    Some(bounds)
}

/// A checkpoint in the form that PyTorch wrote before 1.6 (see the module), whose five pickles have been read.
pub(super) struct Stream<'s> {
    /// The fourth pickle of the stream, which makes the value.
    pub(super) pickle: Pickle<'s>,
    pub(super) root: Pickled,
    pub(super) storages: Storages<'s>,
    /// The offset in the file at which the pickle of the value begins.
    pub(super) pickle_at: u64,
    /// The offset in the file at which the last pickle ends and the storages begin.
    pub(super) end: u64,
}

impl<'s> Stream<'s> {
    /// Reads the five pickles in `bytes`, which begin and end at the offsets `bounds`, and finds the storages in the source
    /// of `length` bytes. `steps` counts the instructions, items of containers and bytes of operands that are visited.
    pub(super) fn read(
        (bytes, bounds): (&'s [u8], Bounds),
        (source, length): (&dyn ReadAt, u64),
        options: &OpenOptions,
        steps: &'s Cell<u64>,
    ) -> Result<Self, FormatError> {
        let [magic, version, system, value, keys, end] = bounds;
        let read = |from: usize, to: usize, setting: Setting<'_>| {
            let bytes = bytes.get(from..to).unwrap_or_default();
            Pickle::read(bytes, u64_from_usize(from), setting, steps)
        };
        // The caller may tolerate unknown globals in the pickle of the value only.
        let strict = Setting {
            context: Context::StreamHeader,
            tolerates_globals: false,
            ..setting(options)
        };
        let (first, _) = read(magic, version, strict)?;
        let (number, found) = read(version, system, strict)?;
        let is_known = matches!(found, Pickled::Int(at) if number.int(at) == Some(VERSION));
        if !is_known {
            let sentence = format_args!("the version of the stream is not {VERSION}");
            let at = u64_from_usize(version);
            return Err(FormatError::violation_at(Rule::TorchVersion, sentence, at));
        }
        let (facts, _) = read(system, value, strict)?;
        let (mut pickle, root) = read(value, keys, setting(options))?;
        let (list, found) = read(keys, end, strict)?;
        let others = [&first, &number, &facts, &list];
        let beyond = others.into_iter().find_map(|pickle| pickle.beyond_torch);
        pickle.beyond_torch = pickle.beyond_torch.or(beyond);
        let (keys_at, end) = (u64_from_usize(keys), u64_from_usize(end));
        let Pickled::List(node) = found else {
            let sentence = "the last pickle of the stream is not a list of the keys of storages";
            return Err(FormatError::violation_at(Rule::TorchPickle, sentence, keys_at));
        };
        let mut keys = Vec::new();
        for key in list.items(node) {
            let Pickled::Text(at) = key else {
                let sentence = "the last pickle of the stream has a storage key that is not a text";
                return Err(FormatError::violation_at(Rule::TorchPickle, sentence, keys_at));
            };
            keys.try_reserve(1).map_err(|_| FormatError::memory())?;
            keys.push(list.text(at)?);
        }
        let storages = find(&pickle, &keys, (end, Window::new(source, length), length))?;
        Ok(Self { pickle, root, storages, pickle_at: u64_from_usize(value), end })
    }
}

/// Finds the storages called `keys`, which follow each other from offset `at` of the file to its end. The number of elements in
/// front of each storage must be the number that the pickle gives.
fn find<'s>(
    pickle: &Pickle<'_>,
    keys: &[&'s str],
    (mut at, mut window, length): (u64, Window<'_>, u64),
) -> Result<Storages<'s>, FormatError> {
    let mut known = Vec::new();
    for node in pickle.storages() {
        let storage = pickle.storage(node)?;
        known.try_reserve(1).map_err(|_| FormatError::memory())?;
        known.push((storage.key, storage.length, storage.bytes()));
    }
    sort_by(&mut known, Ord::cmp);
    known.dedup_by_key(|(key, ..)| *key);
    let mut storages = Storages::default();
    // If bytes of the file have not arrived yet, the loop goes on, so that the caller can request the counts of all storages at
    // once.
    let mut pending = None;
    for key in keys {
        let place = known.binary_search_by(|(other, ..)| other.cmp(key)).ok();
        let found = place.and_then(|place| known.get(place));
        let Some((_, Some(count), Some(bytes))) = found else {
            let sentence = "is a storage that the pickle does not name";
            return Err(FormatError::predicate(Rule::TorchStorage, sentence).or_at(at).about(key));
        };
        let start = at.saturating_add(COUNT);
        let end = start.saturating_add(*bytes);
        if end > length {
            let sentence = "the file ends within the storage";
            return Err(FormatError::violation_at(Rule::TorchStorage, sentence, at).about(key));
        }
        let read = window.get(at..start, length).map(|bytes| bytes.first_chunk().copied());
        if let Some(stored) = defer(read, &mut pending)?
            && stored.map(u64::from_le_bytes) != Some(*count)
        {
            let sentence = "the storage does not have the number of elements that the pickle gives";
            return Err(FormatError::violation_at(Rule::TorchStorage, sentence, at).about(key));
        }
        let member = Member { start, packed: *bytes, size: *bytes, crc: None, is_deflated: false };
        storages.add(StorageRecord::new(key, member))?;
        at = end;
    }
    if let Some(pending) = pending {
        return Err(pending);
    }
    if at < length {
        let sentence = follow(length.saturating_sub(at), "the last storage");
        return Err(FormatError::violation_at(Rule::TorchTrailing, sentence, at));
    }
    storages.sort();
    storages.check_unique()?;
    Ok(storages)
}
