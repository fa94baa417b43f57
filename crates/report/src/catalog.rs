//! The catalog of all rules: of zTensor, of the other formats, of lists of digests, and of policies.

use zten::rules::{self, Class, Row, Scope, Source, Texts};

use crate::digests::Difference;

/// The rule of the note on programs.
pub static PROGRAM: Row = Row::new(
    "program-file",
    Class::Note,
    &Texts {
        holds: "No file in a folder is a program, and none beside weights is Python source.",
        broken: "the file is a program",
        source: Source::Policy("weights are data: a program beside them may be loaded with them"),
        scope: Scope::Other("all, found in folders"),
        advice: "Read it before you load the model with code that the repository brings (`trust_remote_code`).",
    },
);

/// Defines the rules of policies: for each the id, the requirement, the short description of a violation, and the advice.
macro_rules! rows {
    ($($name:ident $id:literal $holds:literal $broken:literal $advice:literal;)+) => {
        $(pub(crate) static $name: Row = Row::new($id, Class::Invalid, &Texts {
            holds: $holds,
            broken: $broken,
            source: Source::Policy("the caller names a policy"),
            scope: Scope::Other("all, checked with a policy"),
            advice: $advice,
        });)+
        /// All rules of policies.
        pub static POLICY_ROWS: &[&Row] = &[$(&$name),+];
    };
}

rows! {
    FORMAT "policy-format"
        "The format of the file is one that the policy allows; an index has the format of the files that it names."
        "the policy does not allow the format"
        "Convert the file with `zten convert` to a format that the policy allows, or ask for one.";
    DTYPE "policy-dtype"
        "The dtype of each component is one that the policy allows."
        "the policy does not allow the dtype"
        "Convert the file with `zten convert --dtype`, or leave the tensor out with `--except`.";
    SIZE "policy-size"
        "The file, its shards, its tensors and their number are no larger than the policy allows."
        "a size exceeds the maximum of the policy"
        "Split the file with `zten convert --shard-size`, or leave tensors out with `--except`.";
    DIGEST "policy-digest"
        "Each component has a digest by an algorithm that the policy requires."
        "the policy requires a digest"
        "Write the file with `zten convert --digest sha256`; formats other than zTensor have no digests.";
    COMPRESSION "policy-compression"
        "No component is compressed, where the policy forbids that."
        "the policy does not allow compression"
        "Write the file again with `zten convert`, without `--zstd`.";
}

/// Returns every rule, the rules of zTensor first.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let listed = Difference::ALL.iter().map(|difference| difference.row());
    let of_callers = listed.chain(POLICY_ROWS.iter().copied());
    rules::rows().chain(zten::formats::rules::rows()).chain([&PROGRAM]).chain(of_callers)
}

/// Returns the rule whose id is `id`.
pub fn find(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id() == id)
}

/// Returns where `row` comes from: clauses of a specification, or the reason for the rule, with the kind of source in front.
pub fn origin(row: &Row) -> String {
    match row.source() {
        Source::Spec(clause) => format!("specification: {clause}"),
        Source::Implied(why) => format!("implied: {why}"),
        Source::Policy(why) if is_of_caller(row) => format!("policy of the caller: {why}"),
        Source::Policy(why) => format!("policy of this reader: {why}"),
        Source::Fault(issues) => format!("published fault of a reader: {issues}"),
        other => other.clause().to_owned(),
    }
}

/// Returns whether a rule is checked only if the caller asks for it, with a list of digests or a policy.
fn is_of_caller(row: &Row) -> bool {
    row.id().starts_with("list-") || row.id().starts_with("policy-")
}

/// Returns a text that names the classes of plain values that pickles may import, and says how an unknown class can be read. It
/// belongs to the rule `torch-global`.
pub fn classes_in_pickles() -> String {
    let names: Vec<_> = zten::formats::classes_in_pickles().collect();
    format!(
        "What PyTorch imports with `weights_only=True`, and with the arguments of their own pickles alone: {}. `--tolerate torch-global` reads the tensors of a checkpoint with other classes, without importing anything; `allow-globals` in a policy accepts the classes that it names.",
        names.join(", ")
    )
}

/// Ids of rules that earlier versions had. A policy may name them, because a policy is written once and used with many
/// versions.
const RETIRED: &[&str] = &[
    "format-torch-index",
    "npz-bounds",
    "npz-contiguous",
    "npz-count",
    "npz-crc",
    "npz-deflate",
    "npz-descriptor",
    "npz-directory",
    "npz-end-record",
    "npz-end-record-64",
    "npz-extra",
    "npz-feature",
    "npz-header",
    "npz-length",
    "npz-stored-size",
    "torch-stride",
    "unsupported-container",
];

/// Returns whether `id` is the id of a retired rule. A rule that was retired and is in the catalog again does not count.
pub fn is_retired(id: &str) -> bool {
    RETIRED.contains(&id) && find(id).is_none()
}

/// Returns the number of a rule in the order of [`rows`], by which messages refer to the rule.
pub fn number(row: &'static Row) -> Option<u16> {
    rows().position(|other| other.id() == row.id()).and_then(|number| u16::try_from(number).ok())
}
