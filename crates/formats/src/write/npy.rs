//! NumPy files: version 1.0, little-endian, the last index moving fastest.

use zten::attributes::Attributes;
use zten::num::u64_from_usize;
use zten_report::element::Kind;
use zten_report::npy;

use super::array::{self, Array, ArrayList, Failure, Inexpressible};
use super::element;
use super::format::WrittenFormat;

/// Dimensions that NumPy's arrays have, at most.
const RANK: usize = 64;

/// Checks a list that is to be written as a file, and returns the only array with its bytes. Its name is that of the file,
/// whatever that is.
pub(super) fn begin<L: ArrayList + ?Sized, E>(list: &L) -> Result<Vec<(u32, u64)>, Failure<E>> {
    check_attributes(&list.attributes(), WrittenFormat::Npy)?;
    if list.count() != 1 {
        let count = list.count();
        let sentence = format!("it has {count} objects; a .npy file holds exactly one");
        return Err(Inexpressible::file(sentence).into());
    }
    Ok(vec![(0, check(list.name(0), &array::array(list, 0)?, WrittenFormat::Npy)?)])
}

/// Checks that NumPy can hold an array, and returns the bytes of its elements.
pub(super) fn check(
    name: &str,
    array: &Array,
    format: WrittenFormat,
) -> Result<u64, Inexpressible> {
    let rejected = |sentence: String| Inexpressible::tensor(name, sentence);
    let kind = kind(name, array, format)?;
    if array.shape.len() > RANK {
        let sentence = format!("it has more than {RANK} dimensions, the maximum of NumPy");
        return Err(rejected(sentence));
    }
    let data = data(array, kind.width()).ok_or_else(|| {
        rejected("its shape exceeds the maximum of NumPy, zeros or not".to_owned())
    })?;
    header(name, array, format)?;
    Ok(data)
}

/// Returns the header of an array, which precedes the elements.
pub(super) fn header(
    name: &str,
    array: &Array,
    format: WrittenFormat,
) -> Result<Vec<u8>, Inexpressible> {
    let header = npy::header(kind(name, array, format)?, &array.shape);
    header.map_err(|sentence| Inexpressible::tensor(name, sentence))
}

/// Returns the type of the elements in NumPy.
fn kind(name: &str, array: &Array, format: WrittenFormat) -> Result<Kind, Inexpressible> {
    element::numpy(array.dtype).ok_or_else(|| {
        let (dtype, suffix) = (array.dtype, format.suffix());
        let sentence = format!("a .{suffix} file cannot hold the type {dtype}");
        Inexpressible::tensor(name, sentence)
    })
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
