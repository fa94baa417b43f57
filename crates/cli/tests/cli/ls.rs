//! Tests of the lists, trees and JSON documents that `zten ls` prints.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zten_corpus::other::torch;

use crate::files::{file, object, raw, text};
use crate::{ended, failed, in_corpus, succeeded_json, succeeded_text, zten};

#[test]
fn a_table() {
    let text = succeeded_text(in_corpus(&["ls", "accept/1.2.3/quantized_group.zt"]));
    let wanted = "\
NAME             TYPE                 SHAPE   STORED
q_proj           4 bits, groups of 8  [8, 8]    64 B
  packed_weight  i32                            32 B
  scales         f16                            16 B
  zeros          f16                            16 B
1 tensor, 3 components, 64 B, zTensor 1.2 (version 1.2.0)
all quantized_group, raw, no digest
64 parameters: 32 B of f16, 32 B of i32
";
    assert_eq!(text, wanted);
}

#[test]
fn one_line_for_one_component() {
    let text = succeeded_text(in_corpus(&["ls", "accept/1.2.3/complex.zt"]));
    let wanted = "\
NAME        TYPE        SHAPE   STORED
c64         complex64   [2, 3]    48 B
c64_scalar  complex64   []         8 B
c128        complex128  [2, 3]    96 B
3 tensors, 3 components, 152 B, zTensor 1.2 (version 1.2.0)
all dense, raw, crc32c
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

NAME  TYPE  SHAPE  STORED
t     f32   [2]       8 B
1 tensor, 1 component, 8 B, zTensor 1.2 (version 1.2.0)
all dense, raw, no digest
2 parameters: 8 B of f32
";
    assert_eq!(text, wanted);
}

#[test]
fn unknown_types_are_marked() {
    let rows = |file: &str| {
        let text = succeeded_text(in_corpus(&["ls", &format!("accept/{file}.zt")]));
        text.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(rows("unsupported-dtype--v01-unknown"), "w float8? [2, 2] 16 B");
    // A dtype of 1.1 that is itself a logical type is shown in parentheses after the unknown `type`.
    for (dtype, shown) in [("complex64", "complex64"), ("f8_e4m3", "f8_e4m3fn")] {
        let file = format!("unsupported-type--v11-on-{dtype}");
        let row = format!("w complex28? ({shown}) [2, 2] 16 B");
        assert_eq!(rows(&file), row);
        let json = succeeded_json(in_corpus(&["ls", "--json", &format!("accept/{file}.zt")]));
        let part = &json["objects"][0]["components"][0];
        assert_eq!((&part["storage"], &part["dtype"]), (&json!(shown), &json!("complex28")));
    }
    assert_eq!(rows("unsupported-encoding--v01-unknown"), "w f32 [2, 2] 16 B ?");
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
NAME          FORMAT         TYPE                SHAPE  STORED
\"\"            dense          \"重\\u{200b}\"? (u8)  [1]       1 B
\"\\u{1b}[31m\"  \"de\\u{9}nse\"?  \"重\\u{200b}\"? (u8)  [1]       1 B
重い          dense          \"重\\u{200b}\"? (u8)  [1]       1 B
3 tensors, 3 components, 3 B, zTensor 1.2 (version 1.2.0)
all opaque, raw, no digest
0 parameters: 3 B of other types
3 opaque
";
    assert_eq!(shown, wanted);
    let exact = succeeded_json(zten(["ls".as_ref(), "--json".as_ref(), path.as_os_str()]));
    assert_eq!(exact["objects"][1]["name"], "\u{1b}[31m");
    assert_eq!(exact["objects"][1]["layout"], "de\tnse");
    assert_eq!(exact["objects"][1]["layout_known"], false);
    assert_eq!(exact["objects"][0]["components"][0]["dtype"], "重\u{200b}");
}

/// Checks that different files have different listings, with objects whose names look like rows, like each other, or are
/// empty.
#[test]
fn different_files_have_different_listings() {
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
    assert!(listed[2].contains("\n\"  b\"  u8 "), "{}", listed[2]);
    assert!(listed[8].contains(&format!("\n{long}  u8 ")), "{}", listed[8]);
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
        "left_out": null,
        "shards": [],
        "objects": [{
            "name": "t",
            "ordinal": 0,
            "layout": "dense",
            "layout_known": true,
            "state": "readable",
            "reason": null,
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
    // The decoded size is null if an encoding is unknown. The dtype is null for all unknown types together.
    let unknown = totals("accept/unsupported-encoding--v01-unknown.zt");
    let types = json!([{ "dtype": "f32", "components": 1, "stored": 16, "decoded": null }]);
    assert_eq!((&unknown["decoded"], &unknown["dtypes"]), (&json!(null), &types));
    let other = totals("accept/unsupported-dtype--v01-unknown.zt");
    assert_eq!(other["dtypes"][0]["dtype"], json!(null));
    // The file has 2 × (2^64 − 1) elements.
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
        "--also=reject/blob-alignment--v12-72.zt",
        "--also=accept/0.1.0/empty.zt",
    ]);
    let (status, out, complaint) = ended(&output);
    assert_eq!(status, Some(1));
    assert!(complaint.starts_with("reject/blob-alignment--v12-72.zt: "));
    let wanted = "\
accept/1.2.3/empty.zt:
0 tensors, 0 components, 0 B, zTensor 1.2 (version 1.2.0)

accept/0.1.0/empty.zt:
0 tensors, 0 components, 0 B, zTensor 0.1
";
    assert_eq!(out, wanted);
}

/// Checks that the listings of the reference writers' files equal the expected ones next to them.
#[test]
fn listings_are_the_golden_ones() {
    let mut count = 0;
    for version in ["0.1.0", "1.0.2", "1.1.1", "1.2.0", "1.2.3"] {
        let folder = crate::corpus_folder().join("accept").join(version);
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "zt") {
                let golden = fs::read_to_string(path.with_extension("ls")).unwrap();
                let listed = succeeded_text(in_corpus(&["ls", path.to_str().unwrap()]));
                assert_eq!(listed, golden, "{}", path.display());
                count += 1;
            }
        }
    }
    assert_eq!(count, 30);
}

