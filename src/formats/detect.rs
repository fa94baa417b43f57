//! Detecting the format of a file from its first bytes: a format that zten reads, or a format that zten only names.

use super::gguf;
use super::index;
use super::npy;
use super::rules::Rule;
use crate::file_name::FileName;

/// Defines [`Format`]. Each format has a name in JSON output, a description of a file, and the suffixes of its files.
macro_rules! formats {
    ($(#[doc = $doc:literal] $format:ident, $name:literal, $description:literal, [$($suffix:expr),+];)+) => {
        /// A format that zten reads.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Format {
            $(#[doc = $doc] $format,)+
        }

        impl Format {
            /// All formats that zten reads.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$format),+];

            /// Returns the name of the format in JSON output, such as `gguf`.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$format => $name,)+
                }
            }

            /// Returns a description of a file of this format for messages, without an article.
            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$format => $description,)+
                }
            }

            /// Returns the suffixes of the names of files of this format, in lower case and with the dot.
            pub fn suffixes(self) -> &'static [&'static str] {
                match self {
                    $(Self::$format => &[$($suffix),+],)+
                }
            }
        }
    };
}

formats! {
    /// A safetensors file.
    Safetensors, "safetensors", "safetensors file", [".safetensors"];
    /// A GGUF file.
    Gguf, "gguf", "GGUF file", [".gguf"];
    /// A `.npy` file: one NumPy array.
    Npy, "npy", ".npy file", [".npy"];
    /// A `.npz` file: a zip archive of NumPy arrays.
    Npz, "npz", ".npz file", [".npz"];
    /// An index of safetensors files, or of checkpoints of PyTorch: only the index itself says which.
    Index, "safetensors-index", "index of safetensors or PyTorch files", [index::SUFFIX];
    /// A checkpoint of PyTorch.
    Torch, "torch", "PyTorch checkpoint", [".pt", ".pth", ".ckpt"];
}

/// The detected format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detected {
    /// A format that zten reads.
    Read(Format),
    /// A format that zten recognizes but does not read. The rule names the format.
    Named(Rule),
    /// A file whose name claims a format that its content does not have. The file breaks this rule of the claimed format.
    Misnamed(Rule),
}

impl Detected {
    /// Returns the name of the format in JSON output; `None` for a misnamed file, whose format is not known.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Read(format) => Some(format.name()),
            Self::Named(rule) => rule.row().id().strip_prefix("format-"),
            Self::Misnamed(_) => None,
        }
    }
}

/// The number of bytes at the start of a file from which its format is detected.
pub const START: usize = 512;

/// Detects the format of a file from `start`, its first [`START`] bytes or the whole file. The `name` matters only for an
/// index, and for a zip archive whose first member is no array. Returns `None` if the bytes tell no format.
pub fn by_start<'n>(start: &[u8], name: impl Into<FileName<'n>>) -> Option<Detected> {
    let name = name.into();
    let magic = MAGICS.iter().find(|(magic, _)| start.starts_with(magic));
    if let Some((_, found)) = magic {
        return Some(*found);
    }
    // A file of less than 30 bytes cannot be a zip archive, because a local header of zip takes 30 bytes. But a file called `.npz`
    // is read as an archive even so, and is then rejected as too short. Without this, the error would be that the file does
    // not begin with the magic of zip, although it does.
    let is_npz = by_name(name) == Some(Detected::Misnamed(Rule::NpzMagic));
    if start.starts_with(b"PK\x03\x04") && (start.len() >= 30 || is_npz) {
        return Some(of_zip(start, name));
    }
    // A safetensors file begins with the length of the header in 8 bytes, and the header begins with a brace.
    let brace = start.get(8) == Some(&b'{');
    if brace && start.get(4..8) == Some(&[0; 4]) {
        return Some(Detected::Read(Format::Safetensors));
    }
    if name.text().is_some_and(index::is_named_so) {
        return Some(Detected::Read(Format::Index));
    }
    let named = if start.get(4..8) == Some(b"TFL3") {
        Some(Rule::FormatTflite)
    } else if start.get(257..262) == Some(b"ustar") {
        // Releases of PyTorch before 0.1.10 wrote tar archives, which begin with the name of one of these members.
        let of_torch = [&b"sys_info\0"[..], b"pickle\0", b"storages\0", b"tensors\0"];
        let is_of_torch = of_torch.iter().any(|name| start.starts_with(name));
        Some(if is_of_torch { Rule::FormatTorch } else { Rule::FormatTar })
    } else if is_stream(start) {
        return Some(Detected::Read(Format::Torch));
    } else if is_pickle(start) {
        Some(Rule::FormatPickle)
    } else {
        of_protobuf(start)
    };
    match named {
        Some(rule) => Some(Detected::Named(rule)),
        None => brace.then_some(Detected::Read(Format::Safetensors)),
    }
}

