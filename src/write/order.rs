//! Putting the entries of a map in the order of deterministic CBOR: that of their keys' encodings.

use alloc::vec::Vec;

use super::names::places;
use crate::cbor::Output;
use crate::error::{Error, OutOfMemory};
use crate::num::{len_u32, usize_from_u32};

/// Where an entry begins and ends.
#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    end: u32,
}

/// Sorts the entries (text and value, as CBOR) from byte `from` on, which are the last that was
/// written. It takes 8 bytes an entry, and a copy of all of them.
pub(super) fn sort(out: &mut Output, from: usize) -> Result<(), Error> {
    let written = out.as_bytes().get(from..).ok_or(Error::internal())?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut last: Option<Entry> = None;
    let count = places(written, written.len()).count();
    entries.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    for start in places(written, written.len()).take(count) {
        if let Some(before) = last {
            entries.push(Entry { end: start, ..before });
        }
        last = Some(Entry { start, end: len_u32(written.len()) });
    }
    if let Some(last) = last {
        entries.push(last);
    }
    // No key is the beginning of another, so that values are not compared.
    let bytes = |entry: &Entry| written.get(usize_from_u32(entry.start)..usize_from_u32(entry.end));
    entries.sort_unstable_by(|a, b| bytes(a).cmp(&bytes(b)));
    let mut sorted = Output::default();
    sorted.reserve(written.len())?;
    for entry in entries {
        sorted.raw(bytes(&entry).ok_or(Error::internal())?)?;
    }
    Ok(out.replace(from, sorted)?)
}
