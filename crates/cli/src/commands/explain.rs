//! `zten explain`: prints what a rule requires, where it comes from, and what to do.

use std::cmp::Reverse;
use std::io::{self, Write as _};

use unicode_width::UnicodeWidthStr as _;
use zten::rules::{Row, Scope};
use zten_report::page::page_of;

use crate::args::Explain;
use crate::catalog::{classes_in_pickles, find, origin, rows};
use crate::escape;
use crate::output::app::App;

/// The width of a line in columns.
const COLUMNS: usize = 96;
/// The columns before the text, which hold the labels.
const INDENT: usize = 15;

/// Explains the rule that `args` names, or lists all rules.
pub(crate) fn run(app: &mut App, args: &Explain) -> io::Result<()> {
    let Some(id) = &args.rule else {
        return list(app);
    };
    match find(id) {
        Some(row) => explain(app, row),
        None => app.usage(unknown(id)),
    }
}

/// Prints the ids of all rules with their sentences.
fn list(app: &mut App) -> io::Result<()> {
    let width = rows().map(|row| row.id().len()).max().unwrap_or_default();
    let mut is_other = false;
    for row in rows() {
        if matches!(row.scope(), Scope::Other(_)) && !is_other {
            is_other = true;
            writeln!(app.out, "\nOf other formats:\n")?;
        }
        writeln!(app.out, "{:width$}  {}", row.id(), row.holds())?;
    }
    Ok(())
}

/// Prints the explanation of one rule.
fn explain(app: &mut App, row: &Row) -> io::Result<()> {
    let is_other = matches!(row.scope(), Scope::Other(_));
    writeln!(app.out, "{}\n", row.id())?;
    let classes = if row.id() == "torch-global" { classes_in_pickles() } else { String::new() };
    let parts = [
        ("a valid file", row.holds()),
        ("the message", &row.broken().replace("{}", "N")),
        ("source", &origin(row)),
        (if is_other { "formats" } else { "generations" }, row.scope().as_str()),
        ("what to do", row.advice()),
        ("classes", &classes),
        ("page", &page_of(row.id())),
    ];
    for (what, text) in parts.into_iter().filter(|(_, text)| !text.is_empty()) {
        let mut label = what;
        for line in wrapped(text) {
            writeln!(app.out, "  {label:INDENT$}{line}", INDENT = INDENT - 2)?;
            label = "";
        }
    }
    Ok(())
}

/// Wraps `text` at spaces into lines that fit in [`COLUMNS`] after the label. A longer word has a line of its own.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if INDENT + line.width() + 1 + word.width() <= COLUMNS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the message for the unknown rule `id`, with up to five rules of similar ids.
fn unknown(id: &str) -> String {
    let mut close: Vec<_> = rows()
        .map(|row| {
            let parts = id.split('-').filter(|part| row.id().split('-').any(|own| own == *part));
            let likeness = strsim::jaro_winkler(id, row.id());
            (likeness, parts.count(), row.id())
        })
        .filter(|(likeness, parts, _)| *likeness > 0.8 || *parts > 0)
        .collect();
    close.sort_by(|one, other| {
        let best = |(likeness, parts, _): &(f64, usize, _)| (Reverse(*parts), *likeness);
        let ((one_parts, one), (other_parts, other)) = (best(one), best(other));
        one_parts.cmp(&other_parts).then(other.total_cmp(&one))
    });
    let close: Vec<_> = close.iter().take(5).map(|(.., id)| *id).collect();
    let hint = match close.join(", ") {
        none if none.is_empty() => "`zten explain` lists all rules".to_owned(),
        some => format!("did you mean {some}?"),
    };
    format!("unknown rule {}\n  {hint}", escape::quoted(id))
}
