//! A strict, iterative pull decoder for CBOR (RFC 8949): no recursion, no allocation.
//!
//! It knows CBOR and nothing of tensors. A parser takes the bytes that are left of the manifest
//! and returns what is left after it, in nom's signature; so a place in the manifest is a number
//! of bytes left, and nothing has to be carried along to find it.
//!
//! Well-formedness is validated before type: a reserved head is `cbor-reserved` wherever it stands.

#[cfg(feature = "write")]
mod deterministic;
#[cfg(any(feature = "std", feature = "write"))]
#[cfg_attr(
    not(feature = "write"),
    allow(dead_code, clippy::allow_attributes, reason = "front ends need the text alone")
)]
mod encode;
mod entries;
mod head;
mod keys;
mod pass;
mod skip;
#[cfg(feature = "v2")]
mod strict;
mod value;

use nom::error::{ErrorKind as NomKind, ParseError};
use nom::{IResult, Mode, OutputMode, PResult, Parser};

use crate::error::ErrorKind;
use crate::num::{SMALL, Word, len_u32, usize_from_u32};
use crate::rules::Rule;

#[cfg(feature = "write")]
pub(crate) use deterministic::{
    rewrite, validate as deterministic, validate_map as deterministic_map,
};
#[cfg(any(feature = "std", feature = "write"))]
pub(crate) use encode::Output;
use entries::entries;
pub(crate) use entries::{Entries, array_head, map_head, open_map};
#[cfg(feature = "v2")]
pub(crate) use entries::{strict_array_head, strict_map_head};
use head::{BREAK, Head, head, head_of, major};
pub(crate) use keys::{Keys, find, keys_before, nth_key};
#[cfg(feature = "write")]
pub(crate) use pass::item;
pub(crate) use pass::pass;
pub(crate) use skip::skip;
#[cfg(feature = "v2")]
pub(crate) use strict::{Ascending, strict};
pub use value::{Array, Attributes, Chunks, Item, Map, Value};

/// What is left of the manifest, from the item to read on.
pub(crate) type Input<'m> = &'m [u8];

/// What a parser returns: what is left after the item, and the item.
pub(crate) type Parsed<'m, O> = IResult<Input<'m>, O, Fault>;

/// What a check within a parser returns. It fails as the parser does: an error of another form
/// would be moved into that one wherever it is passed on, which is a large part of the code.
pub(crate) type Checked<O> = Result<O, nom::Err<Fault>>;

/// A place in the manifest, as the number of bytes from there to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Remaining(u32);

impl Remaining {
    /// The end of the manifest.
    pub(crate) const END: Self = Self(0);

    #[inline(always)]
    pub(crate) fn of(input: Input<'_>) -> Self {
        Self(len_u32(input.len()))
    }

    /// The place that is `start` bytes behind the first of all bytes.
    #[cfg(feature = "std")]
    pub(crate) fn from_start(start: usize) -> Self {
        Self(len_u32(start))
    }

    /// A place that was counted from the first of `total` bytes, counted from their end; [`END`](Self::END), the
    /// first one, stays as it is.
    #[cfg(feature = "std")]
    pub(crate) fn rebased(self, total: u32) -> Self {
        if self == Self::END { self } else { Self(total.saturating_sub(self.0)) }
    }

    /// The bytes from there to the end of the manifest.
    #[inline(always)]
    pub(crate) fn left(self) -> u32 {
        self.0
    }
}

/// An error at a place in the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) remaining: Remaining,
    /// The number that the rule's sentence names, if it names one.
    pub(crate) found: u64,
}

impl Fault {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(kind: impl Into<ErrorKind>, remaining: Remaining) -> Self {
        Self::with(kind, remaining, 0)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn with(kind: impl Into<ErrorKind>, remaining: Remaining, found: u64) -> Self {
        Self { kind: kind.into(), remaining, found }
    }

    /// An invariant of this library does not hold at `at`.
    #[cfg(any(feature = "v2", feature = "write"))]
    #[cold]
    pub(crate) fn internal(at: Input<'_>) -> Self {
        Self::new(ErrorKind::Internal, Remaining::of(at))
    }
}

impl From<Fault> for nom::Err<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Failure(fault)
    }
}

