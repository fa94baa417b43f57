//! The translated cases.

use zten::rules::Source;

use super::table as lines;
use crate::run::Results;

/// Case by case.
pub(super) fn table(results: &Results) -> String {
    let rows = results.translated.iter().map(|one| {
        let (rule, from) = match one.case.rule.and_then(zten::rules::find) {
            Some(row) => (format!("`{}`", row.id), from(row.source)),
            None => ("none: it is valid".to_owned(), ""),
        };
        let outcome = one.outcome.kind.name().to_owned();
        vec![one.case.name.to_owned(), rule, from.to_owned(), outcome]
    });
    lines(&["case", "rule of ours", "from", "safetensors 0.8.0"], 4, rows)
}

fn from(source: Source) -> &'static str {
    match source {
        Source::Spec(_) => "specification",
        Source::Implied(_) => "implied",
        Source::Fault(_) => "published fault",
        _ => "policy",
    }
}
