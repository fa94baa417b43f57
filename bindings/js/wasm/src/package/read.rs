//! Reads the content of components for the JavaScript package: whole components step by step, and parts of dense objects.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Mutex;

use crate::border::{Answer, Out};
use crate::problem;
use crate::session::{self, File};
use zten::verify::Verified;
use zten::{Error, Reader};

/// The reader of the component that [`stream`] has begun.
static STREAM: Mutex<Option<Reader<'static>>> = Mutex::new(None);

/// Begins to read component `component` of object `object` of `file`, for calls of [`advance`]. Writes the finding to `out` if it cannot be read.
pub(crate) fn stream(
    file: &'static File,
    object: u32,
    component: u32,
    out: &mut Answer,
) -> io::Result<()> {
    let Ok(mut stream) = STREAM.try_lock() else { return Err(io::ErrorKind::WouldBlock.into()) };
    *stream = None;
    let component = session::component(file, (object, component));
    match component.and_then(|component| component.reader()) {
        Ok(reader) => {
            *stream = Some(reader);
            Ok(())
        }
        Err(error) => problem::reading(file, &error, out),
    }
}

/// Reads about `bytes` further decoded bytes of the component that [`stream`] began, and hands them to the host if `hand` is true. At the end of the
/// component, writes to `out` whether its digest was verified; after an error, writes the finding.
pub(crate) fn advance(file: &File, bytes: u64, hand: bool, out: &mut Answer) -> io::Result<()> {
    let Ok(mut stream) = STREAM.try_lock() else { return Err(io::ErrorKind::WouldBlock.into()) };
    let Some(reader) = stream.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
    let mut read = 0_u64;
    while read < bytes {
        match reader.next_chunk() {
            Ok(Some(chunk)) => {
                read = read.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
                if hand {
                    Out::Data.write_all(chunk)?;
                }
            }
            Ok(None) => {
                let verified = reader.verified();
                *stream = None;
                return done(verified, out);
            }
            Err(error) => {
                *stream = None;
                return problem::reading(file, &error, out);
            }
        }
    }
    Ok(())
}

/// Reads a part of the dense object `object` of `file`, and hands its elements to the host. `ranges` has the start and the end of the part in each
/// dimension, as little-endian `u64`. Then writes to `out` whether a digest was verified, or the finding about an error.
pub(crate) fn slice(
    file: &'static File,
    object: u32,
    ranges: &[u8],
    out: &mut Answer,
) -> io::Result<()> {
    match parts(file, object, ranges) {
        Ok(verified) => done(verified, out),
        Err(error) => problem::reading(file, &error, out),
    }
}

fn parts(file: &File, object: u32, ranges: &[u8]) -> Result<Option<Verified>, Error> {
    let tensor = session::tensor(file, object)?;
    let (numbers, _) = ranges.as_chunks::<8>();
    let (pairs, _) = numbers.as_chunks::<2>();
    let ranges: Vec<Range<u64>> = pairs
        .iter()
        .map(|[start, end]| u64::from_le_bytes(*start)..u64::from_le_bytes(*end))
        .collect();
    tensor.slice(&ranges[..])?.parts(|part| {
        // Handing bytes to the host cannot fail, so the result is ignored.
        let _ = Out::Data.write_all(part);
        Ok(())
    })
}

pub(crate) fn done(verified: Option<Verified>, out: &mut Answer) -> io::Result<()> {
    let digest = match verified {
        Some(Verified::Digest) => "verified",
        Some(Verified::NoDigest) => "none",
        Some(_) => "unverifiable",
        None => "partial",
    };
    write!(out, "{{\"digest\":\"{digest}\"}}")
}
