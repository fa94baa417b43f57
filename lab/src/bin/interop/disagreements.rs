//! The known disagreements with the reference implementation, which every run demonstrates again. When one of them disappears, the
//! other comparisons can become stricter.

mod readers;
mod writers;

use std::path::Path;

use anyhow::{Context as _, Result};

/// A disagreement: a description of it, which implementation is right according to the specification, and a function
/// that demonstrates it.
struct Disagreement {
    what: &'static str,
    right: &'static str,
    /// The function, which fails if the disagreement does not occur.
    show: fn(&Path) -> Result<()>,
}

/// Demonstrates all disagreements. Fails at the first that does not occur any more.
pub(crate) fn run() -> Result<()> {
    let folder = tempfile::tempdir()?;
    for (at, known) in readers::KNOWN.iter().chain(&writers::KNOWN).enumerate() {
        let path = folder.path().join(format!("{at}.zt"));
        (known.show)(&path).with_context(|| format!("no longer shows: {}", known.what))?;
        println!("known: {}\n       {}", known.what, known.right);
    }
    Ok(())
}
