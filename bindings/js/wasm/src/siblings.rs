//! The sibling files of the file of this instance: the files that an index names, the other files of a split GGUF model, and the
//! shards of a zTensor file. The host finds and reads them.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use zten::escape::escape_all;
use zten::json::to_writer;
use zten::shards::{Candidate, Find, Shard, ShardPath, Want};
use zten::{Error, ReadAt};

/// The number that the host passes as the length of a sibling file that does not exist.
const MISSING: u64 = u64::MAX;

/// A source of the bytes of one file.
pub type FileSource = &'static dyn ReadAt;

/// A function that returns the source of the bytes of the file with a number: 0 is the file of this instance, and 1 the first
/// sibling file.
pub type Sources<'s> = dyn Fn(u32) -> FileSource + 's;

/// The sibling files of one open file, and the questions about them that the host still has to answer. Each sibling file gets a
/// number when the host has said how long it is, or that it is missing: the first one gets 1, because 0 is the open file itself.
#[derive(Debug, Default)]
pub struct Siblings {
    /// The number and the length of each file, by its name; the length is `None` if the file does not exist.
    files: BTreeMap<String, (u32, Option<u64>)>,
    /// The files whose lengths the host has been asked for and has not supplied yet. `answer` moves them to `files`.
    asked: Vec<Want>,
}

impl Siblings {
    /// Adds `wants` to the sibling files whose lengths the host has to supply.
    pub(crate) fn ask(&mut self, wants: impl IntoIterator<Item = Want>) {
        self.asked.extend(wants);
    }

    /// Returns whether the host still has to supply lengths of sibling files.
    pub(crate) fn is_pending(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Writes the files that the host has to look for, in the order of their numbers: the name of each, and the places where it
    /// may be, from the folder of the file of this instance on.
    ///
    /// # Errors
    /// The errors of `out`.
    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Asked<'a> {
            name: &'a str,
            /// The name of the sibling file that the host has to look for, with control and invisible characters escaped, for
            /// display.
            shown: String,
            /// What follows in the name of the sibling file after the name of this instance's file without its suffix; `None` if
            /// the name of the sibling file is not derived from that name.
            suffix: Option<String>,
            /// Another path of the sibling file, relative to the folder of this instance's file: the names of folders, then the
            /// name of the file. Empty if there is no other path.
            path: Vec<&'a str>,
        }
        let asked = self.asked.iter().map(|want| {
            let (mut suffix, mut path) = (None, Vec::new());
            for place in want.paths() {
                match place {
                    ShardPath::Sibling(end) => suffix = Some(end),
                    ShardPath::Below(steps) => path = steps,
                }
            }
            Asked { name: want.name(), shown: escape_all(want.name()), suffix, path }
        });
        to_writer(out, &asked.collect::<Vec<_>>())
    }

    /// Takes `lengths`, the answer of the host: the length in bytes of each file that it was asked for, as a little-endian `u64`.
    /// The length of a file that does not exist is [`MISSING`], or is left out at the end. Returns the names of the files with
    /// their lengths, `None` for a missing file.
    pub(crate) fn answer(&mut self, lengths: &[u8]) -> Vec<(String, Option<u64>)> {
        let mut lengths = lengths.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let asked = std::mem::take(&mut self.asked);
        let answered = asked.into_iter().map(|want| {
            let length = lengths.next().filter(|length| *length != MISSING);
            let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX).saturating_add(1);
            self.files.insert(want.name().to_owned(), (number, length));
            (want.name().to_owned(), length)
        });
        answered.collect()
    }

    /// Returns the number by which the host knows the sibling file `name`. `name` is `None` for the file of this instance, whose
    /// number is 0. Returns `None` if the host was not asked for a file of this name, or has not answered yet.
    pub(crate) fn number(&self, name: Option<&str>) -> Option<u32> {
        name.map_or(Some(0), |name| self.files.get(name).map(|(number, _)| *number))
    }
}

/// Finds the shards of a file among the sibling files that the host has.
pub(crate) struct Finder<'f> {
    pub(crate) siblings: &'f Siblings,
    pub(crate) sources: &'f Sources<'f>,
}

impl Find for Finder<'_> {
    type Source = FileSource;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Self::Source>>, Error> {
        let found = self.siblings.files.get(shard.name());
        let found = found.and_then(|(number, length)| Some((*number, (*length)?)));
        Ok(found.map(|(number, length)| Candidate { source: (self.sources)(number), length }))
    }
}
