//! The rules that a malformed file breaks.

use super::{CANONICAL, DAMAGED, DISTRUST, Row, Scope, Source, WRITER, catalogue};

catalogue! {
    /// A rule that a malformed file breaks.
    Rule:

    // The container.
    FileSize "file-size", Spec("v0.1 §2, v1.1 I.1, v1.2 §4"), All,
        "A file is long enough for its header, a manifest and its footer.",
        "the file has only {} bytes", DAMAGED;
    HeaderMagic "header-magic", Spec("v0.1 §3.1, v1.1 I.1, v1.2 §4"), All,
        "A zTensor file begins with `ZTEN0001` or `ZTEN1000`.",
        "the first 8 bytes are no zTensor magic", "This is not a zTensor file, or its beginning is damaged.";
    FooterMagic "footer-magic", Spec("v1.1 IV.1 step 2, v1.2 §5 step 2"), V1,
        "A `ZTEN1000` file ends with `ZTEN1000`.",
        "the last 8 bytes are not `ZTEN1000`: the file was cut, or it is a 1.0 file, which cannot be told from a cut one",
        "Fetch the file again. If it was written by version 1.0 of the reference library, write it again with a newer one.";
    ManifestCap "manifest-cap", Spec("v1.1 IV.1 step 4, v1.2 §5 step 4"), All,
        "The manifest has at most 1,073,741,824 bytes (for 0.1 this is policy).",
        "the manifest size is {} bytes, over 1 GiB", DISTRUST;
    ManifestBounds "manifest-bounds", Spec("v0.1 §3.3, v1.1 II, v1.2 §5 step 5"), All,
        "The manifest lies between the header and the footer.",
        "a manifest of {} bytes does not fit between header and footer", DAMAGED;
    ManifestTrailing "manifest-trailing", Spec("v0.1 §3.3.1, v1.1 II, v1.2 §1"), All,
        "The manifest is one CBOR item and nothing else.",
        "{} bytes are left over after the CBOR item", WRITER;

    // Well-formed CBOR.
    CborTruncated "cbor-truncated", Spec("RFC 8949 §3, v0.1 §3.3.1, v1.1 II, v1.2 §1"), All,
        "Every CBOR item ends within the manifest.",
        "a CBOR item runs past the end of the manifest", DAMAGED;
    CborCount "cbor-count", Spec("RFC 8949 §3, v0.1 §3.3.1, v1.1 II, v1.2 §1"), All,
        "A map or array claims no more entries than the bytes that are left can hold.",
        "a map or array claims {} entries, more than the bytes that are left can hold", DISTRUST;
    CborReserved "cbor-reserved", Spec("RFC 8949 §3, §3.2.1"), All,
        "No CBOR head uses a reserved length, or an indefinite length where none is defined.",
        "the CBOR head {} is reserved", DAMAGED;
    CborSimple "cbor-simple", Spec("RFC 8949 §3.3"), All,
        "A two-byte simple value is 32 or more.",
        "the two-byte simple value {} is below 32", DAMAGED;
    CborBreak "cbor-break", Spec("RFC 8949 §3.2.1"), All,
        "A break stands only where an indefinite-length item may end.",
        "a CBOR break stands where a value or key is expected", DAMAGED;
    CborChunk "cbor-chunk", Spec("RFC 8949 §3.2.3"), All,
        "The chunks of an indefinite-length string are definite strings of the same kind.",
        "a chunk of an indefinite-length string is not a definite string of its kind", DAMAGED;
    CborUtf8 "cbor-utf8", Spec("RFC 8949 §3.1"), All,
        "Every text string is UTF-8, each chunk by itself.",
        "a text string is not UTF-8", WRITER;

    // Keys and strings that are interpreted.
    KeyType "key-type", Spec("v0.1 §4, v1.1 II, v1.2 §1"), All,
        "The keys of every interpreted map are text.",
        "a key is not text", WRITER;
    StringChunked "string-chunked", Policy("two readers could cut the string differently, and it could not be borrowed"), All,
        "Keys and interpreted strings have definite length.",
        "a key or interpreted string comes in chunks", WRITER;
    DuplicateKey "duplicate-key", Implied("readers differ on which of the two they take"), All,
        "No key stands twice in an interpreted map.",
        "the key stands twice in its map", WRITER;
    DuplicateName "duplicate-name", Implied("readers differ on which of the two they take"), All,
        "No two objects have the same name.",
        "the name is already taken by another object", WRITER;

    // The root.
    RootType "root-type", Spec("v0.1 §3.3.1, v1.1 II, v1.2 §1"), All,
        "The root of the manifest is a map (1.x) or an array (0.1), untagged.",
        "the root of the manifest is of the wrong type", WRITER;
    VersionMissing "version-missing", Spec("v1.1 II.1, v1.2 §1"), V1,
        "The root has a `version`.", "the root has no `version`", WRITER;
    VersionType "version-type", Spec("v1.1 II.1, v1.2 §1"), V1,
        "`version` is text.", "`version` is not text", WRITER;
    VersionSyntax "version-syntax", Implied("the version decides how the file is read"), V1,
        "`version` is two or three decimal numbers joined by dots, without sign, suffix or leading zero.",
        "`version` is not two or three decimal numbers joined by dots", WRITER;
    AttributesType "attributes-type", Spec("v1.1 II.1, v1.2 §1"), V1,
        "`attributes` is a map.", "`attributes` is not a map", WRITER;
    ObjectsMissing "objects-missing", Spec("v1.1 II.1, v1.2 §1"), V1,
        "The root has `objects`.", "the root has no `objects`", WRITER;
    ObjectsType "objects-type", Spec("v1.1 II.1, v1.2 §1"), V1,
        "`objects` is a map.", "`objects` is not a map", WRITER;

    // The object.
    ObjectType "object-type", Spec("v0.1 §4, v1.1 II.2, v1.2 §1"), All,
        "Every object is a map.", "an object is not a map", WRITER;
    NameMissing "name-missing", Spec("v0.1 §4"), V0,
        "Every entry has a `name`.", "the entry has no `name`", WRITER;
    NameType "name-type", Spec("v0.1 §4"), V0,
        "`name` is text.", "`name` is not text", WRITER;
    ShapeMissing "shape-missing", Spec("v0.1 §4, v1.1 II.2, v1.2 §1"), All,
        "Every object has a `shape`.", "the object has no `shape`", WRITER;
    ShapeType "shape-type", Spec("v0.1 §4, v1.1 II.2, v1.2 §1"), All,
        "`shape` is an array of unsigned integers of at most 64 bits.",
        "`shape` is not an array of unsigned integers", WRITER;
    FormatMissing "format-missing", Spec("v1.1 II.2, v1.2 §1"), V1,
        "Every object has a `format`.", "the object has no `format`", WRITER;
    FormatType "format-type", Spec("v1.1 II.2, v1.2 §1"), V1,
        "`format` is text.", "`format` is not text", WRITER;
    ComponentsMissing "components-missing", Spec("v1.1 II.2, v1.2 §1"), V1,
        "Every object has `components`.", "the object has no `components`", WRITER;
    ComponentsType "components-type", Spec("v1.1 II.2, v1.2 §1"), V1,
        "`components` is a map.", "`components` is not a map", WRITER;
    LayoutType "layout-type", Spec("v0.1 crate readme, Tensor Metadata"), V0,
        "`layout` is text.", "`layout` is not text", WRITER;

    // The component.
    ComponentType "component-type", Spec("v1.1 II.3, v1.2 §1"), V1,
        "Every component is a map.", "a component is not a map", WRITER;
    DtypeMissing "dtype-missing", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "Every component has a `dtype`.", "the component has no `dtype`", WRITER;
    DtypeType "dtype-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "`dtype` is text.", "`dtype` is not text", WRITER;
    DtypeUnknown "dtype-unknown", Spec("v1.1 II.4, v1.2 §2"), V1,
        "`dtype` is one of the closed set of its version.",
        "`dtype` is none of the storage types of this version", WRITER;
    LogicalTypeType "type-type", Spec("v1.2 §1"), V1,
        "`type` is text or null.", "`type` is neither text nor null", WRITER;
    LogicalTypeStorage "type-storage", Spec("v1.2 §2"), V1,
        "A known `type` sits on the `dtype` that its table gives.",
        "`type` does not sit on this `dtype`", WRITER;
    OffsetMissing "offset-missing", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "Every component has an `offset`.", "the component has no `offset`", WRITER;
    OffsetType "offset-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "`offset` is an unsigned integer of at most 64 bits.", "`offset` is not an unsigned integer", WRITER;
    LengthMissing "length-missing", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "Every component has a `length` (`size` in 0.1).", "the component has no `length`", WRITER;
    LengthType "length-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "`length` (`size` in 0.1) is an unsigned integer of at most 64 bits.",
        "`length` is not an unsigned integer", WRITER;
    EncodingMissing "encoding-missing", Spec("v0.1 §4"), V0,
        "Every entry has an `encoding`.", "the entry has no `encoding`", WRITER;
    EncodingType "encoding-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "`encoding` is text.", "`encoding` is not text", WRITER;
    EncodingUnknown "encoding-unknown", Spec("v1.1 II.3, v1.2 §1"), V1,
        "`encoding` is `raw` or `zstd`.", "`encoding` is neither `raw` nor `zstd`", WRITER;
    DecodedLengthType "uncompressed-length-type", Spec("v1.2 §1"), V1,
        "`uncompressed_length` is an unsigned integer of at most 64 bits, or null.",
        "`uncompressed_length` is neither an unsigned integer nor null", WRITER;
    DecodedLengthMissing "uncompressed-length-missing", Spec("v1.2 §1"), V1From2,
        "A zstd component gives its `uncompressed_length`.",
        "the component is zstd and has no `uncompressed_length`", WRITER;
    DecodedLengthRaw "uncompressed-length-raw", Implied("a raw component has one length"), V1,
        "`uncompressed_length` of a raw component equals its `length`.",
        "the component is raw and its `uncompressed_length` of {} is not its `length`", WRITER;
    DigestType "digest-type", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "`digest` is text or null (`checksum` in 0.1 is text).", "`digest` is not text", WRITER;
    DigestForm "digest-form", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "A digest is `sha256:` and 64 hexadecimal digits, `crc32c:` and 8 after an optional `0x`, or another algorithm's name, a colon and what follows.",
        "the digest is malformed", WRITER;
    EndiannessType "endianness-type", Spec("v0.1 §4"), V0,
        "`data_endianness` is text.", "`data_endianness` is not text", WRITER;
    EndiannessValue "endianness-value", Spec("v0.1 §4"), V0,
        "`data_endianness` is `little` or `big`.", "`data_endianness` is neither `little` nor `big`", WRITER;
    EndiannessCompressed "endianness-compressed", Policy("v0.1 §4 defines byte order for raw data only, so a reader may or may not swap"), V0,
        "Compressed multi-byte data is not declared big-endian.",
        "compressed data is declared big-endian", "Write the entry again, raw or little-endian.";

    // Where the blobs lie.
    BlobAlignment "blob-alignment", Spec("v0.1 §3.2, v1.1 I.2, v1.2 §4"), All,
        "Every component offset is a multiple of 64.",
        "component offset {} is not a multiple of 64", WRITER;
    BlobHeader "blob-header", Spec("v0.1 §2, v1.1 I.1, v1.2 §4"), All,
        "A blob that is not empty starts after the header, at 64 or later.",
        "the blob lies over the file's header", DISTRUST;
    BlobBounds "blob-bounds", Spec("v1.1 IV.2, v1.2 §5"), All,
        "offset + length is at most the start of the manifest.",
        "a blob of {} bytes runs into the manifest or past the end of the file", DISTRUST;
    BlobOverlap "blob-overlap", Policy("one blob behind many names multiplies memory, and blobs are written one after another"), All,
        "Blobs that are not empty are disjoint.",
        "the blob at offset {} overlaps another",
        "If the writer meant to share one blob between names, the tolerance `shared-blobs` accepts identical extents.";

    // What the sizes say.
    ShapeOverflow "shape-overflow", Implied("no file can hold as many elements"), All,
        "The product of a shape is 0 where a dimension is 0, and otherwise fits in 64 bits.",
        "the product of the shape overflows", DISTRUST;
    WholeElements "whole-elements", Implied("part of an element has no meaning"), All,
        "Every component holds whole elements.",
        "{} bytes are not a whole number of elements", WRITER;
    DenseSize "dense-size", Spec("v1.2 §2, v1.1 III.1, v0.1 §5.1"), All,
        "The decoded bytes of a dense object are exactly the product of its shape times the size of an element.",
        "{} bytes are not what shape and type ask for", WRITER;

    // What each format requires.
    DenseRoles "dense-roles", Spec("v1.1 III.1, v1.2 §3"), V1,
        "A dense object has the component `data`.", "the dense object has no `data`", WRITER;
    CsrRoles "csr-roles", Spec("v1.1 III.2, v1.2 §3"), V1,
        "A `sparse_csr` object has `values`, `indices` and `indptr`.",
        "the `sparse_csr` object lacks `values`, `indices` or `indptr`", WRITER;
    CooRoles "coo-roles", Spec("v1.1 III.3, v1.2 §3"), V1,
        "A `sparse_coo` object has `values` and `coords`.",
        "the `sparse_coo` object lacks `values` or `coords`", WRITER;
    QuantizedRoles "quantized-roles", Spec("v1.1 III.4, v1.2 §3"), V1,
        "A `quantized_group` object has `packed_weight` and `scales`.",
        "the `quantized_group` object lacks `packed_weight` or `scales`", WRITER;
    QuantizedZeros "quantized-zeros", Spec("v1.1 III.4, v1.2 §3"), V1,
        "A `quantized_group` object has `zeros`.", "the `quantized_group` object has no `zeros`",
        "If the quantisation is symmetric, the tolerance `missing-zeros` accepts it.";
    IndexDtype "index-dtype", Spec("v1.2 §3, v1.1 III.2, III.3"), V1,
        "Index components are `u64`; in 1.1, any integer type.",
        "an index component is not of an index type",
        "Integer indices other than `u64` in a 1.2 file are accepted by the tolerance `narrow-indices`.";
    IndexLogicalType "index-type", Spec("v1.2 §3"), V1,
        "Index components have no logical type.", "an index component has a logical `type`", WRITER;
    CsrRank "csr-rank", Spec("v1.1 III.2, v1.2 §3"), V1,
        "A `sparse_csr` shape has two dimensions.", "a `sparse_csr` shape has {} dimensions", WRITER;
    CooRank "coo-rank", Spec("v1.1 III.3, v1.2 §3"), V1,
        "A `sparse_coo` shape has at least one dimension.", "a `sparse_coo` shape has no dimension", WRITER;
    SparseOverflow "sparse-overflow", Implied("no file can hold as many indices"), V1,
        "rows + 1 and rank × nnz fit in 64 bits.", "rows + 1 or rank × nnz overflows", DISTRUST;
    CsrIndptrSize "csr-indptr-size", Spec("v1.1 III.2, v1.2 §3"), V1,
        "`indptr` has one entry more than there are rows.",
        "`indptr` has {} entries, not rows + 1", WRITER;
    CsrNnz "csr-nnz", Spec("v1.2 §3"), V1,
        "`indices` has one entry for each value.", "`indices` has {} entries, not one for each value", WRITER;
    CooNnz "coo-nnz", Spec("v1.1 III.3, v1.2 §3"), V1,
        "`coords` has rank entries for each value.",
        "`coords` has {} entries, not rank for each value", WRITER;

    // What the data holds.
    DigestMismatch "digest-mismatch", Spec("v0.1 §4, v1.1 II.3, v1.2 §1"), All,
        "The stored bytes of a component have the digest that the manifest gives.",
        "the stored bytes do not have the digest that the manifest gives", DAMAGED;
    IndptrStart "csr-indptr-start", Spec("v1.1 III.2, v1.2 §3"), V1,
        "`indptr` begins with 0.", "`indptr` begins with {}", WRITER;
    IndptrOrder "csr-indptr-order", Spec("v1.1 III.2, v1.2 §3"), V1,
        "`indptr` never falls.", "`indptr` falls to {}", WRITER;
    IndptrEnd "csr-indptr-end", Spec("v1.1 III.2, v1.2 §3"), V1,
        "`indptr` ends with the number of values.", "`indptr` ends with {}, not the number of values", WRITER;
    IndexRange "index-range", Spec("v1.1 III.2, III.3, v1.2 §3"), V1,
        "Every index is at least 0 and below its dimension.",
        "an index of {} is outside its dimension", WRITER;
    ZstdMagic "zstd-magic", Spec("RFC 8878 §3.1.1, v0.1 §5.2, v1.1 II.3, v1.2 §1"), All,
        "A zstd component is one or more zstd frames and nothing else.",
        "{} bytes are left where a zstd frame should begin", DAMAGED;
    ZstdTruncated "zstd-truncated", Spec("RFC 8878 §3.1.1"), All,
        "Every zstd frame ends within its component.",
        "a zstd frame runs past the end of its component", DAMAGED;
    ZstdSkippable "zstd-skippable", Policy("it holds data that readers differ on, and no writer of this format makes one"), All,
        "No zstd frame is a skippable one.", "a zstd frame is a skippable one", WRITER;
    ZstdDictionary "zstd-dictionary", Implied("the file does not carry the dictionary"), All,
        "No zstd frame asks for a dictionary.", "a zstd frame asks for dictionary {}", WRITER;
    ZstdReserved "zstd-reserved", Spec("RFC 8878 §3.1.1.1.1.4, §3.1.1.2.2"), All,
        "Reserved bits and block types of zstd are not used.",
        "a reserved bit or block type of zstd is used", DAMAGED;
    ZstdBlock "zstd-block", Spec("RFC 8878 §3.1.1.2.4"), All,
        "A zstd block is no larger than the window, and than 128 KiB.",
        "a zstd block of {} bytes is larger than the window or 128 KiB", DAMAGED;
    ZstdContentSize "zstd-content-size", Spec("RFC 8878 §3.1.1.1.4"), All,
        "A zstd frame that gives its content size holds just as many bytes.",
        "a zstd frame does not hold the {} bytes that it says it does", DAMAGED;
    ZstdChecksum "zstd-checksum", Spec("RFC 8878 §3.1.1"), All,
        "A zstd frame that has a checksum matches it.",
        "a zstd frame does not match its checksum", DAMAGED;
    ZstdCorrupt "zstd-corrupt", Spec("RFC 8878 §3.1.1.3"), All,
        "Every zstd block can be decoded.", "a zstd block cannot be decoded", DAMAGED;
    DecodedSize "decoded-size", Spec("v1.2 §1, §2, v1.1 III.1, v0.1 §5.1"), All,
        "A component decodes to exactly as many bytes as the manifest says.",
        "the component decodes to {} bytes or more, which is not what the manifest says", WRITER;
    BoolValue "bool-value", Spec("v1.1 II.4, v1.2 §2"), V1,
        "A bool is stored as 0x00 or 0x01.", "a bool is stored as {}", WRITER;

    // The canonical form, where it is asked for.
    CanonicalGeneration "canonical-generation", Policy("one content has one file"), V1From2,
        "A canonical file is of version `1.2.0`.", "the file is not of version `1.2.0`", CANONICAL;
    CanonicalCbor "canonical-cbor", Policy("one content has one file: RFC 8949 §4.2.1"), V1From2,
        "The manifest is deterministic CBOR: shortest heads and floats, definite lengths, keys in rising order of their encodings.",
        "an item of the manifest is not in the one form that deterministic CBOR has for it", CANONICAL;
    CanonicalField "canonical-field", Policy("one content has one file"), V1From2,
        "No field is unknown, and none says what holds without it.",
        "the field is unknown, or says what holds without it", CANONICAL;
    CanonicalEncoding "canonical-encoding", Policy("encoders differ on what they make of the same bytes"), V1From2,
        "Every component is raw.", "the component is compressed", CANONICAL;
    CanonicalDigest "canonical-digest", Policy("one content has one file, and no byte of it is free to change"), V1From2,
        "Every component has a sha256 digest in lower-case digits.",
        "the component has no sha256 digest in lower-case digits", CANONICAL;
    CanonicalBlob "canonical-blob", Policy("one content has one file"), V1From2,
        "Blobs lie in the order of the manifest, each at the next multiple of 64.",
        "the blob is at {}, not at the next multiple of 64", CANONICAL;
    CanonicalManifest "canonical-manifest", Policy("one content has one file"), V1From2,
        "The manifest lies at the next multiple of 64 after the last blob.",
        "the manifest is at {}, not at the next multiple of 64", CANONICAL;
    CanonicalPadding "canonical-padding", Policy("no byte of the file is free to change"), V1From2,
        "Padding is zero.", "a byte of padding is {}", CANONICAL;
}
