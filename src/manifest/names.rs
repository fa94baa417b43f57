//! Names of objects: no two are equal, and finding one takes O(log n).

use alloc::vec::Vec;
use core::cmp::Ordering;

use super::sort::sort;
use crate::num::{index, short};

/// Ordinals fit in 26 bits: an object takes 29 bytes at least, and a manifest has 2^30.
const ORDINAL_BITS: u32 = 26;
const ORDINAL: u64 = (1 << ORDINAL_BITS) - 1;

/// How to find an object by its name.
#[derive(Debug)]
pub(super) enum Names {
    /// The names rise strictly in manifest order.
    Rising,
    /// 38 bits of the name's hash above its ordinal, sorted; where hashes are equal, in the
    /// order of the names.
    Hashed(Vec<u64>),
}

/// Why an index of names could not be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Clash {
    /// The object of this ordinal has the name of one before it; no object before does.
    Duplicate(u32),
    /// Memory could not be had.
    Memory,
}

/// Reads the name of an ordinal.
pub(super) trait Read<'m>: Fn(u32) -> &'m [u8] {}
impl<'m, F: Fn(u32) -> &'m [u8]> Read<'m> for F {}

fn ordinal(entry: u64) -> u32 {
    u32::try_from(entry & ORDINAL).unwrap_or_default()
}

/// A hash for spreading names, not for defence: equal hashes are settled by the names
/// themselves, in time that no choice of names makes worse than linear in their bytes.
#[inline]
fn hash(name: &[u8]) -> u64 {
    const K: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |state: u64, word: u64| {
        let product = u128::from(state ^ word).wrapping_mul(u128::from(K));
        let low = u64::try_from(product & u128::from(u64::MAX)).unwrap_or_default();
        low ^ u64::try_from(product >> 64).unwrap_or_default()
    };
    let (words, tail) = name.as_chunks::<8>();
    let state = words
        .iter()
        .fold(K, |state, word| mix(state, u64::from_le_bytes(*word)));
    let mut last = [0; 8];
    if let Some(start) = last.get_mut(..tail.len()) {
        start.copy_from_slice(tail);
    }
    let length = u64::from(short(name.len()));
    mix(mix(state, u64::from_le_bytes(last)), length ^ K) & !ORDINAL
}

impl Names {
    /// The index of `count` names that do not rise.
    pub(super) fn hashed<'m>(count: u32, read: impl Read<'m>) -> Result<Self, Clash> {
        let mut entries = Vec::new();
        entries
            .try_reserve_exact(index(count))
            .map_err(|_| Clash::Memory)?;
        entries.extend((0..count).map(|ordinal| hash(read(ordinal)) | u64::from(ordinal)));
        sort(&mut entries, u64::MAX);
        let mut duplicate = None;
        for run in entries.chunk_by_mut(|a, b| (a ^ b) & !ORDINAL == 0) {
            let first = match run {
                [_] => None,
                [a, b] if read(ordinal(*a)) != read(ordinal(*b)) => {
                    if read(ordinal(*a)) > read(ordinal(*b)) {
                        run.reverse();
                    }
                    None
                }
                _ => settle(run, &read)?,
            };
            duplicate = match (duplicate, first) {
                (Some(a), Some(b)) => Some(u32::min(a, b)),
                (a, b) => a.or(b),
            };
        }
        duplicate.map_or(Ok(Self::Hashed(entries)), |ordinal| {
            Err(Clash::Duplicate(ordinal))
        })
    }

    /// The ordinal of the object of that name, among `count`.
    pub(super) fn find<'m>(&self, name: &[u8], count: u32, read: impl Read<'m>) -> Option<u32> {
        match self {
            Self::Rising => {
                let (mut low, mut high) = (0, count);
                while low < high {
                    let middle = u32::midpoint(low, high);
                    match read(middle).cmp(name) {
                        Ordering::Less => low = middle.saturating_add(1),
                        Ordering::Equal => return Some(middle),
                        Ordering::Greater => high = middle,
                    }
                }
                None
            }
            Self::Hashed(entries) => {
                let wanted = hash(name);
                let order = |entry: &u64| {
                    let by_hash = (entry & !ORDINAL).cmp(&wanted);
                    by_hash.then_with(|| read(ordinal(*entry)).cmp(name))
                };
                let at = entries.binary_search_by(order).ok()?;
                entries.get(at).map(|entry| ordinal(*entry))
            }
        }
    }
}

