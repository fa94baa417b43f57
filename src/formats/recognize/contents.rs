//! Recognizing the kind of a file that zten does not read from its first bytes.

use alloc::string::String;

use crate::file_name::FileName;
use crate::formats::rules::Rule;

use super::{Executable, OtherKind};

/// The kind of a file that zten does not read, as its first bytes tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Named(Rule),
    Other(OtherKind),
    Executable(Executable),
}

/// Magic numbers that are long or unusual enough that no other file begins with them by chance.
const MAGICS: &[(&[u8], Content)] = &[
    (b"\x1f\x8b\x08", Content::Named(Rule::FormatGzip)),
    (b"\xfd7zXZ\0", Content::Named(Rule::FormatXz)),
    (b"\x28\xb5\x2f\xfd", Content::Named(Rule::FormatZstd)),
    (b"\x04\x22\x4d\x18", Content::Named(Rule::FormatLz4)),
    (b"\x02\x21\x4c\x18", Content::Named(Rule::FormatLz4)),
    (b"7z\xbc\xaf\x27\x1c", Content::Named(Rule::Format7z)),
    (b"MATLAB 5.0 MAT-file", Content::Named(Rule::FormatMatlab)),
    (b"MATLAB 7.3 MAT-file", Content::Named(Rule::FormatMatlab)),
    (b"\xba\x16\x4f\x2f", Content::Named(Rule::FormatFasttext)),
    (b"\x7fELF", Content::Executable(Executable::Elf)),
    (b"\xfe\xed\xfa\xce", Content::Executable(Executable::MachO)),
    (b"\xfe\xed\xfa\xcf", Content::Executable(Executable::MachO)),
    (b"\xce\xfa\xed\xfe", Content::Executable(Executable::MachO)),
    (b"\xcf\xfa\xed\xfe", Content::Executable(Executable::MachO)),
    (b"\x89PNG\r\n\x1a\n", Content::Other(OtherKind::Image)),
    (b"\xff\xd8\xff", Content::Other(OtherKind::Image)),
    (b"GIF87a", Content::Other(OtherKind::Image)),
    (b"GIF89a", Content::Other(OtherKind::Image)),
    (b"II*\0", Content::Other(OtherKind::Image)),
    (b"MM\0*", Content::Other(OtherKind::Image)),
    (b"8BPS\0\x01", Content::Other(OtherKind::Image)),
    (b"\0\0\x01\0\x01\0", Content::Other(OtherKind::Image)),
    (b"\0\0\x01\0\x02\0", Content::Other(OtherKind::Image)),
    (b"\0\0\x01\0\x03\0", Content::Other(OtherKind::Image)),
    (b"\xff\x0a", Content::Other(OtherKind::Image)),
    (b"\0\0\0\x0cJXL \r\n\x87\n", Content::Other(OtherKind::Image)),
    (b"\x76\x2f\x31\x01", Content::Other(OtherKind::Image)),
    (b"wOFF", Content::Other(OtherKind::Font)),
    (b"wOF2", Content::Other(OtherKind::Font)),
    (b"\0\x01\0\0\0", Content::Other(OtherKind::Font)),
    (b"OTTO\0", Content::Other(OtherKind::Font)),
    (b"true\0", Content::Other(OtherKind::Font)),
    (b"ttcf\0", Content::Other(OtherKind::Font)),
    (b"ID3", Content::Other(OtherKind::Media)),
    (b"fLaC", Content::Other(OtherKind::Media)),
    (b"OggS\0", Content::Other(OtherKind::Media)),
    (b"\x1a\x45\xdf\xa3", Content::Other(OtherKind::Media)),
    (b"MThd\0\0\0\x06", Content::Other(OtherKind::Media)),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", Content::Other(OtherKind::Media)),
    (b"%PDF-", Content::Other(OtherKind::Pdf)),
];

