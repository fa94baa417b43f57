//! Writing of NumPy files (`.npy`). Arrays are row-major, and little-endian except for opaque elements.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::cbor::Attributes;
use crate::npy;
use crate::num::u64_from_usize;
use crate::number::NumberKind;

use super::array::{self, Array, ArrayList, Inexpressible, OpaqueType, WriteFailure};
use super::element;
use super::format::WrittenFormat;

/// The largest number of dimensions of a NumPy array.
const RANK: usize = 64;

/// Checks that `list` can be written as an `.npy` file: that it has exactly one array, whose type NumPy has, and no attributes.
/// Returns the ordinal and length in bytes of the array. The name of the array is not written, since the name of the file
/// replaces it.
pub(super) fn begin<L: ArrayList + ?Sized, E>(
    list: &L,
) -> Result<Vec<(u32, u64)>, WriteFailure<E>> {
    check_attributes(&list.attributes(), WrittenFormat::Npy)?;
    if list.count() != 1 {
        let count = list.count();
        let sentence = format!("it has {count} tensors; a .npy file holds exactly one");
        return Err(Inexpressible::file(sentence).into());
    }
    let array = array::array(list, 0)?;
    Ok(vec![(0, check(list.name(0), &array, list.opaque(0), WrittenFormat::Npy)?)])
}

/// Checks that NumPy can hold `array`, and returns the length of its elements in bytes. `opaque` is the type of the elements if
/// zten does not interpret it. `name` and `format` are for errors.
pub(super) fn check(
    name: &str,
    array: &Array,
    opaque: Option<OpaqueType<'_>>,
    format: WrittenFormat,
) -> Result<u64, Inexpressible> {
    let rejected = |sentence: String| Inexpressible::tensor(name, sentence);
    let size = match opaque {
        Some(opaque) => opaque.size,
        None => u64_from_usize(kind(name, array, format)?.width()),
    };
    if array.shape.len() > RANK {
        let sentence = format!("it has more than {RANK} dimensions, the maximum of NumPy");
        return Err(rejected(sentence));
    }
    let data = data(array, size).ok_or_else(|| {
        let sentence = "its size in bytes, computed without the dimensions that are 0, \
                        does not fit in 63 bits, as NumPy requires";
        rejected(sentence.to_owned())
    })?;
    header(name, array, opaque, format)?;
    Ok(data)
}

/// Returns the header of `array`, whose elements may be `opaque`. `name` and `format` are for errors.
pub(super) fn header(
    name: &str,
    array: &Array,
    opaque: Option<OpaqueType<'_>>,
    format: WrittenFormat,
) -> Result<Vec<u8>, Inexpressible> {
    let header = match opaque {
        Some(opaque) => npy::opaque_header(opaque.name, &array.shape),
        None => npy::header(kind(name, array, format)?, &array.shape),
    };
    header.map_err(|sentence| Inexpressible::tensor(name, sentence))
}

/// Returns the NumPy type of the elements of `array`. `name` and `format` are for errors.
fn kind(name: &str, array: &Array, format: WrittenFormat) -> Result<NumberKind, Inexpressible> {
    element::numpy(array.dtype).ok_or_else(|| {
        let (dtype, suffix) = (array.dtype, format.suffix());
        let sentence = format!("a .{suffix} file cannot hold the type {dtype}");
        Inexpressible::tensor(name, sentence)
    })
}

/// Returns the length in bytes of all elements of `array`, of `size` bytes each. Returns `None` if `size` times the product of
/// the nonzero dimensions exceeds `i64::MAX`: NumPy rejects such an array even if another dimension is 0.
fn data(array: &Array, size: u64) -> Option<u64> {
    let mut sides = array.shape.iter().filter(|side| **side != 0);
    let bytes = sides.try_fold(size, |product, side| product.checked_mul(*side))?;
    i64::try_from(bytes).ok()?;
    Some(if array.shape.contains(&0) { 0 } else { bytes })
}

/// Checks that `attributes` has no entries, because NumPy files cannot hold attributes. `format` is for the error.
pub(super) fn check_attributes(
    attributes: &Attributes<'_>,
    format: WrittenFormat,
) -> Result<(), Inexpressible> {
    let Some((key, _)) = attributes.clone().next() else { return Ok(()) };
    let suffix = format.suffix();
    Err(Inexpressible::attribute(key, format_args!("cannot be written to a .{suffix} file")))
}
