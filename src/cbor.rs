//! A strict, iterative pull decoder for CBOR (RFC 8949): no recursion, no allocation.
//!
//! This module knows CBOR, but not tensors. A parser takes the rest of the manifest from an item on, and returns the rest of
//! the manifest after the item, as the parsers of the crate `nom` do. A position in the manifest is therefore the number of
//! bytes that are left, which needs no further state.
//!
//! Well-formedness is checked before types: a reserved head breaks `cbor-reserved` wherever it occurs.

mod encode;
mod rewrite;
mod value;
mod walk;

pub use encode::Encoder;
use nom::IResult;
pub(crate) use rewrite::rewrite;
use value::simple;
pub use value::{Array, Attributes, Chunks, Item, Map, Value};
pub(crate) use walk::{deterministic, deterministic_map, item, pass, skip, strict};

use crate::error::{ErrorKind, OutOfMemory};
use crate::limits::Limits;
use crate::names::{NameTable, by_length};
use crate::num::{Word, len_u32, u64_from_usize, usize_from_u32};
use crate::rules::{Limit, Rule};

/// The rest of the manifest, from the next item on.
pub(crate) type Input<'m> = &'m [u8];

/// The result of parsing an item: the input after the item, and the value that was read.
pub(crate) type Parsed<'m, O> = IResult<Input<'m>, O, Fault>;

/// The result of a check within a parser. Its error type is that of the parser, because converting errors at each call
/// was a large part of the code.
pub(crate) type Checked<O> = Result<O, nom::Err<Fault>>;

/// A position in the manifest, as the number of bytes from there to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct BytesLeft(u32);

impl BytesLeft {
    /// The position at the end of the manifest.
    pub(crate) const END: Self = Self(0);

    #[inline]
    pub(crate) fn of(input: Input<'_>) -> Self {
        Self(len_u32(input.len()))
    }

    /// Returns the number of bytes from this position to the end of the manifest.
    #[inline]
    pub(crate) fn get(self) -> u32 {
        self.0
    }
}

/// An error that a parser found at a position in the manifest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: ErrorKind,
    pub(crate) bytes_left: BytesLeft,
    /// The number that was found, which the message of the rule shows.
    pub(crate) found: u64,
}

impl Fault {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(kind: impl Into<ErrorKind>, bytes_left: BytesLeft) -> Self {
        Self::with(kind, bytes_left, 0)
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn with(kind: impl Into<ErrorKind>, bytes_left: BytesLeft, found: u64) -> Self {
        Self { kind: kind.into(), bytes_left, found }
    }

