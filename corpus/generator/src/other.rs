//! Files of other formats that hold tensors: what they are built of, and the cases.

mod cases;
pub mod gguf;
pub mod npy;
pub mod safetensors;
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

impl Case {
    /// The path, relative to the corpus.
    pub(crate) fn path(&self) -> String {
        let Self { folder, name, .. } = self;
        match self.rule {
            None => format!("other/{folder}/accept/{name}"),
            // What an index names is no case.
            Some("") => format!("other/{folder}/reject/{name}"),
            Some(rule) => format!("other/{folder}/reject/{rule}--{name}"),
        }
    }
}
