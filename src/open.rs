//! Opening files of any format: from memory, from any source of bytes, and without I/O.
//!
//! [`OpenOptions::open_source`] and [`OpenOptions::from_bytes`] read the bytes that they need. [`Opening`] reads nothing: it
//! returns the ranges of the file and of its sibling files that it needs, and the caller reads them and supplies their bytes, for
//! example by asynchronous requests. Each range lies within its file, and the ranges of each file together have at most 1 MiB
//! more than the limit `manifest`.
//!
//! `Opening` keeps all supplied bytes, and parses the header from its first byte at each step. The least number of bytes that
//! it requests doubles each time, so it parses most headers a few times, and every header a number of times that grows with the
//! logarithm of its length.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

#[cfg(not(feature = "detect"))]
use crate::archive::read_frame;
use crate::archive::{Archive, InMemory};
use crate::error::{BareError, Error, Misuse, OutOfMemory, text};
#[cfg(feature = "detect")]
use crate::finding::ZTENSOR;
use crate::formats::ztensor::frame::Frame;
#[cfg(feature = "detect")]
use crate::formats::{
    Begun, Detected, PartFile, READS_OTHERS, RootHeader, START, by_name, by_start, detect,
    is_named_ztensor, is_ztensor, parse,
};
use crate::limits::{Limits, OpenOptions};
use crate::lock::Lock;
use crate::manifest::Manifest;
use crate::num::{sort_by, u64_from_usize};
use crate::read_at::ReadAt;
use crate::rules::Limit;

pub use crate::file_name::FileName;

impl OpenOptions {
    /// Opens a file of any format whose bytes are in memory. Views borrow from these bytes. The array of an `.npy` file, which
    /// otherwise has the name of its file, is called `arr_0`.
    ///
    /// # Errors
    /// The errors of [`open_source`](Self::open_source).
    pub fn from_bytes<B>(&self, bytes: B) -> Result<Archive<InMemory<B>>, Error>
    where
        B: AsRef<[u8]>,
        InMemory<B>: ReadAt,
    {
        let length = u64_from_usize(bytes.as_ref().len());
        self.open_source(InMemory(bytes), length)
    }

    /// Opens a file of any format, of `length` bytes, from any source, such as an open file or an object store. Nothing but
    /// `source` is accessed, so the process may have been confined since the source was opened. The caller [looks
    /// for](Archive::find_shards) the shards of a zTensor file.
    ///
    /// Without the feature `detect`, the file must be a zTensor file.
    ///
    /// # Errors
    /// Any error of the source; any rule of the file's format, except rules that need data. If zten does not read files of this
    /// format, the error has a rule that says which format it is. If the file names sibling files, the error is `index-file` or
    /// `gguf-split-file`, because a source has no folder in which to look for them.
    pub fn open_source<S: ReadAt>(&self, source: S, length: u64) -> Result<Archive<S>, Error> {
        self.open_named(source, length, FileName::default())
    }

    /// Opens a file of `length` bytes from any source, as [`open_source`](Self::open_source) does. If the bytes do not tell the
    /// format, `name` does. The array of an `.npy` file is named after the file.
    ///
    /// # Errors
    /// The errors of [`open_source`](Self::open_source).
    pub fn open_named<'n, S: ReadAt>(
        &self,
        source: S,
        length: u64,
        name: impl Into<FileName<'n>>,
    ) -> Result<Archive<S>, Error> {
        #[cfg(feature = "detect")]
        return self.begin(source, length, name)?.require_unsharded(self);
        #[cfg(not(feature = "detect"))]
        {
            // The name decides nothing, because every file is taken for a zTensor file.
            let _: FileName<'n> = name.into();
            let frame = frame(&source, length, self)?;
            Archive::of_frame(&frame, source, self)
        }
    }
}

/// Reads the header and footer of a zTensor file of `length` bytes from `source`.
#[cfg(not(feature = "detect"))]
fn frame(source: &dyn ReadAt, length: u64, options: &OpenOptions) -> Result<Frame, Error> {
    let mut start = Vec::new();
    source.append_range(0..length.min(8), &mut start)?;
    read_frame(source, length, &start, options.limit())
}

