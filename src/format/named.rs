//! Names in a manifest that was refused: there is no index to ask, but the bytes are still there.

use super::Generation;
use super::frame::Container;
use super::v0_1;
use super::v1;
use super::v2;
use crate::brief::Start;
use crate::cbor::Input;
use crate::error::Place;

/// What a place in a manifest is called, as far as it can be found out.
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

impl core::fmt::Debug for Named<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
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
        Container::V0 => {
            let name = place.object().and_then(|ordinal| v0_1::name(manifest, ordinal));
            let role = place.component().map(|_| &b"data"[..]);
            (Some(&v0_1::V0_1), name.map(|name| (name, role)))
        }
        Container::V1 => {
            let names = |object| v1::names(manifest, object, place.component());
            (v1::dialect(manifest), place.object().and_then(names))
        }
        Container::V2 => {
            let names = |object| v2::names(manifest, object, place.component());
            (Some(&v2::V2), place.object().and_then(names))
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
