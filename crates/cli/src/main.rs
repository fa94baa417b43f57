//! `zten` says whether a zTensor file can be trusted, and what is in it.
#![forbid(unsafe_code)]
#![cfg_attr(
    not(target_os = "linux"),
    expect(
        dead_code,
        irrefutable_let_patterns,
        reason = "only Linux has the broker and its budgets"
    )
)]

mod app;
mod args;
mod attributes;
#[cfg(target_os = "linux")]
mod broker;
mod budget;
mod cat;
mod catalog;
#[cfg(target_os = "linux")]
mod channel;
mod check;
mod command;
mod convert;
mod diff;
mod edit;
mod explain;
mod file;
mod handle;
mod hash;
mod kind;
mod ls;
#[cfg(target_os = "linux")]
mod message;
mod mode;
mod objects;
mod pages;
mod paint;
mod progress;
mod remote;
mod report;
mod sandbox;
mod selection;
mod silence;
mod sources;
mod stat;
mod status;
mod strictness;
mod sums;
mod table;
mod text;
mod threads;
mod values;
#[cfg(target_os = "linux")]
mod worker;

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Parser as _;
use zten_report::{diagnostic, element, escape, json, notation, npy, size, value};

use app::App;
use args::{Args, Command};

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = child() {
        return code;
    }
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
    remote::decide(&args.remote);
    silence::decide(args.idle_timeout);
    if mode.confines() {
        zten_sandbox::without_backtraces();
    }
    let mut app = App::new();
    let written = match &args.command {
        Command::Call(call) => command::run(&mut app, call, mode),
        Command::Explain(args) => explain::run(&mut app, args),
        Command::Sandbox(args) => sandbox::run(&mut app, args, mode),
        Command::Completions(args) => pages::completions(&mut app, args),
        Command::Man(args) => pages::man(&mut app, args),
    };
    app.end(written)
}

/// Does the work of a process that this program has started for a part of it, and returns its exit status.
#[cfg(target_os = "linux")]
fn child() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    let ended = if first == worker::ARGUMENT {
        worker::run()
    } else if first == remote::ARGUMENT {
        remote::run()
    } else {
        return None;
    };
    Some(if ended.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
