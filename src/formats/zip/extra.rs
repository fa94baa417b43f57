//! The extra fields in the header of a member. Each extra field has an id, a length, and data of this length.

use crate::finding::counted;
use crate::formats::error::FormatError;
use crate::formats::rules::Rule;
use crate::num::u64_from_usize;

use super::Writer;

/// The id of the zip64 extra field, which has 64-bit numbers.
const LARGE: u16 = 1;
/// The ids of fields with the times and owner of a file, and their allowed lengths. These fields do not affect tensors, so they
/// are ignored.
const OF_FILES: [(u16, &[usize]); 3] = [
    // Extra fields with Unix times (0x5455) and the Unix owner (0x7875).
    (0x5455, &[5, 9, 13]),
    (0x7875, &[11, 19]),
    // The extra field with the times of NTFS.
    (0x000a, &[32]),
];

/// The id of the extra field with which PyTorch pads the header of a member to align its data, and the byte that fills this field.
const PADDING: (u16, u8) = (0x4246, b'Z');

/// The extra fields that affect the content of a member.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Extra<'b> {
    /// The numbers of the zip64 extra field, each as eight little-endian bytes: the values that do not fit into 32-bit
    /// fields.
    pub(super) large: Option<&'b [[u8; 8]]>,
}

impl<'b> Extra<'b> {
    /// Parses all extra fields in `bytes`. Rejects a field that `writer` does not write, since it could change the content
    /// of the member.
    pub(super) fn parse(mut bytes: &'b [u8], writer: Writer) -> Result<Self, FormatError> {
        let mut extra = Self::default();
        while !bytes.is_empty() {
            let (id, field, rest) = next(bytes).ok_or_else(|| {
                FormatError::predicate(Rule::ZipExtra, "has an extra field that is cut off")
            })?;
            bytes = rest;
            if id == LARGE {
                let (numbers, over) = field.as_chunks::<8>();
                if field.is_empty() || !over.is_empty() || extra.large.replace(numbers).is_some() {
                    let sentence = "has an invalid zip64 extra field";
                    return Err(FormatError::predicate(Rule::ZipExtra, sentence));
                }
            } else if !match writer {
                Writer::NumPy => OF_FILES
                    .iter()
                    .any(|(known, lengths)| *known == id && lengths.contains(&field.len())),
                Writer::Torch => id == PADDING.0 && field.iter().all(|byte| *byte == PADDING.1),
            } {
                let bytes = counted(u64_from_usize(field.len()), "byte");
                let sentence = format_args!("has the unsupported extra field {id:#06x} of {bytes}");
                return Err(FormatError::predicate(Rule::ZipExtra, sentence));
            }
        }
        Ok(extra)
    }
}

/// Splits the first extra field off `bytes`. Returns its id, its data and the bytes after it, or `None` if `bytes` ends within the
/// field.
fn next(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let (id, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (field, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    Some((u16::from_le_bytes(*id), field, rest))
}

#[cfg(test)]
mod tests {
    use crate::formats::tests::brief;

    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec;
    use alloc::vec::Vec;

    fn field(id: u16, bytes: &[u8]) -> Vec<u8> {
        let length = u16::try_from(bytes.len()).unwrap();
        [&id.to_le_bytes()[..], &length.to_le_bytes(), bytes].concat()
    }

    fn rejection(bytes: &[u8]) -> String {
        brief(&Extra::parse(bytes, Writer::NumPy).unwrap_err().into())
    }

    #[test]
    fn fields_end_where_they_say() {
        let whole = field(1, &[7; 16]);
        assert!(Extra::parse(&whole, Writer::NumPy).is_ok());
        for end in 1..whole.len() {
            assert!(rejection(&whole[..end]).contains("cut off"), "{end}");
        }
        for more in 1..4 {
            let bytes = [&whole[..], &[0; 3][..more]].concat();
            assert!(rejection(&bytes).contains("cut off"), "{more}");
        }
    }

    #[test]
    fn numbers_of_large_files_stand_there_once_and_are_whole() {
        let numbers = [1_u64, 2, u64::MAX];
        let bytes = numbers.map(u64::to_le_bytes).concat();
        let whole = field(1, &bytes);
        assert_eq!(
            Extra::parse(&whole, Writer::NumPy).unwrap().large.unwrap(),
            numbers.map(u64::to_le_bytes)
        );
        assert_eq!(Extra::parse(&[], Writer::NumPy).unwrap(), Extra { large: None });
        for wrong in [field(1, &[]), field(1, &bytes[1..]), field(1, &bytes).repeat(2)] {
            assert!(rejection(&wrong).contains("has an invalid zip64 extra field"));
        }
    }

    #[test]
    fn times_and_owners_are_no_content() {
        for (id, lengths) in OF_FILES {
            for length in 0..40 {
                let field = field(id, &vec![0; length]);
                assert_eq!(
                    Extra::parse(&field, Writer::NumPy).is_ok(),
                    lengths.contains(&length),
                    "{id:#x} {length}"
                );
            }
        }
        // An extra field with another name for the member, and unknown extra fields.
        for id in [0x7075, 0x9901, 0, 0xcafe] {
            let sentence = rejection(&field(id, &[0; 5]));
            assert!(sentence.contains(&format!("{id:#06x} of 5 bytes")), "{sentence}");
        }
    }
}
