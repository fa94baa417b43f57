//! Tensor files of other formats than zTensor: functions that write them, and the cases of the corpus.

mod cases;
pub mod gguf;
pub mod npy;
pub mod safetensors;
pub mod torch;
pub mod zip;

pub(crate) use cases::all;

/// A file of another format: `FOLDER/accept/NAME`, or `FOLDER/reject/RULE--NAME`.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) folder: &'static str,
    pub(crate) rule: Option<&'static str>,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Returns the format of a file in `folder`, as `zten check --json` names it; `other` for a format that zten does not read.
pub(crate) fn format<'f>(folder: &'f str, name: &str) -> &'f str {
    match folder {
        "index" if name.ends_with(".safetensors") => "safetensors",
        "index" if [".bin", ".pth"].iter().any(|suffix| name.ends_with(suffix)) => "torch",
        // The name of an index that is reported as one of PyTorch checkpoints begins with `torch`. All others are
        // reported as indexes of safetensors files. So is an index that does not open, whatever files it names.
        "index" if name.rsplit("--").next().is_some_and(|name| name.starts_with("torch")) => {
            "torch-index"
        }
        "index" => "safetensors-index",
        "named" => "other",
        format => format,
    }
}

impl Case {
    /// Returns whether the file exists only for another file: an index names it, or it is a later file of a split model that breaks
    /// a rule.
    pub(crate) fn is_part(&self) -> bool {
        self.rule.is_some_and(|rule| is_part(rule, &self.name))
    }

    /// Returns the path of the file, relative to the corpus.
    pub(crate) fn path(&self) -> String {
        let Self { folder, name, .. } = self;
        match self.rule {
            None => format!("other/{folder}/accept/{name}"),
            // A file that is only there because a rejected index names it has no rule in its name.
            Some("") => format!("other/{folder}/reject/{name}"),
            Some(rule) => format!("other/{folder}/reject/{rule}--{name}"),
        }
    }
}

/// Returns whether a file in a folder of rejected files exists only for another file.
pub(crate) fn is_part(rule: &str, name: &str) -> bool {
    rule.is_empty() || name.contains("-of-") && !name.contains("-00001-of-")
}
