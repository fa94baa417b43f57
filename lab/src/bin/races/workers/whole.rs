//! Checking a large file with and without the cache.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::contestant::serve_timed;
use anyhow::{Result, bail};
use rustix::fs::{Advice, fadvise};
use sha2::{Digest as _, Sha256};

/// Removes a file from the cache of the operating system.
fn forget(file: &Path) {
    let file = File::open(file).expect("a file");
    file.sync_all().expect("a disk");
    fadvise(&file, 0, None, Advice::DontNeed).expect("a file that can be let go of");
}

/// Checks a file with the command, or hashes it.
pub(crate) fn check(reader: &str, program: &Path, file: &Path) -> Result<()> {
    let command = |threads: &str| {
        let mut command = Command::new(program);
        command.arg("check").arg(file).env("RAYON_NUM_THREADS", threads).stdout(Stdio::null());
        let start = Instant::now();
        let status = command.status();
        let time = start.elapsed();
        assert!(status.is_ok_and(|status| status.success()), "a file that is valid");
        time
    };
    let bare = || -> Duration {
        let mut buffer = vec![0; 1 << 20];
        let start = Instant::now();
        let (mut file, mut hasher) = (File::open(file).expect("a file"), Sha256::new());
        loop {
            match file.read(&mut buffer).expect("a file that is valid") {
                0 => break,
                length => hasher.update(&buffer[..length]),
            }
        }
        std::hint::black_box(hasher.finalize());
        start.elapsed()
    };
    match reader {
        "zten check" => serve_timed(|| command("1")),
        "zten check, two threads" => serve_timed(|| command("2")),
        "sha2" => serve_timed(bare),
        "zten check, two threads, cold" => serve_timed(|| {
            forget(file);
            command("2")
        }),
        "sha2, cold" => serve_timed(|| {
            forget(file);
            bare()
        }),
        _ => bail!("{reader} checks nothing"),
    }
    Ok(())
}
