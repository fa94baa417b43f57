//! Opening without I/O: each state says which bytes of the file it needs, and takes them.
//!
//! ```text
//! Opening ── header ──▶ Footer ── footer ──▶ Body ── manifest ──▶ Manifest
//! ```
//!
//! A slice, a file, a map, an object store, a browser's `Blob` and flash differ only in who
//! fetches. What is asked for has been held against the length of the file and the limits, so it
//! can be fetched without a further look.
//!
//! ```
//! use zten::open::Opening;
//! # let file: &[u8] = b"ZTEN0001\x80\x01\0\0\0\0\0\0\0";
//! let fetch = |range: core::ops::Range<u64>| &file[range.start as usize..range.end as usize];
//!
//! let opening = Opening::new(file.len() as u64, &zten::OpenOptions::default())?;
//! let footer = opening.header(fetch(opening.needs()))?;
//! let body = footer.footer(fetch(footer.needs()))?;
//! let needs = body.needs();
//! let manifest = body.manifest(fetch(needs))?;
//! assert_eq!(manifest.len(), 0);
//! # Ok::<(), zten::Error>(())
//! ```

use core::ops::Range;

use crate::error::{BareError, Error, Misuse};
use crate::format::frame::{Container, Frame};
use crate::limits::OpenOptions;
use crate::manifest::Manifest;
use crate::num::u64_from_usize;

/// Checks that as many bytes were given as were asked for.
fn supplied(bytes: &[u8], needs: &Range<u64>) -> Result<(), BareError> {
    let end = needs.start.checked_add(u64_from_usize(bytes.len()));
    if end == Some(needs.end) { Ok(()) } else { Err(BareError::misuse(Misuse::Supply)) }
}

/// Needs the header.
#[derive(Clone, Debug)]
pub struct Opening {
    file_len: u64,
    options: OpenOptions,
    needs: Range<u64>,
}

impl Opening {
    /// Begins to open a file of `file_len` bytes.
    ///
    /// # Errors
    /// `file-size` where it is too short for a header.
    pub fn new(file_len: u64, options: &OpenOptions) -> Result<Self, Error> {
        let needs = Container::header_range(file_len)?;
        Ok(Self { file_len, options: *options, needs })
    }

    /// The bytes of the file that are the header.
    pub fn needs(&self) -> Range<u64> {
        self.needs.clone()
    }

    /// Takes the header.
    ///
    /// # Errors
    /// `header-magic`, `file-size`; [`Misuse::Supply`].
    pub fn header(&self, bytes: &[u8]) -> Result<Footer, Error> {
        supplied(bytes, &self.needs)?;
        let container = Container::read(bytes)?;
        let needs = container.footer_range(self.file_len)?;
        Ok(Footer { container, options: self.options, needs })
    }
}

/// Needs the footer.
#[derive(Clone, Debug)]
pub struct Footer {
    container: Container,
    options: OpenOptions,
    needs: Range<u64>,
}

impl Footer {
    /// The bytes of the file that are the footer.
    pub fn needs(&self) -> Range<u64> {
        self.needs.clone()
    }

    /// Takes the footer.
    ///
    /// # Errors
    /// `footer-magic`, `manifest-cap`, `manifest-bounds`, `limit-manifest`; [`Misuse::Supply`].
    pub fn footer(&self, bytes: &[u8]) -> Result<Body, Error> {
        supplied(bytes, &self.needs)?;
        let frame = Frame::read(self.container, bytes, self.needs(), self.options.limit())?;
        Ok(Body { frame, options: self.options })
    }
}

/// Needs the manifest.
#[derive(Clone, Debug)]
pub struct Body {
    frame: Frame,
    options: OpenOptions,
}

impl Body {
    /// The bytes of the file that are the manifest: 1 GiB at most.
    pub fn needs(&self) -> Range<u64> {
        self.frame.manifest.clone()
    }

    /// Takes the manifest and validates it. The result holds `bytes`, whatever they are held in:
    /// `&[u8]`, `Vec<u8>`, `Arc<[u8]>`.
    ///
    /// # Errors
    /// Any rule of the catalog but those that need data; [`Misuse::Supply`].
    pub fn manifest<B: AsRef<[u8]>>(self, bytes: B) -> Result<Manifest<B>, Error> {
        supplied(bytes.as_ref(), &self.frame.manifest)?;
        Manifest::validate(&self.frame, bytes, &self.options)
    }
}
