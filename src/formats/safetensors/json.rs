//! Parsing the JSON tokens of a safetensors header.
//!
//! The structure of a header has a fixed depth, so no function here recurses, and there is no parser for arbitrary values.

use alloc::string::String;

use super::fault::{Expected, Input, Parsed, Why, fail};

/// Skips JSON white space at the start of `at`.
pub(super) fn space(mut at: Input<'_>) -> Input<'_> {
    while let [b' ' | b'\t' | b'\n' | b'\r', rest @ ..] = at {
        at = rest;
    }
    at
}

/// Skips `literal` at the start of the input. Returns `None` if the input begins with something else.
#[inline]
pub(super) fn starts<'h, const N: usize>(at: Input<'h>, literal: &[u8; N]) -> Option<Input<'h>> {
    let (first, rest) = at.split_first_chunk()?;
    (first == literal).then_some(rest)
}

/// Skips white space and the byte `wanted`. Any other byte is an error, which names `expected` as the expected token.
pub(super) fn byte(at: Input<'_>, wanted: u8, expected: Expected) -> Parsed<'_, ()> {
    match space(at) {
        [found, rest @ ..] if *found == wanted => Ok((rest, ())),
        at => fail(Why::Expected(expected), at),
    }
}

/// Reads the next item of a map or array with `item`, after the comma unless `is_first`. Returns `None` at the byte `end`,
/// which ends the map or array.
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

/// The position and length of a JSON string in the header. The string is between its quotes, and its escapes are not decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    /// The position of the first byte after the opening quote, as the number of bytes from there to the end of the header.
    pub(super) left: usize,
    pub(super) length: usize,
    pub(super) has_escapes: bool,
}

impl Text {
    /// Returns the position of the opening quote, as the number of bytes from the quote to the end of the header.
    #[inline]
    pub(super) fn quote(self) -> usize {
        self.left.saturating_add(1)
    }
}

