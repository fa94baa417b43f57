//! Names in a file that was refused: what is asked of the library once more.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use zten::open::{Body, Opening};
use zten::{Generation, Options, Place};

/// Bytes of manifest to look at, at most.
const REACH: u64 = 64 << 20;

/// What could be found out about the place of an error.
#[derive(Debug, Default)]
pub(crate) struct Located {
    /// Where in the file the manifest lies.
    pub(crate) manifest: Option<Range<u64>>,
    /// Which rules the file follows.
    pub(crate) generation: Option<Generation>,
    /// The name of the object.
    pub(crate) object: Option<String>,
    /// The role of the component.
    pub(crate) component: Option<String>,
}

/// Looks for the names at `place` in the file at `path`, which was refused.
pub(crate) fn locate(path: &Path, options: &Options, place: Place) -> Located {
    let Some((body, mut file)) = open(path, options) else {
        return Located::default();
    };
    let range = body.needs();
    let end = range.end.min(range.start.saturating_add(REACH));
    let bytes = fetch(&mut file, range.start..end).unwrap_or_default();
    let named = body.named(&bytes, place);
    Located {
        manifest: Some(range),
        generation: named.generation,
        object: named.object.map(str::to_owned),
        component: named.component.map(str::to_owned),
    }
}

/// Where the manifest lies, as far as the frame is in order.
fn open(path: &Path, options: &Options) -> Option<(Body, File)> {
    let mut file = File::open(path).ok()?;
    let opening = Opening::new(file.metadata().ok()?.len(), options).ok()?;
    let footer = opening.header(&fetch(&mut file, opening.needs()).ok()?).ok()?;
    let body = footer.footer(&fetch(&mut file, footer.needs()).ok()?).ok()?;
    Some((body, file))
}

fn fetch(file: &mut File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(range.start))?;
    file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
