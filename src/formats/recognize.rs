//! Recognizing what a file is by its content: a file of a format that zten reads, a file of a format that zten only names,
//! or a file without tensors.
//!
//! An attacker chooses the name of a file, so the content decides. Pickles matter most: a pickle has no magic number, and
//! runs code of its author when it is loaded. [`pickle`] finds pickles by following Python's unpickler.

mod contents;
mod input;
mod members;
mod name;
mod pickle;
mod text;

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::error::Error;
use crate::finding::ZTENSOR;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;

use super::detect::{Detected, Format, by_name, by_start};
use super::error::{FormatError, copied};
use super::index;
use super::rules::Rule;
use super::{MAGIC, is_ztensor, is_ztensor_by_name};
use crate::file_name::FileName;

use contents::Content;
use input::Input as _;

pub(crate) use input::Stored;
#[cfg(test)]
pub(super) use members::search_zip;
pub(super) use members::{PickleSearch, zip as pickle_in_zip};
pub(crate) use pickle::{Evidence, PersistentIds, scan};

/// The number of bytes at the start of a file that are read to recognize it, if the first [`START`](crate::formats::START)
/// bytes do not tell the format.
const HEAD: u64 = 4 << 10;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// A file that begins with the magic of zTensor files.
    ZTensor,
    /// A format that zten reads.
    Read(Format),
    /// A format that zten recognizes but does not read. The rule names the format.
    Named(Rule),
    /// A file of a kind that holds no tensors.
    Other(OtherKind),
    /// A program.
    Executable(Executable),
    /// A file of zero bytes.
    Empty,
    /// A file whose format is not recognized.
    Unknown,
}

/// A kind of files that hold no tensors of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum OtherKind {
    /// Text that is neither JSON nor source code.
    Text,
    /// A text in JSON.
    Json,
    /// Source code in another language than Python.
    Source,
    /// An image.
    Image,
    /// A font.
    Font,
    /// Sound or moving pictures.
    Media,
    /// A document in PDF.
    Pdf,
    /// A tokenizer of sentencepiece.
    Sentencepiece,
    /// A single tensor in Protocol Buffers, as ONNX and TensorFlow store test data.
    TensorProto,
    /// A file that macOS or Windows adds to folders: a `.DS_Store`, an `AppleDouble` file (`._NAME`), or a `Thumbs.db`.
    OsMetadata,
}

impl OtherKind {
    /// Returns the name of the kind, as in JSON output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Source => "source",
            Self::Image => "image",
            Self::Font => "font",
            Self::Media => "media",
            Self::Pdf => "pdf",
            Self::Sentencepiece => "sentencepiece",
            Self::TensorProto => "tensor-proto",
            Self::OsMetadata => "os-metadata",
        }
    }

    /// Returns a description of a file of this kind, for messages.
    pub fn description(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "JSON",
            Self::Source => "source code",
            Self::Image => "an image",
            Self::Font => "a font",
            Self::Media => "sound or video",
            Self::Pdf => "a PDF document",
            Self::Sentencepiece => "a tokenizer of sentencepiece",
            Self::TensorProto => "a single tensor of ONNX or TensorFlow",
            Self::OsMetadata => "metadata of macOS or Windows",
        }
    }
}

/// A kind of programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Executable {
    /// A program or library of Linux and most other systems.
    Elf,
    /// A program or library of Windows.
    Pe,
    /// A program or library of macOS.
    MachO,
    /// Compiled Python.
    Bytecode,
    /// Python source code, recognized by the suffix of the file's name.
    Python,
}

impl Executable {
    /// Returns the name of the kind, as in JSON output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Elf => "elf",
            Self::Pe => "pe",
            Self::MachO => "mach-o",
            Self::Bytecode => "python-bytecode",
            Self::Python => "python",
        }
    }

    /// Returns a description of a program of this kind, for messages.
    pub fn description(self) -> &'static str {
        match self {
            Self::Elf => "a program or library (ELF)",
            Self::Pe => "a program or library (PE)",
            Self::MachO => "a program or library (Mach-O)",
            Self::Bytecode => "compiled Python",
            Self::Python => "Python source",
        }
    }
}

/// The names of all kinds of files without tensors: documents, programs and empty files.
pub const KINDS: [&str; 16] = [
    OtherKind::Text.name(),
    OtherKind::Json.name(),
    OtherKind::Source.name(),
    OtherKind::Image.name(),
    OtherKind::Font.name(),
    OtherKind::Media.name(),
    OtherKind::Pdf.name(),
    OtherKind::Sentencepiece.name(),
    OtherKind::TensorProto.name(),
    OtherKind::OsMetadata.name(),
    Executable::Elf.name(),
    Executable::Pe.name(),
    Executable::MachO.name(),
    Executable::Bytecode.name(),
    Executable::Python.name(),
    EMPTY,
];

