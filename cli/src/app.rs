//! Where output goes, and how the command ends.

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write as _};
use std::process::ExitCode;

use crate::report::Problem;
use crate::status::Status;

/// Standard output, buffered, and the status so far.
pub(crate) struct App {
    /// Standard output. What it fails with ends the command.
    pub(crate) out: BufWriter<StdoutLock<'static>>,
    status: Status,
}

impl App {
    /// Standard output, and nothing wrong yet.
    pub(crate) fn new() -> Self {
        let out = BufWriter::with_capacity(64 << 10, io::stdout().lock());
        Self { out, status: Status::Success }
    }

    /// Notes how one thing has ended.
    pub(crate) fn worsen(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    /// Tells what is wrong with a file, after all that has been printed before.
    pub(crate) fn problem(&mut self, problem: &Problem) -> io::Result<()> {
        self.worsen(problem.status());
        self.out.flush()?;
        tell(problem);
        Ok(())
    }

    /// The same, of what has been worded already: whole lines.
    #[cfg(target_os = "linux")]
    pub(crate) fn told(&mut self, lines: &[u8], status: Status) -> io::Result<()> {
        self.worsen(status);
        self.out.flush()?;
        let _ = io::stderr().lock().write_all(lines);
        Ok(())
    }

    /// The status so far.
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Tells that the command was called wrongly.
    pub(crate) fn usage(&mut self, message: impl Display) -> io::Result<()> {
        self.worsen(Status::Trouble);
        self.out.flush()?;
        tell(message);
        Ok(())
    }

    /// The exit status, everything having been written or not.
    pub(crate) fn end(mut self, written: io::Result<()>) -> ExitCode {
        if let Err(error) = written.and_then(|()| self.out.flush()) {
            // The reader has closed the pipe, which is no failure.
            if error.kind() != io::ErrorKind::BrokenPipe {
                tell(format_args!("standard output: {error}"));
                self.worsen(Status::Trouble);
            }
            // The buffer would try once more when dropped.
            let _ = self.out.into_parts();
        }
        ExitCode::from(self.status.code())
    }
}

/// A message on standard error. If it cannot be written, the exit status still tells.
fn tell(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}
