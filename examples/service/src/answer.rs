//! The answer of a worker: its length as eight little-endian bytes, and then JSON. The descriptor of the memory file, if there
//! is one, comes with the eight bytes.

use serde::{Deserialize, Serialize};
use zten::Generation;
use zten::finding::{Finding, Verdict, ZTENSOR};
use zten::formats::{Detected, Format, KINDS, Rule, rules};
use zten::rules::Row;

/// The alignment of components in the memory file, in bytes, which is enough for any element.
pub const ALIGNMENT: u64 = 64;

/// The exit status of a worker that could not be confined, and so read no byte of the file.
pub(crate) const UNCONFINED: u8 = 3;

/// The result that a caller asks for. The whole file is checked in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Only the verdict.
    Verdict,
    /// The names, dtypes and shapes of the manifest, too.
    Facts,
    /// The manifest and all decoded components.
    Content,
}

impl Want {
    /// Returns the name of this variant in the arguments of a worker.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Verdict => "verdict",
            Self::Facts => "facts",
            Self::Content => "content",
        }
    }

    /// Returns the variant whose argument is `name`.
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
    /// The sentence that `zten check` prints for the file.
    pub summary: String,
    /// The notes on the file.
    #[serde(default)]
    pub notes: Vec<Rejection>,
    /// The objects, in the order of the manifest; empty if only the verdict was asked for.
    pub objects: Vec<Object>,
}

/// An object of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// The name: untrusted text, with any characters.
    pub name: String,
    /// The layout, as the file spells it.
    pub format: String,
    /// The state, as `zten ls --json` gives it.
    pub state: State,
    /// The dimensions, the slowest first.
    pub shape: Vec<u64>,
    /// The components, in the order of the manifest.
    pub components: Vec<Component>,
}

/// The state of an object of a valid file. A file with an unread object is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The elements can be read.
    Readable,
    /// The bytes can be read, but zten does not interpret them: text, records, dates or an unknown type or layout.
    Opaque,
}

/// A component of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The role: `data`, `indices`, ...
    pub role: String,
    /// The dtype, as the file spells it.
    pub dtype: String,
    /// The number of stored bytes in the file.
    pub stored: u64,
    /// The offset and number of the decoded little-endian bytes in the memory file; `None` if content was not asked for.
    pub place: Option<(u64, u64)>,
}

/// The reason why a file is rejected, or a note on a valid file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rejection {
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
    /// The offset of the fault in the file, if it is at one byte.
    pub offset: Option<u64>,
    /// The offset of the fault in the manifest, if it is in the manifest.
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

impl From<Finding> for Rejection {
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

impl From<Rejection> for Finding {
    /// Converts a rejection. The verdict is derived from the rule: the verdict of a compromised worker could contradict the
    /// rule.
    fn from(rejection: Rejection) -> Self {
        let found = rejection.rule.as_deref().and_then(rule);
        let (row, verdict) = found.map_or((None, Verdict::Error), |(row, own)| (Some(row), own));
        let is_generation =
            |own: &Generation| Some(own.as_str()) == rejection.generation.as_deref();
        Self {
            row,
            format: rejection.format.as_deref().and_then(known),
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

/// All generations of zTensor.
const GENERATIONS: [Generation; 4] =
    [Generation::V0_1, Generation::V1_1, Generation::V1_2, Generation::V2];

/// Returns the rule `id`, and the verdict on a file that breaks the rule.
pub(crate) fn rule(id: &str) -> Option<(&'static Row, Verdict)> {
    let mut rows = zten::rules::rows().chain(rules::rows());
    rows.find(|row| row.id() == id).map(|row| (row, row.class().into()))
}

/// Returns whether `name` is the name of a format that zten reads. Only files of such a format can be valid.
pub(crate) fn is_read(name: &str) -> bool {
    read().any(|own| own == name)
}

/// Returns the name of the format `name`, if zten reads or recognizes such a format.
pub(crate) fn known(name: &str) -> Option<&'static str> {
    let named = Rule::ALL.iter().filter_map(|rule| Detected::Named(*rule).name());
    read().chain(named).chain(KINDS).find(|own| *own == name)
}

/// Returns the names of the formats that zten reads.
fn read() -> impl Iterator<Item = &'static str> {
    [ZTENSOR].into_iter().chain(Format::ALL.map(Format::name))
}
