//! Makes pseudorandom contents from a seed.

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
    /// All features of a 1.2 file.
    Everything,
    /// No attribute values that Python cannot represent: tags, and keys that cannot be hashed.
    Python,
    /// Nor anything for which ztensor 1.1.1 in Python rejects the whole file: file attributes that are not text, and a NUL in
    /// names. Nor rare shapes, formats and types.
    OldPython,
}

/// Returns a content. Most contents are small, and some have hundreds of objects.
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
