//! The output and the exit status of the command.

use std::fmt::Display;
use std::io::{self, BufWriter, StdoutLock, Write};
use std::process::ExitCode;
#[cfg(target_os = "linux")]
use std::sync::Arc;

#[cfg(target_os = "linux")]
use crate::link::channel::Channel;
#[cfg(target_os = "linux")]
use crate::link::message::Stream;
use crate::link::status::Status;
#[cfg(target_os = "linux")]
use crate::output::kind::OutcomeKind;
use crate::output::report::Problem;

/// Bytes of text that are held before they are written.
const BUFFER: usize = 48 << 10;

/// Standard output and standard error of the command, and its exit status so far.
pub(crate) struct App {
    /// Standard output. An error in writing to it ends the command.
    pub(crate) out: Output,
    status: Status,
    errors: Errors,
    /// True if the files that the command writes are complete, whatever the status is.
    is_written: bool,
}

/// Standard output of the command.
pub(crate) enum Output {
    /// The standard output of this process.
    Own(BufWriter<StdoutLock<'static>>),
    /// Messages to the broker, which prints their text, and the text that was not sent yet.
    #[cfg(target_os = "linux")]
    Broker(Arc<Channel>, Vec<u8>),
    #[cfg(all(test, target_os = "linux"))]
    File(std::fs::File),
}

/// Standard error of the command.
enum Errors {
    Own,
    #[cfg(target_os = "linux")]
    Broker(Arc<Channel>),
    #[cfg(all(test, target_os = "linux"))]
    File(std::fs::File),
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Own(out) => out.write(bytes),
            #[cfg(target_os = "linux")]
            Self::Broker(channel, text) => {
                text.extend(bytes);
                if text.len() >= BUFFER {
                    channel.text(Stream::Output, text)?;
                }
                Ok(bytes.len())
            }
            #[cfg(all(test, target_os = "linux"))]
            Self::File(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Own(out) => out.flush(),
            #[cfg(target_os = "linux")]
            Self::Broker(channel, text) => channel.text(Stream::Output, text),
            #[cfg(all(test, target_os = "linux"))]
            Self::File(_) => Ok(()),
        }
    }
}

impl App {
    /// Creates an output that writes both streams to `file`.
    #[cfg(all(test, target_os = "linux"))]
    pub(crate) fn to_file(file: std::fs::File) -> Self {
        let errors = Errors::File(file.try_clone().unwrap());
        Self { out: Output::File(file), status: Status::Success, errors, is_written: false }
    }

    /// Creates the output to the standard streams of this process, with the exit status of success.
    pub(crate) fn new() -> Self {
        let out = Output::Own(BufWriter::with_capacity(64 << 10, io::stdout().lock()));
        Self { out, status: Status::Success, errors: Errors::Own, is_written: false }
    }

    /// Creates the output of a worker. The broker prints its text, except for the standard output of a command that `writes_data`:
    /// data goes there without a detour.
    #[cfg(target_os = "linux")]
    pub(crate) fn in_worker(channel: &Arc<Channel>, writes_data: bool) -> Self {
        let out = if writes_data {
            Self::new().out
        } else {
            Output::Broker(Arc::clone(channel), Vec::new())
        };
        let errors = Errors::Broker(Arc::clone(channel));
        Self { out, status: Status::Success, errors, is_written: false }
    }

    /// Raises the exit status of the command to `status`, if that is worse than the status so far.
    pub(crate) fn set_exit_status(&mut self, status: Status) {
        self.status = self.status.max(status);
    }

    /// Notes that the files that the command writes are complete, so that the broker gives them their names.
    pub(crate) fn set_written(&mut self) {
        self.is_written = true;
    }

    /// Returns whether the files that the command writes are complete.
    #[cfg(target_os = "linux")]
    pub(crate) fn is_written(&self) -> bool {
        self.is_written
    }

    /// Prints the problem of a file on standard error, after flushing standard output, and raises the exit status to that of the
    /// problem.
    pub(crate) fn problem(&mut self, problem: &Problem) -> io::Result<()> {
        self.set_exit_status(problem.status());
        self.error(problem)
    }

    /// Prints `message` on standard error, and sets the exit status to 2: the command was called wrongly, or cannot go on.
    pub(crate) fn usage(&mut self, message: impl Display) -> io::Result<()> {
        self.set_exit_status(Status::Error);
        self.error(message)
    }

    /// Prints a line on standard error, after flushing standard output.
    pub(crate) fn error(&mut self, message: impl Display) -> io::Result<()> {
        self.out.flush()?;
        match &self.errors {
            Errors::Own => print_error(message),
            #[cfg(target_os = "linux")]
            Errors::Broker(channel) => {
                channel.text(Stream::Errors, &mut format!("{message}\n").into_bytes())?;
            }
            #[cfg(all(test, target_os = "linux"))]
            Errors::File(file) => writeln!(&*file, "{message}")?,
        }
        Ok(())
    }

    /// Prints text that a worker has rendered on `stream`.
    #[cfg(target_os = "linux")]
    pub(crate) fn text(&mut self, stream: Stream, text: &str) -> io::Result<()> {
        match stream {
            Stream::Output => self.out.write_all(text.as_bytes()),
            Stream::Errors => {
                self.out.flush()?;
                match &self.errors {
                    #[cfg(test)]
                    Errors::File(file) => (&*file).write_all(text.as_bytes()),
                    _ => {
                        let _ = io::stderr().lock().write_all(text.as_bytes());
                        Ok(())
                    }
                }
            }
        }
    }

    /// Prints text on standard error, after flushing standard output.
    pub(crate) fn error_text(&mut self, text: &str) -> io::Result<()> {
        self.error(text.strip_suffix('\n').unwrap_or(text))
    }

    /// Returns the exit status so far.
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Flushes the output of a worker's job, and returns the status and the verdict `ran` of the job. If standard output
    /// cannot be written to, reports the error, and returns no verdict.
    #[cfg(target_os = "linux")]
    pub(crate) fn finish(
        mut self,
        ran: io::Result<Option<OutcomeKind>>,
    ) -> io::Result<(Status, Option<OutcomeKind>)> {
        match ran.and_then(|kind| self.out.flush().map(|()| kind)) {
            Ok(kind) => Ok((self.status, kind)),
            Err(error) => {
                self.fail(&error)?;
                Ok((self.status, None))
            }
        }
    }

    /// Reports that standard output cannot be written to. A closed pipe is not an error.
    fn fail(&mut self, error: &io::Error) -> io::Result<()> {
        // Discards the buffer, which would try to write its bytes again when it is dropped.
        if let Output::Own(out) = &mut self.out {
            let empty = BufWriter::with_capacity(0, io::stdout().lock());
            let _ = std::mem::replace(out, empty).into_parts();
        }
        // The reader has closed the pipe, as `head` does when it has enough.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Ok(());
        }
        self.usage(format_args!("standard output: {error}"))
    }

    /// Flushes standard output, reports an error in writing to it, and returns the exit status.
    pub(crate) fn end(mut self, written: io::Result<()>) -> ExitCode {
        if let Err(error) = written.and_then(|()| self.out.flush()) {
            let _ = self.fail(&error);
        }
        ExitCode::from(self.status.code())
    }
}

/// Prints a line on standard error. A failure is ignored, because the exit status still tells that there was an error.
fn print_error(message: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{message}");
}
