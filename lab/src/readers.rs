//! Third-party readers, each in the versions that the documents name: as a subject of the
//! comparison, whose limits and report it works under, and in the races.
//!
//! `ztensor` 1.1.1 and candle are in `lab/others`.

#[cfg(feature = "peers")]
pub mod safetensors;
pub mod subject;
#[cfg(feature = "peers")]
pub mod ztensor;
#[cfg(feature = "peers")]
pub mod ztensor_2;
