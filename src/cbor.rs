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
use crate::rules::{Limit, Rule};

pub(crate) use keys::{Keys, find, keys_before};
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
    /// The number that the rule's sentence names, if it names one.
    pub(crate) found: u64,
}

impl Fault {
    #[cold]
    pub(crate) fn new(kind: impl Into<ErrorKind>, mark: Mark) -> Self {
        Self { kind: kind.into(), mark, found: 0 }
    }

    #[cold]
    pub(crate) fn with(kind: impl Into<ErrorKind>, mark: Mark, found: u64) -> Self {
        Self { kind: kind.into(), mark, found }
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

/// The initial byte of a simple value that a second byte gives.
const SIMPLE: u8 = 0xf8;
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

/// The argument of a head that does not fit in its initial byte, and how many bytes it takes;
/// none if it is cut.
#[inline(always)]
fn argument(at: Input<'_>, info: u8) -> Option<(Input<'_>, u64)> {
    // 1, 2, 4 or 8 bytes for 24, 25, 26 and 27.
    let bytes = 1_usize << (info & 3);
    if let Some((_, wide)) = at.split_first_chunk::<1>()
        && let Some(wide) = wide.first_chunk::<8>()
    {
        // All but at the very end of the manifest: no branch on the width.
        let unused = 64_usize.saturating_sub(bytes << 3);
        let rest = at.get(bytes.saturating_add(1)..)?;
        return Some((rest, u64::from_be_bytes(*wide) >> unused));
    }
    let (argument, rest) = at.get(1..)?.split_at_checked(bytes)?;
    Some((rest, argument.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
}

/// The head of the next item, whatever it is.
#[inline(always)]
fn head(at: Input<'_>) -> Parsed<'_, Head> {
    let Some((&initial, rest)) = at.split_first() else {
        return fail(Rule::CborTruncated, at);
    };
    let (major, info) = (initial >> 5, initial & 31);
    match info {
        0..24 => Ok((rest, Head { major, info, argument: u64::from(info) })),
        24..28 => match argument(at, info) {
            Some((_, argument @ 0..32)) if initial == SIMPLE => {
                Err(Fault::with(Rule::CborSimple, Mark::of(at), argument).into())
            }
            Some((rest, argument)) => Ok((rest, Head { major, info, argument })),
            None => fail(Rule::CborTruncated, at),
        },
        _ if initial == BREAK => fail(Rule::CborBreak, at),
        Head::INDEFINITE if matches!(major, major::BYTES..=major::MAP) => {
            Ok((rest, Head { major, info, argument: 0 }))
        }
        _ => Err(Fault::with(Rule::CborReserved, Mark::of(at), initial.into()).into()),
    }
}

/// A head of the major type `wanted`; any other item breaks `wrong`.
#[inline(always)]
fn head_of<'m>(
    wanted: u8,
    wrong: Rule,
) -> impl Parser<Input<'m>, Output = (Input<'m>, Head), Error = Fault> {
    move |at: Input<'m>| {
        if let Some((initial, rest)) = at.split_first() {
            // Of the wanted type, nothing is left of the initial byte but the information.
            let info = initial ^ (wanted << 5);
            if info < 24 {
                let head = Head { major: wanted, info, argument: u64::from(info) };
                return Ok((rest, (at, head)));
            }
            if info < 28
                && let Some((rest, argument)) = argument(at, info)
            {
                return Ok((rest, (at, Head { major: wanted, info, argument })));
            }
        }
        any_head_of(at, wanted, wrong)
    }
}

/// [`head_of`] for what is not an ordinary head.
#[inline(never)]
fn any_head_of(at: Input<'_>, wanted: u8, wrong: Rule) -> Parsed<'_, (Input<'_>, Head)> {
    match head(at)? {
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

/// Checks that the content of a string whose head is at `at` is UTF-8.
#[inline(always)]
pub(crate) fn check_utf8(at: Mark, content: Input<'_>) -> Result<(), Fault> {
    if content.is_ascii() { Ok(()) } else { utf8(at, content).map(|_| ()) }
}

/// The text of a string whose head is at `at`, if it is UTF-8.
#[inline(always)]
pub(crate) fn utf8<'m>(at: Mark, content: Input<'m>) -> Result<&'m str, Fault> {
    core::str::from_utf8(content).map_err(|_| Fault::new(Rule::CborUtf8, at))
}

/// How many entries of an open map or array may follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries {
    /// Of a definite one, those that are left; of an indefinite one, those that it may still
    /// have.
    left: u32,
    indefinite: bool,
}

impl Entries {
    /// No entries.
    pub(crate) const NONE: Self = Self { left: 0, indefinite: false };
    /// The pieces of an indefinite-length string.
    pub(crate) const CHUNKS: Self = Self { left: u32::MAX, indefinite: true };

    /// Takes one entry: whether there is one.
    #[inline(always)]
    pub(crate) fn next(&mut self, input: Input<'_>) -> bool {
        if self.indefinite && input.first() == Some(&BREAK) {
            return false;
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => return false,
        }
        true
    }

    /// What is left after the last entry, once [`next`](Self::next) has found no more.
    ///
    /// # Errors
    /// `limit`, at `at`, where an indefinite one has more entries than it may.
    #[inline(always)]
    pub(crate) fn end<'m>(
        self,
        input: Input<'m>,
        at: Input<'m>,
        limit: Limit,
    ) -> Result<Input<'m>, Fault> {
        if !self.indefinite {
            return Ok(input);
        }
        match input.split_first() {
            Some((&BREAK, rest)) => Ok(rest),
            _ => Err(Fault::new(limit, Mark::of(at))),
        }
    }

    /// The number of entries, where the head gives it.
    pub(crate) fn claimed(self) -> Option<u32> {
        (!self.indefinite).then_some(self.left)
    }
}

/// Checks a claimed number of entries against the bytes that are left: each takes at least
/// `size` of them. Then holds it against `limit`.
#[inline(always)]
fn entries<'m>(
    (at, head): (Input<'m>, Head),
    size: u64,
    (limit, broken): (u32, Limit),
) -> impl Parser<Input<'m>, Output = Entries, Error = Fault> {
    move |rest: Input<'m>| {
        if head.indefinite() {
            return Ok((rest, Entries { left: limit, indefinite: true }));
        }
        if head.argument > wide(rest.len()).wrapping_div(size) {
            return Err(Fault::with(Rule::CborCount, Mark::of(at), head.argument).into());
        }
        match u32::try_from(head.argument) {
            Ok(left) if left <= limit => Ok((rest, Entries { left, indefinite: false })),
            _ => Err(Fault::new(broken, Mark::of(at)).into()),
        }
    }
}

/// The head of a map of at most `limit` entries.
#[inline(always)]
pub(crate) fn map_head<'m>(
    wrong: Rule,
    limit: u32,
) -> impl Parser<Input<'m>, Output = Entries, Error = Fault> {
    flat_map(head_of(major::MAP, wrong), move |head| entries(head, 2, (limit, Limit::Keys)))
}

/// The head of an array of at most `limit` entries.
#[inline(always)]
pub(crate) fn array_head<'m>(
    wrong: Rule,
    limit: u32,
) -> impl Parser<Input<'m>, Output = Entries, Error = Fault> {
    flat_map(head_of(major::ARRAY, wrong), move |head| entries(head, 1, (limit, Limit::Rank)))
}

/// For maps and arrays that may have any number of entries.
pub(crate) const UNLIMITED: u32 = u32::MAX;

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