impl ParseError<Input<'_>> for Fault {
    fn from_error_kind(input: Input<'_>, _: NomKind) -> Self {
        Self::new(Rule::CborTruncated, Remaining::of(input))
    }

    fn append(_: Input<'_>, _: NomKind, other: Self) -> Self {
        other
    }
}

/// The fault in a nom error. Nothing here asks for more input, so there always is one.
#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` takes")]
pub(crate) fn fault(error: nom::Err<Fault>) -> Fault {
    match error {
        nom::Err::Error(fault) | nom::Err::Failure(fault) => fault,
        nom::Err::Incomplete(_) => Fault::new(Rule::CborTruncated, Remaining::default()),
    }
}

/// Breaks `rule` at `at`. Only the fault is made out of line: a result that a call returns
/// through memory would keep what is read in memory, too.
#[inline(always)]
pub(crate) fn fail<O>(rule: Rule, at: Input<'_>) -> Parsed<'_, O> {
    Err(Fault::new(rule, Remaining::of(at)).into())
}

/// The whole of the item `null`.
pub(crate) const NULL: u8 = 0xf6;

/// A parser that is a function and what the function is to know.
///
/// Unlike a closure, which is inlined when the compiler likes, it is so always.
struct Leaf<K, F> {
    known: K,
    read: F,
}

impl<'m, K, F, O> Parser<Input<'m>> for Leaf<K, F>
where
    K: Copy,
    F: Fn(K, Input<'m>) -> Parsed<'m, O>,
{
    type Output = O;
    type Error = Fault;

    #[inline(always)]
    fn parse(&mut self, at: Input<'m>) -> Parsed<'m, O> {
        (self.read)(self.known, at)
    }

    #[inline(always)]
    fn process<M: OutputMode>(&mut self, at: Input<'m>) -> PResult<M, Input<'m>, O, Fault> {
        match self.parse(at) {
            Ok((rest, read)) => Ok((rest, M::Output::bind(|| read))),
            Err(error) => Err(nom::Err::Failure(fault(error))),
        }
    }
}

/// The content of a definite string whose head was at `at`.
#[inline(always)]
fn content<'m>((at, head): (Input<'m>, Head), input: Input<'m>) -> Parsed<'m, Input<'m>> {
    if head.indefinite() {
        return fail(Rule::StringChunked, at);
    }
    let length = usize::try_from(head.argument).unwrap_or(usize::MAX);
    match input.split_at_checked(length) {
        Some((content, rest)) => Ok((rest, content)),
        None => fail(Rule::CborTruncated, at),
    }
}

/// An unsigned integer of at most 64 bits.
#[inline(always)]
pub(crate) fn uint<'m>(wrong: Rule) -> impl Parser<Input<'m>, Output = u64, Error = Fault> {
    Leaf { known: wrong, read: read_uint::<false> }
}

/// An unsigned integer with the shortest head. A build for size has walked over it before.
#[cfg(feature = "v2")]
#[inline(always)]
pub(crate) fn strict_uint<'m>(wrong: Rule) -> impl Parser<Input<'m>, Output = u64, Error = Fault> {
    Leaf { known: wrong, read: read_uint::<true> }
}

#[inline(always)]
fn read_uint<const SHORTEST: bool>(wrong: Rule, at: Input<'_>) -> Parsed<'_, u64> {
    let (rest, head) = head_of::<SHORTEST>(major::UINT, wrong, at)?;
    Ok((rest, head.argument))
}

/// A definite text string, not yet known to be UTF-8.
#[inline(always)]
pub(crate) fn text<'m>(wrong: Rule) -> impl Parser<Input<'m>, Output = Input<'m>, Error = Fault> {
    Leaf { known: wrong, read: read_text::<false> }
}

/// A definite text string with the shortest head, not yet known to be UTF-8. A build for size has walked
/// over it before.
#[cfg(feature = "v2")]
#[inline(always)]
pub(crate) fn strict_text<'m>(
    wrong: Rule,
) -> impl Parser<Input<'m>, Output = Input<'m>, Error = Fault> {
    Leaf { known: wrong, read: read_text::<true> }
}

#[inline(always)]
fn read_text<const SHORTEST: bool>(wrong: Rule, at: Input<'_>) -> Parsed<'_, Input<'_>> {
    let (rest, head) = head_of::<SHORTEST>(major::TEXT, wrong, at)?;
    content((at, head), rest)
}

/// Whether no byte has its high bit set; `WITHOUT_ZERO`, and none is zero. Of eight bytes and more, the last
/// ones are looked at together with some before them, so that none is gone through by itself.
#[inline(always)]
pub(crate) fn is_ascii<const WITHOUT_ZERO: bool>(text: &[u8]) -> bool {
    const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);
    const ONES: u128 = u128::from_ne_bytes([1; 16]);
    // Where no high bit is set, taking 1 from each byte sets that of a zero, if there is one.
    let high = |bytes: u128| bytes | if WITHOUT_ZERO { bytes.wrapping_sub(ONES) } else { 0 };
    let of = |chunk: &[u8; 16]| high(u128::from_ne_bytes(*chunk));
    let half = |chunk: &[u8; 8]| u128::from(u64::from_ne_bytes(*chunk));
    let bits = match (text.last_chunk(), text.first_chunk(), text.last_chunk()) {
        (Some(last), ..) => {
            text.as_chunks().0.iter().fold(of(last), |bits, chunk| bits | of(chunk))
        }
        (None, Some(first), Some(last)) => high(half(first) << 64 | half(last)),
        _ => return text.is_ascii() && !(WITHOUT_ZERO && text.contains(&0)),
    };
    bits & HIGH == 0
}

