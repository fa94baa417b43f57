//! `gguf.NAME/1`: blocks of a type of GGUF. v2 §5.2.

use crate::error::Error;
use crate::format::Format;
use crate::format::v2::GgufKey;
use crate::manifest::{Component, Object, Shape};

/// A `gguf.NAME/1` object: its shape, and its blocks, which are bytes.
#[derive(Clone, Copy, Debug)]
pub struct GgufBlocks<'a> {
    object: Object<'a>,
    data: Component<'a>,
    elements: u64,
    bytes: u64,
}

impl<'a> Object<'a> {
    /// The object as blocks of a type of GGUF.
    ///
    /// # Errors
    /// [`Misuse::Format`](crate::error::Misuse::Format) where it is of another format; `unsupported-layout`,
    /// `unsupported-format` where that is not known.
    pub fn gguf_blocks(&self) -> Result<GgufBlocks<'a>, Error> {
        let read = || {
            Some(GgufBlocks {
                object: *self,
                data: self.component("data")?,
                elements: self.number(GgufKey::elems_per_block.field())?,
                bytes: self.number(GgufKey::block_bytes.field())?,
            })
        };
        let blocks = if self.format() == Format::GgufBlocks { read() } else { None };
        blocks.ok_or_else(|| self.other_format())
    }
}

impl<'a> GgufBlocks<'a> {
    /// The dimensions of the weights, outermost first.
    pub fn shape(&self) -> Shape<'a> {
        self.object.shape()
    }

    /// The part `data`: the blocks, one after the other, as `u8`.
    pub fn data(&self) -> Component<'a> {
        self.data
    }

    /// Weights of a block: 1 or more.
    pub fn elements_per_block(&self) -> u64 {
        self.elements
    }

    /// Bytes of a block: 1 or more.
    pub fn block_bytes(&self) -> u64 {
        self.bytes
    }
}
