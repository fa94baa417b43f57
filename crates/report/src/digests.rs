//! Lists of the digests of tensors. `docs/digests.md` describes their format.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};
use std::io;
use std::ops::Range;
use std::str;

use zten::manifest::ElementType;
use zten::rules::{Class, Row, Scope, Source, Texts};
use zten::{Component, Tensor};

use zten::escape::{Name, Quoted, code, is_hidden};
use zten::finding::{Finding, Verdict};

/// The first line of a list of digests, as `zten hash` writes it.
pub const HEADER: &str = "# zten digests 1";
/// The text with which the first line of a list of digests begins, whatever version of the format the list has.
pub const MAGIC: &str = "# zten digests ";

/// The largest number of files of a list that an error message names.
const NAMED: usize = 8;

/// The 32 bytes of a SHA-256 digest.
pub type Sha256 = [u8; 32];

/// The entry of one component in a list of digests. `Display` writes the entry as a line of the list, without the line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestLine<'a> {
    /// The name of the tensor that the component belongs to.
    pub name: Cow<'a, str>,
    /// The role of the component in its tensor, such as `data`.
    pub role: Cow<'a, str>,
    /// The type of the elements and the shape of the tensor, as [`kind`] returns them. Empty in an entry of a list if files may
    /// have any type and shape.
    pub kind: Cow<'a, str>,
    /// The number of decoded bytes of the component. `None` if it is not known, or, in an entry of a list, if it is not compared.
    pub bytes: Option<u64>,
    /// The digest of the decoded, little-endian bytes; `None` if they could not be read.
    pub sha256: Option<Sha256>,
}

impl fmt::Display for DigestLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sha256 {
            Some(sha256) => f.write_str(&hex(&sha256))?,
            None => f.write_char('-')?,
        }
        match self.bytes {
            Some(bytes) => write!(f, "  {bytes}")?,
            None => f.write_str("  -")?,
        }
        // A name or role with a slash is quoted, so the slash between them is unambiguous.
        write!(f, "  {}  {}/{}", self.kind, Name(&self.name), Name(&self.role))
    }
}

impl DigestLine<'_> {
    /// Returns the name of the tensor and the role of the component, by which the entries of a list are sorted.
    pub fn key(&self) -> (&str, &str) {
        (&self.name, &self.role)
    }
}

/// Describes the elements of a component and the shape of its tensor, such as `f32[2,3]`, `sparse_csr:f32[2,3]` or
/// `gguf.q4_k[4096]`. The text contains no spaces. It stays the same if the tensor is converted to another format or
/// generation.
pub fn kind(tensor: &Tensor<'_>, component: &Component<'_>) -> String {
    let element = match component.element_type() {
        ElementType::UnknownLogical(name, storage) => format!("{}:{}", word(name), storage.name()),
        ElementType::UnknownOnLogical(name, on) => format!("{}:{}", word(name), on.name()),
        ElementType::Opaque(name, _) | ElementType::Unknown(name) => word(name),
        known => known.name().to_owned(),
    };
    let shape: Vec<_> = tensor.shape().iter().map(ToString::to_string).collect();
    let shape = shape.join(",");
    match layout(tensor) {
        "dense" => format!("{element}[{shape}]"),
        // The layout names the block type. The storage type of blocks depends on the format, so it is left out.
        blocks if is_blocks(blocks) => format!("{}[{shape}]", word(blocks)),
        other => format!("{}:{element}[{shape}]", word(other)),
    }
}

/// Returns the name of the layout of a tensor without the prefix `zt.` and the suffix `/1` of generation 2.
pub fn layout<'a>(tensor: &Tensor<'a>) -> &'a str {
    let layout = tensor.layout_name();
    let layout = layout.strip_prefix("zt.").unwrap_or(layout);
    layout.strip_suffix("/1").unwrap_or(layout)
}

/// Returns whether `layout` is a layout of GGUF blocks, whose elements have no element type.
pub fn is_blocks(layout: &str) -> bool {
    layout.starts_with("gguf.")
}

/// Returns the name `text` as it appears in the text of [`kind`]: unchanged, or between quotes and escaped if it is empty or has
/// characters other than ASCII letters, digits and `_.-/`.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/');
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        Quoted(text).to_string().replace(' ', "\\u{20}")
    }
}

