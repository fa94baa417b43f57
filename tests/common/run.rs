//! Running what cargo has built.

use std::ffi::OsStr;
use std::process::Command;

/// A program as a command: by way of `ZTEN_TEST_RUNNER`, if that is set, words with blanks between
/// them. So an emulator of another machine runs what its tests start, and not the tests alone.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let runner = std::env::var("ZTEN_TEST_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    match words.next() {
        Some(first) => {
            let mut command = Command::new(first);
            command.args(words).arg(program);
            command
        }
        None => Command::new(program),
    }
}