/// Checks that the content of a string whose head is at `at` is UTF-8.
#[inline(always)]
pub(crate) fn check_utf8(at: Remaining, content: Input<'_>) -> Checked<()> {
    if !SMALL && is_ascii::<false>(content) { Ok(()) } else { utf8(at, content).map(|_| ()) }
}

/// The text of a string whose head is at `at`, if it is UTF-8.
#[inline(always)]
pub(crate) fn utf8(at: Remaining, content: Input<'_>) -> Checked<&str> {
    core::str::from_utf8(content).map_err(|_| Fault::new(Rule::CborUtf8, at).into())
}

/// For maps and arrays that may have any number of entries.
pub(crate) const UNLIMITED: u32 = u32::MAX;

/// A key of an interpreted map: definite text, not yet known to be UTF-8.
#[inline(always)]
pub(crate) fn key(at: Input<'_>) -> Parsed<'_, Input<'_>> {
    text(Rule::KeyType).parse(at)
}

/// A text of fewer than 24 bytes as an item with the shortest head; `N` is one more than its
/// length.
pub(crate) const fn spell<const N: usize>(text: &str) -> [u8; N] {
    assert!(text.len() < 24, "the length fits in the initial byte");
    let mut item = [0; N];
    if let Some((initial, content)) = item.split_first_mut() {
        let [length, ..] = text.len().to_le_bytes();
        *initial = major::TEXT << 5 | length;
        content.copy_from_slice(text.as_bytes());
    }
    item
}

/// What is left after `item`, if that is what the input starts with.
#[inline(always)]
pub(crate) fn starts<'m, const N: usize>(input: Input<'m>, item: &[u8; N]) -> Option<Input<'m>> {
    let (first, rest) = input.split_first_chunk::<N>()?;
    // Eight bytes are compared as one number, shifted where the item has fewer: the next item
    // to be tried shares the load.
    if let (Some(first), Some(unused)) = (input.first_chunk::<8>(), 8_usize.checked_sub(N)) {
        let [mut wanted, found] = [[0; 8], *first];
        if let Some(wanted) = wanted.get_mut(unused..) {
            wanted.copy_from_slice(item);
        }
        let found = u64::from_le_bytes(found) << unused.wrapping_mul(8);
        return (found == u64::from_le_bytes(wanted)).then_some(rest);
    }
    (first == item).then_some(rest)
}

