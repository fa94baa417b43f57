//! Tests of the service: its verdicts on hostile files, and how its HTTP server treats hostile clients.
// On other systems the service cannot confine a worker, so its workers refuse to read files.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#![allow(
    clippy::allow_attributes,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a test that panics has failed"
)]

mod http;
mod samples;
mod verdicts;