/// Recognizes a file of `length` bytes that begins with `start` by its magic number, or by header fields that other files do
/// not have. Returns `None` if the bytes tell nothing.
pub(super) fn by_magic(start: &[u8], length: u64) -> Option<Content> {
    if let Some((_, content)) = MAGICS.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Some(*content);
    }
    let at = |offset: usize, bytes: &[u8]| {
        start.get(offset..).is_some_and(|rest| rest.starts_with(bytes))
    };
    // The magic number of bzip2 is short, so the bytes after the block size decide: the magic number of the first block,
    // or that of the end of an empty stream.
    if let [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..] = start
        && (rest.starts_with(b"1AY&SY") || rest.starts_with(b"\x17\x72\x45\x38\x50\x90"))
    {
        return Some(Content::Named(Rule::FormatBzip2));
    }
    // RIFF containers (WebP, WAVE, AVI) and the containers of ISO media (MP4, AVIF, HEIC) have a type after a length field.
    if at(0, b"RIFF") || at(0, b"RIFX") {
        let kinds =
            [(b"WEBP", OtherKind::Image), (b"WAVE", OtherKind::Media), (b"AVI ", OtherKind::Media)];
        let entry = kinds.iter().find(|(magic, _)| at(8, *magic));
        return entry.map(|(_, kind)| Content::Other(*kind));
    }
    if at(4, b"ftyp") {
        let is_image = [b"avif", b"heic", b"heix", b"mif1"].iter().any(|brand| at(8, *brand));
        let kind = if is_image { OtherKind::Image } else { OtherKind::Media };
        return Some(Content::Other(kind));
    }
    if at(0, b"FORM") && (at(8, b"AIFF") || at(8, b"AIFC")) {
        return Some(Content::Other(OtherKind::Media));
    }
    // "BM" is too short to decide, so the length of the file, the reserved bytes and the size of the next header must fit.
    if at(0, b"BM") && at(6, &[0; 4]) && (at(15, &[0; 3])) && bytes_u32(start, 2) == Some(length) {
        return Some(Content::Other(OtherKind::Image));
    }
    // A frame of MPEG audio begins with synchronization bits, and has a layer, version, bit rate and sampling rate that exist.
    if let [0xff, 0xe2..=0xfd, rates, ..] = start
        && rates >> 4 != 0xf
        && rates & 0xc != 0xc
        && start.get(1).is_some_and(|layer| layer & 0x06 != 0 && layer & 0x18 != 0x08)
    {
        return Some(Content::Other(OtherKind::Media));
    }
    if at(0, b"MZ") && is_program(start) {
        return Some(Content::Executable(Executable::Pe));
    }
    if is_bytecode(start) {
        return Some(Content::Executable(Executable::Bytecode));
    }
    is_zlib(start).then_some(Content::Named(Rule::FormatZlib))
}

/// Returns whether a file that begins with `start` was added to a folder by macOS or Windows. A `Thumbs.db` begins as all
/// compound files of Microsoft do, so its `name` must fit, too.
pub(super) fn is_os_metadata(start: &[u8], name: FileName<'_>) -> bool {
    let is_named = |wanted: &str| name.bytes().eq_ignore_ascii_case(wanted.as_bytes());
    // A `.DS_Store`, in which the Finder of macOS keeps the view of a folder.
    start.starts_with(b"\0\0\0\x01Bud1")
        // An AppleDouble file, version 1 or 2: the attributes of the file NAME are in `._NAME`.
        || start.starts_with(b"\0\x05\x16\x07\0\x01\0\0")
        || start.starts_with(b"\0\x05\x16\x07\0\x02\0\0")
        || start.starts_with(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")
            && (is_named("Thumbs.db") || is_named("ehthumbs.db"))
}

fn bytes_u32(start: &[u8], offset: usize) -> Option<u64> {
    let bytes = start.get(offset..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes).into())
}

/// Returns whether a file with a DOS header is a Windows program: the field at offset 0x3c points to a PE header, which begins
/// within `start`.
fn is_program(start: &[u8]) -> bool {
    let offset = bytes_u32(start, 0x3c).and_then(|offset| usize::try_from(offset).ok());
    let header = offset.and_then(|offset| start.get(offset..));
    header.is_some_and(|header| header.starts_with(b"PE\0\0"))
}

/// Returns whether a file begins as compiled Python (2.3 to 3.x) does: with a version number, CR LF and, since Python 3.7,
/// flags of which only the two lowest bits are used.
fn is_bytecode(start: &[u8]) -> bool {
    let [low, high, b'\r', b'\n', rest @ ..] = start else { return false };
    let version = u16::from_le_bytes([*low, *high]);
    match version {
        3390..4000 => matches!(rest, [0..=3, 0, 0, 0, ..]),
        3000..3390 | 62000..62300 => true,
        _ => false,
    }
}

/// Returns whether a file begins with a zlib header (RFC 1950), as its first three bytes tell: a window of 32 KiB, two bytes
/// that are a multiple of 31, and a first deflate block of a valid type. joblib compresses pickles with zlib.
fn is_zlib(start: &[u8]) -> bool {
    let [0x78, flags @ (0x01 | 0x5e | 0x9c | 0xda), first, ..] = start else { return false };
    // The first deflate block must have a valid type. In most texts that begin with "x", the second byte is no such flag,
    // and in some of the others, the type is invalid.
    (u16::from_be_bytes([0x78, *flags])).is_multiple_of(31) && first & 0x06 != 0x06
}

