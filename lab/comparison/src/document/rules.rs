//! Rule by rule.

use super::peers;
use crate::outcome::Kind;
use crate::run::{Refused, Round};

/// What was not refused of the files that break each rule.
pub(super) fn table(round: &Round) -> String {
    let mut head = vec!["rule", "from", "files"];
    head.extend(peers(round).map(|(_, subject)| subject.name()));
    let rows = zten::rules::rows().filter_map(|row| {
        let files: Vec<&Refused> =
            round.refused.iter().filter(|file| file.row.id == row.id).collect();
        let first =
            [format!("`{}`", row.id), row.source.clause().to_owned(), files.len().to_string()];
        let cells = peers(round).map(|(at, _)| cell(&files, at));
        (!files.is_empty()).then(|| first.into_iter().chain(cells).collect())
    });
    super::table(&head, 2, rows)
}

/// `3 accepted, 1 panicked`; a dot where all are refused.
fn cell(files: &[&Refused], at: usize) -> String {
    let passed = Kind::ALL.into_iter().filter(|kind| !kind.is_refusal()).filter_map(|kind| {
        let count = files.iter().filter(|file| file.outcomes[at].kind == kind).count();
        (count > 0).then(|| format!("{count} {}", kind.name()))
    });
    let passed: Vec<String> = passed.collect();
    if passed.is_empty() { "·".to_owned() } else { passed.join(", ") }
}
