//! NumPy files: version 1.0, little-endian, the last index moving fastest.

use std::io::Write;

use zten::attributes::Attributes;
use zten::num::u64_from_usize;
use zten_report::npy;

use super::array::{self, Array, ArraySource, Failure, Inexpressible};
use super::element;
use super::format::WrittenFormat;

/// Dimensions that NumPy's arrays have, at most.
const RANK: usize = 64;

/// Writes the only array. Its name is that of the file, whatever that is.
pub(super) fn write<E>(
    source: &mut dyn ArraySource<Error = E>,
    out: &mut impl Write,
) -> Result<(), Failure<E>> {
    check_attributes(&source.attributes(), WrittenFormat::Npy)?;
    if source.count() != 1 {
        let count = source.count();
        let sentence = format!("it has {count} objects; a .npy file holds exactly one");
        return Err(Inexpressible::file(sentence).into());
    }
    let header = Header::new(source.name(0), &array::array(source, 0)?, WrittenFormat::Npy)?;
    out.write_all(&header.bytes)?;
    array::copy(source, 0, header.data, &mut |chunk| out.write_all(chunk))
}

/// Checks that an array can be the only one of a file.
pub(super) fn check(name: &str, array: &Array) -> Result<(), Inexpressible> {
    Header::new(name, array, WrittenFormat::Npy).map(drop)
}

/// The header of a NumPy file, which precedes the elements.
pub(super) struct Header {
    pub(super) bytes: Vec<u8>,
    /// Bytes of the elements.
    pub(super) data: u64,
}

impl Header {
    /// Returns the header of one of the arrays.
    pub(super) fn new(
        name: &str,
        array: &Array,
        format: WrittenFormat,
    ) -> Result<Self, Inexpressible> {
        let rejected = |sentence: String| Inexpressible::tensor(name, sentence);
        let kind = element::numpy(array.dtype).ok_or_else(|| {
            let (dtype, suffix) = (array.dtype, format.suffix());
            rejected(format!("a .{suffix} file cannot hold the type {dtype}"))
        })?;
        if array.shape.len() > RANK {
            let sentence = format!("it has more than {RANK} dimensions, the maximum of NumPy");
            return Err(rejected(sentence));
        }
        let data = data(array, kind.width()).ok_or_else(|| {
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
pub(super) fn check_attributes(
    attributes: &Attributes<'_>,
    format: WrittenFormat,
) -> Result<(), Inexpressible> {
    let Some((key, _)) = attributes.clone().next() else { return Ok(()) };
    let suffix = format.suffix();
    Err(Inexpressible::attribute(key, format_args!("cannot be written to a .{suffix} file")))
}
