//! The catalog of all rules: of zTensor, of the other formats, of lists of digests, and of policies.

use zten::rules::{self, Row};
use zten_report::digests::Difference;

use crate::check::{POLICY_ROWS, PROGRAM};

/// Returns every rule, the rules of zTensor first.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    let listed = Difference::ALL.iter().map(|difference| difference.row());
    let of_callers = listed.chain(POLICY_ROWS.iter().copied());
    rules::rows().chain(zten::formats::rules::rows()).chain([&PROGRAM]).chain(of_callers)
}

/// Returns the rule whose id is `id`.
pub(crate) fn find(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id() == id)
}

/// Ids of rules that earlier versions had. A policy may name them, because a policy is written once and used with many
/// versions.
const RETIRED: &[&str] = &[
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
pub(crate) fn is_retired(id: &str) -> bool {
    RETIRED.contains(&id) && find(id).is_none()
}

/// Returns the number of a rule in the order of [`rows`], by which messages refer to the rule.
pub(crate) fn number(row: &'static Row) -> Option<u16> {
    rows().position(|other| other.id() == row.id()).and_then(|number| u16::try_from(number).ok())
}
