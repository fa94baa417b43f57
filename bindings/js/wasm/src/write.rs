//! The exports that write a file. One call describes the file and all its tensors. Then one call for each tensor passes its
//! elements; the tensors come in the order in which the format stores them. A last call ends the file. The host gets the bytes
//! of the file as data.
#![deny(clippy::arithmetic_side_effects, clippy::as_conversions)]

use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Mutex;

use serde::Deserialize;
use wasm_bindgen::prelude::wasm_bindgen;
use zten::attributes::{Attributes, Value};
use zten::write::{Encoded, Level, Part, Sink, WriteOptions};
use zten::{DType, Error, Generation, Writer};
use zten_formats::write::{
    Array, ArrayList, Draft, Failure, Inexpressible, Settings, Subject, WrittenFormat,
};
use zten_report::escape::quoted;
use zten_report::finding::{Finding, Verdict};

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
    /// The level at which the tensors of a zTensor file are compressed; `None` for no compression.
    zstd: Option<u8>,
    /// The name, dtype and shape of each tensor, and the number of bytes that the host has for it.
    tensors: Vec<(String, String, Vec<u64>, u64)>,
}

/// All tensors of a file, and the attributes of the file.
struct Declared {
    tensors: Vec<(String, Array)>,
    attributes: Option<Encoded>,
}

impl ArrayList for Declared {
    fn count(&self) -> usize {
        self.tensors.len()
    }

    fn name(&self, at: usize) -> &str {
        self.tensors.get(at).map_or("", |(name, _)| name)
    }

    fn array(&self, at: usize) -> Result<Array, String> {
        let array = self.tensors.get(at).map(|(_, array)| array.clone());
        array.ok_or_else(|| "no such tensor".to_owned())
    }

    fn attributes(&self) -> Attributes<'_> {
        self.attributes.as_ref().map_or_else(Attributes::default, Encoded::entries)
    }
}

