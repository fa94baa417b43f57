//! Tests of the readers of other formats through their public interface.

mod corpus;
#[cfg(feature = "dequantize")]
mod dequantize;
mod opening;