/// The name of the kind of empty files.
pub const EMPTY: &str = "empty";

/// The result of recognizing a file: its kind, and details for messages.
pub struct Recognition {
    /// What the file is, according to its content.
    kind: Recognized,
    /// The number of bytes of the file.
    length: u64,
    /// The bytes from the start of the file that were read to recognize it: at most 4 KiB. The parser of the header begins with
    /// them, so that they are not read again.
    start: Vec<u8>,
    /// The sentence that says what the file is; `None` if the general sentence of the rule fits.
    sentence: Option<String>,
    /// The name of the first member that is a pickle, in an archive that holds no tensors; `None` for any other file.
    member: Option<String>,
    /// The rule that the file breaks when it is opened; `None` if the rule follows from `kind`, or if zten reads the file.
    rule: Option<Rule>,
    /// Whether a file of a format that zten reads is also a pickle that calls a function or imports a module.
    unpickles: bool,
}

impl From<Recognized> for Recognition {
    fn from(kind: Recognized) -> Self {
        let (length, start) = (0, Vec::new());
        Self { kind, length, start, sentence: None, member: None, rule: None, unpickles: false }
    }
}

impl fmt::Debug for Recognition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut recognition = f.debug_struct("Recognition");
        recognition.field("kind", &self.kind).field("rule", &self.rule).finish_non_exhaustive()
    }
}

impl Recognition {
    /// Returns what the file is, according to its content.
    pub fn kind(&self) -> Recognized {
        self.kind
    }

    /// Returns the name of the file's format, or of its kind if it holds no tensors, as in JSON output. Returns `None` if
    /// the file is empty or not recognized.
    pub fn format(&self) -> Option<&'static str> {
        match self.kind {
            Recognized::ZTensor => Some(ZTENSOR),
            Recognized::Read(format) => Some(format.name()),
            Recognized::Named(rule) => rule.row().id().strip_prefix("format-"),
            Recognized::Other(kind) => Some(kind.name()),
            Recognized::Executable(kind) => Some(kind.name()),
            Recognized::Empty | Recognized::Unknown => None,
        }
    }

    /// Returns the number of bytes of the file.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the bytes from the start of the file that were read to recognize it: at most 4 KiB.
    pub(super) fn into_start(self) -> Vec<u8> {
        self.start
    }

    /// Returns whether the file itself is a pickle, rather than an archive with a pickle in it. Pickles of joblib do not count.
    pub(super) fn is_bare_pickle(&self) -> bool {
        self.kind == Recognized::Named(Rule::FormatPickle) && self.member.is_none()
    }

    /// Returns the error for opening the file, or `None` if zten reads files of this format.
    pub fn rejection(&self) -> Option<Error> {
        let rule = match (self.rule, self.kind) {
            (Some(rule), _) | (None, Recognized::Named(rule)) => rule,
            (None, Recognized::ZTensor | Recognized::Read(_)) => return None,
            (None, Recognized::Empty) => Rule::FormatEmpty,
            (None, Recognized::Other(kind)) => return Some(of_other(kind.description())),
            (None, Recognized::Executable(kind)) => return Some(of_other(kind.description())),
            (None, Recognized::Unknown) => Rule::FormatUnknown,
        };
        let error = match &self.sentence {
            Some(sentence) => FormatError::violation(rule, sentence),
            None if rule == Rule::FormatName => {
                let what = self.description();
                FormatError::violation(
                    rule,
                    format_args!("the name is that of a safetensors file, but {what}"),
                )
            }
            None => FormatError::violation(rule, rule.row().broken()),
        };
        // An error about a missing magic number points at the first byte of the file.
        let has_place = !rule.row().id().starts_with("format-") || rule == Rule::FormatUnknown;
        let error = if has_place { error.or_at(0) } else { error };
        Some(match &self.member {
            Some(member) => error.about(member).into(),
            None => error.into(),
        })
    }

    /// Returns the format of a file called `name` with this content, as [`detect`](crate::formats::detect) does: `None` for
    /// zTensor, and for a file of no recognized format that is named `.zt`.
    pub fn detected<'n>(&self, name: impl Into<FileName<'n>>) -> Option<Detected> {
        let name = name.into();
        match (self.kind, self.rule) {
            _ if is_ztensor_by_name(self, name) => None,
            (Recognized::Read(format), _) => Some(Detected::Read(format)),
            (Recognized::Named(rule), None) => Some(Detected::Named(rule)),
            (Recognized::ZTensor, _) => None,
            (Recognized::Empty, None) => Some(Detected::Misnamed(Rule::FormatEmpty)),
            (_, Some(rule)) => Some(Detected::Misnamed(rule)),
            (_, None) => Some(Detected::Misnamed(Rule::FormatUnknown)),
        }
    }
}

