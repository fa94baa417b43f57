//! Opening: which bytes come next, and what they lead to.

use std::io::{self, Write};
use std::mem;
use std::ops::Range;

use zten::open::{Body, Footer, Opening};
use zten::{Component, Error, Manifest, Options, error::Misuse};
use zten_present::finding::Finding;

use crate::problem;

/// How far a file has been opened.
#[derive(Debug, Default)]
pub enum Session {
    /// There is none.
    #[default]
    Empty,
    /// Its header is to come.
    Header(Opening),
    /// Its footer is to come.
    Footer(Footer),
    /// Its manifest is to come.
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
    /// Begins with a file of so many bytes; refused where it is too short to be one.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn begin(&mut self, length: u64, out: &mut impl Write) -> io::Result<()> {
        match Opening::new(length, &Options::default()) {
            Ok(opening) => {
                *self = Self::Header(opening);
                Ok(())
            }
            Err(error) => self.refuse(&error, out),
        }
    }

    /// The bytes of the file that are asked for.
    pub fn needs(&self) -> Option<Range<u64>> {
        match self {
            Self::Header(opening) => Some(opening.needs()),
            Self::Footer(footer) => Some(footer.needs()),
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
            Self::Header(opening) => opening.header(&bytes).map(Self::Footer),
            Self::Footer(footer) => footer.footer(&bytes).map(Self::Manifest),
            Self::Manifest(body) => {
                return match body.manifest(bytes) {
                    Ok(manifest) => {
                        *self = Self::Open(Box::leak(Box::new(File { manifest, length })));
                        Ok(())
                    }
                    Err(refused) => {
                        problem::write(&Finding::opening(&refused), Some(&refused.extent()), out)
                    }
                };
            }
            other => {
                *self = other;
                return Ok(());
            }
        };
        match next {
            Ok(next) => *self = next,
            Err(error) => self.refuse(&error, out)?,
        }
        Ok(())
    }

    fn refuse(&mut self, error: &Error, out: &mut impl Write) -> io::Result<()> {
        *self = Self::Empty;
        problem::write(&Finding::unnamed(error, None), None, out)
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
