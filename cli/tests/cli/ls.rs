//! `zten ls`

use serde_json::{Value, json};

use crate::files::{file, object, raw, text};
use crate::{ended, in_corpus, succeeded_json, succeeded_text, zten};

#[test]
fn a_table() {
    let text = succeeded_text(in_corpus(&["ls", "accept/1.2.3/quantized_group.zt"]));
    let wanted = "\
NAME             FORMAT           TYPE                 SHAPE   STORED  DECODED  ENCODING  DIGEST
q_proj           quantized_group  4 bits, groups of 8  [8, 8]    64 B     64 B  raw       -
  packed_weight                   i32                            32 B     32 B  raw       -
  scales                          f16                            16 B     16 B  raw       -
  zeros                           f16                            16 B     16 B  raw       -
1 object, 3 components, 64 B stored, 64 B decoded, zTensor 1.2 (version 1.2.0)
64 parameters: 32 B of f16, 32 B of i32
";
    assert_eq!(text, wanted);
}

#[test]
fn one_line_for_one_component() {
    let text = succeeded_text(in_corpus(&["ls", "accept/1.2.3/complex.zt"]));
    let wanted = "\
NAME        FORMAT  TYPE        SHAPE   STORED  DECODED  ENCODING  DIGEST
c128        dense   complex128  [2, 3]    96 B     96 B  raw       crc32c
c64         dense   complex64   [2, 3]    48 B     48 B  raw       crc32c
c64_scalar  dense   complex64   []         8 B      8 B  raw       crc32c
3 objects, 3 components, 152 B stored, 152 B decoded, zTensor 1.2 (version 1.2.0)
13 parameters: 96 B of complex128, 56 B of complex64
";
    assert_eq!(text, wanted);
}

