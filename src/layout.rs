//! Views: the data of a component, as elements.

#[cfg(feature = "ndarray")]
mod array;
mod buffer;
mod elements;
#[cfg(feature = "v2")]
mod gguf;
mod index;
#[cfg(feature = "v2")]
mod mx;
mod normal;
mod owned;
mod partial;
#[cfg(feature = "v2")]
mod quant_group;
mod quantized_group;
mod slice;
mod sparse_coo;
mod sparse_csr;
mod view;

pub use buffer::Decoded;
pub use elements::{Elements, Nibbles};
#[cfg(feature = "v2")]
pub use gguf::GgufBlocks;
pub(crate) use index::{BadIndex, Below, Coords, Indptr};
pub use index::{Indices, Widened};
#[cfg(feature = "v2")]
pub use mx::{DecodedMx, Mx, MxArray, MxDequantizer};
pub use normal::Normalization;
#[cfg(feature = "v2")]
pub use quant_group::QuantGroup;
pub use quantized_group::{DecodedQuantized, Packing, Quantization, Quantized, QuantizedGroup};
pub use slice::{Cut, DecodedSlice, Slice, SliceRanges};
pub use sparse_coo::{Coo, CooEntries, Coordinate, DecodedCoo, SparseCoo};
pub use sparse_csr::{ByRow, Csr, CsrEntries, DecodedCsr, Row, SparseCsr};
pub use view::{Dense, View};
