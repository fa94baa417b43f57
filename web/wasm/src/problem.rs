//! What is wrong with a file: verdict, rule, and where.

use std::io::{self, Write};
use std::ops::Range;

use zten::open::Named;
use zten::rules::Source;
use zten::{Error, ErrorKind, Generation, ReadError};

use crate::clause::clause_of;
use crate::escape::whole;
use crate::json::Json;
use crate::session::File;

/// Says why the content of an open file could not be read.
pub(crate) fn reading<E, W: Write>(
    file: &File,
    error: &ReadError<E>,
    json: &mut Json<'_, W>,
) -> io::Result<()> {
    let error = match error {
        ReadError::Source(_) => return lost(json),
        ReadError::Refused(error) => error,
    };
    let place = error.place();
    let object = place.object().and_then(|ordinal| file.manifest.object(ordinal));
    let mut named = Named::default();
    named.generation = Some(file.manifest.generation());
    named.object = object.map(|object| object.name());
    named.component = object.zip(place.component()).and_then(|(object, ordinal)| {
        let component = object.components().nth(usize::try_from(ordinal).ok()?)?;
        Some(component.role())
    });
    refused(error, &named, Some(&file.manifest.extent()), json)
}

/// Says that the file could not be read.
fn lost<W: Write>(json: &mut Json<'_, W>) -> io::Result<()> {
    json.open('{')?;
    json.key("verdict")?;
    json.string("error")?;
    json.key("sentence")?;
    json.string("the file could not be read: it may have been changed or removed")?;
    json.close('}')
}

/// Says why a file was refused.
pub(crate) fn refused<W: Write>(
    error: &Error,
    named: &Named<'_>,
    manifest: Option<&Range<u64>>,
    json: &mut Json<'_, W>,
) -> io::Result<()> {
    json.open('{')?;
    json.key("verdict")?;
    json.string(match error.kind() {
        ErrorKind::Malformed(_) => "refused",
        ErrorKind::Unsupported(_) => "unsupported",
        ErrorKind::Limit(_) => "limit",
        _ => "error",
    })?;
    json.key("sentence")?;
    json.string(&error.sentence().to_string())?;
    if let Some(row) = error.kind().row() {
        let clause = row.source.clause();
        let own = named.generation.map(|generation| clause_of(clause, generation));
        let (source, why) = match row.source {
            Source::Spec(_) => ("spec", ""),
            Source::Implied(why) => ("implied", why),
            Source::Policy(why) => ("policy", why),
        };
        for (key, text) in [
            ("rule", row.id),
            ("clause", own.as_deref().unwrap_or(clause)),
            ("holds", row.holds),
            ("source", source),
            ("why", why),
            ("advice", row.advice),
        ] {
            json.key(key)?;
            json.string(text)?;
        }
    }
    for (key, number) in [
        ("offset", error.offset()),
        ("ordinal", error.place().object().map(u64::from)),
        ("part", error.place().component().map(u64::from)),
        ("manifestStart", manifest.map(|manifest| manifest.start)),
        ("manifestEnd", manifest.map(|manifest| manifest.end)),
    ] {
        json.key(key)?;
        json.number_or_null(number)?;
    }
    for (key, text) in [
        ("generation", named.generation.map(Generation::as_str)),
        ("object", named.object),
        ("component", named.component),
    ] {
        json.key(key)?;
        json.string_or_null(text.map(whole).as_deref())?;
    }
    json.close('}')
}
