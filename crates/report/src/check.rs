//! JSON reports about checked files. The command, the services and the bindings use the same fields.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use zten::Manifest;
use zten::finding::{Finding, Verdict, counted};
use zten::json::{self, Schema};
use zten::network::file_name;
use zten::num::u64_from_usize;

use crate::page::page_of;
use crate::size::human;

/// How much of a file a check validates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Only the manifest is validated, and no data of tensors.
    Manifest,
    /// The manifest and all data of tensors are validated.
    All,
}

/// Returns the verdict on a valid file of `length` bytes, and a sentence about its contents: its format, the number of its tensors,
/// and their size. `scope` says how much of the file was validated, and `canonical` whether the file has the canonical form.
pub fn summary(
    manifest: &Manifest<impl AsRef<[u8]>>,
    scope: Scope,
    canonical: bool,
    length: u64,
) -> (Verdict, String) {
    if manifest.is_data_shard() {
        // A data shard does not describe its own contents: the file that lists the shard does. So only the size is told.
        let size = human(length);
        let summary = format!("a data shard with a valid frame (2, {size})");
        let verdict = match scope {
            Scope::Manifest => Verdict::ManifestValid,
            Scope::All => Verdict::Valid,
        };
        return (verdict, summary);
    }
    let tensors = u64_from_usize(manifest.len());
    let Some(generation) = manifest.generation() else {
        let words = format!("{} file", manifest.file_format());
        return summary_of_other(&words, scope, tensors, stored(manifest));
    };
    let components = manifest
        .tensors()
        .fold(0_u64, |sum, tensor| sum.saturating_add(u64_from_usize(tensor.components().len())));
    let contents = format!(
        "{}, {}, {}",
        generation.as_str(),
        counted(tensors, "tensor"),
        counted(components, "component"),
    );
    let valid = if canonical { "valid and canonical" } else { "valid" };
    match scope {
        Scope::Manifest => (Verdict::ManifestValid, format!("manifest {valid} ({contents})")),
        Scope::All => {
            let size = human(stored(manifest));
            (Verdict::Valid, format!("{valid} ({contents}, {size} of data)"))
        }
    }
}

/// Returns the verdict on a valid file of another format than zTensor, and a sentence about its contents. `words` is what the
/// sentence calls the file, such as "GGUF file". `tensors` is the number of tensors in the file, and `bytes` the length of their
/// data.
pub fn summary_of_other(words: &str, scope: Scope, tensors: u64, bytes: u64) -> (Verdict, String) {
    let (tensors, bytes) = (counted(tensors, "tensor"), human(bytes));
    match scope {
        Scope::Manifest => {
            (Verdict::ManifestValid, format!("{words} with valid headers: {tensors}, {bytes}"))
        }
        Scope::All => (Verdict::Valid, format!("valid {words}: {tensors}, {bytes}")),
    }
}

/// The parts of a report about a valid file, from which [`Report::valid`] creates the report.
#[derive(Clone, Copy, Debug)]
pub struct Valid<'a> {
    /// A verdict for which [`Verdict::is_valid`] is true.
    pub verdict: Verdict,
    /// The name of the format of the file, as in JSON output.
    pub format: &'a str,
    /// A sentence about the contents of the file: the number of its tensors and bytes.
    pub message: &'a str,
    /// The notes on the valid file: findings that do not make it invalid.
    pub notes: &'a [Finding],
}

/// Appends the number of notes to `message`, the sentence about a valid file.
pub fn with_notes(message: String, notes: usize) -> String {
    match notes {
        0 => message,
        _ => format!("{message}, {}", counted(u64_from_usize(notes), "note")),
    }
}

/// A note on a file, as a part of its [`Report`].
#[derive(Clone, Debug, Serialize)]
pub struct Note<'a> {
    /// The id of the rule that the note is about; `None` for a note without a rule.
    pub rule: Option<&'static str>,
    /// The clause of the specification that states the rule of the note; `None` if the rule is in no specification.
    pub clause: Option<String>,
    /// The offset in bytes of what the note is about, in the file, or in the shard if `shard` names one.
    #[serde(serialize_with = "json::integer_or_null")]
    pub offset: Option<u64>,
    /// The name of the object that the note is about; `None` if it is about the whole file.
    pub object: Option<&'a str>,
    /// The role of the component that the note is about; `None` if it is not about a component.
    pub component: Option<&'a str>,
    /// The name of the shard that the note is about; `None` if it is about the file itself.
    pub shard: Option<&'a str>,
    /// The number of other tensors, members of an archive or offsets to which the same note applies.
    #[serde(serialize_with = "json::integer")]
    pub more: u64,
    /// The message of the note: a sentence about what was noticed, followed by the rule and the location.
    pub message: String,
    /// The advice for users about the rule of the note.
    pub advice: Option<&'static str>,
    /// The address of the web page about the rule of the note.
    pub page: Option<String>,
}