/// Writes a safetensors file with these tensors, whose data is a hole.
pub(crate) fn model(path: &Path, tensors: &[(String, &str, Vec<u64>)]) {
    let sized = tensors.iter().map(|(name, dtype, shape)| {
        let bytes = shape.iter().product::<u64>() * if *dtype == "F32" { 4 } else { 2 };
        (name, *dtype, shape, bytes)
    });
    let header = zten_testkit::safetensors::file(sized.clone(), &[]);
    fs::write(path, &header).unwrap();
    let file = File::options().write(true).open(path).unwrap();
    file.set_len(header.len() as u64 + sized.map(|(.., bytes)| bytes).sum::<u64>()).unwrap();
}

/// Returns the tensors of a model with 32 layers, in the order of its file.
pub(crate) fn llama() -> Vec<(String, &'static str, Vec<u64>)> {
    let mut tensors = vec![("lm_head.weight".to_owned(), "BF16", vec![128_256, 4096])];
    tensors.push(("model.embed_tokens.weight".to_owned(), "BF16", vec![128_256, 4096]));
    // Some writers sort names by their bytes, so layer 10 comes before layer 2.
    let mut layers: Vec<_> = (0..32).map(|layer| layer.to_string()).collect();
    layers.sort();
    for layer in layers {
        for (name, shape) in [
            ("input_layernorm", vec![4096]),
            ("mlp.down_proj", vec![4096, 14_336]),
            ("mlp.gate_proj", vec![14_336, 4096]),
            ("mlp.up_proj", vec![14_336, 4096]),
            ("post_attention_layernorm", vec![4096]),
            ("self_attn.k_proj", vec![1024, 4096]),
            ("self_attn.o_proj", vec![4096, 4096]),
            ("self_attn.q_proj", vec![4096, 4096]),
            ("self_attn.v_proj", vec![1024, 4096]),
        ] {
            tensors.push((format!("model.layers.{layer}.{name}.weight"), "BF16", shape));
        }
    }
    tensors.push(("model.norm.weight".to_owned(), "BF16", vec![4096]));
    tensors
}

fn model_file(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("model.safetensors");
    model(&path, &llama());
    path
}