    /// Creates the error for an invariant of this library that does not hold, at the position of `at`.
    #[cold]
    pub(crate) fn internal(at: Input<'_>) -> Self {
        Self::new(ErrorKind::Internal, BytesLeft::of(at))
    }
}

impl From<Fault> for nom::Err<Fault> {
    fn from(fault: Fault) -> Self {
        Self::Failure(fault)
    }
}

impl From<OutOfMemory> for nom::Err<Fault> {
    fn from(out: OutOfMemory) -> Self {
        Fault::new(out, BytesLeft::END).into()
    }
}

/// Returns the fault in `error`. Parsers of this crate never return `Incomplete`, the only variant without a fault.
#[expect(clippy::needless_pass_by_value, reason = "the form that `map_err` takes")]
pub(crate) fn fault(error: nom::Err<Fault>) -> Fault {
    match error {
        nom::Err::Error(fault) | nom::Err::Failure(fault) => fault,
        nom::Err::Incomplete(_) => Fault::new(Rule::CborTruncated, BytesLeft::default()),
    }
}

/// Returns the error of breaking `rule` at `at`. Only creating the fault is not inlined: if the whole result came from a
/// call, it would be returned in memory, and so would the values that parsers read.
#[inline]
pub(crate) fn fail<O>(rule: Rule, at: Input<'_>) -> Parsed<'_, O> {
    Err(Fault::new(rule, BytesLeft::of(at)).into())
}

/// The only byte of the encoded CBOR value `null`.
pub(crate) const NULL: u8 = 0xf6;

/// Reads the content of a string of definite length with the head `head` from `input`, which follows the head. `at` is the
/// input at the head, for errors.
#[inline]
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

/// Reads an unsigned integer of at most 64 bits. An item of another type breaks the rule `wrong`.
#[inline]
pub(crate) fn uint(wrong: Rule, at: Input<'_>) -> Parsed<'_, u64> {
    read_uint::<false>(wrong, at)
}

/// Reads an unsigned integer of at most 64 bits. With `SHORTEST`, its head must be the shortest. An item of another type
/// breaks the rule `wrong`.
#[inline]
pub(crate) fn read_uint<const SHORTEST: bool>(wrong: Rule, at: Input<'_>) -> Parsed<'_, u64> {
    let (rest, head) = head_of::<SHORTEST>(major::UINT, wrong, at)?;
    Ok((rest, head.argument))
}

/// Reads a text of definite length, without checking that it is UTF-8. An item of another type breaks the rule `wrong`.
#[inline]
pub(crate) fn text(wrong: Rule, at: Input<'_>) -> Parsed<'_, Input<'_>> {
    read_text::<false>(wrong, at)
}

/// Reads a CBOR text of definite length, without checking that it is UTF-8. With `SHORTEST`, the encoding of its length must be the
/// shortest. An item of another type breaks the rule `wrong`.
#[inline(always)]
pub(crate) fn read_text<const SHORTEST: bool>(wrong: Rule, at: Input<'_>) -> Parsed<'_, Input<'_>> {
    let (rest, head) = head_of::<SHORTEST>(major::TEXT, wrong, at)?;
    content((at, head), rest)
}

/// Returns whether no byte of `text` has its high bit set and, with `WITHOUT_ZERO`, no byte is zero. In a text of eight bytes
/// or more, the last bytes are checked together with bytes before them, so that no byte is checked alone.
#[inline]
pub(crate) fn is_ascii<const WITHOUT_ZERO: bool>(text: &[u8]) -> bool {
    const HIGH: u128 = u128::from_ne_bytes([0x80; 16]);
    const ONES: u128 = u128::from_ne_bytes([1; 16]);
    // Subtracting 1 from a byte sets its high bit if the byte is zero. High bits that were set before are rejected anyway.
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
#[inline]
pub(crate) fn check_utf8(at: BytesLeft, content: Input<'_>) -> Checked<()> {
    if is_ascii::<false>(content) { Ok(()) } else { utf8(at, content).map(|_| ()) }
}

/// Returns the content of a string whose head is at `at` as text, if it is UTF-8.
#[inline]
pub(crate) fn utf8(at: BytesLeft, content: Input<'_>) -> Checked<&str> {
    core::str::from_utf8(content).map_err(|_| Fault::new(Rule::CborUtf8, at).into())
}

/// The value of the parameter `limit` for maps and arrays whose number of entries is not limited.
pub(crate) const UNLIMITED: u32 = u32::MAX;

/// Reads the key of an entry of a map whose keys have a meaning. The key must be a text of definite length; it is not checked
/// to be UTF-8.
#[inline(always)]
pub(crate) fn key(at: Input<'_>) -> Parsed<'_, Input<'_>> {
    text(Rule::KeyType, at)
}

/// Encodes a text of fewer than 24 bytes with the shortest head. `N` must be the length of the text plus 1.
pub(crate) const fn spell<const N: usize>(text: &str) -> [u8; N] {
    assert!(
        text.len() < 24,
        "the text must have fewer than 24 bytes, so that its length fits in the initial byte"
    );
    let mut item = [0; N];
    if let Some((initial, content)) = item.split_first_mut() {
        let [length, ..] = text.len().to_le_bytes();
        *initial = major::TEXT << 5 | length;
        content.copy_from_slice(text.as_bytes());
    }
    item
}

/// Returns the part of `input` after `item`; `None` if `input` does not begin with the bytes `item`.
#[inline]
pub(crate) fn starts<'m, const N: usize>(input: Input<'m>, item: &[u8; N]) -> Option<Input<'m>> {
    let (first, rest) = input.split_first_chunk::<N>()?;
    // The first eight bytes of the input are compared with the item as one number, which is shifted if the item has fewer
    // bytes, so that comparisons with several items share one load.
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

/// Reads a text of at most 7 bytes with the shortest head. Returns the input after it, the content, and the head and
/// content packed into an integer, which compares faster. Returns `None` for any other item, and near the end of the input.
#[inline]
pub(crate) fn short_text(at: Input<'_>) -> Option<(Input<'_>, Input<'_>, Word)> {
    const TEXT: u8 = major::TEXT << 5;
    let ([initial, ..], after) = (at.first_chunk::<8>()?, at.get(1..)?);
    let length = initial ^ TEXT;
    let (content, rest) = after.split_at_checked(length.into())?;
    let word = u64::from_le_bytes(*at.first_chunk()?) ^ u64::from(TEXT);
    (length < 8).then(|| (rest, content, Word::from_content(word, length)))
}

/// Returns the bytes between `at` and `rest`, which must be a later position of the same input.
#[inline]
pub(crate) fn span<'m>(at: Input<'m>, rest: Input<'_>) -> Result<Input<'m>, Fault> {
    let length = at.len().checked_sub(rest.len());
    length.and_then(|length| at.get(..length)).ok_or_else(|| Fault::internal(at))
}

/// The numbers of the major types of CBOR items: RFC 8949 §3.1.
pub(crate) mod major {
    pub(crate) const UINT: u8 = 0;
    pub(crate) const NEGATIVE: u8 = 1;
    pub(crate) const BYTES: u8 = 2;
    pub(crate) const TEXT: u8 = 3;
    pub(crate) const ARRAY: u8 = 4;
    pub(crate) const MAP: u8 = 5;
    pub(crate) const TAG: u8 = 6;
    /// The major type of simple values and floats.
    pub(crate) const SIMPLE: u8 = 7;
}

/// The initial byte of a simple value whose number is in a second byte.
const SIMPLE: u8 = 0xf8;
/// The byte that ends an array, map or string of indefinite length.
pub(crate) const BREAK: u8 = 0xff;

/// The head of an item: major type, additional information and argument.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) major: u8,
    pub(crate) info: u8,
    pub(crate) argument: u64,
}

impl Head {
    pub(crate) const INDEFINITE: u8 = 31;

    #[inline]
    pub(crate) fn indefinite(self) -> bool {
        self.info == Self::INDEFINITE
    }
}

/// Returns the shortest head of the type `major` with `argument`: the bytes of the returned array from the returned index
/// on.
#[inline]
pub(crate) fn head_bytes(major: u8, argument: u64) -> ([u8; 9], usize) {
    let mut bytes = [0; 9];
    let [_, wide @ ..] = &mut bytes;
    *wide = argument.to_be_bytes();
    let [.., last] = *wide;
    let (info, start) = match argument {
        0..24 => (last, 8),
        24..0x100 => (24, 7),
        0x100..0x1_0000 => (25, 6),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 0),
    };
    if let Some(initial) = bytes.get_mut(start) {
        *initial = major << 5 | info;
    }
    (bytes, start)
}

/// Returns the size in bytes of an argument that follows the initial byte, which the additional information `info` (24 to 27)
/// gives, and 64 minus the number of its bits.
#[inline]
fn width(info: u8) -> (usize, u32) {
    // The additional information 24, 25, 26 or 27 means 1, 2, 4 or 8 bytes.
    let bytes = 1 << (info & 3);
    (bytes, 64_u32.wrapping_sub(8 << (info & 3)))
}

/// Reads the argument of the head at `at` from the bytes after the initial byte. `info` (24 to 27), the additional
/// information of the head, gives their number. Returns the input after the argument and the argument; `None` if the input is
/// too short.
pub(crate) fn argument(at: Input<'_>, info: u8) -> Option<(Input<'_>, u64)> {
    if let Some(read) = wide(at, info) {
        return Some(read);
    }
    let (argument, rest) = at.get(1..)?.split_at_checked(width(info).0)?;
    Some((rest, argument.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))))
}

