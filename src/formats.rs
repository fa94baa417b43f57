//! Recognizing file formats, and support for single formats other than zTensor: safetensors and its index, GGUF, `.npy`,
//! `.npz` and checkpoints of PyTorch.
//!
//! [`zten::open`](crate::open()), [`Archive::from_bytes`](crate::Archive::from_bytes) and [`OpenOptions`] open files of all
//! these formats. This module has the rest:
//!
//! | item | for |
//! | --- | --- |
//! | [`recognize`] | recognizing a file by its content, whatever its name, including formats that zten does not read, programs and documents |
//! | [`Root`], `find_model` | models in several files: the names of sibling files; the only model in a folder |
//! | [`rules`] | the catalog of the rules of these formats |
//! | [`Block`], `dequantize` | GGUF blocks, and their elements as `f32`, bit-identical to those of the Python package `gguf` for every ggml type except `Q8_1` |
//! | `write` | writing safetensors, `.npy` and `.npz` files: all arrays in one call, or piece by piece with `write::Draft` |
//! | `profile` | the zTensor layout that keeps a GGUF tensor quantized in a file of generation 2; pass it to `zten::write::Copier::layouts` |
//!
//! Without `std`, every format opens from memory and from other sources. Folders, sibling files of a file system and `write`
//! need `std`.
//!
//! Opening takes at most 12 × the headers + 64 KiB of heap (192 × the pickle of a checkpoint); a failed allocation is an
//! error. `docs/other-formats.md` of the repository has all rules.

mod block;
mod builder_error;
pub(crate) mod cbor;
mod detect;
mod error;
#[cfg(feature = "std")]
mod folder;
mod gguf;
mod index;
mod json;
mod json_text;
mod kind;
mod limits;
mod npy;
mod npz;
mod ordered_map;
#[cfg(feature = "write")]
mod profile;
mod recognize;
mod record;
pub(crate) mod root;
pub mod rules;
mod safetensors;
mod torch;
#[cfg(all(feature = "std", feature = "write"))]
pub mod write;
mod zip;
pub(crate) mod ztensor;

#[cfg(test)]
mod tests;

#[cfg(feature = "std")]
use alloc::string::ToString as _;
use alloc::vec::Vec;
#[cfg(feature = "std")]
use std::path::Path;

use crate::archive::Archive;
#[cfg(feature = "ztensor")]
use crate::archive::read_frame;
use crate::error::Error;
use crate::file_name::FileName;
use crate::limits::OpenOptions;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;
#[cfg(feature = "std")]
use crate::shards::{IS_LINK, LINKED, ShardFinder, Sibling, Want};
#[cfg(feature = "std")]
use crate::source::open_regular;

use gguf::FirstName;
use index::Index;

pub use block::Block;
#[cfg(feature = "dequantize")]
pub use block::{BlockDequantizer, LengthMismatch};
pub use detect::{Detected, Format, START, by_name, by_start};
pub(crate) use error::FormatError;
#[cfg(feature = "std")]
pub use folder::find_model;
#[cfg(feature = "write")]
pub use profile::{find_without_profile, profile};
pub use recognize::{EMPTY, Executable, KINDS, OtherKind, Recognition, Recognized, recognize};
pub(crate) use root::RootHeader;
pub use root::{Begun, PartFile, Root};
pub use rules::Rule;

/// The length in bytes of the magic at the start of a zTensor file.
const MAGIC: u64 = 8;

/// Returns the classes and functions that pickles in checkpoints and in arrays of NumPy may import beyond those that PyTorch
/// imports with `weights_only=True`: their modules and names, such as `datetime.date`. zten builds their values without
/// calling anything.
#[cfg(all(feature = "std", feature = "torch"))]
pub fn classes_in_pickles() -> impl Iterator<Item = alloc::string::String> {
    torch::known_by_zten_alone()
}

/// Opens the file at `path`: see [`zten::open`](crate::open()).
#[cfg(feature = "std")]
pub(crate) fn open_path(path: &Path, options: &OpenOptions) -> Result<Archive, Error> {
    let model = path.is_dir().then(|| find_model(path)).transpose()?;
    let path = model.as_deref().unwrap_or(path);
    let (file, length) = open_regular(path)?;
    let root = match options.begin(file, length, path)? {
        // Only zTensor files name their shards without a `Root`.
        Begun::Archive(archive) => return archive.find_shards_beside(path),
        Begun::Root(root) => root,
    };
    let (finder, mut siblings) = (ShardFinder::of(path), Vec::new());
    for want in root.files().filter_map(Sibling::new).map(Want::Sibling) {
        match finder.open(&want) {
            Ok(found) => siblings.extend(found),
            Err(error) => {
                return Err(match error.to_string().strip_prefix(IS_LINK) {
                    Some(target) => root.linked(want.name(), target, LINKED),
                    None => error.into(),
                });
            }
        }
    }
    let parts = siblings.iter().map(|found| PartFile {
        name: &found.name,
        source: &found.file,
        length: found.length,
    });
    let parts: Vec<_> = parts.collect();
    root.open(&parts, options)?.find_shards(&finder)
}

