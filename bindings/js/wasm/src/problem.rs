//! Writes findings about a file as JSON documents, which are the answers of calls that fail.

use std::io::{self, Write};
use std::ops::Range;

use serde::Serialize;
use zten::Generation;
use zten::escape::escape_all;
use zten::finding::Finding;
use zten::json::to_writer;
use zten::rules::Source;
use zten_report::check::Report;

/// Writes the finding about `error`, with which reading the content of `file` failed, to `out`. If the host failed to supply
/// bytes, writes that the file could not be read.
///
/// # Errors
/// The errors of `out`.
#[cfg(feature = "reading")]
pub fn reading(
    file: &crate::session::File,
    error: &zten::Error,
    out: &mut impl Write,
) -> io::Result<()> {
    if error.kind() == zten::ErrorKind::Read {
        let lost = "the file could not be read: it may have been changed or removed";
        let verdict = zten::finding::Verdict::Error;
        return write(&Finding::new(verdict, lost.to_owned()), None, out);
    }
    let finding = Finding::reading(file.manifest(), error);
    write(&finding, Some(&file.manifest().extent()), out)
}

/// Writes `finding` to `out` as the document of `zten check --json`, without the name of the file. With the feature `page` the
/// document has further fields for the page, such as `manifest_start` and `manifest_end`, the byte range `manifest` of the manifest
/// in the file.
///
/// # Errors
/// The errors of `out`.
pub fn write(
    finding: &Finding,
    manifest: Option<&Range<u64>>,
    out: &mut impl Write,
) -> io::Result<()> {
    let report = Report::found(finding, None);
    if cfg!(feature = "page") {
        to_writer(out, &Detailed::new(report, finding, manifest))
    } else {
        to_writer(out, &report)
    }
}

/// The document for the page: the report, with the parts of its message, the rule and the position as fields of their own.
#[derive(Serialize)]
struct Detailed<'a> {
    #[serde(flatten)]
    report: Report<'a>,
    sentence: &'a str,
    holds: Option<&'a str>,
    source: Option<&'a str>,
    why: Option<&'a str>,
    generation: Option<&'a str>,
    length: Option<u64>,
    ordinal: Option<u32>,
    part: Option<u32>,
    manifest_start: Option<u64>,
    manifest_end: Option<u64>,
    /// The name of the object, with control and invisible characters escaped so that the page shows all characters.
    object_shown: Option<String>,
    component_shown: Option<String>,
}

impl<'a> Detailed<'a> {
    fn new(report: Report<'a>, finding: &'a Finding, manifest: Option<&Range<u64>>) -> Self {
        let row = finding.row;
        let (source, why) = row
            .map(|row| match row.source() {
                Source::Implied(why) => ("implied", why),
                Source::Policy(why) => ("policy", why),
                Source::Fault(_) => ("fault", ""),
                _ => ("spec", ""),
            })
            .unzip();
        Self {
            report,
            sentence: &finding.sentence,
            holds: row.map(zten::rules::Row::holds),
            source,
            why,
            generation: finding.generation.map(Generation::as_str),
            length: finding.length,
            ordinal: finding.location.object(),
            part: finding.location.component(),
            manifest_start: manifest.map(|manifest| manifest.start),
            manifest_end: manifest.map(|manifest| manifest.end),
            object_shown: finding.object.as_deref().map(escape_all),
            component_shown: finding.component.as_deref().map(escape_all),
        }
    }
}
