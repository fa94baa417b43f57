//! Indices of safetensors, with the files that they name.

use super::Cases;
use crate::other::safetensors::file;

fn part(name: &str, metadata: &str) -> Vec<u8> {
    let tensor = format!(r#""{name}":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#);
    file(&format!("{{{metadata}{tensor}}}"), &[1, 2])
}

pub(super) fn all(cases: &mut Cases) {
    let first = r#""a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}"#;
    let twice = file(&format!("{{{first},{}}}", first.replace("[0,1]", "[1,2]")), &[1, 2]);
    let parts = [
        ("a.safetensors", part("a", "")),
        ("b.safetensors", part("b", "")),
        ("pt.safetensors", part("b", r#""__metadata__":{"format":"pt"},"#)),
        ("np.safetensors", part("a", r#""__metadata__":{"format":"np"},"#)),
    ];
    for (name, bytes) in &parts {
        cases.accept("index", name, bytes.clone());
        cases.reject("index", ("", name), bytes.clone());
    }
    cases.reject("index", ("", "twice.safetensors"), twice);
    let second = r#""b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}"#;
    let both = file(&format!("{{{first},{second}}}"), &[1, 2]);
    cases.accept("index", "both.safetensors", both.clone());
    cases.reject("index", ("", "both.safetensors"), both);
    let whole = r#""a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}"#;
    let also = whole.replace("\"a\"", "\"b\"").replace("[0,2]", "[2,4]");
    let with_copy = |copy: [u8; 2]| file(&format!("{{{whole},{also}}}"), &[copy, [1, 2]].concat());
    cases.accept("index", "copy.safetensors", with_copy([1, 2]));
    cases.reject("index", ("", "changed.safetensors"), with_copy([1, 3]));
    let map = r#""weight_map":{"a":"a.safetensors","b":"b.safetensors"}"#;
    let of = |map: &str| format!(r#"{{"weight_map":{{{map}}}}}"#);
    for (name, text) in [
        ("two", format!("{{{map}}}")),
        ("total-size", format!(r#"{{"metadata":{{"total_size":4}},{map}}}"#)),
        ("total-size-float", format!(r#"{{"metadata":{{"total_size":4.0}},{map}}}"#)),
        ("total-size-wrong", format!(r#"{{"metadata":{{"total_size":5}},{map}}}"#)),
        ("total-size-text", format!(r#"{{"metadata":{{"total_size":"4"}},{map}}}"#)),
        ("total-parameters", format!(r#"{{"metadata":{{"total_parameters":4}},{map}}}"#)),
        ("total-parameters-wrong", format!(r#"{{"metadata":{{"total_parameters":1.2e1}},{map}}}"#)),
        ("metadata-nested", format!(r#"{{"metadata":{{"x":[1,{{"y":null}}],"z":null}},{map}}}"#)),
        ("unknown-key", format!(r#"{{{map},"more":1}}"#)),
        ("of-one", of(r#""b":"pt.safetensors""#)),
        ("unnamed", of(r#""b":"both.safetensors""#)),
        ("copy", of(r#""a":"a.safetensors","b":"copy.safetensors""#)),
        ("none", of("")),
    ] {
        cases.accept("index", &format!("{name}.index.json"), text.into_bytes());
    }
    for (rule, name, text) in [
        ("index-json", "empty", String::new()),
        ("index-json", "array", "[]".to_owned()),
        ("index-json", "no-map", "{}".to_owned()),
        ("index-json", "number", of(r#""a":1"#)),
        ("index-duplicate-key", "map", format!("{{{map},{map}}}")),
        ("index-duplicate-key", "tensor", of(r#""a":"a.safetensors","a":"a.safetensors""#)),
        ("index-duplicate-key", "metadata", format!(r#"{{"metadata":{{"x":1,"x":1.5}},{map}}}"#)),
        ("index-file-name", "above", of(r#""a":"../a.safetensors""#)),
        ("index-file-name", "suffix", of(r#""a":"a.txt""#)),
        ("index-file-name", "tab", of(r#""a":"a\t.safetensors""#)),
        ("index-file-name", "line-feed", of(r#""a":"a\n.safetensors""#)),
        ("index-file-name", "delete", of(r#""a":"a\u007f.safetensors""#)),
        ("index-file", "missing", of(r#""a":"c.safetensors""#)),
        ("index-tensor", "not-said", of(r#""b":"a.safetensors""#)),
        ("index-tensor", "not-there", of(r#""a":"a.safetensors","c":"a.safetensors""#)),
        ("index-overlay", "in-the-second", of(r#""a":"a.safetensors","b":"both.safetensors""#)),
        ("index-overlay", "in-the-first", of(r#""b":"b.safetensors","a":"both.safetensors""#)),
        ("index-overlay", "bytes", of(r#""a":"a.safetensors","b":"changed.safetensors""#)),
        ("index-metadata", "format", of(r#""a":"np.safetensors","b":"pt.safetensors""#)),
        ("safetensors-duplicate-name", "in-a-file", of(r#""a":"twice.safetensors""#)),
        ("format-torch-index", "bin", of(r#""a":"a.bin""#)),
    ] {
        cases.reject("index", (rule, &format!("{name}.index.json")), text.into_bytes());
    }
}
