//! A line on the terminal while work takes long; nothing anywhere else.

use std::cell::Cell;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use zten::ReadAt;
use zten::source::FileArchive;

use crate::table::human;

/// Work that takes less long is not talked about.
const PATIENCE: Duration = Duration::from_millis(500);
/// Time between two changes of the line.
const PACE: Duration = Duration::from_millis(100);

/// A file that is being read, and how much of it has been.
pub(crate) struct Watched<'a> {
    archive: &'a FileArchive,
    shown: bool,
    start: Instant,
    drawn: Cell<Option<Instant>>,
    done: Cell<u64>,
    total: u64,
}

impl<'a> Watched<'a> {
    /// Reads `archive`, of which `total` bytes will be wanted.
    pub(crate) fn new(archive: &'a FileArchive, total: u64) -> Self {
        let shown = io::stderr().is_terminal();
        let (drawn, done) = (Cell::new(None), Cell::new(0));
        Self { archive, shown, start: Instant::now(), drawn, done, total }
    }

    /// Without a line where output goes to the same terminal.
    pub(crate) fn quiet_on_terminal(mut self) -> Self {
        self.shown &= !io::stdout().is_terminal();
        self
    }

    fn note(&self, bytes: usize) {
        let bytes = u64::try_from(bytes).unwrap_or_default();
        // Frames of zstd are walked before they are decoded: some bytes are read twice.
        self.done.set(self.done.get().saturating_add(bytes).min(self.total));
        if !self.shown || self.start.elapsed() < PATIENCE {
            return;
        }
        if self.drawn.get().is_some_and(|drawn| drawn.elapsed() < PACE) {
            return;
        }
        self.drawn.set(Some(Instant::now()));
        let hundredths = u128::from(self.done.get()).saturating_mul(100);
        let percent = hundredths.checked_div(self.total.into()).unwrap_or(100);
        let (done, total) = (human(self.done.get()), human(self.total));
        // Progress that cannot be shown is no reason to stop.
        let _ = write!(io::stderr().lock(), "\r\x1b[2K{percent:3} %  {done} of {total}");
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if self.drawn.get().is_some() {
            let _ = write!(io::stderr().lock(), "\r\x1b[2K");
        }
    }
}

impl ReadAt for Watched<'_> {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        self.archive.read_at(offset, buffer)?;
        self.note(buffer.len());
        Ok(())
    }
}
