//! A file that is being written array by array.

use std::io::{self, Seek, Write};

use zten::DType;
use zten::num::u64_from_usize;

use super::array::{Array, ArrayList, Failure, Inexpressible};
use super::format::WrittenFormat;
use super::npz;
use super::safetensors;
use super::{Settings, npy};

/// A file whose header has been written, or a directory that comes last. Arrays are written in the order that the format
/// asks for: [`next`](Self::next) names each.
///
/// Every method gets the list and the output that [`begin`](Self::begin) was given, so that the draft holds no name: its
/// memory follows the number of arrays, in a few bytes each.
#[derive(Debug)]
pub struct Draft {
    format: WrittenFormat,
    /// The arrays in the order of their data, and the bytes of each.
    order: Vec<(u32, u64)>,
    /// The number of arrays that are complete.
    complete: usize,
    /// The type of the array that is being written, and the bytes of it that are to come.
    open: Option<(DType, u64)>,
    /// The members of an archive.
    members: npz::Members,
}

impl Draft {
    /// Checks that the format can hold all of a list, and begins a file: writes what precedes the first array.
    ///
    /// # Errors
    /// [`Failure::Inexpressible`] for what the format cannot hold, and for zTensor, which [`zten::Writer`] writes; the output
    /// fails.
    pub fn begin<L: ArrayList + ?Sized, E>(
        format: WrittenFormat,
        list: &L,
        out: &mut impl Write,
        settings: Settings,
    ) -> Result<Self, Failure<E>> {
        let order = match format {
            WrittenFormat::ZTensor => {
                return Err(Inexpressible::file("another writer writes zTensor files").into());
            }
            WrittenFormat::Safetensors => safetensors::begin(list, out, settings)?,
            WrittenFormat::Npz => npz::begin(list)?,
            WrittenFormat::Npy => npy::begin(list)?,
        };
        let (complete, open, members) = (0, None, npz::Members::default());
        Ok(Self { format, order, complete, open, members })
    }

    /// Returns the ordinal of the array that is written next; `None` if all have been written.
    pub fn next(&self) -> Option<usize> {
        let (at, _) = self.order.get(self.complete)?;
        usize::try_from(*at).ok()
    }

    /// Begins the [next](Self::next) array.
    ///
    /// # Errors
    /// The output fails, or all arrays have been written.
    pub fn begin_array<L: ArrayList + ?Sized, E>(
        &mut self,
        list: &L,
        out: &mut impl Write,
    ) -> Result<(), Failure<E>> {
        let (Some(at), Some((_, bytes))) = (self.next(), self.order.get(self.complete)) else {
            return Err(misuse().into());
        };
        let Array { shape, dtype } = super::array::array(list, at)?;
        self.open = Some((dtype, *bytes));
        match self.format {
            WrittenFormat::Npz => {
                let array = Array { shape, dtype };
                let header = npy::header(list.name(at), &array, self.format)?;
                let size = bytes.saturating_add(u64_from_usize(header.len()));
                self.members.begin(list.name(at), size, out)?;
                self.members.write(&header, out)?;
            }
            WrittenFormat::Npy => {
                out.write_all(&npy::header(list.name(at), &Array { shape, dtype }, self.format)?)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes the next bytes of the array that was begun.
    ///
    /// # Errors
    /// The output fails; [`io::ErrorKind::InvalidData`] for more bytes than the array has, and for a bool that is not 0 or 1.
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

    /// Ends the array that was begun.
    ///
    /// # Errors
    /// The output fails; [`io::ErrorKind::InvalidData`] if bytes of the array are missing.
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

    /// Writes what follows the last array.
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

/// Validating a source is what makes this impossible for a file that is read.
fn other_length() -> io::Error {
    invalid("an array is not as long as its shape and type ask")
}

fn invalid(sentence: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, sentence)
}

/// The methods are called in another order than they ask for.
fn misuse() -> io::Error {
    io::Error::other("arrays are written in another order than the format asks for")
}
