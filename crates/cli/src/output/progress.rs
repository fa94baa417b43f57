//! The progress line, which is drawn on a terminal while a command takes long.

use std::io::{self, IsTerminal as _, Write as _};
#[cfg(target_os = "linux")]
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use zten::{Error, ReadAt};

#[cfg(target_os = "linux")]
use crate::link::channel::Channel;
#[cfg(target_os = "linux")]
use crate::link::message::Request;
use crate::size::human;
use crate::source::handle::Handle;

/// The time after which the progress line appears.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time between two changes of the line.
const PACE: Duration = Duration::from_millis(100);

/// The streams of the command that are terminals, and the width of standard output if it is a terminal.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Terminals {
    pub(crate) output: bool,
    pub(crate) errors: bool,
    pub(crate) columns: Option<u16>,
}

static TERMINALS: OnceLock<Terminals> = OnceLock::new();

/// In a worker, the channel to the broker, which draws the progress line on the terminal for the worker.
#[cfg(target_os = "linux")]
static BROKER: OnceLock<Arc<Channel>> = OnceLock::new();

/// Returns which streams of the command are terminals. The first call decides.
pub(crate) fn terminals() -> Terminals {
    *TERMINALS.get_or_init(|| {
        let (output, errors) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        #[cfg(unix)]
        let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| size.ws_col);
        #[cfg(not(unix))]
        let columns = 0;
        let columns = output.then_some(if columns == 0 { 80 } else { columns });
        Terminals { output, errors, columns }
    })
}

/// Returns the number of columns of standard output if it is a terminal (80 if the terminal does not tell), and `None` if
/// it is no terminal.
pub(crate) fn output_columns() -> Option<usize> {
    terminals().columns.map(usize::from)
}

/// Sets the terminals of the command and the channel to the broker in a worker.
#[cfg(target_os = "linux")]
pub(crate) fn set(terminals: Terminals, broker: Arc<Channel>) {
    let _ = TERMINALS.set(terminals);
    let _ = BROKER.set(broker);
}

/// Returns whether standard output is a terminal.
pub(crate) fn output_is_terminal() -> bool {
    terminals().output
}

/// Draws the progress line for `done` of `total` bytes after `millis` milliseconds.
pub(crate) fn draw(done: u64, total: u64, millis: u64) {
    // Progress that cannot be shown is no reason to stop.
    let _ = write!(io::stderr().lock(), "\r\x1b[2K{}", line(done, total, millis));
}

/// Returns the progress line for `done` of `total` bytes after `millis` milliseconds: the share that is done in percent, both
/// numbers of bytes, and, if the rate is at least one byte a second, the mean rate so far and the time left at this rate. A `done`
/// beyond `total` counts as `total`.
fn line(done: u64, total: u64, millis: u64) -> String {
    let done = done.min(total);
    let hundredths = u128::from(done).saturating_mul(100);
    let percent = hundredths.checked_div(total.into()).unwrap_or(100);
    let mut line = format!("{percent:3} %  {} of {}", human(done), human(total));
    let thousand = u128::from(done).saturating_mul(1000);
    let rate = thousand.checked_div(millis.into()).and_then(|rate| u64::try_from(rate).ok());
    if let Some(rate) = rate.filter(|rate| *rate > 0) {
        let left = total.saturating_sub(done).div_ceil(rate);
        let left = duration(left);
        line = format!("{line}  {}/s  {left} left", human(rate));
    }
    line
}

/// Formats a number of seconds with its two largest units: `42 s`, `3 min 05 s`, `2 h 10 min`.
fn duration(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{minutes} min {:02} s", seconds % 60),
        _ => format!("{hours} h {:02} min", minutes % 60),
    }
}

/// Removes the progress line.
pub(crate) fn clear() {
    let _ = write!(io::stderr().lock(), "\r\x1b[2K");
}

