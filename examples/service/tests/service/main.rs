//! Tests of the service: what it says of hostile files, and how its HTTP front treats hostile clients.
// Elsewhere no worker can be confined, and none reads anything.
#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#![allow(
    clippy::allow_attributes,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "one that panics has failed"
)]

mod http;
mod samples;
mod verdicts;
