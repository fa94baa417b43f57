//! Tests of the readers of other formats through their public interface.

mod corpus;
mod dequantize;
mod opening;
