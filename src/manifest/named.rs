//! Names in a manifest that was refused: there is no index to ask, but the bytes are still there.

use nom::Parser as _;

use super::Generation;
use super::object::string;
use crate::brief::Start;
use crate::cbor::{Input, UNLIMITED, array_head, find, nth_key, skip};
use crate::error::Place;
use crate::frame::Container;
use crate::limits::format::DEPTH_CAP;
use crate::rules::Rule;
use crate::schema::{v0_1, v1};

/// What a place in a manifest is called, as far as it can be found out.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Named<'m> {
    /// Which rules the file follows.
    pub generation: Option<Generation>,
    /// The name of the object: any UTF-8, as [`Object::name`](super::Object::name).
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
    let generation = match container {
        Container::V0 => Some(Generation::V0_1),
        Container::V1 => generation(manifest),
    };
    let unnamed = Named { generation, ..Named::default() };
    let found = place.object().and_then(|ordinal| match container {
        Container::V0 => Some((entry(manifest, ordinal)?, place.component().map(|_| v0_1::ROLE))),
        Container::V1 => {
            let (object, name) = nth_key(find(manifest, "objects")?, ordinal)?;
            Some((text(name)?, place.component().and_then(|ordinal| role(object, ordinal))))
        }
    });
    found.map_or(unnamed, |(object, component)| Named {
        object: Some(object),
        component,
        ..unnamed
    })
}

/// Which rules a 1.x file follows.
fn generation(manifest: Input<'_>) -> Option<Generation> {
    let version = v1::version(string(find(manifest, "version")?)?)?;
    (version.major == 1).then(|| Generation::of(version))
}

/// The name of a 0.1 entry.
fn entry(manifest: Input<'_>, ordinal: u32) -> Option<&str> {
    let (mut input, mut entries) = array_head(Rule::RootType, UNLIMITED).parse(manifest).ok()?;
    for _ in 0..ordinal {
        entries.next(input).then_some(())?;
        input = skip(input, 0, DEPTH_CAP).ok()?.0;
    }
    entries.next(input).then_some(())?;
    string(find(input, "name")?)
}

/// The role of a component of the 1.x object whose map is at `object`.
fn role(object: Input<'_>, ordinal: u32) -> Option<&str> {
    let (_, role) = nth_key(find(object, "components")?, ordinal)?;
    text(role)
}

fn text(bytes: &[u8]) -> Option<&str> {
    core::str::from_utf8(bytes).ok()
}
