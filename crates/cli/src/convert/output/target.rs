//! The format that is written, which the name of the file determines.

use std::path::Path;

/// A format that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// zTensor.
    Tensors,
    /// Safetensors.
    Safetensors,
    /// An archive of NumPy files.
    Npz,
    /// One NumPy file.
    Npy,
}

impl Target {
    const ALL: [Self; 4] = [Self::Tensors, Self::Safetensors, Self::Npz, Self::Npy];

    /// The format that the suffix of the name is of, in capitals or not.
    pub(crate) fn from_path(path: &Path) -> Option<Self> {
        let suffix = path.extension()?.to_str()?;
        Self::ALL.into_iter().find(|target| suffix.eq_ignore_ascii_case(target.suffix()))
    }

    /// Returns the suffix of the names of such files, without the dot.
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Self::Tensors => "zt",
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
        for (name, target) in [
            ("a.zt", Some(Target::Tensors)),
            ("a.b.safetensors", Some(Target::Safetensors)),
            ("folder.zt/a.NPZ", Some(Target::Npz)),
            ("a.npy", Some(Target::Npy)),
            ("a.ztensor", None),
            ("zt", None),
            (".zt", None),
            ("a.zt.", None),
            ("a.zt/", Some(Target::Tensors)),
            ("a", None),
        ] {
            assert_eq!(Target::from_path(Path::new(name)), target, "{name}");
        }
    }
}
