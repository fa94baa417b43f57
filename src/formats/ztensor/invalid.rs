//! Finding the names of an object and a component in a rejected manifest.

use crate::cbor::{Input, UNLIMITED, array_head, nth_key, pass, text};
use crate::error::{Location, Named};
use crate::rules::Rule;

use super::frame::{Container, Frame};
use super::{Field, v0_1, v1, v2};

/// Finds the name of the object and the role of the component whose ordinals `location` gives, for an error about `manifest`.
/// The manifest may be malformed after that component. A name that is not found is `None`.
pub(crate) fn named<'m>(frame: &Frame, manifest: Input<'m>, location: Location) -> Named<'m> {
    let (dialect, names) = match frame.container {
        Container::V0 => (Some(&v0_1::V0_1), entry(manifest, location)),
        Container::V1 => {
            let fields = [v1::RootKey::objects.field(), v1::ObjectKey::components.field()];
            (v1::dialect(manifest), names(fields, manifest, location))
        }
        Container::V2 => {
            let fields = [v2::RootKey::objects.field(), v2::ObjectKey::parts.field()];
            (Some(&v2::V2), names(fields, manifest, location))
        }
    };
    let text = |bytes| core::str::from_utf8(bytes).ok();
    let tensor = names.and_then(|(object, _)| text(object));
    Named {
        generation: dialect.and_then(|dialect| dialect.facts.generation),
        tensor,
        // A role without the name of its object does not identify a component.
        component: tensor.and(names).and_then(|(_, role)| text(role?)),
        manifest: Some(frame.manifest.clone()),
    }
}

/// The name of an object, and the role of one of its components if the error is about a component. `None` if no name was
/// found.
type Names<'m> = Option<(Input<'m>, Option<Input<'m>>)>;

/// Finds the name of an object and the role of a component by the ordinals in `location`, in a manifest of 1.x or 2.
/// `objects` and `components` are the fields that hold the objects and their components.
fn names([objects, components]: [Field; 2], manifest: Input<'_>, location: Location) -> Names<'_> {
    let (map, name) = nth_key(objects.find(manifest)?, location.object()?)?;
    let role = location.component().and_then(|ordinal| nth_key(components.find(map)?, ordinal));
    Some((name, role.map(|(_, role)| role)))
}

/// Finds the name of an object by the ordinal in `location`, in a manifest of 0.1. The role of its only component is `data`.
fn entry(manifest: Input<'_>, location: Location) -> Names<'_> {
    let (mut input, mut entries) = array_head(Rule::RootType, UNLIMITED, manifest).ok()?;
    for _ in 0..location.object()? {
        entries.next(input).then_some(())?;
        input = pass(input)?;
    }
    entries.next(input).then_some(())?;
    let name = v0_1::EntryKey::name.field().find(input)?;
    let (_, name) = text(Rule::NameType, name).ok()?;
    Some((name, location.component().map(|_| &b"data"[..])))
}
