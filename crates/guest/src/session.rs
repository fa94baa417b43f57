//! Opening: which bytes come next, and what they lead to.

use std::io::{self, Write};
use std::mem;
use std::ops::Range;

#[cfg(not(feature = "formats"))]
use zten::Options;
#[cfg(not(feature = "formats"))]
use zten::open::Opening;
#[cfg(feature = "ztensor")]
use zten::open::{Body, Footer};
use zten::{Component, Error, Manifest, error::Misuse};
use zten_present::finding::Finding;

#[cfg(feature = "formats")]
use crate::formats::{Other, Start};
use crate::problem;

/// How far a file has been opened.
#[derive(Debug, Default)]
pub enum Session {
    /// There is none.
    #[default]
    Empty,
    /// Its first bytes are to come, which tell the format.
    #[cfg(feature = "formats")]
    Start(Start),
    /// More of its header is to come: it is of another format than zTensor.
    #[cfg(feature = "formats")]
    Other(Box<Other>),
    /// Its header is to come.
    #[cfg(not(feature = "formats"))]
    Header(Opening),
    /// Its footer is to come.
    #[cfg(feature = "ztensor")]
    Footer(Footer),
    /// Its manifest is to come.
    #[cfg(feature = "ztensor")]
    Manifest(Body),
    /// It was opened. It is never freed, so that reading it can go on from call to call.
    Open(&'static File),
}

/// A file that was opened.
#[derive(Debug)]
pub struct File {
    /// What its manifest says.
    pub manifest: Manifest<Vec<u8>>,
    /// Bytes of the file.
    pub length: u64,
}

impl Session {
    /// Begins with a file of so many bytes, whose name is empty if it is not known. A file that can only be of zTensor is
    /// refused where it is too short to be one.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn begin(&mut self, name: Vec<u8>, length: u64, out: &mut impl Write) -> io::Result<()> {
        #[cfg(feature = "formats")]
        let begun = Ok(Self::Start(Start::new(name, length)));
        #[cfg(not(feature = "formats"))]
        let begun = {
            drop(name);
            Opening::new(length, &Options::default()).map(Self::Header).map_err(Refused::from)
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

    /// Takes the bytes that were asked for, of a file of so many bytes. Says what is wrong with it,
    /// if anything is.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn supply(&mut self, bytes: Vec<u8>, length: u64, out: &mut impl Write) -> io::Result<()> {
        let next = match mem::take(self) {
            #[cfg(feature = "formats")]
            Self::Start(start) => start.supply(bytes),
            #[cfg(feature = "formats")]
            Self::Other(other) => other.supply(bytes, length),
            #[cfg(not(feature = "formats"))]
            Self::Header(opening) => {
                opening.header(&bytes).map(Self::Footer).map_err(Refused::from)
            }
            #[cfg(feature = "ztensor")]
            Self::Footer(footer) => {
                footer.footer(&bytes).map(Self::Manifest).map_err(Refused::from)
            }
            #[cfg(feature = "ztensor")]
            Self::Manifest(body) => match body.manifest(bytes) {
                Ok(manifest) => Ok(Self::open(manifest, length)),
                Err(refused) => {
                    return problem::write(
                        &Finding::opening(&refused),
                        Some(&refused.extent()),
                        out,
                    );
                }
            },
            other => Ok(other),
        };
        self.go_on(next, out)
    }

    /// A file that was opened.
    pub(crate) fn open(manifest: Manifest<Vec<u8>>, length: u64) -> Self {
        Self::Open(Box::leak(Box::new(File { manifest, length })))
    }

    fn go_on(&mut self, next: Result<Self, Refused>, out: &mut impl Write) -> io::Result<()> {
        match next {
            Ok(next) => {
                *self = next;
                Ok(())
            }
            Err(Refused(finding)) => problem::write(&finding, None, out),
        }
    }
}

/// The reason why a file is not opened.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Box<Finding>);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(Box::new(Finding::unnamed(&error, None)))
    }
}

impl File {
    /// The component at that place.
    ///
    /// # Errors
    /// [`Misuse::Format`] where there is none.
    pub fn component(&self, object: u32, component: u32) -> Result<Component<'_>, Error> {
        let object = self.manifest.object(object);
        let component = object.and_then(|object| object.component_at(component));
        component.ok_or(Misuse::Format.into())
    }
}
