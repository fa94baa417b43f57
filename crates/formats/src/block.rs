//! Blocks of elements that are kept as they are.

use super::cbor;

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
    pub fn attributes(&self) -> Vec<u8> {
        let mut map = cbor::Map::default();
        map.put("ggml_type", |out| cbor::text(out, self.name));
        map.put("block_elements", |out| cbor::uint(out, self.elements));
        map.put("block_bytes", |out| cbor::uint(out, self.bytes));
        // No key stands there twice.
        map.finish().unwrap_or_default()
    }
}
