//! SARIF 2.1.0: one document for all files. Results are written as files are checked, and are not held in memory.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Component, Path};

use serde::Serialize;
use serde_json::{Value, json};
use zten::finding::Finding;
use zten::rules::Row;
use zten_report::check::Report;
use zten_report::page::page_of;

use super::tally::Tally;
use crate::catalog::rows;
use crate::json::{self, Integer};
use crate::link::status::Status;
use crate::output::report::Verdict;
use crate::source::remote::{is_remote, shown};

/// The id of the SARIF rule for files that could not be validated.
const UNREADABLE: &str = "not-validated";

/// The SARIF level of a finding in a valid file.
const NOTE: &str = "note";

/// Writes the SARIF document up to the first result.
pub(super) fn head(out: &mut impl Write) -> io::Result<()> {
    let unreadable = json!({
        "id": UNREADABLE,
        "shortDescription": { "text": "The file can be read and validated." },
        "help": { "text": "The file was not checked. The message says why." },
        "defaultConfiguration": { "level": Verdict::Error.level() },
    });
    let rules: Vec<Value> = rows().map(rule).chain([unreadable]).collect();
    let version = env!("CARGO_PKG_VERSION");
    out.write_all(b"{\"version\":\"2.1.0\",\"runs\":[{\"tool\":")?;
    let driver =
        json!({ "name": "zten", "version": version, "semanticVersion": version, "rules": rules });
    json::to_writer(out, &json!({ "driver": driver }))?;
    out.write_all(b",\"results\":[")
}

fn rule(row: &Row) -> Value {
    json!({
        "id": row.id(),
        "shortDescription": { "text": row.holds() },
        "fullDescription": { "text": row.holds() },
        "help": { "text": row.advice(), "markdown": row.advice() },
        "helpUri": page_of(row.id()),
        "defaultConfiguration": { "level": Verdict::from(row.class()).level().unwrap_or(NOTE) },
        "properties": { "clause": row.source().clause(), "generations": row.scope().as_str() },
    })
}

/// Writes the rest of the document after the last result. `artifacts` writes the list of checked files, by a call of [`artifact`]
/// for each file.
pub(super) fn end<W: Write>(
    out: &mut W,
    artifacts: impl FnOnce(&mut W) -> io::Result<()>,
    summary: Option<&Tally>,
    status: Status,
) -> io::Result<()> {
    out.write_all(b"],\"artifacts\":[")?;
    artifacts(out)?;
    out.write_all(b"],\"invocations\":")?;
    let invocation = json!({
        "executionSuccessful": status != Status::Error,
        "exitCode": status.code(),
    });
    json::to_writer(out, &[invocation])?;
    if let Some(tally) = summary {
        out.write_all(b",\"properties\":")?;
        json::to_writer(out, &json!({ "summary": tally }))?;
    }
    out.write_all(b"}]}\n")
}

/// Writes a checked file as an artifact of the SARIF document.
pub(super) fn artifact(out: &mut impl Write, path: &Path) -> io::Result<()> {
    let location = json!({ "uri": reference(path) });
    json::to_writer(out, &json!({ "location": location, "roles": ["analysisTarget"] }))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Physical,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    byte_offset: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    byte_length: Option<u64>,
}

/// Writes a result for each finding of the file at `path`. `found` is the finding that makes the verdict, with the number of
/// other objects that have a finding; the `notes` follow.
pub(super) fn results(
    out: &mut impl Write,
    path: &Path,
    found: Option<(&Finding, Option<u64>)>,
    notes: &[Finding],
) -> io::Result<()> {
    let notes = notes.iter().map(|note| (note, Some(note.others)));
    for (number, (finding, more)) in found.into_iter().chain(notes).enumerate() {
        if number > 0 {
            out.write_all(b",")?;
        }
        result(out, path, finding, more)?;
    }
    Ok(())
}

/// Writes `finding` as a result. `more` is the number of further places to which the finding applies, or `None` if it is unknown.
fn result(
    out: &mut impl Write,
    path: &Path,
    finding: &Finding,
    more: Option<u64>,
) -> io::Result<()> {
    let report = Report::found(finding, more);
    let id = report.rule.unwrap_or(UNREADABLE);
    // The offset of a finding in a shard is an offset in the shard, and not in the file of this result, so it is left out.
    let offset = finding.offset.filter(|_| finding.shard.is_none());
    let logical = |(name, kind): (Option<&str>, &str)| Some(json!({ "name": name?, "kind": kind }));
    let names = [(report.object, "object"), (report.component, "member")];
    let location = Location {
        physical_location: Physical {
            artifact_location: json!({ "uri": reference(path) }),
            region: offset.map(|byte_offset| Region { byte_offset, byte_length: finding.length }),
        },
        logical_locations: names.into_iter().map_while(logical).collect(),
    };
    let result = json!({
        "ruleId": id,
        "ruleIndex": rows().take_while(|row| row.id() != id).count(),
        "level": report.level.unwrap_or(NOTE),
        "message": { "text": report.message },
        "locations": [location],
        "properties": {
            "verdict": report.verdict,
            "clause": report.clause,
            "shard": report.shard,
            "offset": report.offset.map(Integer),
            "object": report.object,
            "component": report.component,
            "advice": report.advice,
            "more": report.more.map(Integer),
        },
    });
    json::to_writer(out, &result)
}

/// Returns the reference to the file at `path`: the URL of a remote file, or the escaped path of a local file.
pub(super) fn reference(path: &Path) -> String {
    if is_remote(path) { shown(path).to_string_lossy().into_owned() } else { uri(path) }
}

/// Returns the URI reference of the file at `path`, relative if the path is relative. All bytes of names except letters,
/// digits and `-._~` are escaped as `%` and two hexadecimal digits.
fn uri(path: &Path) -> String {
    let mut uri = String::new();
    if path.is_absolute() {
        uri.push_str("file://");
    }
    let mut slash = false;
    for component in path.components() {
        // The root of an absolute path is a component of its own.
        if slash || matches!(component, Component::RootDir) {
            uri.push('/');
        }
        slash = !matches!(component, Component::RootDir);
        if !slash {
            continue;
        }
        let name = component.as_os_str().as_encoded_bytes();
        for byte in name {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
                uri.push(char::from(*byte));
            } else {
                // Writing to memory does not fail.
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_references() {
        assert_eq!(uri(Path::new("a/b c.zt")), "a/b%20c.zt");
        assert_eq!(uri(Path::new("../x:y?#%.zt")), "../x%3Ay%3F%23%25.zt");
        assert_eq!(uri(Path::new("ä")), "%C3%A4");
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt as _;
            assert_eq!(uri(Path::new("/tmp/a")), "file:///tmp/a");
            let name = std::ffi::OsStr::from_bytes(b"\xff\n");
            assert_eq!(uri(Path::new(name)), "%FF%0A");
        }
    }
}
