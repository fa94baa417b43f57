//! `zten completions` and `zten man`: completion scripts and manual pages of the command line.

use std::io::{self, Write as _};

use clap::{Command, CommandFactory as _};

use crate::args::{Args, Completions, Man};
use crate::escape;
use crate::output::app::App;

/// Prints the completion script of a shell.
pub(crate) fn completions(app: &mut App, args: &Completions) -> io::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(&Args::command()), "zten", &mut script);
    app.out.write_all(&script)
}

/// Prints the manual page of `zten`, or writes all pages to a folder: `zten.1`, `zten-COMMAND.1` for each command, and
/// `zten-patch-COMMAND.1` for each subcommand of `zten patch`.
pub(crate) fn man(app: &mut App, args: &Man) -> io::Result<()> {
    let command = Args::command().disable_help_subcommand(true);
    let Some(folder) = &args.folder else {
        return clap_mangen::Man::new(command).render(&mut app.out);
    };
    match clap_mangen::generate_to(command, folder) {
        Ok(()) => Ok(()),
        Err(error) => app.usage(format_args!("{}: {error}", escape::path(folder))),
    }
}

/// Returns the command line without hidden arguments, which completions would list.
fn shown(command: &Command) -> Command {
    let about = command.get_about().cloned().unwrap_or_default();
    Command::new(command.get_name().to_owned())
        .about(about)
        .version(env!("CARGO_PKG_VERSION"))
        .disable_version_flag(command.get_version().is_none())
        .args(command.get_arguments().filter(|arg| !arg.is_hide_set()).cloned())
        .subcommands(command.get_subcommands().map(shown))
}
