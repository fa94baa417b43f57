#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]
// Beyond the lints of the workspace: what could panic is not in a library that reads untrusted bytes.
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::expect_used,
        clippy::get_unwrap,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::string_slice,
        clippy::unreachable,
        clippy::unwrap_used
    )
)]

mod block;
mod cbor;
mod detect;
mod error;
mod folder;
mod front;
mod gguf;
mod index;
mod json;
mod json_text;
mod kind;
mod limits;
mod npy;
mod npz;
mod opening;
#[cfg(feature = "write")]
mod profile;
mod recognize;
mod record;
mod root;
pub mod rules;
mod safetensors;
pub mod shards;
mod torch;
#[cfg(feature = "write")]
pub mod write;
mod zip;

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use zten::num::u64_from_usize;
use zten::shards::{Candidate, Find, Shard};
use zten::source::{open_below, open_regular};
use zten::{Archive, Error, InMemory, OpenOptions, ReadAt};

use gguf::FirstName;
use index::Index;
use root::Header;

pub use block::Block;
#[cfg(feature = "dequantize")]
pub use block::{BlockDequantizer, LengthMismatch};
pub use detect::{Detected, Format, START, by_name, by_start};
pub use error::{FormatError, Subject, Violation};
pub use folder::find_model;
pub use opening::{Opening, Step, Wanted};
#[cfg(feature = "write")]
pub use profile::{find_without_profile, profile};
pub use recognize::{Executable, KINDS, OtherKind, Recognition, Recognized, recognize};
pub use root::{Begun, Part, Root};
pub use rules::Rule;

/// Bytes of the magic of a zTensor file.
const MAGIC: u64 = 8;

/// Opens the file at `path`, which is of zTensor, safetensors, GGUF or NumPy, or an index of several safetensors files, with
/// the default options: parses and validates its header. The page of the crate has an example.
///
/// Of a folder, the only index in it is opened, or the only model: [`find_model`].
///
/// The files that an index or the first of several GGUF files names are those beside it, and no links but those in the cache
/// of a hub, which lead to its `blobs`. The archive reads from them, as from the shards of a zTensor file.
///
/// # Errors
/// The file cannot be read, breaks a rule of its format, or is of none that is read.
pub fn open(path: impl AsRef<Path>) -> Result<Archive, Error> {
    open_with(path, &OpenOptions::default())
}

/// The same as [`open`], with options.
///
/// # Errors
/// The same as [`open`].
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Archive, Error> {
    let path = path.as_ref();
    let model = path.is_dir().then(|| find_model(path)).transpose()?;
    let path = model.as_deref().unwrap_or(path);
    let (file, length) = open_regular(path)?;
    let root = match begin(file, length, path, options)? {
        // Only zTensor files have some.
        Begun::Archive(archive) => return archive.find_shards_beside(path),
        Begun::Root(root) => root,
    };
    let (folder, mut siblings) = (Folder::of(path), Vec::new());
    for name in root.files() {
        if let Some((part, length)) = folder.open(name)? {
            siblings.push((name.to_owned(), part, length));
        } else if let Some(target) = shards::link_target(&folder.0, name) {
            return Err(root.linked(name, &target, shards::LINKED).into());
        }
    }
    let parts: Vec<_> = siblings
        .iter()
        .map(|(name, source, length)| Part { name, source, length: *length })
        .collect();
    root.open(&parts, options)?.find_shards(&folder)
}

/// The folder of an index, in which the files lie that it names.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of the file at `path`.
    pub fn of(path: &Path) -> Self {
        Self(path.parent().unwrap_or(Path::new("")).to_owned())
    }

    /// Opens the regular file of that name, which is no link but one of a hub's cache; none if there is none.
    fn open(&self, name: &str) -> io::Result<Option<(File, u64)>> {
        open_below(&self.0, &[name.as_ref()])
    }
}

impl Find for Folder {
    type Source = File;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<File>>, Error> {
        Ok(self.open(shard.name())?.map(|(source, length)| Candidate { source, length }))
    }
}

/// Tells the format of a source of `length` bytes, by its bytes and then by its name; none of a zTensor file, and of a file
/// that is only called so.
///
/// # Errors
/// The source cannot be read.
pub fn detect(
    source: &dyn ReadAt,
    length: u64,
    path: &Path,
) -> Result<Option<Detected>, FormatError> {
    Ok(recognize(source, length, path)?.detected(path))
}

