//! Recognizing kinds of text, and pages or messages of servers that were stored in place of a model.

use alloc::string::String;

use crate::file_name::FileName;
use crate::finding::grouped;
use crate::formats::error::{FormatError, copied};
use crate::formats::rules::Rule;

use super::contents::suffix;
use super::{Executable, OtherKind};

/// Returns whether a file that begins with `start` is text: UTF-8, UTF-16 with a byte order mark, or bytes of which fewer than
/// one in eight are not ASCII, such as letters of an 8-bit encoding. Control characters other than white space and escape are
/// not allowed in text. An empty file is not text. `is_whole` says that `start` is the whole file; otherwise the last character
/// may be cut.
pub(super) fn is_text(start: &[u8], is_whole: bool) -> bool {
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        return is_utf16(start);
    }
    let is_control =
        |byte: &u8| *byte < 0x20 && !b"\t\n\r\x0b\x0c\x1b".contains(byte) || *byte == 0x7f;
    if start.is_empty() || start.iter().any(is_control) {
        return false;
    }
    match str::from_utf8(start) {
        Ok(_) => true,
        // The last character is cut because only the start of the file was read.
        Err(error) if error.error_len().is_none() && !is_whole => true,
        Err(_) => {
            let non_ascii = start.iter().filter(|byte| **byte >= 0x80).count();
            non_ascii.saturating_mul(8) < start.len()
        }
    }
}

/// Returns whether `start`, which begins with a byte order mark of UTF-16, has no control characters below U+0020 other than
/// white space, and neither U+FFFE nor U+FFFF. A last single byte is ignored.
fn is_utf16(start: &[u8]) -> bool {
    let is_little = start.starts_with(b"\xff\xfe");
    let (pairs, _) = start.as_chunks::<2>();
    pairs.iter().skip(1).all(|pair| {
        let unit = if is_little { u16::from_le_bytes(*pair) } else { u16::from_be_bytes(*pair) };
        (0x20..0xfffe).contains(&unit) || matches!(unit, 0x09..=0x0d)
    })
}

/// Returns whether a file that begins with `start` is a Git LFS pointer: a text that Git stores in place of a large file.
pub(super) fn is_lfs_pointer(start: &[u8]) -> bool {
    const VERSIONS: [&[u8]; 2] =
        [b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/"];
    VERSIONS.iter().any(|version| start.starts_with(version))
}

/// Returns the message for a Git LFS pointer that begins with `start`. The message has the size of the file that the pointer
/// stands for, if the pointer gives this size.
pub(super) fn lfs_sentence(start: &[u8]) -> Result<String, FormatError> {
    let mut lines = start.split(|byte| *byte == b'\n');
    let size = lines.find_map(|line| line.strip_prefix(b"size "));
    let size: Option<u64> = size.and_then(|size| str::from_utf8(size).ok()?.trim().parse().ok());
    match size {
        Some(size) => copied(format_args!(
            "this is a Git LFS pointer, not the file ({} bytes)",
            grouped(size)
        )),
        None => copied(Rule::FormatLfsPointer.row().broken()),
    }
}

/// Recognizes an HTML page, an XML message or a JSON error, as servers send them in place of a file, by its first bytes.
/// Returns the rule that names the kind of response, or `None` for any other content. A JSON object is recognized if its first
/// key is one of those that errors begin with, such as `error` or `message`.
pub(super) fn of_server(start: &[u8]) -> Option<Rule> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let begins = |prefix: &str| {
        text.get(..prefix.len()).is_some_and(|text| text.eq_ignore_ascii_case(prefix.as_bytes()))
    };
    if begins("<!doctype html") || begins("<html") || begins("<head>") || begins("<body") {
        return Some(Rule::FormatHtml);
    }
    if begins("<?xml") {
        let has_html = text.windows(5).take(1024).any(|part| part.eq_ignore_ascii_case(b"<html"));
        return Some(if has_html { Rule::FormatHtml } else { Rule::FormatXml });
    }
    if begins("<error>") || begins("<code>") {
        return Some(Rule::FormatXml);
    }
    let inside = text.strip_prefix(b"{")?.trim_ascii_start();
    let key = inside.strip_prefix(b"\"")?;
    let key = key.get(..key.iter().take(64).position(|byte| *byte == b'"')?)?;
    let keys = [
        &b"error"[..],
        b"errors",
        b"message",
        b"detail",
        b"details",
        b"error_code",
        b"error_message",
        b"errorcode",
        b"statuscode",
        b"status_code",
        b"fault",
        b"err",
        b"reason",
    ];
    keys.iter().any(|known| key.eq_ignore_ascii_case(known)).then_some(Rule::FormatJsonError)
}

