//! What a service answers to the client that has uploaded a file: an error as an HTTP status and a text.
//! `cargo run --example http_status -- FILE`.

use std::error::Error;

use zten::{Archive, ErrorKind, Limits, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).ok_or("FILE")?;
    let (status, text) = upload(std::fs::read(path)?);
    println!("{status} {text}");
    Ok(())
}

/// What is answered to an uploaded file.
fn upload(file: Vec<u8>) -> (u16, String) {
    match validate(file) {
        Ok(objects) => (201, format!("{objects} objects")),
        Err(error) => (status(&error), body(&error)),
    }
}

fn validate(file: Vec<u8>) -> Result<u32, zten::Error> {
    let limits = Limits::default().with_manifest(16 << 20).with_decoded_total(4 << 30);
    let archive = Archive::open_with(file, &Options::default().limits(limits))?;
    archive.verify()?;
    Ok(archive.len())
}

/// Who is to blame, in HTTP's numbers.
fn status(error: &zten::Error) -> u16 {
    match error.kind() {
        ErrorKind::Malformed(_) | ErrorKind::Format(_) => 422, // Unprocessable Content
        ErrorKind::Unsupported(_) => 415,                      // Unsupported Media Type
        ErrorKind::Limit(_) => 413,                            // Content Too Large
        ErrorKind::OutOfMemory => 503, // Service Unavailable: it may be had later
        // The file is not to blame, but this program (`Misuse`) or the library (`Internal`).
        _ => 500,
    }
}

/// Facts that are safe to send: our own sentences, ids and numbers, and no text of the file.
fn body(error: &zten::Error) -> String {
    match (error.id(), error.offset()) {
        (Some(id), Some(offset)) => format!("{id} at byte {offset}: {}", error.sentence()),
        (Some(id), None) => format!("{id}: {}", error.sentence()),
        (None, _) => "internal error".to_owned(),
    }
}

#[test]
fn every_refusal_has_a_status() {
    let answer = |name| upload(std::fs::read(format!("corpus/{name}")).unwrap());
    assert_eq!(answer("accept/1.2.3/csr_raw.zt"), (201, "6 objects".to_owned()));
    let (status, text) = answer("reject/blob-alignment--v12-72.zt");
    assert_eq!(status, 422);
    assert!(text.starts_with("blob-alignment at byte 226: "), "{text}");
    assert_eq!(self::status(&zten::error::OutOfMemory.into()), 503);
    assert_eq!(self::status(&zten::error::Misuse::Size.into()), 500);
    assert_eq!(body(&zten::error::Misuse::Size.into()), "internal error");
    let mut statuses: Vec<u16> = std::fs::read_dir("corpus/reject")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "zt"))
        .map(|path| upload(std::fs::read(path).unwrap()).0)
        .collect();
    statuses.sort_unstable();
    statuses.dedup();
    // Some break a rule only by options that are not asked for here.
    assert_eq!(statuses, [201, 413, 415, 422]);
}
