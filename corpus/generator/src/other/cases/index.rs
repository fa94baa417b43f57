//! Cases of the corpus about indices of safetensors, with the files that they name.

use super::Cases;
use super::named::POINTER;
use super::torch_stream::whole as whole_of_stream;
use crate::other::safetensors::file;
use crate::other::torch;

fn part(name: &str, metadata: &str) -> Vec<u8> {
    let tensor = format!(r#""{name}":{{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#);
    file(&format!("{{{metadata}{tensor}}}"), &[1, 2])
}

/// Adds cases about indices that name checkpoints of PyTorch.
fn torch_parts(cases: &mut Cases) {
    let two = || torch::storage("ShortStorage", "0", 2);
    let vector = |offset: u8| torch::tensor(two(), offset, &[1], &[1]);
    let whole = || torch::tensor(two(), 0, &[2], &[1]);
    let file = |value: &[(&str, Vec<u8>)], bytes: &[u8]| torch::file(&torch::dict(value), &[bytes]);
    let a = file(&[("a", whole()), ("epoch", torch::int(1))], &[1, 0, 2, 0]);
    let six = |shape: &[u8], strides: &[u8]| {
        torch::tensor(torch::storage("ShortStorage", "0", 6), 0, shape, strides)
    };
    let view = {
        let args = [
            torch::storage("FloatStorage", "1", 1),
            torch::int(0),
            torch::numbers(&[1]),
            torch::numbers(&[1]),
            b"\x89".to_vec(),
            torch::ordered(),
            torch::dict(&[("neg", b"\x88".to_vec())]),
        ];
        torch::call("torch._utils", "_rebuild_tensor_v2", &args)
    };
    let forms = [("columns", six(&[2, 3], &[1, 2])), ("spaced", six(&[3], &[2])), ("view", view)];
    let shorts: Vec<u8> = (1..=6).flat_map(u16::to_le_bytes).collect();
    let forms = torch::file(&torch::dict(&forms), &[&shorts, &1_f32.to_le_bytes()]);
    let accepted = [
        ("a.bin", a.clone()),
        ("b.bin", file(&[("b", vector(1))], &[1, 0, 2, 0])),
        ("copy.bin", file(&[("a", whole()), ("b", vector(0))], &[1, 0, 2, 0])),
        ("forms.bin", forms),
        ("stream.pth", {
            let value = torch::tensor(whole_of_stream("0", 2), 0, &[1], &[1]);
            torch::stream(&torch::dict(&[("b", value)]), &[("0", 2, &[1, 0, 2, 0])])
        }),
    ];
    for (name, bytes) in accepted {
        cases.accept("index", name, bytes);
    }
    let mut damaged = file(&[("b", whole())], &[7, 0, 9, 0]);
    let at = damaged.windows(4).position(|bytes| bytes == [7, 0, 9, 0]).unwrap();
    damaged[at] = 6;
    let system = torch::global("os", "system");
    let rejected = [
        ("a.bin", a),
        ("both.bin", file(&[("a", whole()), ("b", vector(0))], &[1, 0, 3, 0])),
        ("other.bin", file(&[("b", whole()), ("epoch", torch::int(2))], &[1, 0, 2, 0])),
        ("system.bin", file(&[("b", whole()), ("x", system)], &[1, 0, 2, 0])),
        ("damaged.bin", damaged),
        // The tensor `a` has the dtype and shape of the one in `a.bin`, but other elements: every second element of the
        // storage.
        ("strided.bin", {
            let three = || torch::storage("ShortStorage", "0", 3);
            let strided = torch::tensor(three(), 0, &[2], &[2]);
            let b = torch::tensor(three(), 0, &[1], &[1]);
            file(&[("a", strided), ("b", b)], &[1, 0, 2, 0, 3, 0])
        }),
        ("pointer.bin", POINTER.to_vec()),
        ("pointer.safetensors", POINTER.to_vec()),
    ];
    for (name, bytes) in rejected {
        cases.reject("index", ("", name), bytes);
    }
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
    torch_parts(cases);
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
        ("metadata-maps", format!(r#"{{"metadata":{{"x":{{"y":{{"z":1}},"z":2}}}},{map}}}"#)),
        ("unknown-key", format!(r#"{{{map},"more":1}}"#)),
        ("of-one", of(r#""b":"pt.safetensors""#)),
        ("unnamed", of(r#""b":"both.safetensors""#)),
        ("copy", of(r#""a":"a.safetensors","b":"copy.safetensors""#)),
        ("none", of("")),
        ("torch", of(r#""a":"a.bin","b":"b.bin""#)),
        ("torch-stream", of(r#""a":"a.bin","b":"stream.pth""#)),
        ("torch-forms", of(r#""columns":"forms.bin","spaced":"forms.bin","view":"forms.bin""#)),
        ("torch-copy", of(r#""a":"a.bin","b":"copy.bin""#)),
        ("torch-unnamed", of(r#""b":"copy.bin""#)),
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
        (
            "index-duplicate-key",
            "metadata-maps",
            format!(r#"{{"metadata":{{"x":{{"y":{{"z":1,"z":2}}}}}},{map}}}"#),
        ),
        (
            "index-duplicate-key",
            "total-size",
            format!(r#"{{"metadata":{{"total_size":{{"z":1,"z":2}}}},{map}}}"#),
        ),
        ("index-duplicate-key", "unknown", format!(r#"{{{map},"more":1,"more":1}}"#)),
        ("index-duplicate-key", "unknown-maps", format!(r#"{{{map},"more":[{{"z":1,"z":1}}]}}"#)),
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
        ("index-file-name", "mixed", of(r#""a":"a.safetensors","b":"b.bin""#)),
        ("index-file", "missing-checkpoint", of(r#""a":"a.bin","b":"c.bin""#)),
        ("format-hdf5", "keras", of(r#""a":"tf_model-00001-of-00002.h5""#)),
        ("format-flax", "flax", of(r#""a":"flax_model-00001-of-00002.msgpack""#)),
        ("format-lfs-pointer", "torch-file", of(r#""a":"a.bin","b":"pointer.bin""#)),
        ("format-lfs-pointer", "file", of(r#""a":"a.safetensors","b":"pointer.safetensors""#)),
        ("index-overlay", "torch-strides", of(r#""a":"a.bin","b":"strided.bin""#)),
        ("index-tensor", "checkpoint", of(r#""a":"a.bin","b":"a.bin""#)),
        ("index-overlay", "torch", of(r#""a":"a.bin","b":"both.bin""#)),
        ("index-metadata", "checkpoint", of(r#""a":"a.bin","b":"other.bin""#)),
        ("torch-global", "checkpoint", of(r#""a":"a.bin","b":"system.bin""#)),
        ("zip-crc", "torch", of(r#""a":"a.bin","b":"damaged.bin""#)),
    ] {
        cases.reject("index", (rule, &format!("{name}.index.json")), text.into_bytes());
    }
}
