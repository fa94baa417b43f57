//! The option `--rename`: the syntax of its values, and the new names that they give to tensors.

use regex_lite::{Regex, RegexBuilder};
use zten::num::u64_from_usize;

pub(crate) const NO_MEMORY: &str = "out of memory";
/// The largest number of bytes of memory that a compiled regular expression may take.
const MOST: usize = 1 << 20;
/// The largest length of a new name in bytes, unless the old name is longer. Each `--rename` may multiply the length of a
/// name, so a chain of renames could exhaust memory.
pub(crate) const NAME: usize = 64 << 10;

/// A rule that renames tensors: the value of one `--rename`.
#[derive(Clone, Debug)]
pub(crate) enum Rename {
    /// `OLD=NEW`: the tensor with the first name gets the second name.
    Exact(String, String),
    /// `s/PATTERN/REPLACEMENT/`: the first match of `regex` in each name is replaced, or every match if `all` is true.
    Pattern { regex: Regex, replacement: Vec<Piece>, all: bool },
}

/// A part of the replacement in `s/PATTERN/REPLACEMENT/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// The text that a group of the regular expression matched. Group 0 is the whole match.
    Group(usize),
}

/// The remaining work, in bytes looked at, that regular expressions may do on the names of a file. Each match may look at the
/// whole rest of a name, so a name from an untrusted file could take time quadratic in its length.
pub(crate) struct Work(u64);

impl Work {
    /// The work in bytes that is allowed for any file, whatever its names: about a second.
    const BASE: u64 = 1 << 24;
    /// The additional work for each byte of a name. It keeps the total time linear in the length of the names.
    const PER_BYTE: u64 = 64;

    /// Returns the work that is allowed before the names of a file are known: [`Self::BASE`] bytes. [`add`](Self::add)
    /// increases it for each name.
    pub(crate) fn new() -> Self {
        Self(Self::BASE)
    }

    /// Increases the remaining work by the allowance for `name`, which is proportional to its length.
    pub(crate) fn add(&mut self, name: &str) {
        let more = u64_from_usize(name.len()).saturating_mul(Self::PER_BYTE);
        self.0 = self.0.saturating_add(more);
    }

    /// Subtracts the work of looking at `bytes` bytes once: `bytes` + 1, so that an attempt on an empty rest counts, too.
    ///
    /// # Errors
    /// Less work than that is left.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.0.checked_sub(u64_from_usize(bytes).saturating_add(1));
        self.0 =
            left.ok_or("--rename takes too long: a pattern matches too often in long names")?;
        Ok(())
    }
}

impl Rename {
    /// Checks that `text`, a value of `--rename`, is `OLD=NEW` or `s/PATTERN/REPLACEMENT/`, and returns `text` unchanged.
    pub(crate) fn check(text: &str) -> Result<String, String> {
        Self::parse(text).map(|_| text.to_owned())
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some((pattern, replacement, all)) = text.strip_prefix("s/").and_then(split) {
            let regex = RegexBuilder::new(&pattern).size_limit(MOST).build();
            let regex = regex.map_err(|error| format!("invalid regular expression: {error}"))?;
            return Ok(Self::Pattern { regex, replacement: pieces(&replacement), all });
        }
        match text.split_once('=') {
            Some((old, new)) => Ok(Self::Exact(old.to_owned(), new.to_owned())),
            None => Err("expected OLD=NEW or s/PATTERN/REPLACEMENT/".to_owned()),
        }
    }

    /// Returns the new name that this rule gives to the tensor `name`, or `None` if the rule does not apply to that name.
    ///
    /// # Errors
    /// The new name is longer than `longest` bytes, or `work` is used up.
    pub(crate) fn apply(
        &self,
        name: &str,
        longest: usize,
        work: &mut Work,
    ) -> Result<Option<String>, String> {
        let (regex, replacement, all) = match self {
            Self::Exact(old, new) if name == old => return checked(new, longest).map(Some),
            Self::Exact(..) => return Ok(None),
            Self::Pattern { regex, replacement, all } => (regex, replacement, *all),
        };
        let mut new = String::new();
        let put = |new: &mut String, text: &str| {
            if new.len().saturating_add(text.len()) > longest {
                return Err(too_long(longest));
            }
            new.push_str(text);
            Ok(())
        };
        let (mut kept, mut is_match) = (0, false);
        let mut matches = regex.captures_iter(name).take(if all { usize::MAX } else { 1 });
        loop {
            work.take(name.len().saturating_sub(kept))?;
            let Some((captures, whole)) =
                matches.next().and_then(|own| Some(own.get(0)?.range()).map(|range| (own, range)))
            else {
                break;
            };
            is_match = true;
            put(&mut new, name.get(kept..whole.start).unwrap_or_default())?;
            for piece in replacement {
                let text = match piece {
                    Piece::Text(text) => text,
                    Piece::Group(group) => captures.get(*group).map_or("", |own| own.as_str()),
                };
                put(&mut new, text)?;
            }
            kept = whole.end;
        }
        put(&mut new, name.get(kept..).unwrap_or_default())?;
        Ok(is_match.then_some(new))
    }
}

/// Returns `new`, or an error if it is longer than `longest` bytes.
fn checked(new: &str, longest: usize) -> Result<String, String> {
    if new.len() > longest { Err(too_long(longest)) } else { Ok(new.to_owned()) }
}