/// Returns the format of a source of `length` bytes, from the bytes first and then from its `name`. Returns `None` for
/// a zTensor file, and for a file of no recognized format that is named `.zt`.
///
/// # Errors
/// The source cannot be read.
pub fn detect<'n>(
    source: &dyn ReadAt,
    length: u64,
    name: impl Into<FileName<'n>>,
) -> Result<Option<Detected>, Error> {
    let name = name.into();
    Ok(recognize(source, length, name)?.detected(name))
}

/// Returns whether `name` ends in `.zt` and the content is not that of another format. Such a file is parsed as a
/// zTensor file, so that the error message says why its header is invalid.
fn is_ztensor_by_name(recognition: &Recognition, name: FileName<'_>) -> bool {
    let is_other = matches!(recognition.kind(), Recognized::Read(_) | Recognized::Named(_));
    is_named_ztensor(name) && !is_other
}

/// Returns whether `name` ends in `.zt`, in letters of any case.
pub fn is_named_ztensor<'n>(name: impl Into<FileName<'n>>) -> bool {
    name.into().suffix().is_some_and(|suffix| suffix.eq_ignore_ascii_case("zt"))
}

impl OpenOptions {
    /// Parses the header of a file of `length` bytes from any source. The result is an archive, or a root that names sibling
    /// files which the caller opens. If the bytes do not tell the format, `name` does.
    ///
    /// Each byte of a safetensors file is read at most once, and reading stops at the end of the header or after [`START`]
    /// bytes, whichever comes later. The header of a GGUF file does not give its own length: 32 KiB are read, then twice as
    /// many until the header ends within the bytes read; all padding is read, too. The directory of an `.npz` file and the
    /// headers of each member are read.
    ///
    /// # Errors
    /// The source cannot be read, breaks a rule of its format, or has a format that zten does not read.
    pub fn begin<'n, S: ReadAt>(
        &self,
        source: S,
        length: u64,
        name: impl Into<FileName<'n>>,
    ) -> Result<Begun<S>, Error> {
        let name = name.into();
        parse(&source, length, name, self)?.begin(source, name, self)
    }

    /// Parses the header as [`begin`](Self::begin) does, of a file that [`recognize`] has recognized: its first bytes are not
    /// read again. The `source` must have the bytes that were recognized.
    ///
    /// # Errors
    /// The errors of [`begin`](Self::begin).
    pub fn begin_recognized<'n, S: ReadAt>(
        &self,
        source: S,
        recognition: Recognition,
        name: impl Into<FileName<'n>>,
    ) -> Result<Begun<S>, Error> {
        let name = name.into();
        parse_recognized(&source, recognition, name, self)?.begin(source, name, self)
    }
}

/// Whether this build reads files of another format than zTensor. If not, every file is taken for a zTensor file, so that a
/// program does not get the code that tells formats apart.
pub(crate) const READS_OTHERS: bool = cfg!(any(
    feature = "gguf",
    feature = "numpy",
    feature = "parts",
    feature = "safetensors",
    feature = "torch"
));

/// Parses the header of a source of `length` bytes. If the bytes do not tell the format, `name` does.
pub(crate) fn parse(
    source: &dyn ReadAt,
    length: u64,
    name: FileName<'_>,
    options: &OpenOptions,
) -> Result<RootHeader, FormatError> {
    let start = start(source, length)?;
    #[cfg(feature = "ztensor")]
    if is_ztensor(&start) || !READS_OTHERS {
        return Ok(RootHeader::ZTensor(read_frame(source, length, &start, options.limit())?));
    }
    match by_start(&start, name) {
        Some(Detected::Read(format)) if format != Format::Index => {
            parse_as(format, source, File { length, start, name }, options)
        }
        // Recognizing pickles and archives would double the code of a WebAssembly build without `torch`, so the first bytes
        // and the name alone decide there.
        detected if !cfg!(feature = "torch") => {
            let format = by_first_bytes(detected.or_else(|| by_name(name)))?;
            parse_as(format, source, File { length, start, name }, options)
        }
        _ => {
            let recognition = recognize::recognize_more(source, length, &start, name)?;
            parse_recognized(source, recognition, name, options)
        }
    }
}

