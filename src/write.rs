//! Writing files: right by construction. Needs the feature `write`.
//!
//! Content is validated by the code that validates files, each piece before it is written, and a file with an invalid piece
//! cannot be finished. So every reader of this crate accepts a finished file. (Blobs that a shard holds already are not read:
//! see [`NewComponent::stored`].) [`Writer`] writes one object after another, each component streamed in pieces of any size:
//! memory follows the manifest and not the data. In 2 components may be in other files, the shards of the root
//! ([`Writer::object_in`], [`Writer::shard`]).

mod blob_sink;
#[cfg_attr(not(feature = "zstd"), path = "write/uncompressed.rs")]
mod compress;
mod copy;
mod declare;
mod draft;
mod elements;
mod encoded;
mod entry;
#[cfg(feature = "files")]
mod files;
#[cfg(feature = "dequantize")]
mod joined;
mod object;
mod settings;
mod shard;
mod sink;
mod writer;

use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::error::{BareError, OutOfMemory};

#[cfg(feature = "zstd")]
pub use compress::Level;
pub use copy::Copier;
#[doc(hidden)]
pub use copy::{Change, Content, Conversion, Layouts};
pub use declare::{BlobInShard, NewComponent, NewObject, ShardRecord, StoredBlob};
pub use elements::ComponentData;
pub use encoded::Encoded;
#[cfg(feature = "files")]
pub use files::FileSink;
#[cfg(feature = "dequantize")]
pub use joined::JoinedObjects;
#[cfg(feature = "dequantize")]
pub(crate) use joined::{JoinedObject, JoinedPart, lossy};
pub use object::TensorWriter;
pub use settings::{Checksum, WriteOptions};
pub use shard::ShardWriter;
#[cfg(feature = "std")]
pub use sink::IoSink;
pub use sink::Sink;
pub use writer::Writer;

/// Compares two names of objects, or two roles of an object, in the order in which the canonical form of 1.2 has them, and the
/// manifest of any file of 2: shorter ones first, those of equal length by their bytes. RFC 8949 §4.2.1. (In the canonical form of
/// 2, blobs are in the order of the bytes of these names.)
pub fn canonical_order(a: &str, b: &str) -> Ordering {
    crate::names::by_length(a.as_bytes(), b.as_bytes())
}

/// Collects `items`, and returns an error instead of aborting if memory is out.
fn collect<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, BareError> {
    // The size hint is used instead of `len`, which panics if the two bounds of the hint differ.
    let (mut all, (count, _)) = (Vec::new(), items.size_hint());
    all.try_reserve_exact(count).map_err(|_| OutOfMemory)?;
    all.extend(items.take(count));
    Ok(all)
}
