//! A whole file in memory.

use core::ops::Deref;

use crate::brief::Bytes;
use crate::error::{Error, Misuse};
use crate::limits::Options;
use crate::manifest::Manifest;
use crate::num::u64_from_usize;
use crate::open::Opening;

/// A file whose bytes are all in memory: a slice, or a map that the caller has made.
///
/// It derefs to its [`Manifest`]. Views borrow the slice and outlive the archive.
///
/// ```
/// # let file = std::fs::read("corpus/accept/1.2.3/dense_all.zt").unwrap();
/// let archive = zten::Archive::open(&file)?;
/// let object = archive.get("t_f32").unwrap();
/// let view = object.dense()?.bind(archive.data())?;
/// for x in view.elements::<f32>()? {
///     println!("{x}");
/// }
/// # Ok::<(), zten::Error>(())
/// ```
pub struct Archive<'d> {
    data: &'d [u8],
    manifest: Manifest<'d>,
}

impl<'d> Archive<'d> {
    /// Opens a file with the default options.
    ///
    /// # Errors
    /// Any rule of the catalogue but those that need data.
    pub fn open(data: &'d [u8]) -> Result<Self, Error> {
        Self::open_with(data, &Options::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Any rule of the catalogue but those that need data.
    pub fn open_with(data: &'d [u8], options: &Options) -> Result<Self, Error> {
        let fetch = |range: core::ops::Range<u64>| {
            let start = usize::try_from(range.start).ok()?;
            data.get(start..usize::try_from(range.end).ok()?)
        };
        let supply = Error::misuse(Misuse::Supply);
        let opening = Opening::new(u64_from_usize(data.len()), options)?;
        let footer = opening.header(fetch(opening.needs()).ok_or(supply)?)?;
        let body = footer.footer(fetch(footer.needs()).ok_or(supply)?)?;
        let manifest = fetch(body.needs()).ok_or(supply)?;
        Ok(Self { data, manifest: body.manifest(manifest)? })
    }

    /// The bytes of the file.
    pub fn data(&self) -> &'d [u8] {
        self.data
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest<'d> {
        &self.manifest
    }

    /// The manifest alone, which borrows the same bytes.
    pub fn into_manifest(self) -> Manifest<'d> {
        self.manifest
    }
}

impl core::fmt::Debug for Archive<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Archive")
            .field("data", &Bytes(self.data))
            .field("manifest", &self.manifest)
            .finish()
    }
}

impl<'d> Deref for Archive<'d> {
    type Target = Manifest<'d>;

    fn deref(&self) -> &Manifest<'d> {
        &self.manifest
    }
}
