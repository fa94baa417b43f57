//! Verdicts and error messages about files. The command, the services and the bindings all use them, so they report the same
//! verdict, rule, offset and message for a file.

mod clause;

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
#[cfg(feature = "std")]
use core::error::Error as _;
use core::fmt;
use core::ops::Range;
#[cfg(feature = "std")]
use std::io;

use crate::error::{Error, ErrorKind, Location, Misuse, Rank};
use crate::escape;
use crate::manifest::{Finding as Found, Manifest};
use crate::rules::{Class, Generation, Row, Scope};

pub use clause::clause_of;

/// The verdict on a file: the outcome of checking it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The file keeps every rule, as far as the caller asked to check.
    Valid,
    /// The manifest keeps every rule. The data was not read, so it may break a rule.
    ManifestValid,
    /// The file breaks a rule.
    Invalid,
    /// The file is invalid or unsupported, but the caller's policy tolerates the reason.
    Tolerated,
    /// The file may be valid, but zten does not support it.
    Unsupported,
    /// The file exceeds a limit of the caller or of zten, so not all of it was checked.
    Limit,
    /// The file could not be checked for a reason that is not in the file, such as a read error or a lack of memory.
    Error,
    /// The file is of a recognized kind that holds no tensors, such as a text or an image.
    Other,
}

impl Verdict {
    /// Returns the word for this verdict in JSON output, such as `valid`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::ManifestValid => "manifest-valid",
            Self::Invalid => "invalid",
            Self::Tolerated => "tolerated",
            Self::Unsupported => "unsupported",
            Self::Limit => "limit",
            Self::Error => "error",
            Self::Other => "other",
        }
    }

    /// Returns whether a file with this verdict has no error: it or its manifest is valid, or it is a file of another kind,
    /// without tensors.
    pub fn is_valid(self) -> bool {
        self.level().is_none()
    }

    /// Returns the SARIF level of a finding with this verdict: `error`, `warning` or `note`. Returns `None` for a file
    /// without an error.
    pub fn level(self) -> Option<&'static str> {
        match self {
            Self::Valid | Self::ManifestValid | Self::Other => None,
            Self::Invalid | Self::Error => Some("error"),
            Self::Unsupported | Self::Limit => Some("warning"),
            Self::Tolerated => Some("note"),
        }
    }
}

impl From<Class> for Verdict {
    fn from(class: Class) -> Self {
        match class {
            Class::Invalid => Self::Invalid,
            Class::Unsupported => Self::Unsupported,
            Class::Limit => Self::Limit,
            Class::Note => Self::Valid,
        }
    }
}

impl From<ErrorKind> for Verdict {
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::Invalid(_) => Self::Invalid,
            ErrorKind::Unsupported(_) => Self::Unsupported,
            ErrorKind::Limit(_) => Self::Limit,
            ErrorKind::Note(_) => Self::Valid,
            // These kinds of errors say nothing about the validity of the file.
            ErrorKind::Misuse(_)
            | ErrorKind::Read
            | ErrorKind::Write
            | ErrorKind::NotDurable
            | ErrorKind::Inexpressible(_)
            | ErrorKind::OutOfMemory
            | ErrorKind::Internal => Self::Error,
        }
    }
}

/// The name of the zTensor format in JSON output, for every generation.
pub const ZTENSOR: &str = "ztensor";

/// Returns the name in JSON output of the format of the open file with `manifest`.
pub fn format_name<B>(manifest: &Manifest<B>) -> &'static str {
    match manifest.file_format() {
        _ if manifest.generation().is_some() => ZTENSOR,
        "GGUF" => "gguf",
        "safetensors index" => "safetensors-index",
        "PyTorch index" => "torch-index",
        "PyTorch" => "torch",
        // Some formats are called by their suffixes, such as ".npy".
        other => other.trim_start_matches('.'),
    }
}

/// Returns `number` and the noun `what`, with a plural "s" unless `number` is 1.
pub fn counted(number: u64, what: &str) -> Counted<'_> {
    Counted { number, what }
}

/// A number and a noun, which are written without taking memory: no file can make the message of its error fail.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'w> {
    number: u64,
    what: &'w str,
}

impl fmt::Display for Counted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, what } = self;
        write!(f, "{number} {what}{}", if *number == 1 { "" } else { "s" })
    }
}

