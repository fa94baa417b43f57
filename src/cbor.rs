//! A strict, iterative pull decoder for CBOR (RFC 8949): no recursion, no allocation.
//!
//! It knows CBOR and nothing of tensors. A parser takes the bytes that are left of the manifest
//! and returns what is left after it, in nom's signature; so a place in the manifest is a number
//! of bytes left, and nothing has to be carried along to find it.
//!
//! Well-formedness is judged before type: a reserved head is `cbor-reserved` wherever it stands.

mod keys;
mod skip;
mod value;

use nom::combinator::flat_map;
use nom::error::{ErrorKind as NomKind, ParseError};
use nom::{IResult, Parser};

use crate::error::ErrorKind;
use crate::num::{index, short, wide};
use crate::rules::Rule;

pub(crate) use keys::{Keys, find};
pub(crate) use skip::skip;
pub use value::{Array, Attributes, Chunks, Item, Map, Value};

/// What is left of the manifest, from the item to read on.
pub(crate) type Input<'m> = &'m [u8];

/// What a parser returns: what is left after the item, and the item.
pub(crate) type Parsed<'m, O> = IResult<Input<'m>, O, Fault>;

/// A place in the manifest, as the number of bytes from there to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark(u32);

impl Mark {
    #[inline(always)]
    pub(crate) fn of(input: Input<'_>) -> Self {
        Self(short(input.len()))
    }

    /// The place with so many bytes from there to the end of the manifest.
    #[inline(always)]
    pub(crate) fn from_left(left: u32) -> Self {
        Self(left)
    }

    /// The bytes from there to the end of the manifest.
    #[inline(always)]
    pub(crate) fn left(self) -> u32 {
        self.0
    }
}

/// An error at a place in the manifest, before it is known which object it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) mark: Mark,
    pub(crate) found: Option<u64>,
}

impl Fault {
    #[cold]
    pub(crate) fn new(kind: impl Into<ErrorKind>, mark: Mark) -> Self {
        Self { kind: kind.into(), mark, found: None }
    }

    #[cold]
    pub(crate) fn with(kind: impl Into<ErrorKind>, mark: Mark, found: u64) -> Self {
        Self { kind: kind.into(), mark, found: Some(found) }
    }
}

impl From<Fault> for nom::Err<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Failure(fault)
    }
}

impl ParseError<Input<'_>> for Fault {
    fn from_error_kind(input: Input<'_>, _: NomKind) -> Self {
        Self::new(Rule::CborTruncated, Mark::of(input))
    }

    fn append(_: Input<'_>, _: NomKind, other: Self) -> Self {
        other
    }
}

/// The fault in a nom error. Nothing here asks for more input, so there always is one.
pub(crate) fn fault(error: nom::Err<Fault>) -> Fault {
    match error {
        nom::Err::Error(fault) | nom::Err::Failure(fault) => fault,
        nom::Err::Incomplete(_) => Fault::new(Rule::CborTruncated, Mark::default()),
    }
}

#[cold]
fn fail<O>(rule: Rule, at: Input<'_>) -> Parsed<'_, O> {
    Err(Fault::new(rule, Mark::of(at)).into())
}

/// Major types: RFC 8949 §3.1.
mod major {
    pub(super) const UINT: u8 = 0;
    pub(super) const NEGATIVE: u8 = 1;
    pub(super) const BYTES: u8 = 2;
    pub(super) const TEXT: u8 = 3;
    pub(super) const ARRAY: u8 = 4;
    pub(super) const MAP: u8 = 5;
    pub(super) const TAG: u8 = 6;
}

/// The initial byte that ends an indefinite-length item.
const BREAK: u8 = 0xff;
/// The whole of the item `null`.
pub(crate) const NULL: u8 = 0xf6;

/// The head of an item: major type, additional information, and the argument they stand for.
#[derive(Clone, Copy)]
struct Head {
    major: u8,
    info: u8,
    argument: u64,
}

impl Head {
    const INDEFINITE: u8 = 31;

    #[inline(always)]
    fn indefinite(self) -> bool {
        self.info == Self::INDEFINITE
    }
}

/// The next `N` bytes as a big-endian number.
#[inline(always)]
fn big_endian<'m, const N: usize>(at: Input<'m>, input: Input<'m>) -> Parsed<'m, [u8; N]> {
    match input.split_first_chunk::<N>() {
        Some((bytes, rest)) => Ok((rest, *bytes)),
        None => fail(Rule::CborTruncated, at),
    }
}

/// The head of the next item, whatever it is.
#[inline(always)]
fn head(at: Input<'_>) -> Parsed<'_, Head> {
    let Some((&initial, rest)) = at.split_first() else {
        return fail(Rule::CborTruncated, at);
    };
    let (major, info) = (initial >> 5, initial & 31);
    if info < 24 {
        return Ok((rest, Head { major, info, argument: u64::from(info) }));
    }
    long_head(at, rest, initial)
}

/// The rest of a head whose argument is not in the initial byte.
#[inline(always)]
fn long_head<'m>(at: Input<'m>, rest: Input<'m>, initial: u8) -> Parsed<'m, Head> {
    let (major, info) = (initial >> 5, initial & 31);
    let (rest, argument) = match info {
        24 => big_endian::<1>(at, rest).map(|(rest, b)| (rest, u64::from(u8::from_be_bytes(b))))?,
        25 => big_endian::<2>(at, rest).map(|(rest, b)| (rest, u64::from(u16::from_be_bytes(b))))?,
        26 => big_endian::<4>(at, rest).map(|(rest, b)| (rest, u64::from(u32::from_be_bytes(b))))?,
        27 => big_endian::<8>(at, rest).map(|(rest, b)| (rest, u64::from_be_bytes(b)))?,
        _ if initial == BREAK => return fail(Rule::CborBreak, at),
        Head::INDEFINITE if matches!(major, major::BYTES..=major::MAP) => (rest, 0),
        _ => return Err(Fault::with(Rule::CborReserved, Mark::of(at), initial.into()).into()),
    };
    Ok((rest, Head { major, info, argument }))
}

/// A head of the major type `wanted`; any other item breaks `wrong`.
#[inline(always)]
fn head_of<'m>(
    wanted: u8,
    wrong: Rule,
) -> impl Parser<Input<'m>, Output = (Input<'m>, Head), Error = Fault> {
    move |at: Input<'m>| match head(at)? {
        (rest, head) if head.major == wanted => Ok((rest, (at, head))),
        _ => fail(wrong, at),
    }
}

