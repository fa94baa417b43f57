//! A manifest that was refused: its bytes are still there, and say what the place of the error is
//! called.

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
pub struct RefusedManifest<B> {
    pub(super) error: Error,
    pub(super) frame: Frame,
    pub(super) bytes: B,
}

impl<B> RefusedManifest<B> {
    /// The bytes of the manifest of `frame`, which were refused for that reason.
    pub(crate) fn new(error: Error, frame: Frame, bytes: B) -> Self {
        Self { error, frame, bytes }
    }

    /// Why it was refused.
    pub fn error(&self) -> Error {
        self.error
    }

    /// Where in the file the manifest lies.
    pub fn extent(&self) -> Range<u64> {
        self.frame.manifest().clone()
    }

    /// What holds the bytes of the manifest.
    pub fn into_inner(self) -> B {
        self.bytes
    }
}

impl<B: AsRef<[u8]>> RefusedManifest<B> {
    /// What the place of the error is called, as far as the manifest can be read. Nothing is
    /// allocated; time is linear in the bytes before the place.
    pub fn named(&self) -> Named<'_> {
        named(self.frame.container(), self.bytes.as_ref(), self.error.place())
    }
}

impl<B> From<RefusedManifest<B>> for Error {
    fn from(refused: RefusedManifest<B>) -> Self {
        refused.error
    }
}

#[expect(clippy::missing_fields_in_debug, reason = "the frame is where the manifest lies")]
impl<B: AsRef<[u8]>> fmt::Debug for RefusedManifest<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusedManifest")
            .field("error", &self.error)
            .field("extent", &self.extent())
            .field("bytes", &Bytes(self.bytes.as_ref()))
            .finish()
    }
}

impl<B> fmt::Display for RefusedManifest<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B: AsRef<[u8]>> core::error::Error for RefusedManifest<B> {}