/// Returns the error for opening a file without tensors, which `description` describes.
fn of_other(description: &str) -> Error {
    let sentence = format_args!("this is {description}, not a tensor file that zten knows");
    FormatError::violation_at(Rule::FormatUnknown, sentence, 0).into()
}

/// Recognizes the kind of file that a source of `length` bytes holds. The `name` is consulted only if the bytes do not decide:
/// for example to recognize an index, to tell the language of source code, to tell whether an HTML page is expected, and to
/// find that a text has the name of a tensor file. `name` may be a URL; its query is ignored.
///
/// A file is a pickle if Python's unpickler, reading from the first byte, would call a function, change an object or return a
/// value, even if the unpickler then fails on the bytes that follow. A file is read for as long as it may be a pickle. From any
/// other file, few bytes are read: 4 KiB at the start and some at the end. Members of zip and tar archives that hold no tensors
/// are searched for pickles, in about 256 MiB of decompressed bytes of a zip archive; other compressed files are not
/// decompressed.
///
/// # Errors
/// The source cannot be read, or memory is out.
pub fn recognize<'n>(
    source: &dyn ReadAt,
    length: u64,
    name: impl Into<FileName<'n>>,
) -> Result<Recognition, Error> {
    let name = name.into();
    let mut start = Vec::new();
    source.append_range(0..MAGIC.min(length), &mut start)?;
    if is_ztensor(&start) {
        return Ok(Recognition { length, start, ..Recognized::ZTensor.into() });
    }
    Ok(recognize_more(source, length, &start, name)?)
}

/// Recognizes a source as [`recognize`] does, for a file that is no zTensor file and whose first bytes, `start`, have been
/// read.
pub(super) fn recognize_more(
    source: &dyn ReadAt,
    length: u64,
    start: &[u8],
    name: FileName<'_>,
) -> Result<Recognition, FormatError> {
    let mut head = Vec::new();
    head.try_reserve(start.len()).map_err(|_| FormatError::memory())?;
    head.extend_from_slice(start);
    let first = u64_from_usize(start.len());
    source.append_range(first..HEAD.min(length).max(first), &mut head)?;
    let recognition = recognize_from(source, length, &head, name)?;
    Ok(Recognition { length, start: head, ..recognition })
}

