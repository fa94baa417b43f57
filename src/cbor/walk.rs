//! Walking over one item of any kind. Open maps, arrays and tags are counted, never recursed into.
//!
//! The walker checks that an item is well-formed, that texts are UTF-8, and how deep it is. A [`Watch`] sees every
//! item, every key and every end on the way: [`Deterministic`] checks that each has its one form, and `rewrite` gives it
//! that form.

use super::value::{NAN, shortest_float};
use super::{BREAK, BytesLeft, Checked, Entries, Fault, Head, Input, Parsed, UNLIMITED, Value};
use super::{
    argument, check_utf8, content, disorder, entries, fail, head, head_of, is_ascii, is_shortest,
};
use super::{major, simple, span};
use crate::limits::format::{DEPTH_CAP, DEPTH_V2};
use crate::num::usize_from_u32;
use crate::rules::{Limit, Rule};

/// An observer of an item that is walked over.
pub(super) trait Watch<'m> {
    /// The state that is kept of each open map, array or tag.
    type Own: Copy + Default;

    /// The most maps, arrays and tags around a value; one without items is none of them.
    const AROUND: Option<u8> = None;

    /// Takes an item that begins at `at`, and the level that it is in.
    #[inline]
    fn begin(&mut self, _at: Input<'m>, _within: Option<&mut Level<Self::Own>>) -> Checked<()> {
        Ok(())
    }

    /// Takes an item that ends at `rest`; or a head that ends there and has opened a level.
    #[inline]
    fn front(
        &mut self,
        _at: Input<'m>,
        _rest: Input<'m>,
        _own: Option<&mut Self::Own>,
    ) -> Checked<()> {
        Ok(())
    }

    /// Takes the end of a level.
    #[inline]
    fn end(&mut self, _level: &Level<Self::Own>) -> Checked<()> {
        Ok(())
    }
}

/// An open map, array or tag.
#[derive(Clone, Copy, Default)]
pub(super) struct Level<K> {
    pub(super) items: Items,
    /// The state that the watch keeps of it.
    pub(super) own: K,
}

/// Items that an open map, array or tag still asks for.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(super) struct Items {
    /// Two for each entry of a map; of indefinite length, the most that there is, less those that have been.
    left: u32,
    pub(super) is_map: bool,
}

impl Items {
    /// More items than a manifest has bytes for; whole entries of a map.
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

    /// The number of entries so far, of a map or array of indefinite length.
    pub(super) fn counted(self) -> Option<u32> {
        let count = Self::ENDLESS.wrapping_sub(self.left);
        (self.left >= Self::INDEFINITE).then_some(if self.is_map { count >> 1 } else { count })
    }

    /// The bytes after it, if it ends at `input`.
    #[inline]
    fn end(self, input: Input<'_>) -> Option<Input<'_>> {
        if self.left == 0 {
            return Some(input);
        }
        let may_end = self.left >= Self::INDEFINITE && (!self.is_map || self.is_key());
        if may_end { input.strip_prefix(&[BREAK]) } else { None }
    }
}

/// Levels that may be open.
const MOST: usize = 64;
const _: () = assert!(DEPTH_CAP == 64, "a place for every one");

/// An item of any form.
struct Any;

impl Watch<'_> for Any {
    type Own = ();
}