/// Reads an argument as [`argument`] does, if `at` has at least the 9 bytes of the longest head. Returns `None` nearer to the
/// end of the manifest.
#[inline]
fn wide(at: Input<'_>, info: u8) -> Option<(Input<'_>, u64)> {
    let [_, argument @ ..] = at.first_chunk::<9>()?;
    let (bytes, unused) = width(info);
    let rest = at.get(bytes.wrapping_add(1)..)?;
    if cfg!(target_pointer_width = "32") && info < 27 {
        // On 32-bit machines, reversing the order of 8 bytes takes much longer than of 4.
        let [a, b, c, d, ..] = *argument;
        let unused = unused.wrapping_sub(32);
        return Some((rest, (u32::from_be_bytes([a, b, c, d]) >> unused).into()));
    }
    Some((rest, u64::from_be_bytes(*argument) >> unused))
}

/// Reads the head of an item of any type.
#[inline]
pub(crate) fn head(at: Input<'_>) -> Parsed<'_, Head> {
    let Some((&initial, rest)) = at.split_first() else {
        return fail(Rule::CborTruncated, at);
    };
    let (major, info) = (initial >> 5, initial & 31);
    match info {
        0..24 => Ok((rest, Head { major, info, argument: u64::from(info) })),
        24..28 => match argument(at, info) {
            Some((_, argument @ 0..32)) if initial == SIMPLE => {
                Err(Fault::with(Rule::CborSimple, BytesLeft::of(at), argument).into())
            }
            Some((rest, argument)) => Ok((rest, Head { major, info, argument })),
            None => fail(Rule::CborTruncated, at),
        },
        _ if initial == BREAK => fail(Rule::CborBreak, at),
        Head::INDEFINITE if matches!(major, major::BYTES..=major::MAP) => {
            Ok((rest, Head { major, info, argument: 0 }))
        }
        _ => Err(Fault::with(Rule::CborReserved, BytesLeft::of(at), initial.into()).into()),
    }
}

/// Reads a head of the major type `wanted`. With `SHORTEST`, the head must be the shortest: a longer one breaks `cbor-shortest`. A
/// head of another type breaks the rule `wrong`, unless the head is not well-formed.
#[inline(always)]
pub(crate) fn head_of<const SHORTEST: bool>(
    wanted: u8,
    wrong: Rule,
    at: Input<'_>,
) -> Parsed<'_, Head> {
    if let Some((initial, rest)) = at.split_first() {
        // If the major type is `wanted`, the exclusive or leaves only the additional information.
        let info = initial ^ (wanted << 5);
        if info < 24 {
            return Ok((rest, Head { major: wanted, info, argument: u64::from(info) }));
        }
        if info < 28
            && let Some((rest, argument)) = wide(at, info)
            && (!SHORTEST || is_shortest(info, argument))
        {
            return Ok((rest, Head { major: wanted, info, argument }));
        }
    }
    let (rest, head) = any_head_of(wanted, wrong, at)?;
    if SHORTEST && head.info >= 24 && !is_shortest(head.info, head.argument) {
        return fail(Rule::CborShortest, at);
    }
    Ok((rest, head))
}