/// Returns `number` in decimal, with commas between groups of three digits.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (before, digit) in digits.chars().enumerate() {
        let remaining = digits.len().saturating_sub(before);
        if before > 0 && remaining.is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// An error or note about a file, with the place in the file. `Display` writes the message without the name of the file: the
/// sentence, the rule with its clause, the place, and how many more places have the same finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The verdict on the file; [`Verdict::Valid`] if the finding is a note.
    pub verdict: Verdict,
    /// The sentence that says what is wrong, with the value that was found.
    pub sentence: String,
    /// The rule that the file breaks; `None` if the finding is not about the content of the file, such as an I/O error.
    pub row: Option<&'static Row>,
    /// The name of the file's format in JSON output, if it is known.
    pub format: Option<&'static str>,
    /// The generation of a zTensor file, if it is known.
    pub generation: Option<Generation>,
    /// The ordinals of the object and the component that the finding is about.
    pub location: Location,
    /// The name of the object that the finding is about, if it is known.
    pub object: Option<String>,
    /// Whether the sentence begins with the name of the object, or with the name of the shard if the finding has no object.
    /// `Display` then does not repeat this name after the sentence.
    pub is_named: bool,
    /// The role of the component that the finding is about, if it is known.
    pub component: Option<String>,
    /// The name of the shard that contains the offset, or that the error is about.
    pub shard: Option<String>,
    /// The offset of the fault in the file, or in `shard` if the finding has one.
    pub offset: Option<u64>,
    /// The number of bytes from the offset on that break the rule, if it is known.
    pub length: Option<u64>,
    /// The offset of the fault from the start of the manifest, if the fault is in the manifest of a zTensor file.
    pub manifest_offset: Option<u64>,
    /// Advice for this cause, which replaces the advice of the rule.
    pub advice: Option<&'static str>,
    /// The number of further places with the same finding; 0 if they are not counted.
    pub others: u64,
}

impl Finding {
    /// Creates a finding with the verdict `verdict` and the sentence `sentence`, without a rule or a position.
    pub fn new(verdict: Verdict, sentence: String) -> Self {
        Self {
            verdict,
            sentence,
            row: None,
            format: None,
            generation: None,
            location: Location::default(),
            object: None,
            is_named: false,
            component: None,
            shard: None,
            offset: None,
            length: None,
            manifest_offset: None,
            advice: None,
            others: 0,
        }
    }

    /// Creates the finding for a valid file that cannot be written in another format or generation. `sentence` gives the
    /// reason, and `object` is the name of the tensor that cannot be written, or `None` if the file as a whole cannot.
    pub fn unwritable(object: Option<&str>, sentence: &dyn fmt::Display) -> Self {
        let sentence = match object {
            Some(name) => {
                format!("{} can be read, but not written: {sentence}", escape::Short(name))
            }
            None => format!("the file can be read, but not written: {sentence}"),
        };
        let mut finding = Self::new(Verdict::Error, sentence);
        finding.is_named = object.is_some();
        finding.object = object.map(str::to_owned);
        finding
    }