impl<B: AsRef<[u8]>> Archive<InMemory<B>>
where
    InMemory<B>: ReadAt,
{
    /// Opens a file of any format whose bytes are in memory: `&[u8]`, `Vec<u8>`, `Arc<[u8]>`, or a memory map of the caller.
    ///
    /// If `B` returns other bytes at a later call, as a memory map does whose file another process changes, results are
    /// unspecified. zten does not panic then, with two exceptions: debug assertions, and sorting the names of tensors, which may
    /// panic if names of equal hashes change while they are sorted.
    ///
    /// ```
    /// let file = std::fs::read("corpus/other/safetensors/accept/types.safetensors").unwrap();
    /// let archive = zten::Archive::from_bytes(file)?;
    /// assert_eq!(archive.format(), "safetensors");
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`OpenOptions::open_source`].
    pub fn from_bytes(bytes: B) -> Result<Self, Error> {
        OpenOptions::default().from_bytes(bytes)
    }
}

/// The number of bytes to which [`Opening`] extends each range that it asks for in its first pass, unless the file ends or bytes
/// that were supplied begin before. Each later pass doubles this number.
const LEAST: u64 = 4 << 10;
/// The number of bytes by which the supplied bytes of a file may exceed the limit `manifest`, since data beside the header is
/// read along with the header.
const SLACK: u64 = 1 << 20;

/// Opens a file of any format without I/O: says which bytes it needs, and takes them.
///
/// ```
/// use zten::open::{Opening, Step};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/accept/1.2.3/dense_all.zt");
/// # let file = std::fs::read(path)?;
/// let mut opening = Opening::new("model.zt", file.len() as u64, &zten::OpenOptions::default());
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
/// assert!(header.contains("t_f32"));
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
    file: SuppliedFile,
    /// The sibling files that the file names, by their names; `None` for a missing file.
    siblings: BTreeMap<String, Option<SuppliedFile>>,
    /// The number of times that the caller has been asked to read bytes.
    passes: u32,
}

/// The next step for the caller.
#[derive(Debug)]
pub enum Step<S: ReadAt = InMemory<[u8; 0]>> {
    /// Read these bytes, and [supply](Opening::supply) them.
    Read(Vec<Wanted>),
    /// Open the files of these names in the folder of the file, and pass their [lengths](Opening::opened).
    Open(Vec<String>),
    /// The header is valid. Tensors that lie in sibling files are read from them as from shards.
    Done(Box<Archive<S>>),
}

