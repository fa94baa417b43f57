//! `zten` says whether a zTensor file can be trusted, and what is in it.
#![forbid(unsafe_code)]

mod app;
mod args;
mod cat;
mod catalogue;
mod check;
mod companion;
mod convert;
mod diff;
mod explain;
mod file;
mod handle;
mod hash;
#[cfg(target_os = "linux")]
mod list_shards;
mod ls;
mod mode;
mod objects;
mod pages;
mod paint;
mod progress;
mod remote;
mod report;
mod root;
mod sandbox;
mod shards;
mod sources;
mod status;
mod strictness;
mod sums;
mod table;
mod threads;
mod words;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use zten_report::{diagnostic, element, escape, json, npy, size, spelled, value};

use app::App;
use args::{Args, Command};

fn main() -> ExitCode {
    let args = match Args::try_parse_from(args::arguments()) {
        Ok(args) => args,
        Err(error) => {
            // If this cannot be printed either, only the exit status is left.
            let _ = if error.use_stderr() {
                // It repeats arguments, which a shell may have taken from the names of files.
                write!(io::stderr().lock(), "{}", escape::lines(&error.to_string()))
            } else {
                error.print()
            };
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mode = args.mode();
    paint::decide(args.color);
    #[cfg(feature = "remote")]
    remote::decide(&args.remote);
    if mode.confines() {
        zten_sandbox::without_backtraces();
    }
    let mut app = App::new();
    let written = match &args.command {
        #[cfg(target_os = "linux")]
        Command::Check(check) if args.is_worker() && check.longest.is_some() => {
            check::work(check, mode)
        }
        #[cfg(target_os = "linux")]
        command if args.lists_shards() => list_shards::run(&mut app, command, mode),
        Command::Check(args) => check::run(&mut app, args, mode),
        Command::Ls(args) => ls::run(&mut app, args, mode),
        Command::Cat(args) => cat::run(&mut app, args, mode),
        Command::Hash(args) => hash::run(&mut app, args, mode),
        Command::Diff(args) => diff::run(&mut app, args, mode),
        Command::Convert(convert) if args.is_worker() => convert::work(&mut app, convert, mode),
        Command::Convert(args) => convert::run(&mut app, args, mode),
        Command::Explain(args) => explain::run(&mut app, args),
        Command::Sandbox(args) => sandbox::run(&mut app, args, mode),
        #[cfg(all(feature = "remote", target_os = "linux"))]
        Command::Fetch => remote::run(),
        Command::Completions(args) => pages::completions(&mut app, args),
        Command::Man(args) => pages::man(&mut app, args),
    };
    app.end(written)
}
