//! The formats that zten writes. The suffix of the output's name selects one of them.

use alloc::format;
use alloc::string::String;
use std::path::Path;

use crate::escape::quoted;
use crate::rules::Generation;

/// A format that zten writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFormat {
    /// zTensor.
    ZTensor,
    /// A safetensors file.
    Safetensors,
    /// An `.npz` archive of NumPy files, one for each array.
    Npz,
    /// A NumPy file (`.npy`), which holds one array.
    Npy,
}

impl WrittenFormat {
    /// All formats that zten writes.
    pub const ALL: [Self; 4] = [Self::ZTensor, Self::Safetensors, Self::Npz, Self::Npy];

    /// Returns the format to write: the one whose suffix is `format`, or the one that the suffix of `path` selects, or zTensor
    /// if neither is given.
    ///
    /// # Errors
    /// A sentence that lists the formats that zten writes, if the suffix is none of them.
    pub fn choose(path: Option<&Path>, format: Option<&str>) -> Result<Self, String> {
        let known = Self::ALL.map(Self::suffix);
        match (format, path) {
            (Some(format), _) => Self::from_suffix(format).ok_or_else(|| {
                let known = known.map(|suffix| format!("{suffix:?}")).join(", ");
                format!("format is {}, expected {known}", quoted(format))
            }),
            (None, Some(path)) => Self::from_path(path).ok_or_else(|| {
                let (name, known) = (quoted(&path.to_string_lossy()), known.join(", ."));
                format!("unknown suffix of {name}: expected .{known}, or the option format with one of these")
            }),
            (None, None) => Ok(Self::ZTensor),
        }
    }

    /// Returns the format for the suffix of `path`, regardless of case, or `None` if the suffix is unknown or missing.
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::from_suffix(path.extension()?.to_str()?)
    }

    /// Returns the format of files with `suffix`, which has no dot and may be in any case; `None` if the suffix is unknown.
    pub fn from_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| suffix.eq_ignore_ascii_case(format.suffix()))
    }

    /// Returns the suffix of files of this format, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::ZTensor => "zt",
            Self::Safetensors => "safetensors",
            Self::Npz => "npz",
            Self::Npy => "npy",
        }
    }
}

/// Returns the generation of zTensor that `text` names, if zten writes files of this generation.
///
/// # Errors
/// A sentence that names the generations that zten writes.
pub fn written_generation(text: &str) -> Result<Generation, String> {
    match text {
        "1.2" => Ok(Generation::V1_2),
        "2" => Ok(Generation::V2),
        other => Err(format!("generation is {}, expected \"1.2\" or \"2\"", quoted(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_selects_the_format() {
        for (name, format) in [
            ("a.zt", Some(WrittenFormat::ZTensor)),
            ("a.b.safetensors", Some(WrittenFormat::Safetensors)),
            ("folder.zt/a.NPZ", Some(WrittenFormat::Npz)),
            ("a.npy", Some(WrittenFormat::Npy)),
            ("a.ztensor", None),
            ("zt", None),
            (".zt", None),
            ("a.zt.", None),
            ("a.zt/", Some(WrittenFormat::ZTensor)),
            ("a", None),
        ] {
            assert_eq!(WrittenFormat::from_path(Path::new(name)), format, "{name}");
        }
    }
}
