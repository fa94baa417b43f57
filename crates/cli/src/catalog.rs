//! All rules: those of zTensor, those of other formats, and those of lists of digests and of policies.

use zten::rules::{self, Row};
use zten_report::digests::Difference;

use zten_report::finding::Verdict;

use crate::check::{POLICY_ROWS, PROGRAM};

/// Every row, those of zTensor first.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    let listed = Difference::ALL.iter().map(|difference| difference.row());
    let of_callers = listed.chain(POLICY_ROWS.iter().copied());
    rules::rows().chain(zten_formats::rules::rows()).chain([&PROGRAM]).chain(of_callers)
}

/// Returns the verdict on a file with a finding by that rule; a valid one if the rule makes notes only.
pub(crate) fn verdict(row: &Row) -> Verdict {
    if row.id == PROGRAM.id { Verdict::Valid } else { zten_formats::rules::verdict(row) }
}

/// The row of that id.
pub(crate) fn find(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id == id)
}

/// Ids of rules that earlier versions had. Policies may name them: those are written once, and checked by many versions.
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

/// Returns whether an id is that of a rule that was retired. A rule that is in the catalog again is not.
pub(crate) fn is_retired(id: &str) -> bool {
    RETIRED.contains(&id) && find(id).is_none()
}

/// The number of a row among all.
pub(crate) fn number(row: &'static Row) -> Option<u16> {
    rows().position(|other| other.id == row.id).and_then(|number| u16::try_from(number).ok())
}