/// Returns whether a head with the additional information `info` (24 or more) is the shortest head for `argument`: a smaller
/// argument would fit in the initial byte or in half as many bytes. Returns false for indefinite lengths.
#[inline]
fn is_shortest(info: u8, argument: u64) -> bool {
    let (bytes, _) = width(info);
    if info == 24 { argument >= 24 } else { info < 28 && argument >> (bytes << 2) != 0 }
}

/// Reads a head as [`head_of`] does, if its argument is not in the initial byte or it is of another major type, which is an
/// error.
#[inline(never)]
fn any_head_of(wanted: u8, wrong: Rule, at: Input<'_>) -> Parsed<'_, Head> {
    match head(at)? {
        (rest, head) if head.major == wanted => Ok((rest, head)),
        _ => fail(wrong, at),
    }
}

/// The number of entries that may follow in an open map or array.
///
/// For a definite length it is the number of entries that are left. For an indefinite length, which ends with a break byte,
/// it is negative: −1 − the number of entries that are still allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entries(i64);

impl Entries {
    /// The count of a map or array of definite length without entries.
    pub(crate) const NONE: Self = Self(0);
    /// The count for the chunks of a string of indefinite length, whose number is not limited.
    pub(crate) const CHUNKS: Self = Self(i64::MIN);

    #[inline]
    pub(crate) fn definite(count: u32) -> Self {
        Self(i64::from(count))
    }

    #[inline]
    fn indefinite(limit: u32) -> Self {
        Self(!i64::from(limit))
    }

    /// Returns whether the length is definite and no entry is left.
    #[inline]
    pub(crate) fn are_over(self) -> bool {
        self.0 == 0
    }

    /// Returns whether the length is definite and entries are left.
    #[inline]
    pub(crate) fn are_left(self) -> bool {
        self.0 > 0
    }

    /// Returns the count minus one entry, for a definite length with entries left.
    #[inline]
    pub(crate) fn but_one(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// Takes one entry from the count and returns true, if another entry follows at `input`. Returns false if the map or
    /// array ends there, or has as many entries as allowed.
    #[inline]
    pub(crate) fn next(&mut self, input: Input<'_>) -> bool {
        if self.0 > 0 {
            self.0 = self.0.wrapping_sub(1);
            return true;
        }
        if self.0 == 0 {
            return false;
        }
        let more = self.0 < -1 && input.first() != Some(&BREAK);
        self.0 = if more { self.0.wrapping_add(1) } else { self.0 };
        more
    }

    /// Returns the input after the map or array, once [`next`](Self::next) has returned false at `input`.
    ///
    /// # Errors
    /// The limit `limit`, at the position of `at`, if a map or array of indefinite length has more entries than allowed.
    #[inline]
    pub(crate) fn end<'m>(
        self,
        input: Input<'m>,
        at: Input<'m>,
        limit: Limit,
    ) -> Checked<Input<'m>> {
        if self.0 == 0 {
            return Ok(input);
        }
        match input.split_first() {
            Some((&BREAK, rest)) => Ok(rest),
            _ => Err(Fault::new(limit, BytesLeft::of(at)).into()),
        }
    }

    /// Returns the number of entries that are left (all that the head declares, if none was taken); `None` for an indefinite
    /// length.
    pub(crate) fn claimed(self) -> Option<u32> {
        u32::try_from(self.0).ok()
    }
}

