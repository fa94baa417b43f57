//! The catalog of the rules of zTensor that make a file which breaks them invalid.

use super::{
    CANONICAL, COUNTED, Class, DAMAGED, NESTED, Row, Scope, Source, Texts, WRITER, catalog,
};

catalog! {
    /// A rule that an invalid file breaks.
    Rule, Invalid:

    // The container.
    FileSize "file-size", Spec("v0.1 §2, v1.1 I.1, v1.2 §4, v2 §2.1"), All,
        "A file is long enough for its header, a manifest and its footer.",
        "the file has only {} bytes", DAMAGED;
    HeaderMagic "header-magic", Spec("v0.1 §3.1, v1.1 I.1, v1.2 §4, v2 §2.2"), All,
        "A zTensor file begins with `ZTEN0001`, `ZTEN1000`, or 89 5A 54 32 0D 0A 1A 0A (generation 2).",
        "the first 8 bytes are not a zTensor magic", "The file has another format, or its first bytes are damaged.";
    FooterMagic "footer-magic", Spec("v1.1 IV.1 step 2, v1.2 §5 step 2, v2 §2.3"), From1,
        "A file ends with the magic that it begins with.",
        "the last 8 bytes are not the magic that the file begins with: the file was cut, or version 1.0 of the reference library wrote it",
        "Fetch the file again. If it was written by version 1.0 of the reference library, write it again with a newer one.";
    ManifestCap "manifest-cap", Spec("v1.1 IV.1 step 4, v1.2 §5 step 4, v2 §3.1"), All,
        "The manifest has at most 1,073,741,824 bytes (for 0.1 this is policy).",
        "the manifest size of {} bytes exceeds 1 GiB", COUNTED;
    ManifestBounds "manifest-bounds", Spec("v0.1 §3.3, v1.1 II, v1.2 §5 step 5, v2 §2.4"), All,
        "The manifest lies between the header and the footer.",
        "a manifest of {} bytes does not fit between header and footer", DAMAGED;
    ManifestAlignment "manifest-alignment", Spec("v2 §2.4"), V2,
        "The manifest starts at a multiple of 4096, at 4096 or later.",
        "the manifest starts at {}, which is not a multiple of 4096 or overlaps the header", WRITER;
    ManifestHash "manifest-hash", Spec("v2 §2.3"), V2,
        "The manifest has the hash that the footer gives: XXH3-64, seed 0.",
        "the manifest does not have the hash that the footer gives", DAMAGED;
    DataShard "data-shard", Spec("v2 §2.3, §7.2"), V2,
        "A footer whose manifest length is 0 (a data shard) has manifest offset 0 and hash 0.",
        "the footer gives no manifest, but its offset or hash is not 0", DAMAGED;
    ManifestTrailing "manifest-trailing", Spec("v0.1 §3.3.1, v1.1 II, v1.2 §1, v2 §3.1"), All,
        "The manifest is one CBOR item and nothing else.",
        "{} bytes are left over after the CBOR item", WRITER;

    // Well-formed CBOR.
    CborTruncated "cbor-truncated", Spec("RFC 8949 §3, v0.1 §3.3.1, v1.1 II, v1.2 §1, v2 §3.1"), All,
        "Every CBOR item ends within the manifest.",
        "a CBOR item runs past the end of the manifest", DAMAGED;
    CborCount "cbor-count", Spec("RFC 8949 §3, v0.1 §3.3.1, v1.1 II, v1.2 §1, v2 §3.1"), All,
        "A map or array claims no more entries than the bytes that are left can hold.",
        "a map or array claims {} entries, more than the bytes that are left can hold", COUNTED;
    CborReserved "cbor-reserved", Spec("RFC 8949 §3, §3.2.1, v2 §3.1"), All,
        "No CBOR head uses a reserved length, or an indefinite length where none is defined.",
        "the CBOR head {} is reserved", DAMAGED;
    CborSimple "cbor-simple", Spec("RFC 8949 §3.3, v2 §3.1"), All,
        "A two-byte simple value is 32 or more.",
        "the two-byte simple value {} is below 32", DAMAGED;
    CborBreak "cbor-break", Spec("RFC 8949 §3.2.1, v2 §3.1"), All,
        "A break occurs only where an indefinite-length item may end.",
        "a CBOR break occurs where a value or key is expected", DAMAGED;
    CborChunk "cbor-chunk", Spec("RFC 8949 §3.2.3"), UpTo1,
        "The chunks of an indefinite-length string are definite strings of the same kind.",
        "a chunk of an indefinite-length string is not a definite string of its kind", DAMAGED;
    CborUtf8 "cbor-utf8", Spec("RFC 8949 §3.1, v2 §3.1"), All,
        "Every text string is UTF-8, each chunk by itself.",
        "a text string is not UTF-8", WRITER;

    // The form of deterministic CBOR, which every item of a manifest of generation 2 must have.
    CborShortest "cbor-shortest", Spec("RFC 8949 §4.2.1, v2 §3.1"), V2,
        "Every CBOR head is the shortest one for its number.",
        "a CBOR head is longer than its number needs", WRITER;
    CborIndefinite "cbor-indefinite", Spec("RFC 8949 §4.2.1, v2 §3.1"), V2,
        "Every CBOR item has definite length.", "a CBOR item has indefinite length", WRITER;
    CborFloat "cbor-float", Spec("RFC 8949 §4.2.1, v2 §3.1"), V2,
        "Every float takes the fewest bytes that hold its value, and NaN is F9 7E 00.",
        "a float takes more bytes than its value needs, or is a NaN other than F9 7E 00", WRITER;
    CborTag "cbor-tag", Spec("v2 §3.1"), V2,
        "No CBOR item is tagged.", "a CBOR item has tag {}", WRITER;
    CborValue "cbor-value", Spec("v2 §3.1"), V2,
        "Simple values are `false`, `true` and `null`.",
        "a simple value is neither `false`, `true` nor `null`", WRITER;
    CborDepth "cbor-depth", Spec("v2 §3.1"), V2,
        "At most 32 maps and arrays are open around a value.",
        "more than 32 maps and arrays are open around a value", NESTED;
    KeyOrder "key-order", Spec("RFC 8949 §4.2.1, v2 §3.1"), V2,
        "The keys of every map are sorted by their encodings, byte by byte, strictly ascending.",
        "a key follows a greater key", WRITER;

    // Keys and strings to which the specification gives a meaning.
    KeyType "key-type", Spec("v0.1 §4, v1.1 II, v1.2 §1, v2 §3.1, §3.5"), All,
        "The keys of every interpreted map are text.",
        "a key is not text", WRITER;
    StringChunked "string-chunked", Policy("writers could split one string in different ways, and a string in chunks cannot be borrowed"), UpTo1,
        "Keys and interpreted strings have definite length.",
        "a key or interpreted string is split into chunks", WRITER;
    NameForm "name-form", Spec("v2 §3.5"), V2,
        "The names of objects and parts and the keys of attributes have 1 to 1024 bytes, none of them 0.",
        "the name has {} bytes instead of 1 to 1024, or contains U+0000", WRITER;
    DuplicateKey "duplicate-key", Implied("readers differ on which of two equal keys they use"), All,
        "The keys of an interpreted map are unique.",
        "duplicate key in a map", WRITER;
    DuplicateName "duplicate-name", Implied("readers differ on which of two objects with the same name they use"), UpTo1,
        "No two objects have the same name.",
        "duplicate object name", WRITER;

    // The root.
    RootType "root-type", Spec("v0.1 §3.3.1, v1.1 II, v1.2 §1, v2 §3.1"), All,
        "The root of the manifest is a map (1.x, 2) or an array (0.1), untagged.",
        "the root of the manifest has the wrong type", WRITER;
    VersionMissing "version-missing", Spec("v1.1 II.1, v1.2 §1"), V1,
        "The root has a `version`.", "the root has no `version`", WRITER;
    VersionType "version-type", Spec("v1.1 II.1, v1.2 §1"), V1,
        "`version` is text.", "`version` is not text", WRITER;
    VersionSyntax "version-syntax", Implied("the version decides how the file is read"), V1,
        "`version` is two or three decimal numbers joined by dots, without sign, suffix or leading zero.",
        "`version` is not two or three decimal numbers joined by dots", WRITER;
    AttributesType "attributes-type", Spec("v1.1 II.1, v1.2 §1, v2 §3.1"), From1,
        "`attributes` is a map.", "`attributes` is not a map", WRITER;
    ObjectsMissing "objects-missing", Spec("v1.1 II.1, v1.2 §1, v2 §3.2"), From1,
        "The root has `objects`.", "the root has no `objects`", WRITER;
    ObjectsType "objects-type", Spec("v1.1 II.1, v1.2 §1, v2 §3.2"), From1,
        "`objects` is a map.", "`objects` is not a map", WRITER;
    ShardsType "shards-type", Spec("v2 §7.1"), V2,
        "`shards` is a map.", "`shards` is not a map", WRITER;
    // The shards.
    ShardName "shard-name", Spec("v2 §7.1"), V2,
        "The name of a shard has 1 to 64 letters, digits, dots, underscores and hyphens, and does not begin with a dot.",
        "the name of the shard has {} bytes instead of 1 to 64, or characters other than letters, digits and `._-`, or begins with a dot", WRITER;
    ShardType "shard-type", Spec("v2 §7.1"), V2,
        "Every shard is a map.", "a shard is not a map", WRITER;
    ShardSizeMissing "shard-size-missing", Spec("v2 §7.1"), V2,
        "Every shard has a `size`.", "the shard has no `size`", WRITER;
    ShardSizeType "shard-size-type", Spec("v2 §7.1"), V2,
        "`size` of a shard is an unsigned integer of at most 64 bits.",
        "`size` of a shard is not an unsigned integer", WRITER;
    ShardSize "shard-size", Implied("no file of this container is shorter than 48 bytes"), V2,
        "`size` of a shard is 48 or more.", "`size` of a shard is {}, expected 48 or more", WRITER;
    ShardLength "shard-length", Spec("v2 §7.3"), V2,
        "A shard that is found has the `size` that the file gives it.",
        "the file that is found has {} bytes, which is not the shard's `size`", DAMAGED;
    ShardFrame "shard-frame", Spec("v2 §7.3"), V2,
        "A shard that is found is a file of this container: its header, its footer and the position of its manifest are valid.",
        "the file that is found is not a file of this container: its byte {} is invalid", DAMAGED;
    ShardDigest "shard-digest", Spec("v2 §7.3"), V2,
        "A shard that is found has the `digest` that the file gives it.",
        "the file that is found does not have the shard's `digest`", DAMAGED;
    ShardDigestMissing "shard-digest-missing", Spec("v2 §7.1"), V2,
        "Every shard has a `digest`.", "the shard has no `digest`", WRITER;

    // The object.
    ObjectType "object-type", Spec("v0.1 §4, v1.1 II.2, v1.2 §1, v2 §3.3"), All,
        "Every object is a map.", "an object is not a map", WRITER;
    NameMissing "name-missing", Spec("v0.1 §4"), V0,
        "Every entry has a `name`.", "the entry has no `name`", WRITER;
    NameType "name-type", Spec("v0.1 §4"), V0,
        "`name` is text.", "`name` is not text", WRITER;
    ShapeMissing "shape-missing", Spec("v0.1 §4, v1.1 II.2, v1.2 §1, v2 §3.3"), All,
        "Every object has a `shape`.", "the object has no `shape`", WRITER;
    ShapeType "shape-type", Spec("v0.1 §4, v1.1 II.2, v1.2 §1, v2 §3.3"), All,
        "`shape` is an array of unsigned integers of at most 64 bits.",
        "`shape` is not an array of unsigned integers", WRITER;
    FormatMissing "format-missing", Spec("v1.1 II.2, v1.2 §1, v2 §3.3"), From1,
        "Every object has a `format` (`layout` in 2).", "the object has no `format`", WRITER;
    FormatType "format-type", Spec("v1.1 II.2, v1.2 §1, v2 §3.3"), From1,
        "`format` (`layout` in 2) is text.", "`format` is not text", WRITER;
    ComponentsMissing "components-missing", Spec("v1.1 II.2, v1.2 §1, v2 §3.3"), From1,
        "Every object has `components` (`parts` in 2).", "the object has no `components`", WRITER;
    ComponentsType "components-type", Spec("v1.1 II.2, v1.2 §1, v2 §3.3"), From1,
        "`components` (`parts` in 2) is a map.", "`components` is not a map", WRITER;
    ComponentsEmpty "components-empty", Spec("v2 §3.3"), V2,
        "Every object has a part.", "the object has no parts", WRITER;
    ShapeRank "shape-rank", Spec("v2 §3.3"), V2,
        "A shape has at most 64 dimensions.", "a shape has {} dimensions, expected at most 64", WRITER;
    LayoutType "layout-type", Spec("v0.1 crate readme, Tensor Metadata"), V0,
        "`layout` is text.", "`layout` is not text", WRITER;

    // The component.
    ComponentType "component-type", Spec("v1.1 II.3, v1.2 §1, v2 §3.4"), From1,
        "Every component is a map.", "a component is not a map", WRITER;
    DtypeMissing "dtype-missing", Spec("v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4"), All,
        "Every component has a `dtype`.", "the component has no `dtype`", WRITER;
    DtypeType "dtype-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4"), All,
        "`dtype` is text.", "`dtype` is not text", WRITER;
    DtypeUnknown "dtype-unknown", Spec("v1.1 II.4, v1.2 §2, v2 §4.1"), From1,
        "`dtype` is a storage type of the file's version.",
        "`dtype` is not a storage type of this version", WRITER;
    LogicalTypeType "type-type", Spec("v1.2 §1, v2 §3.4"), From1,
        "`type` is text or null.", "`type` is neither text nor null", WRITER;
    LogicalTypeStorage "type-storage", Spec("v1.2 §2, v2 §4.2"), From1,
        "A known `type` has the `dtype` that its table gives.",
        "`type` does not match `dtype`", WRITER;
    OffsetMissing "offset-missing", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "Every component has an `offset`.", "the component has no `offset`", WRITER;
    OffsetType "offset-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "`offset` is an unsigned integer of at most 64 bits.", "`offset` is not an unsigned integer", WRITER;
    LengthMissing "length-missing", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "Every component has a `length` (`size` in 0.1).", "the component has no `length`", WRITER;
    LengthType "length-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "`length` (`size` in 0.1) is an unsigned integer of at most 64 bits.",
        "`length` is not an unsigned integer", WRITER;
    BlobMissing "blob-missing", Spec("v2 §3.4"), V2,
        "Every part has a `blob`.", "the part has no `blob`", WRITER;
    BlobType "blob-type", Spec("v2 §3.4"), V2,
        "`blob` is an array of exactly two unsigned integers of at most 64 bits, offset and length.",
        "`blob` is not an array of exactly two unsigned integers", WRITER;
    ShardReferenceType "shard-reference-type", Spec("v2 §3.4"), V2,
        "`shard` of a part is text.", "`shard` of a part is not text", WRITER;
    ShardReference "shard-reference", Spec("v2 §7.1"), V2,
        "`shard` of a part is a name in `shards`.", "`shard` is not a name in `shards`", WRITER;
    EncodingMissing "encoding-missing", Spec("v0.1 §4"), V0,
        "Every entry has an `encoding`.", "the entry has no `encoding`", WRITER;
    EncodingType "encoding-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4"), All,
        "`encoding` is text.", "`encoding` is not text", WRITER;
    EncodingUnknown "encoding-unknown", Spec("v1.1 II.3, v1.2 §1"), V1,
        "`encoding` is `raw` or `zstd`.", "`encoding` is neither `raw` nor `zstd`", WRITER;
    DecodedLengthType "uncompressed-length-type", Spec("v1.2 §1, v2 §3.4"), From1,
        "`uncompressed_length` (`decoded_length` in 2) is an unsigned integer of at most 64 bits, or (1.x) null.",
        "`uncompressed_length` is neither an unsigned integer nor null", WRITER;
    DecodedLengthMissing "uncompressed-length-missing", Spec("v1.2 §1, v2 §3.4"), From1_2,
        "A zstd component has `uncompressed_length`; in generation 2, a component with an encoding has `decoded_length`.",
        "the component is compressed, but does not give its decoded length", WRITER;
    DecodedLengthRaw "uncompressed-length-raw", Implied("the stored bytes of a raw component are its decoded bytes"), V1,
        "`uncompressed_length` of a raw component equals its `length`.",
        "the component is raw, but its `uncompressed_length` of {} is not its `length`", WRITER;
    DecodedLengthAlone "decoded-length-alone", Spec("v2 §3.4"), V2,
        "A part without an `encoding` has no `decoded_length`.",
        "the part has a `decoded_length`, but no `encoding`", WRITER;
    DigestType "digest-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4, §7.1"), All,
        "`digest` is text or null (`checksum` in 0.1 is text).", "`digest` is not text", WRITER;
    DigestForm "digest-form", Spec("v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4, §7.1"), All,
        "A digest is `sha256:` and 64 hexadecimal digits, or `crc32c:`, an optional `0x` and 8 hexadecimal digits, or the name of another algorithm, a colon and any text. In generation 2, a digest is a name of letters a to z and digits, a colon, and lower-case hexadecimal digits: 16 for `xxh3`, 64 for `sha256`.",
        "invalid digest", WRITER;
    EndiannessType "endianness-type", Spec("v0.1 §4"), V0,
        "`data_endianness` is text.", "`data_endianness` is not text", WRITER;
    EndiannessValue "endianness-value", Spec("v0.1 §4"), V0,
        "`data_endianness` is `little` or `big`.", "`data_endianness` is neither `little` nor `big`", WRITER;
    EndiannessCompressed "endianness-compressed", Policy("v0.1 §4 defines byte order for raw data only, so a reader may or may not swap"), V0,
        "Compressed multi-byte data is not declared big-endian.",
        "compressed data is declared big-endian", "Write the entry again, raw or little-endian.";

    // Rules on the positions of blobs in the file.
    BlobAlignment "blob-alignment", Spec("v0.1 §3.2, v1.1 I.2, v1.2 §4, v2 §2.4"), All,
        "Every component offset is a multiple of 64; in generation 2, of 4096.",
        "component offset {} is not a multiple of 64 (4096 in generation 2)", WRITER;
    BlobHeader "blob-header", Spec("v0.1 §2, v1.1 I.1, v1.2 §4, v2 §2.4"), All,
        "A blob that is not empty starts after the header, at 64 or later; in generation 2, every blob starts at 4096 or later.",
        "the blob overlaps the file's header", COUNTED;
    BlobBounds "blob-bounds", Spec("v1.1 IV.2, v1.2 §5, v2 §2.4"), All,
        "offset + length is at most the start of the manifest; in generation 2, the start of the footer of the file that holds the blob.",
        "a blob of {} bytes overlaps the manifest or runs past the end of the file", "The file was cut, or the manifest has a wrong number. Compare its length and digest with the original.";
    BlobOverlap "blob-overlap", Policy("a blob that many names share multiplies the memory for reading, and writers place one blob after another"), All,
        "Blobs that are not empty are disjoint; in generation 2, disjoint or identical.",
        "the blob at offset {} overlaps another",
        "If the writer meant to share one blob between names, the tolerance `shared-blobs` accepts identical extents.";

    // Rules on sizes that follow from shapes.
    ShapeOverflow "shape-overflow", Implied("no file can hold 2^64 elements"), All,
        "The product of a shape is 0 where a dimension is 0, and otherwise fits in 64 bits.",
        "the product of the shape does not fit in 64 bits", COUNTED;
    WholeElements "whole-elements", Implied("bytes that are only part of an element have no meaning"), All,
        "Every component holds a whole number of elements; in generation 2, every component of a sparse object does.",
        "{} bytes are not a whole number of elements", WRITER;
    DenseSize "dense-size", Spec("v1.2 §2, v1.1 III.1, v0.1 §5.1, v2 §5.1"), All,
        "The decoded bytes of a dense object are exactly the product of its shape times the size of an element.",
        "{} bytes do not match the shape and the type", WRITER;

    // Rules on the components that each layout requires.
    DenseRoles "dense-roles", Spec("v1.1 III.1, v1.2 §3, v2 §5.1"), From1,
        "A dense object has the component `data`; in generation 2, it has no other component.", "the dense object has no component `data`, or has other components", WRITER;
    CsrRoles "csr-roles", Spec("v1.1 III.2, v1.2 §3, v2 §5.2"), From1,
        "A `sparse_csr` object has `values`, `indices` and `indptr`; in generation 2, it has no other component.",
        "the `sparse_csr` object lacks `values`, `indices` or `indptr`, or has other components", WRITER;
    CooRoles "coo-roles", Spec("v1.1 III.3, v1.2 §3, v2 §5.2"), From1,
        "A `sparse_coo` object has `values` and `coords`; in generation 2, it has no other component.",
        "the `sparse_coo` object lacks `values` or `coords`, or has other components", WRITER;
    QuantizedRoles "quantized-roles", Spec("v1.1 III.4, v1.2 §3"), V1,
        "A `quantized_group` object has `packed_weight` and `scales`.",
        "the `quantized_group` object lacks `packed_weight` or `scales`", WRITER;
    QuantizedZeros "quantized-zeros", Spec("v1.1 III.4, v1.2 §3"), V1,
        "A `quantized_group` object has `zeros`.", "the `quantized_group` object has no `zeros`",
        "If the quantization is symmetric, the tolerance `missing-zeros` accepts it.";
    IndexDtype "index-dtype", Spec("v1.2 §3, v1.1 III.2, III.3, v2 §5.2"), From1,
        "Index components have the type `u64`; in 1.1 any integer type; in generation 2 all index components of an object are `u64`, or all are `u32`.",
        "an index component does not have a type that its generation allows for indices",
        "Integer indices other than `u64` in a 1.2 file are accepted by the tolerance `narrow-indices`.";
    IndexLogicalType "index-type", Spec("v1.2 §3, v2 §5.2"), From1,
        "Index components have no logical type.", "an index component has a logical `type`", WRITER;
    CsrRank "csr-rank", Spec("v1.1 III.2, v1.2 §3, v2 §5.2"), From1,
        "A `sparse_csr` shape has two dimensions.", "a `sparse_csr` shape has {} dimensions, expected 2", WRITER;
    CooRank "coo-rank", Spec("v1.1 III.3, v1.2 §3, v2 §5.2"), From1,
        "A `sparse_coo` shape has at least one dimension.", "a `sparse_coo` shape has no dimension", WRITER;
    SparseOverflow "sparse-overflow", Implied("no file can hold 2^64 indices"), From1,
        "The number of rows plus 1, and the number of values times the number of dimensions, fit in 64 bits.", "the number of rows plus 1, or of values times dimensions, does not fit in 64 bits", COUNTED;
    CsrIndptrSize "csr-indptr-size", Spec("v1.1 III.2, v1.2 §3, v2 §5.2"), From1,
        "`indptr` has one entry more than the shape has rows.",
        "`indptr` has {} entries, not one more than the shape has rows", WRITER;
    CsrNnz "csr-nnz", Spec("v1.2 §3, v2 §5.2"), From1,
        "`indices` has one entry for each value.", "`indices` has {} entries, not one for each value", WRITER;
    CooNnz "coo-nnz", Spec("v1.1 III.3, v1.2 §3, v2 §5.2"), From1,
        "`coords` has one entry for each value and dimension.",
        "`coords` has {} entries, not one for each value and dimension", WRITER;

    // The attributes and parts that the profiles of generation 2, such as `zt.mx/1`, require.
    AttributeMissing "attribute-missing", Spec("v2 §5.2"), V2,
        "An object with a profile has the attributes that its layout requires, and the attributes have their fields.", "the object lacks an attribute that its layout requires, or a field of such an attribute", WRITER;
    AttributeType "attribute-type", Spec("v2 §5.2"), V2,
        "The attributes of a profile, and their fields, have the types that the layout requires.", "the attribute or one of its fields does not have the type that the layout requires", WRITER;
    AttributeAxis "attribute-axis", Spec("v2 §5.2"), V2,
        "`axis` is the number of a dimension of the shape, the outermost being 0.", "`axis` is {}, which is not a dimension of the shape", WRITER;
    ScaleForm "scale-form", Spec("v2 §5.2"), V2,
        "`scale_form` is `e8m0_exponent`, or, in `zt.quant_group/1`, `f32_factors` or `f16_factors`.", "unknown `scale_form`", WRITER;
    MxBlockSize "mx-block-size", Spec("v2 §5.2"), V2,
        "`block_size` is 2 or more, and divides the dimension of the axis.", "`block_size` is {}, which is below 2 or does not divide the dimension of the axis", WRITER;
    QuantBits "quant-bits", Spec("v2 §5.2"), V2,
        "`bits` is 2, 3, 4, 5, 6 or 8, and divides the bits of a word.", "`bits` is {}, which is not 2, 3, 4, 5, 6 or 8, or does not divide the bits of a word", WRITER;
    QuantPacking "quant-packing", Spec("v2 §5.2"), V2,
        "`packing` has a `word` of `u8`, `u16`, `u32` or `u64`, an `order` of `lsb_first` or `msb_first`, and the number `per_word` of codes that fill a word.", "`packing` has an unknown word or order, or a number of codes that does not fill a word", WRITER;
    QuantGroupSize "quant-group-size", Spec("v2 §5.2"), V2,
        "`group_size` divides the dimension of the axis, or is 0.", "`group_size` is {}, which does not divide the dimension of the axis", WRITER;
    QuantZeroPoint "quant-zero-point", Spec("v2 §5.2"), V2,
        "`zero_point` has the form `none`, `implied` or `tensor`, and the form `tensor` has the packing `plain` or `same_as_data`.", "the form of the attribute `zero_point` is not `none`, `implied` or `tensor`, or its packing is not `plain` or `same_as_data`", WRITER;
    GgufBlock "gguf-block", Spec("v2 §5.2"), V2,
        "`elems_per_block` is 1 or more and divides the product of the shape; `block_bytes` is 1 or more.", "`elems_per_block` or `block_bytes` is {}, which is 0 or does not divide the number of elements", WRITER;
    ProfileRoles "profile-roles", Spec("v2 §5.2"), V2,
        "`zt.mx/1` has the parts `data` and `scales`; `zt.quant_group/1` also has `zeros` if the zero points are a tensor; `gguf.NAME/1` has `data`. There are no other parts.", "the object lacks a part that its layout requires, or has an additional part", WRITER;
    ProfileDtype "profile-dtype", Spec("v2 §5.2"), V2,
        "The parts of a profile have the types that its layout and its attributes require.", "the part does not have the type that its layout and attributes require", WRITER;
    ProfileSize "profile-size", Spec("v2 §5.2"), V2,
        "Each part of a profile has the decoded size that the shape and the attributes require.", "{} bytes do not match the shape and the attributes", WRITER;

    // Rules on the content of components.
    DigestMismatch "digest-mismatch", Spec("v0.1 §4, v1.1 II.3, v1.2 §1, v2 §3.4"), All,
        "The stored bytes of a component (in generation 2, its decoded bytes) have the digest that the manifest gives.",
        "the bytes of the component do not have the digest that the manifest gives", DAMAGED;
    IndptrStart "csr-indptr-start", Spec("v1.1 III.2, v1.2 §3, v2 §5.2"), From1,
        "`indptr` begins with 0.", "`indptr` begins with {}", WRITER;
    IndptrOrder "csr-indptr-order", Spec("v1.1 III.2, v1.2 §3, v2 §5.2"), From1,
        "The entries of `indptr` never decrease.", "`indptr` decreases to {}", WRITER;
    IndptrEnd "csr-indptr-end", Spec("v1.1 III.2, v1.2 §3, v2 §5.2"), From1,
        "`indptr` ends with the number of values.", "`indptr` ends with {}, not the number of values", WRITER;
    IndexRange "index-range", Spec("v1.1 III.2, III.3, v1.2 §3, v2 §5.2"), From1,
        "Every index is at least 0 and below its dimension.",
        "index {} is out of range for its dimension", WRITER;
    IndexOrder "csr-index-order", Spec("v2 §5.2"), V2,
        "In a row, indices are strictly ascending.",
        "index {} is not greater than the index before it in its row", WRITER;
    CellRepeated "coo-cell-repeated", Spec("v2 §5.2"), V2,
        "No cell of a `sparse_coo` object has two values.", "value {} is in a cell that already has a value", WRITER;
    ZstdMagic "zstd-magic", Spec("RFC 8878 §3.1.1, v0.1 §5.2, v1.1 II.3, v1.2 §1"), All,
        "A zstd component is one or more zstd frames and nothing else.",
        "{} bytes are left where a zstd frame should begin", DAMAGED;
    ZstdTruncated "zstd-truncated", Spec("RFC 8878 §3.1.1"), All,
        "Every zstd frame ends within its component.",
        "a zstd frame runs past the end of its component", DAMAGED;
    ZstdSkippable "zstd-skippable", Policy("readers treat the data of a skippable frame differently, and no writer of zTensor makes such a frame"), All,
        "No zstd frame is skippable.", "a zstd frame is skippable", WRITER;
    ZstdDictionary "zstd-dictionary", Implied("a zTensor file has no place for a dictionary"), All,
        "No zstd frame requires a dictionary.", "a zstd frame requires dictionary {}", WRITER;
    ZstdReserved "zstd-reserved", Spec("RFC 8878 §3.1.1.1.1.4, §3.1.1.2.2"), All,
        "Reserved bits and block types of zstd are not used.",
        "a reserved bit or block type of zstd is used", DAMAGED;
    ZstdBlock "zstd-block", Spec("RFC 8878 §3.1.1.2.4"), All,
        "A zstd block is not larger than the window, and not larger than 128 KiB.",
        "a zstd block of {} bytes is larger than the window or 128 KiB", DAMAGED;
    ZstdContentSize "zstd-content-size", Spec("RFC 8878 §3.1.1.1.4"), All,
        "A zstd frame that gives its content size holds exactly that number of bytes.",
        "a zstd frame does not hold the {} bytes that its header gives", DAMAGED;
    ZstdChecksum "zstd-checksum", Spec("RFC 8878 §3.1.1"), All,
        "A zstd frame that has a checksum matches it.",
        "a zstd frame does not match its checksum", DAMAGED;
    ZstdCorrupt "zstd-corrupt", Spec("RFC 8878 §3.1.1.3"), All,
        "Every zstd block can be decoded.", "a zstd block cannot be decoded", DAMAGED;
    SeekTable "seek-table", Spec("v2 §8.2, zstd seekable format"), V2,
        "The part ends with a seek table with valid magics, its own length, and reserved bits of 0.",
        "the part does not end with a seek table", DAMAGED;
    SeekSizes "seek-sizes", Spec("v2 §8.2"), V2,
        "The sizes in a seek table add up to the bytes before it, and to `decoded_length`.",
        "the sizes in the seek table do not add up: the decoded sizes come to {} bytes", DAMAGED;
    FrameSize "zstd-frame-size", Spec("v2 §8.2"), V2,
        "Every frame decodes to at most 16 MiB, and every frame except the last to the size of the first.",
        "a frame decodes to {} bytes, which is more than 16 MiB or not the size of the first frame", WRITER;
    FrameSingle "zstd-frame-single", Spec("v2 §8.2"), V2,
        "Every entry of a seek table is one zstd frame, with a checksum.",
        "an entry of the seek table is not one zstd frame with a checksum", WRITER;
    DecodedSize "decoded-size", Spec("v1.2 §1, §2, v1.1 III.1, v0.1 §5.1"), All,
        "A component decodes to exactly the number of bytes that the manifest gives.",
        "the component decodes to {} bytes or more, but the manifest gives another size", WRITER;
    BoolValue "bool-value", Spec("v1.1 II.4, v1.2 §2, v2 appendix A"), From1,
        "A bool is stored as 0x00 or 0x01.", "a bool is stored as {}, expected 0 or 1", WRITER;
    NibbleValue "nibble-value", Spec("v2 appendix A"), V2,
        "The high nibble of the last byte is 0 where the number of `f4_e2m1` elements is odd.",
        "the last byte is {}: its high nibble holds no element, but is not 0", WRITER;

    // Rules on the canonical form, which are checked only if the caller asks for it.
    CanonicalGeneration "canonical-generation", Policy("a content has one canonical file"), V1From2,
        "A canonical file is of version `1.2.0`.", "the file is not of version `1.2.0`", CANONICAL;
    CanonicalCbor "canonical-cbor", Policy("a content has one canonical file: RFC 8949 §4.2.1"), V1From2,
        "The manifest is deterministic CBOR: shortest heads and floats, definite lengths, keys in ascending order of their encodings.",
        "an item of the manifest is not deterministic CBOR", CANONICAL;
    CanonicalField "canonical-field", Policy("a content has one canonical file"), From1_2,
        "No field is unknown, and no field states a default.",
        "the field is unknown, or states a default", CANONICAL;
    CanonicalEncoding "canonical-encoding", Policy("encoders compress the same bytes differently"), From1_2,
        "Every component is raw.", "the component is compressed", CANONICAL;
    CanonicalDigest "canonical-digest", Policy("a content has one canonical file, of which no byte is free to change"), From1_2,
        "Every component has a sha256 digest in lower-case digits; in generation 2, an xxh3 digest.",
        "the component has no sha256 digest in lower-case digits, or, in generation 2, no xxh3 digest", CANONICAL;
    CanonicalBlob "canonical-blob", Policy("a content has one canonical file"), From1_2,
        "Blobs have the order of the manifest, and each is at the next multiple of 64. In generation 2, blobs have the order of the names, compared by bytes, and are at multiples of 65,536.",
        "the blob is at {}, which is not the next aligned offset", CANONICAL;
    CanonicalManifest "canonical-manifest", Policy("a content has one canonical file"), From1_2,
        "The manifest is at the next multiple of 64 (65,536 in 2) after the last blob, and ends at the footer.",
        "the manifest is at {}, which is not the next aligned offset, or does not end at the footer", CANONICAL;
    CanonicalPadding "canonical-padding", Policy("no byte of the file is free to change"), From1_2,
        "Padding is zero.", "a byte of padding is {}, not 0", CANONICAL;
    CanonicalReserved "canonical-reserved", Policy("no byte of the file is free to change"), V2,
        "The reserved field of the footer is 0.", "the reserved field is {}, not 0", CANONICAL;
    CanonicalSharing "canonical-sharing", Policy("a content has one canonical file"), V2,
        "Components with equal bytes share one blob.",
        "the blob has the same bytes as another blob, which the components must share", CANONICAL;
}
