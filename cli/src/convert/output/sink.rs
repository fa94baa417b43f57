//! Where files are written that say, in front of something, what is known only behind it.

use std::fs::File;
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write as _};

use zten::write::{FileSink, IoSink, Sink};

/// Takes the bytes of a file in order, and some of them again.
pub(crate) trait Output: Sink<Error = io::Error> {
    /// Writes bytes in the place of some that were written before. What is written next goes to the
    /// end, as ever.
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()>;
}

fn patch(mut file: &File, at: u64, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(())
}

impl Output for FileSink {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        patch(self.file(), at, bytes)
    }
}

impl Output for IoSink<BufWriter<File>> {
    fn patch(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.flush()?;
        patch(self.0.get_ref(), at, bytes)
    }
}