/// Returns whether a file called `name` may hold the kind of page or message that `rule` names. A page or message in a file
/// with a name that does not announce it, such as HTML in `model.safetensors`, comes from a failed download. A name without a
/// suffix announces nothing.
pub(super) fn is_expected(rule: Rule, name: FileName<'_>) -> bool {
    let Some(suffix) = suffix(name) else { return false };
    if MODELS.contains(&&*suffix) {
        return false;
    }
    match rule {
        // A file that is not called like a model may be a configuration file in XML, or one in JSON whose first key happens to be
        // "message" or "error". Such files have suffixes of any kind, so the suffix does not matter: no download has failed.
        Rule::FormatXml | Rule::FormatJsonError => true,
        _ => WEB.contains(&&*suffix) || TEXT.contains(&&*suffix) || SOURCE.contains(&&*suffix),
    }
}

/// Suffixes of the names of models and their data. An HTML page or an error message under such a name comes from a failed download.
const MODELS: &[&str] = &[
    "safetensors",
    "gguf",
    "ggml",
    "npy",
    "npz",
    "zt",
    "pt",
    "pth",
    "ckpt",
    "pkl",
    "pickle",
    "bin",
    "h5",
    "hdf5",
    "keras",
    "onnx",
    "pb",
    "tflite",
    "mlmodel",
    "msgpack",
    "joblib",
    "mat",
    "model",
    "weights",
    "params",
    "pdparams",
    "tar",
    "gz",
    "tgz",
    "bz2",
    "xz",
    "zst",
    "zip",
    "7z",
    "vec",
    "index",
    "data",
    "dat",
    "pt2",
    "ptl",
    "llamafile",
];
/// Suffixes of the names of web pages, under which an HTML page is expected.
const WEB: &[&str] = &["html", "htm", "xhtml", "shtml", "svg"];
/// Suffixes of the names of texts that may contain HTML.
const TEXT: &[&str] =
    &["md", "txt", "rst", "json", "jsonl", "tmpl", "jinja", "j2", "tex", "csv", "ipynb"];
/// Suffixes of the names of source code in various languages.
const SOURCE: &[&str] = &[
    "c", "h", "cc", "cpp", "cxx", "hpp", "cu", "cuh", "rs", "go", "java", "kt", "scala", "swift",
    "m", "mm", "js", "mjs", "cjs", "ts", "tsx", "jsx", "vue", "php", "rb", "pl", "lua", "jl", "r",
    "sh", "bash", "zsh", "fish", "ps1", "bat", "cmd", "sql", "proto", "cmake", "pyi", "pyx", "pxd",
    "css", "scss", "erb", "cs", "hs", "ml", "ex", "exs", "erl", "clj", "zig", "nim", "d", "f",
    "f90", "asm", "s", "glsl", "wgsl", "metal", "cl", "py", "pyw",
];

/// Returns the kind of the text that begins with `start`, in a file called `name`. A file whose suffix is `py` or `pyw` is
/// returned as the error [`Executable::Python`], so that callers treat the file as a program.
pub(super) fn kind(start: &[u8], name: FileName<'_>) -> Result<OtherKind, Executable> {
    let suffix = suffix(name);
    let suffix = suffix.as_deref().unwrap_or_default();
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    if matches!(suffix, "py" | "pyw") {
        return Err(Executable::Python);
    }
    let head = text.get(..text.len().min(1024)).unwrap_or_default();
    if text.starts_with(b"<svg")
        || text.starts_with(b"<?xml") && head.windows(4).any(|part| part == b"<svg")
    {
        return Ok(OtherKind::Image);
    }
    if SOURCE.contains(&suffix) || start.starts_with(b"#!") {
        return Ok(OtherKind::Source);
    }
    let is_json = match text {
        [b'{', rest @ ..] => matches!(rest.trim_ascii_start(), [b'"' | b'}', ..]),
        [b'[', rest @ ..] => {
            matches!(rest.trim_ascii_start(), [b'"' | b'[' | b'{' | b']' | b'-' | b'0'..=b'9', ..])
        }
        _ => false,
    };
    let is_json = is_json && !matches!(suffix, "md" | "txt" | "rst" | "toml" | "ini" | "cfg");
    Ok(if is_json { OtherKind::Json } else { OtherKind::Text })
}