fn ls(path: &Path, options: &[&str]) -> String {
    succeeded_text(zten([&["ls", path.to_str().unwrap()], options].concat()))
}

fn names(listed: &str) -> Vec<&str> {
    let rows = listed.lines().skip(1).take_while(|line| line.contains('['));
    rows.map(|line| line.split_whitespace().next().unwrap()).collect()
}

/// Returns the number of columns of the widest line of an ASCII text.
fn columns(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap()
}

#[test]
fn a_model_fits_eighty_columns_in_natural_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = model_file(&folder);
    let listed = ls(&path, &[]);
    assert!(columns(&listed) <= 80, "{listed}");
    let found = names(&listed);
    assert_eq!((found.len(), found[0], found[290]), (291, "lm_head.weight", "model.norm.weight"));
    let layers: Vec<usize> = found
        .iter()
        .filter_map(|name| name.strip_prefix("model.layers.")?.split('.').next()?.parse().ok())
        .collect();
    assert!(layers.len() == 288 && layers.is_sorted(), "{layers:?}");
    let end = "\n291 tensors, 291 components, 15.0 GiB, safetensors\nall dense, raw, no digest\n\
               8,030,261,248 parameters: 15.0 GiB of bf16\n";
    assert!(listed.ends_with(end), "{listed}");
    #[cfg(unix)]
    {
        use crate::terminal::{On, run};
        let shown = run(On::Output, &[], ["ls", path.to_str().unwrap()]).terminal;
        assert_eq!(shown, listed);
    }
}

#[test]
fn orders() {
    let folder = tempfile::tempdir().unwrap();
    let path = model_file(&folder);
    let sorted = |order| {
        let listed = ls(&path, &[&format!("--sort={order}"), "*[hm]*.weight", "*.1?.*"]);
        names(&listed).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let written: Vec<_> = llama().into_iter().map(|(name, ..)| name).collect();
    assert_eq!(sorted("offset"), written);
    let by_size = sorted("size");
    assert_eq!(by_size[..2], ["lm_head.weight", "model.embed_tokens.weight"]);
    let length = |name: &String| {
        llama().iter().find(|(own, ..)| own == name).unwrap().2.iter().product::<u64>()
    };
    assert!(by_size.iter().map(length).rev().is_sorted());
    let document: Value = serde_json::from_str(&ls(&path, &["--json"])).unwrap();
    let listed = document["objects"].as_array().unwrap().iter().map(|object| &object["name"]);
    assert!(listed.eq(written.iter()));
    let document: Value = serde_json::from_str(&ls(&path, &["--json", "--sort=name"])).unwrap();
    assert_eq!(document["objects"][19]["name"], "model.layers.1.self_attn.v_proj.weight");
}

#[test]
fn patterns_select() {
    let folder = tempfile::tempdir().unwrap();
    let path = model_file(&folder);
    let listed = ls(&path, &["*.[2-3].*.q_proj.*", "lm_head.weight"]);
    let wanted = [
        "lm_head.weight",
        "model.layers.2.self_attn.q_proj.weight",
        "model.layers.3.self_attn.q_proj.weight",
    ];
    assert_eq!(names(&listed), wanted);
    assert!(
        listed.contains("\n3 of 291 tensors, 3 components, 1.0 GiB, safetensors\n"),
        "{listed}"
    );
    assert!(listed.contains("\n558,891,008 parameters: "), "{listed}");
    // Braces contain alternatives and ranges of numbers, as in the tree that is printed.
    assert_eq!(names(&ls(&path, &["*.{2..3}.*.q_proj.*", "{lm_head,norm}.weight"])), wanted);
    assert_eq!(names(&ls(&path, &["model.layers.{0..31}.mlp.*"])).len(), 96);
    let document: Value = serde_json::from_str(&ls(&path, &["--json", "*norm.weight"])).unwrap();
    assert_eq!(
        (document["objects"].as_array().unwrap().len(), &document["totals"]["objects"]),
        (65, &json!(65))
    );
    let also = "; --also FILE lists another file, too";
    for other in ["other.zt", "models/other", "x.safetensors"] {
        let complaint = failed(zten(["ls", path.to_str().unwrap(), other]), 2);
        assert!(complaint.trim_end().ends_with(also), "{complaint}");
    }
    for (pattern, near) in [
        ("model.embed_token.weight", "model.embed_tokens.weight"),
        ("lm_heat.*", "lm_head.weight"),
        ("model.norm.weights", "model.norm.weight"),
    ] {
        let complaint = failed(zten(["ls", path.to_str().unwrap(), "model.*", pattern]), 2);
        let wanted =
            format!(": no tensor matches the pattern {pattern:?}; did you mean {near:?}?\n");
        assert!(complaint.ends_with(&wanted), "{complaint}");
    }
    let output = zten(["ls", path.to_str().unwrap(), "\u{1b}zzz"]);
    assert!(
        ended(&output).2.ends_with(": no tensor matches the pattern \"\\u{1b}zzz\"\n"),
        "{output:?}"
    );
}

#[test]
fn a_name_is_selected_as_it_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.zt");
    let names =
        ["w[0]", "a\nb", "back\\slash", "\u{202e}gnp", "x{1,2}", "q\"uote", "star*", "plain"];
    let mut writer = zten::Writer::create(&path).unwrap();
    for (value, name) in (0_u8..).zip(names) {
        writer.add(name, &[1], &[value]).unwrap();
    }
    writer.finish().unwrap();
    let path = path.to_str().unwrap();
    for (value, name) in (0_u8..).zip(names) {
        let printed = zten::escape::escape_all(name);
        // cat takes a name, exactly or as it is printed.
        for given in [name, &printed] {
            let bytes = succeeded_text(zten(["cat", path, given]));
            assert_eq!(bytes, format!("[{value}]\n"), "{given}");
        }
        // ls takes a pattern, in which a bracket, a brace and a star have a meaning.
        let document = |pattern: &str| -> Value {
            serde_json::from_str(&succeeded_text(zten(["ls", "--json", path, pattern]))).unwrap()
        };
        let pattern = zten_report::glob::literal(name);
        assert!(!pattern.contains(|c: char| c.is_control() || c == '\u{202e}'), "{pattern}");
        for pattern in [&pattern, if name.contains(['[', '{', '*']) { &pattern } else { &printed }]
        {
            let objects = &document(pattern)["objects"];
            assert_eq!(
                (objects.as_array().unwrap().len(), &objects[0]["name"]),
                (1, &json!(name)),
                "{pattern}"
            );
        }
    }
    // The suggestion is a pattern that matches, and never what was given.
    let complaint = failed(zten(["ls", path, "w[0]"]), 2);
    assert!(
        complaint.ends_with(": no tensor matches the pattern \"w[0]\"; did you mean \"w\\[0]\"?\n"),
        "{complaint}"
    );
}

