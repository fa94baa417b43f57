//! The request to a worker, and its answer: eight bytes, little-endian, that give the length, and so much JSON. The
//! memory file, if there is one, comes with the eight bytes.

use serde::{Deserialize, Serialize};
use zten::Generation;
use zten::rules::Row;
use zten_formats::{Detected, Format, KINDS, Rule, rules};
use zten_report::finding::{Finding, Verdict, ZTENSOR};

/// Components begin at multiples of so many bytes in the memory file: enough for any element.
pub const ALIGNMENT: u64 = 64;

/// Status of a worker that cannot be confined, and so reads nothing.
pub(crate) const UNCONFINED: u8 = 3;

/// The result that a caller asks for. All of the file is checked in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The verdict, and no more.
    Verdict,
    /// The facts that the manifest states.
    Facts,
    /// The manifest and all decoded components.
    Content,
}

impl Want {
    /// Returns the name that a worker is given.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Facts => "facts",
            Self::Content => "content",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Verdict, Self::Facts, Self::Content].into_iter().find(|want| want.name() == name)
    }
}

/// A worker's answer about its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Answer {
    /// The file keeps every rule, and all of its content has been verified.
    Valid(Facts),
    /// The file is invalid or unsupported, exceeds a limit, or could not be read.
    Rejected(Rejection),
}

/// The facts that the manifest or header states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// The format, as `zten check --json` gives it: `ztensor`, `safetensors`, `gguf`, `npy`, `npz` or `torch`.
    pub format: String,
    /// The version of zTensor: `1.2`. Empty for files of other formats.
    pub generation: String,
    /// The sentence that `zten check` says of it.
    pub summary: String,
    /// The notes on the file.
    #[serde(default)]
    pub notes: Vec<Rejection>,
    /// The objects, in the order of the manifest; none where only the verdict was asked for.
    pub objects: Vec<Object>,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Any text.
    pub name: String,
    /// The layout, as the file spells it.
    pub format: String,
    /// The dimensions, the slowest first.
    pub shape: Vec<u64>,
    /// The components, in the order of the manifest.
    pub components: Vec<Component>,
}

/// One component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// `data`, `indices`, ...
    pub role: String,
    /// The type of its elements, as the file spells it.
    pub dtype: String,
    /// Bytes in the file.
    pub stored: u64,
    /// The offset and the number of its decoded little-endian bytes in the memory file; none where
    /// only facts were asked for.
    pub place: Option<(u64, u64)>,
}

/// The reason why a file is rejected, or a note on a valid file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
    /// The rule, limit or unsupported feature, by its id. None where there is no memory for the
    /// file, or it could not be read.
    pub rule: Option<String>,
    /// The format, as `zten check --json` gives it, where that is known.
    pub format: Option<String>,
    /// The version of zTensor, where that is known.
    pub generation: Option<String>,
    /// The name of the object: any text.
    pub object: Option<String>,
    /// The role of the component: any text.
    pub component: Option<String>,
    /// The name of the shard: any text.
    pub shard: Option<String>,
    /// The byte of the file, where there is one to point at.
    pub offset: Option<u64>,
    /// The byte of the manifest, where it is in there.
    pub manifest_offset: Option<u64>,
    /// The number of further places with the same finding.
    #[serde(default)]
    pub others: u64,
    /// The fact, with the value: any text.
    pub sentence: String,
    /// True if the sentence begins with the name of the object or shard, which is then not prefixed.
    #[serde(default)]
    pub is_named: bool,
    /// The advice for the cause of the fault, which replaces the advice of the rule.
    pub advice: Option<String>,
}

impl From<Finding> for Rejection {
    fn from(finding: Finding) -> Self {
        Self {
            rule: finding.row.map(|row| row.id.to_owned()),
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

impl From<Rejection> for Finding {
    /// Converts a rejection. The verdict follows from the rule alone: the worker gives none.
    fn from(rejection: Rejection) -> Self {
        let found = rejection.rule.as_deref().and_then(rule);
        let (row, verdict) = found.map_or((None, Verdict::Error), |(row, own)| (Some(row), own));
        let is_generation =
            |own: &Generation| Some(own.as_str()) == rejection.generation.as_deref();
        Self {
            row,
            format: rejection.format.as_deref().and_then(format),
            generation: GENERATIONS.into_iter().find(is_generation),
            object: rejection.object,
            component: rejection.component,
            shard: rejection.shard,
            offset: rejection.offset,
            manifest_offset: rejection.manifest_offset,
            others: rejection.others,
            is_named: rejection.is_named,
            // A compromised worker could send any text as advice, so only the sentences that zten has are accepted.
            advice: rejection
                .advice
                .and_then(|advice| rules::CAUSES.into_iter().find(|own| *own == advice)),
            ..Self::new(verdict, rejection.sentence)
        }
    }
}

const GENERATIONS: [Generation; 4] =
    [Generation::V0_1, Generation::V1_1, Generation::V1_2, Generation::V2];

/// Finds the rule of that id, and the verdict on a file that breaks it.
pub(crate) fn rule(id: &str) -> Option<(&'static Row, Verdict)> {
    let mut rows = zten::rules::rows().chain(rules::rows());
    rows.find(|row| row.id == id).map(|row| (row, rules::verdict(row)))
}

/// Finds the format of that name, among those that are read and those that are only named.
pub(crate) fn format(name: &str) -> Option<&'static str> {
    let named = Rule::ALL.iter().filter_map(|rule| Detected::Named(*rule).name());
    let read = Format::ALL.map(Format::name);
    [ZTENSOR].into_iter().chain(read).chain(named).chain(KINDS).find(|own| *own == name)
}
