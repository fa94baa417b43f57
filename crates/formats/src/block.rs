//! Blocks of elements that are kept as they are.

use zten::error::OutOfMemory;

use super::cbor;
use super::trouble::Trouble;

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

    /// What a reader must know of the blocks: a CBOR map.
    ///
    /// # Errors
    /// Out of memory.
    pub fn attributes(&self) -> Result<Vec<u8>, OutOfMemory> {
        // No key stands there twice, so nothing else is wrong.
        self.map().map_err(|_| OutOfMemory)
    }

    fn map(&self) -> Result<Vec<u8>, Trouble> {
        let mut map = cbor::Map::default();
        map.put("ggml_type", |out| cbor::text(out, self.name))?;
        map.put("block_elements", |out| cbor::uint(out, self.elements))?;
        map.put("block_bytes", |out| cbor::uint(out, self.bytes))?;
        map.finish(Trouble::internal)
    }
}