/// Returns the smallest size in bytes of an entry of a map or of an item of an array (`major` is the major type of either),
/// and the limit that applies to their number.
#[inline]
fn entry_cost(major: u8) -> (u8, Limit) {
    if major == major::MAP { (2, Limit::Keys) } else { (1, Limit::Rank) }
}

/// Returns the number of entries that `head`, the head of a map or array at `at`, declares. The number is first compared with
/// the number of bytes that are left, so that a short file cannot declare billions of entries, and then with `limit`. For an
/// indefinite length, the result only counts how many entries are allowed.
pub(crate) fn entries<'m>(
    (at, head): (Input<'m>, Head),
    limit: u32,
    rest: Input<'m>,
) -> Parsed<'m, Entries> {
    let (size, broken) = entry_cost(head.major);
    if head.indefinite() {
        return Ok((rest, Entries::indefinite(limit)));
    }
    if head.argument.saturating_mul(size.into()) > u64_from_usize(rest.len()) {
        return Err(Fault::with(Rule::CborCount, BytesLeft::of(at), head.argument).into());
    }
    match u32::try_from(head.argument) {
        Ok(count) if count <= limit => Ok((rest, Entries::definite(count))),
        _ => Err(Fault::new(broken, BytesLeft::of(at)).into()),
    }
}

