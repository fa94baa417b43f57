//! All rules: those of zTensor, those of other formats, and those of lists of digests and of policies.

use zten::rules::{self, Row};
use zten_report::digests::Difference;
use zten_report::finding::Verdict;

use crate::check::POLICY_ROWS;

/// Every row, those of zTensor first.
pub(crate) fn rows() -> impl Iterator<Item = &'static Row> {
    let listed = Difference::ALL.iter().map(|difference| difference.row());
    let of_callers = listed.chain(POLICY_ROWS.iter().copied());
    rules::rows().chain(zten_formats::rules::rows()).chain(of_callers)
}

/// The row of that id.
pub(crate) fn find(id: &str) -> Option<&'static Row> {
    rows().find(|row| row.id == id)
}

/// The verdict on a file that breaks the rule of a row.
pub(crate) fn verdict(row: &Row) -> Verdict {
    let of_format = zten_formats::Rule::ALL.iter().find(|rule| rule.row().id == row.id);
    match (of_format, row.id.split_once('-')) {
        (Some(rule), _) => rule.verdict(),
        (None, Some(("unsupported", _))) => Verdict::Unsupported,
        (None, Some(("limit", _))) => Verdict::Limit,
        _ => Verdict::Refused,
    }
}

/// The number of a row among all.
pub(crate) fn number(row: &'static Row) -> Option<u16> {
    rows().position(|other| other.id == row.id).and_then(|number| u16::try_from(number).ok())
}
