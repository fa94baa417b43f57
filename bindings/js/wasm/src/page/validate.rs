//! Validates one component, or the whole file, and answers with the result, for the page.

use std::io::{self, Write};

use serde::Serialize;
use zten::Error;
use zten::finding::Verdict;
use zten::json::to_writer;
use zten::verify::{Verified, check};

use super::describe::Noted;
use crate::problem;
use crate::session::{self, File};

/// Reads and validates all of `file`, and writes the report to `out`: the notes on a valid file, or the error. An error in the header that did not
/// keep the file from being opened, such as wrong metadata on which loaders rely, is reported too.
pub fn all(file: &File, out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Validated<'a> {
        verdict: &'a str,
        notes: Vec<Noted>,
    }
    let report = check(file, &mut ());
    match report.fault() {
        None => {
            let notes = report.all_notes(file.manifest()).into_iter().map(Noted::from).collect();
            to_writer(out, &Validated { verdict: Verdict::Valid.as_str(), notes })
        }
        Some(fault) if fault.is_of_opening() => {
            let manifest = file.manifest();
            problem::write(&fault.finding(manifest), Some(&manifest.extent()), out)
        }
        Some(fault) => problem::reading(file, fault.error(), out),
    }
}

/// Reads the component at `place`, the ordinals of object and component, validates its digest, size, compression and bools, and writes the result or
/// the finding to `out`.
pub fn component(file: &File, place: (u32, u32), out: &mut impl Write) -> io::Result<()> {
    #[derive(Serialize)]
    struct Validated<'a> {
        verdict: &'a str,
        digest: &'a str,
    }
    match read(file, place) {
        Ok(verified) => {
            let digest = match verified {
                Verified::Digest => "verified",
                Verified::NoDigest => "none",
                _ => "unverifiable",
            };
            to_writer(out, &Validated { verdict: Verdict::Valid.as_str(), digest })
        }
        Err(error) => problem::reading(file, &error, out),
    }
}

fn read(file: &File, place: (u32, u32)) -> Result<Verified, Error> {
    let mut reader = session::component(file, place)?.reader()?;
    while reader.next_chunk()?.is_some() {}
    Ok(reader.verified().unwrap_or(Verified::Unverifiable))
}