/// Reads the head of a map of at most `limit` entries. An item of another type breaks the rule `wrong`.
#[inline]
pub(crate) fn map_head(wrong: Rule, limit: u32, at: Input<'_>) -> Parsed<'_, Entries> {
    open::<{ major::MAP }, false>(wrong, limit, at)
}

/// Reads the head of a map of definite length, which must be the shortest. An item of another type breaks the rule `wrong`.
#[inline]
pub(crate) fn strict_map_head(wrong: Rule, at: Input<'_>) -> Parsed<'_, Entries> {
    open::<{ major::MAP }, true>(wrong, UNLIMITED, at)
}

/// Reads the head of an array of at most `limit` items. An item of another type breaks the rule `wrong`.
#[inline]
pub(crate) fn array_head(wrong: Rule, limit: u32, at: Input<'_>) -> Parsed<'_, Entries> {
    open::<{ major::ARRAY }, false>(wrong, limit, at)
}

/// Reads the head of an array of definite length, which must be the shortest. An item of another type breaks the rule
/// `wrong`.
#[inline]
pub(crate) fn strict_array_head(wrong: Rule, at: Input<'_>) -> Parsed<'_, Entries> {
    open::<{ major::ARRAY }, true>(wrong, UNLIMITED, at)
}

/// Reads the head of a map or array (`MAJOR`) of at most `limit` entries. With `SHORTEST`, it must be the shortest head of
/// a definite length.
#[inline(always)]
fn open<const MAJOR: u8, const SHORTEST: bool>(
    wrong: Rule,
    limit: u32,
    at: Input<'_>,
) -> Parsed<'_, Entries> {
    if let Some((initial, rest)) = at.split_first() {
        let info = initial ^ (MAJOR << 5);
        let bytes = usize::from(info).wrapping_mul(entry_cost(MAJOR).0.into());
        if info < 24 && u32::from(info) <= limit && bytes <= rest.len() {
            return Ok((rest, Entries::definite(info.into())));
        }
    }
    any_open::<MAJOR, SHORTEST>(wrong, limit, at)
}

/// Reads the head of a map or array as [`open`] does, if the number of entries is not in the initial byte, or the head is
/// invalid.
#[inline(never)]
fn any_open<const MAJOR: u8, const SHORTEST: bool>(
    wrong: Rule,
    limit: u32,
    at: Input<'_>,
) -> Parsed<'_, Entries> {
    let (rest, head) = head_of::<SHORTEST>(MAJOR, wrong, at)?;
    entries((at, head), limit, rest)
}

/// A check that the keys of a map are unique.
///
/// Keys that are strictly ascending are unique. Checking them takes one comparison for each key, and no memory. Only a
/// map whose keys do not ascend is read again, once its size is known.
pub(crate) struct Keys<'m> {
    first: Input<'m>,
    last: Option<&'m [u8]>,
    disorder: bool,
    count: u32,
}

impl<'m> Keys<'m> {
    /// Starts checking the keys of a map. `first` is the input at its first key.
    #[inline]
    pub(crate) fn of(first: Input<'m>) -> Self {
        Self { first, last: None, disorder: false, count: 0 }
    }

    /// Compares `key`, the next key of the map, with the key before it, and counts it. [`finish`](Self::finish) reports
    /// duplicates.
    #[inline]
    pub(crate) fn note(&mut self, key: &'m [u8]) {
        self.disorder |= self.last.is_some_and(|last| last >= key);
        self.last = Some(key);
        self.count();
    }

    /// Counts an entry whose key needs no comparison, because the parser has already checked that it is unique.
    #[inline]
    pub(crate) fn count(&mut self) {
        self.count = self.count.wrapping_add(1);
    }

    /// Checks that all keys that were passed to [`note`](Self::note) are unique. Keys that were not in ascending order are
    /// read again from the map.
    ///
    /// # Errors
    /// `duplicate-key`, at the first key that is equal to an earlier key.
    #[inline]
    pub(crate) fn finish(&self) -> Checked<()> {
        if self.disorder { unsorted(self.first, self.count) } else { Ok(()) }
    }
}

/// Checks that the keys of `count` entries, the first of which is at `first`, are unique. The keys are not in ascending
/// order, so they are sorted by hash. The error is at the first key that is equal to an earlier key.
#[inline(never)]
fn unsorted(first: Input<'_>, count: u32) -> Checked<()> {
    // Positions are counted from the first key, so that they fit in 32 bits.
    let place = |at: Input<'_>| len_u32(first.len().wrapping_sub(at.len()));
    let at = |place| first.get(usize_from_u32(place)..).unwrap_or_default();
    let read = |place| key(at(place)).map_or(Input::default(), |(_, key)| key);
    let entries = entries_from(first, Entries::definite(count));
    let keys = entries.map(|entry| (place(entry.at), entry.key.unwrap_or_default()));
    let table = NameTable::new(usize_from_u32(count), keys, read)
        .map_err(|out| Fault::new(out, BytesLeft::of(first)))?;
    match table.duplicate(read) {
        None => Ok(()),
        // Each key has been read before, so an error here would be a defect of this library.
        Some(place) if key(at(place)).is_err() => Err(Fault::internal(at(place)).into()),
        Some(place) => Err(disorder(at(place), true).into()),
    }
}

/// Checks that the text `key`, whose head is at `at`, is greater than `last` in the order of deterministic CBOR, and stores
/// it in `last`.
#[inline]
pub(crate) fn ascend<'m>(last: &mut Input<'m>, at: Input<'m>, key: Input<'m>) -> Checked<()> {
    let order = by_length(last, key);
    if order.is_ge() {
        return Err(disorder(at, order.is_eq()).into());
    }
    *last = key;
    Ok(())
}

