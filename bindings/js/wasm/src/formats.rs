//! Opens files of any format, which is recognized by the first bytes and the name of the file.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use zten::finding::Finding;
use zten::formats::{
    Detected, Opening, START, Step, Wanted, by_name, by_start, is_named_ztensor, is_ztensor,
};
use zten::open::{self, Footer};
use zten::{Error, OpenOptions, ReadAt, error::Misuse};

use crate::session::{Rejection, Session};

/// A file whose first bytes the host has not yet supplied.
#[derive(Debug)]
pub struct Start {
    /// The name of the file; empty if it is unknown.
    name: String,
    length: u64,
}

impl Start {
    /// Begins a file of `length` bytes. `name` is empty if it is unknown, and ignored if it is not UTF-8.
    pub(crate) fn new(name: Vec<u8>, length: u64) -> Self {
        Self { name: String::from_utf8(name).unwrap_or_default(), length }
    }

    /// Returns the range of the first bytes, which are needed to recognize the format.
    pub(crate) fn needs(&self) -> Range<u64> {
        0..self.length.min(u64::try_from(START).unwrap_or(u64::MAX))
    }

    /// Takes the first `bytes` of the file, and returns the next state. Later bytes are read from `source`.
    pub(crate) fn supply(
        self,
        bytes: Vec<u8>,
        source: &'static dyn ReadAt,
    ) -> Result<Session, Rejection> {
        if usize::try_from(self.needs().end) != Ok(bytes.len()) {
            return Err(Error::from(Misuse::Supply).into());
        }
        match self.other(&bytes) {
            Some(other) => Box::new(other).supply(bytes, source),
            None => Ok(ztensor(self.header(&bytes)?)?),
        }
    }

    /// Takes the header of a zTensor file from its first bytes `start`.
    fn header(&self, start: &[u8]) -> Result<Footer, Error> {
        let opening = open::Opening::new(self.length, &OpenOptions::default())?;
        let end = usize::try_from(opening.needs().end).unwrap_or(usize::MAX);
        opening.header(start.get(..end).unwrap_or(start))
    }

    /// Begins to open the file, whose first bytes are `start`, as a file of another format than zTensor. Returns `None` if it
    /// begins like a zTensor file, or if it has the suffix of zTensor and its format is not recognized.
    fn other(&self, start: &[u8]) -> Option<Other> {
        if is_ztensor(start) {
            return None;
        }
        let path = Path::new(&self.name);
        let found = by_start(start, path).or_else(|| by_name(path));
        if found.is_none() && is_named_ztensor(path) {
            return None;
        }
        let opening = Opening::new(path, self.length, &OpenOptions::default());
        let wanted = VecDeque::from([Wanted { file: None, range: self.needs() }]);
        Some(Other { opening, format: found.and_then(Detected::name), wanted })
    }
}

#[cfg(feature = "ztensor")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature it is an error")]
fn ztensor(footer: Footer) -> Result<Session, Error> {
    Ok(Session::Footer(footer))
}

/// Returns an error: this module does not open zTensor files.
#[cfg(not(feature = "ztensor"))]
fn ztensor(_: Footer) -> Result<Session, Error> {
    Err(Misuse::Layout.into())
}

/// A file of another format than zTensor that is being opened, and needs further bytes.
#[derive(Debug)]
pub struct Other {
    opening: Opening,
    /// The name of the format, if it is known.
    format: Option<&'static str>,
    /// The ranges that the host has to supply, in this order.
    wanted: VecDeque<Wanted>,
}

impl Other {
    /// Returns the range that the host has to supply next.
    pub(crate) fn needs(&self) -> Option<Range<u64>> {
        Some(self.wanted.front()?.range.clone())
    }

    /// Takes the `bytes` of the range that [`needs`](Self::needs) returned, and returns the next state. An open file is read
    /// from `source`.
    pub(crate) fn supply(
        mut self: Box<Self>,
        bytes: Vec<u8>,
        source: &'static dyn ReadAt,
    ) -> Result<Session, Rejection> {
        let supplied = match self.wanted.pop_front() {
            Some(wanted) => self.opening.supply(&wanted, bytes),
            None => Err(Misuse::Supply.into()),
        };
        supplied.map_err(|error| self.rejected(&error))?;
        while self.wanted.is_empty() {
            match self
                .opening
                .step_for(source)
                .map_err(|format_error| self.rejected(&format_error))?
            {
                Step::Read(wanted) => self.wanted = wanted.into(),
                // The host has only this file, so all sibling files are missing.
                Step::Open(names) => {
                    for name in names {
                        self.opening.opened(name, None);
                    }
                }
                Step::Done(file) => return Ok(Session::open(*file)),
            }
        }
        Ok(Session::Other(self))
    }

    /// Returns the rejection of the file for `error`, with the name of its format.
    fn rejected(&self, error: &Error) -> Rejection {
        let format = self.opening.format_or(self.format);
        let finding = Finding { format, ..Finding::from_error(error) };
        Rejection { finding: Box::new(finding), manifest: None }
    }
}
