//! A manifest that was refused: its bytes are still there, and say what the place of the error is
//! called.

use core::fmt;
use core::ops::Range;

use crate::brief::{Bytes, Start};
use crate::cbor::{Input, UNLIMITED, array_head, nth_key, pass, text};
use crate::error::{Error, Place};
use crate::format::frame::{Container, Frame};
use crate::format::{Field, Generation, v0_1, v1, v2};
use crate::rules::Rule;

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
        self.frame.manifest.clone()
    }

    /// What holds the bytes of the manifest.
    pub fn into_inner(self) -> B {
        self.bytes
    }
}

impl<B: AsRef<[u8]>> RefusedManifest<B> {
    /// Returns the names of the place of the error, as far as the manifest can be read. Nothing is
    /// allocated; time is linear in the bytes before the place.
    pub fn named(&self) -> Named<'_> {
        named(self.frame.container, self.bytes.as_ref(), self.error.place())
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

/// The names of a place in a manifest, as far as they can be found out.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Named<'m> {
    /// Which rules the file follows.
    pub generation: Option<Generation>,
    /// The name of the object: any UTF-8, as [`Object::name`](crate::Object::name).
    pub object: Option<&'m str>,
    /// The role of the component.
    pub component: Option<&'m str>,
}

impl fmt::Debug for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Named")
            .field("generation", &self.generation)
            .field("object", &self.object.map(Start))
            .field("component", &self.component.map(Start))
            .finish()
    }
}

/// Looks for the names at `place`, which is as far as the manifest need be in order.
pub(crate) fn named(container: Container, manifest: Input<'_>, place: Place) -> Named<'_> {
    let (dialect, names) = match container {
        Container::V0 => (Some(&v0_1::V0_1), entry(manifest, place)),
        Container::V1 => {
            let fields = [v1::RootKey::objects.field(), v1::ObjectKey::components.field()];
            (v1::dialect(manifest), names(fields, manifest, place))
        }
        Container::V2 => {
            let fields = [v2::RootKey::objects.field(), v2::ObjectKey::parts.field()];
            (Some(&v2::V2), names(fields, manifest, place))
        }
    };
    let text = |bytes| core::str::from_utf8(bytes).ok();
    let object = names.and_then(|(object, _)| text(object));
    Named {
        generation: dialect.and_then(|dialect| dialect.generation),
        object,
        // A role without its object names no place.
        component: object.and(names).and_then(|(_, role)| text(role?)),
    }
}

/// The names of an object and of a component of it, in a manifest that need be in order up to there only.
type Names<'m> = Option<(Input<'m>, Option<Input<'m>>)>;

/// Looks for names in a manifest whose root and objects have those fields.
fn names([objects, components]: [Field; 2], manifest: Input<'_>, place: Place) -> Names<'_> {
    let (map, name) = nth_key(objects.find(manifest)?, place.object()?)?;
    let role = place.component().and_then(|ordinal| nth_key(components.find(map)?, ordinal));
    Some((name, role.map(|(_, role)| role)))
}

/// Looks for the name of an entry of 0.1.
fn entry(manifest: Input<'_>, place: Place) -> Names<'_> {
    let (mut input, mut entries) = array_head(Rule::RootType, UNLIMITED, manifest).ok()?;
    for _ in 0..place.object()? {
        entries.next(input).then_some(())?;
        input = pass(input)?;
    }
    entries.next(input).then_some(())?;
    let name = v0_1::EntryKey::name.field().find(input)?;
    let (_, name) = text(Rule::NameType, name).ok()?;
    Some((name, place.component().map(|_| &b"data"[..])))
}
