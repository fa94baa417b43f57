//! The command `zten`: checks whether tensor files are valid, lists and prints their content, and converts them.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        irrefutable_let_patterns,
        reason = "only Linux has the broker and its budgets"
    )
)]

mod args;
mod commands;
mod input;
mod link;
mod output;
mod run;
mod source;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use zten::json::{self, value};
use zten::{escape, npy, number};
use zten_report::{catalog, diagnostic, notation, size};

use args::{Args, Command};
use commands::{explain, pages, sandbox};
use output::app::App;
use output::paint;
use run::silence;
use source::remote;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = child() {
        return code;
    }
    let mut args = match Args::try_parse_from(args::arguments()) {
        Ok(args) => args,
        Err(error) => {
            // If the message cannot be printed, the exit status still reports the error.
            let _ = if error.use_stderr() {
                // The message repeats arguments. A shell may have expanded them from file names, which may hold control
                // characters.
                write!(io::stderr().lock(), "{}", escape::lines(&error.to_string()))
            } else {
                error.print()
            };
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mode = args.mode();
    paint::decide(args.color);
    remote::decide(&args.remote);
    silence::decide(args.idle_timeout);
    if mode.confines() {
        zten_sandbox::without_backtraces();
    }
    let mut app = App::new();
    let written = match &mut args.command {
        Command::Call(call) => run::run(&mut app, call, mode),
        Command::Explain(args) => explain::run(&mut app, args),
        Command::Sandbox(args) => sandbox::run(&mut app, args, mode),
        Command::Completions(args) => pages::completions(&mut app, args),
        Command::Man(args) => pages::man(&mut app, args),
    };
    app.end(written)
}

/// Runs this process as a worker, or as the process that fetches a remote file, if its first argument says so, and returns its exit
/// status. Returns `None` in the process that the user has started.
#[cfg(target_os = "linux")]
fn child() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    let ended = if first == run::worker::ARGUMENT {
        run::worker::run()
    } else if first == remote::ARGUMENT {
        remote::run()
    } else {
        return None;
    };
    Some(if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
