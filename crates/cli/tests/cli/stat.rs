//! Tests that `zten stat` computes the statistics of the elements that `zten cat` prints.

use std::fs;

use serde_json::{Value, json};
use zten_testkit::safetensors;

use crate::files::{file, object, raw, text};
use crate::{corpus_folder, ended, in_corpus, succeeded_json, succeeded_text, zten};

/// Appends the elements that `cat` prints to `seen`, as numbers. An infinity becomes positive, whatever its sign is.
fn slowly(elements: &Value, seen: &mut Vec<f64>) {
    match elements {
        Value::Array(rows) => rows.iter().for_each(|row| slowly(row, seen)),
        Value::Bool(own) => seen.push(f64::from(*own)),
        Value::Number(own) => seen.push(own.as_f64().unwrap()),
        other => {
            seen.push(if other.to_string().contains("NaN") { f64::NAN } else { f64::INFINITY });
        }
    }
}

/// Compares the statistics `found` with those of the elements `seen`. Extremes, mean and deviation may differ by `by` times the
/// number, or by `by` if the number is below 1.
fn check(found: &Value, seen: &[f64], by: f64) {
    let close = |key: &str, wanted: f64| {
        let found = found[key].as_f64().unwrap();
        assert!((found - wanted).abs() <= by * wanted.abs().max(1.0), "{key}: {found} {wanted}");
    };
    let finite: Vec<f64> = seen.iter().copied().filter(|own| own.is_finite()).collect();
    let count = |is: fn(&f64) -> bool| json!(seen.iter().filter(|own| is(own)).count());
    assert_eq!(found["count"], json!(seen.len()));
    assert_eq!(found["zeros"], count(|own| *own == 0.0));
    assert_eq!(found["nan"], count(|own| own.is_nan()));
    assert_eq!(found["infinities"], count(|own| own.is_infinite()));
    if finite.is_empty() {
        assert_eq!((&found["min"], &found["mean"]), (&Value::Null, &Value::Null));
        return;
    }
    let number = f64::from(u32::try_from(finite.len()).unwrap());
    let mean = finite.iter().sum::<f64>() / number;
    let squares = finite.iter().map(|own| (own - mean).powi(2)).sum::<f64>();
    close("min", finite.iter().copied().fold(f64::INFINITY, f64::min));
    close("max", finite.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    close("mean", mean);
    close("deviation", (squares / number).sqrt());
}

/// Compares the statistics of all objects that were not skipped with those of the elements that `cat` prints. Returns the number of
/// these objects.
fn compare(path: &str) -> usize {
    let document = succeeded_json(in_corpus(&["stat", "--json", path]));
    let objects = document["objects"].as_array().unwrap();
    let read = objects.iter().filter(|object| object["skipped"] == Value::Null);
    for object in read.clone() {
        let name = object["name"].as_str().unwrap();
        let role = match object["implied_zeros"] {
            Value::Null => &[][..],
            _ => &["--component=values"],
        };
        let printed = in_corpus(&[&["cat", "--json", path, name], role].concat());
        let mut seen = Vec::new();
        slowly(&succeeded_json(printed)["elements"], &mut seen);
        // Narrow floats are printed with few digits.
        let narrow = path.contains("fp8") || path.contains("types") || name.contains("16");
        check(&object["statistics"], &seen, if narrow { 1e-2 } else { 1e-9 });
    }
    read.count()
}

#[test]
fn statistics_equal_those_of_the_printed_elements() {
    for (path, count) in [
        ("accept/1.2.3/dense_all.zt", 13),
        ("accept/1.2.3/fp8.zt", 4),
        ("accept/1.2.3/zstd.zt", 1),
        ("accept/1.2.3/csr_raw.zt", 4),
        ("accept/0.1.0/big_endian.zt", 1),
        ("v2/accept/mx.zt", 1),
        ("v2/accept/mx-e5m2.zt", 1),
        ("v2/accept/gguf.zt", 1),
        ("other/gguf/accept/tiny.gguf", 2),
        ("other/npy/accept/columns.npy", 1),
        ("other/npz/accept/stored.npz", 1),
        ("other/safetensors/accept/types.safetensors", 5),
    ] {
        let compared = compare(path);
        assert!(compared >= count, "{path}: {compared}");
    }
}

#[test]
fn one_of_a_kind_is_singular() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.zt");
    for (value, wanted) in [
        (f32::INFINITY, "\n1 tensor, 1 element, 0 NaN, 1 infinity\n"),
        (1.0, "\n1 tensor, 1 element, 0 NaN, 0 infinities\n"),
    ] {
        let mut writer = zten::Writer::create(&path).unwrap();
        writer.add("w", &[1], &[value]).unwrap();
        writer.finish().unwrap();
        let text = succeeded_text(zten(["stat", path.to_str().unwrap()]));
        assert!(text.ends_with(wanted), "{text}");
    }
}

