//! Writing a file of any format in one call.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use super::array::{Array, ArrayList, ArraySource, ChunkFn, Inexpressible, WriteFailure};
use super::format::WrittenFormat;
use super::{Settings, array, write};
use crate::cbor::Attributes;
use crate::error::{Error, Misuse, OutOfMemory};
use crate::escape;
use crate::num::u64_from_usize;
use crate::write::{ComponentData, FileSink, Writer};

/// A tensor to save with [`save`]: its name, its shape (outermost dimension first) and its elements.
pub type NamedTensor<'a> = (&'a str, &'a [u64], ComponentData<'a>);

/// Writes dense tensors to the file at `path`, in the format that its suffix names: `.zt`, `.safetensors`, `.npz`, or `.npy`
/// for one tensor. The file appears complete or not at all, and replaces an old one.
///
/// [`Writer`](crate::Writer) also writes attributes, sparse and quantized tensors, and elements that come piece by piece, and
/// [`write()`] tensors of other sources.
///
/// ```
/// let path = std::env::temp_dir().join("zten-save.safetensors");
/// let (weights, bias) = ([1.5_f32; 6], [0_i64, 1, 2]);
/// zten::save(&path, &[("weights", &[2, 3], (&weights).into()), ("bias", &[3], (&bias).into())])?;
/// assert_eq!(zten::open(&path)?.tensor("bias")?.to_vec::<i64>()?, bias);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`WriteFailure::Inexpressible`] for another suffix, two tensors of one name, and a tensor that the format cannot hold;
/// [`WriteFailure::Source`] for a rule of zTensor, and [`Misuse::Length`] if the number of elements is not that of the shape;
/// [`WriteFailure::Output`] if the file cannot be written.
pub fn save(
    path: impl AsRef<Path>,
    tensors: &[NamedTensor<'_>],
) -> Result<(), WriteFailure<Error>> {
    let path = path.as_ref();
    let format = WrittenFormat::from_path(path).ok_or_else(|| {
        let name = escape::quoted(&path.to_string_lossy());
        let known = WrittenFormat::ALL.map(WrittenFormat::suffix).join(", .");
        Inexpressible::file(format!("unknown suffix of {name}: expected one of .{known}"))
    })?;
    check_names(tensors)?;
    let output = |error: Error| WriteFailure::Output(io::Error::from(error));
    if format == WrittenFormat::ZTensor {
        let mut file = Writer::create(path).map_err(output)?;
        for (name, shape, elements) in tensors {
            file.add(name, shape, elements.clone()).map_err(WriteFailure::Source)?;
        }
        return file.finish().map(drop).map_err(output);
    }
    let sink = FileSink::create(path).map_err(output)?;
    let mut out = BufWriter::new(sink.file().try_clone()?);
    write(format, &mut InMemoryTensors(tensors), &mut out, Settings::default())?;
    out.flush()?;
    drop(out);
    sink.publish().map_err(output)
}

/// Checks that the names of `tensors` are unique.
fn check_names(tensors: &[NamedTensor<'_>]) -> Result<(), WriteFailure<Error>> {
    let mut names = Vec::new();
    names.try_reserve_exact(tensors.len()).map_err(|_| WriteFailure::Source(OutOfMemory.into()))?;
    names.extend(tensors.iter().map(|(name, ..)| *name));
    names.sort_unstable();
    match names.windows(2).find(|two| matches!(two, [one, other] if one == other)) {
        Some([name, _]) => {
            Err(Inexpressible::tensor(name, "another tensor has the same name").into())
        }
        _ => Ok(()),
    }
}

/// The tensors in memory that [`save`] writes, as a source of arrays.
struct InMemoryTensors<'a>(&'a [NamedTensor<'a>]);

impl ArrayList for InMemoryTensors<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn name(&self, at: usize) -> &str {
        self.0.get(at).map_or("", |(name, ..)| name)
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        let (_, shape, elements) = self.0.get(at).ok_or("no such tensor")?;
        Ok(Array { shape: shape.to_vec(), dtype: elements.dtype() })
    }

    fn attributes(&self) -> Attributes<'_> {
        Attributes::default()
    }
}

impl ArraySource for InMemoryTensors<'_> {
    type Error = Error;

    fn read(&mut self, at: usize, take: &mut ChunkFn<'_>) -> Result<(), WriteFailure<Error>> {
        let Some((_, _, elements)) = self.0.get(at) else { return Ok(()) };
        let bytes = elements.bytes().map_err(|error| WriteFailure::Source(error.into()))?;
        if u64_from_usize(bytes.len()) != array::array(self, at)?.bytes() {
            return Err(WriteFailure::Source(Misuse::Length.into()));
        }
        Ok(take(bytes)?)
    }
}
