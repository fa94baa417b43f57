//! Selection and renaming of the objects that are written.

use std::borrow::Cow;

use regex_lite::{Regex, RegexBuilder};
use zten::num::u64_from_usize;
use zten_report::glob::Glob;

use crate::args::Select;
use crate::escape;
use crate::file::TensorFile;

const NO_MEMORY: &str = "out of memory";
/// Bytes of memory that a compiled regular expression may take.
const MOST: usize = 1 << 20;
/// Bytes of a new name, at most, unless the old name is longer. Each `--rename` may multiply the length of a name, so a
/// chain of them could exhaust memory.
const NAME: usize = 64 << 10;

/// A change of names: one `--rename`.
#[derive(Clone, Debug)]
pub(crate) enum Rename {
    /// One name becomes another.
    Exact(String, String),
    /// The part that a regular expression matches is replaced: once, or `all` of them.
    Pattern { regex: Regex, replacement: Vec<Piece>, all: bool },
}

/// A part of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Text(String),
    /// The match of a group of the regular expression. Group 0 is the whole match.
    Group(usize),
}

/// The remaining work, in bytes looked at, that regular expressions may do on the names of a file. Each match may look at the
/// whole rest of a name, so a name from an untrusted file could take time quadratic in its length.
struct Work(u64);

impl Work {
    /// The work that is allowed for any file: about a second.
    const BASE: u64 = 1 << 24;
    /// The additional work for each byte of a name. It keeps the total time linear in the length of the names.
    const PER_BYTE: u64 = 64;

    /// Adds the work that is allowed for `name`.
    fn add(&mut self, name: &str) {
        let more = u64_from_usize(name.len()).saturating_mul(Self::PER_BYTE);
        self.0 = self.0.saturating_add(more);
    }

    /// Subtracts the work of looking at `bytes` bytes once.
    ///
    /// # Errors
    /// No work is left.
    fn take(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.0.checked_sub(u64_from_usize(bytes).saturating_add(1));
        self.0 =
            left.ok_or("--rename takes too long: a pattern matches too often in long names")?;
        Ok(())
    }
}

impl Rename {
    /// Checks that `text` is `OLD=NEW` or `s/PATTERN/REPLACEMENT/`, and returns it.
    pub(crate) fn check(text: &str) -> Result<String, String> {
        Self::parse(text).map(|_| text.to_owned())
    }

