//! The cases: files that break one rule, and the valid files from which they are made.

mod gguf;
mod gguf_model;
mod index;
mod named;
mod npy;
mod npz;
mod quantized;
mod safetensors;
mod torch;
mod torch_forms;
mod torch_stream;

use super::Case;

/// Returns the cases of all formats.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Cases::default();
    safetensors::all(&mut cases);
    quantized::all(&mut cases);
    index::all(&mut cases);
    gguf::all(&mut cases);
    gguf_model::all(&mut cases);
    npy::all(&mut cases);
    npz::all(&mut cases);
    torch::all(&mut cases);
    torch_forms::all(&mut cases);
    torch_stream::all(&mut cases);
    named::all(&mut cases);
    cases.0
}

#[derive(Default)]
struct Cases(Vec<Case>);

impl Cases {
    fn accept(&mut self, folder: &'static str, name: &str, bytes: Vec<u8>) {
        self.0.push(Case { folder, rule: None, name: name.to_owned(), bytes });
    }

    fn reject(&mut self, folder: &'static str, (rule, name): (&'static str, &str), bytes: Vec<u8>) {
        self.0.push(Case { folder, rule: Some(rule), name: name.to_owned(), bytes });
    }
}