#[test]
fn attributes_above() {
    let text = succeeded_text(in_corpus(&["ls", "accept/1.2.3/attributes.zt"]));
    let wanted = "\
arr = [1, \"x\", []]
big = 18446744073709551615
bytes = h'0001ff'
dupmap = {\"z\": 1, \"z\": 2}
f = 1.5
f32ish = 0.1
framework = \"PyTorch\"
inf = Infinity
map = {\"z\": 1, \"a\": 2, 3: null}
n = -7
nan = NaN
null = null
t = true
tagged = 0(\"2026-01-01T00:00:00Z\")

NAME  FORMAT  TYPE  SHAPE  STORED  DECODED  ENCODING  DIGEST
t     dense   f32   [2]       8 B      8 B  raw       -
1 object, 1 component, 8 B stored, 8 B decoded, zTensor 1.2 (version 1.2.0)
2 parameters: 8 B of f32
";
    assert_eq!(text, wanted);
}

#[test]
fn what_is_not_known_is_marked() {
    let rows = |file: &str| {
        let text = succeeded_text(in_corpus(&["ls", &format!("accept/{file}.zt")]));
        text.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(rows("unsupported-dtype--v01-unknown"), "w dense float8? [2, 2] 16 B 16 B raw -");
    // A dtype of 1.1 that is a logical type itself stays one.
    for (dtype, shown) in [("complex64", "complex64"), ("f8_e4m3", "f8_e4m3fn")] {
        let file = format!("unsupported-type--v11-on-{dtype}");
        let row = format!("w dense complex28? ({shown}) [2, 2] 16 B 16 B raw -");
        assert_eq!(rows(&file), row);
        let json = succeeded_json(in_corpus(&["ls", "--json", &format!("accept/{file}.zt")]));
        let part = &json["objects"][0]["components"][0];
        assert_eq!((&part["storage"], &part["dtype"]), (&json!(shown), &json!("complex28")));
    }
    assert_eq!(rows("unsupported-encoding--v01-unknown"), "w dense f32 [2, 2] 16 B ? lz4? -");
}

#[test]
fn names_that_cannot_be_shown() {
    let component = |offset| vec![("data", raw("u8", offset, 1, &[("type", text("重\u{200b}"))]))];
    let objects = [
        ("重い", object("dense", &[1], &component(64))),
        ("\u{1b}[31m", object("de\tnse", &[1], &component(128))),
        ("", object("dense", &[1], &component(192))),
    ];
    let path = file("ls-names.zt", &objects, &[0; 256]);
    let shown = succeeded_text(zten(["ls".as_ref(), path.as_os_str()]));
    let wanted = "\
NAME          FORMAT         TYPE                SHAPE  STORED  DECODED  ENCODING  DIGEST
重い          dense          \"重\\u{200b}\"? (u8)  [1]       1 B      1 B  raw       -
\"\\u{1b}[31m\"  \"de\\u{9}nse\"?  \"重\\u{200b}\"? (u8)  [1]       1 B      1 B  raw       -
\"\"            dense          \"重\\u{200b}\"? (u8)  [1]       1 B      1 B  raw       -
3 objects, 3 components, 3 B stored, 3 B decoded, zTensor 1.2 (version 1.2.0)
3 parameters: 3 B of other types
";
    assert_eq!(shown, wanted);
    let exact = succeeded_json(zten(["ls".as_ref(), "--json".as_ref(), path.as_os_str()]));
    assert_eq!(exact["objects"][1]["name"], "\u{1b}[31m");
    assert_eq!(exact["objects"][1]["layout"], "de\tnse");
    assert_eq!(exact["objects"][1]["layout_known"], false);
    assert_eq!(exact["objects"][0]["components"][0]["dtype"], "重\u{200b}");
}

/// Objects that are named like rows, like each other, or like nothing.
#[test]
fn no_two_files_list_alike() {
    let list = |objects: &[(&str, &[&str])]| {
        let mut offset = 0;
        let made: Vec<_> = objects
            .iter()
            .map(|(name, roles)| {
                let mut component = |role| {
                    offset += 64;
                    (role, raw("u8", offset, 1, &[]))
                };
                let components: Vec<_> = roles.iter().map(|role| component(*role)).collect();
                (*name, object("other", &[1], &components))
            })
            .collect();
        let path = file("ls-alike.zt", &made, &[0; 512]);
        succeeded_text(zten(["ls".as_ref(), path.as_os_str()]))
    };
    let long = "x".repeat(200);
    let longer = format!("{}y{}", "x".repeat(100), "x".repeat(99));
    let files: [&[(&str, &[&str])]; 10] = [
        &[("a", &["b/c", "d"])],
        &[("a/b", &["c", "d"])],
        &[("a", &["data"]), ("  b", &["data"])],
        &[("a", &["data", "b"])],
        &[("", &["data"])],
        &[("\"\"", &["data"])],
        &[("a\u{34f}", &["data"])],
        &[("a\\u{34f}", &["data"])],
        &[(&long, &["data"])],
        &[(&longer, &["data"])],
    ];
    let listed: Vec<_> = files.iter().map(|file| list(file)).collect();
    for (n, one) in listed.iter().enumerate() {
        assert!(!listed[n + 1..].contains(one), "{one}");
    }
    assert!(listed[2].contains("\n\"  b\"  other?"), "{}", listed[2]);
    assert!(listed[8].contains(&format!("\n{long}  other?")), "{}", listed[8]);
}

#[test]
fn one_document() {
    let found = succeeded_json(in_corpus(&["ls", "--json", "accept/1.2.3/attributes.zt"]));
    let wanted = json!({
        "schema": 2,
        "file": "accept/1.2.3/attributes.zt",
        "format": "ztensor",
        "generation": "1.2",
        "version": "1.2.0",
        "attributes": {
            "arr": [1, "x", []],
            "big": { "$int": "18446744073709551615" },
            "bytes": { "$bytes": "0001ff" },
            "dupmap": { "$map": ["z", 1, "z", 2] },
            "f": 1.5,
            "f32ish": 0.1,
            "framework": "PyTorch",
            "inf": { "$float": "Infinity" },
            "map": { "$map": ["z", 1, "a", 2, 3, null] },
            "n": -7,
            "nan": { "$nan": "7ff8000000000000" },
            "null": null,
            "t": true,
            "tagged": { "$tag": 0, "$value": "2026-01-01T00:00:00Z" },
        },
        "data_shard": false,
        "shards": [],
        "objects": [{
            "name": "t",
            "ordinal": 0,
            "layout": "dense",
            "layout_known": true,
            "shape": [2],
            "bits": null,
            "group_size": null,
            "attributes": null,
            "components": [{
                "role": "data",
                "dtype": "f32",
                "storage": "f32",
                "dtype_known": true,
                "offset": 64,
                "length": 8,
                "decoded_length": 8,
                "encoding": "raw",
                "encoding_known": true,
                "byte_order": "little",
                "digest": null,
                "shard": null,
            }],
        }],
        "totals": {
            "objects": 1,
            "components": 1,
            "stored": 8,
            "decoded": 8,
            "parameters": 2,
            "dtypes": [{ "dtype": "f32", "components": 1, "stored": 8, "decoded": 8 }],
        },
    });
    assert_eq!(found, wanted);
}

#[test]
fn totals() {
    let totals = |file: &str| {
        let mut found = succeeded_json(in_corpus(&["ls", "--json", file]));
        found["totals"].take()
    };
    // Types that are not known are one, and what they decode to need not be known, either.
    let unknown = totals("accept/unsupported-encoding--v01-unknown.zt");
    let types = json!([{ "dtype": "f32", "components": 1, "stored": 16, "decoded": null }]);
    assert_eq!((&unknown["decoded"], &unknown["dtypes"]), (&json!(null), &types));
    let other = totals("accept/unsupported-dtype--v01-unknown.zt");
    assert_eq!(other["dtypes"][0]["dtype"], json!(null));
    // 2 × (2^64 − 1) elements.
    assert_eq!(totals("accept/v12-csr-huge-columns.zt")["parameters"], json!(null));
    let shown = succeeded_text(in_corpus(&["ls", "accept/v12-csr-huge-columns.zt"]));
    assert!(shown.contains("\nmore than 2^64 parameters: "), "{shown}");
    let many = totals("accept/1.2.3/dense_all.zt");
    let stored = |totals: &Value| totals["stored"].as_u64().unwrap();
    let types = many["dtypes"].as_array().unwrap();
    assert_eq!((types.len(), types.iter().map(stored).sum::<u64>()), (13, 282));
    assert!(types.is_sorted_by_key(|totals| std::cmp::Reverse(stored(totals))), "{types:?}");
    assert_eq!((stored(&many), &many["objects"]), (282, &json!(13)));
}

#[test]
fn bits_and_groups() {
    for (file, bits, group, shown) in [
        ("accept/1.2.3/quantized_group.zt", json!(4), 8, "4 bits, groups of 8"),
        ("v2/accept/quant-group.zt", json!(4), 2, "4 bits, groups of 2"),
        ("v2/accept/quant-whole-axis.zt", json!(4), 0, "4 bits, whole lanes"),
        ("v2/accept/mx.zt", json!(4), 2, "4 bits, blocks of 2"),
        ("v2/accept/mx-e5m2.zt", json!(8), 2, "8 bits, blocks of 2"),
        ("v2/accept/gguf.zt", json!(null), 32, "blocks of 32"),
    ] {
        let found = succeeded_json(in_corpus(&["ls", "--json", file]));
        let object = &found["objects"][0];
        assert_eq!((&object["bits"], &object["group_size"]), (&bits, &json!(group)), "{file}");
        let text = succeeded_text(in_corpus(&["ls", file]));
        assert!(text.contains(shown), "{text}");
    }
}

#[test]
fn exact_numbers_and_digests() {
    let found = succeeded_json(in_corpus(&["ls", "--json", "accept/v12-csr-huge-columns.zt"]));
    assert_eq!(found["objects"][0]["shape"], json!([2, { "$int": "18446744073709551615" }]));
    let found = succeeded_json(in_corpus(&["ls", "--json", "accept/1.1.1/crc32c.zt"]));
    let digest = &found["objects"][0]["components"][0]["digest"];
    assert_eq!((&digest["algorithm"], &digest["verifiable"]), (&json!("crc32c"), &json!(true)));
    let digest = digest["text"].as_str().unwrap();
    assert!(digest.starts_with("crc32c:0x") && digest.len() == 17, "{digest}");
    let found = succeeded_json(in_corpus(&["ls", "--json", "accept/0.1.0/big_endian.zt"]));
    assert_eq!(found["objects"][0]["components"][0]["byte_order"], "big");
    assert_eq!(found["version"], json!(null));
}

#[test]
fn several_files() {
    let output = in_corpus(&[
        "ls",
        "accept/1.2.3/empty.zt",
        "reject/blob-alignment--v12-72.zt",
        "accept/0.1.0/empty.zt",
    ]);
    let (status, out, complaint) = ended(&output);
    assert_eq!(status, Some(1));
    assert!(complaint.starts_with("reject/blob-alignment--v12-72.zt: "));
    let wanted = "\
accept/1.2.3/empty.zt:
0 objects, 0 components, 0 B stored, 0 B decoded, zTensor 1.2 (version 1.2.0)

accept/0.1.0/empty.zt:
0 objects, 0 components, 0 B stored, 0 B decoded, zTensor 0.1
";
    assert_eq!(out, wanted);
}

/// The listings of the reference writers' files, which stand beside them.
#[test]
fn listings_are_the_golden_ones() {
    let mut count = 0;
    for version in ["0.1.0", "1.0.2", "1.1.1", "1.2.0", "1.2.3"] {
        let folder = crate::corpus_folder().join("accept").join(version);
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "zt") {
                let golden = std::fs::read_to_string(path.with_extension("ls")).unwrap();
                let listed = succeeded_text(in_corpus(&["ls", path.to_str().unwrap()]));
                assert_eq!(listed, golden, "{}", path.display());
                count += 1;
            }
        }
    }
    assert_eq!(count, 30);
}
