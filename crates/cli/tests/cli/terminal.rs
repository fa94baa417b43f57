//! Helpers that run the command on a terminal.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::process::{Child, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{command, corpus_folder};

/// The streams that are connected to the terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum On {
    Output,
    Errors,
    Both,
}

/// The output of a run.
pub(crate) struct Shown {
    /// The output on the terminal, with the line ends of a file.
    pub(crate) terminal: String,
    /// The output on the stream that is not a terminal.
    pub(crate) pipe: String,
}

/// Runs the command in the corpus on a terminal, with the given variables and no others that affect colors.
pub(crate) fn run<S: AsRef<OsStr>>(
    on: On,
    variables: &[(&str, &str)],
    args: impl IntoIterator<Item = S>,
) -> Shown {
    let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&own).unwrap();
    unlockpt(&own).unwrap();
    let name = ptsname(&own, Vec::new()).unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    let mut command = command();
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(variable);
    }
    command.env("TERM", "xterm").envs(variables.iter().copied());
    command.args(args).current_dir(corpus_folder()).stdin(Stdio::null());
    let terminal = || Stdio::from(theirs.try_clone().unwrap());
    let (out, errors) = match on {
        On::Output => (terminal(), Stdio::piped()),
        On::Errors => (Stdio::piped(), terminal()),
        On::Both => (terminal(), terminal()),
    };
    let child = command.stdout(out).stderr(errors).spawn().unwrap();
    // The terminal closes after all its handles have been dropped.
    drop((command, theirs));
    let reader = std::thread::spawn(move || all(File::from(own)));
    let pipe = piped(child);
    let terminal = String::from_utf8(reader.join().unwrap()).unwrap().replace("\r\n", "\n");
    Shown { terminal, pipe }
}

fn piped(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// Reads a terminal to its end. Reading fails after the other side has been closed.
fn all(mut terminal: File) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = terminal.read(&mut buffer) {
        all.extend_from_slice(&buffer[..read]);
    }
    all
}
