//! How many files came to what.

use zten::rules::{Row, Source};

use super::{peers, table};
use crate::group::{GROUPS, group};
use crate::outcome::Kind;
use crate::run::{Refused, Results};
use crate::subjects::Subject;

/// By reader and outcome.
pub(super) fn outcomes(results: &Results) -> String {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| {
            results.refused.iter().any(|file| file.outcomes.iter().any(|o| o.kind == *kind))
        })
        .collect();
    let head: Vec<&str> =
        std::iter::once("reader").chain(kinds.iter().map(|kind| kind.name())).collect();
    let rows = Subject::ZTENSOR.into_iter().enumerate().map(|(at, subject)| {
        let count = |kind: &Kind| count(&results.refused, |file| file.outcomes[at].kind == *kind);
        let name = std::iter::once(subject.name().to_owned());
        name.chain(kinds.iter().map(|kind| count(kind).to_string())).collect()
    });
    table(&head, 1, rows)
}

/// Where a rule comes from, as one reader must see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Spec,
    /// A specification that came after the reader.
    LaterSpec,
    Implied,
    Policy,
}

fn origin(row: &Row, subject: Subject) -> Origin {
    match row.source {
        Source::Implied(_) => Origin::Implied,
        Source::Policy(_) => Origin::Policy,
        Source::Spec(clause) => {
            let known = ["v0.1", "v1.1", "RFC"].iter().any(|name| clause.contains(name));
            if subject.is_1_1() && !known { Origin::LaterSpec } else { Origin::Spec }
        }
    }
}

/// What was not refused, by reader and origin.
pub(super) fn sources(results: &Results) -> String {
    let origins = [Origin::Spec, Origin::LaterSpec, Origin::Implied, Origin::Policy];
    let head = ["reader", "specification", "a later specification", "implied", "policy"];
    let rows = Subject::ZTENSOR.into_iter().enumerate().map(|(at, subject)| {
        let cell = |of: &Origin| {
            let of = |file: &&Refused| origin(file.row, subject) == *of;
            not_refused(results.refused.iter().filter(of), at)
        };
        std::iter::once(subject.name().to_owned()).chain(origins.iter().map(cell)).collect()
    });
    table(&head, 1, rows)
}

/// What was not refused, by group and reader.
pub(super) fn groups(results: &Results) -> String {
    let mut head = vec!["group", "files"];
    head.extend(peers().map(|(_, subject)| subject.name()));
    let rows = GROUPS.iter().map(|name| {
        let of = |file: &&Refused| group(file.row.id) == *name;
        let files = results.refused.iter().filter(of).count().to_string();
        let cells = peers().map(|(at, _)| not_refused(results.refused.iter().filter(of), at));
        [(*name).to_owned(), files].into_iter().chain(cells).collect()
    });
    table(&head, 1, rows)
}

/// `12 of 30`.
fn not_refused<'r>(files: impl Iterator<Item = &'r Refused>, at: usize) -> String {
    let (mut passed, mut all) = (0, 0);
    for file in files {
        all += 1;
        passed += usize::from(!file.outcomes[at].kind.is_refusal());
    }
    if all == 0 { "-".to_owned() } else { format!("{passed} of {all}") }
}

/// What becomes of valid files.
pub(super) fn control(results: &Results) -> String {
    let head = [
        "reader",
        "read, as by zten",
        "read otherwise",
        "refused on reading",
        "refused at opening",
        "other",
    ];
    let ours = Subject::ZTENSOR.len() - 1;
    let rows = Subject::ZTENSOR.into_iter().enumerate().map(|(at, subject)| {
        let kinds =
            |kinds: &[Kind]| count(&results.valid, |file| kinds.contains(&file.outcomes[at].kind));
        let accepted = kinds(&[Kind::Accepted]);
        let same = count(&results.valid, |file| {
            let outcome = &file.outcomes[at];
            outcome.kind == Kind::Accepted && outcome.content == file.outcomes[ours].content
        });
        let (reading, opening) =
            (kinds(&[Kind::RefusedOnReading]), kinds(&[Kind::RefusedAtOpening]));
        let other = results.valid.len() - accepted - reading - opening;
        let cells = [same, accepted - same, reading, opening, other];
        std::iter::once(subject.name().to_owned()).chain(cells.map(|n| n.to_string())).collect()
    });
    table(&head, 1, rows)
}

fn count<T>(items: &[T], of: impl Fn(&T) -> bool) -> usize {
    items.iter().filter(|item| of(item)).count()
}
