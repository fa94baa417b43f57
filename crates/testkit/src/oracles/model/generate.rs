//! Generates models of files from fuzzer input.

use arbitrary::{Arbitrary, Result, Unstructured};
use zten::write::{Checksum, canonical_order};

use super::{Model, mistakes, objects, values};

/// The largest number of objects of a model.
const OBJECTS: u8 = 6;
/// The largest number of changes that are made to a written file.
const DAMAGES: u8 = 3;

impl<'a> Arbitrary<'a> for Model {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let canonical = u.ratio(1, 3)?;
        let checksum = *u.choose(&[Checksum::None, Checksum::Crc32c, Checksum::Sha256])?;
        let attributes = match u.int_in_range(0..=7)? {
            0..4 => None,
            4 => Some(raw(u)?),
            _ => Some(values::attributes(u)?),
        };
        let late = u.arbitrary()?;
        let count = u.int_in_range(0..=OBJECTS)?;
        let mut objects = Vec::new();
        for _ in 0..count {
            let mut object = objects::right(u, canonical)?;
            if u.ratio(1, 4)? {
                object.right = false;
                mistakes::make(u, &mut object)?;
            }
            objects.push(object);
        }
        if canonical && u.ratio(7, 8)? {
            objects.sort_by(|a, b| canonical_order(&a.name, &b.name));
        }
        let count = u.int_in_range(0..=DAMAGES)?;
        let damage = (0..count).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        let splits = (0..4).map(|_| u.arbitrary()).collect::<Result<_>>()?;
        Ok(Self { checksum, canonical, attributes, late, objects, damage, splits })
    }
}

/// Generates bytes that are hardly ever CBOR.
pub(crate) fn raw(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let length = u.int_in_range(0..=8)?;
    let bytes: Vec<u8> = (0..length).map(|_| u.arbitrary()).collect::<Result<_>>()?;
    // In half of the cases the bytes become the value of an attribute in a valid map, so that more checks than the
    // first are reached.
    Ok(if u.arbitrary()? { [b"\xa1\x61a", &bytes[..]].concat() } else { bytes })
}