/// Returns the error for `part`, a sibling file that failed to open with `error`. If the content is that of a file of another
/// kind, such as a pointer of Git LFS in place of the file, the error says so, as it does for a file by itself.
fn error_of_part(part: &PartFile<'_>, options: &OpenOptions, error: FormatError) -> FormatError {
    let (source, length, name) = (part.source, part.length, FileName::from(part.name));
    // Builds without `torch` recognize nothing but the formats that they read: see `parse`.
    if !cfg!(all(feature = "torch", feature = "parts")) {
        return error;
    }
    let recognized = || {
        let start = start(source, length)?;
        if is_ztensor(&start) || matches!(by_start(&start, name), Some(Detected::Read(_))) {
            return Ok(());
        }
        let recognition = recognize::recognize_more(source, length, &start, name)?;
        match recognition.kind() {
            Recognized::ZTensor | Recognized::Read(_) | Recognized::Unknown => Ok(()),
            _ => readable(source, length, &recognition, options).map(drop),
        }
    };
    recognized().err().unwrap_or(error)
}

/// Parses the header of a source called `name` that has been recognized.
fn parse_recognized(
    source: &dyn ReadAt,
    recognition: Recognition,
    name: FileName<'_>,
    options: &OpenOptions,
) -> Result<RootHeader, FormatError> {
    let length = recognition.length();
    #[cfg(feature = "ztensor")]
    if recognition.kind() == Recognized::ZTensor || is_ztensor_by_name(&recognition, name) {
        let start = recognition.into_start();
        return Ok(RootHeader::ZTensor(read_frame(source, length, &start, options.limit())?));
    }
    let format = readable(source, length, &recognition, options)?;
    let start = recognition.into_start();
    parse_as(format, source, File { length, start, name }, options)
}

/// A file whose format is known, and whose header is about to be parsed.
struct File<'n> {
    /// The number of bytes of the file.
    length: u64,
    /// The bytes from the start of the file that were read to detect its format: at most [`START`], and fewer only if the file is
    /// shorter.
    start: Vec<u8>,
    name: FileName<'n>,
}

/// Parses the header of `file`, which is of `format`. Later bytes are read from `source`.
fn parse_as(
    format: Format,
    source: &dyn ReadAt,
    file: File<'_>,
    options: &OpenOptions,
) -> Result<RootHeader, FormatError> {
    let File { length, start, name } = file;
    Ok(match format {
        Format::Safetensors if cfg!(feature = "safetensors") => {
            RootHeader::Other(safetensors::open(source, length, start, options)?)
        }
        #[cfg(feature = "gguf")]
        Format::Gguf => RootHeader::Gguf(gguf::open(source, length, start, options)?),
        #[cfg(feature = "parts")]
        Format::Index => RootHeader::Index(Index::read(source, length, options.limit())?),
        Format::Npy if cfg!(feature = "numpy") => {
            RootHeader::Other(npy::open(source, length, start, name, options)?)
        }
        Format::Npz if cfg!(feature = "numpy") => {
            RootHeader::Other(npz::open(source, length, options)?)
        }
        Format::Torch if cfg!(feature = "torch") => {
            let is_stream = detect::is_stream(&start);
            let open = if is_stream { torch::open_stream } else { torch::open };
            RootHeader::Other(open(source, length, options)?)
        }
        // This build lacks the feature that reads the detected format.
        #[cfg(not(feature = "gguf"))]
        Format::Gguf => return Err(not_read()),
        #[cfg(not(feature = "parts"))]
        Format::Index => return Err(not_read()),
        Format::Safetensors | Format::Npy | Format::Npz | Format::Torch => return Err(not_read()),
    })
}

/// Returns the bytes of a source of `length` bytes, if they are in memory.
fn in_memory(source: &dyn ReadAt, length: u64) -> Option<&[u8]> {
    source.bytes_at(0, usize::try_from(length).ok()?)
}

/// Reads the first bytes of a source of `length` bytes, which tell the format: the magic of a zTensor file, or up to [`START`]
/// bytes of any other file.
fn start(source: &dyn ReadAt, length: u64) -> Result<Vec<u8>, FormatError> {
    let (magic, most) = (MAGIC.min(length), u64_from_usize(START).min(length));
    let mut start = Vec::new();
    source.append_range(0..magic, &mut start)?;
    if !is_ztensor(&start) {
        source.append_range(magic..most, &mut start)?;
    }
    Ok(start)
}

