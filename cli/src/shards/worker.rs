//! The process that lists the shards.

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use zten_shards::{NAME, Wanted};

/// A shard, and the place among the files of the one that lists it.
pub(super) struct Listed {
    pub(super) ordinal: usize,
    pub(super) wanted: Wanted,
}

/// Bytes of a line: a number, a name of 64 characters, two words, and what is between them.
const LINE: usize = 20 + 64 + 2 * NAME + 4;

/// What it lists: so many lines at most, each of which has been validated.
pub(super) fn listed(most: usize) -> io::Result<Vec<Listed>> {
    let mut given = std::env::args_os();
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = given.next() {
        std::os::unix::process::CommandExt::arg0(&mut command, name);
    }
    // This process will say the same, should it be wrong usage.
    let mut child = command
        .arg("--worker")
        .args(given)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut listed = Vec::new();
    if let Some(out) = child.stdout.take() {
        let bytes = u64::try_from(most.saturating_mul(LINE)).unwrap_or(u64::MAX);
        let mut out = BufReader::new(out.take(bytes));
        let mut line = String::new();
        while listed.len() < most && out.read_line(&mut line)? > 0 {
            let Some(entry) = read(line.trim_end_matches('\n')) else { break };
            listed.push(entry);
            line.clear();
        }
    }
    // What more it may say is not needed.
    let _ = child.kill();
    child.wait()?;
    Ok(listed)
}

fn read(line: &str) -> Option<Listed> {
    let (ordinal, wanted) = line.split_once(' ')?;
    Some(Listed { ordinal: ordinal.parse().ok()?, wanted: Wanted::read(wanted)? })
}
