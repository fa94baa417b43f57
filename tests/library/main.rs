//! The tests of the library, one module for each subject. They are one program, because every test program links the
//! library and the test kit again. Tests whose allocator fails, and tests of a release build, are programs of their own in
//! the folder above.

mod accessors;
#[cfg(all(feature = "write", feature = "zstd"))]
mod append;
#[cfg(all(feature = "std", feature = "write", feature = "zstd"))]
mod between;
#[cfg(all(not(miri), feature = "zstd"))]
mod bombs;
mod builder;
#[cfg(all(feature = "write", feature = "zstd"))]
mod canonical;
#[cfg(all(feature = "std", feature = "zstd"))]
mod check;
mod clauses;
#[cfg(all(
    feature = "dequantize",
    feature = "safetensors",
    feature = "write",
    feature = "zstd",
    not(miri)
))]
mod composites;
mod content;
#[cfg(all(feature = "dequantize", feature = "safetensors"))]
mod conventions;
#[cfg(all(feature = "files", feature = "zstd"))]
mod corpus;
mod damage;
mod debug;
mod elements;
#[cfg(all(feature = "files", feature = "zstd"))]
mod examples;
#[cfg(feature = "files")]
mod files;
#[cfg(all(feature = "std", feature = "write"))]
mod findings;
mod floats;
#[cfg(all(
    feature = "dequantize",
    feature = "numpy",
    feature = "parts",
    feature = "safetensors",
    feature = "torch",
    feature = "ztensor"
))]
mod formats;
#[cfg(all(feature = "zstd", feature = "write"))]
mod frames;
#[cfg(all(feature = "std", feature = "deflate"))]
#[cfg(all(feature = "json", not(miri)))]
mod hidden;
#[cfg(all(feature = "files", feature = "zstd"))]
mod interface;
#[cfg(all(feature = "json", feature = "write"))]
mod json_values;
mod layers;
#[cfg(all(feature = "std", feature = "digest", unix, not(miri)))]
mod links;
#[cfg(all(feature = "std", feature = "write", feature = "zstd"))]
mod load;
#[cfg(all(feature = "std", feature = "write", feature = "zstd", not(miri)))]
mod load_frames;
#[cfg(not(miri))]
mod memory;
mod named;
#[cfg(all(feature = "ndarray", feature = "std"))]
mod ndarray;
#[cfg(all(feature = "write", feature = "zstd"))]
mod oracles;
mod quantized;
#[cfg(all(feature = "files", feature = "numpy", feature = "safetensors", feature = "ztensor"))]
mod saving;
#[cfg(feature = "digest")]
mod shards;
mod shown_names;
mod slices;
mod sparse;
#[cfg(all(feature = "write", feature = "zstd"))]
mod v2;
mod v2_form;
mod v2_profiles;
mod views;
#[cfg(feature = "write")]
mod write;
#[cfg(all(feature = "write", feature = "zstd"))]
mod write_shards;
#[cfg(all(feature = "write", feature = "zstd"))]
mod write_v2;
#[cfg(all(feature = "write", feature = "zstd"))]
mod written;
