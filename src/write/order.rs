//! Putting the entries of a map in the order of deterministic CBOR: that of their keys' encodings.

use alloc::vec::Vec;

use super::names::{encoded, places};
use crate::cbor::Output;
use crate::error::OutOfMemory;
use crate::num::{Assured as _, len_u32, usize_from_u32};

/// Where an entry begins and ends.
#[derive(Clone, Copy)]
struct Entry {
    start: u32,
    end: u32,
}

/// Sorts the entries (text and value, as CBOR) from byte `from` on, which are the last that was
/// written. It takes 8 bytes an entry, and a copy of all of them.
pub(super) fn sort(out: &mut Output, from: usize) -> Result<(), OutOfMemory> {
    let written = out.as_bytes().get(from..).assured();
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
    entries.sort_unstable_by(|a, b| encoded(written, a.start).cmp(encoded(written, b.start)));
    let mut sorted = Output::default();
    sorted.reserve(written.len())?;
    for entry in entries {
        let range = usize_from_u32(entry.start)..usize_from_u32(entry.end);
        sorted.raw(written.get(range).assured())?;
    }
    out.replace(from, sorted);
    Ok(())
}