#[test]
fn a_tree_folds_layers() {
    let folder = tempfile::tempdir().unwrap();
    let wanted = "\
NAME                                 COUNT  TYPE  SHAPE              PARAMETERS     STORED
lm_head.weight                           1  bf16  [128256, 4096]    525,336,576   1002 MiB
model                                  290                        7,504,924,672   14.0 GiB
  embed_tokens.weight                    1  bf16  [128256, 4096]    525,336,576   1002 MiB
  layers.{0..31}                       288                        6,979,584,000   13.0 GiB
    input_layernorm.weight              32  bf16  [4096]                131,072  256.0 KiB
    mlp                                 96                        5,637,144,576   10.5 GiB
      down_proj.weight                  32  bf16  [4096, 14336]   1,879,048,192    3.5 GiB
      gate_proj.weight                  32  bf16  [14336, 4096]   1,879,048,192    3.5 GiB
      up_proj.weight                    32  bf16  [14336, 4096]   1,879,048,192    3.5 GiB
    post_attention_layernorm.weight     32  bf16  [4096]                131,072  256.0 KiB
    self_attn                          128                        1,342,177,280    2.5 GiB
      k_proj.weight                     32  bf16  [1024, 4096]      134,217,728  256.0 MiB
      o_proj.weight                     32  bf16  [4096, 4096]      536,870,912    1.0 GiB
      q_proj.weight                     32  bf16  [4096, 4096]      536,870,912    1.0 GiB
      v_proj.weight                     32  bf16  [1024, 4096]      134,217,728  256.0 MiB
  norm.weight                            1  bf16  [4096]                  4,096    8.0 KiB
291 tensors, 291 components, 15.0 GiB, safetensors
8,030,261,248 parameters: 15.0 GiB of bf16
";
    let shown = ls(&model_file(&folder), &["--tree"]);
    assert_eq!(shown, wanted);
    // With `--depth=2`, the tree shows two levels. Groups on the second level are closed, but show the sums of their contents.
    let shown = ls(&model_file(&folder), &["--tree", "--depth=2"]);
    let shallow = wanted.lines().filter(|line| !line.starts_with("    "));
    let cells = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let all = |text: &mut dyn Iterator<Item = &str>| text.map(cells).collect::<Vec<_>>();
    assert_eq!(all(&mut shown.lines()), all(&mut shallow.into_iter()));
    for wrong in [&["--depth=1"][..], &["--tree", "--depth=0"]] {
        assert_eq!(crate::run("ls", &model_file(&folder), wrong).status.code(), Some(2));
    }
    // Layers 0 to 2 have experts. Of the tensors `b`, those of layers 3, 4 and 6 are missing, that of layer 2 has another
    // dtype, and one has the layer number `01`, which is not folded with the other layers.
    let path = folder.path().join("experts.safetensors");
    let mut tensors = Vec::new();
    for (layer, expert) in (0..3).flat_map(|layer| (0..4).map(move |expert| (layer, expert))) {
        tensors.push((format!("h.{layer}.x.{expert}.w"), "F32", vec![2]));
    }
    for layer in [0, 1, 2, 5, 7] {
        let dtype = if layer == 2 { "F16" } else { "F32" };
        tensors.push((format!("h.{layer}.b"), dtype, vec![3]));
    }
    tensors.push(("h.01.b".to_owned(), "F32", vec![3]));
    model(&path, &tensors);
    let wanted = "\
NAME                    COUNT  TYPE  SHAPE  PARAMETERS  STORED
h                          18                       42   162 B
  {0..1,5,7}.b              4  f32   [3]            12    48 B
  {0..2}.x.{0..3}.w        12  f32   [2]            24    96 B
  01.b                      1  f32   [3]             3    12 B
  2.b                       1  f16   [3]             3     6 B
";
    let shown = ls(&path, &["--tree"]);
    let rows: Vec<_> = shown
        .lines()
        .skip(1)
        .take(5)
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    for row in wanted.lines().skip(1) {
        let row = row.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(rows.contains(&row), "{row}: {shown}");
    }
}