/// Returns whether a file is called `.zt` and nothing tells another format, so that it is read as a zTensor file, which says
/// what is wrong with it.
fn is_claimed(found: &Recognition, path: &Path) -> bool {
    is_named_ztensor(path) && !matches!(found.kind(), Recognized::Read(_) | Recognized::Named(_))
}

/// Returns whether a file is called as zTensor files are.
pub fn is_named_ztensor(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("zt"))
}

/// Opens any source of `length` bytes as an archive. Its name tells the format where its bytes do not; the path of a source
/// without a name is empty, and the array of an `.npy` file is `arr_0` then.
///
/// # Errors
/// The errors of [`open`]; `index-file` or `gguf-split-file` for a file that names others, which [`begin`] takes.
pub fn open_source<S: ReadAt>(
    source: S,
    length: u64,
    path: &Path,
    options: &OpenOptions,
) -> Result<Archive<S>, FormatError> {
    begin(source, length, path, options)?.require_unsharded(options)
}

/// Parses the header of any source of `length` bytes: it is an archive, or names others that are to be opened. Its
/// name tells the format where its bytes do not.
///
/// No byte of a safetensors file is read twice, and none beyond the end of its header or [`START`] bytes, whichever
/// comes later. Of a GGUF file, whose header does not say how long it is, 32 KiB are read, then twice as many until the
/// header ends in them, and all padding. Of an `.npz` file the directory is read, and the headers of each member.
///
/// # Errors
/// The source cannot be read, breaks a rule of its format, or is of none that is read.
pub fn begin<S: ReadAt>(
    source: S,
    length: u64,
    path: &Path,
    options: &OpenOptions,
) -> Result<Begun<S>, FormatError> {
    parse(&source, length, path, options)?.begin(source, path, options.limit())
}

/// Parses the header of a file.
fn parse(
    source: &dyn ReadAt,
    length: u64,
    path: &Path,
    options: &OpenOptions,
) -> Result<Header, FormatError> {
    let start = start(source, length)?;
    #[cfg(feature = "ztensor")]
    if is_ztensor(&start) {
        return Ok(Header::ZTensor(open_manifest(source, length, options)?));
    }
    let format = match by_start(&start, path) {
        Some(Detected::Read(format)) if format != Format::Index => format,
        // Looking into pickles and archives is half of the code of a small module, which is given other files to read.
        found if !cfg!(feature = "torch") => by_first_bytes(found.or_else(|| by_name(path)))?,
        _ => {
            let found = recognize::recognize_more(source, length, &start, path)?;
            #[cfg(feature = "ztensor")]
            if is_claimed(&found, path) {
                return Ok(Header::ZTensor(open_manifest(source, length, options)?));
            }
            readable(source, length, &found, options)?
        }
    };
    Ok(match format {
        Format::Safetensors => Header::Other(safetensors::open(source, length, start, options)?),
        Format::Gguf => Header::Gguf(gguf::open(source, length, start, options)?),
        Format::Index => Header::Index(Index::read(source, length, options.limit())?),
        Format::Npy if cfg!(feature = "numpy") => {
            Header::Other(npy::open(source, length, start, path, options)?)
        }
        Format::Npz if cfg!(feature = "numpy") => {
            Header::Other(npz::open(source, length, options)?)
        }
        Format::Torch if cfg!(feature = "torch") => {
            Header::Other(torch::open(source, length, options)?)
        }
        Format::Npy | Format::Npz | Format::Torch => return Err(not_read()),
    })
}

/// Opens the manifest of a zTensor file.
#[cfg(feature = "ztensor")]
fn open_manifest(
    source: &dyn ReadAt,
    length: u64,
    options: &OpenOptions,
) -> Result<zten::Manifest<Vec<u8>>, Error> {
    let fetch = |range| {
        let mut bytes = Vec::new();
        source.append_range(range, &mut bytes).map(|()| bytes)
    };
    let opening = zten::open::Opening::new(length, options)?;
    let footer = opening.header(&fetch(opening.needs())?)?;
    let body = footer.footer(&fetch(footer.needs())?)?;
    let bytes = fetch(body.needs())?;
    body.manifest(bytes)
}

/// Returns the bytes of a source of `length` bytes, if they are in memory.
fn in_memory(source: &dyn ReadAt, length: u64) -> Option<&[u8]> {
    source.bytes_at(0, usize::try_from(length).ok()?)
}