/// Returns the error for a key at `at` that is out of order, or if `is_duplicate`, that occurs twice.
#[cold]
fn disorder(at: Input<'_>, is_duplicate: bool) -> Fault {
    let rule = if is_duplicate { Rule::DuplicateKey } else { Rule::KeyOrder };
    Fault::new(rule, BytesLeft::of(at))
}

/// An entry of a CBOR map that was checked before.
#[derive(Clone, Copy)]
pub(crate) struct MapEntry<'m> {
    /// The rest of the manifest, from the key of this entry on.
    pub(crate) at: Input<'m>,
    /// The content of the key; `None` if the key is not a text of definite length, as generation 2 allows in some maps.
    pub(crate) key: Option<Input<'m>>,
    pub(crate) value: Input<'m>,
}

/// Returns an iterator over the entries of the CBOR map at `map`; an empty iterator if another item is there. The iterator
/// passes over an entry only when the next entry is requested, so the bytes after the last returned entry may be malformed.
pub(crate) fn entries_of(map: Input<'_>) -> impl Iterator<Item = MapEntry<'_>> {
    let opened = map_head(Rule::ObjectType, UNLIMITED, map);
    let (first, entries) = opened.unwrap_or((map, Entries::NONE));
    entries_from(first, entries)
}

/// Returns an iterator over `left` entries of a map, whose first entry is at `first`.
fn entries_from(first: Input<'_>, mut left: Entries) -> impl Iterator<Item = MapEntry<'_>> {
    let mut next = Some(first);
    let mut value = None;
    core::iter::from_fn(move || {
        let at = match value.take() {
            None => next.take()?,
            Some(value) => pass(value)?,
        };
        left.next(at).then_some(())?;
        let entry = match key(at) {
            Ok((value, key)) => MapEntry { at, key: Some(key), value },
            Err(_) => MapEntry { at, key: None, value: pass(at)? },
        };
        value = Some(entry.value);
        Some(entry)
    })
}

/// Returns the number of keys that begin before the position `mark` in the CBOR map at `at`; 0 if another item is there.
#[cold]
pub(crate) fn keys_before(at: Input<'_>, mark: BytesLeft) -> u32 {
    len_u32(entries_of(at).take_while(|entry| BytesLeft::of(entry.at) > mark).count())
}

/// Returns the input at the value of the key `wanted` in the checked map at `map`; `None` if the map has no such key.
pub(crate) fn find<'m>(map: Input<'m>, wanted: &str) -> Option<Input<'m>> {
    entries_of(map).find(|entry| entry.key == Some(wanted.as_bytes())).map(|entry| entry.value)
}

