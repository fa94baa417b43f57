//! The program that reads one file with ztensor 1.1.1 and reports: `worker ztensor-1.1.1[-mapped] FILE`.

#[path = "compared/legacy.rs"]
mod legacy;
#[path = "compared/read.rs"]
mod read;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use zten_lab::readers::subject::{Component, Report};
use ztensor::{Component as Theirs, Encoding, is_legacy_file};

#[global_allocator]
static GUARDED: zten_lab::readers::subject::Guarded = zten_lab::readers::subject::Guarded;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (read, file): (fn(&Path, &mut Report), _) = match arguments[..] {
        ["worker", "ztensor-1.1.1", file, ..] => {
            (|path, report| either(path, report, (legacy::stream, read::stream)), file)
        }
        ["worker", "ztensor-1.1.1-mapped", file, ..] => {
            (|path, report| either(path, report, (legacy::mapped, read::mapped)), file)
        }
        _ => return ExitCode::from(2),
    };
    zten_lab::readers::subject::run(Path::new(file), read);
    ExitCode::SUCCESS
}

type Read = fn(&Path, &[u8], &mut Report);

/// Reads the file at `path` with the function `old` if its generation is 0.1, and otherwise with `new`.
fn either(path: &Path, report: &mut Report, (old, new): (Read, Read)) {
    let bytes = fs::read(path).unwrap_or_default();
    match is_legacy_file(path) {
        Ok(is_old) => (if is_old { old } else { new })(path, &bytes, report),
        Err(error) => drop(report.opened::<(), _>(Err(error))),
    }
}

/// Returns the location of a component, as `ztensor` read it from the manifest.
fn component(theirs: &Theirs) -> Component {
    Component {
        offset: theirs.offset,
        length: theirs.length,
        packed: theirs.encoding == Encoding::Zstd,
    }
}