/// Checks that names with many parts, and with numbers that cannot be folded, do not take a long time.
#[test]
fn a_tree_of_odd_names_takes_no_long_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.safetensors");
    let deep = (0..400).map(|depth| ("a.".repeat(depth) + "w", "F16", vec![1]));
    let numbers = (0..20_000).map(|n| (format!("{n}.{}.{}.0.1", n * 7, n * n), "F16", vec![n % 5]));
    model(&path, &deep.chain(numbers).collect::<Vec<_>>());
    let begun = std::time::Instant::now();
    let shown = ls(&path, &["--tree"]);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    assert!(shown.contains("\n20400 tensors, "), "{}", &shown[shown.len() - 200..]);
}

#[cfg(unix)]
#[test]
fn long_names_are_shortened_on_a_terminal() {
    use crate::terminal::{On, run};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.safetensors");
    let name = format!("model.{}.weight", "very_".repeat(20));
    model(&path, &[(name.clone(), "F32", vec![2]), ("b".to_owned(), "F32", vec![2])]);
    let args = ["ls", path.to_str().unwrap()];
    let shown = run(On::Both, &[], args).terminal;
    assert!(columns(&shown) <= 80 && shown.contains("\nmodel.very_"), "{shown}");
    assert!(shown.contains("y_.weight  f32   [2]       8 B\n") && shown.contains('…'), "{shown}");
    let all = succeeded_text(zten(args));
    assert!(all.contains(&name), "{all}");
}

