//! The catalog of all rules: of zTensor, of the other formats, of programs in folders, of lists of digests, of stores, of policies,
//! and of patches.

use zten::rules::{self, Class, Row, Scope, Source, Texts};

use crate::digests::Difference;
use crate::stores;

/// The rule about programs in folders of models. A note with this rule says that a file in a checked folder is a program.
pub static PROGRAM: Row = Row::new(
    "program-file",
    Class::Note,
    &Texts {
        holds: "No file in a checked folder is a program, and no file in a folder with weights is Python source.",
        broken: "the file is a program",
        source: Source::Policy(
            "weights are data, and a program in their folder may be loaded with them",
        ),
        scope: Scope::Other("all, found in folders"),
        advice: "Read the program before you load the model with code that the repository brings (`trust_remote_code`).",
    },
);

/// Defines the rules of policies: for each the id, the requirement, the short description of a violation, and the advice.
macro_rules! rows {
    ($($name:ident $id:literal $holds:literal $broken:literal $advice:literal;)+) => {
        $(pub(crate) static $name: Row = Row::new($id, Class::Invalid, &Texts {
            holds: $holds,
            broken: $broken,
            source: Source::Policy("the rule is checked only with a policy that demands it"),
            scope: Scope::Other("all, checked with a policy"),
            advice: $advice,
        });)+
        /// The rules about policies. A file breaks one of them by violating the policy that the caller gives.
        pub static POLICY_ROWS: &[&Row] = &[$(&$name),+];
    };
}

rows! {
    FORMAT "policy-format"
        "The format of the file is one that the policy allows; an index has the format of the files that it names."
        "the policy does not allow the format of the file"
        "Convert the file with `zten convert` to a format that the policy allows.";
    DTYPE "policy-dtype"
        "The dtype of each component is one that the policy allows."
        "the policy does not allow the dtype of a component"
        "Convert the tensor to a dtype that the policy allows with `zten convert --dtype`, or leave it out with `--except`.";
    SIZE "policy-size"
        "The sizes of the file, its shards and its tensors, and the number of tensors, are at most those that the policy allows."
        "a size or the number of tensors exceeds the maximum of the policy"
        "Split the file with `zten convert --shard-size`, or leave tensors out with `--except`.";
    DIGEST "policy-digest"
        "Each component has a digest by an algorithm that the policy requires."
        "a component lacks a digest that the policy requires"
        "Write the file with `zten convert --digest sha256`; formats other than zTensor have no digests.";
    COMPRESSION "policy-compression"
        "If the policy forbids compression, no component is compressed."
        "a component is compressed, which the policy forbids"
        "Write the file again with `zten convert`, without `--zstd`.";
    STORE "policy-store"
        "If the policy requires it, the file is in a store, and its content was compared with the digest that is its name."
        "the content was not compared with a digest in the name of the file, as the policy requires"
        "Check the cache of the Hugging Face hub or the store of Ollama that the file came from, and not a copy.";
}

/// Defines the rules of patches: for each the name of the constant, the id, the class, the requirement, the short description of a
/// violation, and the advice.
macro_rules! patch_rows {
    ($($name:ident $id:literal $class:ident $holds:literal $broken:literal $advice:literal;)+) => {
        $(#[doc = $holds]
        pub static $name: Row = Row::new($id, Class::$class, &Texts {
            holds: $holds,
            broken: $broken,
            source: Source::Policy("docs/patch.md describes patches"),
            scope: Scope::Other("patches"),
            advice: $advice,
        });)+
        /// All rules about files that are patches.
        pub static PATCH_ROWS: &[&Row] = &[$(&$name),+];
    };
}

patch_rows! {
    PATCH_FILE "patch-file" Invalid
        "A patch is a zTensor file of generation 2 with the attribute `zten.patch`, in one file."
        "the file is not a patch"
        "`zten patch make` writes patches.";
    PATCH_VERSION "patch-version" Unsupported
        "The version of a patch is 1."
        "the patch has an unknown version"
        "Apply the patch with a newer zten.";
    PATCH_RECORD "patch-record" Invalid
        "The attribute `zten.patch` has the entries that docs/patch.md lists, and names each tensor once."
        "the description of the changes is not valid"
        "Fetch the patch again, or make it again.";
    PATCH_STREAM "patch-stream" Invalid
        "Each object of a patch is a chunk of a stream or a whole tensor. The length of each stream is the sum of the lengths that the changes declare for it."
        "an object of the patch is no valid chunk and no whole tensor, or a stream has more or fewer bytes than the changes declare"
        "Fetch the patch again, or make it again.";
    PATCH_FRAME "patch-frame" Invalid
        "The changes of a component are stored in frames of 65,536 elements each. Each frame changes only elements that the component has, by differences that are possible for their type."
        "the changes of a component are not valid"
        "Fetch the patch again, or make it again.";
    PATCH_BASE "patch-base" Invalid
        "A patch is applied to the tensors that it was made of."
        "the tensors are not those that the patch was made of"
        "Apply the patch to the checkpoint that was OLD when the patch was made; `zten hash --id` prints the identity of a file.";
    PATCH_RESULT "patch-result" Invalid
        "The result of a patch has the digests that the patch gives."
        "the result does not have the digest that the patch gives"
        "The patch is damaged or was changed. Fetch it again, or make it again.";
}

/// Returns every rule of the catalog. The rules of zTensor come first, and then those of the other formats.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let listed = Difference::ALL.iter().map(|difference| difference.row());
    let of_callers =
        listed.chain(stores::ROWS.iter().chain(POLICY_ROWS).chain(PATCH_ROWS).copied());
    rules::rows().chain(zten::formats::rules::rows()).chain([&PROGRAM]).chain(of_callers)
}

/// Returns the rule whose id is `id`, or `None` if the catalog has no such rule. Retired rules are not in the catalog.
pub fn find(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id() == id)
}

/// Returns a phrase that says where the rule `row` comes from, such as "specification: §5.2" or "policy of this reader: " and the
/// reason for the rule.
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

/// Returns whether the rule `row` is checked only if the caller gives a list of digests or a policy.
pub fn is_of_caller(row: &Row) -> bool {
    row.id().starts_with("list-") || row.id().starts_with("policy-")
}

/// Returns the text that `zten explain torch-global` prints in addition: the classes of plain values that pickles may import, and
/// how a checkpoint with other classes can be read.
pub fn classes_in_pickles() -> String {
    let names: Vec<_> = zten::formats::classes_in_pickles().collect();
    format!(
        "zten accepts what PyTorch imports with `weights_only=True`, and in addition the following, but only with the arguments that their own pickles give them: {}. `--tolerate torch-global` reads the tensors of a checkpoint with other classes, without importing anything; `allow-globals` in a policy accepts the classes that it names.",
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

/// Returns whether `id` is the id of a rule that earlier versions had and this version does not have.
pub fn is_retired(id: &str) -> bool {
    RETIRED.contains(&id) && find(id).is_none()
}

/// Returns the index of `row` in the order of [`rows`], by which messages refer to the rule. Returns `None` if the catalog has no
/// rule of this id.
pub fn number(row: &'static Row) -> Option<u16> {
    rows().position(|other| other.id() == row.id()).and_then(|number| u16::try_from(number).ok())
}
