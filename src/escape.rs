//! Escaping names for display: no character is hidden, moves the cursor or changes the direction of writing, and different
//! names look different.
//!
//! There is one notation: the name between quotes, in which hidden characters, quotes and backslashes are written `\u{…}`. In
//! columns, a plain name has no quotes. A name is plain if it is not empty and contains no such character, space, slash or
//! ellipsis. A name that is cut has an ellipsis outside of the quotes: `"begin"…"end"`.

mod hidden;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;
#[cfg(feature = "std")]
use core::fmt::Write as _;
#[cfg(feature = "std")]
use std::path::{MAIN_SEPARATOR, Path};

use unicode_width::UnicodeWidthChar as _;

/// The largest number of columns that a name takes in a message. Longer names are cut.
pub const COLUMNS: usize = 80;

/// The version of Unicode whose properties define the hidden characters.
pub const UNICODE_VERSION: &str = hidden::UNICODE_VERSION;

/// Returns whether a character is invisible or has an effect other than being visible: the default-ignorable, control, format,
/// separator and white-space characters of Unicode, blank letters and symbols, and private and unassigned characters, whose
/// appearance is not known. The space is not hidden.
pub fn is_hidden(c: char) -> bool {
    if matches!(c, ' '..='~') {
        return false;
    }
    let [low, high, plane, _] = u32::from(c).to_le_bytes();
    let Some(turns) = hidden::PLANES.get(usize::from(plane)) else {
        // Planes above these tables hold only private, unassigned, tag and selector characters. A test checks this against
        // the source of the tables.
        return true;
    };
    let code = u16::from_le_bytes([low, high]);
    turns.partition_point(|turn| *turn <= code) % 2 == 1
}

/// Returns whether `c` is written as an escape: a hidden character, a double quote or a backslash. Different names then look
/// different.
fn is_escaped(c: char) -> bool {
    matches!(c, '"' | '\\') || is_hidden(c)
}

/// Returns whether `name` needs no quotes in a column, because it can be told apart from the text around it.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c| is_escaped(c) || matches!(c, ' ' | '/' | '…'))
}

/// Returns the number of columns that `c` takes in a terminal. Combining accents count as one column, because a name may
/// consist of nothing else.
fn columns(c: char) -> usize {
    if is_escaped(c) { c.escape_unicode().len() } else { c.width().unwrap_or(1).max(1) }
}

/// Splits `text` into runs of characters that need no escape. Each run comes with the character after it that needs one, or
/// with `None` at the end.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = (&str, Option<char>)> {
    text.split_inclusive(is_escaped).map(|piece| {
        let mut run = piece.chars();
        match run.next_back().filter(|last| is_escaped(*last)) {
            Some(last) => (run.as_str(), Some(last)),
            None => (piece, None),
        }
    })
}

/// A complete name, displayed in escaped form without quotes.
#[derive(Clone, Copy, Debug)]
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        runs(self.0).try_for_each(|(run, escaped)| {
            f.write_str(run)?;
            escaped.map_or(Ok(()), |c| write!(f, "{}", c.escape_unicode()))
        })
    }
}

/// Parses the escape of a character, without its backslash, at the beginning of `text`: `u{202e}`, a code of one to six hexadecimal
/// digits. Returns the character and the text after the escape, or `None` if `text` does not begin with an escape.
pub fn code(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = text.strip_prefix("u{")?.split_once('}')?;
    let is_short = digits.len() <= 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let code = u32::from_str_radix(digits, 16).ok().filter(|_| is_short)?;
    Some((char::from_u32(code)?, rest))
}

/// Returns the name that is written `escaped`, as [`Escaped`] writes it: each `\u{202e}` becomes its character, and all other text
/// stays as it is.
pub fn unescaped(escaped: &str) -> String {
    let mut pieces = escaped.split('\\');
    let mut name = String::from(pieces.next().unwrap_or_default());
    for piece in pieces {
        if let Some((own, rest)) = code(piece) {
            name.push(own);
            name.push_str(rest);
        } else {
            name.push('\\');
            name.push_str(piece);
        }
    }
    name
}

/// A complete name, displayed in escaped form between quotes.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", Escaped(self.0))
    }
}

/// A complete name, displayed in escaped form, and between quotes unless the name is plain.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a>(pub &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_plain(self.0) { f.write_str(self.0) } else { Quoted(self.0).fmt(f) }
    }
}