/// A list of digests with one entry per component, sorted by names and roles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digests(Vec<DigestLine<'static>>);

impl Digests {
    /// Parses `list`, the bytes of a list of digests of one file. Takes memory of a small multiple of the length of `list`.
    ///
    /// # Errors
    /// A sentence about the first error in the list, with the number of its line, or about two entries of one component. Invalid
    /// UTF-8 anywhere in the list is reported before other errors. The sentence about a missing line break at the end has no
    /// number.
    pub fn parse(list: &[u8]) -> Result<Self, String> {
        Self::parse_from(list, 0)
    }

    /// Parses a list that is a part of a longer text. `before` is the number of lines of the text before this part, so that errors
    /// give the line in the whole text.
    fn parse_from(list: &[u8], before: usize) -> Result<Self, String> {
        let bad = |line: usize, what: &str| {
            Err(format!("{what}, in line {}", line.saturating_add(before)))
        };
        let text = match str::from_utf8(list) {
            Ok(text) => text,
            Err(error) => {
                let valid = list.get(..error.valid_up_to()).unwrap_or_default();
                let lines = valid.split(|byte| *byte == b'\n').count();
                return bad(lines, "invalid UTF-8 in the list of digests");
            }
        };
        let mut entries = Vec::new();
        let mut is_complete = false;
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let ended = line.strip_suffix('\n');
            is_complete = ended.is_some();
            let line = ended.unwrap_or(line);
            match line.strip_prefix(MAGIC) {
                Some(_) if number > 1 => {
                    return bad(number, "a second list of digests begins, expected one");
                }
                Some(_) if line == HEADER => {}
                Some(_) => return bad(number, "unsupported version of the list of digests"),
                None if number == 1 => {
                    let what = format!("not a list of digests: expected the first line {HEADER:?}");
                    return bad(number, &what);
                }
                None if line.starts_with('#') => {}
                None => match entry(line) {
                    Ok(entry) => entries.push(entry),
                    Err(what) => return bad(number, what),
                },
            }
        }
        if !is_complete {
            return Err("incomplete list of digests: expected a line break at its end".to_owned());
        }
        Self::new(entries)
    }

    /// Creates a list of digests from `entries`, which may be in any order.
    ///
    /// # Errors
    /// A sentence that names a component with two entries.
    pub fn new(mut entries: Vec<DigestLine<'static>>) -> Result<Self, String> {
        entries.sort_unstable_by(|one, other| one.key().cmp(&other.key()));
        let twice =
            |two: &&[DigestLine<'_>]| matches!(two, [one, other] if one.key() == other.key());
        match entries.windows(2).find(twice) {
            Some([entry, ..]) => {
                Err(format!("duplicate entry {}/{}", Name(&entry.name), Name(&entry.role)))
            }
            _ => Ok(Self(entries)),
        }
    }

    /// Returns the entries, sorted by names and roles.
    pub fn entries(&self) -> &[DigestLine<'static>] {
        &self.0
    }

    /// Compares `found`, the entry that was computed from a component of a file, with the entry of this component in the list.
    /// Returns `None` if both entries agree, and [`Difference::Added`] if the list has no entry of this component. An empty type or
    /// a missing length in the list agrees with any.
    pub fn compare(&self, found: &DigestLine<'_>) -> Option<Difference> {
        let at = self.0.binary_search_by(|entry| entry.key().cmp(&found.key()));
        let Some(listed) = at.ok().and_then(|at| self.0.get(at)) else {
            return Some(Difference::Added);
        };
        let same = found.sha256.is_some()
            && listed.sha256 == found.sha256
            && (listed.bytes.is_none() || listed.bytes == found.bytes)
            && (listed.kind.is_empty() || listed.kind == found.kind);
        if same { None } else { Some(Difference::Changed) }
    }

    /// Compares the entries of all components of a file, sorted by names and roles, with this list. Returns each difference
    /// with the name and role of the component.
    pub fn differences<'e>(
        &'e self,
        found: impl IntoIterator<Item = DigestLine<'e>>,
    ) -> Vec<(Difference, Cow<'e, str>, Cow<'e, str>)> {
        let mut listed = self.0.iter().peekable();
        let mut differences = Vec::new();
        let missing = |DigestLine { name, role, .. }: &'e DigestLine<'_>| {
            (Difference::Missing, Cow::Borrowed(&**name), Cow::Borrowed(&**role))
        };
        for entry in found {
            while let Some(before) = listed.next_if(|listed| listed.key() < entry.key()) {
                differences.push(missing(before));
            }
            listed.next_if(|listed| listed.key() == entry.key());
            let difference = self.compare(&entry);
            differences.extend(difference.map(|found| (found, entry.name, entry.role)));
        }
        differences.extend(listed.map(missing));
        differences
    }
}

