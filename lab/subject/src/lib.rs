//! Runs one reader with one file, within limits, and says what came of it.
//!
//! What a reader returns goes into a [`Report`], which is printed as lines of `key\tvalue`. What it
//! does instead of returning is told by how the process ends.

mod elements;
mod guard;
mod limits;
mod report;

pub use guard::{Guarded, OVERRUN, overrun};
pub use half::{bf16, f16};
pub use limits::{ADDRESSES, SECONDS};
pub use report::{Component, Report};

use std::panic::PanicHookInfo;
use std::path::Path;

/// Begins the line that a panic prints: place and message follow.
pub const PANIC: &str = "panicked\t";

/// Lets a reader read a file within the limits, and prints what it reports.
///
/// # Panics
/// Where [`Guarded`] is not the program's allocator, or the system refuses a limit.
pub fn run(file: &Path, read: impl FnOnce(&Path, &mut Report)) {
    std::panic::set_hook(Box::new(|info| eprintln!("{PANIC}{}\t{}", place(info), message(info))));
    assert!(guard::is_guarded(), "the allocator of the program is another");
    limits::set();
    let mut report = Report::default();
    read(file, &mut report);
    report.end();
}

/// Where it panicked: file and line from the name of the package on, wherever it was built.
fn place(info: &PanicHookInfo<'_>) -> String {
    let Some(location) = info.location() else { return String::new() };
    let parts: Vec<&str> = location.file().split('/').collect();
    let registry = parts.windows(2).position(|pair| pair == ["registry", "src"]);
    if let Some(at) = registry {
        return format!(
            "{}:{}",
            parts.get(at + 3..).unwrap_or_default().join("/"),
            location.line()
        );
    }
    let standard = parts.iter().position(|part| *part == "library").unwrap_or_default();
    parts.get(standard..).unwrap_or_default().join("/")
}

/// What it says, in one line.
fn message(info: &PanicHookInfo<'_>) -> String {
    info.payload_as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
