//! What the command line may say.

mod cat;
mod convert;
pub(crate) mod diff;
mod edit;
pub(crate) mod hash;
mod ls;
pub(crate) mod os_path;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use serde::{Deserialize, Serialize};
use zten_report::finding::Scope;

use crate::command::Call;
use crate::mode::Mode;
use crate::paint::Color;
use crate::strictness::Strictness;
pub(crate) use cat::{Cat, HELP as CAT_HELP};
pub(crate) use convert::{Convert, Digest, Float, Select, To, arguments};
pub(crate) use diff::Diff;
pub(crate) use edit::Edit;
pub(crate) use hash::{ContentAlgorithm, Hash};
pub(crate) use ls::{Filter, LS_HELP, Ls, STAT_HELP, Sort, Stat, Unwanted};

const STATUS: &str = "Exit status:
  0  every file is valid
  1  a file is refused: it breaks a rule, is not supported, or goes beyond a limit
  2  wrong usage, or something could not be read or written";

pub(crate) const CONVERT_STATUS: &str = "\
Examples:
  zten convert model.safetensors model.zt --to 2 --zstd
  zten convert model.safetensors.index.json model.safetensors
  zten convert model.zt small.safetensors --only 'layers.[0-3].*' --dtype bf16 --rename 's/^layers\\.//'

Exit status:
  0  OUT is written
  1  IN is refused: it breaks a rule, is not supported, or goes beyond a limit
  2  wrong usage, something could not be read or written, or IN is valid and OUT cannot hold it";

pub(crate) const EDIT_STATUS: &str = "\
Examples:
  zten edit model.safetensors --set 'license=\"mit\"'
  zten edit model.zt --rename 's/^model\\.//' --unset epoch -o renamed.zt

Digests stay as they are; the data is not read. The canonical form is not kept: zten convert --canonical writes it.

Exit status:
  0  the file is written
  1  FILE is refused: its manifest or header breaks a rule, is not supported, or goes beyond a limit
  2  wrong usage, something could not be read or written, or FILE is valid and cannot be edited so";

const SANDBOX_STATUS: &str = "Exit status:
  0  all of it is denied
  1  something is allowed
  2  wrong usage, or it could not be tried";

/// Says whether a zTensor file (.zt) can be trusted, and what is in it.
#[derive(Debug, Parser)]
#[command(name = "zten", version, after_help = STATUS)]
pub(crate) struct Args {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Do not confine the process that reads files
    #[arg(long, global = true, conflicts_with = "require_sandbox")]
    no_sandbox: bool,
    /// Read nothing if the process cannot be confined; without, it is confined as far as it can be
    #[arg(long, global = true)]
    require_sandbox: bool,
    /// Colours; auto is where output goes to a terminal, unless `NO_COLOR` is set, and where
    /// `CLICOLOR_FORCE` is
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    #[command(flatten)]
    pub(crate) remote: crate::remote::Settings,
}

impl Args {
    /// Whether to confine the process.
    pub(crate) fn mode(&self) -> Mode {
        match (self.no_sandbox, self.require_sandbox) {
            (true, _) => Mode::Off,
            (false, true) => Mode::Require,
            (false, false) => Mode::Try,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(flatten)]
    Call(Call),
    /// What a rule asks, where it comes from, and what to do
    Explain(Explain),
    /// Try from inside what a confined process may not do, and tell what is denied
    #[command(after_help = SANDBOX_STATUS)]
    Sandbox(Sandbox),
    /// Print what a shell needs to complete the command's arguments
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
}

/// `zten completions`
#[derive(Debug, clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// `zten man`
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// The folder to write a page for each command into; without, the page of `zten` is printed
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// `zten check`
#[derive(Debug, clap::Args, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Check {
    /// The files, or with -r folders
    #[arg(required_unless_present = "files_from", value_name = "FILE")]
    #[serde(skip)]
    pub(crate) files: Vec<PathBuf>,
    /// Check what is in folders, too, and below: regular files whose names end in a --suffix. Links
    /// are not followed
    #[arg(short, long)]
    pub(crate) recursive: bool,
    /// What the names of files in folders end in; more than once, or with commas. Nothing (--suffix=)
    /// is any name. If none is said, those of all files that hold tensors; .bin and .pb only if the first
    /// bytes are of such
    #[arg(long, value_delimiter = ',', requires = "recursive")]
    #[serde(skip)]
    pub(crate) suffix: Vec<OsString>,
    /// Check the files that are named in this file, one a line; - is standard input
    #[arg(long, value_name = "LIST")]
    #[serde(skip)]
    pub(crate) files_from: Option<PathBuf>,
    /// What ends each name in LIST is a NUL, not the end of a line
    #[arg(short = '0', long, requires = "files_from")]
    pub(crate) null: bool,
    /// Say at the end how many files came to which verdict, and which rules they break
    #[arg(long)]
    pub(crate) summary: bool,
    /// Check so many files at a time, each in a process of its own; results come in the same order
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Look at what the manifest or header says only, and read no data
    #[arg(long)]
    pub(crate) manifest_only: bool,
    /// Accept the canonical form only: one content has one file, and no byte of it is free
    #[arg(long, conflicts_with = "tolerate")]
    pub(crate) canonical: bool,
    /// One JSON object a line for each file
    #[arg(long)]
    pub(crate) json: bool,
    /// One SARIF 2.1.0 document, with a result for each finding
    #[arg(long, conflicts_with = "json")]
    pub(crate) sarif: bool,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

impl Check {
    /// The part of a file that is validated.
    pub(crate) fn scope(&self) -> Scope {
        if self.manifest_only { Scope::Manifest } else { Scope::All }
    }
}

/// `zten explain`
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The rule, limit or unsupported feature, as messages spell it; all are listed without
    #[arg(value_name = "RULE")]
    pub(crate) rule: Option<String>,
    /// List all
    #[arg(long, conflicts_with = "rule")]
    pub(crate) list: bool,
}

/// `zten sandbox`
#[derive(Debug, clap::Args)]
pub(crate) struct Sandbox {
    /// One JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Try this one, in a process that is there for nothing else
    #[arg(long, hide = true)]
    pub(crate) trial: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        use clap::CommandFactory as _;
        Args::command().debug_assert();
    }
}
