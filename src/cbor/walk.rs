//! The walker, which visits all parts of one CBOR item. Open maps, arrays and tags are kept in an array of at most 64
//! levels: recursion would let a deeply nested item overflow the stack.
//!
//! The walker checks that an item is well-formed, that texts are UTF-8, and how deep the item is nested. An observer
//! ([`Watch`]) is called at each item, key and end: [`Deterministic`] checks that each item has its deterministic encoding,
//! and `rewrite` writes that encoding.

use super::value::{NAN, shortest_float};
use super::{BREAK, BytesLeft, Checked, Entries, Fault, Head, Input, Parsed, UNLIMITED, Value};
use super::{
    argument, check_utf8, content, disorder, entries, fail, head, head_of, is_ascii, is_shortest,
};
use super::{major, simple, span};
use crate::limits::format::{DEPTH_CAP, DEPTH_V2};
use crate::num::usize_from_u32;
use crate::rules::{Limit, Rule};

/// An observer of the items that the walker visits.
pub(super) trait Watch<'m> {
    /// The state that the observer keeps for each open map, array or tag.
    type Own: Copy + Default;

    /// The largest number of non-empty maps, arrays and tags around a value; `None` for no limit but the caller's.
    const AROUND: Option<u8> = None;

    /// Called before the item at `at` is read. `within` is the map, array or tag that holds the item; `None` for the
    /// outermost item.
    #[inline]
    fn begin(&mut self, _at: Input<'m>, _within: Option<&mut Level<Self::Own>>) -> Checked<()> {
        Ok(())
    }

    /// Called after the front of the item at `at` was read. `rest` is the input after a number, string or simple value, or
    /// after the head of a map, array or tag; `own` is then the new state of that level.
    #[inline]
    fn front(
        &mut self,
        _at: Input<'m>,
        _rest: Input<'m>,
        _own: Option<&mut Self::Own>,
    ) -> Checked<()> {
        Ok(())
    }

    /// Called at the end of the map, array or tag `_level`, after its last item.
    #[inline]
    fn end(&mut self, _level: &Level<Self::Own>) -> Checked<()> {
        Ok(())
    }
}

/// An open map, array or tag, and the state that the observer keeps for it.
#[derive(Clone, Copy, Default)]
pub(super) struct Level<K> {
    pub(super) items: Items,
    /// The state that the observer keeps for this map, array or tag.
    pub(super) own: K,
}

/// The number of items that are still expected in an open map, array or tag.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Items {
    /// Keys and values that are left: two for each entry of a map. For an indefinite length it counts down from
    /// [`Self::ENDLESS`], so that the number of items can be computed.
    left: u32,
    pub(super) is_map: bool,
}

impl Items {
    /// The start of the count for an indefinite length. It is more than a manifest has bytes, and even, as maps need.
    const ENDLESS: u32 = u32::MAX - 1;
    const INDEFINITE: u32 = 1 << 31;

    fn new(entries: Entries, is_map: bool) -> Self {
        let left = match entries.claimed() {
            Some(count) if is_map => count.saturating_mul(2).min(Self::INDEFINITE - 2),
            Some(count) => count.min(Self::INDEFINITE - 2),
            None => Self::ENDLESS,
        };
        Self { left, is_map }
    }

    /// Returns whether the next item is the key of an entry.
    #[inline]
    pub(super) fn is_key(self) -> bool {
        self.is_map && self.left.is_multiple_of(2)
    }

    /// Returns the number of entries or items so far, if the length is indefinite. Returns `None` if it is definite.
    pub(super) fn counted(self) -> Option<u32> {
        let count = Self::ENDLESS.wrapping_sub(self.left);
        (self.left >= Self::INDEFINITE).then_some(if self.is_map { count >> 1 } else { count })
    }

    /// Returns the input after this map, array or tag if it ends at `input`, and `None` if more items follow.
    #[inline]
    fn end(self, input: Input<'_>) -> Option<Input<'_>> {
        if self.left == 0 {
            return Some(input);
        }
        let may_end = self.left >= Self::INDEFINITE && (!self.is_map || self.is_key());
        if may_end { input.strip_prefix(&[BREAK]) } else { None }
    }
}

/// The largest number of maps, arrays and tags that are open at once.
const MOST: usize = 64;
const _: () = assert!(DEPTH_CAP == 64, "`MOST` must be the largest depth that a caller can allow");

/// An observer that accepts all well-formed items.
struct Any;

impl Watch<'_> for Any {
    type Own = ();
}