impl Name<'_> {
    /// Returns the number of columns that the displayed name takes in a terminal, quotes and escapes included.
    pub fn columns(&self) -> usize {
        let quotes = if is_plain(self.0) { 0 } else { 2 };
        self.0.chars().map(columns).fold(quotes, usize::saturating_add)
    }
}

/// Returns the complete `name` in escaped form, without quotes.
pub fn escape_all(name: &str) -> String {
    Escaped(name).to_string()
}

/// Returns the beginning and the end of `text` that fit into `limit` columns with an ellipsis between them. Returns `None`
/// if the whole text fits.
fn ends(text: &str, limit: usize) -> Option<[&str; 2]> {
    if fitting(text.chars(), limit) == text.len() {
        return None;
    }
    let ends = limit.saturating_sub(1);
    let head = fitting(text.chars(), ends.div_ceil(2));
    let tail = text.len().saturating_sub(fitting(text.chars().rev(), ends / 2));
    Some([text.get(..head)?, text.get(tail..)?])
}

/// Returns the length in bytes of the leading characters of `chars` that fit into `left` columns.
fn fitting(chars: impl Iterator<Item = char>, mut left: usize) -> usize {
    let mut bytes = 0_usize;
    for c in chars {
        match left.checked_sub(columns(c)) {
            Some(rest) => left = rest,
            None => break,
        }
        bytes = bytes.saturating_add(c.len_utf8());
    }
    bytes
}

/// A name, displayed between quotes. Its middle is cut out if it takes more columns than the limit.
#[derive(Clone, Copy, Debug)]
struct Within<'a>(&'a str, usize);

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ends(self.0, self.1) {
            None => Quoted(self.0).fmt(f),
            Some([head, tail]) => write!(f, "\"{}\"…\"{}\"", Escaped(head), Escaped(tail)),
        }
    }
}

/// A name, displayed between quotes. Its middle is cut out if the name is long, as [`quoted`] does, but without allocation.
#[derive(Clone, Copy, Debug)]
pub struct Short<'a>(pub &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Within(self.0, COLUMNS).fmt(f)
    }
}

/// Returns `text`, which is not a name, in escaped form. If it takes more than `limit` columns, its middle is replaced by an
/// ellipsis.
pub fn cut(text: &str, limit: usize) -> String {
    match ends(text, limit) {
        None => escape_all(text),
        Some([head, tail]) => format!("{}…{}", Escaped(head), Escaped(tail)),
    }
}

/// Returns `name` in escaped form between quotes. If it takes more than [`COLUMNS`] columns, its middle is replaced by an
/// ellipsis.
pub fn quoted(name: &str) -> String {
    Short(name).to_string()
}

/// Returns `name` in escaped form, and between quotes unless it is plain. If it takes more than `limit` columns, its middle
/// is replaced by an ellipsis.
pub fn word(name: &str, limit: usize) -> String {
    Word(name, limit).to_string()
}

/// A name and a limit, displayed as [`word`] formats the name, but without allocation.
pub(crate) struct Word<'a>(pub(crate) &'a str, pub(crate) usize);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, limit) = *self;
        if is_plain(name) && ends(name, limit).is_none() {
            f.write_str(name)
        } else {
            Within(name, limit).fmt(f)
        }
    }
}

/// Returns `role`, the role of a component, as messages show it: escaped, and cut if it is long.
pub fn role(role: &str) -> String {
    word(role, COLUMNS)
}

#[cfg(feature = "std")]
/// Returns the complete `path` in escaped form, and between quotes unless it is plain. Bytes that are not Unicode are written
/// `\x{…}`.
pub fn path(path: &Path) -> String {
    let own = |c| c == MAIN_SEPARATOR;
    let plain = |text: &str| {
        !text.is_empty() && !text.contains(|c| !own(c) && (is_escaped(c) || matches!(c, ' ' | '…')))
    };
    if let Some(text) = path.to_str().filter(|text| plain(text)) {
        return text.to_owned();
    }
    let mut text = "\"".to_owned();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&escape_all(chunk.valid()));
        for byte in chunk.invalid() {
            // Writing into a string cannot fail.
            let _ = write!(text, "\\x{{{byte:02x}}}");
        }
    }
    text.push('"');
    text
}

