//! Opens a file from bytes that the host supplies step by step.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::ops::Range;
#[cfg(feature = "groups")]
use std::sync::atomic::{AtomicBool, Ordering};

use zten::finding::{Finding, ZTENSOR};
use zten::formats::START;
use zten::open::{Opening, Step, Wanted};
use zten::shards::{Sibling, Source as _, Want, wanted};
use zten::{Archive, Component, Error, OpenOptions, ReadAt, Tensor, error::Misuse};

use crate::problem;
use crate::siblings::{Finder, Siblings, Sources};

/// The progress of opening a file.
#[derive(Debug, Default)]
pub enum Session {
    /// No file has been passed yet, the file was rejected, or the host called [`Session::supply`] or [`Session::answer`] when the
    /// session was not waiting for this call.
    #[default]
    Empty,
    /// A file that is being opened. The host has to supply more bytes, or to look for sibling files.
    Opening(Box<Progress>),
    /// A file whose header is valid, and whose sibling files are not connected to it yet.
    Binding(Box<Bound>),
    /// A file in which groups of tensors are still to be combined into one tensor each. The shapes of some groups are stored in
    /// small tensors, which [`Session::bind`] reads.
    #[cfg(feature = "groups")]
    Grouping(Box<File>),
    /// An open file. It is leaked, so that a reader can borrow it from call to call.
    Open(&'static File),
}

/// What the host has to do next, so that the file opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Supply the bytes of this range, which is empty for an empty file, of the file with this number: 0 is the file itself, and 1
    /// the first sibling file.
    Bytes(u32, Range<u64>),
    /// Look for sibling files, and say how long they are.
    Siblings,
    /// Call [`Session::bind`], which reads sibling files.
    Binding,
}

/// A file that is being opened, and needs further bytes.
#[derive(Debug)]
pub struct Progress {
    opening: Opening,
    /// The byte ranges of the file and its sibling files that the host has to supply, in this order.
    wanted: VecDeque<Wanted>,
    siblings: Siblings,
    /// True if each group of tensors that together store one quantized tensor is to be combined into one tensor.
    has_groups: bool,
}

/// A file whose header is valid, and the sibling files that the host has found.
#[derive(Debug)]
pub struct Bound {
    file: File,
    siblings: Siblings,
    has_groups: bool,
}

impl Progress {
    /// Begins to open a file of `length` bytes. `name` is empty if it is unknown, and ignored if it is not UTF-8.
    fn new(name: Vec<u8>, length: u64, options: &OpenOptions) -> Self {
        let name = String::from_utf8(name).unwrap_or_default();
        let opening = Opening::new(name.as_str(), length, options);
        // Most formats are recognized by the first `START` bytes, so these are requested first.
        let range = 0..length.min(u64::try_from(START).unwrap_or(u64::MAX));
        let wanted = [Wanted { file: None, range }].into();
        Self { opening, wanted, siblings: Siblings::default(), has_groups: false }
    }

    /// Takes `bytes`, those of the first range that was requested. Returns the open file, whose content is read from `source`, or
    /// `None` if opening needs more bytes or sibling files.
    fn supply(
        &mut self,
        bytes: Vec<u8>,
        source: &'static dyn ReadAt,
    ) -> Result<Option<File>, Rejection> {
        let wanted = self.wanted.pop_front().ok_or(Error::from(Misuse::Supply))?;
        self.opening.supply(&wanted, bytes)?;
        self.advance(source)
    }

    /// Takes `lengths`, those of the sibling files that the host was asked for, in the form of [`Siblings::answer`]. Returns what
    /// [`supply`](Self::supply) returns.
    fn answer(
        &mut self,
        lengths: &[u8],
        source: &'static dyn ReadAt,
    ) -> Result<Option<File>, Rejection> {
        for (name, length) in self.siblings.answer(lengths) {
            self.opening.opened(name, length);
        }
        self.advance(source)
    }

