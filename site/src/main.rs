//! Makes the sources of the site for mdBook, and checks the links of the built site.
//!
//! ```text
//! zten-site sources ROOT COMMAND OUT   writes to the folder OUT what mdBook builds: the pages of the repository at ROOT that
//!                                      `docs/SUMMARY.md` lists, and one page for each rule, with what COMMAND prints
//! zten-site links BOOK                 fails if a link in the built site in the folder BOOK is broken
//! ```

#![expect(clippy::format_push_string, reason = "a page is short, and made once")]

mod examples;
mod links;
mod markdown;
mod rules;
mod sources;
mod writers;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

/// What a function of this program returns.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["sources", root, command, out] => {
            sources::write(Path::new(root), Path::new(command), Path::new(out))
        }
        ["links", book] => links::check(Path::new(book)),
        _ => Err("usage: zten-site sources ROOT COMMAND OUT, or zten-site links BOOK".into()),
    };
    match outcome {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
