//! What is wrong with a file: verdict, rule, and where.

use std::io::{self, Write};
use std::ops::Range;

use zten::rules::Source;
use zten::{Error, ErrorKind};
use zten_report::escape::whole;
use zten_report::finding::{Finding, Verdict};
use zten_report::json::Json;

use crate::session::File;

/// Says why the content of an open file could not be read.
///
/// # Errors
/// Those of `out`.
pub fn reading(file: &File, error: &Error, out: &mut impl Write) -> io::Result<()> {
    if error.kind() == ErrorKind::Read {
        let lost = "the file could not be read: it may have been changed or removed";
        return write(&Finding::new(Verdict::Error, lost.to_owned()), None, out);
    }
    let finding = Finding::reading(file.manifest(), error);
    write(&finding, Some(&file.manifest().extent()), out)
}

/// Writes what has been found: the document of `zten check --json`, without the name of the file,
/// and with the feature `details` what only a page has room for. `manifest` is where the manifest lies.
///
/// # Errors
/// Those of `out`.
pub fn write(
    finding: &Finding,
    manifest: Option<&Range<u64>>,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut json = Json::document(out)?;
    finding.json(&mut json, None)?;
    if cfg!(feature = "details") {
        details(finding, manifest, &mut json)?;
    }
    json.close('}')
}

/// Rule, place and extent, each by itself.
fn details<W: Write>(
    finding: &Finding,
    manifest: Option<&Range<u64>>,
    json: &mut Json<'_, W>,
) -> io::Result<()> {
    json.key("sentence")?;
    json.string(&finding.sentence)?;
    if let Some(row) = finding.row {
        let (source, why) = match row.source {
            Source::Implied(why) => ("implied", why),
            Source::Policy(why) => ("policy", why),
            _ => ("spec", ""),
        };
        for (key, text) in
            [("holds", row.holds), ("source", source), ("why", why), ("advice", row.advice)]
        {
            json.key(key)?;
            json.string(text)?;
        }
    }
    for (key, number) in [
        ("length", finding.length),
        ("ordinal", finding.place.object().map(u64::from)),
        ("part", finding.place.component().map(u64::from)),
        ("manifestStart", manifest.map(|manifest| manifest.start)),
        ("manifestEnd", manifest.map(|manifest| manifest.end)),
    ] {
        json.key(key)?;
        json.number_or_null(number)?;
    }
    for (key, text) in [
        ("generation", finding.generation.map(|own| own.as_str().to_owned())),
        // As they are shown: nothing in them is hidden.
        ("objectShown", finding.object.as_deref().map(whole)),
        ("componentShown", finding.component.as_deref().map(whole)),
    ] {
        json.key(key)?;
        json.string_or_null(text.as_deref())?;
    }
    Ok(())
}