    /// Continues to open the file, whose content is read from `source`. Returns the open file, or `None` if the host first has to
    /// supply bytes or the lengths of sibling files.
    fn advance(&mut self, source: &'static dyn ReadAt) -> Result<Option<File>, Rejection> {
        while self.wanted.is_empty() && !self.siblings.is_pending() {
            match self.opening.step_for(source).map_err(|error| self.rejected(&error))? {
                Step::Read(wanted) => self.wanted = wanted.into(),
                Step::Open(names) => {
                    for name in names {
                        match Sibling::new(&name).filter(|_| HAS_SIBLINGS) {
                            Some(sibling) => self.siblings.ask([Want::Sibling(sibling)]),
                            // The name cannot be that of a sibling file, or this module is built without support for sibling
                            // files. In both cases, the file counts as missing.
                            None => self.opening.opened(name, None),
                        }
                    }
                }
                Step::Done(file) => return Ok(Some(*file)),
            }
        }
        Ok(None)
    }

    /// Converts `error`, because of which the file is rejected, to a [`Rejection`] with the name of the file's format.
    fn rejected(&self, error: &Error) -> Rejection {
        let mut finding = Finding::from_error(error);
        let format = self.opening.format();
        if format != Some(ZTENSOR) {
            finding.format = format;
        }
        Rejection { finding: Box::new(finding), manifest: error.manifest_range() }
    }
}

/// Whether a read has failed since [`Session::bind`] last began to read the shapes of groups. A group of tensors whose shape
/// cannot be read is not combined, which alone is no error. By this flag [`Session::bind`] reports the failed read, so that the
/// host can fetch the missing bytes and call again.
#[cfg(feature = "groups")]
static READ_FAILED: AtomicBool = AtomicBool::new(false);

/// Records that the host failed to supply bytes of a file, for [`Session::bind`].
pub fn note_failed_read() {
    #[cfg(feature = "groups")]
    READ_FAILED.store(true, Ordering::Relaxed);
}

/// True if this module opens sibling files. The code for sibling files would make the modules for single formats larger.
const HAS_SIBLINGS: bool = cfg!(feature = "siblings");

/// An open file with its validated header and the source of its bytes.
pub type File = Archive<&'static dyn ReadAt>;

impl Session {
    /// Begins to open a file of `length` bytes, whose `name` is empty if it is unknown.
    pub fn begin(&mut self, name: Vec<u8>, length: u64, options: &OpenOptions) {
        *self = Self::Opening(Box::new(Progress::new(name, length, options)));
    }

    /// Requests that each group of tensors that store one quantized tensor is combined into one tensor when the file is open. Does
    /// nothing unless a file is being opened.
    #[cfg(feature = "groups")]
    pub fn group(&mut self) {
        if let Self::Opening(progress) = self {
            progress.has_groups = true;
        }
    }

    /// Returns what the host has to do next; `None` if the file is open, or was rejected.
    pub fn needs(&self) -> Option<Needs> {
        match self {
            Self::Opening(progress) => {
                let Some(Wanted { file, range }) = progress.wanted.front() else {
                    return progress.siblings.is_pending().then_some(Needs::Siblings);
                };
                let number = progress.siblings.number(file.as_deref())?;
                Some(Needs::Bytes(number, range.clone()))
            }
            Self::Binding(bound) if bound.siblings.is_pending() => Some(Needs::Siblings),
            Self::Binding(_) => Some(Needs::Binding),
            #[cfg(feature = "groups")]
            Self::Grouping(_) => Some(Needs::Binding),
            Self::Empty | Self::Open(_) => None,
        }
    }