/// Recognizes a source of `length` bytes. `start` are its first [`HEAD`] bytes, or all bytes of a shorter source.
fn recognize_from(
    source: &dyn ReadAt,
    length: u64,
    start: &[u8],
    name: FileName<'_>,
) -> Result<Recognition, FormatError> {
    if length == 0 {
        return of_nothing(name);
    }
    if text::is_lfs_pointer(start) {
        let sentence = Some(text::lfs_sentence(start)?);
        let kind = Recognized::Named(Rule::FormatLfsPointer);
        return Ok(Recognition { sentence, ..kind.into() });
    }
    // `tarfile` of Python, and so `torch.load`, opens any file whose first block has the checksum of a tar header. Such a file is
    // recognized as a tar archive below, whatever its first bytes are.
    if contents::is_os_metadata(start, name) && members::tar_size(start).is_none() {
        return Ok(Recognized::Other(OtherKind::OsMetadata).into());
    }
    let is_text = text::is_text(start, u64_from_usize(start.len()) == length);
    let detected = by_start(start, name);
    let is_index = detected == Some(Detected::Read(Format::Index));
    let page = text::of_server(start).filter(|_| is_text);
    let is_page = page.is_some_and(|rule| !is_index || rule != Rule::FormatJsonError);
    if let Some(Detected::Read(format)) = detected
        && !(is_index && is_page)
    {
        // Every zip archive begins with `P`, the opcode of a persistent id, and so do some safetensors files.
        let mut file = Stored::new(source, 0, length);
        let evidence = scan(&mut file, is_text, PersistentIds::Failing)?;
        let unpickles = matches!(evidence, Some(Evidence::Call | Evidence::Import));
        return Ok(Recognition { unpickles, ..Recognized::Read(format).into() });
    }
    let mut file = Stored::new(source, 0, length);
    if let Some(evidence) = scan(&mut file, is_text, PersistentIds::Resolved)? {
        return of_pickle(start, evidence);
    }
    // The scan found no evidence that the file is a pickle: it expects that Python's unpickler fails before it calls a function
    // or returns a value, or the file ends too early to tell. A file that begins as pickles do is then a damaged pickle. A text
    // may begin so by chance, so it must also put an object into the memo, as pickles of Python 2 do.
    let begins_as_pickle = detected == Some(Detected::Named(Rule::FormatPickle));
    if begins_as_pickle && (!is_text || begins_with_memo(start)) {
        return Ok(Recognized::Named(Rule::FormatPickle).into());
    }
    match detected {
        Some(Detected::Named(Rule::FormatZip)) => {
            // The archive is unsupported, whether a pickle lies beyond the limit of the search or not.
            let pickle = match members::zip(source, length)? {
                PickleSearch::Found(name) => Some(name),
                PickleSearch::NotFound | PickleSearch::Stopped(_) => None,
            };
            return of_archive(Rule::FormatZip, "zip", pickle);
        }
        Some(Detected::Named(rule)) if has_magic(rule) => return Ok(Recognized::Named(rule).into()),
        _ => {}
    }
    if let Some(content) = contents::by_magic(start, length) {
        return Ok(of_content(content));
    }
    if detected == Some(Detected::Named(Rule::FormatTar)) || members::tar_size(start).is_some() {
        return of_archive(Rule::FormatTar, "tar", members::tar(source, length)?);
    }
    if is_text {
        return Ok(of_text(start, page, name));
    }
    if contents::is_word2vec(start) {
        return Ok(Recognized::Named(Rule::FormatWord2vec).into());
    }
    if contents::is_flax(start) {
        return Ok(Recognized::Named(Rule::FormatFlax).into());
    }
    if let Some(content) = contents::of_protobuf(start, name) {
        return Ok(of_content(content));
    }
    if let Some(Detected::Named(rule)) = detected
        && !matches!(rule, Rule::FormatPickle | Rule::FormatTar)
    {
        return Ok(Recognized::Named(rule).into());
    }
    if is_tensorflow(source, length, name)? {
        return Ok(Recognized::Named(Rule::FormatTensorflow).into());
    }
    // The header length of a safetensors file takes the first 8 bytes, and the header begins with a brace. A length beyond
    // 4 GiB is damage that the safetensors reader reports.
    if start.get(8) == Some(&b'{') {
        return Ok(Recognized::Read(Format::Safetensors).into());
    }
    Ok(of_name(name, Recognized::Unknown))
}

/// Returns the recognition of an empty file. If `name` claims a format, the recognition gives the reader or the rule of
/// the claimed format that rejects the empty file.
fn of_nothing(name: FileName<'_>) -> Result<Recognition, FormatError> {
    let empty = Recognition::from(Recognized::Empty);
    let rule = match by_name(name) {
        // The reader of indexes reports that the file is empty.
        _ if is_index(name) => return Ok(Recognized::Read(Format::Index).into()),
        Some(Detected::Read(_)) => Rule::SafetensorsSize,
        Some(Detected::Misnamed(rule)) => rule,
        _ => return Ok(empty),
    };
    let sentence = Some(copied(Rule::FormatEmpty.row().broken())?);
    Ok(Recognition { rule: Some(rule), sentence, ..empty })
}

/// Returns the recognition of a file whose content has the given `kind`: unknown, or a kind without tensors. If `name`
/// claims a tensor format, the recognition gives the reader that reports what is wrong with the content, or the rule that
/// the file breaks.
fn of_name(name: FileName<'_>, kind: Recognized) -> Recognition {
    match by_name(name) {
        // The content is unknown, so the reader of the claimed format reports what is wrong with it.
        Some(Detected::Read(format)) if kind == Recognized::Unknown => {
            Recognized::Read(format).into()
        }
        // The content is known, such as text or JSON, and the name claims a tensor format. The error says so instead of what the
        // parser of the claimed format would find: in a text, the parser of safetensors would find a header of 2^60 bytes.
        Some(Detected::Read(_)) => Recognition { rule: Some(Rule::FormatName), ..kind.into() },
        Some(Detected::Misnamed(rule)) => Recognition { rule: Some(rule), ..kind.into() },
        _ => kind.into(),
    }
}

/// Returns the recognition of a file whose first bytes tell that it has the given `content`.
fn of_content(content: Content) -> Recognition {
    match content {
        Content::Named(rule) => Recognized::Named(rule).into(),
        Content::Other(kind) => Recognized::Other(kind).into(),
        Content::Executable(kind) => Recognized::Executable(kind).into(),
    }
}

