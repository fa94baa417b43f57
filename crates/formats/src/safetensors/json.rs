//! The tokens of JSON (RFC 8259) that a header is made of.
//!
//! Nothing in a header nests freely. So nothing here recurses, and there is no parser for a value of any type.

use super::fault::{Expected, Input, Parsed, Why, fail};

/// Skips white space.
pub(super) fn space(mut at: Input<'_>) -> Input<'_> {
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = at {
        at = rest;
    }
    at
}

/// Skips what the input starts with, if that is `literal`.
#[inline]
pub(super) fn starts<'h, const N: usize>(at: Input<'h>, literal: &[u8; N]) -> Option<Input<'h>> {
    let (first, rest) = at.split_first_chunk()?;
    (first == literal).then_some(rest)
}

/// Reads a byte, before which there may be white space.
pub(super) fn byte(at: Input<'_>, wanted: u8, expected: Expected) -> Parsed<'_, ()> {
    match space(at) {
        [found, rest @ ..] if *found == wanted => Ok((rest, ())),
        at => fail(Why::Expected(expected), at),
    }
}

/// Reads the next member of a map or array, or its end.
pub(super) fn next<'h, O>(
    at: Input<'h>,
    is_first: bool,
    end: u8,
    item: fn(Input<'h>) -> Parsed<'h, O>,
) -> Parsed<'h, Option<O>> {
    let at = match space(at) {
        [found, rest @ ..] if *found == end => return Ok((rest, None)),
        at if is_first => at,
        [b',', rest @ ..] => space(rest),
        at => return fail(Why::Expected(Expected::CommaOr(end)), at),
    };
    let (rest, item) = item(at)?;
    Ok((rest, Some(item)))
}

/// The content of a string, as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    /// The place of its first byte, behind the quote.
    pub(super) left: usize,
    pub(super) length: usize,
    pub(super) has_escapes: bool,
}

impl Text {
    /// The place of the quote in front of it.
    #[inline]
    pub(super) fn quote(self) -> usize {
        self.left.saturating_add(1)
    }
}

