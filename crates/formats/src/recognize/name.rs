//! Names that say what a file is, and contents that are something else.
//!
//! Loaders that go by the name see another file than those that go by the content, so `check` rejects a file whose name and
//! content disagree. The table of names is closed: any other name says nothing.

use std::path::Path;

use super::{Recognition, Recognized};
use crate::detect::Format;
use crate::error::FormatError;
use crate::rules::Rule;

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    ZTensor,
    Format(Format),
    /// What `torch.load` or Python's unpickler loads.
    Checkpoint,
}

/// The ends of names that say what a file is.
const SUFFIXES: [(&str, Claim); 11] = [
    (".zt", Claim::ZTensor),
    (".safetensors", Claim::Format(Format::Safetensors)),
    (".gguf", Claim::Format(Format::Gguf)),
    (".npy", Claim::Format(Format::Npy)),
    (".npz", Claim::Format(Format::Npz)),
    (".pt", Claim::Checkpoint),
    (".pth", Claim::Checkpoint),
    (".ckpt", Claim::Checkpoint),
    (".pth.tar", Claim::Checkpoint),
    (".pkl", Claim::Checkpoint),
    (".pickle", Claim::Checkpoint),
];

impl Claim {
    /// What the name of `path` says, in letters of any case.
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let found = SUFFIXES.iter().find(|(suffix, _)| name.ends_with(suffix));
        let is_weights = name
            .strip_suffix(".bin")
            .is_some_and(|stem| stem.starts_with("pytorch_model") || stem == "adapter_model");
        found.map(|(_, claim)| *claim).or(is_weights.then_some(Self::Checkpoint))
    }

    /// A file of it, in words.
    fn description(self) -> &'static str {
        match self {
            Self::ZTensor => "a zTensor file",
            Self::Format(Format::Safetensors) => "a safetensors file",
            Self::Format(Format::Gguf) => "a GGUF file",
            Self::Format(Format::Npy) => "a .npy file",
            Self::Format(Format::Npz) => "an .npz file",
            Self::Format(format) => format.description(),
            Self::Checkpoint => "a PyTorch checkpoint or a pickle",
        }
    }

    /// Returns whether a file may be called so.
    fn holds(self, kind: Recognized) -> bool {
        match kind {
            Recognized::ZTensor => self == Self::ZTensor,
            Recognized::Read(Format::Torch) => self == Self::Checkpoint,
            Recognized::Read(format) => self == Self::Format(format),
            Recognized::Named(rule) => {
                is_broken(rule) || self == Self::Checkpoint && is_pickle(rule)
            }
            Recognized::Other(_) | Recognized::Executable(_) => false,
            // Opening it says what is wrong.
            Recognized::Empty | Recognized::Unknown => true,
        }
    }
}

/// Returns whether the rule is that of a file that Python's unpickler or `torch.load` reads.
fn is_pickle(rule: Rule) -> bool {
    matches!(rule, Rule::FormatPickle | Rule::FormatTorch | Rule::FormatJoblib)
}

/// Returns whether the rule says that the file is not what it should be, whatever it is called, or is not looked into.
fn is_broken(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::FormatLfsPointer
            | Rule::FormatHtml
            | Rule::FormatXml
            | Rule::FormatJsonError
            | Rule::FormatGzip
            | Rule::FormatBzip2
            | Rule::FormatXz
            | Rule::FormatZstd
            | Rule::FormatLz4
            | Rule::FormatZlib
            | Rule::Format7z
    )
}

impl Recognition {
    /// Checks the content of the file against `name`, which it was given or had at first: rule `format-name`. A path
    /// without a name says nothing; a file of a format that is read must still be no pickle as well.
    ///
    /// A loader that goes by the name sees another file than zten, which goes by the content.
    ///
    /// # Errors
    /// Name and content disagree, or the content is of two formats.
    pub fn check_name(&self, name: &Path) -> Result<(), FormatError> {
        if let Some(claim) = Claim::of(name)
            && !claim.holds(self.kind)
        {
            let (said, rule) = (claim.description(), Rule::FormatName);
            let what = self.description();
            let sentence = format_args!("the name is that of {said}, but {what}");
            return Err(FormatError::violation(rule, sentence));
        }
        if self.unpickles {
            let what = self.description();
            let sentence = format_args!(
                "{what}, and also a pickle of Python, which calls a function when it is loaded"
            );
            return Err(FormatError::violation(Rule::FormatName, sentence));
        }
        Ok(())
    }

    /// A clause that says what the file is.
    pub(super) fn description(&self) -> String {
        match self.kind {
            Recognized::Named(rule) => self.sentence.as_deref().unwrap_or(rule.row().broken).into(),
            Recognized::ZTensor => "this is a zTensor file".into(),
            Recognized::Read(Format::Npz) => "this is an .npz file".into(),
            Recognized::Read(Format::Index) => "this is an index of safetensors files".into(),
            Recognized::Read(format) => format!("this is a {}", format.description()),
            Recognized::Other(kind) => format!("this is {}", kind.description()),
            Recognized::Executable(kind) => format!("this is {}", kind.description()),
            Recognized::Empty => "it is empty".into(),
            Recognized::Unknown => "nothing tells what this is".into(),
        }
    }
}