/// A text of at most 7 bytes that is written with the shortest head: what is left after it, its
/// content, and the same as a word. None for any other item, and close to the end of the input.
#[inline(always)]
pub(crate) fn short_text(at: Input<'_>) -> Option<(Input<'_>, Input<'_>, Word)> {
    const TEXT: u8 = major::TEXT << 5;
    if SMALL {
        return None;
    }
    let ([initial, ..], after) = (at.first_chunk::<8>()?, at.get(1..)?);
    let length = initial ^ TEXT;
    let (content, rest) = after.split_at_checked(length.into())?;
    let word = u64::from_le_bytes(*at.first_chunk()?) ^ u64::from(TEXT);
    (length < 8).then(|| (rest, content, Word::spelled(word, length)))
}

/// The last bytes of `whole`, as many as remain at `remaining`; all, where there are no more.
pub(crate) fn seek(whole: Input<'_>, remaining: Remaining) -> Input<'_> {
    let start = whole.len().saturating_sub(usize_from_u32(remaining.left()));
    whole.get(start..).unwrap_or(whole)
}

/// The bytes at `at` before `rest`, which is what is left after them.
#[cfg(any(feature = "v2", feature = "write"))]
#[inline(always)]
pub(crate) fn span<'m>(at: Input<'m>, rest: Input<'_>) -> Result<Input<'m>, Fault> {
    let length = at.len().checked_sub(rest.len());
    length.and_then(|length| at.get(..length)).ok_or_else(|| Fault::internal(at))
}

#[cfg(test)]
mod tests {
    #[cfg(any(feature = "v2", feature = "write"))]
    use super::{ErrorKind, span};
    #[cfg(not(feature = "small"))]
    use super::{Word, short_text};
    use super::{is_ascii, spell, starts};

    #[test]
    #[cfg(any(feature = "v2", feature = "write"))]
    fn bytes_that_end_before_they_begin_are_an_internal_error() {
        assert_eq!(span(b"abc", b"c").unwrap(), b"ab");
        let fault = span(b"c", b"abc").unwrap_err();
        assert_eq!((fault.kind, fault.remaining.left()), (ErrorKind::Internal, 1));
    }

    #[test]
    fn one_byte_that_is_not_ascii_is_found_wherever_it_stands() {
        for length in 0..70 {
            let mut text = alloc::vec![1; length];
            assert!(is_ascii::<true>(&text) && is_ascii::<false>(&text), "{length}");
            for place in 0..length {
                for (byte, plain, without_zero) in [
                    (0, true, false),
                    (0x7f, true, true),
                    (0x80, false, false),
                    (0xff, false, false),
                ] {
                    text[place] = byte;
                    assert_eq!(is_ascii::<false>(&text), plain, "{byte} at {place} of {length}");
                    assert_eq!(
                        is_ascii::<true>(&text),
                        without_zero,
                        "{byte} at {place} of {length}"
                    );
                }
                text[place] = 1;
            }
        }
    }

    /// What is read fast is what would be read otherwise, so only here is it seen that it is.
    #[test]
    #[cfg(not(feature = "small"))]
    fn short_texts_are_read_as_words() {
        let (rest, content, word) = short_text(b"\x64datarest").unwrap();
        assert_eq!((rest, content), (&b"rest"[..], &b"data"[..]));
        assert!(word == Word::new("data") && word != Word::new("date") && word != Word::new("dat"));
        assert!(short_text(b"\x67seven.. ").is_some_and(|(rest, ..)| rest == b" "));
        for other in [&b"\x68eight..."[..], b"\x44datarest", b"\x64data", b"\x04datarest"] {
            assert!(short_text(other).is_none(), "{other:?}");
        }
    }

    #[test]
    fn an_item_is_found_where_it_stands() {
        let item = spell::<5>("data");
        assert_eq!(starts(b"\x64datarest", &item), Some(&b"rest"[..]));
        assert_eq!(starts(b"\x64data", &item), Some(&b""[..]));
        assert_eq!(starts(b"\x64daterest", &item), None);
        let item = spell::<10>("component");
        assert_eq!(starts(b"\x69componentrest", &item), Some(&b"rest"[..]));
    }
}
