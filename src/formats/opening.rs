//! Opening a file of any format without I/O.
//!
//! All supplied bytes are kept, and the header is parsed again after each supply. Each pass asks for at least twice as many
//! bytes as the pass before, so most headers take a constant number of passes, and every header takes a logarithmic number.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use crate::archive::{Archive, InMemory};
use crate::codec::ReadAt;
use crate::error::Error;
use crate::error::{BareError, Misuse, OutOfMemory};
use crate::limits::{Limits, OpenOptions};
use crate::num::{sort_by, u64_from_usize};

use super::error::{FormatError, copied};
use super::file_name::FileName;
use super::limits::check_length;
use super::lock::Lock;
use super::root::{Begun, Part};
use super::{Detected, detect, parse};

/// The smallest number of bytes that the first pass asks for.
const LEAST: u64 = 4 << 10;
/// The number of bytes besides the header that may be kept.
const SLACK: u64 = 1 << 20;

/// Opens a file of any format without I/O: says which bytes it needs, and takes them.
///
/// ```
/// use zten::formats::{Opening, Step};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/other/gguf/accept/two.gguf");
/// # let file = std::fs::read(path)?;
/// let mut opening = Opening::new("model.gguf", file.len() as u64, &zten::OpenOptions::default());
/// let header = loop {
///     match opening.step()? {
///         Step::Read(wanted) => {
///             for wanted in wanted {
///                 let range = wanted.range.start as usize..wanted.range.end as usize;
///                 opening.supply(&wanted, file[range].to_vec())?;
///             }
///         }
///         // Pass the length of each sibling file, or `None` if there is no such file.
///         Step::Open(names) => names.into_iter().for_each(|name| opening.opened(name, None)),
///         Step::Done(header) => break header,
///     }
/// };
/// assert_eq!(header.names().collect::<Vec<_>>(), ["a", "b"]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Opening {
    /// The bytes of the file's name.
    name: Vec<u8>,
    /// Whether the name came from a URL with a query.
    has_query: bool,
    options: OpenOptions,
    file: Held,
    /// The files beside it that it names, by their names; none for one that is not there.
    siblings: BTreeMap<String, Option<Held>>,
    /// The number of times that bytes have been asked for.
    passes: u32,
}

/// The next thing to do.
#[derive(Debug)]
pub enum Step<S: ReadAt = InMemory<[u8; 0]>> {
    /// The bytes to read and supply.
    Read(Vec<Wanted>),
    /// The files of these names, beside the file, are to be opened.
    Open(Vec<String>),
    /// The manifest or header is valid. The tensors of a file that names others are in those as in shards.
    Done(Box<Archive<S>>),
}

/// Bytes that are to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name of the file that they are of; none of the file itself.
    pub file: Option<String>,
    /// The range: not empty, and within the file.
    pub range: Range<u64>,
}

impl Opening {
    /// Creates the state for opening the file called `name`, which has `length` bytes.
    pub fn new<'n>(name: impl Into<FileName<'n>>, length: u64, options: &OpenOptions) -> Self {
        let name = name.into();
        Self {
            name: name.bytes().to_owned(),
            has_query: name.has_query(),
            options: *options,
            file: Held::new(length),
            siblings: BTreeMap::new(),
            passes: 0,
        }
    }

    /// Returns the name of the file.
    fn name(&self) -> FileName<'_> {
        FileName::from_parts(&self.name, self.has_query)
    }

    /// Parses the supplied bytes and returns the next step for the caller. The final archive contains no bytes of the file:
    /// pass a source to [`Tensor::read_from`](crate::Tensor::read_from) to read a tensor.
    ///
    /// # Errors
    /// The errors of [`zten::open`](crate::open()); `limit-manifest` if the session would have to keep more bytes of the file than the
    /// limit allows.
    pub fn step(&mut self) -> Result<Step, Error> {
        self.step_for(InMemory([]))
    }

    /// The same as [`step`](Self::step), for an archive that is read from `source`.
    ///
    /// # Errors
    /// The errors of [`step`](Self::step).
    pub fn step_for<S: ReadAt>(&mut self, source: S) -> Result<Step<S>, Error> {
        let parsed = self.parse(source);
        let least = LEAST.checked_shl(self.passes).unwrap_or(u64::MAX);
        let siblings =
            self.siblings.iter().filter_map(|(name, file)| Some((Some(name), file.as_ref()?)));
        let mut wanted = Vec::new();
        for (name, file) in core::iter::once((None, &self.file)).chain(siblings) {
            for range in file.take_wanted(least, self.options.limit())? {
                let file = name.map(copied).transpose()?;
                wanted.try_reserve(1).map_err(|_| FormatError::memory())?;
                wanted.push(Wanted { file, range });
            }
        }
        // A result is only final if no bytes were missing: an error may come from the missing bytes.
        if wanted.is_empty() {
            return Ok(parsed?);
        }
        self.passes = self.passes.saturating_add(1);
        Ok(Step::Read(wanted))
    }

    /// Returns the name of the file's format, as in JSON output, according to the supplied bytes. Returns `by_first_bytes`, the
    /// caller's answer from the first bytes alone, if recognizing the format needs more bytes than were supplied.
    pub fn format_or(&self, by_first_bytes: Option<&'static str>) -> Option<&'static str> {
        if !cfg!(feature = "torch") {
            return by_first_bytes;
        }
        match detect(&self.file, self.file.length, self.name()) {
            Ok(detected) => detected.and_then(Detected::name),
            Err(_) => by_first_bytes,
        }
    }

    /// Supplies the `bytes` of the range that `wanted` asked for.
    ///
    /// # Errors
    /// [`Misuse::Supply`] for a file that was not opened, or more or fewer bytes than were asked for.
    pub fn supply(&mut self, wanted: &Wanted, bytes: Vec<u8>) -> Result<(), Error> {
        let Range { start, end } = wanted.range;
        let file = match &wanted.file {
            None => Some(&mut self.file),
            Some(name) => self.siblings.get_mut(name).and_then(Option::as_mut),
        };
        match file {
            Some(file) if start.checked_add(u64_from_usize(bytes.len())) == Some(end) => {
                file.runs.insert(start, bytes);
                Ok(())
            }
            _ => Err(Misuse::Supply.into()),
        }
    }

    /// Supplies the length of the sibling file `name`; `None` if there is no such file.
    pub fn opened(&mut self, name: String, length: Option<u64>) {
        self.siblings.insert(name, length.map(Held::new));
    }

    /// Parses the supplied bytes. Each missing range is recorded in its file, and ends parsing with an error.
    fn parse<S: ReadAt>(&self, source: S) -> Result<Step<S>, FormatError> {
        let Self { options, file, siblings, .. } = self;
        let name = self.name();
        let header = parse(file, file.length, name, options)?;
        let root = match header.begin(source, name, options.limit())? {
            Begun::Archive(archive) => return Ok(Step::Done(Box::new(archive))),
            Begun::Root(root) => root,
        };
        let mut names = Vec::new();
        for name in root.files().filter(|name| !siblings.contains_key(*name)) {
            names.try_reserve(1).map_err(|_| FormatError::memory())?;
            names.push(copied(name)?);
        }
        if !names.is_empty() {
            return Ok(Step::Open(names));
        }
        let there = || siblings.iter().filter_map(|(name, file)| Some((name, file.as_ref()?)));
        // Each is parsed by itself, so that what is missing of all of them can be read at once. What is wrong with one is
        // found again, in its turn.
        let mut pending = None;
        for (name, file) in there() {
            let parsed = parse(file, file.length, name.into(), options);
            pending = parsed.err().filter(FormatError::is_pending).or(pending);
        }
        if let Some(pending) = pending {
            return Err(pending);
        }
        let parts: Vec<_> =
            there().map(|(name, source)| Part { name, source, length: source.length }).collect();
        Ok(Step::Done(Box::new(root.open(&parts, options)?)))
    }
}