/// A range of bytes that the caller reads and supplies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The name of the sibling file to read; `None` for the file itself.
    pub file: Option<String>,
    /// The range of bytes to read from `file`: not empty, and within the length of that file.
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
            file: SuppliedFile::new(length),
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
    /// The errors of [`zten::open`](crate::open()); `limit-manifest` if this value would have to keep more bytes of the file, or of
    /// one of its sibling files, than the limit and 1 MiB.
    pub fn step(&mut self) -> Result<Step, Error> {
        self.step_for(InMemory([]))
    }

    /// Parses the supplied bytes and returns the next step as [`step`](Self::step) does, except that the final archive reads its
    /// tensors from `source`.
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
                let file = name.map(|name| text(format_args!("{name}"))).transpose()?;
                wanted.try_reserve(1).map_err(|_| OutOfMemory)?;
                wanted.push(Wanted { file, range });
            }
        }
        // A result is only final if no bytes were missing: an error may come from the missing bytes.
        if wanted.is_empty() {
            return parsed;
        }
        self.passes = self.passes.saturating_add(1);
        Ok(Step::Read(wanted))
    }

    /// Returns the name of the file's format, as in JSON output, or `None` if zten does not know the format. The supplied bytes
    /// decide, and then the name. If recognizing the format needs bytes that were not supplied, only the first bytes and the name
    /// decide. Without the features for other formats, every file is taken for a zTensor file.
    #[cfg(feature = "detect")]
    pub fn format(&self) -> Option<&'static str> {
        let (name, start) = (self.name(), self.file.from(0).unwrap_or_default());
        if !READS_OTHERS || is_ztensor(start) {
            return Some(ZTENSOR);
        }
        if cfg!(feature = "torch")
            && let Ok(detected) = detect(&self.file, self.file.length, name)
        {
            return detected.map_or(Some(ZTENSOR), Detected::name);
        }
        let start = start.get(..START).unwrap_or(start);
        match by_start(start, name).or_else(|| by_name(name)) {
            Some(detected) => detected.name(),
            None => is_named_ztensor(name).then_some(ZTENSOR),
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

    /// Supplies the length in bytes of the sibling file `name`; `None` if there is no such file.
    pub fn opened(&mut self, name: String, length: Option<u64>) {
        self.siblings.insert(name, length.map(SuppliedFile::new));
    }

    /// Parses the supplied bytes. Each missing range is recorded in its file, and ends parsing with an error.
    #[cfg(feature = "detect")]
    fn parse<S: ReadAt>(&mut self, source: S) -> Result<Step<S>, Error> {
        let header = parse(&self.file, self.file.length, self.name(), &self.options)?;
        #[cfg(feature = "ztensor")]
        let header = match header {
            RootHeader::ZTensor(frame) => return self.open_ztensor(&frame, source),
            header => header,
        };
        if !READS_OTHERS {
            // `parse` returns no other header in such a build. Without this line, a program would get the code for models
            // in several files.
            return Err(BareError::internal().into());
        }
        let Self { name, has_query, options, siblings, .. } = self;
        let name = FileName::from_parts(name, *has_query);
        let root = match header.begin(source, name, options)? {
            Begun::Archive(archive) => return Ok(Step::Done(Box::new(archive))),
            Begun::Root(root) => root,
        };
        let mut names = Vec::new();
        for name in root.files().filter(|name| !siblings.contains_key(*name)) {
            names.try_reserve(1).map_err(|_| OutOfMemory)?;
            names.push(text(format_args!("{name}"))?);
        }
        if !names.is_empty() {
            return Ok(Step::Open(names));
        }
        let found = || siblings.iter().filter_map(|(name, file)| Some((name, file.as_ref()?)));
        // The header of each sibling file is parsed by itself first, so that the missing bytes of all of them can be read at
        // once. Errors in these headers are found again when the root is opened.
        let mut pending = None;
        for (name, file) in found() {
            let parsed = parse(file, file.length, name.as_str().into(), options);
            let error = parsed.err().map(Error::from);
            pending = error.filter(|error| error.bare().is_pending()).or(pending);
        }
        if let Some(pending) = pending {
            return Err(pending);
        }
        let parts: Vec<_> = found()
            .map(|(name, source)| PartFile { name, source, length: source.length })
            .collect();
        Ok(Step::Done(Box::new(root.open(&parts, options)?)))
    }

    /// Parses the supplied bytes. Each missing range is recorded in the file, and ends parsing with an error.
    #[cfg(not(feature = "detect"))]
    fn parse<S: ReadAt>(&mut self, source: S) -> Result<Step<S>, Error> {
        let frame = frame(&self.file, self.file.length, &self.options)?;
        self.open_ztensor(&frame, source)
    }

    /// Opens the zTensor file whose container is `frame`. Takes the bytes of the manifest out of the supplied bytes, so that
    /// they are not copied.
    #[cfg(any(feature = "ztensor", not(feature = "detect")))]
    fn open_ztensor<S: ReadAt>(&mut self, frame: &Frame, source: S) -> Result<Step<S>, Error> {
        let bytes = self.file.take(&frame.manifest)?;
        let manifest = Manifest::validate(frame, bytes, &self.options)?;
        Ok(Step::Done(Box::new(Archive::new(manifest, source))))
    }
}

/// A file, and the bytes of it that the caller has supplied.
#[derive(Debug)]
struct SuppliedFile {
    length: u64,
    /// The supplied bytes by their offsets. No two runs overlap if the caller supplies the ranges that it was asked for.
    runs: BTreeMap<u64, Vec<u8>>,
    /// The ranges that parsing needed and that were not supplied.
    wanted: Lock<Vec<Range<u64>>>,
}