impl<'a> Note<'a> {
    /// Creates the note of a report from `finding`, a finding about the checked file.
    pub fn new(finding: &'a Finding) -> Self {
        Self {
            rule: finding.row.map(zten::rules::Row::id),
            clause: finding.clause(),
            offset: finding.offset,
            object: finding.object.as_deref(),
            component: finding.component.as_deref(),
            shard: finding.shard.as_deref(),
            more: finding.others,
            message: finding.to_string(),
            advice: finding.advice(),
            page: page(finding),
        }
    }
}

/// The JSON document about a file that was checked. `docs/json.md` describes its keys.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    schema: Schema,
    /// The name of the checked file; `None` if the checked bytes have no file.
    pub file: Option<Cow<'a, str>>,
    /// The name of the verdict on the file, such as `valid`.
    pub verdict: &'static str,
    /// The SARIF level of the finding that decides the verdict: `error`, `warning` or `note`. `None` if there is no such finding.
    pub level: Option<&'static str>,
    /// The name of the format of the checked file; `None` if the format is not known.
    pub format: Option<&'a str>,
    /// The id of the rule that the file breaks, of the limit that it exceeds, or of the feature that is not supported.
    pub rule: Option<&'static str>,
    /// The clause of the specification that states `rule`; `None` if the rule is in no specification.
    pub clause: Option<String>,
    /// The offset in bytes of the fault, in the file, or in the shard if `shard` names one.
    #[serde(serialize_with = "json::integer_or_null")]
    pub offset: Option<u64>,
    /// The name of the object with the fault; `None` if the fault is in no object.
    pub object: Option<&'a str>,
    /// The role of the component with the fault; `None` if the fault is in no component.
    pub component: Option<&'a str>,
    /// The name of the shard with the fault; `None` if the fault is in the file itself.
    pub shard: Option<&'a str>,
    /// The number of other objects with an error; `None` if the other objects were not checked.
    #[serde(serialize_with = "json::integer_or_null")]
    pub more: Option<u64>,
    /// The message: the sentence about the file, its rule and its location.
    pub message: Cow<'a, str>,
    /// The advice for users that belongs to the rule or the fault.
    pub advice: Option<&'static str>,
    /// The address of the web page about `rule`; `None` without a rule.
    pub page: Option<String>,
    /// The notes on the checked file: findings that do not decide the verdict.
    pub notes: Vec<Note<'a>>,
}

impl<'a> Report<'a> {
    /// Creates the JSON document about the valid file that `valid` describes.
    pub fn valid(valid: &Valid<'a>) -> Self {
        Self {
            schema: Schema,
            file: None,
            verdict: valid.verdict.as_str(),
            level: valid.verdict.level(),
            format: Some(valid.format),
            rule: None,
            clause: None,
            offset: None,
            object: None,
            component: None,
            shard: None,
            more: (valid.verdict == Verdict::Valid).then_some(0),
            message: valid.message.into(),
            advice: None,
            page: None,
            notes: valid.notes.iter().map(Note::new).collect(),
        }
    }

    /// Creates the document about a file with `finding`. `more` is the number of other objects with an error, or `None` if the
    /// other objects were not checked.
    pub fn found(finding: &'a Finding, more: Option<u64>) -> Self {
        Self {
            schema: Schema,
            file: None,
            verdict: finding.verdict.as_str(),
            level: finding.verdict.level(),
            format: finding.format,
            rule: finding.row.map(zten::rules::Row::id),
            clause: finding.clause(),
            offset: finding.offset,
            object: finding.object.as_deref(),
            component: finding.component.as_deref(),
            shard: finding.shard.as_deref(),
            more,
            message: finding.to_string().into(),
            advice: finding.advice(),
            page: page(finding),
            notes: Vec::new(),
        }
    }

    /// Returns this report with `notes`, the notes on the checked file.
    #[must_use]
    pub fn with_notes(self, notes: &'a [Finding]) -> Self {
        Self { notes: notes.iter().map(Note::new).collect(), ..self }
    }

    /// Returns this report about the file at `path`, which becomes its key `file`.
    #[must_use]
    pub fn of_file(self, path: &'a Path) -> Self {
        Self { file: Some(file_name(path)), ..self }
    }
}

/// Returns the address of the web page about the rule of `finding`, or `None` if the finding has no rule.
fn page(finding: &Finding) -> Option<String> {
    finding.row.map(|row| page_of(row.id()))
}

/// Returns the number of bytes that all components of an archive take in its files. Fields of records share the bytes of the
/// records, so these bytes are counted once.
pub fn stored(manifest: &Manifest<impl AsRef<[u8]>>) -> u64 {
    let components = manifest.tensors().flat_map(|tensor| tensor.components());
    let owners = components.filter(|component| !component.is_field_of_records());
    owners.fold(0, |sum: u64, component| sum.saturating_add(component.extent().length()))
}