/// Returns `text`, a message of several lines that may repeat arguments, with hidden characters escaped except line feeds.
pub fn lines(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(printable).collect();
    lines.join("\n")
}

fn printable(line: &str) -> String {
    let mut text = String::new();
    for c in line.chars() {
        if is_hidden(c) { text.extend(c.escape_unicode()) } else { text.push(c) }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_names_are_read_back() {
        for name in ["", "w", "a\nb", r"a\b", r"\u{61}", "\u{202e}x\"", "重み", "\0\u{10ffff}"] {
            assert_eq!(unescaped(&escape_all(name)), name);
        }
        for plain in [r"\n", r"a\", r"\u{}", r"\u{110000}", r"\u{0000061}", r"\u61"] {
            assert_eq!(unescaped(plain), plain);
        }
    }

    #[test]
    fn nothing_hidden_gets_through() {
        assert_eq!(escape_all("a\0\u{1b}[31m\n"), "a\\u{0}\\u{1b}[31m\\u{a}");
        assert_eq!(
            escape_all("\"\\\u{202e}\u{200b}\u{feff}"),
            "\\u{22}\\u{5c}\\u{202e}\\u{200b}\\u{feff}"
        );
        assert_eq!(
            escape_all("\u{2066}\u{2069}\u{85}\u{2028}"),
            "\\u{2066}\\u{2069}\\u{85}\\u{2028}"
        );
        assert_eq!(escape_all("Gewicht ä 重み"), "Gewicht ä 重み");
        assert_eq!(lines("a\u{1b}b\n\u{9b}"), "a\\u{1b}b\n\\u{9b}");
    }

    #[test]
    fn plain_names_are_bare() {
        let shown = |name| Name(name).to_string();
        for plain in ["q_proj", "model.layers.0", "重い", "a:b", "-"] {
            assert_eq!(shown(plain), plain);
        }
        assert_eq!(shown(""), "\"\"");
        assert_eq!(shown("  hidden"), "\"  hidden\"");
        assert_eq!(shown("a/b"), "\"a/b\"");
        assert_eq!(shown("\"a\""), "\"\\u{22}a\\u{22}\"");
        assert_eq!(shown("a…b"), "\"a…b\"");
        for name in ["", "a b", "重\u{200b}", "abc"] {
            assert_eq!(
                Name(name).columns(),
                name.chars().map(columns).sum::<usize>() + {
                    if shown(name).starts_with('"') { 2 } else { 0 }
                }
            );
        }
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abcde…hijk");
        // Each of these characters takes two columns, and an escape takes five.
        assert_eq!(cut("重重重重重重", 7), "重…重");
        assert_eq!(cut("\0\0\0", 11), "\\u{0}…\\u{0}");
        let accents = "\u{301}".repeat(500);
        assert_eq!(cut(&accents, 80).chars().count(), 80);
        // A complete name must never look like a name that was cut.
        assert_eq!(word("abcdefghijk", 10), "\"abcde\"…\"hijk\"");
        assert_eq!(word("abc…ijk", 10), "\"abc…ijk\"");
        let [head, tail] = ["a".repeat(40), "a".repeat(39)];
        assert_eq!(quoted(&"a".repeat(81)), format!("\"{head}\"…\"{tail}\""));
    }

    #[test]
    fn roles_are_bare_where_they_look_like_one() {
        assert_eq!(role("packed_weight"), "packed_weight");
        assert_eq!(role(""), "\"\"");
        assert_eq!(role("a/b"), "\"a/b\"");
    }

    #[cfg(feature = "std")]
    #[test]
    fn paths() {
        let shown = |text: &str| path(Path::new(text));
        assert_eq!(shown("folder.zt"), "folder.zt");
        assert_eq!(shown("a b.zt"), "\"a b.zt\"");
        assert_eq!(shown("a.zt: valid\n"), "\"a.zt: valid\\u{a}\"");
        assert_ne!(shown("\u{200b}"), shown("\\u{200b}"));
    }

    #[cfg(all(unix, feature = "std"))]
    #[test]
    fn paths_that_are_not_unicode() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let shown = |bytes| path(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(shown(b"a/b"), "a/b");
        assert_eq!(shown(b"a\xff\xfe"), "\"a\\x{ff}\\x{fe}\"");
        assert_ne!(shown(b"\xff"), shown(b"\\x{ff}"));
    }
}
