//! The known disagreements with the reference implementation, shown again at every run: when
//! one of these no longer holds, the other comparisons can become stricter.

mod readers;
mod writers;

use std::path::Path;

use anyhow::{Context as _, Result};

/// One disagreement: what it is, who is right by the specification, and how it shows.
struct Disagreement {
    what: &'static str,
    right: &'static str,
    /// Fails where it does not show.
    show: fn(&Path) -> Result<()>,
}

/// Shows them all.
pub(crate) fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (at, known) in readers::KNOWN.iter().chain(&writers::KNOWN).enumerate() {
        let path = folder.path().join(format!("{at}.zt"));
        (known.show)(&path).with_context(|| format!("no longer shows: {}", known.what))?;
        println!("known: {}\n       {}", known.what, known.right);
    }
    Ok(())
}
