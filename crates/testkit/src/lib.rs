//! Support for the tests of `zten`, its benchmarks and the laboratory: the corpus and its indices,
//! files that are made rather than stored, and running what Cargo has built.
#![expect(clippy::missing_panics_doc, reason = "what panics here has failed a test")]

mod corpus;
pub mod generate;
mod layout;
pub mod objects;
mod open;
#[cfg(feature = "oracles")]
pub mod oracles;
mod placed;
pub mod process;
pub mod safetensors;
pub mod sample;
pub mod server;

pub use corpus::{
    Accepted, Expected, Reject, Sharded, accepted, accepted_v2, check, corpus, is_lax, options,
    other_formats, read, read_accepted, reject_index, reject_index_v2, sharded,
};
pub use layout::Layout;
pub use open::{
    DetachedArchive, Far, Shards, canonical, copy, misuse, open_in_steps, open_ztensor, reads,
    slice, write,
};
pub use placed::{Placed, borrows, placed};

/// Returns the largest number of bytes on the heap that opening a file may take if `manifest` is the size of its
/// manifest in bytes. `docs/limits.md` states this bound.
pub fn heap_bound(manifest: u64) -> u64 {
    12 * manifest + (64 << 10)
}

/// Formats `bytes` in lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}
