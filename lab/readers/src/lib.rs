//! Third-party readers, each in the versions that the documents name: as a subject of the
//! comparison, whose limits and report it works under, and as a contestant of the races.
//!
//! `ztensor` 1.1.1 has a workspace of its own.

pub mod safetensors;
pub mod ztensor;
pub mod ztensor_2;
