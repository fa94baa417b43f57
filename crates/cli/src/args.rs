//! The arguments of the command line.

pub(crate) mod attributes;
mod call;
mod cat;
mod check;
mod color;
mod convert;
pub(crate) mod diff;
mod edit;
pub(crate) mod hash;
mod ls;
pub(crate) mod nearest;
pub(crate) mod os_path;
pub(crate) mod patch;
mod remote;
pub(crate) mod rename;
mod stat;
pub(crate) mod strictness;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use zten_worker::Confinement;

pub(crate) use call::Call;
pub(crate) use cat::{Cat, HELP as CAT_HELP};
pub(crate) use check::Check;
pub(crate) use color::Color;
pub(crate) use convert::{Convert, Digest, Float, OutFormat, Select, Tied, To, arguments};
pub(crate) use diff::Diff;
pub(crate) use edit::Edit;
pub(crate) use hash::{ContentAlgorithm, Hash};
pub(crate) use ls::{LS_HELP, Ls, Patterns, Sort};
pub(crate) use patch::{Patch, PatchAction, PatchApply, PatchMake, PatchShow};
pub(crate) use remote::Settings as RemoteSettings;
pub(crate) use stat::{HELP as STAT_HELP, Stat, StatSort, Unwanted};

const STATUS: &str = "Exit status:
  0  every file is valid
  1  a file is invalid, or exceeds a limit
  2  wrong usage, or a file could not be read or written
  3  no file is invalid, and one needs what is not supported";

pub(crate) const CONVERT_STATUS: &str = "\
Examples:
  zten convert model.safetensors model.zt --to 2 --zstd
  zten convert model.safetensors.index.json model.safetensors
  zten convert model.pt - --format safetensors | ssh host 'cat > model.safetensors'
  zten convert model.zt small.safetensors --only 'layers.[0-3].*' --dtype bf16 --rename 's/^layers\\.//'

Exit status:
  0  OUT is written
  1  IN is invalid, or exceeds a limit
  2  wrong usage, a file could not be read or written, or IN is valid and OUT cannot hold it
  3  IN needs what is not supported";

pub(crate) const EDIT_STATUS: &str = "\
Examples:
  zten edit model.safetensors --set 'license=\"mit\"'
  zten edit model.gguf --set 'general.name=My model' -o named.gguf
  zten edit model.zt --rename 's/^model\\.//' --unset epoch -o renamed.zt

Digests stay as they are; the data is not read. The canonical form is not kept: zten convert --canonical writes it.

Exit status:
  0  the file is written
  1  FILE is invalid, or exceeds a limit
  2  wrong usage, a file could not be read or written, or FILE is valid and cannot be edited so
  3  FILE needs what is not supported";

const SANDBOX_STATUS: &str = "Exit status:
  0  every access is denied
  1  an access is allowed
  2  wrong usage, or an access could not be tried";

/// Inspect, validate and convert tensor files
#[derive(Debug, Parser)]
#[command(name = "zten", version, after_help = STATUS)]
pub(crate) struct Args {
    /// The subcommand.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Read files without the sandbox
    #[arg(long, global = true, conflicts_with = "require_sandbox")]
    no_sandbox: bool,
    /// Fail if the sandbox cannot be enabled (default: continue with as much confinement as the kernel
    /// supports)
    #[arg(long, global = true)]
    require_sandbox: bool,
    /// Choose when to use color: auto, always or never; auto heeds the terminal, `NO_COLOR` and
    /// `CLICOLOR_FORCE`
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Color,
    /// End a confined process that has been idle (no message, no processor time) for this many seconds; 0 waits forever
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) idle_timeout: u32,
    #[command(flatten)]
    pub(crate) remote: RemoteSettings,
}

impl Args {
    /// Returns how strictly to confine processes that read files.
    pub(crate) fn mode(&self) -> Confinement {
        match (self.no_sandbox, self.require_sandbox) {
            (true, _) => Confinement::Off,
            (false, true) => Confinement::Require,
            (false, false) => Confinement::Try,
        }
    }
}

/// A subcommand.
#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a process parses one")]
pub(crate) enum Command {
    #[command(flatten)]
    Call(Call),
    /// Explain what a rule requires, where it comes from, and what to do
    Explain(Explain),
    /// Try forbidden accesses from inside a confined process, and report which of them are denied
    #[command(after_help = SANDBOX_STATUS)]
    Sandbox(Sandbox),
    /// Print the script that lets a shell complete the command's arguments
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
    /// The folder to write a page for each command into; without it, the page of `zten` is printed
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// `zten explain`
#[derive(Debug, clap::Args)]
pub(crate) struct Explain {
    /// The id of a rule, limit or unsupported feature, as messages print it; without it, all are listed
    #[arg(value_name = "RULE")]
    pub(crate) rule: Option<String>,
    /// List all rules, limits and unsupported features
    #[arg(long, conflicts_with = "rule")]
    pub(crate) list: bool,
}

/// `zten sandbox`
#[derive(Debug, clap::Args)]
pub(crate) struct Sandbox {
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Try only the access of this name, in this process
    #[arg(long, hide = true)]
    pub(crate) trial: Option<String>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Args;

    #[test]
    fn command_line_is_consistent() {
        Args::command().debug_assert();
    }
}
