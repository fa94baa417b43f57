//! Opening: which bytes come next, and what they lead to.

use std::io::{self, Write};
use std::mem;
use std::ops::Range;

use zten::open::{Body, Footer, Named, Opening};
use zten::{Component, Error, Manifest, Options, error::Misuse};

use crate::describe;
use crate::json::Json;
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
    /// It was opened.
    Open(File),
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

    /// Takes the bytes that were asked for, of a file of so many bytes. Says what is in the file
    /// once that is known, or what is wrong with it.
    pub fn supply(&mut self, bytes: Vec<u8>, length: u64, out: &mut impl Write) -> io::Result<()> {
        let next = match mem::take(self) {
            Self::Header(opening) => opening.header(&bytes).map(Self::Footer),
            Self::Footer(footer) => footer.footer(&bytes).map(Self::Manifest),
            Self::Manifest(body) => return self.manifest(body, bytes, length, out),
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

    fn manifest(
        &mut self,
        body: Body,
        bytes: Vec<u8>,
        length: u64,
        out: &mut impl Write,
    ) -> io::Result<()> {
        match body.manifest(bytes) {
            Ok(manifest) => {
                let file = File { manifest, length };
                describe::file(&file, out)?;
                *self = Self::Open(file);
                Ok(())
            }
            Err(refused) => {
                let (error, manifest) = (refused.error(), refused.extent());
                problem::refused(&error, &refused.named(), Some(&manifest), &mut Json::new(out))
            }
        }
    }

    fn refuse(&mut self, error: &Error, out: &mut impl Write) -> io::Result<()> {
        *self = Self::Empty;
        problem::refused(error, &Named::default(), None, &mut Json::new(out))
    }
}

impl File {
    /// The component at that place.
    ///
    /// # Errors
    /// [`Misuse::Format`] where there is none.
    pub(crate) fn component(&self, object: u32, component: u32) -> Result<Component<'_>, Error> {
        let object = self.manifest.object(object);
        let place = usize::try_from(component).ok();
        let component =
            object.zip(place).and_then(|(object, place)| object.components().nth(place));
        component.ok_or(Misuse::Format.into())
    }
}