impl SuppliedFile {
    fn new(length: u64) -> Self {
        Self { length, runs: BTreeMap::new(), wanted: Lock::default() }
    }

    /// Returns the supplied bytes from `offset` to the end of the run of bytes that `offset` lies in; `None` if the byte at
    /// `offset` was not supplied.
    fn from(&self, offset: u64) -> Option<&[u8]> {
        let (start, run) = self.runs.range(..=offset).next_back()?;
        let held = run.get(usize::try_from(offset.saturating_sub(*start)).ok()?..)?;
        (!held.is_empty()).then_some(held)
    }

    /// Returns the missing ranges that parsing needed, and forgets them. Each range is extended to `least` bytes, and then
    /// reduced to the bytes that were not supplied.
    ///
    /// # Errors
    /// `limit-manifest` if bytes are missing and the file would then have supplied more bytes than the limit and [`SLACK`].
    fn take_wanted(&self, least: u64, limits: &Limits) -> Result<Vec<Range<u64>>, Error> {
        let mut wanted = self.wanted.with(core::mem::take);
        sort_by(&mut wanted, |one, other| one.start.cmp(&other.start));
        let mut gaps: Vec<Range<u64>> = Vec::new();
        let held: u64 = self.runs.values().map(|run| u64_from_usize(run.len())).sum();
        let mut total = held;
        for Range { start, end } in wanted {
            let end = end.max(start.saturating_add(least)).min(self.length);
            // All bytes of the range before `at` have been supplied or are in `gaps`.
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
                        gaps.try_reserve(1).map_err(|_| OutOfMemory)?;
                        gaps.push(at..next);
                    }
                }
                at = next;
            }
        }
        if !gaps.is_empty() {
            let most = limits.manifest().saturating_add(SLACK);
            if total > most {
                let most = limits.manifest();
                let sentence = text(format_args!(
                    "the header and the data that is read with it have {total} bytes, which exceeds the limit of {most}"
                ))?;
                return Err(Error::of_format(Limit::Manifest.into(), sentence, None));
            }
        }
        Ok(gaps)
    }
}

impl SuppliedFile {
    /// Takes the bytes of `range` out of the supplied bytes. If they were supplied in one piece, that piece is moved and not
    /// copied.
    ///
    /// # Errors
    /// The pending error, if not all bytes of `range` were supplied.
    fn take(&mut self, range: &Range<u64>) -> Result<Vec<u8>, Error> {
        let length = usize::try_from(range.end.saturating_sub(range.start));
        let length = length.map_err(|_| OutOfMemory)?;
        if let Some(run) = self.runs.get_mut(&range.start)
            && run.len() == length
        {
            // An empty run stays behind, because code that removes it would make small programs larger.
            return Ok(core::mem::take(run));
        }
        if !self.has(range)? {
            return Err(BareError::pending().into());
        }
        let mut bytes = Vec::new();
        self.append_range(range.clone(), &mut bytes)?;
        Ok(bytes)
    }

    /// Returns whether all bytes of `range` have been supplied. If not, records the range from its first missing byte to its end
    /// as missing.
    fn has(&self, range: &Range<u64>) -> Result<bool, Error> {
        let mut at = range.start;
        while at < range.end {
            let Some(held) = self.from(at) else {
                self.record_missing(at..range.end)?;
                return Ok(false);
            };
            at = at.saturating_add(u64_from_usize(held.len()));
        }
        Ok(true)
    }

    /// Records that parsing needs the bytes of `missing`.
    fn record_missing(&self, missing: Range<u64>) -> Result<(), OutOfMemory> {
        self.wanted.with(|wanted| {
            wanted.try_reserve(1).map_err(|_| OutOfMemory)?;
            wanted.push(missing);
            Ok(())
        })
    }
}

impl ReadAt for SuppliedFile {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let (mut at, mut rest) = (offset, buffer);
        while !rest.is_empty() {
            let Some(held) = self.from(at) else {
                self.record_missing(at..at.saturating_add(u64_from_usize(rest.len())))?;
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