#[test]
fn a_line_for_each_tensor() {
    let text = succeeded_text(in_corpus(&["stat", "accept/1.2.3/csr_raw.zt", "csr_f32", "nnz0"]));
    let wanted = "\
NAME     TYPE        SHAPE     MIN   MAX     MEAN     STD  ZEROS  STORED  IMPLIED
csr_f32  sparse_csr  [3, 4]  -1.25  0.25  -0.5000  0.5590      0       4        8
nnz0     sparse_csr  [3, 4]      -     -        -       -      0       0       12

TYPE  TENSORS  ELEMENTS    MIN   MAX     MEAN     STD  ZEROS
f32         2         4  -1.25  0.25  -0.5000  0.5590      0
2 tensors, 4 elements, 0 NaN, 0 infinities
";
    assert_eq!(text, wanted);
    let text = succeeded_text(in_corpus(&["stat", "accept/1.2.3/complex.zt"]));
    let line = text.lines().find(|line| line.starts_with("c64_scalar")).unwrap();
    assert!(line.contains(" complex64 ") && line.ends_with("  complex"), "{text}");
    assert!(
        text.ends_with("\n3 tensors, 0 elements, 0 NaN, 0 infinities, 3 skipped: complex\n"),
        "{text}"
    );
    let text = succeeded_text(in_corpus(&["stat", "accept/unsupported-layout--v01-sparse.zt"]));
    assert!(text.contains("1 skipped: unread (unsupported-layout)"), "{text}");
    let text = succeeded_text(in_corpus(&["stat", "accept/unsupported-dtype--v01-unknown.zt"]));
    assert!(text.contains("1 skipped: unread (unsupported-dtype)"), "{text}");
}

/// Writes a file with three dtypes, NaN in one tensor, and a name that a spreadsheet would interpret as a formula.
fn several(folder: &std::path::Path) -> std::path::PathBuf {
    let path = folder.join("several.safetensors");
    let tensors = [
        ("a.2".to_owned(), "F32", [2], 8),
        ("a.10".to_owned(), "F32", [2], 8),
        ("=b,\u{7f}".to_owned(), "BF16", [2], 4),
        ("c".to_owned(), "I8", [4], 4),
    ];
    let floats = [1.0_f32, 3.0, f32::NAN, 2.5];
    let mut data: Vec<u8> = floats.iter().flat_map(|own| own.to_le_bytes()).collect();
    // These are 8 and -8 in bf16.
    data.extend([0, 0x41, 0, 0xc1]);
    data.extend([0, 1, 2, 100]);
    fs::write(&path, safetensors::file(tensors, &data)).unwrap();
    path
}

