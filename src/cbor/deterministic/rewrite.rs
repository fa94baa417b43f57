//! Giving items their one form.

use alloc::vec::Vec;

use super::{ENDLESS, Level, Levels};
use crate::cbor::encode::Output;
use crate::cbor::value::Value;
use crate::cbor::{BREAK, Fault, Input, Item, Remaining, fault, head, major, skip, span};
use crate::error::{ErrorKind, OutOfMemory};
use crate::limits::format::DEPTH_CAP;
use crate::num::u64_from_usize;
use crate::rules::Rule;

/// A map, array or tag that is being written.
#[derive(Clone, Copy, Default)]
struct Open<'m> {
    at: Input<'m>,
    /// Where it begins in the output, if its head is written only when its items have been counted.
    begin: Option<usize>,
    /// How many entries of maps outside it are listed.
    outside: usize,
}

impl Level<Open<'_>> {
    /// Whether nothing of it is to come, `input` being what is.
    fn is_over(&self, input: Input<'_>) -> bool {
        match self.own.begin {
            None => self.left == 0,
            Some(_) => input.first() == Some(&BREAK),
        }
    }
}

/// Where in the output an entry of a map that is being written stands.
#[derive(Clone, Copy)]
struct Entry {
    key: usize,
    value: usize,
    end: usize,
}

impl Entry {
    fn key<'o>(&self, written: &'o [u8]) -> Option<&'o [u8]> {
        written.get(self.key..self.value)
    }
}

/// Adds the well-formed item at `at` to `out` in its one form: what is left after it.
///
/// # Errors
/// `duplicate-key` at a map in which a key stands twice, for such a map has no such form;
/// [`OutOfMemory`].
pub(crate) fn rewrite<'m>(at: Input<'m>, out: &mut Output) -> Result<Input<'m>, Fault> {
    let mut levels = Levels::<Open<'_>>::new();
    let mut listed: Vec<Entry> = Vec::new();
    let mut input = at;
    loop {
        if let Some(level) = levels.top() {
            if level.is_over(input) {
                let Open { at, begin, outside } = level.own;
                let entries = listed.get_mut(outside..).ok_or_else(|| Fault::internal(at))?;
                if level.map {
                    sort(entries, out).map_err(|broken| Fault::new(broken, Remaining::of(at)))?;
                }
                listed.truncate(outside);
                if let Some(begin) = begin {
                    input = input.get(1..).ok_or_else(|| Fault::internal(at))?;
                    let items = ENDLESS.wrapping_sub(level.left);
                    let (kind, count) =
                        if level.map { (major::MAP, items >> 1) } else { (major::ARRAY, items) };
                    let written = out.insert_head(begin, kind, count);
                    written.map_err(|misuse| Fault::new(misuse, Remaining::of(at)))?;
                }
                if levels.pop() {
                    return Ok(input);
                }
                continue;
            }
            if level.map {
                let here = out.len();
                if level.left.is_multiple_of(2) {
                    let memory = |_| Fault::new(OutOfMemory, Remaining::of(input));
                    listed.try_reserve(1).map_err(memory)?;
                    listed.push(Entry { key: here, value: here, end: here });
                } else {
                    let entry = listed.last_mut().ok_or_else(|| Fault::internal(input))?;
                    entry.value = here;
                }
            }
            level.left = level.left.checked_sub(1).ok_or_else(|| Fault::internal(input))?;
        }
        let (rest, head) = head(input).map_err(fault)?;
        match head.major {
            major::ARRAY | major::MAP | major::TAG => {
                let begin = head.indefinite().then_some(out.len());
                if begin.is_none() {
                    let written = out.head(head.major, head.argument);
                    written.map_err(|misuse| Fault::new(misuse, Remaining::of(input)))?;
                }
                let open = Open { at: input, begin, outside: listed.len() };
                levels.push(input, Level::new(head, open))?;
                input = rest;
            }
            _ => input = leaf(input, out)?,
        }
        if levels.depth == 0 {
            return Ok(input);
        }
    }
}

/// A number, string or simple value in its one form: what is left after it.
fn leaf<'m>(at: Input<'m>, out: &mut Output) -> Result<Input<'m>, Fault> {
    let (rest, ()) = skip(at, 0, DEPTH_CAP).map_err(fault)?;
    let (_, head) = head(at).map_err(fault)?;
    let item = Item::whole(span(at, rest)?);
    let written = match item.value() {
        Value::Uint(number) | Value::Negative(number) => out.head(head.major, number),
        Value::Bytes(chunks) | Value::Text(chunks) => {
            let length = chunks
                .pieces()
                .fold(0, |sum: u64, piece| sum.saturating_add(u64_from_usize(piece.len())));
            out.head(head.major, length)
                .and_then(|()| chunks.pieces().try_for_each(|piece| out.raw(piece)))
        }
        Value::Float(value) => out.float(value),
        // Simple values have one form only.
        _ => out.raw(item.as_bytes()),
    };
    written.map_err(|misuse| Fault::new(misuse, Remaining::of(at)))?;
    Ok(rest)
}

/// Puts the entries of a map, the last thing that was written, in order.
fn sort(entries: &mut [Entry], out: &mut Output) -> Result<(), ErrorKind> {
    let key = |entry: &Entry| entry.key(out.as_bytes());
    if entries.iter().any(|entry| key(entry).is_none()) {
        return Err(ErrorKind::Internal);
    }
    if entries.is_sorted_by(|first, second| key(first) < key(second)) {
        return Ok(());
    }
    let mut end = out.len();
    for entry in entries.iter_mut().rev() {
        entry.end = end;
        end = entry.key;
    }
    entries.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
    if entries.iter().zip(entries.iter().skip(1)).any(|(a, b)| key(a) == key(b)) {
        return Err(Rule::DuplicateKey.into());
    }
    // `end` is now where the first entry began.
    let mut sorted = Output::default();
    for entry in entries {
        let bytes = out.as_bytes().get(entry.key..entry.end);
        sorted.raw(bytes.ok_or(ErrorKind::Internal)?)?;
    }
    out.truncate(end);
    out.raw(sorted.as_bytes())?;
    Ok(())
}
