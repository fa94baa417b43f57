//! Names in a file that was refused: what is asked of the library once more.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;

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

/// Looks for the names at `place` in a file of that length, which was refused.
pub(crate) fn locate((file, length): (&File, u64), options: &Options, place: Place) -> Located {
    let Some(body) = body(file, length, options) else {
        return Located::default();
    };
    let range = body.needs();
    let end = range.end.min(range.start.saturating_add(REACH));
    let bytes = fetch(file, range.start..end).unwrap_or_default();
    let named = body.named(&bytes, place);
    Located {
        manifest: Some(range),
        generation: named.generation,
        object: named.object.map(str::to_owned),
        component: named.component.map(str::to_owned),
    }
}

/// Where the manifest lies, as far as the frame is in order.
fn body(file: &File, length: u64, options: &Options) -> Option<Body> {
    let opening = Opening::new(length, options).ok()?;
    let footer = opening.header(&fetch(file, opening.needs()).ok()?).ok()?;
    footer.footer(&fetch(file, footer.needs()).ok()?).ok()
}

fn fetch(mut file: &File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(range.start))?;
    file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}
