//! Gives every file of the suite to several readers, each in its own process, and records the outcomes.
//!
//! | call | does |
//! | --- | --- |
//! | nothing | runs all readers and writes `lab/results/readers.md` |
//! | `--check` | runs all readers and compares the document |
//! | `--list` | runs all readers and prints a line for each file and reader |
//! | `one READER FILE [OPTIONS]` | runs one reader and prints the outcome |
//! | `worker READER FILE [OPTIONS]` | is one of the processes |

mod child;
mod document;
mod group;
mod outcome;
mod readers;
mod run;
mod suite;

use std::process::ExitCode;

use anyhow::{Result, bail, ensure};

use child::Programs;
use readers::Reader;

#[global_allocator]
static GUARDED: zten_lab::readers::subject::Guarded = zten_lab::readers::subject::Guarded;

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
        ["worker", reader, file, options @ ..] => {
            readers::work(reader, file.as_ref(), options.first().copied().unwrap_or("-"))
        }
        ["one", reader, file, options @ ..] => {
            one(reader, file.as_ref(), options.first().copied().unwrap_or("-"))
        }
        ["--list"] => {
            print!("{}", document::list(&run::everything()?));
            Ok(())
        }
        [] => write(),
        ["--check"] => check(),
        other => bail!("no such call: {other:?}"),
    }
}

fn write() -> Result<()> {
    let document = document::document(&run::everything()?)?;
    std::fs::write(document_path(), document)?;
    Ok(())
}

/// Checks that a run produces the document in the repository.
fn check() -> Result<()> {
    let there = std::fs::read_to_string(document_path())?;
    let found = document::document(&run::everything()?)?;
    for (number, (there, found)) in there.lines().zip(found.lines()).enumerate() {
        ensure!(there == found, "line {}:\n  it says  {there}\n  found is {found}", number + 1);
    }
    ensure!(there == found, "the document is cut, or has lines too many");
    println!("{} says what was found", document_path().display());
    Ok(())
}

fn one(reader: &str, file: &std::path::Path, options: &str) -> Result<()> {
    let reader = Reader::find(reader)?;
    let outcome = Programs::start([reader])?.run(reader, file, options)?;
    println!("{}\t{}", outcome.kind.name(), outcome.description());
    Ok(())
}

fn document_path() -> std::path::PathBuf {
    zten_testkit::corpus().with_file_name("lab").join("results").join("readers.md")
}