#[test]
fn tensors_are_sorted_by_their_statistics() {
    let folder = tempfile::tempdir().unwrap();
    let path = several(folder.path());
    let names = |options: &[&str]| -> Vec<String> {
        let arguments = [&["stat", path.to_str().unwrap()], options].concat();
        let text = succeeded_text(zten(arguments));
        let rows = text.lines().skip(1).take(4);
        rows.map(|line| line.split("  ").next().unwrap().to_owned()).collect()
    };
    let odd = r#""=b,\u{7f}""#;
    assert_eq!(names(&[]), [odd, "a.2", "a.10", "c"]);
    assert_eq!(names(&["--sort=std"]), ["c", odd, "a.2", "a.10"]);
    assert_eq!(names(&["--sort=max"]), ["c", odd, "a.2", "a.10"]);
    assert_eq!(names(&["--sort=nan"]), ["a.10", odd, "a.2", "c"]);
    let json = |options: &[&str]| {
        let arguments = [&["stat", "--json", path.to_str().unwrap()], options].concat();
        succeeded_json(zten(arguments))
    };
    let first = |document: &Value| document["objects"][0]["name"].clone();
    assert_eq!(first(&json(&[])), "a.2");
    assert_eq!(first(&json(&["--sort=nan"])), "a.10");
    let totals = &json(&[])["totals"];
    let of = |at: usize| {
        (totals[at]["dtype"].as_str().unwrap(), totals[at]["tensors"].as_u64().unwrap())
    };
    assert_eq!([of(0), of(1), of(2)], [("f32", 2), ("i8", 1), ("bf16", 1)]);
    assert_eq!(totals[0]["statistics"]["nan"], 1);
    assert_eq!(totals[0]["statistics"]["mean"], 6.5 / 3.0);
}

#[test]
fn comma_separated_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = several(folder.path());
    let shown = succeeded_text(zten(["stat", "--csv", path.to_str().unwrap()]));
    let wanted = "\
name,layout,dtype,shape,count,zeros,nan,infinities,min,max,mean,deviation,implied_zeros,skipped
a.2,dense,f32,2,2,0,0,0,1.0,3.0,2.0,1.0,,
a.10,dense,f32,2,2,0,1,0,2.5,2.5,2.5,0.0,,
\"\"\"=b,\\u{7f}\"\"\",dense,bf16,2,2,0,0,0,-8.0,8.0,0.0,8.0,,
c,dense,i8,4,4,1,0,0,0.0,100.0,25.75,42.87408891160254,,
";
    assert_eq!(shown, wanted);
    let shown = succeeded_text(in_corpus(&["stat", "--csv", "accept/1.2.3/complex.zt"]));
    assert!(shown.lines().skip(1).all(|line| line.ends_with(",,,,,,,,,,complex")), "{shown}");
    // The name of the type also looks like a formula.
    let component = [("data", raw("u8", 64, 1, &[("type", text("=1+1"))]))];
    let formula = file("stat-formula.zt", &[("t", object("dense", &[1], &component))], &[0]);
    let line = succeeded_text(zten(["stat".as_ref(), "--csv".as_ref(), formula.as_os_str()]));
    assert!(line.contains("\nt,dense,\"\"\"=1+1? (u8)\"\"\",1,"), "{line}");
    let both = zten(["stat", "--csv", "--json", path.to_str().unwrap()]);
    assert_eq!(both.status.code(), Some(2));
}

/// Checks the statistics of the weights of a matrix of codes: scale × (code − zero point).
#[test]
fn groups_of_codes() {
    let path = "accept/1.2.3/quantized_group.zt";
    let archive = zten::open(corpus_folder().join(path)).unwrap();
    let mut weights = [0_f32; 64];
    archive.tensor("q_proj").unwrap().quantized().unwrap().dequantize(&mut weights).unwrap();
    let found = &succeeded_json(in_corpus(&["stat", "--json", path]))["objects"][0];
    check(&found["statistics"], &weights.map(f64::from), 1e-9);
}

