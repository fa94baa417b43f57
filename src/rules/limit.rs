//! Features of valid files that this reader does not read, and the limits that a valid file may exceed.

use super::{Class, NESTED, Row, Scope, Source, Texts, catalog};

catalog! {
    /// A feature of valid files that this reader does not support.
    Unsupported, Unsupported:

    Version "unsupported-version", Spec("v1.2 appendix, v2 §2.3"), From1,
        "The major version is 1; in the container of 2, it is 2.", "unsupported major version {}",
        "A major version may change everything: read it with a reader of that version.";
    Dtype "unsupported-dtype", Spec("v0.1 §8"), V0,
        "The entry's `dtype` is one that version 0.1 lists.", "unsupported `dtype`",
        "The other entries of the file can be read.";
    Encoding "unsupported-encoding", Spec("v0.1 §8, v2 §3.4"), All,
        "The `encoding` is one that can be decoded: `raw` or `zstd` in 0.1, none in 2.", "unsupported `encoding`",
        "The other entries of the file can be read.";
    Layout "unsupported-layout", Spec("v0.1 crate readme, Extensibility"), V0,
        "The entry's `layout` is `dense`.", "unsupported `layout`",
        "The other entries of the file can be read, and this one as bytes.";
    Format "unsupported-format", Spec("v1.2 §1, §3, v2 §5.2"), From1,
        "The object's `format` is one that the specification lists.",
        "unsupported `format`", "Its components can be read one by one.";
    Digest "unsupported-digest", Spec("v0.1 §4, v1.2 §1, v2 §3.4"), All,
        "The digest is of an algorithm that can be verified: `sha256`, `crc32c` (0.1, 1.x) or `xxh3` (2).",
        "unsupported digest algorithm",
        "The component can be read, but not verified.";
    Feature "unsupported-feature", Policy("the library was built without it"), All,
        "The library was built with the features that the file needs.",
        "the library was built without a feature that the file needs",
        "Build it with the features `zstd` and `digest`.";
    LogicalType "unsupported-type", Spec("v1.2 §2, v2 §4.2"), From1,
        "The component's `type` is one that the specification lists, on parts of `zt.mx/1` and `zt.quant_group/1` one that their profile defines.",
        "unsupported `type` of a component", "In 1.x, read it as its storage type; in 2, read the bytes of the component.";
    Shard "unsupported-shard", Spec("v2 §7.3"), V2,
        "Every shard that the file lists is found.", "shard not found",
        "Put it into the folder of the file `STEM.zt`, as `STEM-NAME.zt` or as `blobs/ALGORITHM/DIGITS` after its digest.";
}

catalog! {
    /// A limit that a valid file may exceed.
    Limit, Limit:

    Manifest "limit-manifest", Policy("memory while opening follows the manifest"), All,
        "The manifest is at most as long as the caller's limit.",
        "the manifest size of {} bytes exceeds the limit", "Raise the limit `manifest` if you trust the file.";
    Depth "limit-depth", Policy("the reader keeps one counter a level; no writer needs as many"), All,
        "CBOR is nested at most 64 levels deep: every open array, map or tag is one.",
        "CBOR is nested deeper than {} levels", NESTED;
    Rank "limit-rank", Policy("no library has tensors of more dimensions"), All,
        "A shape has at most 64 dimensions.", "a shape has more dimensions than the limit",
        "Raise the limit `rank` if you trust the file.";
    Window "limit-window", Policy("memory while decoding follows the window, or the declared output if that is smaller"), All,
        "The window of a zstd frame is at most 128 MiB.",
        "a zstd frame has a window of {} bytes, which exceeds the limit",
        "Raise the limit `window`: memory follows the declared output where that is smaller.";
    Decoded "limit-decoded", Policy("a few bytes of zstd can ask for any amount of work"), All,
        "A compressed component, or one with strides, decodes to at most 4 GiB; so do the rows or cells of a sparse object of 2, of 8 bytes each.",
        "the component decodes to {} bytes or more, which exceeds the limit",
        "Raise the limit `decoded` if you trust the file.";
    DecodedTotal "limit-decoded-total", Policy("work on a whole file follows its size"), All,
        "All compressed components together decode to at most 64 GiB and 64 times the file's size; where components share blobs, all of them together take no more.",
        "the components decode to {} bytes or more together, which exceeds the limit",
        "Raise the limit `decoded-total` if you trust the file.";
    Shards "limit-shards", Policy("each shard takes a descriptor of the process"), V2,
        "At most 1,024 shards of a file are looked for.",
        "the file lists {} shards, which exceeds the limit", "Raise the limit `shards` if you trust the file.";
    Keys "limit-keys", Policy("finding duplicates in huge maps of tiny keys is the most expensive work a manifest can ask for"), All,
        "An interpreted map other than `objects` has at most 4,096 keys.",
        "a map has more keys than the limit", "Raise the limit `keys` if you trust the file.";
}
