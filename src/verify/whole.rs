//! All objects of a file, one after another.

use super::Verifier;
#[cfg(feature = "v2")]
use crate::codec::Files;
use crate::codec::{Locate, ReadAt, ReadError, Single};
use crate::error::{Error, ErrorKind};
use crate::manifest::{Manifest, ManifestRef};

impl Verifier {
    /// Reads all objects of a file, and in one that was opened as canonical the padding. What is not
    /// supported does not keep the rest from being validated: a broken rule further on says more
    /// about the file.
    ///
    /// # Errors
    /// As [`object`](Self::object) and [`alone`](Self::alone); `canonical-padding`, `canonical-sharing`.
    pub fn file<R: ReadAt + ?Sized>(
        &mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        source: &R,
    ) -> Result<Summary, ReadError<R::Error>> {
        self.whole(manifest.parts(), source)
    }

    /// As [`file`](Self::file), of a file whose shards have been looked for: those are read and
    /// verified, too.
    ///
    /// # Errors
    /// As [`object_in`](Self::object_in) and [`shards`](Self::shards); `canonical-padding`, `canonical-sharing`.
    #[cfg(feature = "v2")]
    pub fn file_in<R, S>(
        &mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        files: Files<'_, '_, R, S>,
    ) -> Result<Summary, ReadError<R::Error>>
    where
        R: ReadAt + ?Sized,
        S: ReadAt<Error = R::Error>,
    {
        let manifest = manifest.parts();
        let (summary, unsupported) = self.objects(manifest, files, files.root)?;
        let whole = self.shards(files.shards);
        settle(summary, unsupported, whole)
    }

    /// Validates that a file lists no shards (2), whether components are in them or not: they are
    /// other files than this one. v2 §7.1. After all objects, it is what
    /// [`file`](Self::file) does.
    ///
    /// # Errors
    /// `unsupported-shard`, at the first one.
    pub fn alone(&self, manifest: &Manifest<impl AsRef<[u8]>>) -> Result<(), Error> {
        elsewhere(manifest.parts()).map_or(Ok(()), Err)
    }

    fn whole<R: ReadAt + ?Sized>(
        &mut self,
        manifest: ManifestRef<'_>,
        source: &R,
    ) -> Result<Summary, ReadError<R::Error>> {
        let (summary, unsupported) = self.objects(manifest, Single(source), source)?;
        let alone = elsewhere(manifest).map_or(Ok(()), |error| Err(error.into()));
        settle(summary, unsupported, alone)
    }

    /// All objects, and the padding of `root`: what has been read, and the first that is not
    /// supported.
    fn objects<L: Locate + Copy, R: ReadAt<Error = <L::Source as ReadAt>::Error> + ?Sized>(
        &mut self,
        manifest: ManifestRef<'_>,
        files: L,
        root: &R,
    ) -> Result<(Summary, Option<Error>), ReadError<R::Error>> {
        let mut summary = Summary::default();
        let mut unsupported = None;
        for object in manifest.objects() {
            match self.located(&object, files, |_, _| ()) {
                Ok(()) => {}
                Err(ReadError::Refused(error)) if is_unsupported(&error) => {
                    unsupported = unsupported.or(Some(error));
                }
                Err(error) => return Err(error),
            }
            for component in object.components() {
                let digest = u64::from(component.digest().is_some());
                summary.components = summary.components.saturating_add(1);
                summary.digests = summary.digests.saturating_add(digest);
            }
        }
        #[cfg(feature = "write")]
        if manifest.options().is_canonical() {
            self.form(manifest, root)?;
        }
        #[cfg(not(feature = "write"))]
        let _ = root;
        Ok((summary, unsupported))
    }
}

/// Of what is wrong with objects and with shards, what says more about the file.
fn settle<E>(
    summary: Summary,
    unsupported: Option<Error>,
    shards: Result<(), ReadError<E>>,
) -> Result<Summary, ReadError<E>> {
    match (shards, unsupported) {
        (Err(ReadError::Refused(error)), Some(first)) if is_unsupported(&error) => {
            Err(first.into())
        }
        (Err(error), _) => Err(error),
        (Ok(()), Some(first)) => Err(first.into()),
        (Ok(()), None) => Ok(summary),
    }
}

fn is_unsupported(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported(_))
}

/// Why a file that is read without its shards is not supported, if it lists any.
fn elsewhere(manifest: ManifestRef<'_>) -> Option<Error> {
    #[cfg(feature = "v2")]
    return manifest.missing_shard();
    #[cfg(not(feature = "v2"))]
    {
        let _ = manifest;
        None
    }
}

/// What verifying a whole file has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    components: u64,
    digests: u64,
}

impl Summary {
    /// How many components were read, all of which keep every rule.
    pub fn components(&self) -> u64 {
        self.components
    }

    /// How many of them have a digest, all of which match: of the others, changed bytes that break
    /// no rule go unseen.
    pub fn digests(&self) -> u64 {
        self.digests
    }
}
