//! Opening files of any format: the first bytes and the name of a file tell which it is.

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;

use zten::open::{self, Footer};
use zten::{Error, OpenOptions, ReadAt, error::Misuse};
use zten_formats::{
    Detected, FormatError, Opening, START, Step, Wanted, by_name, by_start, is_named_ztensor,
    is_ztensor,
};
use zten_report::finding::Finding;

use crate::session::{Rejection, Session};

/// A file of which the first bytes are to come.
#[derive(Debug)]
pub struct Start {
    name: String,
    length: u64,
}

impl Start {
    /// A file of that name, which is empty if it is not known, and of so many bytes.
    pub(crate) fn new(name: Vec<u8>, length: u64) -> Self {
        Self { name: String::from_utf8(name).unwrap_or_default(), length }
    }

    /// The first bytes.
    pub(crate) fn needs(&self) -> Range<u64> {
        0..self.length.min(u64::try_from(START).unwrap_or(u64::MAX))
    }

    /// Takes the first bytes.
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

    /// Takes the header of a zTensor file.
    fn header(&self, start: &[u8]) -> Result<Footer, Error> {
        let opening = open::Opening::new(self.length, &OpenOptions::default())?;
        let end = usize::try_from(opening.needs().end).unwrap_or(usize::MAX);
        opening.header(start.get(..end).unwrap_or(start))
    }

    /// Returns the file as one of another format than zTensor that begins so; none if it is a zTensor file, or is called so
    /// and nothing tells another format.
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

/// Another module opens zTensor files.
#[cfg(not(feature = "ztensor"))]
fn ztensor(_: Footer) -> Result<Session, Error> {
    Err(Misuse::Layout.into())
}

/// A file of another format than zTensor, of which more is to come.
#[derive(Debug)]
pub struct Other {
    opening: Opening,
    /// The name of the format, where that is known.
    format: Option<&'static str>,
    /// The ranges that are to come, one after another.
    wanted: VecDeque<Wanted>,
}

impl Other {
    /// The bytes that are asked for.
    pub(crate) fn needs(&self) -> Option<Range<u64>> {
        Some(self.wanted.front()?.range.clone())
    }

    /// Takes the bytes that were asked for. Once it is open, it is read from `source`.
    pub(crate) fn supply(
        mut self: Box<Self>,
        bytes: Vec<u8>,
        source: &'static dyn ReadAt,
    ) -> Result<Session, Rejection> {
        let supplied = match self.wanted.pop_front() {
            Some(wanted) => self.opening.supply(&wanted, bytes),
            None => Err(Misuse::Supply.into()),
        };
        supplied.map_err(|error| self.rejected(&error.into()))?;
        while self.wanted.is_empty() {
            match self
                .opening
                .step_for(source)
                .map_err(|format_error| self.rejected(&format_error))?
            {
                Step::Read(wanted) => self.wanted = wanted.into(),
                // The host has no other file.
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

    fn rejected(&self, format_error: &FormatError) -> Rejection {
        let format = self.opening.format_or(self.format);
        let finding = Finding { format, ..format_error.finding() };
        Rejection { finding: Box::new(finding), manifest: None }
    }
}
