//! The entries of the header: types, shapes, and where the data lies.

use super::{Case, one, two};

pub(super) fn cases() -> Vec<Case> {
    [types(), shapes(), offsets()].concat()
}

fn types() -> Vec<Case> {
    let dtype = |name, rule, dtype| Case::new(name, rule, one(dtype, "[8]", "[0,8]")).data(8);
    let entry = |name, rule, header: &str| Case::new(name, rule, header).data(8);
    vec![
        dtype("an unknown dtype", "dtype-unknown", r#""U9""#),
        dtype("a dtype in lower case", "dtype-unknown", r#""u8""#),
        dtype("a dtype that is a number", "dtype-type", "8"),
        dtype("a dtype that is null", "dtype-type", "null"),
        entry("no dtype", "dtype-missing", r#"{"x":{"shape":[8],"data_offsets":[0,8]}}"#),
        entry("no shape", "shape-missing", r#"{"x":{"dtype":"U8","data_offsets":[0,8]}}"#),
        entry("no offsets", "offset-missing", r#"{"x":{"dtype":"U8","shape":[8]}}"#),
        entry(
            "one offset",
            "length-missing",
            r#"{"x":{"dtype":"U8","shape":[8],"data_offsets":[0]}}"#,
        ),
        entry("an entry that is null", "object-type", r#"{"x":null}"#),
        entry("an entry that is text", "object-type", r#"{"x":"U8"}"#),
        entry("an entry that is an array", "object-type", r#"{"x":["U8",[8],[0,8]]}"#),
        Case::new("5 elements of 6 bits", "whole-elements", one(r#""F6_E2M3""#, "[5]", "[0,4]"))
            .data(4),
        Case::new("3 elements of 4 bits", "whole-elements", one(r#""F4""#, "[3]", "[0,2]")).data(2),
    ]
}

fn shapes() -> Vec<Case> {
    let eight = |name, rule, shape| Case::new(name, rule, one(r#""U8""#, shape, "[0,8]")).data(8);
    let none = |name, shape| Case::new(name, "shape-overflow", one(r#""U8""#, shape, "[0,0]"));
    let wide =
        |name, shape, offsets| Case::new(name, "shape-overflow", one(r#""F64""#, shape, offsets));
    vec![
        eight("a negative dimension", "shape-type", "[-8]"),
        eight("a dimension with a fraction", "shape-type", "[8.5]"),
        eight("a dimension that is a float", "shape-type", "[8.0]"),
        eight("a dimension in exponents", "shape-type", "[8e0]"),
        eight("a dimension of 2^64", "shape-type", "[18446744073709551616]"),
        eight("a dimension of 2^64 + 8", "shape-type", "[18446744073709551624]"),
        eight("a dimension that is text", "shape-type", r#"["8"]"#),
        eight("a dimension that is true", "shape-type", "[true]"),
        eight("a shape that is a number", "shape-type", "8"),
        eight("a shape that is null", "shape-type", "null"),
        none("a product that wraps to 0", "[4294967296,4294967296]"),
        none("a product that wraps to 0 by 2", "[9223372036854775808,2]"),
        none("a product that wraps to 0 before its 0", "[4294967296,4294967296,0]"),
        eight("a product that wraps to 8", "shape-overflow", "[9223372036854775809,8]"),
        wide("bytes that wrap to 0", "[2305843009213693952]", "[0,0]"),
        wide("bytes that wrap to 8", "[2305843009213693953]", "[0,8]").data(8),
        wide("bits that wrap to 0", "[288230376151711744]", "[0,0]"),
        eight("1 element more than data", "dense-size", "[9]"),
        eight("1 element less than data", "dense-size", "[7]"),
        eight("a 0 in the shape, and data", "dense-size", "[0]"),
        Case::new("65 dimensions", "limit-rank", one(r#""U8""#, &ones(65), "[0,1]")).data(1),
        Case::new("100,000 dimensions", "limit-rank", one(r#""U8""#, &ones(100_000), "[0,1]"))
            .data(1),
    ]
}

fn ones(rank: usize) -> String {
    format!("[{}]", vec!["1"; rank].join(","))
}

fn offsets() -> Vec<Case> {
    let at = |name, rule, offsets| Case::new(name, rule, one(r#""U8""#, "[8]", offsets)).data(8);
    let empty =
        |name, offsets| Case::new(name, "blob-bounds", one(r#""U8""#, "[0]", offsets)).data(8);
    let both = |name, rule, first, second| Case::new(name, rule, two(first, second)).data(16);
    vec![
        at("a negative offset", "offset-type", "[-8,0]"),
        at("an offset that is a float", "offset-type", "[0.0,8]"),
        at("an offset that is text", "offset-type", r#"["0",8]"#),
        at("an end of 2^64", "length-type", "[0,18446744073709551616]"),
        at("an end that is a float", "length-type", "[0,8.0]"),
        at("offsets reversed", "blob-bounds", "[8,0]"),
        at("1 byte past the end of the file", "blob-bounds", "[1,9]"),
        at("up to 2^64 - 1", "blob-bounds", "[18446744073709551607,18446744073709551615]"),
        at("from 2^63", "blob-bounds", "[9223372036854775808,9223372036854775816]"),
        at("data that is 1 byte shorter than its shape", "dense-size", "[0,7]"),
        at("cut by 1 byte", "blob-bounds", "[0,8]").cut(1),
        at("cut by all its data", "blob-bounds", "[0,8]").cut(8),
        empty("an empty tensor past the end of the file", "[9,9]"),
        both("two tensors of the same bytes", "blob-overlap", "[0,8]", "[0,8]").cut(8),
        both("two tensors that overlap by 4 bytes", "blob-overlap", "[0,8]", "[4,12]").cut(4),
        both("two tensors that overlap by 1 byte, out of order", "blob-overlap", "[7,15]", "[0,8]")
            .cut(1),
        both("a hole before the first tensor", "canonical-blob", "[1,9]", "[9,17]"),
        both("a hole of 4 bytes", "canonical-blob", "[0,8]", "[12,20]"),
        at("a byte left over at the end", "canonical-manifest", "[0,8]").data(9),
    ]
}
