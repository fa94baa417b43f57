//! The check that text which a worker has rendered is about the file that the worker was given. A compromised worker may lie
//! about that file, and must not print a verdict on another.

use std::path::Path;

use serde::Deserialize;

use super::record::{OutputForm, RenderedOutcome};
use super::sarif;
use crate::escape;
use crate::source::remote::shown;

/// The fields of a line of JSON that the broker compares with the job of the worker that sent the line. A duplicate key is an
/// error, because parsers disagree on which of two equal keys counts.
#[derive(Deserialize)]
struct Line {
    file: String,
    verdict: String,
}

/// The field of a SARIF result that is compared: the file in each location.
#[derive(Deserialize)]
struct SarifResult {
    locations: Vec<SarifLocation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: Physical,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
}

#[derive(Deserialize)]
struct Artifact {
    uri: String,
}

/// Returns whether every line or result in `record` is about the file at `path`. JSON must be a single line, whose verdict is that
/// of `record`. SARIF may have no result.
pub(super) fn is_about(form: OutputForm, path: &Path, record: &RenderedOutcome) -> bool {
    match form {
        OutputForm::Text => is_text_about(path, &record.text),
        OutputForm::Json => {
            let text = record.text.strip_suffix('\n').filter(|text| !text.contains('\n'));
            let line: Option<Line> = text.and_then(|text| serde_json::from_str(text).ok());
            line.is_some_and(|line| {
                let is_file =
                    [path, &shown(path)].iter().any(|path| path.to_string_lossy() == line.file);
                is_file && line.verdict == record.kind.verdict.as_str()
            })
        }
        OutputForm::Sarif => {
            let results: Result<Vec<SarifResult>, _> =
                serde_json::from_str(&format!("[{}]", record.text));
            let uri = sarif::reference(path);
            results.is_ok_and(|results| {
                results
                    .iter()
                    .flat_map(|result| &result.locations)
                    .all(|location| location.physical_location.artifact_location.uri == uri)
            })
        }
    }
}

/// Returns whether the first line of `text` begins with `path`, all other lines are indented, and the last line ends with a
/// newline.
fn is_text_about(path: &Path, text: &str) -> bool {
    let Some(text) = text.strip_suffix('\n') else { return false };
    let text = without_colors(text);
    let mut lines = text.split('\n');
    let start = format!("{}: ", escape::path(&shown(path)));
    lines.next().is_some_and(|line| line.starts_with(&start))
        && lines.all(|line| line.starts_with("  "))
}

/// Removes color codes from `text`. The broker has checked their form.
fn without_colors(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::kind::{OutcomeKind, VERDICTS};

    #[test]
    fn text_about_other_files_is_found() {
        let about = |form, text: &str| {
            let kind =
                OutcomeKind { verdict: VERDICTS[0], row: None, notes: Vec::new(), other: None };
            is_about(
                form,
                Path::new("a-b"),
                &RenderedOutcome { kind, text: text.to_owned(), also: Vec::new() },
            )
        };
        for (text, is_own) in [
            ("a-b: valid\n", true),
            ("\x1b[1ma-b\x1b[0m: valid\n  note: x\n", true),
            ("", false),
            ("\n", false),
            ("a-b: valid", false),
            ("b: valid\n", false),
            ("a-b: valid\nb: valid\n", false),
        ] {
            assert_eq!(about(OutputForm::Text, text), is_own, "{text:?}");
        }
        for (text, is_own) in [
            (r#"{"file":"a-b","verdict":"valid","x":1}"#, true),
            (r#"{"file":"a-b","verdict":"invalid"}"#, false),
            (r#"{"file":"b","verdict":"valid"}"#, false),
            (r#"{"file":"b","file":"a-b","verdict":"valid"}"#, false),
            (r#"{"file":"a-b","verdict":"valid"} {}"#, false),
            ("", false),
        ] {
            assert_eq!(about(OutputForm::Json, &format!("{text}\n")), is_own, "{text}");
        }
        let result = |uri: &str| {
            format!(
                r#"{{"locations":[{{"physicalLocation":{{"artifactLocation":{{"uri":"{uri}"}}}}}}]}}"#
            )
        };
        assert!(about(OutputForm::Sarif, "") && about(OutputForm::Sarif, &result("a-b")));
        assert!(!about(OutputForm::Sarif, &result("b")) && !about(OutputForm::Sarif, "{}],[{}"));
    }
}
