//! Opening: which bytes come next, and what they lead to.

use std::io::{self, Write};
use std::mem;
use std::ops::Range;

#[cfg(not(feature = "formats"))]
use zten::OpenOptions;
#[cfg(not(feature = "formats"))]
use zten::open::Opening;
#[cfg(feature = "ztensor")]
use zten::open::{Body, Footer};
use zten::{Archive, Component, Error, ReadAt, Tensor, error::Misuse};
use zten_report::finding::Finding;

#[cfg(feature = "formats")]
use crate::formats::{Other, Start};
use crate::problem;

/// The progress of opening a file.
#[derive(Debug, Default)]
pub enum Session {
    /// No file.
    #[default]
    Empty,
    /// A file whose first bytes are to come, which tell the format.
    #[cfg(feature = "formats")]
    Start(Start),
    /// A file of another format than zTensor, of whose header more is to come.
    #[cfg(feature = "formats")]
    Other(Box<Other>),
    /// A file whose header is to come.
    #[cfg(not(feature = "formats"))]
    Header(Opening),
    /// A file whose footer is to come.
    #[cfg(feature = "ztensor")]
    Footer(Footer),
    /// A file whose manifest is to come.
    #[cfg(feature = "ztensor")]
    Manifest(Body),
    /// An open file. It is never freed, so that reading it can go on from call to call.
    Open(&'static File),
}

/// A file that was opened, and what it is read from.
pub type File = Archive<&'static dyn ReadAt>;

impl Session {
    /// Begins with a file of so many bytes, whose name is empty if it is not known. A file that can only be of zTensor is
    /// rejected where it is too short to be one.
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

    /// The bytes of the file that are asked for.
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

    /// Takes the bytes that were asked for. Says what is wrong with the file, if anything is. Once it is open, `source`
    /// is what it is read from.
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

    /// A file that was opened.
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

/// The reason why a file is not opened.
#[derive(Debug)]
pub(crate) struct Rejection {
    pub(crate) finding: Box<Finding>,
    /// The range of the manifest, if that is rejected.
    pub(crate) manifest: Option<Range<u64>>,
}

impl From<Error> for Rejection {
    fn from(error: Error) -> Self {
        Self { finding: Box::new(Finding::from_error(&error)), manifest: error.manifest_range() }
    }
}

/// Up to `count` tensors of a file, from the one at `first` on.
pub fn tensors(file: &File, first: u32, count: u32) -> impl Iterator<Item = Tensor<'_>> {
    let end = first.saturating_add(count);
    (first..end).map_while(|ordinal| Some(read_from(file, file.manifest().tensor_at(ordinal)?)))
}

/// The tensor of that name.
///
/// # Errors
/// There is none; the error tells which name is near.
pub fn find<'f>(file: &'f File, name: &str) -> Result<Tensor<'f>, Error> {
    Ok(read_from(file, file.manifest().tensor(name)?))
}

/// The tensor, which is read from the file. The archive itself would also read from shards, which no host has: modules
/// would have all that takes.
fn read_from<'f>(file: &'f File, tensor: Tensor<'f>) -> Tensor<'f> {
    tensor.read_from(file.source())
}

/// The tensor at that place in a file.
///
/// # Errors
/// [`Misuse::Layout`] where there is none.
pub fn tensor(file: &File, ordinal: u32) -> Result<Tensor<'_>, Error> {
    tensors(file, ordinal, 1).next().ok_or(Misuse::Layout.into())
}

/// The component at that place in a file: that of its tensor, and its own in that.
///
/// # Errors
/// [`Misuse::Layout`] where there is none.
pub fn component(file: &File, (object, component): (u32, u32)) -> Result<Component<'_>, Error> {
    tensor(file, object)?.component_at(component).ok_or(Misuse::Layout.into())
}
