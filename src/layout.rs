//! Views: the data of a component, as elements.

mod access;
mod blocks;
mod buffer;
mod elements;
mod groups;
mod index;
mod normal;
mod quantized;
#[cfg(all(feature = "dequantize", feature = "write"))]
mod recode;
mod slice;
mod sparse;
mod state;
mod view;

#[cfg(feature = "dequantize")]
pub(crate) use blocks::MxConverter;
pub use blocks::{GgufBlocks, Mx, MxBlocks};
pub use buffer::Decoded;
pub use elements::{Elements, Widened};
pub use groups::QuantGroup;
#[cfg(feature = "dequantize")]
pub(crate) use groups::{CodeConverter, CodeStart};
pub(crate) use index::{BadIndex, Below, Coords, Indptr};
pub use normal::Normalization;
pub use quantized::{Packing, Quantization, Quantized};
#[cfg(all(feature = "dequantize", feature = "write"))]
pub(crate) use recode::{CodeForm, Recode, Recoder};
pub use slice::{Cut, Ranges, Slice, SliceRanges};
pub use sparse::{ByRow, Coo, Coordinate, Csr, Row};
pub use state::State;
pub use view::View;
