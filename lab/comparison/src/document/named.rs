//! The files that stand out, by name.

use super::{code, peers, table};
use crate::outcome::Kind;
use crate::run::Round;

/// Every file of the corpus that did more than be accepted, under what it did.
pub(super) fn worst(round: &Round) -> String {
    let kinds = [Kind::Overrun, Kind::Aborted, Kind::OutOfTime, Kind::Panicked, Kind::Wrong];
    kinds.iter().fold(String::new(), |text, kind| {
        let rows = round.refused.iter().filter_map(|file| {
            let cells = peers(round).map(|(at, _)| match &file.outcomes[at] {
                outcome if outcome.kind != *kind => String::new(),
                outcome if *kind == Kind::Wrong => outcome.words(),
                _ => "yes".to_owned(),
            });
            row(&file.file, cells)
        });
        let rows: Vec<_> = rows.collect();
        if rows.is_empty() {
            return text;
        }
        text + &format!("#### {}\n\n{}\n", kind.name(), by_reader(round, rows))
    })
}

/// Valid files whose content is not what ours reads.
pub(super) fn control(round: &Round) -> String {
    let ours = round.readers.len() - 1;
    let rows = round.valid.iter().filter_map(|file| {
        let cells = peers(round).map(|(at, _)| {
            let outcome = &file.outcomes[at];
            match outcome.kind {
                Kind::Accepted if outcome.content == file.outcomes[ours].content => String::new(),
                Kind::Accepted => "other bytes".to_owned(),
                Kind::RefusedAtOpening | Kind::RefusedOnReading => String::new(),
                Kind::Wrong => outcome.words(),
                kind => kind.name().to_owned(),
            }
        });
        row(&file.file, cells)
    });
    by_reader(round, rows)
}

/// Valid files that another reader refuses.
pub(super) fn refused(round: &Round) -> String {
    let rows = round.valid.iter().filter_map(|file| {
        let kinds = peers(round).map(|(at, _)| file.outcomes[at].kind);
        let refusal = |kind: Kind| if kind.is_refusal() { kind.name() } else { "" }.to_owned();
        row(&file.file, kinds.map(refusal))
    });
    by_reader(round, rows)
}

/// The file and its cells, unless all are empty.
fn row(file: &str, cells: impl Iterator<Item = String>) -> Option<Vec<String>> {
    let row: Vec<String> = std::iter::once(code(file)).chain(cells).collect();
    row.iter().skip(1).any(|cell| !cell.is_empty()).then_some(row)
}

fn by_reader(round: &Round, rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let head: Vec<&str> =
        std::iter::once("file").chain(peers(round).map(|(_, subject)| subject.name())).collect();
    table(&head, head.len(), rows)
}

/// What panics and aborts say.
pub(super) fn messages(round: &Round) -> String {
    let refused = round.refused.iter().map(|file| (&file.file, &file.outcomes));
    let valid = round.valid.iter().map(|file| (&file.file, &file.outcomes));
    let mut rows = Vec::new();
    for (file, outcomes) in refused.chain(valid) {
        for (at, subject) in peers(round) {
            let outcome = &outcomes[at];
            if [Kind::Panicked, Kind::Aborted, Kind::OutOfTime].contains(&outcome.kind) {
                let name = subject.name().to_owned();
                rows.push(vec![code(file), name, code(&outcome.message)]);
            }
        }
    }
    table(&["file", "reader", "message"], 3, rows)
}
