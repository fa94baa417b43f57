//! How many files came to what.

use zten::rules::Source;

use super::{peers, table};
use crate::group::{GROUPS, group};
use crate::outcome::Kind;
use crate::run::{Refused, Round};
use crate::subjects::Subject;

/// By reader and outcome.
pub(super) fn outcomes(round: &Round) -> String {
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|kind| {
            round.refused.iter().any(|file| file.outcomes.iter().any(|o| o.kind == *kind))
        })
        .collect();
    let head: Vec<&str> =
        std::iter::once("reader").chain(kinds.iter().map(|kind| kind.name())).collect();
    let rows = round.readers.iter().enumerate().map(|(at, subject)| {
        let count = |kind: &Kind| count(&round.refused, |file| file.outcomes[at].kind == *kind);
        let name = std::iter::once(subject.name().to_owned());
        name.chain(kinds.iter().map(|kind| count(kind).to_string())).collect()
    });
    table(&head, 1, rows)
}

/// Where a rule comes from, as one reader must see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Spec,
    /// What a specification says that the reader does not know: a later one, or that of a layout.
    Unknown,
    Implied,
    Policy,
}

fn origin(file: &Refused, subject: Subject) -> Origin {
    match file.row.source {
        Source::Implied(_) => Origin::Implied,
        Source::Spec(clause) => {
            let early = ["v0.1", "v1.1", "RFC"].iter().any(|name| clause.contains(name));
            let unknown = subject.is_1_1() && !early || subject.is_2_1() && file.foreign;
            if unknown { Origin::Unknown } else { Origin::Spec }
        }
        // A policy.
        _ => Origin::Policy,
    }
}

/// What was not refused, by reader and origin. `unknown` is what readers may not know.
pub(super) fn sources(round: &Round, unknown: &str) -> String {
    let origins = [Origin::Spec, Origin::Unknown, Origin::Implied, Origin::Policy];
    let head = ["reader", "specification", unknown, "implied", "policy"];
    let rows = round.readers.iter().enumerate().map(|(at, subject)| {
        let cell = |of: &Origin| {
            let of = |file: &&Refused| origin(file, *subject) == *of;
            not_refused(round.refused.iter().filter(of), at)
        };
        std::iter::once(subject.name().to_owned()).chain(origins.iter().map(cell)).collect()
    });
    table(&head, 1, rows)
}

/// What was not refused, by group and reader.
pub(super) fn groups(round: &Round) -> String {
    let mut head = vec!["group", "files"];
    head.extend(peers(round).map(|(_, subject)| subject.name()));
    let rows = GROUPS.iter().map(|name| {
        let of = |file: &&Refused| group(file.row.id) == *name;
        let files = round.refused.iter().filter(of).count().to_string();
        let cells = peers(round).map(|(at, _)| not_refused(round.refused.iter().filter(of), at));
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
pub(super) fn control(round: &Round) -> String {
    let head = [
        "reader",
        "read, as by zten",
        "read otherwise",
        "refused on reading",
        "refused at opening",
        "other",
    ];
    let ours = round.readers.len() - 1;
    let rows = round.readers.iter().enumerate().map(|(at, subject)| {
        let kinds =
            |kinds: &[Kind]| count(&round.valid, |file| kinds.contains(&file.outcomes[at].kind));
        let accepted = kinds(&[Kind::Accepted]);
        let same = count(&round.valid, |file| {
            let outcome = &file.outcomes[at];
            outcome.kind == Kind::Accepted && outcome.content == file.outcomes[ours].content
        });
        let (reading, opening) =
            (kinds(&[Kind::RefusedOnReading]), kinds(&[Kind::RefusedAtOpening]));
        let other = round.valid.len() - accepted - reading - opening;
        let cells = [same, accepted - same, reading, opening, other];
        std::iter::once(subject.name().to_owned()).chain(cells.map(|n| n.to_string())).collect()
    });
    table(&head, 1, rows)
}

fn count<T>(items: &[T], of: impl Fn(&T) -> bool) -> usize {
    items.iter().filter(|item| of(item)).count()
}
