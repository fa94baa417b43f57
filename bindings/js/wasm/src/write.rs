//! The exports that write a file.
//!
//! The host first calls [`write_begin`] with the description of the file and of all its tensors. It then asks [`write_next`]
//! which tensor the format stores next, and passes the elements of this tensor to [`write_tensor`], until no tensor is left.
//! [`write_end`] completes the file. During all of these calls the module hands the bytes of the file to the host.
#![deny(clippy::arithmetic_side_effects, clippy::as_conversions)]

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use serde::Deserialize;
use wasm_bindgen::prelude::wasm_bindgen;
use zten::attributes::Value;
use zten::finding::{Finding, Verdict};
use zten::formats::write::{
    Array, ArrayList as _, DeclaredArrays, Draft, Inexpressible, Settings, Subject, WriteFailure,
    WrittenFormat, written_generation,
};
use zten::write::{ComponentData, Encoded, Level, Sink, WriteOptions};
use zten::{Error, Writer};

use crate::border::{Answer, Out, answer, input};
use crate::problem;

/// The description of a file, as the host passes it. The same map has a key `attributes`, whose value is a byte string with the
/// attributes of the file as a map of CBOR. It is read separately, because `serde` cannot represent all values of CBOR.
#[derive(Deserialize)]
struct Request {
    /// The name of the file.
    name: String,
    /// The format, as the suffix of its files without the dot. If it is missing, the suffix of `name` selects the format.
    format: Option<String>,
    /// The generation of a zTensor file.
    generation: Option<String>,
    /// The zstd level at which a zTensor file is compressed. Without a level, the file is not compressed.
    zstd: Option<u8>,
    /// The name, dtype and shape of each tensor, and the number of bytes that the host has for it.
    tensors: Vec<(String, String, Vec<u64>, u64)>,
}

/// The new file. Its bytes are handed to the host as they are written.
#[derive(Default)]
struct NewFile {
    /// The offset at which the next byte is written. It is less than `end` after a seek back, when written bytes are replaced.
    at: u64,
    /// The number of bytes that the file has so far.
    end: u64,
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = Out::Data.write(bytes)?;
        self.at = self.at.saturating_add(u64::try_from(written).unwrap_or(u64::MAX));
        self.end = self.end.max(self.at);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for NewFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Out::Position.write_all(&self.at.to_le_bytes())?;
        Ok(self.at)
    }
}

/// The new file behind a buffer, because headers are written in many small pieces.
struct Buffered(BufWriter<NewFile>);

impl Sink for Buffered {
    type Output = ();

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.0.write_all(bytes).map_err(Error::from_write)
    }

    fn finish(mut self) -> Result<(), Error> {
        self.0.flush().map_err(Error::from_write)
    }
}

/// The writer of an unfinished file.
enum Unfinished {
    /// The writer of a safetensors or NumPy file.
    Draft(Draft, Buffered),
    /// The writer of a zTensor file, and the ordinal of the next tensor to write.
    ZTensor(Box<Writer<Buffered>>, usize),
}

/// The file that this instance writes, until it is finished or a call has failed.
static WRITING: Mutex<Option<(DeclaredArrays, Unfinished)>> = Mutex::new(None);

/// Answers with the name in zTensor of the dtype whose name is the input of the call, of `length` bytes, such as `bf16` for
/// `BF16` and `bfloat16`; with nothing if no dtype has this name.
#[wasm_bindgen]
pub fn write_dtype(length: usize) -> u32 {
    answer(|out| {
        let name = String::from_utf8(input(length)?).unwrap_or_default();
        out.write_all(zten_report::dtype::parse(&name).unwrap_or_default().as_bytes())
    })
}