/// How a component of a file differs from its entry in a list of digests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The content, the type or the shape differs from the entry, or the content cannot be read.
    Changed,
    /// The list has a component that the file does not have.
    Missing,
    /// The file has a component that the list does not have.
    Added,
}

impl Difference {
    /// All three differences, in the order in which the catalog of rules lists their rules.
    pub const ALL: [Self; 3] = [Self::Changed, Self::Missing, Self::Added];

    /// Returns the word for this difference in output: `changed`, `missing` or `added`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Added => "added",
        }
    }

    /// Returns the rule that a file with this difference breaks, if the caller requires the content of a list.
    pub fn row(self) -> &'static Row {
        match self {
            Self::Changed => &CHANGED,
            Self::Missing => &MISSING,
            Self::Added => &ADDED,
        }
    }
}

/// The error that a component differs from the list of digests that the caller requires the file to match, or is only in the list
/// or only in the file. The Python package raises it for a file that was opened with `digests=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// How the component differs from the list.
    pub difference: Difference,
    /// The name of the tensor whose component differs.
    pub name: String,
    /// The role of the component that differs.
    pub role: String,
}

impl Mismatch {
    /// Creates the error for the component of `entry`.
    pub fn new(difference: Difference, entry: &DigestLine<'_>) -> Self {
        let (name, role) = entry.key();
        Self { difference, name: name.to_owned(), role: role.to_owned() }
    }

    /// Returns the finding about this mismatch, with the rule of its difference, the tensor and the component.
    pub fn finding(&self) -> Finding {
        let row = self.difference.row();
        let mut finding = Finding::new(Verdict::Invalid, row.broken().to_owned());
        finding.row = Some(row);
        finding.object = Some(self.name.clone());
        finding.component = Some(self.role.clone());
        finding
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.finding().fmt(f)
    }
}

impl std::error::Error for Mismatch {}

impl From<Mismatch> for zten::Error {
    fn from(mismatch: Mismatch) -> Self {
        io::Error::other(mismatch).into()
    }
}

/// Returns the texts of a rule about lists of digests. `holds` is the requirement as a sentence that is true of every file that
/// obeys the rule. `broken` is the message for a file that breaks it. All of these rules have the same source, scope and advice.
const fn texts(holds: &'static str, broken: &'static str) -> Texts {
    Texts {
        holds,
        broken,
        source: Source::Policy("the rule is checked only with a list of digests"),
        scope: Scope::Other("all, read with a list of digests"),
        advice: "The file is not the file that the list was made of. Fetch the file again, or make a new list with `zten hash` if \
                 the change is intended.",
    }
}

static CHANGED: Row = Row::new(
    "list-changed",
    Class::Invalid,
    const {
        &texts(
            "The content, type and shape of each component are those in the list of digests.",
            "the content, type or shape differs from the list of digests",
        )
    },
);
static MISSING: Row = Row::new(
    "list-missing",
    Class::Invalid,
    const {
        &texts(
            "Each component in the list of digests is in the file.",
            "the file lacks a component that is in the list of digests",
        )
    },
);
static ADDED: Row = Row::new(
    "list-added",
    Class::Invalid,
    const {
        &texts(
            "Each component of the file is in the list of digests.",
            "the file has a component that is not in the list of digests",
        )
    },
);

/// Returns the digest `sum` as 64 hexadecimal digits in lower case.
pub fn hex(sum: &Sha256) -> String {
    hex_digits(sum)
}

