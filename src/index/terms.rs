//! The names of encodings, layouts and roles.

use crate::num::{enum_all, impl_display};

impl_display! { Encoding: name; Layout: name; }

enum_all! {
/// The encoding of a component's stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Encoding with
    /// Returns the name: `raw`, `zstd`, `zt.zstd-seekable/1`, and in files of other formats also `deflate`, `latin-1`, `negated`.
    /// For an unknown encoding it is `unknown`, and [`Component::encoding_name`](crate::Component::encoding_name) returns the name
    /// in the file.
    pub fn name -> &'static str
{
    /// Not compressed.
    Raw = "raw",
    /// Compressed with zstd: RFC 8878.
    Zstd = "zstd",
    /// Compressed with zstd in frames of equal decoded size, with a table of their sizes: `zt.zstd-seekable/1` of
    /// generation 2.
    ZstdSeekable = "zt.zstd-seekable/1",
    /// Compressed with deflate: RFC 1951. Used only in files of other formats.
    Deflate = "deflate",
    /// Bytes that a text spells in Latin-1, which take one or two bytes in UTF-8. Used only for arrays of NumPy in checkpoints of
    /// PyTorch.
    Latin1 = "latin-1",
    /// Not compressed, but the sign of the elements, or of their real or imaginary parts, is the opposite of the stored one. Used
    /// only for negated and conjugated views of PyTorch.
    Negated = "negated",
    /// An unknown encoding (0.1 and 2 only): v0.1 §8, v2 §3.4.
    Unknown = "unknown",
}
}

impl Encoding {
    /// Returns whether the stored bytes are compressed, so that a few of them may decode to many.
    pub fn is_compressed(self) -> bool {
        matches!(self, Self::Zstd | Self::ZstdSeekable | Self::Deflate)
    }
}

enum_all! {
/// The layout of an object, which is how its components make up a tensor: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layout with
    /// The name in 1.x: `sparse_csr`. For an unknown layout it is `unknown`, and
    /// [`Tensor::layout_name`](crate::Tensor::layout_name) returns the name in the file.
    pub fn name -> &'static str
{
    /// An array whose elements are all stored in the component `data`. In zTensor they are contiguous and in row-major order.
    /// In other formats they may be in column-major order, have strides, or be a field of records.
    Dense = "dense",
    /// Compressed sparse rows.
    SparseCsr = "sparse_csr",
    /// A list of coordinates.
    SparseCoo = "sparse_coo",
    /// Packed weights with scales and zero-points.
    QuantizedGroup = "quantized_group",
    /// Blocks of elements, with a scale for each: `zt.mx/1` of generation 2.
    Mx = "zt.mx/1",
    /// Codes in words, with scales and zero points: `zt.quant_group/1` of generation 2.
    QuantGroup = "zt.quant_group/1",
    /// Blocks of a GGUF type, as bytes: `gguf.NAME/1` of generation 2.
    GgufBlocks = "gguf",
    /// An unknown layout.
    Unknown = "unknown",
}
}

enum_all! {
/// A role that has a meaning in some layout: v1.1 III, v1.2 §3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role with pub(crate) fn name -> &'static str {
    Data = "data",
    Values = "values",
    Indices = "indices",
    Indptr = "indptr",
    Coords = "coords",
    PackedWeight = "packed_weight",
    Scales = "scales",
    Zeros = "zeros",
}
}

impl Role {
    pub(crate) fn from_name(name: &[u8]) -> Option<Self> {
        Self::LIST.into_iter().find(|role| role.name().as_bytes() == name)
    }
}
