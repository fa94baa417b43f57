//! Returns an HTTP status and a text for a client that has uploaded a file:
//! `cargo run --example http_status -- FILE`.

use zten::{Archive, Error, ErrorKind, Limits, OpenOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("FILE")?;
    match validate(std::fs::read(path)?) {
        Ok(tensors) => println!("201 {tensors} tensors"),
        Err(error) => println!("{} {}", status(&error), text(&error)),
    }
    Ok(())
}

fn validate(file: Vec<u8>) -> Result<usize, Error> {
    let limits = Limits::default().with_manifest(16 << 20).with_decoded_total(4 << 30);
    let archive: Archive<_> = OpenOptions::default().limits(limits).from_bytes(file)?;
    archive.verify()?;
    Ok(archive.len())
}

/// Returns the HTTP status for `error`: 4xx if the file is the cause, 5xx if the server is.
fn status(error: &Error) -> u16 {
    // The match has no wildcard, so that a new kind of error does not compile until it has a status.
    match error.kind() {
        ErrorKind::Invalid(_) => 422,     // Unprocessable Content
        ErrorKind::Unsupported(_) => 415, // Unsupported Media Type
        ErrorKind::Limit(_) => 413,       // Content Too Large
        ErrorKind::OutOfMemory => 503,    // Service Unavailable: memory may be free later
        // The system, this program or the library is at fault. Reading never returns the last two kinds: a note does not
        // reject a file, and only a writer reports data that a format cannot express.
        ErrorKind::Read
        | ErrorKind::Write
        | ErrorKind::NotDurable
        | ErrorKind::Misuse(_)
        | ErrorKind::Internal
        | ErrorKind::Note(_)
        | ErrorKind::Inexpressible(_) => 500,
    }
}

/// Returns a text that is safe to send: only sentences, ids and numbers of zten, and no text of the file.
fn text(error: &Error) -> String {
    let Some(rule) = error.rule() else { return "internal error".to_owned() };
    let at = error.offset().map_or(String::new(), |offset| format!(" at byte {offset}"));
    format!("{rule}{at}: {}", error.sentence())
}