/// The content of a definite string whose head was at `at`.
#[inline(always)]
fn content<'m>(
    (at, head): (Input<'m>, Head),
) -> impl Parser<Input<'m>, Output = Input<'m>, Error = Fault> {
    move |input: Input<'m>| {
        if head.indefinite() {
            return fail(Rule::StringChunked, at);
        }
        let length = usize::try_from(head.argument).unwrap_or(usize::MAX);
        match input.split_at_checked(length) {
            Some((content, rest)) => Ok((rest, content)),
            None => fail(Rule::CborTruncated, at),
        }
    }
}

/// An unsigned integer of at most 64 bits.
#[inline(always)]
pub(crate) fn uint<'m>(
    wrong: Rule,
) -> impl Parser<Input<'m>, Output = u64, Error = Fault> {
    head_of(major::UINT, wrong).map(|(_, head)| head.argument)
}

/// A definite text string, not yet known to be UTF-8.
#[inline(always)]
pub(crate) fn text<'m>(
    wrong: Rule,
) -> impl Parser<Input<'m>, Output = Input<'m>, Error = Fault> {
    flat_map(head_of(major::TEXT, wrong), content)
}

/// The text of a string whose head is at `at`, if it is UTF-8.
#[inline(always)]
pub(crate) fn utf8<'m>(at: Mark, content: Input<'m>) -> Result<&'m str, Fault> {
    core::str::from_utf8(content).map_err(|_| Fault::new(Rule::CborUtf8, at))
}

/// How many entries of an open map or array are left.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Entries {
    Definite(u32),
    Indefinite,
}

impl Entries {
    /// Takes one entry: whether there is one, or the break if there is none.
    #[inline(always)]
    pub(crate) fn next<'m>(&mut self, input: Input<'m>) -> Option<Input<'m>> {
        match self {
            Self::Definite(left) => {
                *left = left.checked_sub(1)?;
                Some(input)
            }
            Self::Indefinite if input.first() == Some(&BREAK) => None,
            Self::Indefinite => Some(input),
        }
    }

    /// What is left after the last entry, once [`next`](Self::next) has found no more.
    #[inline(always)]
    pub(crate) fn end<'m>(&self, input: Input<'m>) -> Input<'m> {
        match self {
            Self::Definite(_) => input,
            Self::Indefinite => input.get(1..).unwrap_or_default(),
        }
    }

    /// The number of entries, where the head gives it.
    pub(crate) fn claimed(self) -> Option<u32> {
        match self {
            Self::Definite(count) => Some(count),
            Self::Indefinite => None,
        }
    }
}

/// Checks a claimed number of entries against the bytes that are left: each takes at least
/// `size` of them.
#[inline(always)]
fn entries<'m>(at: Input<'m>, rest: Input<'m>, head: Head, size: u64) -> Parsed<'m, Entries> {
    if head.indefinite() {
        return Ok((rest, Entries::Indefinite));
    }
    match u32::try_from(head.argument) {
        Ok(count) if u64::from(count).saturating_mul(size) <= wide(rest.len()) => {
            Ok((rest, Entries::Definite(count)))
        }
        _ => Err(Fault::with(Rule::CborCount, Mark::of(at), head.argument).into()),
    }
}

/// The head of a map.
#[inline(always)]
pub(crate) fn map_head(at: Input<'_>, wrong: Rule) -> Parsed<'_, Entries> {
    let (rest, (_, head)) = head_of(major::MAP, wrong).parse(at)?;
    entries(at, rest, head, 2)
}

/// The head of an array.
#[inline(always)]
pub(crate) fn array_head(at: Input<'_>, wrong: Rule) -> Parsed<'_, Entries> {
    let (rest, (_, head)) = head_of(major::ARRAY, wrong).parse(at)?;
    entries(at, rest, head, 1)
}

/// A key of an interpreted map: definite text, not yet known to be UTF-8.
#[inline(always)]
pub(crate) fn key(at: Input<'_>) -> Parsed<'_, Input<'_>> {
    text(Rule::KeyType).parse(at)
}

/// The bytes of `whole` from `mark` on.
pub(crate) fn seek(whole: Input<'_>, mark: Mark) -> Input<'_> {
    let start = whole.len().saturating_sub(index(mark.left()));
    whole.get(start..).unwrap_or_default()
}
