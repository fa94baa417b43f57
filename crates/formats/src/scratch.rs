//! Temporary files without a name, which a confined process must have before it needs them.

use std::fs::File;
use std::io;
use std::sync::{Arc, OnceLock};

/// Temporary files that are in use at one time, at most: a member of an archive, what it becomes
/// when its first dimension has been turned, and what that becomes with the next.
const MOST: usize = 3;

/// Those that there are, or why they could not be made. Unset as long as one may be made at need.
static KEPT: OnceLock<Vec<io::Result<Arc<File>>>> = OnceLock::new();

/// Makes as many as will be needed, as none can be made later.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nothing is confined there"))]
pub fn prepare() {
    KEPT.get_or_init(|| (0..MOST).map(|_| tempfile::tempfile().map(Arc::new)).collect());
}

/// An empty temporary file.
pub(super) fn file() -> io::Result<Arc<File>> {
    let Some(kept) = KEPT.get() else {
        return tempfile::tempfile().map(Arc::new);
    };
    // One that is free has no other owner.
    if let Some(file) = kept.iter().flatten().find(|file| Arc::strong_count(file) == 1) {
        file.set_len(0)?;
        return Ok(Arc::clone(file));
    }
    let why = kept.iter().find_map(|file| file.as_ref().err());
    Err(why.map_or_else(|| io::Error::other("all are in use"), |error| error.kind().into()))
}
