//! Checking the content of a file against the format that its name claims.
//!
//! Some loaders choose the format by the name and others by the content. An attacker can exploit the difference, so `check`
//! rejects a file whose name and content disagree. Only the suffixes in the table claim a format.

use alloc::format;
use alloc::string::String;

use crate::error::Error;
use crate::file_name::FileName;
use crate::finding::Finding;
use crate::formats::detect::Format;
use crate::formats::error::FormatError;
use crate::formats::rules::Rule;

use super::{OtherKind, Recognition, Recognized};

/// The format that a name claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    ZTensor,
    Format(Format),
    /// A file that `torch.load` or Python's unpickler loads.
    Checkpoint,
    /// A [`Checkpoint`](Self::Checkpoint), or a list of paths: a text that Python reads from its folder of packages.
    CheckpointOrPaths,
}

/// The suffixes that claim a format.
const SUFFIXES: [(&str, Claim); 11] = [
    (".zt", Claim::ZTensor),
    (".safetensors", Claim::Format(Format::Safetensors)),
    (".gguf", Claim::Format(Format::Gguf)),
    (".npy", Claim::Format(Format::Npy)),
    (".npz", Claim::Format(Format::Npz)),
    (".pt", Claim::Checkpoint),
    (".pth", Claim::CheckpointOrPaths),
    (".ckpt", Claim::Checkpoint),
    (".pth.tar", Claim::Checkpoint),
    (".pkl", Claim::Checkpoint),
    (".pickle", Claim::Checkpoint),
];

impl Claim {
    /// Returns the format that `name` claims, regardless of case; `None` if the name claims no format.
    fn of(name: FileName<'_>) -> Option<Self> {
        // The name need not be UTF-8.
        let name = name.bytes().to_ascii_lowercase();
        let entry = SUFFIXES.iter().find(|(suffix, _)| name.ends_with(suffix.as_bytes()));
        let is_weights = name
            .strip_suffix(b".bin")
            .is_some_and(|stem| stem.starts_with(b"pytorch_model") || stem == b"adapter_model");
        entry.map(|(_, claim)| *claim).or(is_weights.then_some(Self::Checkpoint))
    }

    /// Returns a description of a file of the claimed format, for messages.
    fn description(self) -> &'static str {
        match self {
            Self::ZTensor => "a zTensor file",
            Self::Format(Format::Safetensors) => "a safetensors file",
            Self::Format(Format::Gguf) => "a GGUF file",
            Self::Format(Format::Npy) => "a .npy file",
            Self::Format(Format::Npz) => "an .npz file",
            Self::Format(format) => format.description(),
            Self::Checkpoint | Self::CheckpointOrPaths => "a PyTorch checkpoint or a pickle",
        }
    }

    /// Returns whether a file whose content is of the kind `kind` may have a name that makes this claim.
    fn allows(self, kind: Recognized) -> bool {
        let is_checkpoint = matches!(self, Self::Checkpoint | Self::CheckpointOrPaths);
        match kind {
            Recognized::ZTensor => self == Self::ZTensor,
            Recognized::Read(Format::Torch) => is_checkpoint,
            Recognized::Read(format) => self == Self::Format(format),
            Recognized::Named(rule) => is_broken(rule) || is_checkpoint && is_of_checkpoints(rule),
            Recognized::Other(OtherKind::Text) => self == Self::CheckpointOrPaths,
            Recognized::Other(_) | Recognized::Executable(_) => false,
            // Opening an empty or unknown file reports what is wrong with it, so its name is no contradiction.
            Recognized::Empty | Recognized::Unknown => true,
        }
    }
}

/// Returns whether `rule` names a format whose files programs call like checkpoints: pickles, the tar archives that the first
/// versions of PyTorch wrote, and TensorFlow checkpoints, which end in `.ckpt`.
fn is_of_checkpoints(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::FormatPickle
            | Rule::FormatTorch
            | Rule::FormatJoblib
            | Rule::FormatTar
            | Rule::FormatTensorflow
    )
}

/// Returns whether `rule` is about a file that is rejected under any name: a download that failed, or a compressed file, which
/// zten does not decompress.
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
    /// Returns the error of [`check_name`](Self::check_name) as a finding with the format of the content. Returns
    /// `None` if `name` fits the content.
    pub fn misnamed<'n>(&self, name: impl Into<FileName<'n>>) -> Option<Finding> {
        let error = self.check_name(name).err()?;
        Some(Finding { format: self.format(), ..Finding::from_error(&error) })
    }

    /// Checks the content of the file against `name`, its present or original name (rule `format-name`). Only names with the
    /// suffixes of zTensor, safetensors, GGUF, NumPy, PyTorch and pickles claim a format. A file that is empty, not recognized,
    /// compressed or a failed download contradicts no name, because opening it reports an error under any name. A file of a
    /// format that zten reads is also rejected if it is a pickle at the same time.
    ///
    /// A loader that chooses the format by the name would see another file than zten, which goes by the content.
    ///
    /// # Errors
    /// Name and content disagree, or the content is of two formats.
    pub fn check_name<'n>(&self, name: impl Into<FileName<'n>>) -> Result<(), Error> {
        let name = name.into();
        // macOS names the file with the attributes of `model.pt` `._model.pt`, so the suffix of that file claims nothing.
        let is_apple_double = self.kind == Recognized::Other(OtherKind::OsMetadata)
            && name.bytes().starts_with(b"._");
        if let Some(claim) = Claim::of(name)
            && !claim.allows(self.kind)
            && !is_apple_double
        {
            let (claimed, rule) = (claim.description(), Rule::FormatName);
            let content = self.description();
            let sentence = format_args!("the name is that of {claimed}, but {content}");
            return Err(FormatError::violation(rule, sentence).into());
        }
        if self.unpickles {
            let what = self.description();
            let sentence = format_args!(
                "{what}, and also a pickle of Python, which calls a function when it is loaded"
            );
            return Err(FormatError::violation(Rule::FormatName, sentence).into());
        }
        Ok(())
    }

    /// Returns a clause that says what the file is, for messages.
    pub(super) fn description(&self) -> String {
        match self.kind {
            Recognized::Named(rule) => {
                self.sentence.as_deref().unwrap_or(rule.row().broken()).into()
            }
            Recognized::ZTensor => "this is a zTensor file".into(),
            Recognized::Read(Format::Npz) => "this is an .npz file".into(),
            Recognized::Read(Format::Index) => {
                "this is an index of safetensors or PyTorch files".into()
            }
            Recognized::Read(format) => format!("this is a {}", format.description()),
            Recognized::Other(kind) => format!("this is {}", kind.description()),
            Recognized::Executable(kind) => format!("this is {}", kind.description()),
            Recognized::Empty => "it is empty".into(),
            Recognized::Unknown => "zten does not recognize the content".into(),
        }
    }
}
