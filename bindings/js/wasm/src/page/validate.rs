//! Validates content: one component, or the whole file.

use std::io::{self, Write};

use serde::Serialize;
use zten::Error;
use zten::finding::Verdict;
use zten::json::to_writer;
use zten::verify::{Verified, check};

use super::describe::Noted;
use crate::problem;
use crate::session::{self, File};

/// Validates all of `file`, and writes the report to `out`: the notes on a valid file, or the error. Findings of opening, such as a
/// broken rule about metadata that a loader relies on, count as well.
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

/// Validates the component at `place`, the ordinals of object and component: its digest, size, compression and bools.
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
