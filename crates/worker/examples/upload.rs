//! Checks one uploaded file as a service does: `cargo run -p zten-worker --example upload -- MODEL`.

use std::error::Error;
use std::fs::File;
use std::path::Path;

use zten_worker::{Confinement, Function, Job, Pool, Work};

/// A function that checks a model file, and answers with a sentence about it. It runs in a confined process.
static CHECK: Function = Function::new("check", check).checked_by(|answer| {
    // The file may have taken the worker over, so the answer is as untrusted as the file.
    let text = std::str::from_utf8(answer).map_err(|error| error.to_string())?;
    if text.chars().any(char::is_control) { Err("control characters".into()) } else { Ok(()) }
});

fn check(work: Work) -> Result<Vec<u8>, String> {
    let upload = work.files.into_iter().next().ok_or("no file")?;
    let rejected = |error: zten::Error| format!("{} is rejected: {error}", upload.name.display());
    let recognized = zten::formats::recognize(&upload.file, upload.length, &upload.name);
    let options = zten::OpenOptions::default();
    let archive = options
        .begin_recognized(upload.file, recognized.map_err(rejected)?, &upload.name)
        .and_then(|begun| begun.require_unsharded(&options))
        .map_err(rejected)?;
    // Reads all content, and verifies digests and the values of elements.
    let report = zten::verify::check(&archive, &mut ());
    report.into_result().map_err(rejected)?;
    Ok(format!("{} is valid: {} tensors", upload.name.display(), archive.len()).into_bytes())
}

fn main() -> Result<(), Box<dyn Error>> {
    zten_worker::init(&[&CHECK]);
    let path = std::env::args_os().nth(1).ok_or("usage: upload MODEL")?;
    let pool = Pool::builder(Confinement::Require).start()?;
    let name = Path::new(&path).file_name().unwrap_or_default();
    let answer = pool.run(Job::new(&CHECK).file(File::open(&path)?, name)?)?;
    println!("{}", String::from_utf8(answer)?);
    Ok(())
}