/// Begins a file. The input of the call, of `length` bytes, is a map of CBOR that describes the file and all its tensors. The
/// answer is empty, or the reason why the described file cannot be written. Returns the status of the call.
#[wasm_bindgen]
pub fn write_begin(length: usize) -> u32 {
    answer(|out| {
        let (declared, format, options) = match planned(&Encoded::from_cbor(input(length)?)) {
            Ok(planned) => planned,
            Err(finding) => return problem::write(&finding, None, out),
        };
        match begin(&declared, format, &options) {
            Ok(unfinished) => {
                let mut writing = WRITING.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
                *writing = Some((declared, unfinished));
                Ok(())
            }
            Err(failure) => failed(failure, None, out),
        }
    })
}

/// Returns the ordinal of the tensor that [`write_tensor`] takes next, or 2^32 - 1 if no tensor is left or no file is being
/// written.
#[wasm_bindgen]
pub fn write_next() -> u32 {
    let Ok(writing) = WRITING.try_lock() else { return u32::MAX };
    let next = writing.as_ref().and_then(|(declared, unfinished)| match unfinished {
        Unfinished::Draft(draft, _) => draft.next(),
        Unfinished::ZTensor(_, next) => Some(*next).filter(|next| *next < declared.count()),
    });
    next.and_then(|next| u32::try_from(next).ok()).unwrap_or(u32::MAX)
}

/// Writes the next tensor. The input of the call, of `length` bytes, is all its elements, little-endian and row-major. The
/// answer is empty, or the reason why the tensor cannot be written. Returns the status of the call.
#[wasm_bindgen]
pub fn write_tensor(length: usize) -> u32 {
    answer(|out| {
        let mut writing = WRITING.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
        let (declared, mut unfinished) = writing.take().ok_or(io::ErrorKind::NotFound)?;
        let bytes = input(length)?;
        let (at, written) = match &mut unfinished {
            Unfinished::Draft(draft, file) => {
                (draft.next(), write_array(draft, &declared, &bytes, file))
            }
            Unfinished::ZTensor(writer, next) => {
                let at = *next;
                *next = next.saturating_add(1);
                let written = declared.arrays.get(at).map(|(name, Array { shape, dtype })| {
                    writer.add(name, shape, ComponentData::of_bytes(*dtype, &bytes))
                });
                (Some(at), written.unwrap_or(Ok(())).map_err(WriteFailure::Source))
            }
        };
        match written {
            Ok(()) => {
                *writing = Some((declared, unfinished));
                Ok(())
            }
            Err(failure) => failed(failure, at.map(|at| declared.name(at)), out),
        }
    })
}

/// Ends the file, after its last tensor. The answer is empty, or the reason why the file cannot be ended, such as a missing tensor
/// of a safetensors or NumPy file. A zTensor file then has only the tensors that were written. Returns the status of the call.
#[wasm_bindgen]
pub fn write_end() -> u32 {
    answer(|out| {
        let mut writing = WRITING.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
        let (declared, unfinished) = writing.take().ok_or(io::ErrorKind::NotFound)?;
        let ended = match unfinished {
            Unfinished::Draft(draft, mut file) => {
                draft.finish(&declared, &mut file.0).map_err(WriteFailure::Output)
            }
            Unfinished::ZTensor(writer, _) => writer.finish().map_err(WriteFailure::Source),
        };
        ended.or_else(|failure| failed(failure, None, out))
    })
}

