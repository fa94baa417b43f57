//! All objects of a file, one after another.

use super::Verifier;
use crate::codec::{Deferred, Locate, ReadAt, ReadError};
use crate::codec::{Files, Shards};
use crate::error::Error;
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

    /// As [`file`](Self::file), of a file whose shards have been looked for: those are verified first, if they have
    /// not been.
    ///
    /// # Errors
    /// As [`object_in`](Self::object_in) and [`Shards::verify`]; `canonical-padding`, `canonical-sharing`.
    pub fn file_in<R, S>(
        &mut self,
        manifest: &Manifest<impl AsRef<[u8]>>,
        root: &R,
        shards: &mut Shards<'_, S>,
    ) -> Result<Summary, ReadError<R::Error>>
    where
        R: ReadAt + ?Sized,
        S: ReadAt<Error = R::Error>,
    {
        let whole = match shards.verify(&self.limits) {
            // Without memory they are not verified, and nothing can be read of them.
            Err(ReadError::Refused(error)) if error.id().is_some() => Some(error),
            other => other.map(|()| None)?,
        };
        let manifest = manifest.parts();
        let mut deferred = Deferred::default();
        let summary = self.objects(manifest, Files { root, shards }, &mut deferred);
        let summary = summary.map_err(ReadError::flatten)?;
        self.canonical(manifest, root)?;
        deferred.note(whole);
        deferred.finish(summary)
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
        let mut deferred = Deferred::default();
        let summary = self.objects(manifest, source, &mut deferred)?;
        self.canonical(manifest, source)?;
        deferred.note(elsewhere(manifest));
        deferred.finish(summary)
    }

    /// Reads all objects.
    fn objects<L: Locate>(
        &mut self,
        manifest: ManifestRef<'_>,
        files: L,
        deferred: &mut Deferred,
    ) -> Result<Summary, ReadError<<L::Source as ReadAt>::Error>> {
        let mut summary = Summary::default();
        for object in manifest.objects() {
            deferred.pass(self.located(&object, files, |_, _| ()))?;
            for component in object.components() {
                let digest = u64::from(component.digest().is_some());
                summary.components = summary.components.saturating_add(1);
                summary.digests = summary.digests.saturating_add(digest);
            }
        }
        Ok(summary)
    }

    /// Validates what a file that was opened as canonical has beside its objects.
    #[cfg_attr(
        not(feature = "write"),
        expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "no file is opened so")
    )]
    fn canonical<R: ReadAt + ?Sized>(
        &self,
        manifest: ManifestRef<'_>,
        root: &R,
    ) -> Result<(), ReadError<R::Error>> {
        #[cfg(feature = "write")]
        if manifest.options().is_canonical() {
            self.form(manifest, root)?;
        }
        let _ = (manifest, root);
        Ok(())
    }
}

/// Why a file that is read without its shards is not supported, if it lists any.
fn elsewhere(manifest: ManifestRef<'_>) -> Option<Error> {
    manifest.missing_shard()
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
