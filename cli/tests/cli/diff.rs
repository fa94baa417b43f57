//! `zten diff`

mod attributes;
mod copies;

use std::path::Path;

use serde_json::{Value, json};

use crate::files::{entry, file, object, old_file, raw, text};
use crate::{ended, in_corpus, succeeded_text, zten};

/// The lines that two files differ in; none of them is refused.
fn lines(old: &Path, new: &Path) -> String {
    let output = zten(["diff".as_ref(), old.as_os_str(), new.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, complaint), (Some(i32::from(!out.is_empty())), ""), "{out}");
    out.to_owned()
}

/// The same as JSON.
fn document(old: &Path, new: &Path) -> Value {
    let output = zten(["diff".as_ref(), "--json".as_ref(), old.as_os_str(), new.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    let found: Value = serde_json::from_str(out).unwrap();
    assert_eq!((status, complaint), (Some(i32::from(found["equal"] == false)), ""), "{out}");
    found
}

/// A raw component of bytes.
fn bytes(offset: usize, length: usize) -> Vec<(&'static str, Vec<u8>)> {
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
        assert_eq!(succeeded_text(in_corpus(&["diff", &old, &new])), "", "{old} {new}");
        let found = succeeded_text(in_corpus(&["diff", "--json", &old, &new]));
        let wanted = "{\"schema\":2,\"equal\":true,\"added\":[],\"removed\":[],\"changed\":[],\"attributes\":false}\n";
        assert_eq!(found, wanted, "{old} {new}");
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
    // The bytes of `bytes` and of `all`.
    data[384 - 64] = 0;
    data[577 - 64] = 2;
    data.resize(640 - 64, 0);
    let new = file("diff-new.zt", &new, &data);
    let wanted = "\
~ \"all\": format dense -> theirs?, shape [2] -> [1], type (data u8 -> u16), components (+c), bytes (data)
~ \"bytes\": bytes
~ \"format\": format dense -> mine?
- \"gone\"
+ \"new\"
~ \"roles\": components (-b, +c)
~ \"shape\": shape [2, 3] -> [3, 2]
~ \"type\": type u8 -> bool
";
    assert_eq!(lines(&old, &new), wanted);
    let changed = |name: &str, what: &[&str]| json!({ "name": name, "what": what });
    let wanted = json!({
        "schema": 2,
        "equal": false,
        "added": ["new"],
        "removed": ["gone"],
        "changed": [
            changed("all", &["format", "shape", "type", "components", "bytes"]),
            changed("bytes", &["bytes"]),
            changed("format", &["format"]),
            changed("roles", &["components"]),
            changed("shape", &["shape"]),
            changed("type", &["type"]),
        ],
        "attributes": false,
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
    assert_eq!(lines(&plain, &fp8), "~ \"w\": type u8 -> f8_e4m3fn\n");
    assert_eq!(lines(&fp8, &unknown), "~ \"w\": type f8_e4m3fn -> f4? (u8)\n");
    assert_eq!(lines(&unknown, &wider), "~ \"w\": type f4? (u8) -> f4? (u16)\n");
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
        found.starts_with("~ \"w\": bytes (r00, r01, ") && found.ends_with(", r15, …)\n"),
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
    assert_eq!(succeeded_text(tolerant(&wide, &narrow)), "");
    let output = tolerant(&wide, &other);
    assert_eq!(ended(&output), (Some(1), "~ \"w\": bytes (coords)\n", ""));
    // Such a file has to be asked for.
    let output = zten(["diff".as_ref(), wide.as_os_str(), narrow.as_os_str()]);
    let (status, out, complaint) = ended(&output);
    assert_eq!((status, out), (Some(1), ""));
    assert!(complaint.contains("index-dtype"), "{complaint}");
}

#[test]
fn bools_of_0_1_are_compared_by_truth() {
    let fields = entry("w", ("bool", "dense"), &[4], (64, 4), &[]);
    let old = old_file("diff-bools.zt", &[fields], &[0, 1, 2, 0x80]);
    let with = |name: &str, data: &[u8]| {
        file(name, &[("w", object("dense", &[4], &[("data", raw("bool", 64, 4, &[]))]))], data)
    };
    assert_eq!(lines(&old, &with("diff-bools-same.zt", &[0, 1, 1, 1])), "");
    let other = with("diff-bools-other.zt", &[0, 1, 1, 0]);
    assert_eq!(lines(&old, &other), "~ \"w\": bytes\n");
}

#[test]
fn names_are_escaped_and_in_bytewise_order() {
    let one = |offset| object("mine", &[], &[("ro\nle", bytes(offset, 1))]);
    let long = "n".repeat(300);
    let names = ["\u{1b}[2J", "\"", "", "Z", "a", "é", long.as_str(), "attributes"];
    let objects: Vec<_> =
        names.iter().enumerate().map(|(n, name)| (*name, one(64 + n * 64))).collect();
    let all = file("diff-names.zt", &objects, &[1; 64 * 8]);
    let none = file("diff-no-names.zt", &[], &[]);
    let sorted = ["", "\\u{1b}[2J", "\\u{22}", "Z", "a", "attributes", long.as_str(), "é"]
        .map(str::to_owned);
    let wanted = |sign: &str| sorted.clone().map(|name| format!("{sign} \"{name}\"\n")).concat();
    assert_eq!(lines(&none, &all), wanted("+"));
    assert_eq!(lines(&all, &none), wanted("-"));
    let found = document(&none, &all);
    assert_eq!(found["added"], json!(["", "\u{1b}[2J", "\"", "Z", "a", "attributes", long, "é"]));
    assert_eq!(found["removed"], json!([]));
    // Roles and words, too.
    let other = object("\u{202e}", &[], &[("\u{1b}", bytes(64, 1))]);
    let other = file("diff-other-names.zt", &[("a", other)], &[1]);
    let line = lines(&all, &other).lines().find(|line| line.starts_with('~')).unwrap().to_owned();
    let wanted =
        "~ \"a\": format mine? -> \"\\u{202e}\"?, components (+\"\\u{1b}\", -\"ro\\u{a}le\")";
    assert_eq!(line, wanted);
}

#[test]
fn refused_files_are_not_compared() {
    let valid = "accept/1.2.3/scalar.zt";
    let bad = "reject/bool-value--v12-second-object.zt";
    let worse = "reject/blob-alignment--v12-72.zt";
    let unread = "accept/unsupported-dtype--v01-unknown.zt";
    let unverified = "accept/v01-checksum-unverifiable-unknown.zt";
    for (old, new, status, complaints) in [
        (bad, valid, 1, &["rule bool-value, v1.2 §2) in \"v\"/data at byte 0x80"][..]),
        (valid, bad, 1, &["rule bool-value"]),
        (bad, bad, 1, &["rule bool-value"]),
        (bad, worse, 1, &["rule bool-value", "rule blob-alignment"]),
        (valid, unread, 1, &["rule unsupported-dtype, v0.1 §8) in \"w\"/data"]),
        (unread, unread, 1, &["rule unsupported-dtype"]),
        (unverified, valid, 1, &["rule unsupported-digest"]),
        ("missing", valid, 2, &["missing: "]),
        (bad, "missing", 2, &["rule bool-value", "missing: "]),
        (valid, "accept", 2, &["not a regular file"]),
    ] {
        for json in [&[][..], &["--json"]] {
            let output = in_corpus(&[&["diff", old, new], json].concat());
            let (found, out, complaint) = ended(&output);
            assert_eq!((found, out), (Some(status), ""), "{old} {new}");
            for part in complaints {
                assert!(complaint.contains(part), "{old} {new}: {complaint}");
            }
        }
    }
    // What differs already is validated to its end.
    let checksum = [("checksum", text("crc32c:00000000"))];
    let fields = entry("w", ("float32", "dense"), &[1], (64, 4), &checksum);
    let path = old_file("diff-digest.zt", &[fields], &[1; 4]);
    let other = file("diff-nothing.zt", &[], &[]);
    let output = zten(["diff".as_ref(), path.as_os_str(), other.as_os_str()]);
    assert_eq!((ended(&output).0, ended(&output).1), (Some(1), ""));
    assert!(ended(&output).2.contains("digest-mismatch"));
}

#[test]
fn usage() {
    let valid = "accept/1.2.3/scalar.zt";
    for args in [&["diff"][..], &["diff", valid], &["diff", valid, valid, valid]] {
        assert_eq!(in_corpus(args).status.code(), Some(2));
    }
    let help = succeeded_text(zten(["diff", "--help"]));
    assert!(help.contains("1  they differ, or a file is refused"), "{help}");
    let output = in_corpus(&["diff", "--limit", "rank=0", valid, valid]);
    assert_eq!(output.status.code(), Some(0), "scalars have no rank");
    let output = in_corpus(&["diff", "--limit", "rank=1", "accept/1.2.3/dense_all.zt", valid]);
    assert!(ended(&output).2.contains("limit-rank"));
}
