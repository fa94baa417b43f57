//! Views: the data of a component, as elements.

mod buffer;
mod dense;
mod index;
mod normal;
mod owned;
mod quantized_group;
mod slice;
mod sparse_coo;
mod sparse_csr;
mod view;

pub use buffer::Decoded;
pub use dense::Dense;
pub(crate) use index::{BadIndex, Below, Coords, Indptr};
pub use index::{Indices, Widened};
pub use normal::Normalization;
pub use quantized_group::{DecodedQuantized, Packing, Quantization, Quantized, QuantizedGroup};
pub use slice::{Cut, DecodedSlice, Slice, SliceRanges};
pub use sparse_coo::{Coo, CooEntries, Coordinate, DecodedCoo, SparseCoo};
pub use sparse_csr::{ByRow, Csr, CsrEntries, DecodedCsr, Row, SparseCsr};
pub use view::{Elements, Nibbles, View};
