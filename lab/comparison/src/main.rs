//! Reads every file of the corpus by several readers, each in a process of its own, and writes
//! down what came of it.
//!
//! | call | does |
//! | --- | --- |
//! | nothing | runs them all and writes `docs/hostile-comparison.md` |
//! | `--check` | runs them all and compares the document |
//! | `--list` | runs them all and prints a line for each file and reader |
//! | `--cases FOLDER` | writes the cases for safetensors, for other programs |
//! | `one READER FILE [OPTIONS]` | runs one and prints what came of it |
//! | `worker READER FILE [OPTIONS]` | is one of the processes |

mod cases;
mod child;
mod document;
mod files;
mod group;
mod outcome;
mod run;
mod subjects;

use std::process::ExitCode;

use anyhow::{Result, bail, ensure};

use child::Programs;
use subjects::Subject;

#[global_allocator]
static GUARDED: zten_readers::subject::Guarded = zten_readers::subject::Guarded;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match start(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["worker", subject, file, options @ ..] => {
            subjects::work(subject, file.as_ref(), options.first().copied().unwrap_or("-"))
        }
        ["one", subject, file, options @ ..] => {
            one(subject, file.as_ref(), options.first().copied().unwrap_or("-"))
        }
        ["--list"] => {
            print!("{}", document::list(&run::everything()?));
            Ok(())
        }
        [] => write(),
        ["--check"] => check(),
        ["--cases", folder] => cases::write_all(folder.as_ref()),
        other => bail!("no such call: {other:?}"),
    }
}

fn write() -> Result<()> {
    let document = document::whole(&run::everything()?)?;
    std::fs::write(document_path(), document)?;
    Ok(())
}

/// Whether the document is what a run gives, but for the words of panics, which are Rust's.
fn check() -> Result<()> {
    let there = std::fs::read_to_string(document_path())?;
    let found = document::whole(&run::everything()?)?;
    let (there, found) = (document::compared(&there)?, document::compared(&found)?);
    for (number, (there, found)) in there.lines().zip(found.lines()).enumerate() {
        ensure!(there == found, "line {}:\n  it says  {there}\n  found is {found}", number + 1);
    }
    ensure!(there == found, "the document is cut, or has lines too many");
    println!("{} says what was found", document_path().display());
    Ok(())
}

fn one(subject: &str, file: &std::path::Path, options: &str) -> Result<()> {
    let subject = Subject::find(subject)?;
    let programs = Programs::start(&[subject])?;
    let outcome = programs.run(subject, file, options)?;
    println!("{}\t{}", outcome.kind.name(), outcome.words());
    Ok(())
}

fn document_path() -> std::path::PathBuf {
    zten_testkit::corpus().with_file_name("docs").join("hostile-comparison.md")
}
