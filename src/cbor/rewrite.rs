//! Rewriting items as deterministic CBOR (RFC 8949 §4.2.1), in which each value has exactly one encoding.

use alloc::vec::Vec;

use super::value::NAN;
use super::walk::{Level, Watch, walk};
use super::{BytesLeft, Checked, Encoder, Fault, Input, Item, Value, fault, head, major, span};
use crate::error::{ErrorKind, OutOfMemory};
use crate::limits::format::DEPTH_CAP;
use crate::num::u64_from_usize;
use crate::rules::Rule;

/// Encodes the well-formed item at `at` as deterministic CBOR, and adds it to `out`. Returns the input after the item.
///
/// # Errors
/// `duplicate-key` at a map with a duplicate key, because deterministic CBOR cannot express it; [`OutOfMemory`].
pub(crate) fn rewrite<'m>(at: Input<'m>, out: &mut Encoder) -> Result<Input<'m>, Fault> {
    let mut rewriter = Rewriter { out, listed: Vec::new() };
    walk(at, 0, DEPTH_CAP, &mut rewriter).map(|(rest, ())| rest).map_err(fault)
}

/// An observer of the walker that writes each visited item as deterministic CBOR.
struct Rewriter<'o> {
    out: &'o mut Encoder,
    /// The offsets in the output of the entries of all open maps. The entries of the innermost map come last.
    listed: Vec<EntryOffsets>,
}

/// The state of a map, array or tag that is open: its head has been read, and its items are being written.
#[derive(Clone, Copy, Default)]
struct Open<'m> {
    at: Input<'m>,
    /// The offset in the output at which the head of this map, array or tag begins.
    begin: usize,
    /// The number of items of `listed` that are entries of the maps around this map, array or tag.
    outside: usize,
}

/// Where an entry of an open map is in the output: the offsets at which its key begins, its value begins, and the entry ends.
#[derive(Clone, Copy)]
struct EntryOffsets {
    key: usize,
    value: usize,
    end: usize,
}

impl<'m> Watch<'m> for Rewriter<'_> {
    type Own = Open<'m>;

    fn begin(&mut self, at: Input<'m>, within: Option<&mut Level<Open<'m>>>) -> Checked<()> {
        let Some(level) = within.filter(|level| level.items.is_map) else { return Ok(()) };
        let here = self.out.len();
        if level.items.is_key() {
            self.listed.try_reserve(1).map_err(|_| Fault::new(OutOfMemory, BytesLeft::of(at)))?;
            self.listed.push(EntryOffsets { key: here, value: here, end: here });
        } else {
            self.listed.last_mut().ok_or_else(|| Fault::internal(at))?.value = here;
        }
        Ok(())
    }

    fn front(&mut self, at: Input<'m>, rest: Input<'m>, own: Option<&mut Open<'m>>) -> Checked<()> {
        let (_, head) = head(at)?;
        let (begin, outside) = (self.out.len(), self.listed.len());
        let written = match own {
            None => leaf(Item(span(at, rest)?), head.major, self.out),
            Some(own) => {
                *own = Open { at, begin, outside };
                // The head of an item of indefinite length is inserted in `end`, when its items have been counted.
                if head.indefinite() { Ok(()) } else { self.out.head(head.major, head.argument) }
            }
        };
        written.map_err(|out| Fault::new(out, BytesLeft::of(at)).into())
    }

    fn end(&mut self, level: &Level<Open<'m>>) -> Checked<()> {
        let Level { items, own: Open { at, begin, outside } } = *level;
        let entries = self.listed.get_mut(outside..).ok_or_else(|| Fault::internal(at))?;
        let mut ended = if items.is_map { sort(entries, self.out) } else { Ok(()) };
        self.listed.truncate(outside);
        if let Some(count) = items.counted() {
            let kind = if items.is_map { major::MAP } else { major::ARRAY };
            ended = ended.and_then(|()| Ok(self.out.insert_head(begin, kind, count.into())?));
        }
        ended.map_err(|kind| Fault::new(kind, BytesLeft::of(at)).into())
    }
}

/// Adds the deterministic encoding of `item`, a number, string or simple value of the major type `major`, to `out`.
fn leaf(item: Item<'_>, major: u8, out: &mut Encoder) -> Result<(), OutOfMemory> {
    match item.value() {
        Value::Uint(number) | Value::Negative(number) => out.head(major, number),
        Value::Bytes(chunks) | Value::Text(chunks) => {
            let length = |sum: u64, piece: &[u8]| sum.saturating_add(u64_from_usize(piece.len()));
            out.head(major, chunks.pieces().fold(0, length))?;
            chunks.pieces().try_for_each(|piece| out.raw(piece))
        }
        Value::Float(value) if value.is_nan() => out.float(NAN),
        Value::Float(value) => out.float(value),
        // All other items are simple values. A simple value has only one encoding, so its bytes are copied.
        _ => out.raw(item.as_bytes()),
    }
}