    /// Takes `bytes`, those of the range that [`needs`](Self::needs) returned, and continues to open the file, whose content is
    /// read from `source`. Writes the finding to `out` if the file is rejected.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn supply(
        &mut self,
        bytes: Vec<u8>,
        source: &'static dyn ReadAt,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Self::Opening(mut progress) = mem::take(self) else { return misused(out) };
        let supplied = progress.supply(bytes, source);
        self.proceed(progress, supplied, out)
    }

    /// Writes a list of the sibling files that the host has to look for to `out`, as [`Siblings::write`] does.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn siblings(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Opening(progress) => progress.siblings.write(out),
            Self::Binding(bound) => bound.siblings.write(out),
            _ => misused(out),
        }
    }

    /// Takes `lengths`, those of the files that [`siblings`](Self::siblings) listed, in the form of [`Siblings::answer`].
    /// Continues to open the file as [`supply`](Self::supply) does.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn answer(
        &mut self,
        lengths: &[u8],
        source: &'static dyn ReadAt,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match mem::take(self) {
            Self::Opening(mut progress) => {
                let answered = progress.answer(lengths, source);
                self.proceed(progress, answered, out)
            }
            Self::Binding(mut bound) => {
                bound.siblings.answer(lengths);
                *self = Self::Binding(bound);
                Ok(())
            }
            _ => misused(out),
        }
    }

    /// Connects the file with its sibling files, which are read from `sources`. If the file is connected already and waits for the
    /// shapes of its groups, reads these shapes and combines the groups. Writes the finding to `out` if a sibling file or a shape
    /// breaks a rule or cannot be read; after a failed read, the host may call again.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn bind(&mut self, sources: &Sources<'_>, out: &mut impl Write) -> io::Result<()> {
        #[cfg(feature = "groups")]
        if let Self::Grouping(file) = self {
            READ_FAILED.store(false, Ordering::Relaxed);
            return match file.find_groups(Some(&**file)) {
                Err(error) => problem::reading(file, &error, out),
                Ok(_) if READ_FAILED.load(Ordering::Relaxed) => {
                    problem::reading(file, &Error::reading(), out)
                }
                Ok(groups) => {
                    let Self::Grouping(file) = mem::take(self) else { return misused(out) };
                    self.keep(file.with_groups(groups));
                    Ok(())
                }
            };
        }
        let Self::Binding(bound) = self else { return misused(out) };
        // `find_shards` below takes the file. If the host has to fetch bytes first, the host repeats this call, which
        // then needs the file again. So `bind_shards` finds out first whether the shards can be read.
        let finder = Finder { siblings: &bound.siblings, sources };
        if let Err(error) = bound.file.manifest().bind_shards(&finder) {
            return problem::reading(&bound.file, &error, out);
        }
        let Self::Binding(bound) = mem::take(self) else { return misused(out) };
        let Bound { file, siblings, has_groups } = *bound;
        match file.find_shards(&Finder { siblings: &siblings, sources }) {
            Ok(file) => self.open(file, has_groups, out),
            Err(error) => problem::write(&Finding::from_error(&error), None, out),
        }
    }

    /// Stores the state of this session after `progress` has taken a step with the result `step`: an open file, or one that needs
    /// more. Writes the finding to `out` if the file was rejected.
    fn proceed(
        &mut self,
        progress: Box<Progress>,
        step: Result<Option<File>, Rejection>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match step {
            Ok(None) => *self = Self::Opening(progress),
            Ok(Some(file)) if HAS_SIBLINGS && file.manifest().shards().len() > 0 => {
                let mut siblings = progress.siblings;
                // Only shards with digests are asked for here: the files of an index, which have none, were opened before.
                siblings.ask(wanted(file.manifest()).into_iter().map(Want::Shard));
                let has_groups = progress.has_groups;
                *self = Self::Binding(Box::new(Bound { file, siblings, has_groups }));
            }
            Ok(Some(file)) => self.open(file, progress.has_groups, out)?,
            Err(Rejection { finding, manifest }) => {
                problem::write(&finding, manifest.as_ref(), out)?;
            }
        }
        Ok(())
    }

    /// Makes `file` the open file of this session. If `has_groups` is true, first combines each group of tensors that together
    /// store one quantized tensor into one tensor. If the shapes of groups have to be read, this session instead waits for a call
    /// of [`bind`](Self::bind). Writes the finding to `out` if a group breaks a rule.
    #[cfg(feature = "groups")]
    fn open(&mut self, file: File, has_groups: bool, out: &mut impl Write) -> io::Result<()> {
        if has_groups && file.needs_content_for_groups() {
            *self = Self::Grouping(Box::new(file));
            return Ok(());
        }
        match has_groups.then(|| file.find_groups(None)).transpose() {
            Err(error) => return problem::reading(&file, &error, out),
            Ok(None) => self.keep(file),
            Ok(Some(groups)) => self.keep(file.with_groups(groups)),
        }
        Ok(())
    }

    #[cfg(not(feature = "groups"))]
    #[expect(clippy::unnecessary_wraps, reason = "with the feature `groups`, it may fail")]
    fn open(&mut self, file: File, _: bool, _: &mut impl Write) -> io::Result<()> {
        self.keep(file);
        Ok(())
    }

    /// Makes `file` the open file of this session. The file is leaked, so that readers can borrow it from one call to the next.
    fn keep(&mut self, file: File) {
        *self = Self::Open(Box::leak(Box::new(file)));
    }
}