/// Skips the item at `at`, and checks that it is well-formed. `open` is the number of maps, arrays and tags around the item,
/// and `limit` the largest number that may be open at once, these included. Returns the input after the item.
#[inline]
pub(crate) fn skip(at: Input<'_>, open: u8, limit: u8) -> Parsed<'_, ()> {
    walk(at, open, limit, &mut Any)
}

/// Skips the item at `at`, which [`skip`] has checked before. Counting its items is enough to find the end, which is faster
/// than keeping levels. Returns `None` if the item is cut off.
#[inline]
pub(crate) fn pass(at: Input<'_>) -> Option<Input<'_>> {
    pass_definite(at).or_else(|| skip(at, 0, DEPTH_CAP).ok().map(|(rest, ())| rest))
}

/// Skips an item as [`pass`] does, if all lengths within the item are definite. Otherwise returns `None`.
#[inline]
fn pass_definite(mut input: Input<'_>) -> Option<Input<'_>> {
    let mut items = 1_u32;
    while items > 0 {
        let (initial, rest) = input.split_first()?;
        let argument;
        (input, argument) = match initial & 31 {
            Head::INDEFINITE => return None,
            info @ 24.. => argument_of(input, info)?,
            info => (rest, info.into()),
        };
        items = items.wrapping_sub(1);
        match initial >> 5 {
            major::BYTES | major::TEXT => input = input.get(usize_from_u32(argument)..)?,
            major::ARRAY => items = items.wrapping_add(argument),
            major::MAP => items = items.wrapping_add(argument.wrapping_mul(2)),
            major::TAG => items = items.wrapping_add(1),
            _ => {}
        }
    }
    Some(input)
}

/// Reads the argument of the head at `at`, in the bytes after the initial byte, as [`argument`] does. An argument above
/// `u32::MAX` is returned as `u32::MAX`.
#[inline(never)]
fn argument_of(at: Input<'_>, info: u8) -> Option<(Input<'_>, u32)> {
    let (rest, argument) = argument(at, info)?;
    // In a checked manifest, only numbers and tags may have an argument above `u32::MAX`, and `pass` ignores the argument
    // of both.
    Some((rest, u32::try_from(argument).unwrap_or(u32::MAX)))
}

/// Returns the bytes of the item at `at`, which has been checked before.
pub(crate) fn item(at: Input<'_>) -> Option<Input<'_>> {
    span(at, pass(at)?).ok()
}

/// Skips the item at `at`, and checks that it is deterministic CBOR as generation 2 requires: v2 §3.1, RFC 8949 §4.2.1.
/// `open` and `limit` are as for [`skip`]. Returns the input after the item.
pub(crate) fn strict(at: Input<'_>, open: u8, limit: u8) -> Parsed<'_, ()> {
    walk(at, open, limit, &mut Deterministic::<true>)
}

/// Checks that the well-formed item at `at` is deterministic CBOR. Tags and all simple values are allowed. Returns the
/// input after the item.
///
/// # Errors
/// `canonical-cbor`, at the first item or key that is not deterministic.
pub(crate) fn deterministic(at: Input<'_>) -> Result<Input<'_>, Fault> {
    match walk(at, 0, DEPTH_CAP, &mut Deterministic::<false>) {
        Ok((rest, ())) => Ok(rest),
        Err(error) => Err(canonical(error)),
    }
}

/// Converts an error about CBOR that is not deterministic, which is of a rule of generation 2, to an error of the rule
/// `canonical-cbor` for files of 1.x.
fn canonical(error: nom::Err<Fault>) -> Fault {
    let mut fault = super::fault(error);
    if matches!(fault.kind, crate::error::ErrorKind::Invalid(_)) {
        fault = Fault { kind: Rule::CanonicalCbor.into(), found: 0, ..fault };
    }
    fault
}

/// Checks that the head and the keys of the well-formed map at `at` are deterministic CBOR, and calls `entry` to check each
/// value. `entry` gets the input at the entry, its key (empty if the key is not a text) and the input at the value, and
/// returns the input after the value. Returns the input after the map.
///
/// # Errors
/// `canonical-cbor` at a head or key that is not deterministic or is out of order; the errors of `entry`.
pub(crate) fn deterministic_map<'m, E: From<Fault>>(
    at: Input<'m>,
    mut entry: impl FnMut(Input<'m>, Input<'m>, Input<'m>) -> Result<Input<'m>, E>,
) -> Result<Input<'m>, E> {
    let head = super::strict_map_head(Rule::CanonicalCbor, at);
    let (mut input, mut entries) = head.map_err(canonical)?;
    let mut last = Input::default();
    while entries.next(input) {
        let value = deterministic(input)?;
        let key = span(input, value)?;
        if last >= key {
            return Err(Fault::new(Rule::CanonicalCbor, BytesLeft::of(input)).into());
        }
        last = key;
        let name = super::key(input).map_or(Input::default(), |(_, name)| name);
        input = entry(input, name, value)?;
    }
    Ok(input)
}

/// Visits all parts of the item at `at`, and calls `watch` at each. `open` levels are open around the item; `limit` is the
/// largest depth of levels in all. Returns the input after the item.
#[inline]
pub(super) fn walk<'m, W: Watch<'m>>(
    at: Input<'m>,
    open: u8,
    limit: u8,
    watch: &mut W,
) -> Parsed<'m, ()> {
    watch.begin(at, None)?;
    let (rest, mut level) = front::<W>(at)?;
    watch.front(at, rest, level.as_mut().map(|level| &mut level.own))?;
    match level {
        None => Ok((rest, ())),
        Some(level) => nested(at, (rest, level), open, limit, watch),
    }
}

/// Continues [`walk`] after the head of a map, array or tag at `at`. The head opened the level that is given with the input
/// after the head.
#[inline(never)]
fn nested<'m, W: Watch<'m>>(
    at: Input<'m>,
    (mut input, mut level): (Input<'m>, Level<W::Own>),
    open: u8,
    limit: u8,
    watch: &mut W,
) -> Parsed<'m, ()> {
    // A fixed array holds the open levels around the current one, the outermost first, so that nesting takes no memory of
    // the heap.
    let mut around = [Level::default(); MOST];
    let check_depth = |at, depth| match W::AROUND {
        _ if depth >= limit => Err(Fault::with(Limit::Depth, BytesLeft::of(at), limit.into())),
        Some(most) if depth >= most => Err(Fault::new(Rule::CborDepth, BytesLeft::of(at))),
        _ => Ok(()),
    };
    check_depth(at, open)?;
    let mut depth = open.wrapping_add(1);
    loop {
        if let Some(rest) = level.items.end(input) {
            watch.end(&level)?;
            depth = depth.wrapping_sub(1);
            if depth == open {
                return Ok((rest, ()));
            }
            let outer = around.get(usize::from(depth)).ok_or_else(|| Fault::internal(rest))?;
            (input, level) = (rest, *outer);
            continue;
        }
        watch.begin(input, Some(&mut level))?;
        level.items.left = level.items.left.wrapping_sub(1);
        let (rest, mut opened) = front::<W>(input)?;
        watch.front(input, rest, opened.as_mut().map(|level| &mut level.own))?;
        if let Some(opened) = opened {
            check_depth(input, depth)?;
            match around.get_mut(usize::from(depth)) {
                Some(slot) => *slot = level,
                None => return Err(Fault::internal(input).into()),
            }
            (level, depth) = (opened, depth.wrapping_add(1));
        }
        input = rest;
    }
}

/// Reads the front of the item at `at`: a whole number, string or simple value, or the head of a map, array or tag. Returns
/// the input after the front, and the level that is open after the head of a map, array or tag.
#[inline]
fn front<'m, W: Watch<'m>>(at: Input<'m>) -> Parsed<'m, Option<Level<W::Own>>> {
    let (rest, items) = match short(at) {
        Some(read) => read,
        None => any_front(at)?,
    };
    let items = items.filter(|items| W::AROUND.is_none() || items.left > 0);
    Ok((rest, items.map(|items| Level { items, own: W::Own::default() })))
}

/// Reads the front of an item as [`front`] does, if the argument of its head is in the initial byte. Returns `None` for other
/// items and for malformed items.
#[inline]
fn short(at: Input<'_>) -> Option<(Input<'_>, Option<Items>)> {
    let (initial, rest) = at.split_first()?;
    let (major, info) = (initial >> 5, initial & 31);
    if info >= 24 {
        return None;
    }
    let length = usize::from(info);
    let items = |left: u8, is_map| Some((rest, Some(Items { left: left.into(), is_map })));
    match major {
        major::BYTES => Some((rest.get(length..)?, None)),
        major::TEXT => {
            let (text, rest) = rest.split_at_checked(length)?;
            is_ascii::<false>(text).then_some((rest, None))
        }
        major::ARRAY if length <= rest.len() => items(info, false),
        major::MAP if length.wrapping_mul(2) <= rest.len() => items(info.wrapping_mul(2), true),
        major::ARRAY | major::MAP => None,
        major::TAG => items(1, false),
        _ => Some((rest, None)),
    }
}

/// Reads the front of any item as [`front`] does. Not inlined, because [`short`] reads most items.
#[inline(never)]
fn any_front(at: Input<'_>) -> Parsed<'_, Option<Items>> {
    let (rest, head) = head(at)?;
    match head.major {
        major::BYTES | major::TEXT => string(at, rest, head).map(|(rest, ())| (rest, None)),
        major::ARRAY | major::MAP => {
            let (rest, entries) = entries((at, head), UNLIMITED, rest)?;
            Ok((rest, Some(Items::new(entries, head.major == major::MAP))))
        }
        major::TAG => Ok((rest, Some(Items { left: 1, is_map: false }))),
        // A number or simple value consists of its head only.
        _ => Ok((rest, None)),
    }
}

/// Skips the content of a byte or text string with the head `head` at `at`, in one piece or in chunks: RFC 8949 §3.2.3.
/// `rest` is the input after the head.
#[inline]
fn string<'m>(at: Input<'m>, rest: Input<'m>, head: Head) -> Parsed<'m, ()> {
    if !head.indefinite() {
        return piece((at, head), rest);
    }
    let (mut input, mut chunks) = (rest, Entries::CHUNKS);
    while chunks.next(input) {
        let (rest, chunk) = head_of::<false>(head.major, Rule::CborChunk, input)?;
        if chunk.indefinite() {
            return fail(Rule::CborChunk, input);
        }
        input = piece((input, chunk), rest)?.0;
    }
    Ok((chunks.end(input, rest, Limit::Keys)?, ()))
}

/// Skips the content of a byte or text string of definite length, and checks that the content of a text is UTF-8. `at` and
/// `head` are the input at its head and the head, and `rest` is the input after the head.
#[inline]
fn piece<'m>((at, head): (Input<'m>, Head), rest: Input<'m>) -> Parsed<'m, ()> {
    let (rest, bytes) = content((at, head), rest)?;
    if head.major == major::TEXT {
        check_utf8(BytesLeft::of(at), bytes)?;
    }
    Ok((rest, ()))
}

/// An observer that requires deterministic CBOR: shortest heads and floats, definite lengths, one NaN, and keys in
/// ascending order of their bytes. Ascending keys are unique, which is thereby checked without memory. With `V2`, tags are
/// rejected, and all simple values except bools and null.
struct Deterministic<const V2: bool>;

/// The state of [`Deterministic`] for an open map: the two keys that are compared next.
#[derive(Clone, Copy, Default)]
struct KeyOrder<'m> {
    /// The rest of the manifest, from the key of the current entry on.
    key: Input<'m>,
    /// The encoded bytes of the key of the previous entry.
    last: Input<'m>,
}

impl<'m, const V2: bool> Watch<'m> for Deterministic<V2> {
    type Own = KeyOrder<'m>;
    const AROUND: Option<u8> = if V2 { Some(DEPTH_V2) } else { None };

    /// Compares each key when its value begins, because the bytes before the value are the key. To find the end of a key by
    /// skipping it would be quadratic in the depth, if keys are maps with such keys.
    #[inline]
    fn begin(&mut self, at: Input<'m>, within: Option<&mut Level<KeyOrder<'m>>>) -> Checked<()> {
        if let Some(Level { items: Items { is_map: true, left }, own }) = within {
            if left.is_multiple_of(2) {
                own.key = at;
            } else {
                let key = span(own.key, at)?;
                // No key is empty, so the first key is greater than the initial `last`.
                if own.last >= key {
                    return Err(disorder(own.key, own.last == key).into());
                }
                own.last = key;
            }
        }
        match at.first() {
            Some(initial) if initial & 31 < 24 && *initial >> 5 < major::TAG => Ok(()),
            _ => check_form::<V2>(at),
        }
    }
}

/// Checks that the head of the item at `at`, or the whole item if it is a number or simple value, has its deterministic form.
/// Called only for items whose first byte does not already show this: tags, simple values, floats, and heads whose argument
/// is in bytes after the first.
#[inline(never)]
fn check_form<const V2: bool>(at: Input<'_>) -> Checked<()> {
    let (_, head) = head(at)?;
    let broken = |rule| Err(Fault::new(rule, BytesLeft::of(at)).into());
    match (head.major, head.info) {
        (major::TAG, _) if V2 => {
            Err(Fault::with(Rule::CborTag, BytesLeft::of(at), head.argument).into())
        }
        (..=major::TAG, Head::INDEFINITE) => broken(Rule::CborIndefinite),
        (..=major::TAG, info) => {
            if info < 24 || is_shortest(info, head.argument) {
                Ok(())
            } else {
                broken(Rule::CborShortest)
            }
        }
        (_, 25..=27) => match simple(head) {
            Value::Float(number) => {
                let number = if number.is_nan() { NAN } else { number };
                let valid = shortest_float(number) == (head.info, head.argument);
                if valid { Ok(()) } else { broken(Rule::CborFloat) }
            }
            _ => Ok(()),
        },
        (_, 20..=22) => Ok(()),
        _ if V2 => broken(Rule::CborValue),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::{DEPTH_CAP, pass, short, skip};

    /// Checks that `short` accepts items with an argument in the first byte, and rejects others. Skipping gives the same
    /// result if `short` rejects an item, so no other test would notice.
    #[test]
    fn what_is_short_is_passed_over_at_once() {
        let levels =
            |at| short(at).map(|(rest, items)| (rest.len(), items.map(|items| items.left)));
        assert_eq!(levels(&[0x05, 1]), Some((1, None)));
        assert_eq!(levels(&[0x42, 1, 2, 3]), Some((1, None)));
        assert_eq!(levels(&[0x62, b'a', b'b']), Some((0, None)));
        assert_eq!(levels(&[0x82, 1, 2]), Some((2, Some(2))));
        assert_eq!(levels(&[0xa1, 1, 2]), Some((2, Some(2))));
        assert_eq!(levels(&[0xc1, 1]), Some((1, Some(1))));
        for other in [&[0x83, 1, 2][..], &[0xa2, 1, 2, 3], &[0x62, 0xc3, 0xa4], &[0x18, 24]] {
            assert_eq!(levels(other), None, "{other:?}");
        }
    }

    /// Bytes before an item and bytes after it that put the item into a map, array or tag.
    const LEVELS: [(&[u8], &[u8]); 10] = [
        (&[0x81], &[]),
        (&[0x84, 0x80, 0x9f, 0xff], &[0]),
        (&[0x98, 2, 0x18, 0x20], &[]),
        (&[0x9f], &[0xff]),
        (&[0x9f, 0x5f, 0x40, 0xff], &[0x60, 0xff]),
        (&[0xa1, 0x61, b'a'], &[]),
        (&[0xa2, 0xa0], &[0, 0xbf, 0xff]),
        (&[0xbf, 0x7f, 0x61, b'a', 0xff], &[0xff]),
        (&[0xc1], &[]),
        (&[0xd9, 1, 0], &[]),
    ];
    const INNERMOST: [&[u8]; 5] =
        [&[0], &[0x3a, 0, 1, 0, 0], &[0x58, 1, 9], &[0xf5], &[0xbf, 0xff]];

    #[test]
    fn items_end_where_they_were_found_to() {
        let three = |n: usize| [n % 10, n / 10 % 10, n / 100].map(|level| LEVELS[level]);
        for (levels, inner) in (0..1000).flat_map(|n| INNERMOST.map(|inner| (three(n), inner))) {
            let opened = levels.iter().flat_map(|level| level.0);
            let closed = levels.iter().rev().flat_map(|level| level.1);
            let mut item: Vec<u8> = opened.chain(inner).chain(closed).copied().collect();
            item.extend([0x9f, 0xff, 7]);
            let (rest, ()) = skip(&item, 0, DEPTH_CAP).unwrap();
            assert_eq!(rest, [0x9f, 0xff, 7], "{item:x?}");
            assert_eq!(pass(&item), Some(rest), "{item:x?}");
            let whole = item.len() - 3;
            for cut in 0..whole {
                assert_eq!(pass(&item[..cut]), None, "{item:x?}, {cut}");
            }
        }
    }

    #[test]
    fn as_deep_as_may_be() {
        for (open, close) in [([0x9f], Some(0xff)), ([0x81], None), ([0xc1], None)] {
            let mut item = open.repeat(64);
            item.push(0);
            item.extend(core::iter::repeat_n(close, 64).flatten());
            assert_eq!(skip(&item, 0, DEPTH_CAP).unwrap().0, [0_u8; 0].as_slice());
            assert_eq!(pass(&item), Some([].as_slice()));
        }
    }
}
