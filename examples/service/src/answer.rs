//! Checks the answer of a worker about its file, which is JSON with fixed fields. The file may have taken over the worker,
//! so this process looks up the names of rules, formats and advice, and derives verdicts from the rules.

use serde::{Deserialize, Serialize};
use zten::Generation;
use zten::finding::{Finding, Verdict, ZTENSOR};
use zten::formats::{Detected, Format, KINDS, Rule, rules};
use zten::rules::Class;
use zten_report::catalog;
use zten_report::policy::Policy;

/// A worker's answer about its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Answer {
    /// The file keeps every rule, and all of its content has been verified.
    Valid {
        /// The format, as `zten check --json` gives it: `ztensor`, `safetensors`, `gguf`, `npy`, `npz` or `torch`.
        format: String,
        /// The sentence that `zten check` prints for the file.
        summary: String,
        /// The notes on the file.
        notes: Vec<Found>,
    },
    /// The file is invalid or unsupported, exceeds a limit, violates the policy, or could not be read.
    Rejected {
        /// The finding that decides the verdict.
        found: Box<Found>,
        /// The number of other objects with an error, or `None` if the other objects were not checked.
        more: Option<u64>,
        /// The notes on the file.
        notes: Vec<Found>,
    },
}

/// What a worker has found in a file: why the file is rejected, or a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The id of the rule, limit or unsupported feature; `None` if the file could not be read, or memory ran out.
    pub rule: Option<String>,
    /// The format, as `zten check --json` gives it, if it is known.
    pub format: Option<String>,
    /// The generation of zTensor, if it is known.
    pub generation: Option<String>,
    /// The name of the object: untrusted text.
    pub object: Option<String>,
    /// The role of the component: untrusted text.
    pub component: Option<String>,
    /// The name of the shard: untrusted text.
    pub shard: Option<String>,
    /// The offset in bytes of the fault in the file, if the fault is at one byte.
    pub offset: Option<u64>,
    /// The offset in bytes of the fault from the start of the manifest, if the fault is in the manifest.
    pub manifest_offset: Option<u64>,
    /// The number of further places with the same finding.
    #[serde(default)]
    pub others: u64,
    /// The sentence about the fault, with the value that was found: untrusted text.
    pub sentence: String,
    /// True if the sentence begins with the name of the object or shard, which is then not prefixed.
    #[serde(default)]
    pub is_named: bool,
    /// The advice for the cause of the fault, which replaces the advice of the rule.
    pub advice: Option<String>,
}

impl From<Finding> for Found {
    fn from(finding: Finding) -> Self {
        Self {
            rule: finding.row.map(|row| row.id().to_owned()),
            format: finding.format.map(str::to_owned),
            generation: finding.generation.map(|generation| generation.as_str().to_owned()),
            object: finding.object,
            component: finding.component,
            shard: finding.shard,
            offset: finding.offset,
            manifest_offset: finding.manifest_offset,
            others: finding.others,
            sentence: finding.sentence,
            is_named: finding.is_named,
            advice: finding.advice.map(str::to_owned),
        }
    }
}

impl Found {
    /// Converts what a worker has found. The verdict is derived from the rule (an error if there is no such rule) and the policy:
    /// the verdict of a compromised worker could contradict them.
    pub fn into_finding(self, policy: Option<&Policy>) -> Finding {
        let row = self.rule.as_deref().and_then(catalog::find);
        let verdict = match row {
            None => Verdict::Error,
            row if policy.is_some_and(|policy| policy.tolerates(row)) => Verdict::Tolerated,
            Some(row) if policy.is_some_and(|policy| policy.denies(row.id())) => Verdict::Invalid,
            Some(row) => row.class().into(),
        };
        let is_generation = |own: &Generation| Some(own.as_str()) == self.generation.as_deref();
        Finding {
            row,
            format: self.format.as_deref().and_then(known),
            generation: GENERATIONS.into_iter().find(is_generation),
            object: self.object,
            component: self.component,
            shard: self.shard,
            offset: self.offset,
            manifest_offset: self.manifest_offset,
            others: self.others,
            is_named: self.is_named,
            // Advice of a worker is accepted only if it is one of the sentences of zten, because a compromised worker
            // could send any text.
            advice: self
                .advice
                .and_then(|advice| rules::CAUSES.into_iter().find(|own| *own == advice)),
            ..Finding::new(verdict, self.sentence)
        }
    }

    /// Returns whether this finding is a note: its rule does not make a file invalid.
    fn is_note(&self) -> bool {
        let row = self.rule.as_deref().and_then(catalog::find);
        row.is_some_and(|row| row.class() == Class::Note)
    }
}

/// Checks the form of a worker's answer.
///
/// # Errors
/// The answer is not the JSON of an [`Answer`], names an unknown format or rule of its outcome, or has a note without a rule that
/// makes notes.
pub fn check(bytes: &[u8]) -> Result<(), String> {
    let answer: Answer = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let notes = match answer {
        Answer::Valid { format, notes, .. } => {
            if !read().any(|own| own == format) {
                return Err("unknown format".to_owned());
            }
            notes
        }
        Answer::Rejected { found, notes, .. } => {
            if found.rule.as_deref().is_some_and(|rule| catalog::find(rule).is_none()) {
                return Err("unknown rule".to_owned());
            }
            if found.format.is_some_and(|format| known(&format).is_none()) {
                return Err("unknown format".to_owned());
            }
            notes
        }
    };
    // A compromised worker could pass a broken rule as a note, so that an invalid file would look valid.
    if notes.iter().all(Found::is_note) {
        Ok(())
    } else {
        Err("a note names no rule, or a rule that makes no notes".to_owned())
    }
}

/// All generations of zTensor.
const GENERATIONS: [Generation; 4] =
    [Generation::V0_1, Generation::V1_1, Generation::V1_2, Generation::V2];

/// Returns `name` as a static text if it is the name of a format that zten reads or recognizes.
fn known(name: &str) -> Option<&'static str> {
    let named = Rule::ALL.iter().filter_map(|rule| Detected::Named(*rule).name());
    read().chain(named).chain(KINDS).find(|own| *own == name)
}

/// Returns the names of the formats that zten reads.
fn read() -> impl Iterator<Item = &'static str> {
    [ZTENSOR].into_iter().chain(Format::ALL.map(Format::name))
}