/// Parses `request`, and checks that each tensor has as many bytes as its shape and dtype need. Returns all tensors with the
/// attributes of the file, its format, and the options of a zTensor file.
///
/// # Errors
/// The finding about the first argument that is wrong, such as an unknown dtype.
fn planned(
    request: &Encoded,
) -> Result<(DeclaredArrays, WrittenFormat, WriteOptions), Box<Finding>> {
    let wrong = |sentence: String| Box::new(Finding::new(Verdict::Error, sentence));
    let refused = |error: Error| Box::new(Finding::from_error(&error));
    let entries = request.entries();
    let Request { name, format, generation, zstd, tensors } =
        entries.deserialize().map_err(refused)?;
    let format = WrittenFormat::choose(Some(Path::new(&name)), format.as_deref()).map_err(wrong)?;
    let mut declared = DeclaredArrays::default();
    for (name, dtype, shape, bytes) in tensors {
        let about = |sentence| Finding { object: Some(name.clone()), ..*wrong(sentence) };
        let array = Array::named(&dtype, shape).map_err(about)?;
        let needed = array.bytes();
        if needed != bytes {
            let shape = &array.shape;
            let sentence = format!(
                "the data has {bytes} bytes, expected {needed} for {dtype} of the shape {shape:?}"
            );
            return Err(about(sentence).into());
        }
        declared.arrays.push((name, array));
    }
    declared.attributes = entries.item("attributes").and_then(|item| match item.value() {
        Value::Bytes(bytes) => Some(Encoded::from_cbor(bytes.as_bytes()?.to_vec())),
        _ => None,
    });
    let given = [("generation", generation.is_some()), ("zstd", zstd.is_some())];
    if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given)
        && format != WrittenFormat::ZTensor
    {
        return Err(wrong(format!("a .{} file has no {option}", format.suffix())));
    }
    let mut options = WriteOptions::default();
    if let Some(generation) = generation {
        options = options.generation(written_generation(&generation).map_err(wrong)?);
    }
    if let Some(level) = zstd {
        options = options.compressed(Level::new(level).map_err(refused)?);
    }
    Ok((declared, format, options))
}

/// Begins the file of `format` that will have the tensors and attributes of `declared`. `options` are those of a zTensor file.
fn begin(
    declared: &DeclaredArrays,
    format: WrittenFormat,
    options: &WriteOptions,
) -> Result<Unfinished, WriteFailure<Error>> {
    let mut file = Buffered(BufWriter::with_capacity(1 << 16, NewFile::default()));
    if format != WrittenFormat::ZTensor {
        let draft = Draft::begin(format, declared, &mut file.0, Settings::default())?;
        return Ok(Unfinished::Draft(draft, file));
    }
    let begun = Writer::new(file, options).and_then(|mut writer| {
        if let Some(attributes) = &declared.attributes {
            writer.attributes_encoded(attributes)?;
        }
        Ok(writer)
    });
    Ok(Unfinished::ZTensor(Box::new(begun.map_err(WriteFailure::Source)?), 0))
}

/// Writes the array whose turn it is in the file of `draft`. `bytes` are its elements, little-endian and in row-major order.
fn write_array(
    draft: &mut Draft,
    declared: &DeclaredArrays,
    bytes: &[u8],
    Buffered(file): &mut Buffered,
) -> Result<(), WriteFailure<Error>> {
    draft.begin_array(declared, file)?;
    draft.write(bytes, file)?;
    Ok(draft.end_array(file)?)
}

/// Writes a finding about `failure`, why the file could not be written, to `out`. `tensor` is the name of the tensor that was
/// being written, or `None` for the file as a whole.
///
/// # Errors
/// [`io::ErrorKind::OutOfMemory`] if `failure` is that memory ran out while bytes were written to the file; the errors of `out`.
fn failed(failure: WriteFailure<Error>, tensor: Option<&str>, out: &mut Answer) -> io::Result<()> {
    let mut finding = match failure {
        WriteFailure::Source(error) => Finding::from_error(&error),
        WriteFailure::Output(error) if error.kind() == io::ErrorKind::OutOfMemory => {
            return Err(error);
        }
        WriteFailure::Output(error) => Finding::new(Verdict::Error, error.to_string()),
        WriteFailure::Inexpressible(Inexpressible { subject, sentence }) => {
            let finding = Finding::new(Verdict::Unsupported, sentence);
            match subject {
                Subject::Tensor(name) => Finding { object: Some(name), ..finding },
                _ => finding,
            }
        }
    };
    if finding.object.is_none() {
        finding.object = tensor.map(str::to_owned);
    }
    problem::write(&finding, None, out)
}