/// The new file, whose bytes the host takes.
#[derive(Default)]
struct NewFile {
    /// The offset in the file at which the next byte is written. It is less than `end` while earlier bytes are replaced.
    at: u64,
    /// The length of the file so far.
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

impl Buffered {
    fn new() -> Self {
        Self(BufWriter::with_capacity(1 << 16, NewFile::default()))
    }
}

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
static WRITING: Mutex<Option<(Declared, Unfinished)>> = Mutex::new(None);

/// Begins a file. The input of the call, of `length` bytes, is a map of CBOR that describes the file and all its tensors. The
/// answer is empty, or the reason why the described file cannot be written. Returns the status of the call.
#[wasm_bindgen]
pub fn write_begin(length: usize) -> u32 {
    answer(|out| {
        let request = Encoded::from_cbor(input(length)?);
        let begun = declared(&request).and_then(|(declared, request, format)| {
            let unfinished = begin(&declared, &request, format)?;
            Ok((declared, unfinished))
        });
        match begun {
            Ok(begun) => {
                *WRITING.try_lock().map_err(|_| io::ErrorKind::WouldBlock)? = Some(begun);
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
                let written = declared.tensors.get(at).map(|(name, Array { shape, dtype })| {
                    writer.add(name, shape, Part::of_bytes(*dtype, &bytes))
                });
                (Some(at), written.unwrap_or(Ok(())).map_err(Failure::Source))
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

/// Ends the file, after its last tensor. The answer is empty, or the reason why the file cannot be ended, such as a missing
/// tensor. Returns the status of the call.
#[wasm_bindgen]
pub fn write_end() -> u32 {
    answer(|out| {
        let mut writing = WRITING.try_lock().map_err(|_| io::ErrorKind::WouldBlock)?;
        let (declared, unfinished) = writing.take().ok_or(io::ErrorKind::NotFound)?;
        let ended = match unfinished {
            Unfinished::Draft(draft, mut file) => {
                draft.finish(&declared, &mut file.0).map_err(Failure::Output)
            }
            Unfinished::ZTensor(writer, _) => writer.finish().map_err(Failure::Source),
        };
        ended.or_else(|failure| failed(failure, None, out))
    })
}

/// Parses `request`, and checks that each tensor has as many bytes as its shape and dtype need. Returns all tensors with the
/// attributes, the other fields of the request, and the format of the file.
fn declared(request: &Encoded) -> Result<(Declared, Request, WrittenFormat), Failure<Error>> {
    let entries = request.entries();
    let mut facts: Request = entries.deserialize().map_err(Failure::Source)?;
    let path = Path::new(&facts.name);
    let format = WrittenFormat::choose(Some(path), facts.format.as_deref());
    let format = format.map_err(Inexpressible::file)?;
    let mut tensors = Vec::new();
    for (name, dtype, shape, bytes) in std::mem::take(&mut facts.tensors) {
        let known = DType::ALL.into_iter().find(|known| known.name() == dtype);
        let Some(known) = known else {
            let sentence = format!("unknown dtype {}", quoted(&dtype));
            return Err(Inexpressible::tensor(&name, sentence).into());
        };
        let array = Array { shape, dtype: known };
        if array.bytes() != bytes {
            let (shape, needed) = (&array.shape, array.bytes());
            let sentence = format!(
                "the data has {bytes} bytes, expected {needed} for {dtype} of the shape {shape:?}"
            );
            return Err(Inexpressible::tensor(&name, sentence).into());
        }
        tensors.push((name, array));
    }
    let attributes = entries.item("attributes").and_then(|item| match item.value() {
        Value::Bytes(bytes) => Some(Encoded::from_cbor(bytes.as_bytes()?.to_vec())),
        _ => None,
    });
    Ok((Declared { tensors, attributes }, facts, format))
}

/// Begins a file of `format` with all tensors of `declared`.
fn begin(
    declared: &Declared,
    request: &Request,
    format: WrittenFormat,
) -> Result<Unfinished, Failure<Error>> {
    if format != WrittenFormat::ZTensor {
        let asked =
            [("generation", request.generation.is_some()), ("zstd", request.zstd.is_some())];
        if let Some((option, _)) = asked.iter().find(|(_, is_given)| *is_given) {
            let sentence = format!("a .{} file has no {option}", format.suffix());
            return Err(Inexpressible::file(sentence).into());
        }
        let mut file = Buffered::new();
        let draft = Draft::begin(format, declared, &mut file.0, Settings::default())?;
        return Ok(Unfinished::Draft(draft, file));
    }
    let mut options = WriteOptions::default();
    match request.generation.as_deref() {
        None | Some("1.2") => {}
        Some("2") => options = options.generation(Generation::V2),
        Some(other) => {
            let sentence = format!("generation is {}, expected \"1.2\" or \"2\"", quoted(other));
            return Err(Inexpressible::file(sentence).into());
        }
    }
    if let Some(level) = request.zstd {
        options = options.compressed(Level::new(level).map_err(Failure::Source)?);
    }
    let begun = Writer::new(Buffered::new(), &options).and_then(|mut writer| {
        if let Some(attributes) = &declared.attributes {
            writer.attributes_encoded(attributes)?;
        }
        Ok(writer)
    });
    Ok(Unfinished::ZTensor(Box::new(begun.map_err(Failure::Source)?), 0))
}

/// Writes the next array of `draft`, whose elements are `bytes`.
fn write_array(
    draft: &mut Draft,
    declared: &Declared,
    bytes: &[u8],
    Buffered(file): &mut Buffered,
) -> Result<(), Failure<Error>> {
    draft.begin_array(declared, file)?;
    draft.write(bytes, file)?;
    Ok(draft.end_array(file)?)
}

/// Reports `failure` as a finding in `out`. `tensor` is the name of the tensor that was being written.
///
/// # Errors
/// `failure` is that memory ran out, or writing to `out` failed.
fn failed(failure: Failure<Error>, tensor: Option<&str>, out: &mut Answer) -> io::Result<()> {
    let mut finding = match failure {
        Failure::Source(error) => Finding::from_error(&error),
        Failure::Output(error) if error.kind() == io::ErrorKind::OutOfMemory => return Err(error),
        Failure::Output(error) => Finding::new(Verdict::Error, error.to_string()),
        Failure::Inexpressible(Inexpressible { subject, sentence }) => {
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
