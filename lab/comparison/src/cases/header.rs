//! The header: its length, its JSON, its names.

use super::{Case, one, unknown};

pub(super) fn cases() -> Vec<Case> {
    let x = || one(r#""U8""#, "[8]", "[0,8]");
    let vector = |name, rule| Case::new(name, rule, x()).data(8);
    let length = x().len() as u64;
    let text = |name, rule, header: &str| Case::new(name, rule, header);
    let deep = |levels: usize, open: &str, close: &str| {
        format!(r#"{{"x":{}{}}}"#, open.repeat(levels), close.repeat(levels))
    };
    let in_metadata =
        format!(r#"{{"__metadata__":{{"a":{}{}}}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let name = |name: &[u8]| {
        let header = x().into_bytes();
        [&header[..2], name, &header[3..]].concat()
    };
    vec![
        vector("no byte", "file-size").cut(8 + x().len() + 8),
        vector("7 bytes", "file-size").cut(1 + x().len() + 8),
        vector("the length alone", "manifest-bounds").cut(x().len() + 8),
        vector("cut in the header", "manifest-bounds").cut(9),
        vector("a header of 0 bytes", "cbor-truncated").says(0),
        vector("a header of 1 byte", "cbor-truncated").says(1),
        vector("a header of 1 byte less", "cbor-truncated").says(length - 1),
        vector("a header of 1 byte more", "manifest-trailing").says(length + 1),
        vector("a header up to the end of the file", "manifest-trailing").says(length + 8),
        vector("a header of 1 byte more than the file", "manifest-bounds").says(length + 9),
        Case::new("a header of 100,000,001 bytes", "manifest-cap", "{}").spaces(99_999_999),
        vector("a header said to have 100,000,001 bytes", "manifest-cap").says(100_000_001),
        vector("a header of 2^32 bytes", "manifest-cap").says(1 << 32),
        vector("a header of 2^63 - 1 bytes", "manifest-cap").says((1 << 63) - 1),
        vector("a header of 2^63 bytes", "manifest-cap").says(1 << 63),
        vector("a header of 2^64 - 8 bytes", "manifest-cap").says(u64::MAX - 7),
        vector("a header of 2^64 - 1 bytes", "manifest-cap").says(u64::MAX),
        text("a space before the map", "header-magic", " {}"),
        text("two values", "manifest-trailing", "{}{}"),
        text("a NUL behind the value", "manifest-trailing", "{}\0"),
        text("a map that does not end", "cbor-truncated", r#"{"x":"#),
        text("a comma at the end of a map", "cbor-break", r#"{"__metadata__":{},}"#),
        Case::new("a name that is not UTF-8", "cbor-utf8", name(b"\xff")).data(8),
        Case::new("a name with half of a surrogate pair", "cbor-utf8", name(br"\ud800")).data(8),
        Case::new("a name with a surrogate in UTF-8", "cbor-utf8", name(b"\xed\xa0\x80")).data(8),
        Case::new("a name in overlong UTF-8", "cbor-utf8", name(b"\xc1\xb8")).data(8),
        Case::new("an array of 65 levels", "limit-depth", deep(65, "[", "]")),
        Case::new("an array of 100,000 levels", "limit-depth", deep(100_000, "[", "]")),
        Case::new("maps of 100,000 levels", "limit-depth", deep(100_000, r#"{"a":"#, "0}")),
        Case::new("metadata of 100,000 levels", "limit-depth", in_metadata),
        Case::new("an unknown field of 100 levels", "limit-depth", unknown(100)).data(8),
        Case::new("an unknown field of 100,000 levels", "limit-depth", unknown(100_000)).data(8),
        text("an array for the root", "root-type", "[]"),
        text("null for the root", "root-type", "null"),
        text("metadata that is null", "attributes-type", r#"{"__metadata__":null}"#),
        text("metadata that is an array", "attributes-type", r#"{"__metadata__":[]}"#),
        text("metadata that is text", "attributes-type", r#"{"__metadata__":"a"}"#),
        text("a key that is a number", "key-type", r"{1:{}}"),
        text(
            "metadata twice",
            "duplicate-key",
            r#"{"__metadata__":{"a":"b"},"__metadata__":{"a":"c"}}"#,
        ),
        text(
            "a key of the metadata twice",
            "duplicate-key",
            r#"{"__metadata__":{"a":"b","a":"c"}}"#,
        ),
        twice_named(&x()),
        Case::new("a name twice, the second of other bytes", "duplicate-name", {
            let entry =
                |offsets| format!(r#""x":{{"dtype":"U8","shape":[8],"data_offsets":{offsets}}}"#);
            format!("{{{},{}}}", entry("[0,8]"), entry("[8,16]"))
        })
        .data(16),
        field_twice("shape twice", r#""shape":[8]"#, r#""shape":[8],"shape":[2,4]"#),
        field_twice("dtype twice", r#""dtype":"U8""#, r#""dtype":"U8","dtype":"I8""#),
    ]
}

fn twice_named(header: &str) -> Case {
    let entry = header.trim_start_matches('{').trim_end_matches('}');
    let twice = format!("{{{entry}}},{entry}}}}}");
    Case::new("a name twice, the same entry", "duplicate-name", twice).data(8)
}

fn field_twice(name: &'static str, once: &str, twice: &str) -> Case {
    let header = one(r#""U8""#, "[8]", "[0,8]").replace(once, twice);
    Case::new(name, "duplicate-key", header).data(8)
}