/// A file, and what has been read of it.
#[derive(Debug)]
struct Held {
    length: u64,
    /// Bytes by their offsets; no two share one.
    runs: BTreeMap<u64, Vec<u8>>,
    /// Ranges that have been looked for and not been there.
    wanted: Lock<Vec<Range<u64>>>,
}

impl Held {
    fn new(length: u64) -> Self {
        Self { length, runs: BTreeMap::new(), wanted: Lock::default() }
    }

    /// The bytes from `offset` to the end of what has been read there; none if nothing has.
    fn from(&self, offset: u64) -> Option<&[u8]> {
        let (start, run) = self.runs.range(..=offset).next_back()?;
        let held = run.get(usize::try_from(offset.saturating_sub(*start)).ok()?..)?;
        (!held.is_empty()).then_some(held)
    }

    /// The ranges that have been looked for, each of `least` bytes at least, as far as they have not been read.
    fn take_wanted(&self, least: u64, limits: &Limits) -> Result<Vec<Range<u64>>, FormatError> {
        let mut wanted = self.wanted.with(core::mem::take);
        sort_by(&mut wanted, |one, other| one.start.cmp(&other.start));
        let mut gaps: Vec<Range<u64>> = Vec::new();
        let held: u64 = self.runs.values().map(|run| u64_from_usize(run.len())).sum();
        let mut total = held;
        for Range { start, end } in wanted {
            let end = end.max(start.saturating_add(least)).min(self.length);
            // No byte that comes before has been read, or is asked for by now.
            let mut at = start.max(gaps.last().map_or(0, |last| last.end));
            while at < end {
                if let Some(held) = self.from(at) {
                    at = at.saturating_add(u64_from_usize(held.len()));
                    continue;
                }
                let next = self.runs.range(at..).next().map_or(end, |(next, _)| end.min(*next));
                total = total.saturating_add(next.saturating_sub(at));
                match gaps.last_mut() {
                    Some(before) if before.end == at => before.end = next,
                    _ => {
                        gaps.try_reserve(1).map_err(|_| FormatError::memory())?;
                        gaps.push(at..next);
                    }
                }
                at = next;
            }
        }
        if !gaps.is_empty() {
            let most = limits.manifest().saturating_add(SLACK);
            if total > most {
                check_length(total, limits, "the header and the data read with it")?;
            }
        }
        Ok(gaps)
    }
}

impl ReadAt for Held {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let Some(held) = self.from(at) else {
                let missing = at..at.saturating_add(u64_from_usize(rest.len()));
                self.wanted.with(|wanted| {
                    wanted.try_reserve(1).map_err(|_| OutOfMemory)?;
                    wanted.push(missing);
                    Ok::<_, OutOfMemory>(())
                })?;
                return Err(BareError::pending().into());
            };
            let length = held.len().min(rest.len());
            let (room, behind) = rest.split_at_mut(length);
            room.copy_from_slice(held.get(..length).unwrap_or_default());
            rest = behind;
            at = at.saturating_add(u64_from_usize(length));
        }
        Ok(())
    }
}
