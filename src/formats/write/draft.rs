//! Writing a safetensors, `.npy` or `.npz` file array by array, for callers that have the elements of one array at a time.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use std::io::{self, Seek, Write};

use crate::element::DType;
use crate::num::u64_from_usize;

use super::array::{ArrayList, Inexpressible, WriteFailure};
use super::format::WrittenFormat;
use super::npz;
use super::safetensors;
use super::{Settings, npy};

/// A file that is being written. Arrays are written in the order that the format requires: [`next`](Self::next) returns the
/// ordinal of each.
///
/// Each method must get the same list and output as [`begin`](Self::begin). A draft does not store the names of the arrays, so
/// it takes only a few bytes per array.
#[derive(Debug)]
pub struct Draft {
    format: WrittenFormat,
    /// For each array, in the order in which the arrays are written: its index in the list that [`begin`](Self::begin) got, and its
    /// length in bytes.
    order: Vec<(u32, u64)>,
    /// The number of arrays that have been written completely.
    complete: usize,
    /// The type of the array that is being written, and the number of its bytes that are still missing.
    open: Option<(DType, u64)>,
    /// The members of an `.npz` archive that have been written.
    members: npz::Members,
}

impl Draft {
    /// Checks that a file of `format` can hold all arrays and attributes of `list`. Writes the header of a safetensors file to
    /// `out`, which must be empty; other formats have no header before the first array.
    ///
    /// # Errors
    /// [`WriteFailure::Inexpressible`] if the format cannot hold an array or attribute, or is zTensor, which [`crate::Writer`]
    /// writes; the output fails.
    pub fn begin<L: ArrayList + ?Sized, E>(
        format: WrittenFormat,
        list: &L,
        out: &mut impl Write,
        settings: Settings,
    ) -> Result<Self, WriteFailure<E>> {
        let order = match format {
            WrittenFormat::ZTensor => {
                return Err(Inexpressible::file(
                    "a draft cannot be of a zTensor file, which `Writer` writes",
                )
                .into());
            }
            WrittenFormat::Safetensors => safetensors::begin(list, out, settings)?,
            WrittenFormat::Npz => npz::begin(list)?,
            WrittenFormat::Npy => npy::begin(list)?,
        };
        let (complete, open, members) = (0, None, npz::Members::default());
        Ok(Self { format, order, complete, open, members })
    }

    /// Returns the number in the list of the array that must be written next; `None` if all arrays have been written.
    pub fn next(&self) -> Option<usize> {
        let (at, _) = self.order.get(self.complete)?;
        usize::try_from(*at).ok()
    }

    /// Begins the [next](Self::next) array. In `.npz` and `.npy` files, this writes the header of the array. Then
    /// [`write`](Self::write) must get as many bytes as [`begin`](Self::begin) counted from the type and shape of the array.
    ///
    /// # Errors
    /// The output fails; another array has been begun and not ended; all arrays have been written; `list` describes the array by a
    /// type or shape that takes another number of bytes than in [`begin`](Self::begin).
    pub fn begin_array<L: ArrayList + ?Sized, E>(
        &mut self,
        list: &L,
        out: &mut impl Write,
    ) -> Result<(), WriteFailure<E>> {
        let (Some(at), Some((_, bytes))) = (self.next(), self.order.get(self.complete)) else {
            return Err(misuse().into());
        };
        if self.open.is_some() {
            return Err(misuse().into());
        }
        let array = super::array::array(list, at)?;
        let opaque = list.opaque(at);
        let now = match opaque {
            Some(opaque) => {
                array.shape.iter().fold(opaque.size, |size, side| size.saturating_mul(*side))
            }
            None => array.bytes(),
        };
        if now != *bytes {
            return Err(misuse().into());
        }
        self.open = Some((array.dtype, *bytes));
        let header = || npy::header(list.name(at), &array, opaque, self.format);
        match self.format {
            WrittenFormat::Npz => {
                let header = header()?;
                let size = bytes.saturating_add(u64_from_usize(header.len()));
                self.members.begin(list.name(at), size, out)?;
                self.members.write(&header, out)?;
            }
            WrittenFormat::Npy => out.write_all(&header()?)?,
            _ => {}
        }
        Ok(())
    }

    /// Returns whether the bytes of the current array are only stored: neither validated, as bools are, nor added to a
    /// checksum, as those of an `.npz` archive are. Returns false if no array has been begun. A caller whose memory is shared
    /// with other threads must otherwise pass a copy, so that all steps get equal bytes.
    pub fn only_stores(&self) -> bool {
        self.format != WrittenFormat::Npz
            && self.open.as_ref().is_some_and(|(dtype, _)| *dtype != DType::Bool)
    }

