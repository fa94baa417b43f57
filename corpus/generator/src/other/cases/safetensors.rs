//! Cases of the corpus about safetensors files.

use super::Cases;
use crate::other::safetensors::file;

const A: &str = r#""a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
const B: &str = r#""b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}"#;
const DATA: [u8; 6] = [1, 2, 0, 0, 128, 63];

/// The entry of the metadata that lists `value` as a JSON text, with a comma.
const JSON_KEYS: &str = r#""zten.json-keys":"[\"value\"]","#;

/// Returns a file whose metadata has `entries`, which end in a comma, and the entry `value` with the text `text`. Quotes in
/// `text` are escaped.
fn json(entries: &str, text: &str) -> Vec<u8> {
    file(&format!(r#"{{"__metadata__":{{{entries}"value":"{text}"}},{A},{B}}}"#), &DATA)
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn all(cases: &mut Cases) {
    let both = format!("{{{A},{B}}}");
    let valid = file(&both, &DATA);
    let accepted = [
        ("two", valid.clone()),
        ("none", file("{}", &[])),
        ("metadata", file(&format!(r#"{{"__metadata__":{{"format":"pt"}},{A}}}"#), &[1, 2])),
        ("json-text", json(JSON_KEYS, r#"{\"x\":{\"a\":1,\"b\":2}}"#)),
        // The metadata does not list this value as JSON text, so it may be any text, even one that repeats a key. The numbers
        // have as many digits as it takes to align the data of `b`.
        ("json-text-unlisted", json("", r#"{\"x\":{\"a\":10,\"a\":200}}"#)),
        ("spaces", file(&format!("{both}    "), &DATA)),
        // The data of `b` begins at an odd offset.
        ("unaligned", file(&format!("{both} "), &DATA)),
        ("empty-tensor", file(r#"{"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]}}"#, &[])),
        (
            "empty-of-many",
            file(
                r#"{"a":{"dtype":"F32","shape":[0,9223372036854775808,4],"data_offsets":[0,0]}}"#,
                &[],
            ),
        ),
        ("bools", file(r#"{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}"#, &[0, 1])),
    ];
    for (name, bytes) in accepted {
        cases.accept("safetensors", &format!("{name}.safetensors"), bytes);
    }
    let mut length = valid.clone();
    length[0] = 0xff;
    let mut longest = valid.clone();
    longest[3] = 0x10;
    let space = file(&format!(" {both}"), &DATA);
    let of = |header: &str| file(header, &DATA);
    let one = |entry: &str| file(&format!(r#"{{"a":{entry}}}"#), &[1, 2]);
    let rejected = [
        ("safetensors-size", "cut", valid[..7].to_vec()),
        ("safetensors-size", "empty", Vec::new()),
        ("safetensors-header-length", "beyond-the-file", length),
        ("safetensors-header-length", "beyond-the-format", longest),
        ("safetensors-header-start", "space", space),
        ("safetensors-json", "cut", of(&both[..both.len() - 1])),
        ("safetensors-json", "behind", of(&format!("{both}x"))),
        (
            "safetensors-json",
            "unknown-key",
            one(r#"{"dtype":"U8","shape":[2],"data_offsets":[0,2],"x":1}"#),
        ),
        ("safetensors-json", "no-shape", one(r#"{"dtype":"U8","data_offsets":[0,2]}"#)),
        ("safetensors-json", "array", one(r#"["U8",[2],[0,2]]"#)),
        (
            "safetensors-json",
            "negative",
            one(r#"{"dtype":"U8","shape":[-2],"data_offsets":[0,2]}"#),
        ),
        ("safetensors-json", "float", one(r#"{"dtype":"U8","shape":[2.0],"data_offsets":[0,2]}"#)),
        ("safetensors-json", "metadata", of(&format!(r#"{{"__metadata__":{{"a":1}},{A},{B}}}"#))),
        (
            "safetensors-duplicate-key",
            "metadata",
            of(&format!(r#"{{"__metadata__":{{}},"__metadata__":{{}},{A},{B}}}"#)),
        ),
        (
            "safetensors-duplicate-key",
            "key",
            of(&format!(r#"{{"__metadata__":{{"a":"1","a":"2"}},{A},{B}}}"#)),
        ),
        ("safetensors-duplicate-key", "json-text", json(JSON_KEYS, r#"{\"x\":{\"a\":1,\"a\":2}}"#)),
        (
            "safetensors-duplicate-key",
            "json-text-escaped",
            json(JSON_KEYS, r#"{\"x\":{\"a\":1,\"\\u0061\":2}}"#),
        ),
        (
            "safetensors-duplicate-name",
            "name",
            of(&format!("{{{A},{}}}", B.replace("\"b\"", "\"a\""))),
        ),
        (
            "safetensors-duplicate-name",
            "escaped",
            of(&format!("{{{A},{}}}", B.replace("\"b\"", "\"\\u0061\""))),
        ),
        ("safetensors-duplicate-name", "same-data", of(&format!("{{{A},{A},{B}}}"))),
        ("safetensors-duplicate-name", "apart", of(&format!("{{{A},{B},{A}}}"))),
        ("safetensors-dtype", "unknown", one(r#"{"dtype":"U9","shape":[2],"data_offsets":[0,2]}"#)),
        ("safetensors-extent", "long", of(&format!("{{{},{B}}}", A.replace("[2]", "[1]")))),
        (
            "safetensors-extent",
            "backwards",
            one(r#"{"dtype":"U8","shape":[2],"data_offsets":[2,0]}"#),
        ),
        (
            "safetensors-extent",
            "overflow",
            one(r#"{"dtype":"U8","shape":[9223372036854775808,2],"data_offsets":[0,0]}"#),
        ),
        (
            "safetensors-extent",
            "overflow-before-zero",
            file(
                r#"{"a":{"dtype":"F32","shape":[9223372036854775808,4,0],"data_offsets":[0,0]}}"#,
                &[],
            ),
        ),
        (
            "safetensors-contiguous",
            "gap",
            file(&both.replace("[2,6]", "[3,7]"), &[DATA.as_slice(), &[0]].concat()),
        ),
        ("safetensors-contiguous", "shared", file(&both.replace("[2,6]", "[1,5]"), &DATA[..5])),
        ("safetensors-data-length", "cut", valid[..valid.len() - 1].to_vec()),
        ("safetensors-data-length", "behind", [&valid[..], &[0]].concat()),
        (
            "tensor-bool-value",
            "two",
            file(r#"{"a":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}}"#, &[0, 2]),
        ),
    ];
    for (rule, name, bytes) in rejected {
        cases.reject("safetensors", (rule, &format!("{name}.safetensors")), bytes);
    }
}
