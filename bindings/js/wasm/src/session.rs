//! Opens a file from bytes that the host supplies step by step.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::mem;
use std::ops::Range;

use zten::finding::{Finding, ZTENSOR};
use zten::formats::START;
use zten::open::{Opening, Step, Wanted};
use zten::{Archive, Component, Error, OpenOptions, ReadAt, Tensor, error::Misuse};

use crate::problem;

/// The progress of opening a file.
#[derive(Debug, Default)]
pub enum Session {
    /// No file.
    #[default]
    Empty,
    /// A file that is being opened. The host has to supply more bytes.
    Opening(Box<Progress>),
    /// An open file. It is leaked, so that a reader can borrow it from call to call.
    Open(&'static File),
}

/// A file that is being opened, and needs further bytes.
#[derive(Debug)]
pub struct Progress {
    opening: Opening,
    /// The ranges that the host has to supply, in this order.
    wanted: VecDeque<Wanted>,
}

impl Progress {
    /// Begins to open a file of `length` bytes. `name` is empty if it is unknown, and ignored if it is not UTF-8.
    fn new(name: Vec<u8>, length: u64) -> Self {
        let name = String::from_utf8(name).unwrap_or_default();
        let opening = Opening::new(name.as_str(), length, &OpenOptions::default());
        // These first bytes tell most formats.
        let range = 0..length.min(u64::try_from(START).unwrap_or(u64::MAX));
        Self { opening, wanted: [Wanted { file: None, range }].into() }
    }

    /// Takes the `bytes` of the first wanted range. Returns the open file, which reads from `source`, or `None` if opening
    /// needs more bytes.
    fn supply(
        &mut self,
        bytes: Vec<u8>,
        source: &'static dyn ReadAt,
    ) -> Result<Option<File>, Rejection> {
        let wanted = self.wanted.pop_front().ok_or(Error::from(Misuse::Supply))?;
        self.opening.supply(&wanted, bytes)?;
        while self.wanted.is_empty() {
            match self.opening.step_for(source).map_err(|error| self.rejected(&error))? {
                Step::Read(wanted) => self.wanted = wanted.into(),
                // The host has only this file, so all sibling files are missing.
                Step::Open(names) => {
                    for name in names {
                        self.opening.opened(name, None);
                    }
                }
                Step::Done(file) => return Ok(Some(*file)),
            }
        }
        Ok(None)
    }

    /// Returns the rejection of the file for `error`, with the name of its format.
    fn rejected(&self, error: &Error) -> Rejection {
        let mut finding = Finding::from_error(error);
        let format = self.opening.format();
        if format != Some(ZTENSOR) {
            finding.format = format;
        }
        Rejection { finding: Box::new(finding), manifest: error.manifest_range() }
    }
}

/// An open file and the source of its bytes.
pub type File = Archive<&'static dyn ReadAt>;

impl Session {
    /// Begins to open a file of `length` bytes, whose `name` is empty if it is unknown.
    pub fn begin(&mut self, name: Vec<u8>, length: u64) {
        *self = Self::Opening(Box::new(Progress::new(name, length)));
    }

    /// Returns the range of the file that is needed next, which is empty for an empty file; `None` if no bytes are needed.
    pub fn needs(&self) -> Option<Range<u64>> {
        match self {
            Self::Opening(progress) => Some(progress.wanted.front()?.range.clone()),
            Self::Empty | Self::Open(_) => None,
        }
    }

    /// Takes the bytes of the range that [`needs`](Self::needs) returned. Writes the finding to `out` if the file is rejected.
    /// An open file is read from `source`.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn supply(
        &mut self,
        bytes: Vec<u8>,
        source: &'static dyn ReadAt,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let Self::Opening(mut progress) = mem::take(self) else {
            let misuse = Rejection::from(Error::from(Misuse::Supply));
            return problem::write(&misuse.finding, None, out);
        };
        match progress.supply(bytes, source) {
            Ok(None) => *self = Self::Opening(progress),
            Ok(Some(file)) => *self = Self::Open(Box::leak(Box::new(file))),
            Err(Rejection { finding, manifest }) => {
                problem::write(&finding, manifest.as_ref(), out)?;
            }
        }
        Ok(())
    }
}

/// The reason why a file was rejected while it was opened.
#[derive(Debug)]
struct Rejection {
    finding: Box<Finding>,
    /// The range of the manifest, if the fault is in the manifest.
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

/// Returns the tensor `name` of `file`.
///
/// # Errors
/// The file has no such tensor; the error suggests a similar name.
pub fn find<'f>(file: &'f File, name: &str) -> Result<Tensor<'f>, Error> {
    Ok(read_from(file, file.manifest().tensor(name)?))
}

/// Binds `tensor` to the bytes of `file`. Tensors of the archive itself can be read from shards, too. No host has shards, and
/// the code for them would make the modules larger.
fn read_from<'f>(file: &'f File, tensor: Tensor<'f>) -> Tensor<'f> {
    tensor.read_from(file.source())
}

/// Returns tensor `ordinal` of `file`.
///
/// # Errors
/// [`Misuse::Layout`] if the file has no such tensor.
pub fn tensor(file: &File, ordinal: u32) -> Result<Tensor<'_>, Error> {
    tensors(file, ordinal, 1).next().ok_or(Misuse::Layout.into())
}

/// Returns component `component` of tensor `object` of `file`.
///
/// # Errors
/// [`Misuse::Layout`] if the file has no such component.
pub fn component(file: &File, (object, component): (u32, u32)) -> Result<Component<'_>, Error> {
    tensor(file, object)?.component_at(component).ok_or(Misuse::Layout.into())
}