/// Magic numbers at the start of files, and the formats that they tell.
const MAGICS: [(&[u8], Detected); 8] = [
    (npy::MAGIC, Detected::Read(Format::Npy)),
    (gguf::MAGIC, Detected::Read(Format::Gguf)),
    // An archive without members consists of its end record.
    (b"PK\x05\x06", Detected::Read(Format::Npz)),
    (b"\x89HDF\r\n\x1a\n", Detected::Named(Rule::FormatHdf5)),
    // Magic numbers of four letters, which are stored little-endian.
    (b"lmgg", Detected::Named(Rule::FormatGgml)),
    (b"fmgg", Detected::Named(Rule::FormatGgml)),
    (b"tjgg", Detected::Named(Rule::FormatGgml)),
    (b"algg", Detected::Named(Rule::FormatGgml)),
];

/// Returns whether a file begins with the magic number of PyTorch before 1.6, which is an integer in a pickle of its own.
pub(super) fn is_stream(start: &[u8]) -> bool {
    const DECIMAL: &[u8] = b"L119547037146038801333356L\n.";
    const BINARY: &[u8] = b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";
    match start {
        [0x80, 4..=5, 0x95, _, _, _, _, _, _, _, _, rest @ ..] | [0x80, 2..=5, rest @ ..] => {
            rest.starts_with(BINARY)
        }
        start => start.starts_with(DECIMAL),
    }
}

/// Detects the format of a zip archive by the name of its first member, or by `file_name`, the name of the archive, if that
/// member tells nothing.
fn of_zip(start: &[u8], file_name: FileName<'_>) -> Detected {
    let length = start.get(26..28).and_then(|length| length.first_chunk::<2>());
    let length = usize::from(u16::from_le_bytes(length.copied().unwrap_or_default()));
    let name = start.get(30..).unwrap_or_default();
    let name = name.get(..length).unwrap_or(name);
    if name.ends_with(b".npy") {
        return Detected::Read(Format::Npz);
    }
    let inside = name.iter().position(|byte| *byte == b'/');
    let inside = inside.and_then(|slash| name.get(slash.saturating_add(1)..)).unwrap_or_default();
    if inside == b"archive_format" || name.starts_with(b"serialized_exported_program") {
        return Detected::Named(Rule::FormatTorchExport);
    }
    let of_torch =
        [&b"data/"[..], b"code/", b"constants/", b".data/", b"version", b"byteorder", b"."];
    if name.ends_with(b".pkl") || of_torch.iter().any(|prefix| inside.starts_with(prefix)) {
        return Detected::Read(Format::Torch);
    }
    let of_keras = [&b"metadata.json"[..], b"config.json", b"model.weights.h5"];
    if of_keras.contains(&name) {
        return Detected::Named(Rule::FormatKeras);
    }
    match by_name(file_name) {
        // `NpzMagic` means that the name ends in `.npz`. The `.npz` reader opens such an archive, because its errors name the
        // member that is no array.
        Some(Detected::Misnamed(Rule::NpzMagic)) => Detected::Read(Format::Npz),
        _ => Detected::Named(Rule::FormatZip),
    }
}

/// Returns whether a file begins like a pickle: with the opcode PROTO and a common opcode, or with the common first bytes of
/// protocols 0 and 1.
fn is_pickle(start: &[u8]) -> bool {
    if let [0x80, 2..=5, next, ..] = start {
        return b"\x8a}]()c\x95NKJXU\x88\x89GMB\x8c\x8e\x8f\x96".contains(next);
    }
    let usual = [
        &b"(dp"[..],
        b"(lp",
        b"(ip",
        b"}q\0",
        b"]q\0",
        b"ccopy_reg\n",
        b"ccollections\n",
        b"c__builtin__\n",
    ];
    let more = [&b"cbuiltins\n"[..], b"cnumpy", b"ctorch", b"cposix\n", b"cos\n"];
    usual.iter().chain(&more).any(|prefix| start.starts_with(prefix))
}