/// Returns the recognition of a pickle that begins with `start`: the rule `format-joblib` if `start` names the module of
/// joblib, and `format-pickle` otherwise. `evidence` is the reason why the file was taken for a pickle. If the scanner stopped
/// at its limit on the stack, the message says so.
fn of_pickle(start: &[u8], evidence: Evidence) -> Result<Recognition, FormatError> {
    let is_joblib = start.windows(JOBLIB.len()).any(|part| part == JOBLIB);
    let rule = if is_joblib { Rule::FormatJoblib } else { Rule::FormatPickle };
    let sentence = match evidence {
        Evidence::Limit => Some(copied(
            "this looks like a pickle of Python, and keeps more values than zten follows: \
             loading it may run code of its author",
        )?),
        _ => None,
    };
    Ok(Recognition { sentence, ..Recognized::Named(rule).into() })
}

/// The name of the Python module whose classes joblib uses to wrap arrays in a pickle.
const JOBLIB: &[u8] = b"joblib.numpy_pickle";

/// Returns the recognition of an archive of a `kind` ("zip" or "tar") whose rule is `rule`. `member` is the name of the first
/// member that is a pickle: with such a member, the archive is recognized as a pickle.
fn of_archive(rule: Rule, kind: &str, member: Option<String>) -> Result<Recognition, FormatError> {
    let Some(member) = member else { return Ok(Recognized::Named(rule).into()) };
    let sentence = copied(format_args!(
        "this {kind} archive holds a pickle of Python: loading the pickle runs code of its author"
    ))?;
    let (sentence, member) = (Some(sentence), Some(member));
    Ok(Recognition { sentence, member, ..Recognized::Named(Rule::FormatPickle).into() })
}

/// Returns the recognition of a text that begins with `start`: word vectors, source code, JSON or other text. `page` is the
/// rule for an HTML, XML or JSON response of a server, if the text looks like such a response, and becomes the recognition
/// unless such a text is expected in a file called `name`.
fn of_text(start: &[u8], page: Option<Rule>, name: FileName<'_>) -> Recognition {
    if contents::is_word2vec(start) {
        return Recognized::Named(Rule::FormatWord2vec).into();
    }
    let kind = match text::kind(start, name) {
        Ok(kind) => Recognized::Other(kind),
        Err(program) => Recognized::Executable(program),
    };
    let Some(rule) = page else { return of_name(name, kind) };
    if text::is_expected(rule, name) {
        return Recognition { rule: Some(rule), ..kind.into() };
    }
    Recognized::Named(rule).into()
}

/// Returns whether a text begins as pickles of Python 2 do: with an empty dictionary or list that is put into the memo, as in
/// `(dp0`.
fn begins_with_memo(start: &[u8]) -> bool {
    let number = start.strip_prefix(b"(dp").or_else(|| start.strip_prefix(b"(lp"));
    let number = number.and_then(|rest| rest.split(|byte| *byte == b'\n').next());
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

/// Returns whether `rule` names HDF5, GGML, Keras or TensorFlow Lite, which [`by_start`] recognizes by a magic number. Such a
/// recognition is final.
fn has_magic(rule: Rule) -> bool {
    matches!(rule, Rule::FormatHdf5 | Rule::FormatGgml | Rule::FormatKeras | Rule::FormatTflite)
}

/// Returns whether a file is part of a TensorFlow checkpoint: an index file, which ends with the magic number of a table, or a
/// data file, which only its name (`*.data-00000-of-00001`) identifies.
fn is_tensorflow(
    source: &dyn ReadAt,
    length: u64,
    name: FileName<'_>,
) -> Result<bool, FormatError> {
    const TABLE: [u8; 8] = 0xdb47_7524_8b80_fb57_u64.to_le_bytes();
    let name = name.text().unwrap_or_default();
    let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let shard = name.rsplit_once(".data-").and_then(|(_, shard)| shard.split_once("-of-"));
    if shard.is_some_and(|(number, count)| is_number(number) && is_number(count)) {
        return Ok(true);
    }
    let Some(end) = length.checked_sub(8) else { return Ok(false) };
    let mut input = Stored::new(source, end, length);
    Ok(input.array()? == Some(TABLE))
}

/// Returns whether `name` is the name of an index (`.index.json`) of several safetensors or PyTorch files.
pub(super) fn is_index(name: FileName<'_>) -> bool {
    name.text().is_some_and(index::is_named_so)
}