/// Reads the first bytes of a file, which tell its format: of a zTensor file its magic, of others [`START`] bytes.
fn start(source: &dyn ReadAt, length: u64) -> Result<Vec<u8>, FormatError> {
    let (magic, most) = (MAGIC.min(length), u64_from_usize(START).min(length));
    let mut start = Vec::new();
    source.append_range(0..magic, &mut start)?;
    if !is_ztensor(&start) {
        source.append_range(magic..most, &mut start)?;
    }
    Ok(start)
}

/// Opens a file whose bytes are in memory, and are borrowed by views, as an archive. The array of an `.npy` file, which
/// has the name of its file, is `arr_0` then.
///
/// # Errors
/// The errors of [`open`].
pub fn open_bytes<B: AsRef<[u8]> + Sync>(
    file: B,
    options: &OpenOptions,
) -> Result<Archive<InMemory<B>>, FormatError> {
    #[cfg(feature = "ztensor")]
    if is_ztensor(file.as_ref()) {
        return Ok(options.from_bytes(file)?);
    }
    let length = u64_from_usize(file.as_ref().len());
    open_source(InMemory(file), length, Path::new(""), options)
}

/// Returns whether a file begins as zTensor files of any version do.
pub fn is_ztensor(start: &[u8]) -> bool {
    [&b"ZTEN"[..], b"\x89ZT"].iter().any(|magic| start.starts_with(magic))
}

/// Returns the format of a file, if it is read.
fn readable(
    source: &dyn ReadAt,
    length: u64,
    found: &Recognition,
    options: &OpenOptions,
) -> Result<Format, FormatError> {
    if let Recognized::Read(format) = found.kind() {
        return Ok(format);
    }
    // A pickle that is not read is invalid, and not only unsupported, if it asks for what no checkpoint needs.
    let is_stream = found.kind() == Recognized::Named(Rule::FormatTorch);
    if cfg!(feature = "torch") && (is_stream || found.is_bare_pickle()) {
        torch::check_pickles(source, length, (options.limit(), is_stream))?;
    }
    Err(found.rejection().unwrap_or_else(not_read))
}

/// Returns the format of a file of which only the first bytes and the name are looked at, if it is read.
fn by_first_bytes(found: Option<Detected>) -> Result<Format, FormatError> {
    match found {
        Some(Detected::Read(format)) => Ok(format),
        Some(Detected::Named(rule)) => Err(FormatError::violation(rule, rule.row().broken)),
        Some(Detected::Misnamed(rule)) => {
            Err(FormatError::violation_at(rule, rule.row().broken, 0))
        }
        None => Err(not_read()),
    }
}

/// The rejection of a file of a format that is not read in this build.
fn not_read() -> FormatError {
    let rule = Rule::FormatUnknown;
    FormatError::violation_at(rule, rule.row().broken, 0)
}

/// The names of files that are to be opened beside one, before that is read.
#[derive(Clone, Copy, Debug)]
pub struct BesideNames<'p>(Names<'p>);

#[derive(Clone, Copy, Debug)]
enum Names<'p> {
    /// An index names files of this format.
    Safetensors,
    /// The first GGUF file of several has others.
    Gguf(FirstName<'p>),
}

impl<'p> BesideNames<'p> {
    /// The files beside the one at `path`, which may name them, as its own name says; none if it names no others.
    pub fn of(path: &'p Path) -> Option<Self> {
        let name = path.file_name().and_then(|name| name.to_str())?;
        if index::is_named_so(name) {
            return Some(Self(Names::Safetensors));
        }
        FirstName::parse(name).map(|first| Self(Names::Gguf(first)))
    }

    /// Returns whether a file of that name is one of them.
    pub fn includes(&self, name: &str) -> bool {
        match self.0 {
            Names::Safetensors => name.ends_with(index::PARTS),
            Names::Gguf(first) => first.is_of(name),
        }
    }
}

/// Reads bytes as the pickle of a PyTorch checkpoint, and returns how much was looked at, whatever comes of it:
/// instructions, items of containers and bytes of texts. At most [`TORCH_STEPS`] for each byte, and for 1,024 more, which
/// tests hold it to.
#[doc(hidden)]
pub fn torch_steps(pickle: &[u8]) -> u64 {
    torch::steps(pickle)
}

/// See [`torch_steps`].
#[doc(hidden)]
pub const TORCH_STEPS: u64 = 64;