/// Returns the offset at which the data of the last tensor ends in the file `source` of `length` bytes, counted from the
/// start of the file. Bytes after this offset make the file invalid, unless they are padding of a GGUF file. Only the header
/// is read, so the offset may be beyond the end of a file that was cut. Returns `None` if `format` is neither safetensors
/// nor GGUF, if this build does not read it, or if a GGUF file has a tensor of a type that zten does not read, because the header
/// does not tell the length of its data.
///
/// # Errors
/// The header is invalid or exceeds a limit of `options`, or the source cannot be read.
pub fn data_end(
    format: Format,
    (source, length): (&dyn ReadAt, u64),
    options: &OpenOptions,
) -> Result<Option<u64>, Error> {
    match format {
        #[cfg(feature = "safetensors")]
        Format::Safetensors => Ok(Some(safetensors::data_end(source, length, options)?)),
        #[cfg(feature = "gguf")]
        Format::Gguf => Ok(gguf::data_end(source, length, options)?),
        _ => {
            let _ = (source, length, options);
            Ok(None)
        }
    }
}

/// Returns whether a file begins as zTensor files of any version do.
pub fn is_ztensor(start: &[u8]) -> bool {
    [&b"ZTEN"[..], b"\x89ZT"].iter().any(|magic| start.starts_with(magic))
}

/// Returns the format in `recognition`, or the error with the reason why the file is rejected if zten does not read files of
/// this format.
fn readable(
    source: &dyn ReadAt,
    length: u64,
    recognition: &Recognition,
    options: &OpenOptions,
) -> Result<Format, FormatError> {
    if let Recognized::Read(format) = recognition.kind() {
        return Ok(format);
    }
    // zten does not read bare pickles. Such a file is unsupported if the pickle is valid and imports only globals that a
    // checkpoint may need. Otherwise the file is invalid.
    if cfg!(feature = "torch") && recognition.is_bare_pickle() {
        torch::check_pickle(source, length, options.limit())?;
    }
    Err(recognition.rejection().map_or_else(not_read, FormatError::from))
}

/// Returns the format that was `detected` by the first bytes and the name alone, or the error if zten does not read files of
/// this format.
fn by_first_bytes(detected: Option<Detected>) -> Result<Format, FormatError> {
    match detected {
        Some(Detected::Read(format)) => Ok(format),
        Some(Detected::Named(rule)) => Err(FormatError::violation(rule, rule.row().broken())),
        Some(Detected::Misnamed(rule)) => {
            Err(FormatError::violation_at(rule, rule.row().broken(), 0))
        }
        None => Err(not_read()),
    }
}

/// Returns the error for a file whose format this build does not read.
fn not_read() -> FormatError {
    let rule = Rule::FormatUnknown;
    FormatError::violation_at(rule, rule.row().broken(), 0)
}

/// The sibling files to which a file refers, predicted from its name before the file is read.
#[derive(Clone, Copy, Debug)]
pub struct BesideNames<'p>(Names<'p>);

#[derive(Clone, Copy, Debug)]
enum Names<'p> {
    /// The files that an index names.
    Index,
    /// The second and later files of a split GGUF model. The field is the parsed name of the first file.
    Gguf(FirstName<'p>),
}

impl<'p> BesideNames<'p> {
    /// Predicts the sibling files of the file called `name`. Returns `None` if `name` is not the name of an index or of
    /// the first file of a split GGUF model.
    pub fn of(name: impl Into<FileName<'p>>) -> Option<Self> {
        let name = name.into().text_for_siblings()?;
        if index::is_named_so(name) {
            return Some(Self(Names::Index));
        }
        FirstName::parse(name).map(|first| Self(Names::Gguf(first)))
    }

    /// Returns whether the file may refer to a sibling file called `name`.
    pub fn includes(&self, name: &str) -> bool {
        match self.0 {
            Names::Index => index::PartFormat::of(name).is_some(),
            Names::Gguf(first) => first.is_of(name),
        }
    }
}

/// Reads `pickle` as the pickle of a PyTorch checkpoint, and returns the amount of work, whether it is valid or not: the number
/// of instructions, items of containers and bytes of texts that were visited. Tests check that the work is at most
/// [`TORCH_STEPS`] × (bytes of the pickle + 1,024).
#[doc(hidden)]
pub fn torch_steps(pickle: &[u8]) -> u64 {
    torch::steps(pickle)
}

/// The largest amount of work for each byte of a pickle: see [`torch_steps`].
#[doc(hidden)]
pub const TORCH_STEPS: u64 = 64;
