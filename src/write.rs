//! Writing files: right by construction. Needs the feature `write`.
//!
//! What is to be written is validated by the code that validates what is read, before any of it is
//! written; what this writes, every reader of this crate accepts. [`Writer`] writes one object
//! after another, each component streamed in pieces of any size: memory follows the manifest
//! and not the data. In 2 it may write into several files, the shards of one root
//! (`Writer::begin_shard`), or refer to what is in files already (`Writer::shard`).

mod blob_sink;
mod component;
#[cfg_attr(not(feature = "zstd"), path = "write/uncompressed.rs")]
mod compress;
mod copy;
mod declare;
mod draft;
mod encoded;
mod entry;
mod entry_v2;
#[cfg(feature = "files")]
mod files;
mod names;
mod object;
mod order;
mod root;
mod seed;
mod settings;
mod shard_list;
mod shard_writer;
mod shards;
mod shared;
mod sink;
mod validate;
mod writer;

use core::cmp::Ordering;

#[cfg(feature = "zstd")]
pub use compress::Level;
pub use copy::{Copier, CopyError, Inexpressible};
pub use declare::{BlobInShard, StoredBlob};
pub use declare::{NewComponent, NewObject};
pub use encoded::Encoded;
#[cfg(feature = "files")]
pub use files::{FileSink, PublishError, append};
pub use object::ObjectWriter;
pub use settings::{Checksum, Settings};
pub use shard_list::ShardRecord;
pub use shard_writer::ShardWriter;
pub use shards::OpenShard;
#[cfg(feature = "std")]
pub use sink::IoSink;
pub use sink::{Sink, WriteError};
pub use writer::Writer;

/// The order of names of objects, and of roles in an object, in canonical form: shorter ones
/// first, those of one length by their bytes. RFC 8949 §4.2.1.
pub fn canonical_order(a: &str, b: &str) -> Ordering {
    crate::names::by_length(a.as_bytes(), b.as_bytes())
}
