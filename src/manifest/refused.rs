//! A manifest that was refused: its bytes are still there, and say what the place of the error is
//! called.

use alloc::borrow::Cow;
use core::fmt;
use core::ops::Range;

use crate::brief::Bytes;
use crate::error::Error;
use crate::format::frame::Frame;
use crate::format::{Named, named};

/// Why a manifest was refused, and its bytes, which hold the names of the place.
///
/// Nothing has been allocated for it: the bytes are those that were handed in, and are kept for
/// as long as it is. By `?` it becomes the [`Error`] alone.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
/// # let mut manifest = zten::Archive::open(&file)?.manifest().as_bytes().to_vec();
/// # let at = manifest.windows(5).position(|word| word == b"dense").unwrap();
/// # manifest[at] = 0xff;
/// # let opening = zten::open::Opening::new(file.len() as u64, &zten::Options::default())?;
/// # let footer = opening.header(&file[..8])?;
/// # let body = footer.footer(&file[file.len() - 16..])?;
/// let refused = body.manifest(manifest).unwrap_err();
/// assert_eq!(refused.error().id(), Some("cbor-utf8"));
/// assert!(refused.named().object.is_some());
/// # Ok::<(), zten::Error>(())
/// ```
#[derive(Clone)]
pub struct RefusedManifest<'m> {
    pub(super) error: Error,
    pub(super) frame: Frame,
    pub(super) bytes: Cow<'m, [u8]>,
}

impl<'m> RefusedManifest<'m> {
    /// The bytes of the manifest of `frame`, which were refused for that reason.
    pub(crate) fn new(error: Error, frame: Frame, bytes: Cow<'m, [u8]>) -> Self {
        Self { error, frame, bytes }
    }

    /// Why it was refused.
    pub fn error(&self) -> Error {
        self.error
    }

    /// What the place of the error is called, as far as the manifest can be read. Nothing is
    /// allocated; time is linear in the bytes before the place.
    pub fn named(&self) -> Named<'_> {
        named(self.frame.container(), &self.bytes, self.error.place())
    }

    /// Where in the file the manifest lies.
    pub fn extent(&self) -> Range<u64> {
        self.frame.manifest().clone()
    }
}

impl From<RefusedManifest<'_>> for Error {
    fn from(refused: RefusedManifest<'_>) -> Self {
        refused.error
    }
}

impl fmt::Debug for RefusedManifest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusedManifest")
            .field("error", &self.error)
            .field("extent", &self.extent())
            .field("bytes", &Bytes(&self.bytes))
            .finish()
    }
}

impl fmt::Display for RefusedManifest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl core::error::Error for RefusedManifest<'_> {}