/// Detects a `SavedModel` or an ONNX model in Protocol Buffers by its first two fields, since the encoding has no magic
/// number. Returns the rule that names the format.
fn of_protobuf(start: &[u8]) -> Option<Rule> {
    let [0x08, version @ 1..=0x7f, tag, length, rest @ ..] = start else { return None };
    match tag {
        // SavedModel: the schema version 1, and the first graph, which begins with a nested message.
        0x12 if *version == 1 && *length >= 0x80 => {
            let end = rest.iter().position(|byte| *byte < 0x80)?;
            (rest.get(end.checked_add(1)?) == Some(&0x0a)).then_some(Rule::FormatSavedModel)
        }
        // ONNX: the version, and the name of the producer.
        0x12 => {
            let name = rest.get(..usize::from(*length))?;
            let is_text = !name.is_empty() && name.iter().all(|byte| (0x20..0x7f).contains(byte));
            is_text.then_some(Rule::FormatOnnx)
        }
        // ONNX: the version, and the graph, which begins with a node or a name.
        0x3a => {
            let end = if *length >= 0x80 {
                rest.iter().position(|byte| *byte < 0x80)?.checked_add(1)?
            } else {
                0
            };
            matches!(rest.get(end), Some(0x0a | 0x12)).then_some(Rule::FormatOnnx)
        }
        _ => None,
    }
}

/// Returns the format that the suffix of `name` claims, for a file whose bytes do not tell its format: safetensors, or the
/// rule of the claimed format that such a file breaks. Returns `None` if the suffix claims no format, or is one that files
/// of many kinds have.
pub fn by_name<'n>(name: impl Into<FileName<'n>>) -> Option<Detected> {
    let extension = name.into().suffix().unwrap_or_default();
    let is_suffix = |suffix: &&str| {
        suffix.strip_prefix('.').is_some_and(|suffix| extension.eq_ignore_ascii_case(suffix))
    };
    let mut formats = Format::ALL.into_iter();
    match formats.find(|format| format.suffixes().iter().any(is_suffix))? {
        format @ Format::Safetensors => Some(Detected::Read(format)),
        Format::Npy => Some(Detected::Misnamed(Rule::NpyMagic)),
        Format::Npz => Some(Detected::Misnamed(Rule::NpzMagic)),
        Format::Gguf => Some(Detected::Misnamed(Rule::GgufMagic)),
        // Files of many other kinds have the suffixes of these formats, too, so the name alone decides nothing.
        Format::Index | Format::Torch => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn named(start: &[u8]) -> Option<Detected> {
        by_start(start, "x")
    }

    fn zip(name: &str) -> Vec<u8> {
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        [&b"PK\x03\x04"[..], &[0; 22], &length, &[0; 2], name.as_bytes(), b"more"].concat()
    }

    #[test]
    fn first_bytes_tell() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        let rules = [
            (&b"\x80\x04\x95\x10\0\0\0\0\0\0\0}"[..], Rule::FormatPickle),
            (b"\x80\x03}q\0.", Rule::FormatPickle),
            (b"(dp0\n.", Rule::FormatPickle),
            (b"}q\0.", Rule::FormatPickle),
            (b"cos\nsystem\n", Rule::FormatPickle),
            (&zip("metadata.json"), Rule::FormatKeras),
            (&zip("readme"), Rule::FormatZip),
            (&tar, Rule::FormatTar),
            (b"\x89HDF\r\n\x1a\n", Rule::FormatHdf5),
            (b"\x08\x08\x12\x07pytorch\x1a", Rule::FormatOnnx),
            (b"\x08\x07:\x80\x01\x0a", Rule::FormatOnnx),
            (b"\x08\x01\x12\xe4\x85\x01\x0a", Rule::FormatSavedModel),
            (b"\x1c\0\0\0TFL3", Rule::FormatTflite),
            (b"tjgg\x03\0\0\0", Rule::FormatGgml),
        ];
        for (start, rule) in rules {
            assert_eq!(named(start), Some(Detected::Named(rule)), "{start:?}");
            assert!(rule.row().id().starts_with("format-"));
        }
        assert_eq!(named(&zip("a/b.npy")), Some(Detected::Read(Format::Npz)));
        for stream in [
            &b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."[..],
            b"\x80\x05\x95\x0d\0\0\0\0\0\0\0\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.",
            b"L119547037146038801333356L\n.",
        ] {
            assert_eq!(named(stream), Some(Detected::Read(Format::Torch)), "{stream:?}");
        }
        for name in ["archive/data.pkl", "model/data/0"] {
            assert_eq!(named(&zip(name)), Some(Detected::Read(Format::Torch)));
        }
        for other in
            [&b""[..], b"\x80\x02", b"text", b"\x08\x01\x12", b"\x08\x08\x12\x02\0\0", b"PK"]
        {
            assert_eq!(named(other), None, "{other:?}");
        }
    }

    #[test]
    fn the_length_of_a_header_is_no_pickle() {
        for length in [0x280_u64, 0x480, 0x0108, 0x0708, 0x717d, 0x5d_0280] {
            let start = [&length.to_le_bytes()[..], b"{\"a\":"].concat();
            assert_eq!(named(&start), Some(Detected::Read(Format::Safetensors)), "{length:#x}");
        }
    }
}
