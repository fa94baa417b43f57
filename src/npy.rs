//! Writing the headers of NumPy files: of version 1.0, or of version 3.0 for a dtype that is not ASCII.

use core::iter;
use std::borrow::ToOwned as _;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

use crate::number::NumberKind;

/// Returns the header of an `.npy` file for an array of `shape` whose elements are of the type `kind`: magic, version, length,
/// and a Python literal that is padded so that the elements, which follow the header, begin at a multiple of 64 bytes.
///
/// # Errors
/// A sentence for the user, if the literal is longer than 65,535 bytes.
pub fn header(kind: NumberKind, shape: &[u64]) -> Result<Vec<u8>, String> {
    of_descr(&format!("'{}'", kind.numpy()), shape)
}

/// Returns the header of an `.npy` file for an array of `shape` whose elements zten does not interpret. `type_name` is the name
/// of their type as [`Component::type_name`](crate::Component::type_name) returns it: a name such as `<U7`, or a Python list of
/// the fields of records.
///
/// # Errors
/// The errors of [`header`].
pub fn opaque_header(type_name: &str, shape: &[u64]) -> Result<Vec<u8>, String> {
    let is_list = type_name.trim_ascii_start().starts_with('[');
    let quotes = if is_list { "" } else { "'" };
    of_descr(&format!("{quotes}{type_name}{quotes}"), shape)
}

/// Returns the header of an `.npy` file for an array of `shape`, whose dtype is given as a Python literal, `descr`.
fn of_descr(descr: &str, shape: &[u64]) -> Result<Vec<u8>, String> {
    let dimensions: Vec<_> = shape.iter().map(u64::to_string).collect();
    let shape = match dimensions.as_slice() {
        [only] => format!("({only},)"),
        all => format!("({})", all.join(", ")),
    };
    let mut literal = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    // Readers take the text of version 1.0 as Latin-1, and that of version 3.0 as UTF-8. The length has 2 or 4 bytes.
    let is_old = literal.is_ascii();
    // The magic, version and length take 10 or 12 bytes before the literal, which ends with a newline.
    let start = if is_old { 10 } else { 12 };
    let own = literal.len().saturating_add(start).saturating_add(1);
    literal.extend(iter::repeat_n(' ', own.next_multiple_of(64).saturating_sub(own)));
    literal.push('\n');
    // zten's own reader rejects a longer literal, also in version 3.0.
    let Ok(length) = u16::try_from(literal.len()) else {
        return Err("the dtype or shape is too long for the header of a NumPy file".to_owned());
    };
    let mut header = b"\x93NUMPY".to_vec();
    if is_old {
        header.extend([1, 0]);
        header.extend(length.to_le_bytes());
    } else {
        header.extend([3, 0]);
        header.extend(u32::from(length).to_le_bytes());
    }
    header.extend(literal.bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use std::vec;

    use crate::element::StorageType;

    use super::*;

    #[test]
    fn headers() {
        for (shape, literal) in [(&[][..], "()"), (&[5], "(5,)"), (&[2, 3], "(2, 3)")] {
            let header = header(NumberKind::Plain(StorageType::F32), shape).unwrap();
            assert_eq!(header.len() % 64, 0);
            assert_eq!(&header[..8], b"\x93NUMPY\x01\0");
            assert_eq!(usize::from(u16::from_le_bytes([header[8], header[9]])), header.len() - 10);
            let text = std::str::from_utf8(&header[10..]).unwrap();
            let wanted =
                format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {literal}, }}");
            assert_eq!(text.trim_end(), wanted);
            assert!(text.ends_with('\n'));
        }
    }

    #[test]
    fn headers_of_opaque_elements() {
        let header = |name| opaque_header(name, &[2]).unwrap();
        let text = |header: &[u8], from: usize| {
            assert_eq!(header.len() % 64, 0);
            std::str::from_utf8(&header[from..]).unwrap().trim_end().to_owned()
        };
        let names = header("<U7");
        let wanted = "{'descr': '<U7', 'fortran_order': False, 'shape': (2,), }";
        assert_eq!((&names[6..8], &*text(&names, 10)), (&[1, 0][..], wanted));
        let records = header("[('é', '<f4')]");
        let wanted = "{'descr': [('é', '<f4')], 'fortran_order': False, 'shape': (2,), }";
        assert_eq!((&records[6..8], &*text(&records, 12)), (&[3, 0][..], wanted));
        let length = u32::from_le_bytes([records[8], records[9], records[10], records[11]]);
        assert_eq!(usize::try_from(length).unwrap(), records.len() - 12);
    }

    #[test]
    fn too_many_dimensions() {
        assert!(header(NumberKind::Plain(StorageType::U8), &vec![u64::MAX; 4096]).is_err());
    }
}
