//! The catalog of the features of valid zTensor files that zten does not read, and of the limits that a valid zTensor file
//! may exceed.

use super::{Class, NESTED, Row, Scope, Source, Texts, catalog};

catalog! {
    /// A feature of valid files that this reader does not support.
    Unsupported, Unsupported:

    Version "unsupported-version", Spec("v1.2 appendix, v2 §2.3"), From1,
        "The major version is 1 in a 1.x file, and 2 in a container of generation 2.", "unsupported major version {}",
        "A major version may change everything: read the file with a reader of that version.";
    Dtype "unsupported-dtype", Spec("v0.1 §8"), V0,
        "The entry's `dtype` is one that version 0.1 lists.", "unsupported `dtype`",
        "The other entries of the file can be read.";
    Encoding "unsupported-encoding", Spec("v0.1 §8, v2 §3.4"), All,
        "The `encoding` can be decoded: it is `raw` or `zstd` in 0.1, and absent or `zt.zstd-seekable/1` in generation 2.", "unsupported `encoding`",
        "The other entries of the file can be read.";
    Layout "unsupported-layout", Spec("v0.1 crate readme, Extensibility"), V0,
        "The entry's `layout` is `dense`.", "unsupported `layout`",
        "The other entries of the file can be read, and this entry can be read as bytes.";
    Format "unsupported-format", Spec("v1.2 §1, §3, v2 §5.2"), From1,
        "The object's `format` is one that the specification lists.",
        "unsupported `format`", "The components of the object can be read one by one.";
    Digest "unsupported-digest", Spec("v0.1 §4, v1.2 §1, v2 §3.4"), All,
        "The digest has an algorithm that zten can verify: `sha256`, `crc32c` (0.1, 1.x) or `xxh3` (generation 2).",
        "unsupported digest algorithm",
        "The component can be read, but not verified.";
    Feature "unsupported-feature", Policy("the library was built without the feature"), All,
        "The library was built with the features that the file needs.",
        "the library was built without a feature that the file needs",
        "Build the library with the features `zstd` and `digest`.";
    LogicalType "unsupported-type", Spec("v1.2 §2, v2 §4.2"), From1,
        "The component's `type` is one that the specification lists or, for a part of `zt.mx/1` or `zt.quant_group/1`, one that the profile defines.",
        "unsupported `type` of a component", "In 1.x, read the component as its storage type; in generation 2, read its bytes.";
    Shard "unsupported-shard", Spec("v2 §7.3"), V2,
        "Every shard that the file lists is found.", "shard not found",
        "Put the shard into the folder of the file `STEM.zt`, under the name `STEM-NAME.zt` or, after its digest, `blobs/ALGORITHM/DIGITS`.";
}

catalog! {
    /// A limit that a valid file may exceed.
    Limit, Limit:

    Manifest "limit-manifest", Policy("the memory for opening a file grows with its manifest"), All,
        "The manifest is at most as long as the caller's limit.",
        "the manifest size of {} bytes exceeds the limit", "Raise the limit `manifest` if you trust the file.";
    Depth "limit-depth", Policy("the reader keeps one counter for each level, and no writer nests values that deeply"), All,
        "CBOR is nested at most 64 levels deep: every array, map or tag adds a level.",
        "CBOR is nested deeper than {} levels", NESTED;
    Rank "limit-rank", Policy("no library has tensors with more than 64 dimensions"), All,
        "A shape has at most 64 dimensions.", "a shape has more dimensions than the limit",
        "Raise the limit `rank` if you trust the file.";
    Window "limit-window", Policy("the memory for decoding grows with the window, or with the declared size of the output if that is smaller"), All,
        "The window of a zstd frame is at most 128 MiB.",
        "a zstd frame has a window of {} bytes, which exceeds the limit",
        "Raise the limit `window`. Decoding needs memory for the window, or for the declared output if that is smaller.";
    Decoded "limit-decoded", Policy("a few bytes of zstd can require any amount of work"), All,
        "A component that is compressed or has strides decodes to at most 4 GiB, and the rows or cells of a sparse object of generation 2, at 8 bytes each, take at most 4 GiB.",
        "the component decodes to {} bytes or more, which exceeds the limit",
        "Raise the limit `decoded` if you trust the file.";
    DecodedTotal "limit-decoded-total", Policy("the work on a whole file must be in proportion to its size"), All,
        "All compressed components together decode to at most 64 GiB plus 64 times the size of the file. If components share blobs, this limit holds for all components together.",
        "the components decode to {} bytes or more together, which exceeds the limit",
        "Raise the limit `decoded-total` if you trust the file.";
    Shards "limit-shards", Policy("each shard takes a file descriptor of the process"), V2,
        "At most 1,024 shards of a file are opened.",
        "the file lists {} shards, which exceeds the limit", "Raise the limit `shards` if you trust the file.";
    Keys "limit-keys", Policy("finding duplicates in huge maps of tiny keys is the most expensive work that a manifest can require"), All,
        "An interpreted map other than `objects` has at most 4,096 keys.",
        "a map has more keys than the limit", "Raise the limit `keys` if you trust the file.";
}
