//! The exports that write a file: one call describes the file and all its tensors, one call for each tensor passes its elements
//! in the order in which the format stores them, and a last call ends the file. The host takes the bytes of the file as data.
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

/// The description of a file, as the host passes it. The key `attributes` of the same map has the attributes of the file: a
/// string of bytes that is itself a map of CBOR, because `serde` has no types for all values of CBOR.
#[derive(Deserialize)]
struct Request {
    /// The name of the file. Its suffix selects the format, unless `format` is given.
    name: String,
    /// The suffix of files of the format, without its dot.
    format: Option<String>,
    /// The generation of a zTensor file.
    generation: Option<String>,
    /// The level at which a zTensor file is compressed.
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
    /// The position of the next byte.
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

/// A buffer before the new file, since headers are written in small pieces.
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
    /// Of safetensors or NumPy.
    Draft(Draft, Buffered),
    /// Of zTensor, and the ordinal of the next tensor.
    ZTensor(Box<Writer<Buffered>>, usize),
}

/// The file that this instance writes, until it is finished or a call has failed.
static WRITING: Mutex<Option<(Declared, Unfinished)>> = Mutex::new(None);

/// Begins a file. The input of the call, of `length` bytes, is a map of CBOR that describes the file and all its tensors. The
/// answer is empty, or the reason why there can be no such file.
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

/// Returns the ordinal of the tensor that [`write_tensor`] takes next, or 2^32 - 1 after the last one.
#[wasm_bindgen]
pub fn write_next() -> u32 {
    let Ok(writing) = WRITING.try_lock() else { return u32::MAX };
    let next = writing.as_ref().and_then(|(declared, unfinished)| match unfinished {
        Unfinished::Draft(draft, _) => draft.next(),
        Unfinished::ZTensor(_, next) => Some(*next).filter(|next| *next < declared.count()),
    });
    next.and_then(|next| u32::try_from(next).ok()).unwrap_or(u32::MAX)
}

/// Takes all elements of the next tensor: little-endian and row-major, as the input of the call. The answer is empty, or the
/// reason why the tensor cannot be written.
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

/// Ends the file. The answer is empty, or the reason why it cannot be ended.
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

/// Reads `request`, and checks that each tensor has as many bytes as its shape and dtype need. Returns all tensors, the other
/// facts of the request, and the format of the file.
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

/// Writes the finding for `failure` to `out`. `tensor` is the name of the tensor that was being written.
///
/// # Errors
/// Out of memory; the errors of `out`.
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
