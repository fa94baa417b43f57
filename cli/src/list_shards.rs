//! Listing, in confinement, the shards that another process is to look for: a file says what they
//! are called, and no process that reads one may open another.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::app::App;
use crate::args::Command;
use crate::mode::Mode;
use crate::remote::is_remote;
use crate::sandbox::{self, Access, Task};
use crate::shards;
use crate::strictness::Strictness;

/// What the other process was called with.
struct Call<'a> {
    paths: Vec<&'a Path>,
    strictness: &'a Strictness,
}

/// Lists the shards of the files of a command, each behind the place of its file.
pub(crate) fn run(app: &mut App, command: &Command, mode: Mode) -> io::Result<()> {
    zten_sandbox::end_with_parent();
    let Some(Call { paths, strictness }) = call(command) else { return Ok(()) };
    // Those of a file that is read over the network are found by the process that reads all of it.
    let local = (0_u64..).zip(paths).filter(|(_, path)| !is_remote(path));
    let (ordinals, paths): (Vec<_>, Vec<_>) = local.unzip();
    let options = strictness.options();
    let access = Access { mode, task: Task::Look, strictness };
    let Some(files) = sandbox::files(app, paths, access)? else {
        return Ok(());
    };
    for (ordinal, file) in ordinals.into_iter().zip(files) {
        // What is wrong with a file is told by the process that reads all of it.
        let Ok(file) = file else { continue };
        if !shards::may_have(&file)? {
            continue;
        }
        let Ok(archive) = file.archive(&options) else { continue };
        for wanted in zten_shards::wanted(archive.manifest()) {
            writeln!(app.out, "{ordinal} {wanted}")?;
        }
    }
    Ok(())
}

fn call(command: &Command) -> Option<Call<'_>> {
    let (paths, strictness) = match command {
        Command::Check(args) => {
            (args.files.iter().map(PathBuf::as_path).collect(), &args.strictness)
        }
        Command::Cat(args) => (vec![args.file.as_path()], &args.strictness),
        Command::Hash(args) => (vec![args.file.as_path()], &args.strictness),
        Command::Diff(args) => (vec![args.old.as_path(), &args.new], &args.strictness),
        Command::Convert(args) => (vec![args.input.as_path()], &args.strictness),
        _ => return None,
    };
    Some(Call { paths, strictness })
}