    /// Creates the finding for a file that could not be read because of `error`, an error of the operating system.
    #[cfg(feature = "std")]
    pub fn io(error: &io::Error) -> Self {
        let sentence = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the file became shorter while it was read".to_owned(),
            _ => error.to_string(),
        };
        Self::new(Verdict::Error, sentence)
    }

    /// Converts an error of the library to a finding. For an I/O error, the sentence is the message of the system, or says that the
    /// file became shorter.
    pub fn from_error(error: &Error) -> Self {
        #[cfg(feature = "std")]
        if let Some(system) = system_error(error) {
            return Self::io(system);
        }
        let verdict = Verdict::from(error.kind());
        let mut finding = Self::new(verdict, error.sentence().to_string());
        // `error.row()` would also name a rule for a tensor that cannot be written, which is not a fault of the file.
        finding.row = error.kind().row();
        finding.format = match error.kind() {
            ErrorKind::Misuse(_) => Some(ZTENSOR),
            kind => kind.row().and_then(format_of),
        };
        finding.generation = error.generation();
        finding.location = error.location();
        // The sentence already contains the name, and no object has this name.
        if error.kind() != ErrorKind::Misuse(Misuse::NoTensor) {
            finding.object = error.tensor().map(str::to_owned);
        }
        finding.is_named = error.names_its_tensor();
        finding.advice =
            error.advice().filter(|advice| Some(*advice) != finding.row.map(Row::advice));
        finding.component = error.component().map(str::to_owned);
        finding.shard = error.file().map(str::to_owned);
        if !matches!(error.kind(), ErrorKind::Inexpressible(_)) {
            finding.offset = error.offset();
        }
        finding.length = finding.offset.and(finding.row).and_then(|row| fixed_length(row.id()));
        finding.at_manifest(error.manifest_range().as_ref())
    }

    /// Returns the findings about an open file that did not prevent opening it. Findings that make the file invalid come
    /// first, then exceeded limits, unsupported features and notes.
    pub fn of_open(manifest: &Manifest<impl AsRef<[u8]>>) -> Vec<Self> {
        let mut found: Vec<_> = manifest.findings().iter().collect();
        found.sort_by_key(|found| Rank::from(found.error().kind()));
        found.into_iter().map(|found| Self::opening(manifest, found)).collect()
    }

    /// Converts `found`, a finding that did not prevent the file with `manifest` from being opened, to a finding for reports.
    pub(crate) fn opening(manifest: &Manifest<impl AsRef<[u8]>>, found: &Found) -> Self {
        let format = Some(format_name(manifest));
        Self { format, others: found.more(), ..Self::from_error(found.error()) }
    }

    /// Splits the findings about an open file into the first error, which makes the file invalid, over a limit or unsupported,
    /// and all notes.
    pub fn split(findings: Vec<Self>) -> (Option<Self>, Vec<Self>) {
        let (notes, errors): (Vec<_>, Vec<_>) = findings.into_iter().partition(Self::is_note);
        (errors.into_iter().next(), notes)
    }

    /// Returns whether the finding is a note, which leaves the file valid.
    pub fn is_note(&self) -> bool {
        self.verdict == Verdict::Valid
    }

    /// Sets `manifest_offset` if the offset of this finding is within `manifest`, the range of the manifest in the file, or at its
    /// end. Otherwise removes `manifest_offset`.
    fn at_manifest(mut self, manifest: Option<&Range<u64>>) -> Self {
        self.manifest_offset = self.offset.zip(manifest).and_then(|(offset, manifest)| {
            // An item that is cut off is reported at the end of the manifest.
            let within = manifest.contains(&offset) || manifest.end == offset;
            within.then(|| offset.saturating_sub(manifest.start))
        });
        self
    }

    /// Converts `error`, an error while the content of the open file with `manifest` was read or written, to a finding with
    /// names.
    pub fn reading(manifest: &Manifest<impl AsRef<[u8]>>, error: &Error) -> Self {
        let finding = Self::from_error(error).at_manifest(Some(&manifest.extent()));
        match error.kind() {
            // An I/O error says nothing about the content.
            ErrorKind::Read | ErrorKind::Write | ErrorKind::NotDurable => finding,
            _ => finding.named(manifest, error.location()),
        }
    }

    /// Adds to this finding the names of the object, component and shard at `location` in `manifest`, the format and the
    /// generation. An error of a whole blob also gets the length of the blob, and an error in a shard loses `manifest_offset`.
    #[must_use]
    pub fn named(mut self, manifest: &Manifest<impl AsRef<[u8]>>, location: Location) -> Self {
        let object = location.object().and_then(|ordinal| manifest.tensor_at(ordinal));
        self.format = Some(format_name(manifest));
        self.generation = manifest.generation();
        self.location = location;
        let component = object
            .zip(location.component())
            .and_then(|(object, ordinal)| object.component_at(ordinal));
        self.component = component.map(|component| component.role().to_owned());
        if self.row.is_some_and(|row| BLOB_RULES.contains(&row.id())) {
            let extent = component.map(|component| component.extent());
            let extent = extent.filter(|extent| Some(extent.offset()) == self.offset);
            self.length = extent.map(|extent| extent.length());
        }
        match component {
            Some(component) => {
                self.shard = component.shard().map(str::to_owned);
                if self.shard.is_some() {
                    // The offset is in the shard, so it has no position in the manifest.
                    self.manifest_offset = None;
                }
            }
            None => self.shard = shard_at(manifest, self.offset),
        }
        self.object = object.map(|object| object.name().to_owned());
        self
    }

    /// Returns the advice for the person who has the file: the advice of this finding, or otherwise the advice of the rule.
    pub fn advice(&self) -> Option<&'static str> {
        self.advice.or_else(|| self.row.map(Row::advice))
    }

    /// Returns the clause of the rule: in the specification of the file's generation if the generation is known, and otherwise all
    /// clauses of the rule. Returns `None` if the finding has no rule.
    pub fn clause(&self) -> Option<String> {
        let clause = self.row?.source().clause();
        Some(self.generation.map_or_else(|| clause.to_owned(), |own| clause_of(clause, own)))
    }

    /// Writes a space and the object, component, shard and offsets that the finding is about. Writes nothing if the finding
    /// is about the whole file.
    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.object, self.location.object()) {
            (Some(_), _) if self.is_named => {}
            (Some(name), _) => write!(f, " in {}", escape::quoted(name))?,
            (None, Some(ordinal)) => write!(f, " in object {ordinal}")?,
            (None, None) => {}
        }
        match (&self.component, self.location.component()) {
            (Some(role), _) => write!(f, "/{}", escape::role(role))?,
            (None, Some(ordinal)) => write!(f, ", component {ordinal}")?,
            (None, None) => {}
        }
        let is_subject = self.is_named && self.object.is_none();
        if let Some(shard) = self.shard.as_ref().filter(|_| !is_subject) {
            write!(f, " in the shard {}", escape::quoted(shard))?;
        }
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset:#x}")?;
        }
        if let Some(offset) = self.manifest_offset {
            write!(f, ", manifest byte {offset:#x}")?;
        }
        Ok(())
    }
}