/// Passes over the item at `at`, which lies within `open` levels, going no deeper than `limit`.
#[inline]
pub(crate) fn skip(at: Input<'_>, open: u8, limit: u8) -> Parsed<'_, ()> {
    walk(at, open, limit, &mut Any)
}

/// Passes over the item at `at`, which [`skip`] has passed over before: what is in it is counted, and its levels are
/// not. None if it is cut.
#[inline]
pub(crate) fn pass(at: Input<'_>) -> Option<Input<'_>> {
    pass_definite(at).or_else(|| skip(at, 0, DEPTH_CAP).ok().map(|(rest, ())| rest))
}

/// [`pass`] for an item in which all lengths are definite.
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

/// The argument of a head that has bytes of its own for it.
#[inline(never)]
fn argument_of(at: Input<'_>, info: u8) -> Option<(Input<'_>, u32)> {
    let (rest, argument) = argument(at, info)?;
    // Numbers and tags may be any.
    Some((rest, u32::try_from(argument).unwrap_or(u32::MAX)))
}

/// The bytes of the item at `at`, which has been passed over before.
pub(crate) fn item(at: Input<'_>) -> Option<Input<'_>> {
    span(at, pass(at)?).ok()
}

/// Passes over the item at `at`, which lies within `open` levels, going no deeper than `limit`, and checks that it
/// is deterministic CBOR as generation 2 has it: v2 §3.1, RFC 8949 §4.2.1.
pub(crate) fn strict(at: Input<'_>, open: u8, limit: u8) -> Parsed<'_, ()> {
    walk(at, open, limit, &mut Deterministic::<true>)
}

/// Checks that the well-formed item at `at` is deterministic CBOR, tags and simple values among it: what is left
/// after it.
///
/// # Errors
/// `canonical-cbor`, at the first item or key that is not.
pub(crate) fn deterministic(at: Input<'_>) -> Result<Input<'_>, Fault> {
    match walk(at, 0, DEPTH_CAP, &mut Deterministic::<false>) {
        Ok((rest, ())) => Ok(rest),
        Err(error) => Err(canonical(error)),
    }
}

/// The fault of an item that has another form than the canonical one.
fn canonical(error: nom::Err<Fault>) -> Fault {
    let mut fault = super::fault(error);
    if matches!(fault.kind, crate::error::ErrorKind::Invalid(_)) {
        fault = Fault { kind: Rule::CanonicalCbor.into(), found: 0, ..fault };
    }
    fault
}

/// Checks that the head and the keys of the well-formed map at `at` are deterministic, whose values `entry` checks:
/// what is left after it. `entry` is given where the entry begins, the key, which is empty if it is no text, and the
/// value, and returns what is left after that.
///
/// # Errors
/// `canonical-cbor` at a head or key that has not the one form, or is out of order; those of `entry`.
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

/// Walks over the item at `at`, which lies within `open` levels, going no deeper than `limit`.
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

/// [`walk`] from the head of a map, an array or a tag on.
#[inline(never)]
fn nested<'m, W: Watch<'m>>(
    at: Input<'m>,
    (mut input, mut level): (Input<'m>, Level<W::Own>),
    open: u8,
    limit: u8,
    watch: &mut W,
) -> Parsed<'m, ()> {
    // From the outermost on, without the innermost.
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

/// Passes over the front of an item: all of a number, string or simple value, or the head of a map, array or tag,
/// whose level it returns.
#[inline]
fn front<'m, W: Watch<'m>>(at: Input<'m>) -> Parsed<'m, Option<Level<W::Own>>> {
    let (rest, items) = match short(at) {
        Some(read) => read,
        None => any_front(at)?,
    };
    let items = items.filter(|items| W::AROUND.is_none() || items.left > 0);
    Ok((rest, items.map(|items| Level { items, own: W::Own::default() })))
}

/// [`front`] where the argument is in the initial byte, and nothing is wrong.
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

/// [`front`] of any item.
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
        // The head of a number or simple value is all of it.
        _ => Ok((rest, None)),
    }
}

/// Passes over the content of a byte or text string, in one piece or in chunks: RFC 8949 §3.2.3.
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

/// Passes over the content of a definite string.
#[inline]
fn piece<'m>((at, head): (Input<'m>, Head), rest: Input<'m>) -> Parsed<'m, ()> {
    let (rest, bytes) = content((at, head), rest)?;
    if head.major == major::TEXT {
        check_utf8(BytesLeft::of(at), bytes)?;
    }
    Ok((rest, ()))
}

/// Deterministic CBOR: shortest heads and floats, definite lengths, one NaN, and the keys of every map in ascending
/// order of their encodings, which proves them unique without memory. In 2, also no tags, and no simple values
/// but bools and null.
struct Deterministic<const V2: bool>;

/// A map whose keys are watched.
#[derive(Clone, Copy, Default)]
struct KeyOrder<'m> {
    /// The current key begins there.
    key: Input<'m>,
    /// The encoding of the key before.
    last: Input<'m>,
}

impl<'m, const V2: bool> Watch<'m> for Deterministic<V2> {
    type Own = KeyOrder<'m>;
    const AROUND: Option<u8> = if V2 { Some(DEPTH_V2) } else { None };

    /// A key is what stands before its value: keys that are maps themselves, and have such keys, would be passed over
    /// again and again to find where they end.
    #[inline]
    fn begin(&mut self, at: Input<'m>, within: Option<&mut Level<KeyOrder<'m>>>) -> Checked<()> {
        if let Some(Level { items: Items { is_map: true, left }, own }) = within {
            if left.is_multiple_of(2) {
                own.key = at;
            } else {
                let key = span(own.key, at)?;
                // No key is empty, so any is above what stands for none.
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

/// Checks that a tag, a simple value, a float or a head with bytes of its own has its one form.
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

    /// Short items are passed over as all others are: only this test sees that they are short.
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

    /// The bytes that open an item, and those that end it.
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
