//! Names in a file that was refused: there is no manifest to ask, but its bytes are still there.
//!
//! The bytes are walked without judging them, as far as the place of the error; a name that
//! cannot be found that way stays a number.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::path::Path;

use zten::open::{Body, Opening};
use zten::{Generation, Options, Place};

/// Bytes of manifest to look at, at most.
const REACH: u64 = 64 << 20;
/// Open items, at most: no reader accepts more.
const DEPTH: usize = 64;

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
    let Some((first_generation, body, mut file)) = open(path, options) else {
        return Located::default();
    };
    let range = body.needs();
    let mut located = Located { manifest: Some(range.clone()), ..Located::default() };
    let end = range.end.min(range.start.saturating_add(REACH));
    let Ok(bytes) = fetch(&mut file, range.start..end) else {
        return located;
    };
    located.generation = if first_generation { Some(Generation::V0_1) } else { generation(&bytes) };
    let Some(ordinal) = place.object() else {
        return located;
    };
    let found = if first_generation {
        entry(&bytes, ordinal).map(|name| (name, Some("data".to_owned())))
    } else {
        object(&bytes, ordinal, place.component())
    };
    if let Some((object, component)) = found {
        located.object = Some(object);
        located.component = component;
    }
    located
}

/// Where the manifest lies, as far as the frame is in order; and whether it is one of 0.1.
fn open(path: &Path, options: &Options) -> Option<(bool, Body, File)> {
    let mut file = File::open(path).ok()?;
    let opening = Opening::new(file.metadata().ok()?.len(), options).ok()?;
    let header = fetch(&mut file, opening.needs()).ok()?;
    let footer = opening.header(&header).ok()?;
    let body = footer.footer(&fetch(&mut file, footer.needs()).ok()?).ok()?;
    Some((header == b"ZTEN0001", body, file))
}

fn fetch(file: &mut File, range: Range<u64>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(range.start))?;
    file.take(range.end.saturating_sub(range.start)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Which rules a 1.x file follows, as far as its version can be read.
fn generation(manifest: &[u8]) -> Option<Generation> {
    let mut walk = Walk(manifest);
    walk.value_of("version")?;
    let minor = walk.text()?.strip_prefix("1.")?.split('.').next()?;
    match minor.parse::<u32>().ok()? {
        0 | 1 => Some(Generation::V1_1),
        _ => Some(Generation::V1_2),
    }
}

/// The name of a 0.1 entry.
fn entry(manifest: &[u8], ordinal: u32) -> Option<String> {
    let mut walk = Walk(manifest);
    let mut entries = walk.open(ARRAY)?;
    for _ in 0..ordinal {
        entries.next(&mut walk)?;
        walk.skip()?;
    }
    entries.next(&mut walk)?;
    walk.value_of("name")?;
    walk.text().map(str::to_owned)
}

/// The name of a 1.x object, and the role of its component.
fn object(
    manifest: &[u8],
    ordinal: u32,
    component: Option<u32>,
) -> Option<(String, Option<String>)> {
    let mut walk = Walk(manifest);
    walk.value_of("objects")?;
    let mut objects = walk.open(MAP)?;
    for _ in 0..ordinal {
        objects.next(&mut walk)?;
        walk.skip()?;
        walk.skip()?;
    }
    objects.next(&mut walk)?;
    let name = walk.text()?.to_owned();
    Some((name, component.and_then(|component| role(walk, component))))
}

/// The role of the component at that place in the object's map.
fn role(mut walk: Walk<'_>, component: u32) -> Option<String> {
    walk.value_of("components")?;
    let mut components = walk.open(MAP)?;
    for _ in 0..component {
        components.next(&mut walk)?;
        walk.skip()?;
        walk.skip()?;
    }
    components.next(&mut walk)?;
    walk.text().map(str::to_owned)
}

const TEXT: u8 = 3;
const ARRAY: u8 = 4;
const MAP: u8 = 5;
const BREAK: u8 = 0xff;

/// The bytes that have not been walked over.
#[derive(Clone, Copy)]
struct Walk<'b>(&'b [u8]);

/// Entries of a map or array that are left; without a number, those before the break.
#[derive(Clone, Copy)]
struct Entries(Option<u64>);

