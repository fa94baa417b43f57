//! Opening a file without I/O: each state tells which bytes of the file it needs, and the caller passes these bytes.
//!
//! ```text
//! Opening ── header ──▶ Footer ── footer ──▶ Body ── manifest ──▶ Manifest
//! ```
//!
//! A slice, a file, a memory map, an object store, a browser's `Blob` and flash memory differ only in how bytes are
//! read. The requested ranges have been checked against the length of the file and the limits, so callers need not
//! check them.
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
use crate::formats::ztensor::frame::{Container, Frame};
use crate::limits::OpenOptions;
use crate::manifest::Manifest;
use crate::num::u64_from_usize;

/// Checks that the number of bytes is the number that was requested.
fn supplied(bytes: &[u8], needs: &Range<u64>) -> Result<(), BareError> {
    let end = needs.start.checked_add(u64_from_usize(bytes.len()));
    if end == Some(needs.end) { Ok(()) } else { Err(BareError::misuse(Misuse::Supply)) }
}

/// The first state, which needs the header.
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
    /// `file-size` if the file is too short for a header.
    pub fn new(file_len: u64, options: &OpenOptions) -> Result<Self, Error> {
        let needs = Container::header_range(file_len)?;
        Ok(Self { file_len, options: *options, needs })
    }

    /// Returns the range of the header in the file.
    pub fn needs(&self) -> Range<u64> {
        self.needs.clone()
    }

    /// Parses the header, and returns the next state.
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

/// The second state, which needs the footer.
#[derive(Clone, Debug)]
pub struct Footer {
    container: Container,
    options: OpenOptions,
    needs: Range<u64>,
}

impl Footer {
    /// Returns the range of the footer in the file.
    pub fn needs(&self) -> Range<u64> {
        self.needs.clone()
    }

    /// Parses the footer, and returns the next state.
    ///
    /// # Errors
    /// `footer-magic`, `manifest-cap`, `manifest-bounds`, `limit-manifest`; [`Misuse::Supply`].
    pub fn footer(&self, bytes: &[u8]) -> Result<Body, Error> {
        supplied(bytes, &self.needs)?;
        let frame = Frame::read(self.container, bytes, self.needs(), self.options.limit())?;
        Ok(Body { frame, options: self.options })
    }
}

/// The last state, which needs the manifest.
#[derive(Clone, Debug)]
pub struct Body {
    frame: Frame,
    options: OpenOptions,
}

impl Body {
    /// Returns the range of the manifest in the file, at most 1 GiB.
    pub fn needs(&self) -> Range<u64> {
        self.frame.manifest.clone()
    }

    /// Validates the manifest. The result holds `bytes`, which may be a `&[u8]`, `Vec<u8>` or `Arc<[u8]>`.
    ///
    /// # Errors
    /// Any rule of the catalog, except rules that need data; [`Misuse::Supply`].
    pub fn manifest<B: AsRef<[u8]>>(self, bytes: B) -> Result<Manifest<B>, Error> {
        supplied(bytes.as_ref(), &self.frame.manifest)?;
        Manifest::validate(&self.frame, bytes, &self.options)
    }
}