    fn parse(text: &str) -> Result<Self, String> {
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

    /// Returns the new name of the object `name`, or `None` if the change does not apply to the name.
    ///
    /// # Errors
    /// The new name is longer than `longest` bytes, or `work` is used up.
    fn apply(&self, name: &str, longest: usize, work: &mut Work) -> Result<Option<String>, String> {
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
    format!("a new name would exceed the maximum of {longest} bytes")
}

/// Splits the text after `s/` at slashes without a backslash, into the pattern, the replacement, and whether the flag `g`
/// follows.
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

/// Parses a replacement in the notation of `sed`: `&` is the whole match, `\1` the first group.
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

/// A selected object.
struct Pick {
    ordinal: u32,
    /// The new name, or `None` if the object keeps its name.
    name: Option<Box<str>>,
}

/// The objects that are written, in the order of the file. `None` means all objects under their own names.
pub(crate) struct Selection(Option<Vec<Pick>>);

impl Selection {
    /// Selects and renames objects of `archive` as the options `select` ask.
    ///
    /// # Errors
    /// A pattern or name matches no object, two objects would get one name, the new names are too long, or memory runs out.
    pub(crate) fn new(select: &Select, archive: &TensorFile) -> Result<Self, String> {
        let Select { only, except, rename } = select;
        if only.is_empty() && except.is_empty() && rename.is_empty() {
            return Ok(Self(None));
        }
        let globs = |patterns: &[String]| -> Vec<_> {
            patterns.iter().map(|pattern| Glob::new(pattern)).collect()
        };
        let (only_globs, except) = (globs(only), globs(except));
        let rename: Vec<_> =
            rename.iter().map(|text| Rename::parse(text)).collect::<Result<_, _>>()?;
        let (mut used, mut renamed) = (vec![false; only.len()], vec![false; rename.len()]);
        let (mut picks, mut bytes) = (Vec::new(), 0_u64);
        let mut work = Work(Work::BASE);
        let most = archive.manifest().limits().manifest();
        for object in archive.tensors() {
            let mut wanted = only.is_empty();
            for (only, used) in only_globs.iter().zip(&mut used) {
                let matches = only.matches(object.name());
                (wanted, *used) = (wanted | matches, *used | matches);
            }
            if !wanted || except.iter().any(|except| except.matches(object.name())) {
                continue;
            }
            let mut name = Cow::Borrowed(object.name());
            let longest = name.len().max(NAME);
            for (rename, renamed) in rename.iter().zip(&mut renamed) {
                work.add(&name);
                if let Some(new) = rename.apply(&name, longest, &mut work)? {
                    (name, *renamed) = (Cow::Owned(new), true);
                }
            }
            let name = match name {
                Cow::Owned(name) => Some(name.into_boxed_str()),
                Cow::Borrowed(_) => None,
            };
            bytes = bytes.saturating_add(u64_from_usize(name.as_deref().map_or(0, str::len)));
            if bytes > most {
                return Err(format!("the new names exceed the maximum of {most} bytes"));
            }
            picks.try_reserve(1).map_err(|_| NO_MEMORY.to_owned())?;
            picks.push(Pick { ordinal: object.ordinal(), name });
        }
        if let Some((unused, _)) = only.iter().zip(&used).find(|(_, used)| !**used) {
            let pattern = escape::quoted(unused);
            return Err(format!("no object matches {pattern}, which --only names"));
        }
        for (rename, _) in rename.iter().zip(&renamed).filter(|(_, renamed)| !**renamed) {
            if let Rename::Exact(old, _) = rename {
                archive.tensor(old).map_err(|error| error.to_string())?;
                let old = escape::quoted(old);
                return Err(format!("the object {old}, which --rename names, is not selected"));
            }
        }
        let selection = Self(Some(picks));
        if renamed.contains(&true) {
            selection.check_unique(archive)?;
        }
        Ok(selection)
    }

    /// Checks that the selected objects have distinct names.
    fn check_unique(&self, archive: &TensorFile) -> Result<(), String> {
        let old = |ordinal| archive.manifest().tensor_at(ordinal).map_or("", |own| own.name());
        let (mut names, picks) = (Vec::new(), self.0.as_deref().unwrap_or_default());
        names.try_reserve_exact(picks.len()).map_err(|_| NO_MEMORY.to_owned())?;
        names.extend(picks.iter().map(|Pick { ordinal, name }| {
            (name.as_deref().unwrap_or_else(|| old(*ordinal)), *ordinal)
        }));
        names.sort_unstable();
        let twice = names.windows(2).find(|two| matches!(two, [(a, _), (b, _)] if a == b));
        if let Some([(name, one), (_, other)]) = twice {
            let [name, one, other] = [*name, old(*one), old(*other)].map(escape::quoted);
            return Err(format!("two objects would be named {name}: {one} and {other}"));
        }
        Ok(())
    }

    /// Removes objects from the selection. Their ordinals are the first numbers of the pairs in `ordinals`, which is sorted.
    pub(crate) fn leave_out(
        &mut self,
        archive: &TensorFile,
        ordinals: &[(u32, u32)],
    ) -> Result<(), String> {
        if ordinals.is_empty() {
            return Ok(());
        }
        let mut picks = if let Some(picks) = self.0.take() {
            picks
        } else {
            let mut all = Vec::new();
            all.try_reserve_exact(archive.len()).map_err(|_| NO_MEMORY.to_owned())?;
            all.extend(archive.tensors().map(|own| Pick { ordinal: own.ordinal(), name: None }));
            all
        };
        let is_left_out =
            |own: &Pick| ordinals.binary_search_by_key(&own.ordinal, |(own, _)| *own).is_ok();
        picks.retain(|pick| !is_left_out(pick));
        self.0 = Some(picks);
        Ok(())
    }

    /// Returns the number of selected objects of `archive`.
    pub(crate) fn len(&self, archive: &TensorFile) -> usize {
        self.0.as_ref().map_or(archive.len(), Vec::len)
    }

    /// Returns the ordinal in the file of the selected object number `at`.
    pub(crate) fn ordinal(&self, at: usize) -> u32 {
        match &self.0 {
            Some(picks) => picks.get(at).map_or(u32::MAX, |pick| pick.ordinal),
            None => u32::try_from(at).unwrap_or(u32::MAX),
        }
    }

    /// Returns whether the object `ordinal` of the file is selected.
    pub(crate) fn holds(&self, ordinal: u32) -> bool {
        self.0.is_none() || self.pick(ordinal).is_some()
    }

    /// Returns the new name of the object `ordinal` of the file, or `None` if it keeps its name or is not selected.
    pub(crate) fn new_name(&self, ordinal: u32) -> Option<&str> {
        self.pick(ordinal)?.name.as_deref()
    }

    fn pick(&self, ordinal: u32) -> Option<&Pick> {
        let picks = self.0.as_ref()?;
        picks.get(picks.binary_search_by_key(&ordinal, |pick| pick.ordinal).ok()?)
    }
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
            let sentence = "a new name would exceed the maximum of 65536 bytes";
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
