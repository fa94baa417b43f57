//! The report of what a reader did with a file.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::fmt::{Display, Write as _};

use bytemuck::NoUninit;
use sha2::{Digest as _, Sha256};

/// The location of a component, as a reader's manifest gives it.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The offset of the stored bytes in the file.
    pub offset: u64,
    /// The number of stored bytes.
    pub length: u64,
    /// True if the stored bytes are zstd.
    pub packed: bool,
}

/// The first error of a reader, the contents that it returned, and what was wrong with them.
#[derive(Debug, Default)]
pub struct Report {
    rejected: Option<String>,
    contents: BTreeMap<(String, String), [u8; 32]>,
    wrong: BTreeMap<&'static str, String>,
}

impl Report {
    /// Prints whether the file was opened, and returns the opened value. The line is printed at once, because reading may end the
    /// process.
    pub fn opened<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(opened) => {
                println!("opened\tyes");
                Some(opened)
            }
            Err(error) => {
                println!("opened\t{}", line(error));
                None
            }
        }
    }

    /// Returns what a call read, or records its error if it is the first.
    pub fn read<T, E: Display>(&mut self, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(read) => Some(read),
            Err(error) => {
                self.rejected.get_or_insert_with(|| line(error));
                None
            }
        }
    }

    /// Records the decoded little-endian bytes of a component, all of which were returned.
    pub fn content(&mut self, object: &str, role: &str, bytes: &[u8]) {
        let key = (object.to_owned(), role.to_owned());
        self.contents.insert(key, Sha256::digest(bytes).into());
    }

    /// Compares the number of bytes that a call returned for a whole component with the number that the file has.
    pub fn size(&mut self, file: &[u8], component: Component, returned: usize) {
        let Component { offset, length, packed } = component;
        let (Ok(start), Ok(length)) = (usize::try_from(offset), usize::try_from(length)) else {
            return;
        };
        if !packed {
            if returned > length {
                self.wrong("outside", || format!("{returned} bytes of a component of {length}"));
            }
            return;
        }
        let stored = start.checked_add(length).and_then(|end| file.get(start..end));
        let Some(Ok(decoded)) = stored.map(zstd::decode_all) else { return };
        if returned > decoded.len() {
            let there = decoded.len();
            self.wrong("invented", || format!("{returned} bytes where there are {there}"));
        }
    }

    /// Examines the elements that a call returned, as they are in memory: a `bool` may be neither `true` nor `false`. Returns the
    /// number of their bytes.
    pub fn elements<T: NoUninit>(&mut self, elements: &[T]) -> usize {
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let bools = TypeId::of::<T>() == TypeId::of::<bool>();
        if let Some(byte) = bytes.iter().find(|byte| bools && **byte > 1) {
            self.wrong("bool", || format!("a `bool` that is {byte}"));
        }
        bytes.len()
    }

    fn wrong(&mut self, kind: &'static str, detail: impl FnOnce() -> String) {
        self.wrong.entry(kind).or_insert_with(detail);
    }

    /// Prints the results that have not been printed yet.
    pub(crate) fn end(self) {
        if let Some(message) = self.rejected {
            println!("rejected\t{message}");
        }
        for (kind, detail) in self.wrong {
            println!("{kind}\t{detail}");
        }
        let sums = self.contents.iter().map(|((object, role), content)| {
            let mut sum = Sha256::new();
            for name in [object, role] {
                sum.update(name.len().to_le_bytes());
                sum.update(name);
            }
            sum.update(content);
            sum.finalize().iter().fold(String::new(), |mut hex, byte| {
                let _ = write!(hex, "{byte:02x}");
                hex
            })
        });
        println!("content\t{}", sums.collect::<Vec<_>>().join(" "));
    }
}

/// Returns a message on one line, without control characters.
fn line(message: impl Display) -> String {
    let text = message.to_string();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
