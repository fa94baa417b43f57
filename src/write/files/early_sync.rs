//! Sending bytes to the disk before the file is complete.

use std::fs::File;
use std::io;
use std::thread::{Builder, JoinHandle};

/// A thread that makes bytes of a file durable while later bytes are written.
///
/// A file is published only after all of its bytes are durable. If they are sent to the disk at the end only, writing
/// and waiting take turns: for 400 MiB on ext4 each of the two took half of the time.
#[derive(Debug, Default)]
pub(super) struct EarlySync {
    /// The number of bytes that have been written since the last thread was started to make them durable.
    unsynced: u64,
    running: Option<JoinHandle<io::Result<()>>>,
}

/// The number of bytes for which a thread is started: enough that starting a thread and the file system's own
/// bookkeeping take a small part of the time, and that small files start none.
const WORTHWHILE: u64 = 32 << 20;

impl EarlySync {
    /// Counts `bytes` more bytes that were written to `file`, and on Linux starts a thread if there are many. At most one
    /// thread runs at a time.
    ///
    /// # Errors
    /// The error of an earlier thread. It must not be lost, because the system reports a failed write only once: the
    /// last call for the file would succeed.
    pub(super) fn add(&mut self, bytes: u64, file: &File) -> io::Result<()> {
        self.unsynced = self.unsynced.saturating_add(bytes);
        // The gain was measured on Linux only. On Apple's systems, `sync_data` also empties the cache of the disk, which is
        // slow.
        if !cfg!(target_os = "linux") || self.unsynced < WORTHWHILE {
            return Ok(());
        }
        if self.running.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return Ok(());
        }
        self.wait()?;
        self.unsynced = 0;
        // Without a further descriptor or thread, all bytes become durable when the file is published.
        if let Ok(file) = file.try_clone() {
            self.running = Builder::new().spawn(move || file.sync_data()).ok();
        }
        Ok(())
    }

    /// Waits for the thread, if there is one.
    ///
    /// # Errors
    /// The error of the thread: some bytes are not on the disk.
    pub(super) fn wait(&mut self) -> io::Result<()> {
        let Some(thread) = self.running.take() else { return Ok(()) };
        let panicked =
            |_| Err(io::Error::other("the thread that sends bytes to the disk panicked"));
        thread.join().unwrap_or_else(panicked)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::write::FileSink;

    #[test]
    fn a_file_with_an_earlier_error_is_not_published() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let mut sink = FileSink::create(&path).unwrap();
        sink.early.running = Some(std::thread::spawn(|| Err(io::ErrorKind::StorageFull.into())));
        assert_eq!(sink.publish().unwrap_err().kind(), crate::error::ErrorKind::Write);
        assert!(!path.exists());
    }

    #[test]
    fn the_error_of_an_earlier_thread_is_reported_once() {
        let file = tempfile::tempfile().unwrap();
        let mut early = EarlySync::default();
        early.add(WORTHWHILE - 1, &file).unwrap();
        assert!(early.running.is_none());
        early.add(1, &file).unwrap();
        assert_eq!((early.running.is_some(), early.unsynced), (true, 0));
        early.wait().unwrap();
        for pass in 0..2 {
            early.running = Some(std::thread::spawn(|| Err(io::ErrorKind::StorageFull.into())));
            while !early.running.as_ref().unwrap().is_finished() {
                std::thread::yield_now();
            }
            let failed = if pass == 0 { early.add(WORTHWHILE, &file) } else { early.wait() };
            assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
            early.wait().unwrap();
        }
    }
}