/// Sorts the entries of a map by the bytes of their keys. The entries must be the last bytes of `out`.
fn sort(entries: &mut [EntryOffsets], out: &mut Encoder) -> Result<(), ErrorKind> {
    let key = |entry: &EntryOffsets| out.as_bytes().get(entry.key..entry.value);
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
    // `end` is now the offset of the first entry.
    let mut sorted = Encoder::default();
    for entry in entries {
        let bytes = out.as_bytes().get(entry.key..entry.end);
        sorted.raw(bytes.ok_or(ErrorKind::Internal)?)?;
    }
    out.truncate(end);
    Ok(out.raw(sorted.as_bytes())?)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::allow_attributes,
        clippy::unwrap_used,
        clippy::panic,
        reason = "a test that panics has failed"
    )]

    use alloc::vec::Vec;

    use super::*;
    use crate::cbor::deterministic;

    /// Returns the deterministic encoding of `item`, and checks that it is accepted as deterministic.
    fn rewritten(item: &[u8]) -> Vec<u8> {
        let mut out = Encoder::default();
        assert!(rewrite(item, &mut out).unwrap().is_empty());
        let form = out.as_bytes().to_vec();
        deterministic(&form)
            .unwrap_or_else(|fault| panic!("{item:x?} became {form:x?}: {fault:?}"));
        form
    }

    #[test]
    fn each_item_has_one_form() {
        let forms: &[(&[u8], &[&[u8]])] = &[
            (&[0x17], &[&[0x18, 0x17], &[0x19, 0, 0x17], &[0x1b, 0, 0, 0, 0, 0, 0, 0, 0x17]]),
            (&[0x18, 0x18], &[&[0x1a, 0, 0, 0, 0x18]]),
            (&[0x19, 1, 0], &[&[0x1a, 0, 0, 1, 0]]),
            (&[0x1a, 0, 1, 0, 0], &[&[0x1b, 0, 0, 0, 0, 0, 1, 0, 0]]),
            (&[0x1b, 0, 0, 0, 1, 0, 0, 0, 0], &[]),
            (&[0x20], &[&[0x38, 0]]),
            (b"\x63abc", &[b"\x78\x03abc", b"\x7f\x61a\x62bc\xff", b"\x7f\x60\x63abc\xff"]),
            (b"\x42ab", &[b"\x5f\x41a\x41b\xff"]),
            (&[0x82, 1, 2], &[&[0x9f, 1, 2, 0xff], &[0x98, 2, 1, 0x18, 2]]),
            (&[0xa2, 1, 2, 3, 4], &[&[0xbf, 3, 4, 1, 2, 0xff], &[0xb8, 2, 1, 2, 3, 4]]),
            // The encoded keys are sorted by their bytes. The head of a text begins with its length, so the shorter text
            // comes first. The head of an array is greater, so the empty array is last.
            (b"\xa3\x61b\x01\x62aa\x02\x80\x03", &[b"\xa3\x80\x03\x62aa\x02\x61b\x01"]),
            // A map with another map as a value and as a key. All maps are out of order.
            (
                &[0xa2, 1, 0xa2, 1, 2, 3, 4, 0xa2, 1, 2, 3, 4, 0],
                &[&[0xbf, 0xa2, 3, 4, 1, 2, 0, 1, 0xbf, 3, 4, 1, 2, 0xff, 0xff]],
            ),
            (&[0xc1, 1], &[&[0xd8, 1, 0x18, 1]]),
            (&[0xf9, 0x3c, 0], &[&[0xfa, 0x3f, 0x80, 0, 0], &[0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]]),
            (&[0xf9, 0x80, 0], &[&[0xfa, 0x80, 0, 0, 0]]),
            (&[0xf9, 0x7e, 0], &[&[0xf9, 0x7e, 1], &[0xfa, 0x7f, 0xc0, 0, 1], &[0xf9, 0xfe, 0]]),
            (&[0xf9, 0x7c, 0], &[&[0xfb, 0x7f, 0xf0, 0, 0, 0, 0, 0, 0]]),
            (&[0xfa, 0x3f, 0x80, 0, 1], &[&[0xfb, 0x3f, 0xf0, 0, 0, 0x20, 0, 0, 0]]),
            (&[0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a], &[]),
            (&[0xf6], &[]),
            (&[0xf8, 0x20], &[]),
            (&[0x80], &[&[0x9f, 0xff]]),
            (&[0xa0], &[&[0xbf, 0xff]]),
        ];
        for (form, others) in forms {
            assert_eq!(&rewritten(form), form);
            for other in *others {
                assert_eq!(&rewritten(other), form, "{other:x?}");
                let found = deterministic(other).unwrap_err();
                assert_eq!(found.kind, Rule::CanonicalCbor, "{other:x?}");
            }
        }
    }

    #[test]
    fn a_key_that_stands_twice_has_no_form() {
        for twice in [&[0xa2, 1, 2, 1, 3][..], &[0xa2, 1, 2, 0x18, 1, 3], &[0x81, 0xa2, 1, 2, 1, 3]]
        {
            let fault = rewrite(twice, &mut Encoder::default()).unwrap_err();
            assert_eq!(fault.kind, Rule::DuplicateKey);
            assert_eq!(deterministic(twice).unwrap_err().kind, Rule::CanonicalCbor);
        }
    }

    #[test]
    fn a_fault_is_where_the_form_is_left() {
        // [1, {"b": 1, "a": 2}]: the key `a` is out of order, 3 bytes before the end.
        let fault = deterministic(b"\x82\x01\xa2\x61b\x01\x61a\x02").unwrap_err();
        assert_eq!(fault.bytes_left.get(), 3);
        // [1, 24], in which 24 takes three bytes instead of two.
        assert_eq!(deterministic(&[0x82, 1, 0x19, 0, 24]).unwrap_err().bytes_left.get(), 3);
    }

    #[test]
    fn what_follows_the_item_is_left_alone() {
        let mut out = Encoder::default();
        assert_eq!(rewrite(&[0x9f, 1, 0xff, 0xff, 0], &mut out).unwrap(), [0xff, 0]);
        assert_eq!(rewrite(&[0x01, 0x19], &mut out).unwrap(), [0x19]);
        assert_eq!(out.as_bytes(), [0x81, 1, 1]);
        assert!(deterministic(&[0x80, 0x18, 0]).is_ok());
    }
}