/// Returns the I/O error of the operating system that is the source of `error`; `None` for any other error.
#[cfg(feature = "std")]
fn system_error(error: &Error) -> Option<&io::Error> {
    let is_system = matches!(error.kind(), ErrorKind::Read | ErrorKind::Write);
    error.source().filter(|_| is_system)?.downcast_ref()
}

/// The ids of the rules about a blob as a whole. The offset of their errors is that of the first byte of the blob.
const BLOB_RULES: [&str; 3] = ["digest-mismatch", "unsupported-digest", "decoded-size"];

/// Returns the format of a file that breaks the rule `row`: zTensor, or `None` if the rule is not one of zTensor, or if files that
/// are not zTensor files may break it as well.
pub fn format_of(row: &Row) -> Option<&'static str> {
    let is_of_ztensor = !matches!(row.scope(), Scope::Other(_));
    (is_of_ztensor && !matches!(row.id(), "header-magic" | "file-size")).then_some(ZTENSOR)
}

/// Returns the number of bytes at the offset of a finding that break the rule with the id `rule`, if this number is the same
/// in every file; otherwise `None`. See `corpus/CONVENTIONS.md`.
fn fixed_length(rule: &str) -> Option<u64> {
    match rule {
        "header-magic" | "footer-magic" => Some(8),
        "bool-value" | "tensor-bool-value" | "nibble-value" | "canonical-padding" => Some(1),
        _ => None,
    }
}

/// Returns the name of the shard whose entry in the table of shards begins at `offset` of the file, or `None` if no entry begins
/// there. An error with this offset is about the shard as a whole.
fn shard_at(manifest: &Manifest<impl AsRef<[u8]>>, offset: Option<u64>) -> Option<String> {
    let shard = manifest.shards().find(|shard| Some(shard.offset()) == offset)?;
    Some(shard.name().to_owned())
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_rule_between("", "").fmt(f)
    }
}

impl Finding {
    /// Returns the message with the texts `before` and `after` around the id of the rule, such as color codes of a terminal.
    pub fn with_rule_between<'a>(
        &'a self,
        before: impl fmt::Display + 'a,
        after: impl fmt::Display + 'a,
    ) -> impl fmt::Display + 'a {
        SetOff { finding: self, before, after }
    }
}

/// Displays the message of a finding with a text before and a text after the id of its rule.
struct SetOff<'a, B, A> {
    finding: &'a Finding,
    before: B,
    after: A,
}

impl<B: fmt::Display, A: fmt::Display> fmt::Display for SetOff<'_, B, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { finding, before, after } = self;
        f.write_str(&finding.sentence)?;
        if let Some((row, clause)) = finding.row.zip(finding.clause()) {
            write!(f, " (rule {before}{}{after}, {clause})", row.id())?;
        }
        finding.place(f)?;
        match finding.others {
            0 => Ok(()),
            others => write!(f, ", and {others} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_digits() {
        let numbers = [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (123_456, "123,456"),
            (u64::MAX, "18,446,744,073,709,551,615"),
        ];
        for (number, text) in numbers {
            assert_eq!(grouped(number), text);
        }
    }
}
