//! Opens a file from bytes that the host supplies step by step.

use std::io::{self, Write};
use std::mem;
use std::ops::Range;

#[cfg(not(feature = "formats"))]
use zten::OpenOptions;
use zten::finding::Finding;
#[cfg(not(feature = "formats"))]
use zten::open::Opening;
#[cfg(feature = "ztensor")]
use zten::open::{Body, Footer};
use zten::{Archive, Component, Error, ReadAt, Tensor, error::Misuse};

#[cfg(feature = "formats")]
use crate::formats::{Other, Start};
use crate::problem;

/// The progress of opening a file.
#[derive(Debug, Default)]
pub enum Session {
    /// No file.
    #[default]
    Empty,
    /// A file whose first bytes are needed to recognize the format.
    #[cfg(feature = "formats")]
    Start(Start),
    /// A file of another format than zTensor, which needs further bytes of its header.
    #[cfg(feature = "formats")]
    Other(Box<Other>),
    /// A zTensor file whose header is needed.
    #[cfg(not(feature = "formats"))]
    Header(Opening),
    /// A zTensor file whose footer is needed.
    #[cfg(feature = "ztensor")]
    Footer(Footer),
    /// A zTensor file whose manifest is needed.
    #[cfg(feature = "ztensor")]
    Manifest(Body),
    /// An open file. It is leaked, so that a reader can borrow it from call to call.
    Open(&'static File),
}

/// An open file and the source of its bytes.
pub type File = Archive<&'static dyn ReadAt>;

impl Session {
    /// Begins a file of `length` bytes, whose `name` is empty if it is unknown. A module that opens only zTensor files rejects
    /// a file that is too short, and writes the finding to `out`.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn begin(&mut self, name: Vec<u8>, length: u64, out: &mut impl Write) -> io::Result<()> {
        #[cfg(feature = "formats")]
        let begun = Ok(Self::Start(Start::new(name, length)));
        #[cfg(not(feature = "formats"))]
        let begun = {
            drop(name);
            Opening::new(length, &OpenOptions::default()).map(Self::Header).map_err(Rejection::from)
        };
        self.go_on(begun, out)
    }

    /// Returns the range of the file that is needed next; `None` if no bytes are needed.
    pub fn needs(&self) -> Option<Range<u64>> {
        match self {
            #[cfg(feature = "formats")]
            Self::Start(start) => Some(start.needs()),
            #[cfg(feature = "formats")]
            Self::Other(other) => other.needs(),
            #[cfg(not(feature = "formats"))]
            Self::Header(opening) => Some(opening.needs()),
            #[cfg(feature = "ztensor")]
            Self::Footer(footer) => Some(footer.needs()),
            #[cfg(feature = "ztensor")]
            Self::Manifest(body) => Some(body.needs()),
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
        let next = mem::take(self).next(bytes, source);
        self.go_on(next, out)
    }

    fn next(self, bytes: Vec<u8>, source: &'static dyn ReadAt) -> Result<Self, Rejection> {
        Ok(match self {
            #[cfg(feature = "formats")]
            Self::Start(start) => start.supply(bytes, source)?,
            #[cfg(feature = "formats")]
            Self::Other(other) => other.supply(bytes, source)?,
            #[cfg(not(feature = "formats"))]
            Self::Header(opening) => Self::Footer(opening.header(&bytes)?),
            #[cfg(feature = "ztensor")]
            Self::Footer(footer) => Self::Manifest(footer.footer(&bytes)?),
            #[cfg(feature = "ztensor")]
            Self::Manifest(body) => Self::open(Archive::new(body.manifest(bytes)?, source)),
            other => other,
        })
    }

    /// Keeps the open `file`.
    pub(crate) fn open(file: File) -> Self {
        Self::Open(Box::leak(Box::new(file)))
    }

    fn go_on(&mut self, next: Result<Self, Rejection>, out: &mut impl Write) -> io::Result<()> {
        match next {
            Ok(next) => {
                *self = next;
                Ok(())
            }
            Err(Rejection { finding, manifest }) => {
                problem::write(&finding, manifest.as_ref(), out)
            }
        }
    }
}

/// The reason why a file was rejected while it was opened.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) finding: Box<Finding>,
    /// The range of the manifest, if the fault is in the manifest.
    pub(crate) manifest: Option<Range<u64>>,
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