/// Returns the bytes `sum` as text: two hexadecimal digits in lower case for each byte.
pub(crate) fn hex_digits(sum: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or_default();
    sum.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Parses a SHA-256 digest that is written as 64 hexadecimal digits in lower case. Returns `None` for any other text.
pub fn parse_sha256(hex: &str) -> Option<Sha256> {
    parse_hex(hex)
}

/// Parses `N` bytes, each written as two hexadecimal digits in lower case. Returns `None` if `hex` has another length or other
/// characters.
pub(crate) fn parse_hex<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let (pairs, rest) = hex.as_bytes().as_chunks::<2>();
    let is_lower = hex.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    if pairs.len() != N || !rest.is_empty() || !is_lower {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The lists of digests of one or more files, one after another in one text, as `zten hash` prints them. The text is divided into
/// the parts of the files only once, so that comparing many files takes time linear in the number of files.
#[derive(Debug)]
pub struct DigestLists {
    text: Vec<u8>,
    parts: Vec<FileDigests>,
    /// For each path of a file, the index in `parts` of the first part with the digests of this file. `None` if two parts of the
    /// same path differ.
    by_path: HashMap<String, Option<usize>>,
}

/// The part of a [`DigestLists`] that has the digests of one file. `bytes` is the range of the part in the text, in bytes.
#[derive(Debug)]
struct FileDigests {
    bytes: Range<usize>,
    /// The number of lines of the text before this part, so that messages give the right line numbers.
    lines: usize,
}

impl DigestLists {
    /// Divides `text`, in the form that `zten hash` prints, into the list of digests of each file. A list is parsed when
    /// [`of`](Self::of) asks for it.
    pub fn new(text: Vec<u8>) -> Self {
        let mut lists = Self { text, parts: Vec::new(), by_path: HashMap::new() };
        let mut at = 0_usize;
        for (lines, line) in lists.text.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let end = at.saturating_add(line.len());
            if line.starts_with(MAGIC.as_bytes()) {
                lists.parts.push(FileDigests { bytes: at..end, lines });
            } else if let Some(part) = lists.parts.last_mut() {
                part.bytes.end = end;
            }
            at = end;
        }
        let mut by_path = HashMap::<String, Option<usize>>::new();
        for (number, part) in lists.parts.iter().enumerate() {
            let Some(path) = path_of(lists.bytes(part)) else { continue };
            let first = *by_path.entry(path.to_owned()).or_insert(Some(number));
            // A user may have passed the same file twice to `zten hash`, which prints equal parts.
            let is_same = first
                .and_then(|first| lists.parts.get(first))
                .is_some_and(|first| lists.bytes(first) == lists.bytes(part));
            if !is_same {
                by_path.insert(path.to_owned(), None);
            }
        }
        lists.by_path = by_path;
        lists
    }

    /// Returns the paths of the files whose digests the text has, in the order of the text and each path once. Returns no paths if
    /// no part of the text has a path: the list of a single file may be without one.
    ///
    /// # Errors
    /// Only some parts of the list have a path, or a path is not Unicode text, which a list shows with escapes that cannot be
    /// undone.
    pub fn paths(&self) -> Result<Vec<String>, String> {
        let (mut seen, mut paths) = (HashSet::new(), Vec::new());
        let parts = self.parts.iter().filter(|_| !self.by_path.is_empty());
        for part in parts {
            let shown = path_of(self.bytes(part)).unwrap_or_default();
            if !seen.insert(shown) {
                continue;
            }
            let path = match name(shown) {
                _ if !shown.starts_with('"') => Some(shown.to_owned()),
                Some((path, "")) => Some(path),
                _ => None,
            };
            let line = part.lines.saturating_add(1);
            let path = path.filter(|path| !path.is_empty());
            paths.push(path.ok_or_else(|| {
                format!("the path of the file whose digests begin in line {line} is missing or not Unicode text")
            })?);
        }
        Ok(paths)
    }

    /// Returns whether the list has a part for the path `file`, as `zten hash` shows it.
    pub fn has(&self, file: &str) -> bool {
        self.by_path.contains_key(file)
    }

    /// Parses the digests of the file whose path is `file`, as `zten hash` shows the path. If the text has the digests of a single
    /// file, they are parsed for any `file`.
    ///
    /// # Errors
    /// The errors of [`Digests::parse`]. Also a sentence that the text has the digests of several files, but none for `file`, or
    /// two parts for it that differ.
    pub fn of(&self, file: &str) -> Result<Digests, String> {
        // If somebody concatenated lists of single files, no part has a path. All of them are then parsed as one list, so that
        // the error is about the line with which the second list begins.
        if self.parts.len() < 2 || self.by_path.is_empty() {
            return Digests::parse(&self.text);
        }
        let Some(number) = self.by_path.get(file) else {
            let mut paths = self.parts.iter().filter_map(|part| path_of(self.bytes(part)));
            let named: Vec<_> = paths.by_ref().take(NAMED).collect();
            let more = if paths.next().is_some() { ", …" } else { "" };
            return Err(format!("no digests for {file}, only for {}{more}", named.join(", ")));
        };
        let part = number.and_then(|number| self.parts.get(number));
        let part = part.ok_or_else(|| format!("two lists of digests for {file}, expected one"))?;
        Digests::parse_from(self.bytes(part), part.lines)
    }

    /// Returns the bytes of the text that belong to `part`.
    fn bytes(&self, part: &FileDigests) -> &[u8] {
        self.text.get(part.bytes.clone()).unwrap_or_default()
    }
}

/// Returns the path in the second line of `part`, which has the digests of one file, or `None` if the line has no path.
fn path_of(part: &[u8]) -> Option<&str> {
    let second = part.split(|byte| *byte == b'\n').nth(1)?;
    str::from_utf8(second.strip_prefix(b"# ")?).ok()
}

/// Parses one line of a list of digests, which is the entry of a component. The error is a phrase that says what is wrong.
fn entry(line: &str) -> Result<DigestLine<'static>, &'static str> {
    if line.contains(is_hidden) {
        return Err("hidden character without an escape");
    }
    let mut fields = line.splitn(4, "  ");
    let mut field = || fields.next().ok_or("expected SHA-256, bytes, type and name");
    let (sum, bytes, kind, full) = (field()?, field()?, field()?, field()?);
    if sum == "-" {
        return Err("no digest of the component: it could not be read when the list was made");
    }
    let sha256 =
        parse_sha256(sum).ok_or("invalid SHA-256: expected 64 hexadecimal digits in lower case")?;
    let number = bytes.parse().ok().filter(|number: &u64| number.to_string() == bytes);
    let bytes = number.ok_or("invalid number of bytes")?;
    if kind.is_empty() || kind.contains(' ') {
        return Err("invalid type");
    }
    let parse = || {
        let (name, rest) = name(full)?;
        let (role, rest) = self::name(rest.strip_prefix('/')?)?;
        rest.is_empty().then_some((name, role))
    };
    let (name, role) = parse().ok_or("invalid name: expected NAME/ROLE, each plain or quoted")?;
    let kind = kind.to_owned().into();
    Ok(DigestLine {
        name: name.into(),
        role: role.into(),
        kind,
        bytes: Some(bytes),
        sha256: Some(sha256),
    })
}

/// Parses the tensor name or role at the start of `text`, plain or quoted, and returns it with the text that follows. Returns
/// `None` if the text begins with neither form.
fn name(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find('/').unwrap_or(text.len());
        let (plain, rest) = text.split_at(end);
        let is_plain = !plain.is_empty() && !plain.contains([' ', '"', '\\', '…']);
        return is_plain.then(|| (plain.to_owned(), rest));
    };
    let (escaped, rest) = quoted.split_once('"')?;
    let mut pieces = escaped.split('\\');
    let mut name = pieces.next()?.to_owned();
    for piece in pieces {
        let (code, text) = code(piece)?;
        name.push(code);
        name.push_str(text);
    }
    Some((name, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUM: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    fn list(lines: &str) -> String {
        format!("{HEADER}\n{lines}")
    }

    #[test]
    fn a_list_of_several_files_has_one_part_for_each() {
        let part =
            |path: &str, sum: &str| format!("{HEADER}\n# {path}\n{sum}  8  f32[2]  w/data\n");
        let digests = |text: &str, file| DigestLists::new(text.into()).of(file);
        let part_of = |text: &str| Digests::parse(text.as_bytes()).unwrap();
        let (a, b, other) = (part("a", SUM), part("b", SUM), part("a", &"0".repeat(64)));
        let two = format!("{a}{b}");
        assert_eq!(digests(&two, "b"), Ok(part_of(&b)));
        assert_eq!(digests(&format!("{a}{b}{a}"), "a"), Ok(part_of(&a)));
        for twice in [format!("{a}{b}{other}"), format!("{a}{other}{a}{b}")] {
            let error = digests(&twice, "a").unwrap_err();
            assert_eq!(error, "two lists of digests for a, expected one");
            assert_eq!(digests(&twice, "b"), Ok(part_of(&b)));
        }
        assert_eq!(digests(&two, "c").unwrap_err(), "no digests for c, only for a, b");
        let nine: String = ('a'..='i').map(|path| part(&path.to_string(), SUM)).collect();
        let error = digests(&nine, "x").unwrap_err();
        assert_eq!(error, "no digests for x, only for a, b, c, d, e, f, g, h, …");
        // Line numbers in errors count from the start of the whole list, not of the part for the file.
        let error = digests(&format!("{a}{}", part("b", "?")), "b").unwrap_err();
        assert!(error.contains("line 6"), "{error}");
        let paths = |text: &str| DigestLists::new(text.into()).paths();
        assert_eq!(paths(&format!("{two}{a}")).unwrap(), ["a", "b"]);
        assert_eq!(paths(&part(r#""x y\u{7f}""#, SUM)).unwrap(), ["x y\u{7f}"]);
        let nameless = list(&format!("{SUM}  8  f32[2]  w/data\n"));
        assert_eq!(paths(&nameless).unwrap(), [""; 0]);
        // A part without a valid path is an error, so that no file of the list is left unchecked.
        for odd in [&nameless, &part(r#""\x{ff}""#, SUM), &part(r#""a"b"#, SUM), &part("", SUM)] {
            let error = paths(&format!("{a}{odd}")).unwrap_err();
            assert!(error.contains("begin in line 4 "), "{odd}: {error}");
        }
        // A list of a single file is used for a file of any name, here `b`.
        assert_eq!(digests(&a, "b"), Ok(part_of(&a)));
    }

    #[test]
    fn lists_are_read_as_they_are_written() {
        let names = ["w", "", "a b", "a/b", "\"", "\\", "\n", "…", "\u{202e}", "重み", "  ", "#"];
        let all: Vec<_> = names.iter().flat_map(|name| names.map(|role| (*name, role))).collect();
        let entries = all.iter().map(|(name, role)| DigestLine {
            name: (*name).into(),
            role: (*role).into(),
            kind: "f32[2]".into(),
            bytes: Some(8),
            sha256: Some([7; 32]),
        });
        let lines: Vec<_> = entries.clone().map(|entry| format!("{entry}\n")).collect();
        let text = list(&lines.concat());
        let parsed = Digests::parse(text.as_bytes()).unwrap();
        assert_eq!(parsed, Digests::new(entries.clone().collect()).unwrap());
        for entry in entries {
            assert_eq!(parsed.compare(&entry), None);
            let other = DigestLine { kind: "u32[2]".into(), ..entry.clone() };
            assert_eq!(parsed.compare(&other), Some(Difference::Changed));
            let other = DigestLine { sha256: Some([8; 32]), ..entry.clone() };
            assert_eq!(parsed.compare(&other), Some(Difference::Changed));
            let other = DigestLine { sha256: None, ..entry.clone() };
            assert_eq!(parsed.compare(&other), Some(Difference::Changed));
            let other = DigestLine { role: "other".into(), ..entry };
            assert_eq!(parsed.compare(&other), Some(Difference::Added));
        }
        assert_eq!(parsed.differences(parsed.entries().to_vec()), []);
        let (mut found, mut wanted) = (Vec::new(), Vec::new());
        for (number, entry) in parsed.entries().iter().enumerate() {
            let other = DigestLine { sha256: None, ..entry.clone() };
            let role = format!("{}\0", entry.role).into();
            let after = DigestLine { role, ..entry.clone() };
            match number % 4 {
                0 => wanted.push((Difference::Missing, entry.name.clone(), entry.role.clone())),
                1 => wanted.push((Difference::Changed, entry.name.clone(), entry.role.clone())),
                2 => wanted.push((Difference::Added, entry.name.clone(), after.role.clone())),
                _ => {}
            }
            match number % 4 {
                0 => {}
                1 => found.push(other),
                2 => found.extend([entry.clone(), after]),
                _ => found.push(entry.clone()),
            }
        }
        assert_eq!(parsed.differences(found), wanted);
    }

    #[test]
    fn other_spellings_of_a_list_are_equal() {
        let plain = list(&format!("{SUM}  8  f32[2]  w/data\n"));
        let other = list(&format!("# by hand\n{SUM}  8  f32[2]  \"\\u{{77}}\"/\"data\"\n#\n"));
        let parse = |text: &str| Digests::parse(text.as_bytes()).unwrap();
        assert_eq!(parse(&plain), parse(&other));
        assert!(parse(&list("")).entries().is_empty());
    }

    #[test]
    fn flaws_are_named_with_their_lines() {
        let flaw = |text: &str| Digests::parse(text.as_bytes()).unwrap_err();
        let line = |line: &str| flaw(&list(&format!("# comment\n{line}\n")));
        assert_eq!(flaw(""), "incomplete list of digests: expected a line break at its end");
        let not = "not a list of digests: expected the first line \"# zten digests 1\", in line 1";
        assert_eq!(flaw("\n"), not);
        assert_eq!(
            flaw("# zten digests 1\r\n"),
            "unsupported version of the list of digests, in line 1"
        );
        assert_eq!(flaw(HEADER), "incomplete list of digests: expected a line break at its end");
        assert_eq!(line(HEADER), "a second list of digests begins, expected one, in line 3");
        let good = format!("{SUM}  8  f32[2]  w/data");
        assert_eq!(
            flaw(&list(&good)),
            "incomplete list of digests: expected a line break at its end"
        );
        assert_eq!(flaw(&list(&format!("{good}\n{good}\n"))), "duplicate entry w/data");
        let upper = good.to_uppercase();
        for (bad, wanted) in [
            ("", "expected SHA-256, bytes, type and name"),
            (&*upper, "invalid SHA-256: expected 64 hexadecimal digits in lower case"),
            (&good.replace("00112233", "0011223"), "invalid SHA-256"),
            (&good.replace("  8", "  08"), "invalid number of bytes"),
            (&good.replace("  8", "  +8"), "invalid number of bytes"),
            (&good.replace("  8", "  18446744073709551616"), "invalid number of bytes"),
            (&good.replace("f32[2]", ""), "invalid type"),
            (&good.replace("f32[2]", "f32 [2]"), "invalid type"),
            (&good.replace("w/data", "w"), "invalid name"),
            (&good.replace("w/data", "w/a/b"), "invalid name"),
            (&good.replace("w/data", "/data"), "invalid name"),
            (&good.replace("w/data", "w w/data"), "invalid name"),
            (&good.replace("w/data", "\"w/data"), "invalid name"),
            (&good.replace("w/data", "\"\\n\"/data"), "invalid name"),
            (&good.replace("w/data", "\"\\u{d800}\"/data"), "invalid name"),
            (&good.replace("w/data", "\"\\u{+77}\"/data"), "invalid name"),
            (&good.replace("w/data", "\"\\u{}\"/data"), "invalid name"),
            (&good.replace("w/data", "w/data\r"), "hidden character without an escape"),
            (&good.replace("w/data", "\u{202e}w/data"), "hidden character without an escape"),
            (&good.replace(SUM, "-"), "no digest of the component"),
        ] {
            let found = line(bad);
            assert!(found.starts_with(wanted) && found.ends_with(", in line 3"), "{bad}: {found}");
        }
        let mut bytes = list(&good).into_bytes();
        bytes.push(0xff);
        let found = Digests::parse(&bytes).unwrap_err();
        assert_eq!(found, "invalid UTF-8 in the list of digests, in line 2");
    }
}
