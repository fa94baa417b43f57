//! Tests that `zten diff` finds, folds and measures the differences of two files.

mod attributes;
mod copies;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zten_corpus::cbor::Item;

use crate::files::{entry, file, object, old_file, raw, text};
use crate::{corpus_folder, ended, failed, in_corpus, json_lines, succeeded_text, zten};

/// Returns the differences of two valid files, without the last line.
fn lines(old: &Path, new: &Path) -> String {
    let output = zten(["diff".as_ref(), old.as_os_str(), new.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    let (lines, summary) = out.split_at(out.rfind("tensors: ").unwrap());
    assert_eq!((status, complaint), (Some(i32::from(!lines.is_empty())), ""), "{out}");
    assert!(summary.ends_with(" equal\n") && summary.lines().count() == 1, "{summary}");
    let quiet = zten(["diff".as_ref(), "-q".as_ref(), old.as_os_str(), new.as_os_str()]);
    assert_eq!(ended(&quiet), (status, "", ""));
    lines.to_owned()
}

/// Returns the differences of two files as JSON.
fn document(old: &Path, new: &Path) -> Value {
    let output = zten(["diff".as_ref(), "--json".as_ref(), old.as_os_str(), new.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    let found: Value = serde_json::from_str(out).unwrap();
    assert_eq!((status, complaint), (Some(i32::from(found["equal"] == false)), ""), "{out}");
    found
}

/// Returns a raw component of bytes.
fn bytes(offset: usize, length: usize) -> Item {
    raw("u8", offset, length, &[])
}

#[test]
fn generations_are_no_difference() {
    for (old, new) in [
        ("0.1.0/dense_all.zt", "1.1.1/dense_all.zt"),
        ("0.1.0/dense_all.zt", "1.2.3/dense_all.zt"),
        ("0.1.0/scalar.zt", "1.2.3/scalar.zt"),
        ("1.1.1/csr_zstd_sha.zt", "1.2.3/csr_raw.zt"),
        ("1.1.1/coo_raw.zt", "1.2.3/coo_zstd_crc.zt"),
        ("0.1.0/empty.zt", "1.2.3/empty.zt"),
    ] {
        let (old, new) = (format!("accept/{old}"), format!("accept/{new}"));
        let summary = succeeded_text(in_corpus(&["diff", &old, &new]));
        let none = "tensors: 0 changed, 0 added, 0 removed, 0 renamed, ";
        assert!(summary.starts_with(none), "{old} {new}: {summary}");
        let found = succeeded_text(in_corpus(&["diff", "--json", &old, &new]));
        let wanted = "\"equal\":true,\"attributes\":[],\"added\":[],\"removed\":[],\"renamed\":[],\
            \"changed\":[],\"unread\":[],\"summary\":{\"added\":0,\"removed\":0,\"renamed\":0,\"changed\":0,\"equal\":";
        assert!(found.contains(wanted), "{old} {new}: {found}");
    }
}

#[test]
fn each_kind_of_change() {
    let old = [
        ("same", object("dense", &[4], &[("data", bytes(64, 4))])),
        ("gone", object("dense", &[4], &[("data", bytes(128, 4))])),
        ("shape", object("dense", &[2, 3], &[("data", bytes(192, 6))])),
        ("type", object("dense", &[2], &[("data", bytes(256, 2))])),
        ("format", object("dense", &[2], &[("data", bytes(320, 2))])),
        ("bytes", object("dense", &[2], &[("data", bytes(384, 2))])),
        ("roles", object("mine", &[], &[("a", bytes(448, 1)), ("b", bytes(512, 1))])),
        ("all", object("dense", &[2], &[("data", bytes(576, 2))])),
    ];
    let new = [
        ("all", object("theirs", &[1], &[("data", raw("u16", 576, 2, &[])), ("c", bytes(640, 0))])),
        ("bytes", object("dense", &[2], &[("data", bytes(384, 2))])),
        ("format", object("mine", &[2], &[("data", bytes(320, 2))])),
        ("new", object("dense", &[4], &[("data", bytes(128, 4))])),
        ("roles", object("mine", &[], &[("c", bytes(512, 1)), ("a", bytes(448, 1))])),
        ("same", object("dense", &[4], &[("data", bytes(64, 4))])),
        ("shape", object("dense", &[3, 2], &[("data", bytes(192, 6))])),
        ("type", object("dense", &[2], &[("data", raw("bool", 256, 2, &[]))])),
    ];
    let mut data = vec![1; 576 + 2 - 64];
    let old = file("diff-old.zt", &old, &data);
    // In the new file, one byte of the tensor `bytes` and one of the tensor `all` are different.
    data[384 - 64] = 0;
    data[577 - 64] = 2;
    data.resize(640 - 64, 0);
    let new = file("diff-new.zt", &new, &data);
    let wanted = "\
~ \"all\": layout dense -> theirs?, shape [2] -> [1], +c, data dtype u8 -> u16, data content
~ \"format\": layout dense -> mine?
~ \"roles\": -b, +c
~ \"shape\": shape [2, 3] -> [3, 2]
~ \"type\": dtype u8 -> bool
> \"gone\" -> \"new\"
~ \"bytes\": 1 of 2 elements changed (max 1.0, relative norm 0.7071, cosine 0.70710678)
";
    assert_eq!(lines(&old, &new), wanted);
    let component = |role: &str, change: &str, content: bool| json!({ "role": role, "change": change, "content": content });
    let mut data = component("data", "changed", true);
    data["dtype"] = json!({ "old": "u8", "new": "u16" });
    let mut bools = component("data", "changed", false);
    bools["dtype"] = json!({ "old": "u8", "new": "bool" });
    let counts = json!({
        "count": 2, "changed": 1, "not_finite": 0, "new_nan": 0, "max": 1.0, "mean": 0.5, "relative": 1.0,
        "relative_norm": 0.5_f64.sqrt(), "cosine": 1.0 / 2.0_f64.sqrt(),
    });
    let wanted = json!({
        "schema": document(&old, &old)["schema"],
        "equal": false,
        "attributes": [],
        "added": [],
        "removed": [],
        "renamed": [{ "name": "new", "old": "gone" }],
        "changed": [
            {
                "name": "all",
                "layout": { "old": "dense", "new": "theirs?" },
                "shape": { "old": [2], "new": [1] },
                "components": [component("c", "added", true), data],
            },
            { "name": "bytes", "elements": counts, "components": [component("data", "changed", true)] },
            { "name": "format", "layout": { "old": "dense", "new": "mine?" } },
            { "name": "roles", "components": [component("b", "removed", true), component("c", "added", true)] },
            { "name": "shape", "shape": { "old": [2, 3], "new": [3, 2] } },
            { "name": "type", "components": [bools] },
        ],
        "unread": [],
        "summary": { "added": 0, "removed": 0, "renamed": 1, "changed": 6, "equal": 1, "unread": 0 },
    });
    assert_eq!(document(&old, &new), wanted);
    assert_eq!(lines(&old, &old), "");
    assert_eq!(document(&new, &new)["equal"], true);
}

#[test]
fn types_are_told_apart_by_name_and_storage() {
    let with = |name: &str, dtype: &str, logical: Option<&str>| {
        let logical: Vec<_> = logical.map(|logical| ("type", text(logical))).into_iter().collect();
        let component = raw(dtype, 64, 2, &logical);
        file(name, &[("w", object("mine", &[], &[("data", component)]))], &[1; 2])
    };
    let plain = with("diff-type-plain.zt", "u8", None);
    let fp8 = with("diff-type-fp8.zt", "u8", Some("f8_e4m3fn"));
    let unknown = with("diff-type-unknown.zt", "u8", Some("f4"));
    let wider = with("diff-type-wider.zt", "u16", Some("f4"));
    let spelled = with("diff-type-spelled.zt", "u8", Some("u8"));
    assert_eq!(lines(&plain, &fp8), "~ \"w\": dtype u8 -> f8_e4m3fn\n");
    assert_eq!(lines(&fp8, &unknown), "~ \"w\": dtype f8_e4m3fn -> f4? (u8)\n");
    assert_eq!(lines(&unknown, &wider), "~ \"w\": dtype f4? (u8) -> f4? (u16)\n");
    assert_eq!(lines(&plain, &spelled), "");
}

#[test]
fn many_components_are_not_all_listed() {
    let roles: Vec<String> = (0..20).map(|n| format!("r{n:02}")).collect();
    let with = |name: &str, data: u8| {
        let components: Vec<_> = roles
            .iter()
            .enumerate()
            .map(|(n, role)| (role.as_str(), bytes(64 + n * 64, 1)))
            .collect();
        file(name, &[("w", object("mine", &[], &components))], &[data; 64 * 20])
    };
    let found = lines(&with("diff-many-1.zt", 1), &with("diff-many-2.zt", 2));
    assert!(
        found.starts_with("~ \"w\": r00 1 of 1 element changed (max 1.0, ")
            && found.contains(" r15 ")
            && !found.contains(" r16 ")
            && found.ends_with(", …\n"),
        "{found}"
    );
}

#[test]
fn indices_are_compared_as_numbers() {
    let with = |name: &str, dtype: &str, indices: &[u8]| {
        let components =
            [("coords", raw(dtype, 64, indices.len(), &[])), ("values", raw("u8", 128, 3, &[]))];
        let mut data = indices.to_vec();
        data.resize(64, 0);
        data.extend([7, 8, 9]);
        file(name, &[("w", object("sparse_coo", &[300], &components))], &data)
    };
    let wide: Vec<u8> = [1_u64, 299, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    let narrow: Vec<u8> = [1_i16, 299, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    let other: Vec<u8> = [1_i16, 298, 4].iter().flat_map(|n| n.to_le_bytes()).collect();
    let wide = with("diff-indices-u64.zt", "u64", &wide);
    let narrow = with("diff-indices-i16.zt", "i16", &narrow);
    let other = with("diff-indices-other.zt", "i16", &other);
    let tolerant = |old: &Path, new: &Path| {
        let options = ["diff", "--tolerate=narrow-indices"].map(Path::new);
        zten([options[0], options[1], old, new])
    };
    let summary = succeeded_text(tolerant(&wide, &narrow));
    assert_eq!(summary, "tensors: 0 changed, 0 added, 0 removed, 0 renamed, 1 equal\n");
    let output = tolerant(&wide, &other);
    let (status, out, _) = ended(&output);
    let wanted = "~ \"w\": coords 1 of 3 elements changed\ntensors: 1 changed, ";
    assert!(status == Some(1) && out.starts_with(wanted), "{out}");
    // Without the tolerance `narrow-indices`, the file is rejected.
    let complaint = failed(zten(["diff".as_ref(), wide.as_os_str(), narrow.as_os_str()]), 1);
    assert!(complaint.contains("index-dtype"), "{complaint}");
}

#[test]
fn bools_of_0_1_are_compared_by_truth() {
    let fields = entry("w", "bool", &[4], (64, 4), &[]);
    let old = old_file("diff-bools.zt", &[fields], &[0, 1, 2, 0x80]);
    let with = |name: &str, data: &[u8]| {
        file(name, &[("w", object("dense", &[4], &[("data", raw("bool", 64, 4, &[]))]))], data)
    };
    assert_eq!(lines(&old, &with("diff-bools-same.zt", &[0, 1, 1, 1])), "");
    let other = with("diff-bools-other.zt", &[0, 1, 1, 0]);
    let wanted =
        "~ \"w\": 1 of 4 elements changed (max 1.0, relative norm 0.5774, cosine 0.81649658)\n";
    assert_eq!(lines(&old, &other), wanted);
}

#[test]
fn names_are_escaped_and_in_natural_order() {
    let one = |offset| object("mine", &[], &[("ro\nle", bytes(offset, 1))]);
    let long = "n".repeat(300);
    let names = ["\u{1b}[2J", "\"", "", "a.10", "a", "é", long.as_str(), "a.9"];
    let objects: Vec<_> =
        names.iter().enumerate().map(|(n, name)| (*name, one(64 + n * 64))).collect();
    let all = file("diff-names.zt", &objects, &[1; 64 * 8]);
    let none = file("diff-no-names.zt", &[], &[]);
    let sorted =
        ["", "\\u{1b}[2J", "\\u{22}", "a", "a.{9..10}", long.as_str(), "é"].map(str::to_owned);
    let count = |name: &str| if name.contains('.') { " (2 tensors)" } else { "" };
    let line = |sign: &str, name: &str| format!("{sign} \"{name}\"{}\n", count(name));
    let wanted = |sign: &str| sorted.clone().map(|name| line(sign, &name)).concat();
    assert_eq!(lines(&none, &all), wanted("+"));
    assert_eq!(lines(&all, &none), wanted("-"));
    let found = document(&none, &all);
    assert_eq!(found["added"], json!(["", "\u{1b}[2J", "\"", "a", "a.9", "a.10", long, "é"]));
    assert_eq!(found["removed"], json!([]));
    // Roles, names of layouts and other words of a message are escaped, as names of objects are.
    let other = object("\u{202e}", &[], &[("\u{1b}", bytes(64, 1))]);
    let other = file("diff-other-names.zt", &[("a", other)], &[1]);
    let line = lines(&all, &other).lines().find(|line| line.starts_with('~')).unwrap().to_owned();
    let wanted = "~ \"a\": layout mine? -> \"\\u{202e}\"?, +\"\\u{1b}\", -\"ro\\u{a}le\"";
    assert_eq!(line, wanted);
}

/// Writes a file with one tensor of `dtype`, `shape` and `data`.
fn single(name: &str, (dtype, shape): (&str, &[usize]), data: &[u8]) -> PathBuf {
    let (dtype, logical) = match dtype.split_once(' ') {
        Some((dtype, logical)) => (dtype, vec![("type", text(logical))]),
        None => (dtype, Vec::new()),
    };
    let component = raw(dtype, 64, data.len(), &logical);
    file(name, &[("w", object("dense", shape, &[("data", component)]))], data)
}

#[test]
fn differences_are_measured() {
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let halves = |values: &[u16]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let wide = |values: &[u64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>();
    let (nan, infinite) = (f32::NAN, f32::INFINITY);
    for (what, (dtype, old), (other, new), wanted, [norm, cosine]) in [
        (
            "floats",
            ("f32", floats(&[1.0, 2.0, -4.0, nan, 0.0])),
            ("f32", floats(&[1.0, 2.5, 4.0, nan, -0.0])),
            json!({ "count": 5, "changed": 3, "not_finite": 0, "new_nan": 0, "max": 8.0, "mean": 1.7, "relative": 2.0 }),
            [(64.25_f64 / 21.0).sqrt(), -10.0 / (21.0 * 23.25_f64).sqrt()],
        ),
        (
            "not finite",
            ("f32", floats(&[1.0, infinite, infinite, 1.0])),
            ("f32", floats(&[nan, 1.0, infinite, 1.5])),
            json!({ "count": 4, "changed": 3, "not_finite": 2, "new_nan": 1, "max": 0.5, "mean": 0.25, "relative": 0.5 / 1.5 }),
            [0.5, 1.0],
        ),
        (
            "narrowed",
            ("f32", floats(&[1.0, 0.1, nan, -0.0])),
            ("f16", halves(&[0x3c00, 0x2e66, 0x7e01, 0])),
            json!({
                "count": 4, "changed": 1, "not_finite": 0, "new_nan": 0, "max": f64::from(0.1_f32) - 0.099_975_585_937_5,
                "mean": (f64::from(0.1_f32) - 0.099_975_585_937_5) / 4.0,
                "relative": (f64::from(0.1_f32) - 0.099_975_585_937_5) / f64::from(0.1_f32),
            }),
            [2.4416e-5 / 1.01_f64.sqrt(), 1.0],
        ),
        (
            "integers",
            ("u64", wide(&[u64::MAX, 7, 1 << 60])),
            ("u64", wide(&[u64::MAX - 1, 7, (1 << 60) + 2])),
            json!({
                "count": 3, "changed": 2, "not_finite": 0, "new_nan": 0, "max": 2.0, "mean": 1.0,
                "relative": 2.0 / 60.0_f64.exp2(),
            }),
            // As doubles, the old and the new elements are equal, so the norm of the difference is 0 and the cosine is 1.
            [0.0, 1.0],
        ),
        (
            "complex",
            ("f32 complex64", floats(&[1.0, 1.0, 3.0, 4.0])),
            ("f32 complex64", floats(&[1.0, 1.0, 0.0, 0.0])),
            json!({ "count": 2, "changed": 1, "not_finite": 0, "new_nan": 0, "max": 5.0, "mean": 2.5, "relative": 1.0 }),
            [(25.0_f64 / 27.0).sqrt(), 2.0 / 54.0_f64.sqrt()],
        ),
    ] {
        let width = if what == "integers" || what == "complex" { 8 } else { 4 };
        let shape = [old.len() / width];
        let old = single("diff-measured-old.zt", (dtype, &shape), &old);
        let new = single("diff-measured-new.zt", (other, &shape), &new);
        let found = document(&old, &new);
        let mut found = found["changed"][0]["elements"].clone();
        for (key, wanted) in [("relative_norm", norm), ("cosine", cosine)] {
            let found = found.as_object_mut().unwrap().remove(key).unwrap();
            assert!((found.as_f64().unwrap() - wanted).abs() < 1e-7, "{what} {key}: {found}");
        }
        assert_eq!(found, wanted, "{what}");
    }
    // Two files with 2^20 elements, of which one differs, and a copy of the second file that is compressed. The elements
    // are compared in many pieces, whatever their encoding is.
    let mut data = vec![0; 1 << 20];
    data[700_001] = 3;
    let old = single("diff-measured-zeros.zt", ("u8", &[1 << 20]), &vec![0; 1 << 20]);
    let new = single("diff-measured-raw.zt", ("u8", &[1 << 20]), &data);
    let packed = new.with_file_name("diff-measured-packed.zt");
    let paths = [new.to_str().unwrap(), packed.to_str().unwrap()];
    succeeded_text(zten([&["convert", "--force", "--to", "2", "--zstd=1"], &paths[..]].concat()));
    let wanted = "~ \"w\": 1 of 1,048,576 elements changed (max 3.0)\n";
    assert_eq!(lines(&old, &packed), wanted);
    assert_eq!(lines(&new, &packed), "");
}

/// Blocks of GGUF are compared by their values, whatever the formats of the files are.
#[test]
fn quantized_values_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for entry in fs::read_dir(corpus_folder().join("other/gguf/accept")).unwrap() {
        let path = entry.unwrap().path();
        let listed = zten(["ls".as_ref(), "--json".as_ref(), path.as_os_str()]).stdout;
        let listed: Value = serde_json::from_slice(&listed).unwrap_or_default();
        let objects = listed["objects"].as_array().cloned().unwrap_or_default();
        let is_blocks = |object: &&Value| {
            let layout = object["layout"].as_str().unwrap();
            layout.starts_with("gguf.")
                && !layout.ends_with(".big_endian")
                && object["components"][0]["length"].as_u64() > Some(0)
                && object["components"][0]["shard"].is_null()
        };
        let Some(object) = objects.iter().find(is_blocks) else { continue };
        let data = &object["components"][0];
        let end = data["offset"].as_u64().unwrap() + data["length"].as_u64().unwrap();
        let mut bytes = fs::read(&path).unwrap();
        bytes[usize::try_from(end).unwrap() - 1] ^= 0x11;
        let other = folder.path().join("other.gguf");
        fs::write(&other, bytes).unwrap();
        let shape = object["shape"].as_array().unwrap();
        let count: u64 = shape.iter().map(|n| n.as_u64().unwrap()).product();
        let found = document(&path, &other);
        let elements = &found["changed"][0]["elements"];
        assert_eq!(elements["count"], count, "{}: {found}", path.display());
        for generation in ["1.2", "2"] {
            let out = folder.path().join("out.zt");
            let paths = [path.to_str().unwrap(), out.to_str().unwrap()];
            let to = ["convert", "--force", "--to", generation];
            succeeded_text(zten([&to, &paths[..]].concat()));
            let found = document(&path, &out);
            for changed in found["changed"].as_array().unwrap() {
                let keys: Vec<_> = changed.as_object().unwrap().keys().collect();
                assert_eq!(keys, ["attributes", "name"], "{changed}");
            }
            let found = document(&other, &out);
            let mut changed = found["changed"].as_array().unwrap().iter();
            let own = changed.find(|changed| changed["name"] == object["name"]).unwrap();
            assert_eq!(own["elements"]["count"], count);
        }
        tried += 1;
    }
    assert!(tried >= 2, "{tried}");
}

#[test]
fn sparse_objects_are_compared_by_component() {
    let with = |name: &str, values: &[f32], indices: &[u64]| {
        let mut data: Vec<u8> = indices.iter().flat_map(|n| n.to_le_bytes()).collect();
        data.resize(64, 0);
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        let components = [
            ("coords", raw("u64", 64, 8 * indices.len(), &[])),
            ("values", raw("f32", 128, 4 * values.len(), &[])),
        ];
        file(name, &[("w", object("sparse_coo", &[300], &components))], &data)
    };
    let old = with("diff-sparse-old.zt", &[1.0, 2.0], &[3, 9]);
    let new = with("diff-sparse-new.zt", &[1.0, 4.0], &[4, 9]);
    let wanted = "~ \"w\": coords 1 of 2 elements changed, \
                  values 1 of 2 elements changed (max 2.0, relative norm 0.8944, cosine 0.97618706)\n";
    assert_eq!(lines(&old, &new), wanted);
    let longer = with("diff-sparse-longer.zt", &[1.0, 2.0, 3.0], &[3, 9, 10]);
    assert_eq!(lines(&old, &longer), "~ \"w\": coords content, values content\n");
    // The tolerance is for values: an index that is off by one is another element.
    assert_eq!(run_diff([&old, &new], &["--atol=2"]).0, 1);
    let near = with("diff-sparse-near.zt", &[1.0, 4.0], &[3, 9]);
    assert_eq!(run_diff([&old, &near], &["--atol=2"]).0, 0);
}

/// Checks that a lost imaginary part is reported as a difference.
#[test]
fn complex_and_real_numbers_are_compared() {
    let with = |name: &str, dtype: &str, values: &[f32]| {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        single(name, (dtype, &[2]), &data)
    };
    let complex = with("diff-complex.zt", "f32 complex64", &[3.0, 0.0, 0.0, 4.0]);
    let real = with("diff-real.zt", "f32", &[3.0, 0.0]);
    for files in [[&*complex, &*real], [&*real, &*complex]] {
        let (status, text) = run_diff(files, &["--atol=3"]);
        assert!(status == 1 && text.contains(", 1 of 2 elements changed (max 4.0"), "{text}");
        assert_eq!(run_diff(files, &["--atol=4"]).0, 0);
    }
}

#[test]
fn content_makes_renames() {
    let with = |name: &str, tensors: &[(&str, u8)]| {
        let objects: Vec<_> = (tensors.iter().enumerate())
            .map(|(n, (name, _))| {
                (*name, object("dense", &[2], &[("data", bytes(64 + n * 64, 2))]))
            })
            .collect();
        let data: Vec<u8> = tensors.iter().flat_map(|(_, byte)| [*byte; 64]).collect();
        file(name, &objects, &data)
    };
    let old =
        with("diff-renamed-old.zt", &[("a.10", 1), ("a.9", 1), ("b", 2), ("gone", 3), ("same", 4)]);
    let new = with(
        "diff-renamed-new.zt",
        &[("b", 9), ("new", 5), ("same", 4), ("x.10", 1), ("x.9", 1), ("y", 1)],
    );
    let found = zten(["diff".as_ref(), old.as_os_str(), new.as_os_str()]);
    let wanted = "\
- \"gone\"
+ \"new\"
+ \"y\"
> \"a\"… -> \"x\"… (2 tensors)
~ \"b\": 2 of 2 elements changed (max 7.0, relative norm 3.5, cosine 1.0)
tensors: 1 changed, 2 added, 1 removed, 2 renamed, 1 equal
";
    assert_eq!(ended(&found), (Some(1), wanted, ""));
    let renamed = &document(&old, &new)["renamed"];
    assert_eq!(renamed[0], json!({ "name": "x.9", "old": "a.9" }));
}

#[test]
fn rejected_files_are_not_compared() {
    let valid = "accept/1.2.3/scalar.zt";
    let bad = "reject/bool-value--v12-second-object.zt";
    let worse = "reject/blob-alignment--v12-72.zt";
    let unverified = "accept/v01-checksum-unverifiable-unknown.zt";
    for (old, new, status, complaints) in [
        (bad, valid, 1, &["rule bool-value, v1.2 §2) in \"v\"/data at byte 0x80"][..]),
        (valid, bad, 1, &["rule bool-value"]),
        (bad, bad, 1, &["rule bool-value"]),
        (bad, worse, 1, &["rule bool-value", "rule blob-alignment"]),
        (unverified, valid, 3, &["rule unsupported-digest"]),
        ("missing", valid, 2, &["missing: "]),
        (bad, "missing", 2, &["rule bool-value", "missing: "]),
        (valid, "accept", 2, &["accept: is a folder with "]),
    ] {
        for json in [&[][..], &["--json"]] {
            let complaint = failed(in_corpus(&[&["diff", old, new], json].concat()), status);
            for part in complaints {
                assert!(complaint.contains(part), "{old} {new}: {complaint}");
            }
        }
    }
    // Content that differs is still validated to its end.
    let checksum = [("checksum", text("crc32c:00000000"))];
    let fields = entry("w", "float32", &[1], (64, 4), &checksum);
    let path = old_file("diff-digest.zt", &[fields], &[1; 4]);
    let other = file("diff-nothing.zt", &[], &[]);
    let output = zten(["diff".as_ref(), path.as_os_str(), other.as_os_str()]);
    assert_eq!((ended(&output).0, ended(&output).1), (Some(1), ""));
    assert!(ended(&output).2.contains("digest-mismatch"));
}

/// Checks that objects that cannot be read do not prevent others from being compared.
#[test]
fn unread_objects_are_named() {
    let valid = "accept/1.2.3/scalar.zt";
    let unread = "accept/unsupported-dtype--v01-unknown.zt";
    for (old, new) in [(valid, unread), (unread, unread)] {
        let output = in_corpus(&["diff", old, new]);
        let (status, text, complaint) = ended(&output);
        assert_eq!(status, Some(3), "{text}{complaint}");
        assert!(text.ends_with(" equal, 1 unread and not compared\n"), "{text}");
        let why = "rule unsupported-dtype, v0.1 §8) in \"w\"/data";
        assert!(complaint.contains(why), "{complaint}");
        let output = in_corpus(&["diff", "--json", old, new]);
        let document = &json_lines(&output.stdout)[0];
        assert_eq!((&document["equal"], &document["unread"]), (&json!(false), &json!(["w"])));
    }
}

#[test]
fn usage() {
    let valid = "accept/1.2.3/scalar.zt";
    for args in [&["diff"][..], &["diff", valid], &["diff", valid, valid, "--rtol=-1"]] {
        assert_eq!(in_corpus(args).status.code(), Some(2));
    }
    let help = succeeded_text(zten(["diff", "--help"]));
    assert!(help.contains("1  they differ, or a file is invalid"), "{help}");
    let output = in_corpus(&["diff", "--limit", "rank=0", valid, valid]);
    assert_eq!(output.status.code(), Some(0), "scalars have no rank");
    let output = in_corpus(&["diff", "--limit", "rank=1", "accept/1.2.3/dense_all.zt", valid]);
    assert!(ended(&output).2.contains("limit-rank"));
}

/// Writes a safetensors file with 34 layers. Each layer has a tensor with the values that `value` returns for its number.
fn layered(folder: &Path, name: &str, value: impl Fn(u8) -> [f32; 4]) -> PathBuf {
    let tensors = (0..34).map(|n| (format!("layers.{n}.weight"), "F32", [4], 16));
    let data: Vec<u8> = (0..34).flat_map(value).flat_map(f32::to_le_bytes).collect();
    let path = folder.join(name);
    fs::write(&path, zten_testkit::safetensors::file(tensors, &data)).unwrap();
    path
}

fn run_diff(files: [&Path; 2], options: &[&str]) -> (i32, String) {
    let paths = files.map(|path| path.to_str().unwrap());
    let output = zten([&["diff"], &paths[..], options].concat());
    let (status, out, complaint) = ended(&output);
    assert_eq!(complaint, "");
    (status.unwrap(), out.to_owned())
}

#[test]
fn similar_changes_are_one_line_and_those_that_stand_out_have_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let old = layered(folder.path(), "old.safetensors", |_| [1.0, 2.0, 3.0, 4.0]);
    let new = layered(folder.path(), "new.safetensors", |n| match n {
        17 => [1.0, 2.0, 3.0, -4.0],
        20 => [f32::NAN, 2.0, 3.0, 4.0],
        33 => [1.0, 2.0, 3.0, 4.0],
        _ => [1.01, 2.0, 3.0, 4.0],
    });
    let (status, text) = run_diff([&old, &new], &[]);
    let wanted = "\
~ \"layers.20.weight\": 1 of 4 elements changed (max 0.0, relative norm 0.0, cosine 1.0), 1 new NaN
~ \"layers.17.weight\": 1 of 4 elements changed (max 8.0, relative norm 1.461, cosine -0.06666667)
~ \"layers.{0..16,18..19,21..32}.weight\" (31 tensors): 31 of 124 elements changed (max 0.01, relative norm 0.001826, cosine 0.99999839)
tensors: 33 changed, 0 added, 0 removed, 0 renamed, 1 equal
";
    assert_eq!((status, text.as_str()), (1, wanted));
    let (_, tree) = run_diff([&old, &new], &["--tree"]);
    let group = tree.lines().nth(1).unwrap();
    let cells: Vec<_> = group.split_whitespace().collect();
    let wanted =
        ["layers", "33", "1", "new", "NaN", "33", "of", "132", "8.0", "1.461", "-0.06666667"];
    assert_eq!(cells, wanted, "{tree}");
    let found = document(&old, &new);
    assert_eq!(found["changed"].as_array().unwrap().len(), 33);
}

#[test]
fn differences_within_the_tolerance_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let old = layered(folder.path(), "old.safetensors", |_| [1.0, 2.0, 3.0, 4.0]);
    let new = layered(folder.path(), "new.safetensors", |_| [1.0, 2.0, 3.03, 4.0]);
    let summary = |within: &str| {
        format!(
            "tensors: 0 changed, 0 added, 0 removed, 0 renamed, 0 equal, {within} within the tolerance\n"
        )
    };
    for option in ["--rtol=0.011", "--atol=0.031"] {
        assert_eq!(run_diff([&old, &new], &[option]), (0, summary("34")));
        assert_eq!(run_diff([&old, &new], &[option, "-q"]), (0, String::new()));
    }
    let (status, text) = run_diff([&old, &new], &["--rtol=0.009"]);
    let line = "~ \"layers.{0..33}.weight\" (34 tensors): ";
    assert!(status == 1 && text.starts_with(line), "{text}");
    assert_eq!(run_diff([&old, &new], &["--rtol=0.009", "-q"]), (1, String::new()));
    // A tensor of another dtype is within the tolerance if its values are. A NaN is within no tolerance of a number, but
    // equals itself.
    let bf16 = folder.path().join("bf16.zt");
    let paths = [&new, &bf16].map(|path| path.to_str().unwrap());
    succeeded_text(zten([&["convert", "--dtype=bf16"], &paths[..]].concat()));
    assert_eq!(run_diff([&old, &bf16], &["--rtol=0.02"]), (0, summary("34")));
    let nan = layered(folder.path(), "nan.safetensors", |_| [f32::NAN, 2.0, 3.0, 4.0]);
    assert_eq!(run_diff([&old, &nan], &["--rtol=9"]).0, 1);
    assert_eq!(run_diff([&nan, &nan], &["--rtol=0"]).0, 0);
    // A pattern restricts the comparison to the tensors that it matches.
    let last = |n| if n == 3 { 5.0 } else { 4.0 };
    let one = layered(folder.path(), "one.safetensors", |n| [1.0, 2.0, 3.0, last(n)]);
    let others = "tensors: 0 changed, 0 added, 0 removed, 0 renamed, 24 equal\n";
    assert_eq!(run_diff([&old, &one], &["layers.??.*"]), (0, others.to_owned()));
    assert_eq!(run_diff([&old, &one], &["layers.3.*"]).0, 1);
    let output = zten(["diff", paths[0], paths[0], "layer.3.weight"]);
    let wanted =
        "no tensor matches the pattern \"layer.3.weight\"; did you mean \"layers.3.weight\"?\n";
    assert_eq!(ended(&output), (Some(2), "", wanted));
}

#[test]
fn renamings_of_many_tensors_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let old = layered(folder.path(), "old.safetensors", |n| [f32::from(n); 4]);
    let new = folder.path().join("new.safetensors");
    let paths = [&old, &new].map(|path| path.to_str().unwrap());
    let options = ["convert", "--rename=s/^/model./", "--rename=model.layers.7.weight=seven"];
    succeeded_text(zten([&options, &paths[..]].concat()));
    let wanted = "\
> \"\"… -> \"model\"… (33 tensors)
> \"layers.7.weight\" -> \"seven\"
tensors: 0 changed, 0 added, 0 removed, 34 renamed, 0 equal
";
    assert_eq!(run_diff([&old, &new], &[]), (1, wanted.to_owned()));
}
