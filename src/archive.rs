//! A whole file in memory.

use core::ops::{Deref, Range};

use crate::brief::Bytes;
use crate::codec::ReadAt;
use crate::error::{Error, Misuse};
use crate::format::frame::{Container, Frame};
#[cfg(feature = "std")]
use crate::front::Parsed;
use crate::limits::Options;
use crate::manifest::{Manifest, ValidatedManifest};
use crate::num::u64_from_usize;
use crate::verify::{Summary, Verifier};

/// A file whose bytes are all in memory, and its [`Manifest`], to which it derefs.
///
/// `B` holds the bytes of the whole file: `&[u8]`, `Vec<u8>`, `Arc<[u8]>`, or a map that the caller
/// has made. An archive that owns them has no lifetime, and can be stored in a struct; it is
/// `Send` and `Sync` where `B` is. Its objects know the file, so that their views cannot be of
/// another one.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file: Vec<u8> = std::fs::read("corpus/accept/1.2.3/dense_all.zt")?;
/// let archive = zten::Archive::open(file)?;
/// let view = archive.get("t_f32").unwrap().dense()?.view()?;
/// for x in view.elements::<f32>()? {
///     println!("{x}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// What [`Manifest`] says of a `B` that gives other bytes each time holds here too.
pub struct Archive<B> {
    manifest: Manifest<B>,
}

impl<B: AsRef<[u8]>> Archive<B> {
    /// Opens a file with the default options.
    ///
    /// # Errors
    /// Any rule of the catalogue but those that need data.
    pub fn open(file: B) -> Result<Self, Error> {
        Self::open_with(file, &Options::default())
    }

    /// Opens a file.
    ///
    /// # Errors
    /// Any rule of the catalogue but those that need data.
    pub fn open_with(file: B, options: &Options) -> Result<Self, Error> {
        let (section, validated) = parse(file.as_ref(), options)?;
        Ok(Self { manifest: Manifest::within(file, section, validated) })
    }

    /// The archive of a file of another format, whose header has been parsed. Unstable.
    ///
    /// # Errors
    /// [`Misuse::Supply`](crate::error::Misuse::Supply): the file has another length than the parser was told.
    #[cfg(feature = "std")]
    #[doc(hidden)]
    pub fn from_front(file: B, parsed: Parsed) -> Result<Self, Error> {
        Ok(Self { manifest: Manifest::of_front(file, parsed.into_parts())? })
    }

    /// Reads all of the file and validates what opening does not: sizes, compression, digests, bools,
    /// indices; in a file opened as canonical the padding, too. With the limits that it was opened
    /// with. Memory does not depend on the size of the file. [`Verifier`] does the same object by
    /// object.
    ///
    /// ```
    /// # let file = std::fs::read("corpus/accept/1.2.3/csr_raw.zt").unwrap();
    /// let verified = zten::Archive::open(file)?.verify()?;
    /// assert_eq!((verified.components(), verified.digests()), (18, 0));
    /// # Ok::<(), zten::Error>(())
    /// ```
    ///
    /// # Errors
    /// Any rule on content; what is unsupported, a digest that cannot be verified among it.
    pub fn verify(&self) -> Result<Summary, Error> {
        let data = self.data();
        let mut verifier = Verifier::new(u64_from_usize(data.len()), self.limits());
        Ok(verifier.file(&self.manifest, data)?)
    }

    /// The bytes of the file.
    pub fn data(&self) -> &[u8] {
        self.manifest.bytes.as_ref()
    }
}

impl<B> Archive<B> {
    /// The manifest, whose objects know the file.
    pub fn manifest(&self) -> &Manifest<B> {
        &self.manifest
    }

    /// The manifest, with the file.
    pub fn into_manifest(self) -> Manifest<B> {
        self.manifest
    }
}

impl<B: AsRef<[u8]>> core::fmt::Debug for Archive<B> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Archive")
            .field("data", &Bytes(self.data()))
            .field("manifest", &self.manifest)
            .finish()
    }
}

impl<B: AsRef<[u8]>> ReadAt for Archive<B> {
    type Error = Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.data().read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.data().bytes_at(offset, length)
    }
}

impl<B> Deref for Archive<B> {
    type Target = Manifest<B>;

    fn deref(&self) -> &Manifest<B> {
        &self.manifest
    }
}

/// Opens a file whose bytes are all there, by the steps of [`open`](crate::open): the range of its manifest, and the
/// manifest.
fn parse(file: &[u8], options: &Options) -> Result<(Range<usize>, ValidatedManifest), Error> {
    let section = |range: &Range<u64>| {
        let start = usize::try_from(range.start).ok();
        start.zip(usize::try_from(range.end).ok()).map(|(start, end)| start..end)
    };
    let supply = Error::misuse(Misuse::Supply);
    let fetch = |range| file.get(section(range)?);
    let length = u64_from_usize(file.len());
    let header = Container::header_range(length)?;
    let container = Container::read(fetch(&header).ok_or(supply)?)?;
    let footer = container.footer_range(length)?;
    let bytes = fetch(&footer).ok_or(supply)?;
    let frame = Frame::read(container, bytes, footer, options.limit())?;
    let section = section(&frame.manifest).ok_or(supply)?;
    let manifest = file.get(section.clone()).ok_or(supply)?;
    Ok((section, ValidatedManifest::validate(&frame, manifest, options)?))
}