/// Names of one run that begin with the same `depth` bytes: where they end, and how far they
/// have been divided.
struct Group {
    next: usize,
    end: usize,
    depth: usize,
}

/// Sorts a run of equal hashes by name and returns the first ordinal whose name was there
/// before.
///
/// The hash bits of an entry, equal in the whole run, are lent to 4 bytes of the name at a time.
/// Each round reads on from where a group's names still agree, so the work is bounded by the
/// bytes of the names. Groups wait on a stack as deep as groups are nested: names that nest `d`
/// deep have `4·d` bytes each, so the stack takes far less than they do.
#[cold]
fn settle<'m>(run: &mut [u64], read: &impl Read<'m>) -> Result<Option<u32>, Clash> {
    let high = run.first().map_or(0, |entry| entry & !ORDINAL);
    let mut duplicate: Option<u32> = None;
    let mut groups = Vec::new();
    push(&mut groups, divide(run, 0, 0, read))?;
    while let Some(group) = groups.last_mut() {
        let start = group.next;
        let Some(rest) = run.get_mut(start..group.end) else {
            break;
        };
        let Some(key) = rest.first().map(|entry| entry & !ORDINAL) else {
            groups.pop();
            continue;
        };
        let length = rest.partition_point(|entry| entry & !ORDINAL == key);
        group.next = start.saturating_add(length);
        if length < 2 {
            continue;
        }
        let depth = group.depth.saturating_add(CHUNK);
        if group.next == group.end {
            groups.pop();
        }
        let Some(equal) = rest.get_mut(..length) else {
            break;
        };
        if ends_here(key) {
            // Names that end together are equal; they stand in order of ordinal.
            let second = equal.get(1).map(|entry| ordinal(*entry));
            duplicate = match (duplicate, second) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        } else {
            push(&mut groups, divide(equal, start, depth, read))?;
        }
    }
    for entry in run {
        *entry = high | (*entry & ORDINAL);
    }
    Ok(duplicate)
}

fn push(groups: &mut Vec<Group>, group: Group) -> Result<(), Clash> {
    groups.try_reserve(1).map_err(|_| Clash::Memory)?;
    groups.push(group);
    Ok(())
}

/// Bytes of a name that a key holds.
const CHUNK: usize = 4;

/// Whether the names of that key end within it.
fn ends_here(key: u64) -> bool {
    (key >> ORDINAL_BITS) & 7 < u64::from(short(CHUNK))
}

/// Sorts names that agree in their first `depth` bytes by the next ones in which they do not.
fn divide<'m>(names: &mut [u64], start: usize, depth: usize, read: &impl Read<'m>) -> Group {
    let rest = |entry: &u64| read(ordinal(*entry)).get(depth..).unwrap_or_default();
    let agreed = match names.split_first() {
        None => 0,
        Some((first, others)) => {
            let first = rest(first);
            others.iter().fold(first.len(), |agreed, entry| {
                let pairs = first.iter().zip(rest(entry)).take(agreed);
                pairs.take_while(|(a, b)| a == b).count()
            })
        }
    };
    let depth = depth.saturating_add(agreed);
    for entry in names.iter_mut() {
        let name = read(ordinal(*entry)).get(depth..).unwrap_or_default();
        let mut chunk = [0; CHUNK];
        let length = name.len().min(CHUNK);
        for (to, from) in chunk.iter_mut().zip(name) {
            *to = *from;
        }
        // A name that ends within the chunk sorts before one that goes on with zeros.
        let key = u64::from(u32::from_be_bytes(chunk)) << 3 | u64::from(short(length));
        *entry = key << ORDINAL_BITS | (*entry & ORDINAL);
    }
    names.sort_unstable();
    Group {
        next: start,
        end: start.saturating_add(names.len()),
        depth,
    }
}