fn too_long(longest: usize) -> String {
    format!("--rename: a new name would exceed the maximum of {longest} bytes")
}

/// Splits the text after `s/` at slashes without a backslash, into the pattern, the replacement, and whether the flag `g` follows.
/// A slash after a backslash loses the backslash. Returns `None` if there are not exactly two slashes, or another flag follows.
fn split(text: &str) -> Option<(String, String, bool)> {
    let (mut parts, mut part, mut chars) = (Vec::new(), String::new(), text.chars());
    while let Some(own) = chars.next() {
        match own {
            '/' => parts.push(std::mem::take(&mut part)),
            '\\' => match chars.next() {
                Some('/') => part.push('/'),
                next => part.extend(['\\'].into_iter().chain(next)),
            },
            own => part.push(own),
        }
    }
    match (<[String; 2]>::try_from(parts), part.as_str()) {
        (Ok([pattern, replacement]), flag @ ("" | "g")) => {
            Some((pattern, replacement, !flag.is_empty()))
        }
        _ => None,
    }
}

/// Parses a replacement in the notation of `sed`: `&` and `\0` are the whole match, `\1` the first group. A backslash before any
/// other character stands for that character.
fn pieces(replacement: &str) -> Vec<Piece> {
    let (mut pieces, mut text, mut chars) = (Vec::new(), String::new(), replacement.chars());
    let mut group = |text: &mut String, group| {
        pieces.extend([Piece::Text(std::mem::take(text)), Piece::Group(group)]);
    };
    while let Some(own) = chars.next() {
        match own {
            '&' => group(&mut text, 0),
            '\\' => match chars.next() {
                Some(digit @ '0'..='9') => {
                    let digit = digit.to_digit(10).and_then(|digit| usize::try_from(digit).ok());
                    group(&mut text, digit.unwrap_or_default());
                }
                next => text.push(next.unwrap_or('\\')),
            },
            own => text.push(own),
        }
    }
    pieces.push(Piece::Text(text));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn renamed(rename: &str, name: &str) -> Option<String> {
        Rename::parse(rename).unwrap().apply(name, NAME, &mut Work(Work::BASE)).unwrap()
    }

    #[test]
    fn names_that_grow_or_match_too_often_are_rejected() {
        let long = "a".repeat(40 << 10);
        let apply = |rename: &str, name: &str| {
            let mut work = Work(1 << 19);
            Rename::parse(rename).unwrap().apply(name, NAME, &mut work)
        };
        // Each match attempt looks for a "b" up to the end of the name.
        assert!(apply("s/a.*b|a/x/g", &long).unwrap_err().starts_with("--rename takes too long"));
        assert_eq!(apply("s/a.*b|a/x/", &long).unwrap().unwrap().len(), long.len());
        let many = "ab".repeat(512);
        assert_eq!(apply("s/a/x/g", &many).unwrap().unwrap(), "xb".repeat(512));
        for rename in ["s/.*/&&/", "s/a*/&&/g", &format!("s/b*/{}/", "x".repeat(30 << 10))] {
            let sentence = "--rename: a new name would exceed the maximum of 65536 bytes";
            assert_eq!(apply(rename, &long).unwrap_err(), sentence, "{rename:.9}");
        }
        assert_eq!(apply(&format!("a={}", "x".repeat(NAME)), "a").unwrap().unwrap().len(), NAME);
        apply(&format!("a={}", "x".repeat(NAME + 1)), "a").unwrap_err();
    }

    #[test]
    fn names_are_changed_as_sed_does() {
        for (rename, name, new) in [
            ("a=b", "a", Some("b")),
            ("a=b", "aa", None),
            ("a=b=c", "a", Some("b=c")),
            ("s/a=b", "s/a", Some("b")),
            (r"s/^model\.//", "model.layers.model.", Some("layers.model.")),
            (r"s/^model\.//", "models.x", None),
            ("s/a/b/", "aaa", Some("baa")),
            ("s/a/b/g", "aXa", Some("bXb")),
            (r"s/(\d+)\.(w)/\2.\1/", "l.12.w", Some("l.w.12")),
            ("s/b/[&]/", "abc", Some("a[b]c")),
            (r"s/b/\&$1/", "abc", Some("a&$1c")),
            (r"s/\//./g", "a/b/c", Some("a.b.c")),
            (r"s/\./\//", "a.b", Some("a/b")),
            ("s/x/x/", "x", Some("x")),
            ("s/$/.weight/", "a", Some("a.weight")),
            ("s/x*/-/g", "axb", Some("-a-b-")),
            (r"s/a|(b)/<\1>/g", "ab", Some("<><b>")),
            (r"s/a/\7/", "ab", Some("b")),
        ] {
            assert_eq!(renamed(rename, name).as_deref(), new, "{rename} {name}");
        }
        for wrong in ["a", "s/a", "s/a/b", "s/a/b/c", "s/(/x/", "s/a/b/gg"] {
            Rename::parse(wrong).unwrap_err();
        }
        let large = format!("s/{}/x/", "(a{1000}){1000}");
        assert!(Rename::parse(&large).unwrap_err().starts_with("invalid regular expression: "));
    }
}
