//! The formats that are written, which the suffix of a file's name tells.

use std::path::Path;

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFormat {
    /// zTensor.
    ZTensor,
    /// Safetensors.
    Safetensors,
    /// An archive of NumPy files.
    Npz,
    /// One NumPy file.
    Npy,
}

impl WrittenFormat {
    /// All formats that are written.
    pub const ALL: [Self; 4] = [Self::ZTensor, Self::Safetensors, Self::Npz, Self::Npy];

    /// Returns the format that the suffix of `path` tells, in capitals or not; `None` if the suffix is another or missing.
    pub fn from_path(path: &Path) -> Option<Self> {
        Self::from_suffix(path.extension()?.to_str()?)
    }

    /// Returns the format whose files have that suffix, which is given without the dot, in capitals or not.
    pub fn from_suffix(suffix: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| suffix.eq_ignore_ascii_case(format.suffix()))
    }

    /// Returns the suffix of the names of such files, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::ZTensor => "zt",
            Self::Safetensors => "safetensors",
            Self::Npz => "npz",
            Self::Npy => "npy",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_decides() {
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
