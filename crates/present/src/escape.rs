//! Names as they can be shown: one line, nothing hidden, nothing that moves the cursor or turns
//! the direction of writing.

use std::path::Path;

use unicode_width::UnicodeWidthChar as _;

/// Columns of a name in a message, at most.
pub const COLUMNS: usize = 80;

/// Whether a character does something else than show itself.
fn is_hidden(c: char) -> bool {
    if matches!(c, ' '..='~') {
        return false;
    }
    let invisible = matches!(c,
        // Soft hyphen, Arabic letter mark, fillers, vowel separator.
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}'
        // Zero-width characters and marks of direction; separators; embeddings and isolates.
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        // Byte order mark, interlinear annotations, tags and selectors.
        | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    invisible || c.is_control() || c.is_whitespace()
}

/// Whether a character is written as an escape, so that no other name looks the same.
fn is_escaped(c: char) -> bool {
    matches!(c, '"' | '\\') || is_hidden(c)
}

/// One character of a name.
fn push(text: &mut String, c: char) {
    if is_escaped(c) {
        text.extend(c.escape_unicode());
    } else {
        text.push(c);
    }
}

/// Columns that a character takes. None takes less than one: a name may be all accents.
fn columns(c: char) -> usize {
    if is_escaped(c) { c.escape_unicode().len() } else { c.width().unwrap_or(1).max(1) }
}

/// A name in full.
pub fn whole(name: &str) -> String {
    let mut text = String::new();
    name.chars().for_each(|c| push(&mut text, c));
    text
}

/// A name, with its middle cut out if it takes more columns than that.
pub fn cut(name: &str, limit: usize) -> String {
    let mut left = limit;
    let fits = name.chars().all(|c| match left.checked_sub(columns(c)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    });
    if fits {
        return whole(name);
    }
    let ends = limit.saturating_sub(1);
    let head = fitting(name.chars(), ends.div_ceil(2));
    let tail = fitting(name.chars().rev(), ends / 2);
    let mut text = String::new();
    for c in head {
        push(&mut text, c);
    }
    text.push('…');
    for c in tail.into_iter().rev() {
        push(&mut text, c);
    }
    text
}

/// As many of the first characters as fit.
fn fitting(chars: impl Iterator<Item = char>, mut left: usize) -> Vec<char> {
    let mut fitting = Vec::new();
    for c in chars {
        match left.checked_sub(columns(c)) {
            Some(rest) => left = rest,
            None => break,
        }
        fitting.push(c);
    }
    fitting
}

/// A name between quotes, cut.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", cut(name, COLUMNS))
}

/// A role: bare if it looks like one, else between quotes.
pub fn role(role: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if !role.is_empty() && role.len() <= COLUMNS && role.chars().all(plain) {
        role.to_owned()
    } else {
        quoted(role)
    }
}

/// A path in full, which can be typed as long as it holds nothing hidden.
pub fn path(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if is_hidden(c) {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hidden_gets_through() {
        assert_eq!(whole("a\0\u{1b}[31m\n"), "a\\u{0}\\u{1b}[31m\\u{a}");
        assert_eq!(
            whole("\"\\\u{202e}\u{200b}\u{feff}"),
            "\\u{22}\\u{5c}\\u{202e}\\u{200b}\\u{feff}"
        );
        assert_eq!(whole("\u{2066}\u{2069}\u{85}\u{2028}"), "\\u{2066}\\u{2069}\\u{85}\\u{2028}");
        assert_eq!(whole("Gewicht ä 重み"), "Gewicht ä 重み");
    }

    #[test]
    fn escapes_tell_names_apart() {
        assert_ne!(whole("\u{200b}"), whole("\\u{200b}"));
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abcde…hijk");
        // Two columns each, and five for an escape.
        assert_eq!(cut("重重重重重重", 7), "重…重");
        assert_eq!(cut("\0\0\0", 11), "\\u{0}…\\u{0}");
        let accents = "\u{301}".repeat(500);
        assert_eq!(cut(&accents, 80).chars().count(), 80);
    }

    #[test]
    fn roles_are_bare_where_they_look_like_one() {
        assert_eq!(role("packed_weight"), "packed_weight");
        assert_eq!(role(""), "\"\"");
        assert_eq!(role("a/b"), "\"a/b\"");
    }
}
