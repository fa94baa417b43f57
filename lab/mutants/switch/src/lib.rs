//! What mutated code asks: whether it is the mutant that is looked at.
//!
//! The number is that of the environment variable `ZTEN_MUTANT`; without it no mutant is on. With
//! `ZTEN_MUTANTS_REACHED`, the numbers that were asked for are appended to the file of that name, each
//! once, in four little-endian bytes.

use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The mutant that is on, or one of the two states above every number.
static ON: AtomicU32 = AtomicU32::new(UNKNOWN);

/// The environment has not been looked at yet.
const UNKNOWN: u32 = u32::MAX;
/// None is on, and what is asked for is written down.
const RECORDED: u32 = u32::MAX - 1;
/// None is on.
const NONE: u32 = u32::MAX - 2;

/// The numbers that have been written down.
static REACHED: [AtomicU64; 1024] = [const { AtomicU64::new(0) }; 1024];

/// Whether the mutant of that number is on.
#[deprecated = "the compiler names each place where it is called: these mutants are compiled"]
#[expect(clippy::inline_always, reason = "loops over bytes ask it")]
#[inline(always)]
pub fn mutant(number: u32) -> bool {
    let on = ON.load(Ordering::Relaxed);
    on == number || on >= RECORDED && asked(number)
}

/// The same, where more is to be done.
#[cold]
#[inline(never)]
fn asked(number: u32) -> bool {
    if ON.load(Ordering::Relaxed) == UNKNOWN {
        ON.store(given(), Ordering::Relaxed);
    }
    let on = ON.load(Ordering::Relaxed);
    if on == RECORDED {
        record(number);
    }
    on == number
}

fn given() -> u32 {
    if record_file().is_some() {
        return RECORDED;
    }
    let number = std::env::var("ZTEN_MUTANT").ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(NONE)
}

fn record_file() -> Option<&'static File> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let open = || {
        let path = std::env::var_os("ZTEN_MUTANTS_REACHED")?;
        File::options().create(true).append(true).open(path).ok()
    };
    FILE.get_or_init(open).as_ref()
}

fn record(number: u32) {
    let Some(word) = usize::try_from(number / 64).ok().and_then(|word| REACHED.get(word)) else {
        return;
    };
    let bit = 1 << (number % 64);
    if word.fetch_or(bit, Ordering::Relaxed) & bit == 0
        && let Some(mut file) = record_file()
    {
        // What is not written down is a mutant that no test seems to reach, which is then reported.
        let _ = file.write_all(&number.to_le_bytes());
    }
}
