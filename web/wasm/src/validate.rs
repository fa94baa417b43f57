//! Validating content: one component, or all of the file.

use std::io::{self, Write};

use zten::{
    Limits, ReadAt, ReadError,
    verify::{Verified, Verifier},
};

use crate::json::Json;
use crate::problem;
use crate::session::File;

/// Validates all of the file.
pub fn all<R: ReadAt>(file: &File, source: &R, out: &mut impl Write) -> io::Result<()> {
    match Verifier::new(file.length, &Limits::default()).file(&file.manifest, source) {
        Ok(_) => valid(Verified::NoDigest, out),
        Err(error) => problem::reading(file, &error, out),
    }
}

/// Reads one component to its end: its digest, its size, its compression, its bools.
pub fn component<R: ReadAt>(
    file: &File,
    (object, component): (u32, u32),
    source: &R,
    out: &mut impl Write,
) -> io::Result<()> {
    match read(file, (object, component), source) {
        Ok(verified) => valid(verified, out),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn read<R: ReadAt>(
    file: &File,
    (object, component): (u32, u32),
    source: &R,
) -> Result<Verified, ReadError<R::Error>> {
    let component = file.component(object, component)?;
    let mut content = component.content(source, &Limits::default())?;
    while content.next_chunk()?.is_some() {}
    Ok(content.verified().unwrap_or(Verified::Unverifiable))
}

fn valid(verified: Verified, out: &mut impl Write) -> io::Result<()> {
    let mut json = Json::new(out);
    json.open('{')?;
    json.key("verdict")?;
    json.string("valid")?;
    json.key("digest")?;
    json.string(match verified {
        Verified::Digest => "verified",
        Verified::NoDigest => "none",
        Verified::Unverifiable => "unverifiable",
    })?;
    json.close('}')
}