/// Reads the next key of a map, or its end.
#[inline]
pub(super) fn key(at: Input<'_>, is_first: bool) -> Parsed<'_, Option<Text>> {
    match starts(at, b",\"") {
        Some(content) if !is_first => {
            let (rest, text) = quoted(content)?;
            Ok((rest, Some(text)))
        }
        _ => next(at, is_first, b'}', text),
    }
}

/// Reads a string.
pub(super) fn text(at: Input<'_>) -> Parsed<'_, Text> {
    match at {
        [b'"', content @ ..] => quoted(content),
        _ => fail(Why::Expected(Expected::Text), at),
    }
}

/// Reads a string from behind its first quote.
#[inline]
pub(super) fn quoted(content: Input<'_>) -> Parsed<'_, Text> {
    let length = plain(content);
    match content.get(length..) {
        Some([b'"', rest @ ..]) => {
            Ok((rest, Text { left: content.len(), length, has_escapes: false }))
        }
        _ => escaped(content),
    }
}

/// Reads a string that has escapes, or is not valid.
#[inline(never)]
fn escaped(content: Input<'_>) -> Parsed<'_, Text> {
    let mut at = content;
    loop {
        let stop = at.get(plain(at)..).unwrap_or_default();
        at = match stop {
            [b'"', rest @ ..] => {
                let length = content.len().saturating_sub(stop.len());
                return Ok((rest, Text { left: content.len(), length, has_escapes: true }));
            }
            [b'\\', rest @ ..] => escape(rest)?.0,
            _ => return fail(Why::Control, stop),
        };
    }
}

/// Counts the bytes before the first quote, backslash or control character.
#[inline]
fn plain(text: Input<'_>) -> usize {
    let (chunks, tail) = text.as_chunks::<8>();
    let mut before = 0_usize;
    for chunk in chunks {
        let word = u64::from_le_bytes(*chunk);
        // Exchanging 0x22, the quote, for 0x20 puts it behind the control characters, so that one comparison finds
        // all of them. Taking a number from a smaller one sets the highest bit of the lowest such byte, which is the
        // first of the text; what it borrows disturbs only those behind. Bytes that are not ASCII have the bit set.
        let control_or_quote = (word ^ each(2)).wrapping_sub(each(0x21));
        let backslash = (word ^ each(b'\\')).wrapping_sub(each(1));
        let found = (control_or_quote | backslash) & !word & each(0x80);
        if found != 0 {
            return before.saturating_add(bytes_below(found));
        }
        before = before.saturating_add(8);
    }
    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    before.saturating_add(tail.iter().position(stops).unwrap_or(tail.len()))
}

/// Counts the bytes of a word that are before the first one in which a bit is set.
#[inline]
fn bytes_below(bits: u64) -> usize {
    usize::try_from(bits.trailing_zeros() / 8).unwrap_or(8)
}

/// Reads an escape from behind its backslash.
fn escape(at: Input<'_>) -> Parsed<'_, char> {
    let [kind, rest @ ..] = at else { return fail(Why::End, at) };
    let character = match kind {
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(at, rest),
        _ => return fail(Why::Escape, at),
    };
    Ok((rest, character))
}

/// Reads the digits behind `\u`, and the second escape of a surrogate pair. `start` is where the escape begins.
fn unicode<'h>(start: Input<'h>, at: Input<'h>) -> Parsed<'h, char> {
    let (rest, first) = hexadecimal(at)?;
    let (rest, second) = match first {
        0xd800..0xdc00 => match rest {
            [b'\\', b'u', digits @ ..] => {
                let (rest, second) = hexadecimal(digits)?;
                (rest, Some(second))
            }
            [] | [b'\\'] => return fail(Why::End, &[]),
            _ => return fail(Why::Surrogate, start),
        },
        _ => (rest, None),
    };
    let character = char::decode_utf16([first].into_iter().chain(second)).next();
    match character {
        Some(Ok(character)) => Ok((rest, character)),
        _ => fail(Why::Surrogate, start),
    }
}

/// Reads four hexadecimal digits.
fn hexadecimal(mut at: Input<'_>) -> Parsed<'_, u16> {
    let mut number = 0;
    for _ in 0..4 {
        let digit = at.first().and_then(|digit| char::from(*digit).to_digit(16));
        let Some(digit) = digit.and_then(|digit| u16::try_from(digit).ok()) else {
            return fail(Why::Escape, at);
        };
        number = number << 4 | digit;
        at = at.get(1..).unwrap_or_default();
    }
    Ok((at, number))
}

/// Appends a text that has escapes, without them. The text has been read, so the escapes are valid.
pub(super) fn unescape(mut text: &str, out: &mut String) -> Result<(), Why> {
    // An escape is longer than what it stands for.
    out.try_reserve(text.len()).map_err(|_| Why::Memory)?;
    while let Some((before, behind)) = text.split_once('\\') {
        out.push_str(before);
        let (rest, character) = escape(behind.as_bytes()).map_err(|_| Why::Escape)?;
        out.push(character);
        let escape = behind.len().saturating_sub(rest.len());
        text = behind.get(escape..).unwrap_or_default();
    }
    out.push_str(text);
    Ok(())
}

/// Reads an unsigned integer of at most 64 bits.
pub(super) fn number(at: Input<'_>) -> Parsed<'_, u64> {
    match digits(at) {
        Some((rest, number)) if !matches!(rest, [b'.' | b'e' | b'E', ..]) => Ok((rest, number)),
        _ => fail(Why::Expected(Expected::Number), at),
    }
}

/// Reads the digits of an unsigned integer of at most 64 bits, if that is what stands there.
#[inline]
pub(super) fn digits(at: Input<'_>) -> Option<(Input<'_>, u64)> {
    let [first, second] = match (at.first_chunk(), at.get(8..).and_then(<[u8]>::first_chunk)) {
        (Some(first), Some(second)) => [*first, *second].map(u64::from_le_bytes),
        _ => return many_digits(at),
    };
    let (length, number) = match leading_digits(first) {
        (8, high) => {
            let (length, low) = leading_digits(second);
            let Some(power) = POWERS.get(length) else { return many_digits(at) };
            (length.saturating_add(8), high.wrapping_mul(*power).wrapping_add(low))
        }
        all => all,
    };
    let is_valid = length == 1 || (length > 1 && at.first() != Some(&b'0'));
    if is_valid { Some((at.get(length..)?, number)) } else { None }
}

/// The powers of ten with fewer than eight zeros.
const POWERS: [u64; 8] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Counts the digits that eight characters begin with, and reads their number.
#[inline]
fn leading_digits(characters: u64) -> (usize, u64) {
    let digits = characters ^ each(b'0');
    // The highest bit is set by adding where a byte is above 9; the carry of a byte of 0x8a and above disturbs only
    // those behind.
    let others = (digits.wrapping_add(each(0x76)) | digits) & each(0x80);
    let length = bytes_below(others);
    // Digits become the last ones of eight, behind zeros.
    let used = others.trailing_zeros() & !7;
    let digits = digits.checked_shl(64_u32.wrapping_sub(used)).unwrap_or_default();
    // Each step joins two neighbors, of which the first is the higher one.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    (length, fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// Reads digits one by one: the longest numbers, and those close to the end.
#[inline(never)]
fn many_digits(at: Input<'_>) -> Option<(Input<'_>, u64)> {
    let length = at.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(at.len());
    let (digits, rest) = at.split_at_checked(length)?;
    if let [] | [b'0', _, ..] = digits {
        return None;
    }
    let number = digits.iter().try_fold(0_u64, |number, digit| {
        number.checked_mul(10)?.checked_add(u64::from(digit ^ b'0'))
    })?;
    Some((rest, number))
}

/// The same byte eight times.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}
