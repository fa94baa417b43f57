//! Views: the data of a component, as elements.

#[cfg(feature = "ndarray")]
mod array;
mod buffer;
mod elements;
mod gguf;
mod index;
mod mx;
mod normal;
mod owned;
mod partial;
mod quant_group;
mod quantized_group;
mod slice;
mod sparse_coo;
mod sparse_csr;
mod view;

pub use buffer::Decoded;
pub(crate) use buffer::grow;
pub use elements::{Elements, Nibbles};
pub use gguf::GgufBlocks;
pub(crate) use index::{BadIndex, Below, Coords, Indptr};
pub use index::{Indices, Widened};
pub use mx::{DecodedMx, Mx, MxArray, MxDequantizer};
pub use normal::Normalization;
pub use quant_group::QuantGroup;
pub use quantized_group::{DecodedQuantized, Packing, Quantization, Quantized, QuantizedGroup};
pub use slice::{Cut, DecodedSlice, Slice, SliceRanges};
pub use sparse_coo::{Coo, CooEntries, Coordinate, DecodedCoo, SparseCoo};
pub use sparse_csr::{ByRow, Csr, CsrEntries, DecodedCsr, Row, SparseCsr};
pub use view::{Dense, View};