impl Entries {
    /// Steps to the next entry; none after the last.
    fn next(&mut self, walk: &mut Walk<'_>) -> Option<()> {
        match &mut self.0 {
            Some(left) => {
                *left = left.checked_sub(1)?;
                Some(())
            }
            None if walk.0.first() == Some(&BREAK) => {
                walk.0 = walk.0.get(1..)?;
                None
            }
            None => Some(()),
        }
    }
}

impl<'b> Walk<'b> {
    fn take(&mut self, length: u64) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// Major type, and argument unless it is indefinite.
    fn head(&mut self) -> Option<(u8, Option<u64>)> {
        let initial = *self.take(1)?.first()?;
        let argument = match initial & 31 {
            small @ 0..=23 => Some(u64::from(small)),
            length @ 24..=27 => {
                let bytes = self.take(1 << (length - 24))?;
                Some(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
            }
            31 => None,
            _ => return None,
        };
        Some((initial >> 5, argument))
    }

    /// Steps into a map or array.
    fn open(&mut self, wanted: u8) -> Option<Entries> {
        let (major, argument) = self.head()?;
        (major == wanted).then_some(Entries(argument))
    }

    /// A text of definite length.
    fn text(&mut self) -> Option<&'b str> {
        let (major, length) = self.head()?;
        let bytes = self.take(length.filter(|_| major == TEXT)?)?;
        std::str::from_utf8(bytes).ok()
    }

    /// Steps into a map, as far as the value of a key.
    fn value_of(&mut self, wanted: &str) -> Option<()> {
        let mut entries = self.open(MAP)?;
        loop {
            entries.next(self)?;
            let mut key = *self;
            if key.text() == Some(wanted) {
                *self = key;
                return Some(());
            }
            self.skip()?;
            self.skip()?;
        }
    }

    /// Steps over one item.
    fn skip(&mut self) -> Option<()> {
        let mut open = vec![Entries(Some(1))];
        while let Some(entries) = open.last_mut() {
            if entries.0.is_some_and(|left| left == 0) || entries.next(self).is_none() {
                open.pop();
                continue;
            }
            match self.head()? {
                (0 | 1 | 7, Some(_)) => {}
                (2 | TEXT, Some(length)) => drop(self.take(length)?),
                (ARRAY, items) => open.push(Entries(items)),
                (MAP, Some(entries)) => open.push(Entries(Some(entries.checked_mul(2)?))),
                (2 | TEXT | MAP, None) => open.push(Entries(None)),
                (6, Some(_)) => open.push(Entries(Some(1))),
                _ => return None,
            }
            if open.len() > DEPTH.saturating_mul(2) {
                return None;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `{"version": "1.2.0", "objects": {_ "a": {"components": {"x": 0, "y": 1}}, "b": {}}}`
    const MANIFEST: &[u8] = b"\xa2\x67version\x651.2.0\x67objects\xbf\x61a\xa1\x6acomponents\xa2\
        \x61x\x00\x61y\x01\x61b\xa0\xff";

    #[test]
    fn objects_and_components() {
        let found = |ordinal, component| object(MANIFEST, ordinal, component);
        assert_eq!(found(0, Some(1)), Some(("a".into(), Some("y".into()))));
        assert_eq!(found(0, Some(2)), Some(("a".into(), None)));
        assert_eq!(found(1, Some(0)), Some(("b".into(), None)));
        assert_eq!(found(2, None), None);
        assert_eq!(generation(MANIFEST), Some(Generation::V1_2));
    }

    #[test]
    fn entries_of_the_first_generation() {
        // [{_ "size": [_ 1, (_ h'00')], "name": "a"}, {"name": "b"}]
        let manifest = b"\x82\xbf\x64size\x9f\x01\x5f\x41\x00\xff\xff\x64name\x61a\xff\
            \xa1\x64name\x61b";
        assert_eq!(entry(manifest, 0).as_deref(), Some("a"));
        assert_eq!(entry(manifest, 1).as_deref(), Some("b"));
        assert_eq!(entry(manifest, 2), None);
    }

    #[test]
    fn any_bytes_end() {
        for end in 0..MANIFEST.len() {
            let cut = MANIFEST.get(..end).unwrap();
            let _ = object(cut, 1, Some(1));
            let _ = entry(cut, 1);
        }
        assert_eq!(Walk(&vec![0x9f; 1 << 20]).skip(), None);
        assert_eq!(Walk(&[0xd8, 0x40].repeat(1 << 20)).skip(), None);
        assert_eq!(Walk(b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff").skip(), None);
    }
}