    /// Writes the next bytes of the current array.
    ///
    /// # Errors
    /// The output fails; no array has been begun; [`io::ErrorKind::InvalidData`] for more bytes than the array has, and for a
    /// bool that is not 0 or 1.
    pub fn write(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        let Some((dtype, left)) = &mut self.open else { return Err(misuse()) };
        *left = left.checked_sub(u64_from_usize(bytes.len())).ok_or_else(other_length)?;
        if *dtype == DType::Bool
            && let Some(wrong) = bytes.iter().find(|byte| **byte > 1)
        {
            return Err(invalid(format!("a bool is {wrong}, expected 0 or 1")));
        }
        if self.format == WrittenFormat::Npz {
            return self.members.write(bytes, out);
        }
        out.write_all(bytes)
    }

    /// Ends the current array, of which all bytes must have been written.
    ///
    /// # Errors
    /// The output fails; no array has been begun; [`io::ErrorKind::InvalidData`] if bytes of the array are missing.
    pub fn end_array(&mut self, out: &mut (impl Write + Seek)) -> io::Result<()> {
        match self.open.take() {
            Some((_, 0)) => {}
            Some(_) => return Err(other_length()),
            None => return Err(misuse()),
        }
        if self.format == WrittenFormat::Npz {
            self.members.end(out)?;
        }
        self.complete = self.complete.saturating_add(1);
        Ok(())
    }

    /// Completes the file: writes the directory of an `.npz` archive, and flushes the output.
    ///
    /// # Errors
    /// The output fails, or an array has not been written.
    pub fn finish<L: ArrayList + ?Sized>(self, list: &L, out: &mut impl Write) -> io::Result<()> {
        if self.open.is_some() || self.complete != self.order.len() {
            return Err(misuse());
        }
        if self.format == WrittenFormat::Npz {
            self.members.finish(list, out)?;
        }
        out.flush()
    }
}

/// Returns the error for an array of which too many or too few bytes were written. It cannot occur for arrays of an open
/// file, because [`ArraySource::read`](super::ArraySource::read) validates their lengths.
fn other_length() -> io::Error {
    invalid("an array has more or fewer bytes than its shape and type need")
}

/// Returns an error of the kind `InvalidData` with the message `sentence`.
fn invalid(sentence: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence)
}

/// Returns the error for methods that are called in the wrong order, or with another list of arrays than at the beginning.
fn misuse() -> io::Error {
    io::Error::other(
        "the methods of a draft are called in the wrong order, or with different lists of arrays",
    )
}

#[cfg(test)]
mod tests {
    use alloc::borrow::ToOwned as _;
    use alloc::vec;
    use std::io::Cursor;

    use super::super::{Array, DeclaredArrays};
    use super::*;

    #[test]
    fn an_array_is_only_stored_if_no_step_reads_its_bytes() {
        for (format, dtype, only_stores) in [
            (WrittenFormat::Safetensors, DType::U8, true),
            (WrittenFormat::Npy, DType::U8, true),
            (WrittenFormat::Safetensors, DType::Bool, false),
            // An `.npz` member has a CRC-32 of its bytes, so the bytes are also read.
            (WrittenFormat::Npz, DType::U8, false),
        ] {
            let arrays = vec![("a".to_owned(), Array { shape: vec![1], dtype })];
            let list = DeclaredArrays { arrays, attributes: None };
            let mut out = Cursor::new(Vec::new());
            let settings = Settings::default();
            let mut draft = Draft::begin::<_, ()>(format, &list, &mut out, settings).unwrap();
            assert!(!draft.only_stores(), "no array is open");
            draft.begin_array::<_, ()>(&list, &mut out).unwrap();
            assert_eq!(draft.only_stores(), only_stores, "{format:?}, {dtype:?}");
        }
    }

    /// A list of one array `a` of the given shape, whose elements are bytes.
    fn of_bytes(shape: &[u64]) -> DeclaredArrays {
        let array = Array { shape: shape.to_vec(), dtype: DType::U8 };
        DeclaredArrays { arrays: vec![("a".to_owned(), array)], attributes: None }
    }

    #[test]
    fn an_array_cannot_be_begun_twice_or_with_another_length() {
        for format in [WrittenFormat::Safetensors, WrittenFormat::Npy, WrittenFormat::Npz] {
            let list = of_bytes(&[2]);
            let mut out = Cursor::new(Vec::new());
            let mut draft =
                Draft::begin::<_, ()>(format, &list, &mut out, Settings::default()).unwrap();
            let other = draft.begin_array::<_, ()>(&of_bytes(&[3]), &mut out);
            assert!(matches!(other, Err(WriteFailure::Output(_))), "{format:?}");
            draft.begin_array::<_, ()>(&list, &mut out).unwrap();
            draft.write(&[1], &mut out).unwrap();
            // A second beginning would forget that one byte has been written.
            let again = draft.begin_array::<_, ()>(&list, &mut out);
            assert!(matches!(again, Err(WriteFailure::Output(_))), "{format:?}");
            draft.write(&[2], &mut out).unwrap();
            draft.end_array(&mut out).unwrap();
            draft.finish(&list, &mut out).unwrap();
        }
    }
}
