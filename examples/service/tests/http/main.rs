//! Tests of the HTTP front against hostile clients, and against the files that they send.
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

mod answers;
mod client;
mod formats;
mod limits;
mod load;
#[path = "../samples/mod.rs"]
mod samples;
mod served;
mod stopped;
mod workers;