/// Parses a JSON string, which must begin at the start of `at`.
pub(super) fn text(at: Input<'_>) -> Parsed<'_, Text> {
    match at {
        [b'"', content @ ..] => match plain_text(content) {
            Some(read) => Ok(read),
            None => escaped(content),
        },
        _ => fail(Why::Expected(Expected::Text), at),
    }
}

/// Parses a JSON string without escapes. `content` is the header after the opening quote. Returns `None` if the string has
/// escapes or is invalid.
#[inline]
pub(super) fn plain_text(content: Input<'_>) -> Option<(Input<'_>, Text)> {
    let length = plain(content);
    let rest = content.get(length..)?.strip_prefix(b"\"")?;
    Some((rest, Text { left: content.len(), length, has_escapes: false }))
}

/// Parses a JSON string with escapes, and checks each escape. `content` is the header after the opening quote.
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

/// Returns the number of bytes of `text` before the first quote, backslash or control character.
#[inline]
fn plain(text: Input<'_>) -> usize {
    let (chunks, tail) = text.as_chunks::<8>();
    let mut before = 0_usize;
    for chunk in chunks {
        let word = u64::from_le_bytes(*chunk);
        // XOR with 2 turns the quote, 0x22, into 0x20, right after the control characters, so that one comparison with 0x21
        // finds both. The subtraction sets the highest bit of each smaller byte. A borrow only disturbs later bytes of the
        // text, so the first match is exact. Bytes that are not ASCII have the highest bit set already.
        let control_or_quote = (word ^ repeated(2)).wrapping_sub(repeated(0x21));
        let backslash = (word ^ repeated(b'\\')).wrapping_sub(repeated(1));
        let found = (control_or_quote | backslash) & !word & repeated(0x80);
        if found != 0 {
            return before.saturating_add(bytes_below(found));
        }
        before = before.saturating_add(8);
    }
    let stops = |byte: &u8| matches!(byte, b'"' | b'\\' | ..0x20);
    before.saturating_add(tail.iter().position(stops).unwrap_or(tail.len()))
}

/// Returns the number of zero bytes before the first nonzero byte of the little-endian word `bits`. In each byte of `bits`,
/// only the highest bit may be set.
#[inline]
fn bytes_below(bits: u64) -> usize {
    usize::try_from(bits.trailing_zeros() / 8).unwrap_or(8)
}

/// Parses a JSON escape, and returns the character that it means. `at` is the header after the backslash.
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

/// Parses the four digits at `at`, which follow `\u`. If they are the first half of a surrogate pair, parses the escape of
/// the second half, too. A half without the other half is reported at `start`, the start of the escape after its backslash,
/// a character that is no digit where it is, and a header that ends within the escape at the end of the header.
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

/// Parses four hexadecimal digits as a number.
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

/// Decodes the escapes of `text` and appends the result to `out`. The text has been parsed, so the escapes are valid.
pub(super) fn unescape(mut text: &str, out: &mut String) -> Result<(), Why> {
    // An escape is longer than the character that it encodes, so this reservation is sufficient.
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

/// Parses a decimal unsigned integer of at most 64 bits. Anything else is an error.
pub(super) fn number(at: Input<'_>) -> Parsed<'_, u64> {
    match digits(at) {
        Some((rest, number)) if !matches!(rest, [b'.' | b'e' | b'E', ..]) => Ok((rest, number)),
        _ => fail(Why::Expected(Expected::Number), at),
    }
}

/// Parses a decimal unsigned integer of at most 64 bits, without a leading zero. Returns `None` if `at` begins with anything
/// else.
#[inline]
pub(super) fn digits(at: Input<'_>) -> Option<(Input<'_>, u64)> {
    let first = match at {
        [b'1'..=b'9', ..] => at.first_chunk(),
        // JSON numbers have no leading zeros, so a zero is a complete number.
        [b'0', rest @ ..] => {
            return (!rest.first().is_some_and(u8::is_ascii_digit)).then_some((rest, 0));
        }
        _ => return None,
    };
    let Some(first) = first else { return more_digits(at, 0) };
    let digits = u64::from_le_bytes(*first) ^ repeated(b'0');
    // The addition sets the highest bit of each byte above 9. A carry from a byte of 0x8a or more only disturbs later bytes.
    let others = (digits.wrapping_add(repeated(0x76)) | digits) & repeated(0x80);
    if others == 0 {
        return more_digits(at.get(8..)?, eight_digits(digits));
    }
    let bits = others.trailing_zeros() & !7;
    // Fewer than eight digits are shifted to the high bytes of the word, so that they read as eight digits with leading
    // zeros.
    let number = eight_digits(digits.wrapping_shl(64_u32.wrapping_sub(bits)));
    Some((at.get(usize::try_from(bits / 8).ok()?..)?, number))
}

/// Converts eight decimal digits to the number that they spell. Each byte of `digits` is the value (0 to 9) of one digit,
/// and the lowest byte is the most significant digit.
#[inline]
fn eight_digits(digits: u64) -> u64 {
    // Each step joins two neighboring numbers. The number in the lower bits is the more significant one.
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff
}

/// Parses the digits that follow the first eight digits of a number, one by one. `number` is the value of the first eight.
fn more_digits(mut at: Input<'_>, mut number: u64) -> Option<(Input<'_>, u64)> {
    while let [digit @ b'0'..=b'9', rest @ ..] = at {
        number = number.checked_mul(10)?.checked_add(u64::from(digit ^ b'0'))?;
        at = rest;
    }
    Some((at, number))
}

/// Returns a 64-bit word whose eight bytes all are `byte`.
const fn repeated(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::safetensors::fault::Fault;
    use alloc::borrow::ToOwned as _;
    use alloc::format;
    use alloc::string::ToString as _;
    use alloc::vec;
    use alloc::vec::Vec;

    fn why<O: core::fmt::Debug>(parsed: Parsed<'_, O>) -> (Why, u32) {
        match parsed.unwrap_err() {
            nom::Err::Failure(Fault { why, left }) => (why, left),
            other => panic!("{other:?}"),
        }
    }

    /// Returns the decoded string at the start of a text, and the text after it.
    fn read(input: &str) -> (String, &str) {
        let (rest, text) = text(input.as_bytes()).unwrap();
        let content = &input[input.len() - text.left..][..text.length];
        let mut out = String::new();
        unescape(content, &mut out).unwrap();
        assert_eq!(text.has_escapes, content.contains('\\'));
        (out, &input[input.len() - rest.len()..])
    }

    #[test]
    fn strings_end_at_their_quote_wherever_it_stands() {
        for length in 0..40 {
            let plain = "é".repeat(length / 2) + &"x".repeat(length % 2);
            let input = format!("\"{plain}\" \"y\"");
            assert_eq!(read(&input), (plain.clone(), " \"y\""));
            assert_eq!(why(text(&input.as_bytes()[..=plain.len()])), (Why::End, 0));
            for byte in 0..0x20 {
                let input = format!("\"{plain}{}behind\"", char::from(byte));
                assert_eq!(why(text(input.as_bytes())), (Why::Control, 8), "{byte} at {length}");
            }
            let input = format!("\"{plain}\u{7f}\u{80}!#[]\"");
            assert_eq!(read(&input), (format!("{plain}\u{7f}\u{80}!#[]"), ""));
        }
    }

    #[test]
    fn escapes() {
        for (written, wanted) in [
            (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
            (r"\u0000\u00e9\u00E9\ud7ff\uE000\uffff", "\0éé\u{d7ff}\u{e000}\u{ffff}"),
            (r"a\ud83d\ude00b\udbff\udfffc", "a😀b\u{10ffff}c"),
        ] {
            assert_eq!(read(&format!("\"{written}\"")).0, wanted);
        }
        for (written, wanted) in [
            (r#"\x""#, (Why::Escape, 2)),
            (r#"\U0041""#, (Why::Escape, 6)),
            (r#"\u00g0""#, (Why::Escape, 3)),
            (r#"\u+041""#, (Why::Escape, 5)),
            (r#"\u004""#, (Why::Escape, 1)),
            (r"\u004", (Why::End, 0)),
            (r"\", (Why::End, 0)),
            (r#"\ud83d""#, (Why::Surrogate, 6)),
            (r#"\ud83d\n""#, (Why::Surrogate, 8)),
            (r#"\ud83d\u0041""#, (Why::Surrogate, 12)),
            (r#"\ude00\ud83d""#, (Why::Surrogate, 12)),
            (r"\ud83d\", (Why::End, 0)),
            (r"\ud83d", (Why::End, 0)),
        ] {
            assert_eq!(why(text(format!("\"{written}").as_bytes())), wanted, "{written}");
        }
    }

    #[test]
    fn numbers_of_every_length() {
        let lengths = (1..=20).map(|length| "98765432109876543210"[20 - length..].to_owned());
        let edges = [0, 9, 10, 99_999_999, 100_000_000, u64::MAX - 1, u64::MAX];
        for digits in lengths.chain(edges.map(|edge| edge.to_string())) {
            for behind in ["", ",", "]  ", ", 12345678901234567890", "/", ":", "\u{80}\u{ff}"] {
                let input = format!("{digits}{behind}");
                let wanted =
                    digits.parse().ok().filter(|_| !digits.starts_with('0') || digits == "0");
                let found = number(input.as_bytes()).ok();
                assert_eq!(found, wanted.map(|wanted| (behind.as_bytes(), wanted)), "{input}");
            }
        }
        let expected = Why::Expected(Expected::Number);
        for other in [
            "-1",
            "-0",
            "+1",
            "00",
            "01",
            "1.0",
            "1e3",
            "1E3",
            "0.0",
            "0e0",
            ".5",
            "]",
            "\"1\"",
            "null",
            "12345678.0",
            "123456789012e1",
            "18446744073709551616",
            "100000000000000000000",
        ] {
            let wanted = (expected, u32::try_from(other.len()).unwrap());
            assert_eq!(why(number(other.as_bytes())), wanted, "{other}");
        }
        assert_eq!(why(number(b"")), (Why::End, 0));
    }

    #[test]
    fn members_and_their_ends() {
        let all = |mut at: &'static [u8]| {
            let mut numbers = Vec::new();
            loop {
                match next(at, numbers.is_empty(), b']', number) {
                    Ok((rest, Some(number))) => {
                        (at, numbers) = (rest, [numbers, vec![number]].concat());
                    }
                    Ok((rest, None)) => return Ok((rest, numbers)),
                    Err(_) => return Err(why(next(at, numbers.is_empty(), b']', number))),
                }
            }
        };
        assert_eq!(all(b"]x"), Ok((&b"x"[..], vec![])));
        assert_eq!(all(b" \t\r\n1 , 2\n]"), Ok((&b""[..], vec![1, 2])));
        let (number, comma) =
            (Why::Expected(Expected::Number), Why::Expected(Expected::CommaOr(b']')));
        assert_eq!(all(b",1]"), Err((number, 3)));
        assert_eq!(all(b"1,]"), Err((number, 1)));
        assert_eq!(all(b"1 2]"), Err((comma, 2)));
        assert_eq!(all(b"1\x0c]"), Err((comma, 2)));
        assert_eq!(all(b"1"), Err((Why::End, 0)));
    }
}