/// Draws the progress line, or asks the broker to draw it.
fn show(done: u64, total: u64, elapsed: Duration) {
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    #[cfg(target_os = "linux")]
    if let Some(broker) = BROKER.get() {
        let _ = broker.send(&Request::Progress(done, total, millis));
        return;
    }
    draw(done, total, millis);
}

/// The number of bytes that a command has read so far, and the number that it will read. Draws the progress line on the
/// terminal.
pub(crate) struct Progress {
    shown: bool,
    start: Instant,
    drawn: Mutex<Option<Instant>>,
    done: AtomicU64,
    total: u64,
    stopped: AtomicBool,
}

impl Progress {
    /// Creates the progress of work on `total` bytes.
    pub(crate) fn new(total: u64) -> Self {
        let shown = terminals().errors;
        let (drawn, done, stopped) = Default::default();
        Self { shown, start: Instant::now(), drawn, done, total, stopped }
    }

    /// Hides the line if standard output is a terminal, where the line would mix with the output.
    pub(crate) fn quiet_on_terminal(mut self) -> Self {
        self.shown &= !terminals().output;
        self
    }

    /// Makes further reads of the files fail, because the work has stopped.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Counts `bytes` bytes that have been read, and draws the line if it is time and standard error is a terminal.
    fn note(&self, bytes: usize) {
        // The headers of zstd frames are read twice (first to check the frames), so the sum may exceed the total.
        let bytes = u64::try_from(bytes).unwrap_or_default();
        let done = self.done.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if !self.shown || self.start.elapsed() < PATIENCE {
            return;
        }
        // If another thread is drawing the line, this thread goes on reading instead of waiting.
        let Ok(mut drawn) = self.drawn.try_lock() else {
            return;
        };
        if drawn.is_some_and(|drawn| drawn.elapsed() < PACE) {
            return;
        }
        *drawn = Some(Instant::now());
        show(done, self.total, self.start.elapsed());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        #[cfg(target_os = "linux")]
        if BROKER.get().is_some() {
            return;
        }
        if self.drawn.lock().is_ok_and(|drawn| drawn.is_some()) {
            clear();
        }
    }
}

/// A file whose reads are counted as progress.
pub(crate) struct Watched<'a> {
    pub(crate) file: &'a Handle,
    pub(crate) progress: &'a Progress,
    /// The [identity](ReadAt::identity) of a shard, if it is known.
    pub(crate) identity: Option<[u64; 2]>,
}

impl<'a> Watched<'a> {
    /// Counts in `progress` what is read of `file`.
    pub(crate) fn new(file: &'a Handle, progress: &'a Progress) -> Self {
        Self { file, progress, identity: None }
    }
}

impl ReadAt for Watched<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        if self.progress.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("stopped").into());
        }
        self.file.read_at(offset, buffer)?;
        self.progress.note(buffer.len());
        Ok(())
    }

    fn identity(&self) -> Option<[u64; 2]> {
        self.identity
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_rate_and_time_left() {
        assert_eq!(line(0, 1 << 30, 500), "  0 %  0 B of 1.0 GiB");
        let half = line(1 << 29, 1 << 30, 2000);
        assert_eq!(half, " 50 %  512.0 MiB of 1.0 GiB  256.0 MiB/s  2 s left");
        assert_eq!(line(5, 0, 0), "100 %  0 B of 0 B");
        assert!(line(1 << 20, 1 << 30, 1000).ends_with("1.0 MiB/s  17 min 03 s left"));
        // Numbers of a worker that was taken over do no harm.
        assert_eq!(line(u64::MAX, u64::MAX, 1), "100 %  16.0 EiB of 16.0 EiB");
        assert!(line(1, u64::MAX, 1000).ends_with("  1 B/s  5124095576030431 h 00 min left"));
        assert_eq!(duration(59), "59 s");
        assert_eq!(duration(3600 * 25 + 61), "25 h 01 min");
    }
}
