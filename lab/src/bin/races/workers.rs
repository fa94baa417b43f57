//! The cases that this program runs as a contestant: `worker READER CASE FILE...`.

mod content;
mod open;
pub(crate) use open::HOSTILE;
mod walk;
mod whole;
mod write;

use std::fs;
use std::path::Path;

use anyhow::{Result, bail};

/// Serves one case of one reader.
pub(crate) fn serve(reader: &str, case: &str, files: &[&str]) -> Result<()> {
    match (case, files) {
        ("open", [file]) => open::open(reader, &fs::read(file)?),
        ("open-v2", [file]) => open::open_v2(reader, Path::new(file)),
        ("look-up", [file]) => open::look_up(reader, &fs::read(file)?),
        ("hostile", [case]) => open::hostile(reader, case),
        ("sum", [file]) => content::sum(reader, &fs::read(file)?),
        ("csr", [file]) => content::csr(reader, &fs::read(file)?),
        ("read", [file]) => content::read(reader, &fs::read(file)?),
        ("frames", [one, halves]) => content::frames(reader, &fs::read(one)?, &fs::read(halves)?),
        ("write", [folder, bytes]) => write::write(reader, Path::new(folder), bytes.parse()?),
        ("write-small", [file]) => write::small(reader, &fs::read(file)?),
        ("copy", [file]) => write::copy(reader, &fs::read(file)?),
        ("whole", [program, file]) => whole::check(reader, Path::new(program), Path::new(file)),
        _ => bail!("there is no case {case}"),
    }
}
