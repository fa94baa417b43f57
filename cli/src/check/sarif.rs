//! SARIF 2.1.0: one document for all files. What is between its parts is written as files come, and not
//! held.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Component, Path};

use zten::rules::Row;

use super::tally::Tally;
use crate::catalogue::rows;
use crate::json::Json;
use crate::remote::{is_remote, shown};
use crate::report::{Problem, Verdict};
use crate::status::Status;

/// What stands in the place of a rule where a file could not be validated.
const UNREADABLE: &str = "not-validated";

/// All before the first result.
pub(super) fn head(out: &mut impl Write) -> io::Result<()> {
    let mut json = Json::new(out);
    json.open('{')?;
    field(&mut json, "version", "2.1.0")?;
    json.key("runs")?;
    json.open('[')?;
    json.open('{')?;
    json.key("tool")?;
    json.open('{')?;
    json.key("driver")?;
    json.open('{')?;
    field(&mut json, "name", "zten")?;
    field(&mut json, "version", env!("CARGO_PKG_VERSION"))?;
    field(&mut json, "semanticVersion", env!("CARGO_PKG_VERSION"))?;
    json.key("rules")?;
    json.open('[')?;
    for row in rows() {
        rule(&mut json, row)?;
    }
    json.open('{')?;
    field(&mut json, "id", UNREADABLE)?;
    text(&mut json, "shortDescription", "The file can be read and validated.")?;
    text(&mut json, "help", "The message says what is in the way; nothing is known of the file.")?;
    json.close('}')?;
    json.close(']')?;
    json.close('}')?;
    json.close('}')?;
    json.key("results")?;
    json.open('[')
}

/// All behind the last result. `artifacts` writes the files, each as [`artifact`] does.
pub(super) fn end<W: Write>(
    out: &mut W,
    artifacts: impl FnOnce(&mut W) -> io::Result<()>,
    summary: Option<&Tally>,
    status: Status,
) -> io::Result<()> {
    out.write_all(b"],\"artifacts\":[")?;
    artifacts(out)?;
    out.write_all(b"],\"invocations\":[")?;
    let mut json = Json::new(out);
    json.open('{')?;
    json.key("executionSuccessful")?;
    json.plain(status != Status::Trouble)?;
    json.key("exitCode")?;
    json.plain(status.code())?;
    json.close('}')?;
    json.close(']')?;
    if let Some(tally) = summary {
        json.key("properties")?;
        json.open('{')?;
        json.key("summary")?;
        tally.object(&mut json)?;
        json.close('}')?;
    }
    json.close('}')?;
    json.close(']')?;
    json.close('}')?;
    json.line()
}

/// A file that was looked at.
pub(super) fn artifact(out: &mut impl Write, path: &Path) -> io::Result<()> {
    let mut json = Json::new(out);
    json.open('{')?;
    json.key("location")?;
    location(&mut json, path)?;
    json.key("roles")?;
    json.open('[')?;
    json.string("analysisTarget")?;
    json.close(']')?;
    json.close('}')
}

/// What is wrong with a file.
pub(super) fn result(out: &mut impl Write, path: &Path, problem: &Problem) -> io::Result<()> {
    let finding = problem.finding();
    let id = finding.row.map_or(UNREADABLE, |row| row.id);
    let mut json = Json::new(out);
    json.open('{')?;
    field(&mut json, "ruleId", id)?;
    json.key("ruleIndex")?;
    json.plain(rows().take_while(|row| row.id != id).count())?;
    let is_fault = matches!(finding.verdict, Verdict::Refused | Verdict::Error);
    field(&mut json, "level", if is_fault { "error" } else { "warning" })?;
    text(&mut json, "message", &finding.to_string())?;
    json.key("locations")?;
    json.open('[')?;
    json.open('{')?;
    json.key("physicalLocation")?;
    json.open('{')?;
    json.key("artifactLocation")?;
    location(&mut json, path)?;
    // What is in a shard is in another file.
    if let Some(offset) = finding.offset.filter(|_| finding.shard.is_none()) {
        json.key("region")?;
        json.open('{')?;
        json.key("byteOffset")?;
        json.plain(offset)?;
        if let Some(length) = finding.length {
            json.key("byteLength")?;
            json.plain(length)?;
        }
        json.close('}')?;
    }
    json.close('}')?;
    if let Some(object) = &finding.object {
        json.key("logicalLocations")?;
        json.open('[')?;
        json.open('{')?;
        field(&mut json, "name", object)?;
        field(&mut json, "kind", "object")?;
        json.close('}')?;
        if let Some(component) = &finding.component {
            json.open('{')?;
            field(&mut json, "name", component)?;
            field(&mut json, "kind", "member")?;
            json.close('}')?;
        }
        json.close(']')?;
    }
    json.close('}')?;
    json.close(']')?;
    json.key("properties")?;
    json.open('{')?;
    field(&mut json, "verdict", finding.verdict.as_str())?;
    json.key("clause")?;
    json.string_or_null(finding.clause().as_deref())?;
    json.key("shard")?;
    json.string_or_null(finding.shard.as_deref())?;
    json.key("offset")?;
    json.integer_or_null(finding.offset)?;
    json.key("more")?;
    json.integer_or_null(problem.more())?;
    json.close('}')?;
    json.close('}')
}

fn rule<W: Write>(json: &mut Json<'_, W>, row: &Row) -> io::Result<()> {
    json.open('{')?;
    field(json, "id", row.id)?;
    text(json, "shortDescription", row.holds)?;
    text(json, "help", row.advice)?;
    json.key("properties")?;
    json.open('{')?;
    field(json, "clause", row.source.clause())?;
    field(json, "generations", row.scope.as_str())?;
    json.close('}')?;
    json.close('}')
}

fn field<W: Write>(json: &mut Json<'_, W>, key: &str, value: &str) -> io::Result<()> {
    json.key(key)?;
    json.string(value)
}

/// A message.
fn text<W: Write>(json: &mut Json<'_, W>, key: &str, value: &str) -> io::Result<()> {
    json.key(key)?;
    json.open('{')?;
    field(json, "text", value)?;
    json.close('}')
}

fn location<W: Write>(json: &mut Json<'_, W>, path: &Path) -> io::Result<()> {
    json.open('{')?;
    field(json, "uri", &reference(path))?;
    json.close('}')
}

/// A reference that names the file: one that is read over the network by its URL.
fn reference(path: &Path) -> String {
    if is_remote(path) { shown(path).to_string_lossy().into_owned() } else { uri(path) }
}

/// A reference that names a file: relative where the path is, in which every byte that means something to
/// references is escaped.
fn uri(path: &Path) -> String {
    let mut uri = String::new();
    if path.is_absolute() {
        uri.push_str("file://");
    }
    let mut slash = false;
    for component in path.components() {
        // Of a path that is absolute, the root is the first one.
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
                // Memory takes it.
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