/// Writes a file whose attribute `template` is the text `template`, and whose attribute `list` holds a character that must not
/// reach a terminal.
fn with_template(folder: &Path, template: &str) -> PathBuf {
    let path = folder.join("template.zt");
    let source = folder.join("source.safetensors");
    model(&source, &[("a".to_owned(), "F32", vec![1])]);
    let set = format!("template={}", serde_json::to_string(template).unwrap());
    let (source, out) = (source.to_str().unwrap(), path.to_str().unwrap());
    succeeded_text(zten(["convert", source, out, "--set", &set, "--set", "list=[1,\"\u{7f}\"]"]));
    path
}

#[test]
fn one_attribute_is_printed_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let template = "{% for m in x %}\n\t{{ m }}\u{1b}[31m\u{202e}\n{% endfor %}";
    let path = with_template(folder.path(), template);
    for mode in [&[][..], &["--no-sandbox"]] {
        let of = |key: &str| {
            let args = ["ls", path.to_str().unwrap(), "--attribute", key];
            zten([&args, mode].concat())
        };
        assert_eq!(succeeded_text(of("template")), template);
        assert_eq!(succeeded_text(of("list")), "[1,\"\\u007f\"]\n");
        let complaint = failed(of("templat"), 2);
        let wanted = ": no attribute named \"templat\"; did you mean \"template\"?\n";
        assert!(complaint.ends_with(wanted), "{complaint}");
    }
    let both = zten(["ls", path.to_str().unwrap(), "--attribute=list", "--json"]);
    assert_eq!(both.status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn an_attribute_cannot_change_the_terminal() {
    use crate::terminal::{On, run};
    let folder = tempfile::tempdir().unwrap();
    let path = with_template(folder.path(), "a\n\tb\u{1b}[31m\r\u{202e}\n");
    let shown = run(On::Both, &[], ["ls", path.to_str().unwrap(), "--attribute", "template"]);
    let tab = shown.terminal.replace('\t', "        ");
    assert_eq!(tab, "a\n        b\\u{1b}[31m\\u{d}\\u{202e}\n\n");
}

/// Writes a checkpoint with one tensor, a range, and `dates` dates.
fn with_dates(folder: &Path, dates: u8) -> PathBuf {
    let date = || torch::call("datetime", "date", &[torch::encoded(b"\x07\xe8\x01\x02")]);
    let range = torch::call("builtins", "range", &[0, 3, 1].map(torch::int));
    let tensor = torch::tensor(torch::storage("ShortStorage", "0", 2), 0, &[2], &[1]);
    let names: Vec<String> = (0..dates).map(|number| format!("day{number}")).collect();
    let mut items: Vec<_> = names.iter().map(|name| (&**name, date())).collect();
    items.extend([("z", range), ("a", tensor)]);
    let path = folder.join("dates.pt");
    fs::write(&path, torch::file(&torch::dict(&items), &[&[1, 0, 2, 0]])).unwrap();
    path
}

/// Checks that `ls` and `convert` name the first omitted value of each kind, and with `--verbose` then each omitted value, with and
/// without a sandbox.
#[test]
fn each_value_that_is_left_out_is_named_if_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_dates(folder.path(), 3);
    let path = path.to_str().unwrap();
    let out = folder.path().join("out.safetensors");
    let out = out.to_str().unwrap();
    let summary =
        "left out: 3 values (datetime.date), the first is \"day0\"; \"z\" (builtins.range)";
    let each = ["day0", "day1", "day2"].map(|name| format!("left out: \"{name}\" (datetime.date)"));
    let each: Vec<_> =
        each.into_iter().chain(["left out: \"z\" (builtins.range)".into()]).collect();
    for mode in [&[][..], &["--no-sandbox"]] {
        for command in [&["ls", path][..], &["convert", "--force", path, out]] {
            let lines = |more: &[&str]| -> Vec<String> {
                let text = succeeded_text(zten([command, mode, more].concat()));
                let found = text.lines().filter(|line| line.trim().starts_with("left out"));
                found.map(|line| line.trim().to_owned()).collect()
            };
            assert_eq!(lines(&[]), [summary], "{command:?}");
            assert_eq!(lines(&["--verbose"]), [&[summary.to_owned()], &each[..]].concat());
        }
    }
    // A file without values that are left out has no such lines.
    let listed = succeeded_text(in_corpus(&["ls", "--verbose", "other/torch/accept/tied.pt"]));
    assert!(!listed.contains("left out"), "{listed}");
}
