//! A line on the terminal while work takes long; nothing anywhere else.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant};

use zten::{Error, ReadAt};

use crate::handle::Handle;
use crate::size::human;

/// Work that takes less long is not talked about.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time between two changes of the line.
const PACE: Duration = Duration::from_millis(100);

/// Whether standard output and standard error are terminals: asked once, while one may ask.
static TERMINALS: LazyLock<[bool; 2]> =
    LazyLock::new(|| [io::stdout().is_terminal(), io::stderr().is_terminal()]);

/// Asks what can no longer be asked in confinement.
pub(crate) fn ask() {
    LazyLock::force(&TERMINALS);
}

/// Whether standard output is a terminal.
pub(crate) fn output_is_terminal() -> bool {
    TERMINALS[0]
}

/// How much of the work is done.
pub(crate) struct Progress {
    shown: bool,
    start: Instant,
    drawn: Mutex<Option<Instant>>,
    done: AtomicU64,
    total: u64,
    stopped: AtomicBool,
}

impl Progress {
    /// Work on `total` bytes.
    pub(crate) fn new(total: u64) -> Self {
        let [_, shown] = *TERMINALS;
        let (drawn, done, stopped) = Default::default();
        Self { shown, start: Instant::now(), drawn, done, total, stopped }
    }

    /// Without a line where output goes to the same terminal.
    pub(crate) fn quiet_on_terminal(mut self) -> Self {
        self.shown &= !TERMINALS[0];
        self
    }

    /// Nothing more is read of the files.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// So many bytes more are done.
    fn note(&self, bytes: usize) {
        // Frames of zstd are walked before they are decoded: some bytes are read twice.
        let bytes = u64::try_from(bytes).unwrap_or_default();
        let done = self.done.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if !self.shown || self.start.elapsed() < PATIENCE {
            return;
        }
        // A thread that finds another at it leaves the line to that one.
        let Ok(mut drawn) = self.drawn.try_lock() else {
            return;
        };
        if drawn.is_some_and(|drawn| drawn.elapsed() < PACE) {
            return;
        }
        *drawn = Some(Instant::now());
        let done = done.min(self.total);
        let hundredths = u128::from(done).saturating_mul(100);
        let percent = hundredths.checked_div(self.total.into()).unwrap_or(100);
        let (done, total) = (human(done), human(self.total));
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(io::stderr().lock(), "\r\x1b[2K{percent:3} %  {done} of {total}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.drawn.lock().is_ok_and(|drawn| drawn.is_some()) {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

/// A file that is being read, and how much of all files has been.
pub(crate) struct Watched<'a> {
    pub(crate) file: &'a Handle,
    pub(crate) progress: &'a Progress,
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
}
