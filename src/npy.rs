//! Headers of NumPy files, version 1.0.

use core::iter;
use std::borrow::ToOwned as _;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

use crate::number::Kind;

/// Returns the header before the elements: magic, version, length, and a Python literal that is padded
/// so that the elements begin at a multiple of 64.
pub fn header(kind: Kind, shape: &[u64]) -> Result<Vec<u8>, String> {
    let dimensions: Vec<_> = shape.iter().map(u64::to_string).collect();
    let shape = match dimensions.as_slice() {
        [only] => format!("({only},)"),
        all => format!("({})", all.join(", ")),
    };
    let mut literal =
        format!("{{'descr': '{}', 'fortran_order': False, 'shape': {shape}, }}", kind.numpy());
    // The magic, version and length take 10 bytes before the literal, which ends with a newline.
    let own = literal.len().saturating_add(10 + 1);
    literal.extend(iter::repeat_n(' ', own.next_multiple_of(64).saturating_sub(own)));
    literal.push('\n');
    let Ok(length) = u16::try_from(literal.len()) else {
        return Err("the shape has too many dimensions for a NumPy file".to_owned());
    };
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    header.extend(length.to_le_bytes());
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
            let header = header(Kind::Plain(StorageType::F32), shape).unwrap();
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
    fn too_many_dimensions() {
        assert!(header(Kind::Plain(StorageType::U8), &vec![u64::MAX; 4096]).is_err());
    }
}