#[test]
fn unwanted_elements_fail() {
    let fp8 = "accept/1.2.3/fp8.zt";
    let of = |options: &[&str]| {
        let output = in_corpus(&[&["stat", fp8], options].concat());
        let (status, out, complaint) = ended(&output);
        assert!(
            out.contains("\n4 tensors, 1,024 elements, 10 NaN, 2 infinities\n")
                || !options.is_empty()
        );
        (status, complaint.to_owned())
    };
    assert_eq!(of(&[]), (Some(0), String::new()));
    let nan = format!("{fp8}: NaN in 4 tensors: f8_e4m3fn, f8_e4m3fnuz, f8_e5m2, f8_e5m2fnuz\n");
    let infinities = format!("{fp8}: infinities in 1 tensor: f8_e5m2\n");
    assert_eq!(of(&["--fail-on", "nan,inf"]), (Some(1), nan.clone() + &infinities));
    assert_eq!(of(&["--fail-on=inf", "--json"]), (Some(1), infinities));
    assert_eq!(of(&["--fail-on=inf", "*fnuz"]), (Some(0), String::new()));
    assert_eq!(of(&["--fail-on=x"]).0, Some(2));
    let (status, complaint) = of(&["f8_e5m3"]);
    assert_eq!(
        (status, complaint),
        (
            Some(2),
            format!(
                "{fp8}: no tensor matches the pattern \"f8_e5m3\"; did you mean \"f8_e5m2\"?\n"
            )
        )
    );
    // If there are many names, only some are listed.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nan.safetensors");
    let tensors = (0..20).map(|n| (format!("t{n}"), "F32", [1], 4));
    fs::write(&path, safetensors::file(tensors, &f32::NAN.to_le_bytes().repeat(20))).unwrap();
    let output = zten(["stat".as_ref(), path.as_os_str(), "--fail-on=nan".as_ref()]);
    assert!(
        ended(&output).2.ends_with(": NaN in 20 tensors: t0, t1, t2, t3, t4, t5, t6, t7, …\n"),
        "{output:?}"
    );
}

/// Checks a large file, whose objects consist of many chunks and are read in several threads, with and without a sandbox.
#[test]
fn large_files() {
    let count = 3_000_001;
    let bytes: Vec<u8> = (0..count)
        .flat_map(|n| f32::from(u16::try_from(n % 1000).unwrap()).to_le_bytes())
        .collect();
    let half = count * 4 / 2 / 64 * 64;
    let objects = [
        ("a", object("dense", &[half / 4], &[("data", raw("f32", 64, half, &[]))])),
        (
            "b",
            object(
                "dense",
                &[count - half / 4],
                &[("data", raw("f32", 64 + half, count * 4 - half, &[]))],
            ),
        ),
    ];
    let path = file("stat-large.zt", &objects, &bytes);
    let text = |options: &[&str]| {
        let arguments = [&["stat", path.to_str().unwrap()], options].concat();
        succeeded_text(zten(arguments))
    };
    let shown = text(&[]);
    let first = "a     f32   [1500000]  0.0  999.0  499.50  288.67  1,500";
    assert_eq!(shown.lines().nth(1), Some(first), "{shown}");
    assert_eq!(shown, text(&["--no-sandbox"]));
    assert!(shown.lines().all(|line| line.len() <= 80), "{shown}");
}

#[test]
fn invalid_files_are_rejected() {
    for rejected in ["reject/bool-value--v12-2-first.zt", "reject/blob-alignment--v12-72.zt"] {
        let output = in_corpus(&["stat", rejected]);
        assert_eq!((output.status.code(), ended(&output).1), (Some(1), ""), "{rejected}");
    }
    assert_eq!(in_corpus(&["stat", "missing"]).status.code(), Some(2));
    let limited = in_corpus(&["stat", "accept/1.2.3/zstd.zt", "--limit=decoded-total=1"]);
    assert_eq!(limited.status.code(), Some(1));
}

/// Checks that `--fail-on` does not accept a file with tensors that were not read.
#[test]
fn skipped_tensors_are_not_free_of_nan() {
    let types = corpus_folder().join("other/safetensors/accept/types.safetensors");
    let types = types.to_str().unwrap();
    succeeded_text(zten(["stat", types, "f32", "--fail-on=nan"]));
    let output = zten(["stat", types, "--fail-on=nan"]);
    let (status, _, complaint) = ended(&output);
    assert_eq!(status, Some(3), "{complaint}");
    assert!(complaint.contains(": c64 (complex)\n"), "{complaint}");
    succeeded_text(zten(["stat", types]));
}