/// Recognizes a Core ML model, a tokenizer of sentencepiece or a single tensor, which are messages in Protocol Buffers, by its
/// first fields, since the encoding has no magic number. Returns `None` for other files. The suffix of `name` decides between a
/// Core ML model and a TensorFlow `SavedModel`, which may begin alike.
pub(super) fn of_protobuf(start: &[u8], name: FileName<'_>) -> Option<Content> {
    if is_core_ml(start, name) {
        return Some(Content::Named(Rule::FormatCoreMl));
    }
    if is_sentencepiece(start) {
        return Some(Content::Other(OtherKind::Sentencepiece));
    }
    is_tensor_proto(start).then_some(Content::Other(OtherKind::TensorProto))
}

/// The value of a field of a message in Protocol Buffers.
enum Field<'m> {
    Number(u64),
    Bytes(&'m [u8]),
    Fixed,
}

/// Parses the first field of `message`, a text of which the end may be missing. Returns the field's number, its value and the
/// bytes that follow. Returns `None` if the field is of another form, or a number in it is cut.
fn field(message: &[u8]) -> Option<(u64, Field<'_>, &[u8])> {
    let (tag, rest) = varint(message)?;
    let (field, rest) = match tag & 7 {
        0 => varint(rest).map(|(number, rest)| (Field::Number(number), rest))?,
        1 => (Field::Fixed, rest.get(8..)?),
        5 => (Field::Fixed, rest.get(4..)?),
        2 => {
            let (length, rest) = varint(rest)?;
            let length = usize::try_from(length).ok()?.min(rest.len());
            let (bytes, rest) = rest.split_at_checked(length)?;
            (Field::Bytes(bytes), rest)
        }
        _ => return None,
    };
    Some((tag >> 3, field, rest))
}

/// Parses the variable-length integer of Protocol Buffers at the start of `bytes`. Returns the integer and the bytes that
/// follow, or `None` if the integer does not end within ten bytes.
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0;
    for (place, byte) in bytes.iter().enumerate().take(10) {
        let shift = u32::try_from(place).ok()?.checked_mul(7)?;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if *byte < 0x80 {
            return Some((number, bytes.get(place.checked_add(1)?..)?));
        }
    }
    None
}

/// Returns whether `text` is not empty and has no ASCII control characters.
fn is_printable(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(|byte| *byte >= 0x20 && *byte != 0x7f)
}

/// Returns whether a file is a Core ML model, which begins with the version of its specification and a description whose first
/// field is an input with a name, or a weight file of a Core ML program. Of a file with the suffix `.mlmodel`, only the version
/// is checked, and that a field follows. A `SavedModel` of TensorFlow may begin like a model, so a file with the suffix `.pb`
/// is not taken for a model.
fn is_core_ml(start: &[u8], file_name: FileName<'_>) -> bool {
    // A weight file of a program begins with the number of blobs and version 2; the first blob has a magic number at offset 64.
    if start.get(4..8) == Some(&[2, 0, 0, 0]) && start.get(64..68) == Some(b"\xef\xbe\xad\xde") {
        return true;
    }
    let Some((1, Field::Number(1..=32), rest)) = field(start) else { return false };
    if suffix(file_name).is_some_and(|suffix| suffix == "mlmodel") {
        return field(rest).is_some();
    }
    let Some((2, Field::Bytes(description), _)) = field(rest) else { return false };
    let Some((1, Field::Bytes(input), _)) = field(description) else { return false };
    let Some((1, Field::Bytes(name), rest)) = field(input) else { return false };
    let is_pb = suffix(file_name).is_some_and(|suffix| suffix == "pb");
    !is_pb && is_printable(name) && matches!(field(rest), Some((2 | 3 | 1000, Field::Bytes(_), _)))
}

/// Returns whether a file is a model of sentencepiece: a list of pieces, where the first piece has a text and a score.
fn is_sentencepiece(start: &[u8]) -> bool {
    let Some((1, Field::Bytes(piece), rest)) = field(start) else { return false };
    let Some((1, Field::Bytes(text), score)) = field(piece) else { return false };
    is_printable(text)
        && matches!(field(score), Some((2, Field::Fixed, _)))
        && (rest.first() == Some(&0x0a) || rest.is_empty())
}