/// Writes a finding to `out` which says that the host has made a call for which the session is not waiting.
fn misused(out: &mut impl Write) -> io::Result<()> {
    problem::write(&Rejection::from(Error::from(Misuse::Supply)).finding, None, out)
}

/// The reason why a file was rejected while it was opened.
#[derive(Debug)]
struct Rejection {
    finding: Box<Finding>,
    /// The byte range of the manifest in the file, if the fault is in the manifest.
    manifest: Option<Range<u64>>,
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self { finding: Box::new(Finding::from_error(&error)), manifest: error.manifest_range() }
    }
}

/// Returns up to `count` tensors of `file`, from tensor `first` on.
pub fn tensors(file: &File, first: u32, count: u32) -> impl Iterator<Item = Tensor<'_>> {
    let end = first.saturating_add(count);
    (first..end).map_while(|ordinal| Some(read_from(file, file.manifest().tensor_at(ordinal)?)))
}

/// Returns the tensor called `name` of `file`. Its content can be read.
///
/// # Errors
/// The file has no such tensor; the error suggests a similar name, if there is one.
pub fn find<'f>(file: &'f File, name: &str) -> Result<Tensor<'f>, Error> {
    Ok(read_from(file, file.manifest().tensor(name)?))
}

/// Binds `tensor` to the bytes of `file`, and of its sibling files if the host has them.
fn read_from<'f>(file: &'f File, tensor: Tensor<'f>) -> Tensor<'f> {
    if HAS_SIBLINGS { tensor.read_from(file) } else { tensor.read_from(file.source()) }
}

/// Returns tensor `ordinal` of `file`. Its content can be read.
///
/// # Errors
/// [`Misuse::NoTensor`] if the file has `ordinal` tensors or fewer.
pub fn tensor(file: &File, ordinal: u32) -> Result<Tensor<'_>, Error> {
    tensors(file, ordinal, 1).next().ok_or(Misuse::NoTensor.into())
}

/// Returns component `component` of tensor `object` of `file`. Its content can be read.
///
/// # Errors
/// [`Misuse::NoTensor`] if the file has `object` tensors or fewer; [`Misuse::Parts`] if the tensor has `component` components or
/// fewer.
pub fn component(file: &File, (object, component): (u32, u32)) -> Result<Component<'_>, Error> {
    tensor(file, object)?.component_at(component).ok_or(Misuse::Parts.into())
}

/// Returns whether [`read_at`] can read stored bytes of `component`: the component is in the file itself, or in a sibling file of
/// another format than zTensor. The shard of a zTensor file is read as a whole, because its digest is compared first.
pub fn has_offsets(component: &Component<'_>) -> bool {
    component.shard().is_none() || component.generation().is_none()
}

/// Fills `buffer` with the bytes at `offset` of the file that holds `component`, for which [`has_offsets`] is true.
///
/// # Errors
/// The errors of the host; [`Misuse::UnverifiedShard`] if the component is in another shard, or in one that was not found.
pub fn read_at(
    file: &File,
    component: &Component<'_>,
    offset: u64,
    buffer: &mut [u8],
) -> Result<(), Error> {
    match component.shard() {
        None => file.source().read_at(offset, buffer),
        Some(name) if has_offsets(component) => {
            let sibling = file.sibling(name).ok_or(Misuse::UnverifiedShard)?;
            sibling.read_at(offset, buffer)
        }
        Some(_) => Err(Misuse::UnverifiedShard.into()),
    }
}
