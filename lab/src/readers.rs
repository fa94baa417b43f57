//! Other readers, in the versions that the documents name. They are subjects of the comparison, with its limits and its report, and
//! contestants in the races.
//!
//! `ztensor` 1.1.1 and candle are in `lab/others`.

#[cfg(feature = "peers")]
pub mod safetensors;
pub mod subject;
#[cfg(feature = "peers")]
pub mod ztensor;
#[cfg(feature = "peers")]
pub mod ztensor_2;