/// Returns whether a file is a single tensor of ONNX (up to 16 dimensions, then a type, then a name or data) or of TensorFlow
/// (a type, then a shape, then data).
fn is_tensor_proto(start: &[u8]) -> bool {
    if let Some((1, Field::Number(1..=30), rest)) = field(start)
        && let Some((2, Field::Bytes(shape), rest)) = field(rest)
    {
        let is_shape = shape.is_empty()
            || matches!(field(shape), Some((2, Field::Bytes(size), _))
                if matches!(field(size), Some((1, Field::Number(_), _))) || size.is_empty());
        return is_shape && matches!(field(rest), Some((3..=17, _, _)));
    }
    let mut rest = start;
    let mut dimensions: u32 = 0;
    while let Some((1, Field::Number(_) | Field::Bytes(_), next)) = field(rest) {
        (rest, dimensions) = (next, dimensions.saturating_add(1));
    }
    let Some((2, Field::Number(1..=30), rest)) = field(rest) else { return false };
    let has_name = matches!(field(rest), Some((8, Field::Bytes(name), _)) if is_printable(name));
    (1..=16).contains(&dimensions) && has_name
        || matches!(field(rest), Some((4..=11, Field::Bytes(_), _))) && dimensions <= 16
}

/// Returns whether a file is a checkpoint of Flax: nested `MessagePack` maps with text keys. The first entry of each map is
/// followed until it is an extension of type 1 to 3 (array, complex number or scalar), or the mark of an array that Flax has
/// split into chunks. If `start` ends within or right after a key, two nested maps suffice.
pub(super) fn is_flax(start: &[u8]) -> bool {
    let mut rest = start;
    let mut depth: u32 = 0;
    loop {
        rest = match rest {
            [0x81..=0x8f, rest @ ..] | [0xde, _, _, rest @ ..] | [0xdf, _, _, _, _, rest @ ..] => {
                rest
            }
            // The extension types of Flax: 1 for an array, 2 for a complex number, 3 for a NumPy scalar.
            [0xc7, _, kind, ..] | [0xc8, _, _, kind, ..] | [0xc9, _, _, _, _, kind, ..] => {
                return depth > 0 && (1..=3).contains(kind);
            }
            [0xd4..=0xd8, kind, ..] => return depth > 0 && (1..=3).contains(kind),
            _ => return false,
        };
        depth = depth.saturating_add(1);
        let (length, text) = match rest {
            [length @ 0xa1..=0xbf, text @ ..] => (length & 0x1f, text),
            [0xd9, length, text @ ..] => (*length, text),
            _ => return false,
        };
        let Some((key, next)) = text.split_at_checked(length.into()) else {
            // The key is cut because only the start of the file was read.
            return depth > 1 && is_printable(text);
        };
        if !is_printable(key) {
            return false;
        }
        // Flax splits an array of more than 1 GiB into chunks, under this key.
        if key.starts_with(b"__msgpack_chunked_array__") {
            return true;
        }
        if next.is_empty() {
            return depth > 1;
        }
        rest = next;
    }
}

/// Returns whether a file holds word vectors in the text or binary format of `word2vec`: the number of words and the length of
/// each vector in the first line, then the first word.
pub(super) fn is_word2vec(start: &[u8]) -> bool {
    let number = |rest: &mut &[u8], end: u8| -> Option<u64> {
        let place = rest.iter().take(20).position(|byte| *byte == end)?;
        let (digits, following) = rest.split_at_checked(place)?;
        *rest = following.get(1..)?;
        str::from_utf8(digits).ok()?.parse().ok()
    };
    let mut rest = start;
    let (Some(1..), Some(size @ 1..=65536)) = (number(&mut rest, b' '), number(&mut rest, b'\n'))
    else {
        return false;
    };
    let Some(end) = rest.iter().take(256).position(|byte| *byte == b' ') else { return false };
    let (word, numbers) = rest.split_at(end);
    if !is_printable(word) {
        return false;
    }
    if !super::text::is_text(start, false) {
        return true;
    }
    // In the text format, each line has a word and `size` numbers. The end of the first line may lie beyond `start`.
    let numbers = numbers.get(1..).unwrap_or_default();
    let line = numbers.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_cut = line.len() == numbers.len();
    let mut count: u64 = 0;
    let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty()).peekable();
    while let Some(field) = fields.next() {
        if is_cut && fields.peek().is_none() {
            break;
        }
        let number = str::from_utf8(field).ok().and_then(|text| text.trim().parse::<f64>().ok());
        if number.is_none() {
            return false;
        }
        count = count.saturating_add(1);
    }
    count == size || is_cut && count < size
}

/// Returns the last suffix of `name`, without the dot and in lower case; `None` if there is none.
pub(super) fn suffix(name: FileName<'_>) -> Option<String> {
    name.suffix().map(str::to_ascii_lowercase)
}
