//! Blocks of elements that are kept as they are.

use zten::attributes::Encoder;
use zten::error::OutOfMemory;

/// A type whose elements come in blocks, which are kept as they are.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    /// Its name in ggml.
    pub name: &'static str,
    /// Elements of one block.
    pub elements: u64,
    /// Bytes of one block.
    pub bytes: u64,
}

impl Block {
    /// The format of an object that holds such blocks.
    pub fn format(&self) -> String {
        format!("gguf.{}", self.name.to_ascii_lowercase())
    }

    /// The facts that a reader must know of the blocks: a CBOR map in the order of deterministic CBOR.
    ///
    /// # Errors
    /// Out of memory.
    pub fn attributes(&self) -> Result<Vec<u8>, OutOfMemory> {
        let mut out = Encoder::default();
        out.map(3)?;
        out.text("ggml_type")?;
        out.text(self.name)?;
        out.text("block_bytes")?;
        out.uint(self.bytes)?;
        out.text("block_elements")?;
        out.uint(self.elements)?;
        Ok(out.into_bytes())
    }
}
