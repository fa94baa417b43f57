//! Contents that look random and follow from a seed.

mod attributes;
mod bytes;
mod names;
mod objects;

use fastrand::Rng;

use crate::content::{Content, Object};
use names::Names;

/// The set of features that a generated content may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taste {
    /// Whatever a 1.2 file may hold.
    Everything,
    /// No attribute values that Python has no word for: tags, keys that cannot be hashed.
    Python,
    /// Nor what 1.1.1 in Python rejects a whole file for: attributes of the file that are not
    /// text, NUL in names. Nor shapes, formats and types that are rare.
    OldPython,
}

/// One content. Most are small, some have hundreds of objects.
pub(crate) fn content(rng: &mut Rng, taste: Taste) -> Content {
    let count = match rng.u8(..20) {
        0 => 0,
        1 => rng.usize(150..400),
        _ => rng.usize(1..16),
    };
    let mut names = Names::default();
    let many = count > 100;
    let objects = (0..count).map(|_| {
        let name = names.next(rng, taste);
        let mut object = objects::object(rng, taste, name, many);
        if rng.u8(..4) == 0 {
            object.attributes = Some(attributes::attributes(rng, taste, false));
        }
        object
    });
    let objects: Vec<Object> = objects.collect();
    let attributes = rng.bool().then(|| {
        let text_only = taste == Taste::OldPython;
        attributes::attributes(rng, taste, text_only)
    });
    Content { attributes, objects }
}