/// Returns the input after key number `place` (from 0) of the map at `map`, and the key. Only the entries before this key
/// must be well-formed.
pub(crate) fn nth_key(map: Input<'_>, place: u32) -> Option<(Input<'_>, Input<'_>)> {
    let entry = entries_of(map).nth(usize_from_u32(place))?;
    Some((entry.value, entry.key?))
}

/// Checks the attributes at `at`: a map with unique texts as keys and values of any type. `open` is the number of maps,
/// arrays and tags around the map. An item that is not a map breaks the rule `wrong`. Returns the input after the map.
pub(crate) fn pass_attributes<'m>(
    limits: &Limits,
    wrong: Rule,
    at: Input<'m>,
    open: u8,
) -> Parsed<'m, ()> {
    let (mut input, mut entries) = map_head(wrong, limits.keys(), at)?;
    let mut keys = Keys::of(input);
    while entries.next(input) {
        let (value, name) = key(input)?;
        check_utf8(BytesLeft::of(input), name)?;
        keys.note(name);
        input = skip(value, open.saturating_add(1), limits.depth())?.0;
    }
    let rest = entries.end(input, at, Limit::Keys)?;
    keys.finish()?;
    Ok((rest, ()))
}

#[cfg(test)]
mod tests {
    use super::{ErrorKind, span};
    use super::{Word, short_text};
    use super::{is_ascii, spell, starts};

    #[test]
    fn bytes_that_end_before_they_begin_are_an_internal_error() {
        assert_eq!(span(b"abc", b"c").unwrap(), b"ab");
        let fault = span(b"c", b"abc").unwrap_err();
        assert_eq!((fault.kind, fault.bytes_left.get()), (ErrorKind::Internal, 1));
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

    /// Checks that `short_text` accepts texts of at most 7 bytes, and rejects other items. Readers give the same result if
    /// `short_text` rejects an item, so no other test would notice.
    #[test]
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

#[cfg(test)]
mod head_tests {
    use super::{argument, wide};

    #[test]
    fn wide_arguments_are_what_any_are() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
        for (info, number) in [(24, 1), (25, 0x102), (26, 0x0102_0304), (27, 0x0102_0304_0506_0708)]
        {
            let read = wide(&bytes, info).unwrap();
            assert_eq!((read.1, Some(read)), (number, argument(&bytes, info)));
            let end = bytes.len() - read.0.len();
            assert_eq!(wide(&bytes[..end], info).is_some(), info == 27);
            assert_eq!(argument(&bytes[..end], info), Some((&[][..], number)));
        }
    }
}

#[cfg(test)]
mod key_tests;
