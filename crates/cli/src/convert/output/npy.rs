//! NumPy files: version 1.0, little-endian, the last index moving fastest.

use std::io::Write;

use zten::num::u64_from_usize;

use super::array::{self, Array, Failure, Source};
use super::element;
use crate::npy;

/// Dimensions that NumPy's arrays have, at most.
const RANK: usize = 64;

/// Writes the only array. Its name is that of the file, whatever that is.
pub(super) fn write(source: &mut dyn Source, out: &mut impl Write) -> Result<(), Failure> {
    no_attributes(source, "npy")?;
    if source.count() != 1 {
        let count = source.count();
        let sentence = format!("it has {count} objects; a .npy file holds exactly one");
        return Err(Failure::file(sentence));
    }
    let header = Header::new(source, 0, "npy")?;
    out.write_all(&header.bytes)?;
    array::copy(source, 0, header.data, &mut |chunk| out.write_all(chunk))
}

/// The header of a NumPy file, which precedes the elements.
pub(super) struct Header {
    pub(super) bytes: Vec<u8>,
    /// Bytes of the elements.
    pub(super) data: u64,
}

impl Header {
    /// Returns the header of one of the arrays.
    pub(super) fn new(source: &dyn Source, at: usize, suffix: &str) -> Result<Self, Failure> {
        let array = array::array(source, at)?;
        let rejected = |sentence: String| Failure::object(source.name(at), sentence);
        let kind = element::numpy(array.dtype).ok_or_else(|| {
            let name = array.dtype;
            rejected(format!("a .{suffix} file cannot hold the type {name}"))
        })?;
        if array.shape.len() > RANK {
            let sentence = format!("it has more than {RANK} dimensions, the maximum of NumPy");
            return Err(rejected(sentence));
        }
        let data = data(&array, kind.width()).ok_or_else(|| {
            rejected("its shape exceeds the maximum of NumPy, zeros or not".to_owned())
        })?;
        let bytes = npy::header(kind, &array.shape).map_err(rejected)?;
        Ok(Self { bytes, data })
    }
}

/// Bytes of all elements. NumPy multiplies the dimensions that are not 0 all the same.
fn data(array: &Array, width: usize) -> Option<u64> {
    let mut sides = array.shape.iter().filter(|side| **side != 0);
    let bytes =
        sides.try_fold(u64_from_usize(width), |product, side| product.checked_mul(*side))?;
    i64::try_from(bytes).ok()?;
    Some(if array.shape.contains(&0) { 0 } else { bytes })
}

/// Fails if there are attributes, for which the format has no place.
pub(super) fn no_attributes(source: &dyn Source, suffix: &str) -> Result<(), Failure> {
    let Some((key, _)) = source.attributes().next() else { return Ok(()) };
    Err(Failure::attribute(key, &format!("cannot be written to a .{suffix} file")))
}
