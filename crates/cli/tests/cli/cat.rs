//! Tests that `zten cat` prints the elements of tensors: as text, JSON, bytes and NumPy files.

use std::fs;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::files::{entry, file, object, old_file, raw, text};
use crate::{
    command, corpus_folder, ended, failed, in_corpus, succeeded, succeeded_json, succeeded_text,
    zten,
};

const DENSE: &str = "accept/1.2.3/dense_all.zt";

/// Parses the elements that were printed as JSON.
fn elements(output: Output) -> Value {
    let mut document = succeeded_json(output);
    assert_eq!(document["schema"], 2);
    document["elements"].take()
}

#[test]
fn elements_are_printed_as_text_and_json() {
    let text = succeeded_text(in_corpus(&["cat", DENSE, "t_f32"]));
    assert_eq!(text, "[[-1.25, -0.75, -0.25],\n [0.25, 0.75, 1.25]]\n");
    let found = elements(in_corpus(&["cat", DENSE, "t_f32", "--json"]));
    assert_eq!(found, json!([[-1.25, -0.75, -0.25], [0.25, 0.75, 1.25]]));
    let text = succeeded_text(in_corpus(&["cat", "accept/1.2.3/complex.zt", "c64"]));
    let wanted =
        "[[-1.25-0.75j, -0.25+0.25j, 0.75+1.25j],\n [1.75+2.25j, 2.75+3.25j, 3.75+4.25j]]\n";
    assert_eq!(text, wanted);
    let found = elements(in_corpus(&["cat", "accept/1.2.3/complex.zt", "c64_scalar", "--json"]));
    assert_eq!(found.as_array().unwrap().len(), 2);
}

#[test]
fn numbers_beyond_json() {
    let found = elements(in_corpus(&["cat", "accept/1.2.3/fp8.zt", "f8_e5m2", "--json"]));
    assert_eq!(found[7][12], json!({ "$float": "Infinity" }));
    assert_eq!(found[15][12], json!({ "$float": "-Infinity" }));
    assert_eq!(found[7][13], json!({ "$float": "NaN" }));
    assert_eq!(found[3][12], 1.0);
    let data: Vec<u8> = [u64::MAX, 1 << 63].iter().flat_map(|n| n.to_le_bytes()).collect();
    let objects = [("w", object("dense", &[2], &[("data", raw("u64", 64, 16, &[]))]))];
    let path = file("exact.zt", &objects, &data);
    let args = ["cat".as_ref(), "--json".as_ref(), path.as_os_str(), "w".as_ref()];
    assert_eq!(elements(zten(args)), json!([u64::MAX, 1_u64 << 63]));
}

#[test]
fn raw_bytes() {
    let bytes = fs::read(corpus_folder().join("accept/1.2.3/attributes.zt")).unwrap();
    let raw = succeeded(in_corpus(&["cat", "accept/1.2.3/attributes.zt", "t", "--raw"]));
    assert_eq!(raw, &bytes[64..72]);
    // Big-endian data is printed in little-endian order.
    let raw = succeeded(in_corpus(&["cat", "accept/0.1.0/big_endian.zt", "be_f64", "--raw"]));
    let found = elements(in_corpus(&["cat", "accept/0.1.0/big_endian.zt", "be_f64", "--json"]));
    let first = f64::from_le_bytes(*raw.first_chunk().unwrap());
    assert_eq!(found[0].as_f64().map(f64::to_bits), Some(first.to_bits()));
}

#[test]
fn numpy_files() {
    let npy = succeeded(in_corpus(&["cat", DENSE, "t_bf16", "--npy"]));
    let raw = succeeded(in_corpus(&["cat", DENSE, "t_bf16", "--raw"]));
    let literal = "{'descr': '<V2', 'fortran_order': False, 'shape': (2, 3), }";
    let mut wanted = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    wanted.extend(format!("{literal:117}\n").bytes());
    assert_eq!(wanted.len(), 128);
    wanted.extend(raw);
    assert_eq!(npy, wanted);
    let header = |args: &[&str]| {
        let npy = succeeded(in_corpus(&[&["cat", "--npy"], args].concat()));
        String::from_utf8_lossy(&npy[10..npy.len().min(128)]).trim_end().to_owned()
    };
    assert_eq!(
        header(&["accept/1.2.3/complex.zt", "c64_scalar"]),
        "{'descr': '<c8', 'fortran_order': False, 'shape': (), }"
    );
    assert_eq!(
        header(&["accept/1.2.3/csr_raw.zt", "csr_f32", "--component=indptr"]),
        "{'descr': '<u8', 'fortran_order': False, 'shape': (4,), }"
    );
    assert_eq!(
        header(&["accept/1.2.3/fp8.zt", "f8_e4m3fn", "--slice=:4"]),
        "{'descr': '|u1', 'fortran_order': False, 'shape': (4, 16), }"
    );
}

#[test]
fn old_bools() {
    let entries = [entry("b", "bool", &[4], (64, 4), &[])];
    let path = old_file("old-bools.zt", &entries, &[0, 1, 2, 255]);
    let cat = |form: &str| zten(["cat".as_ref(), form.as_ref(), path.as_os_str(), "b".as_ref()]);
    assert_eq!(elements(cat("--json")), json!([false, true, true, true]));
    assert!(succeeded(cat("--npy")).ends_with(&[b'\n', 0, 1, 1, 1]));
    assert_eq!(succeeded(cat("--raw")), [0, 1, 2, 255]);
}

#[test]
fn slices() {
    let slice =
        |slice: &str| elements(in_corpus(&["cat", DENSE, "t_f32", "--json", "--slice", slice]));
    assert_eq!(slice("0"), json!([-1.25, -0.75, -0.25]));
    assert_eq!(slice("-1,-1"), json!(1.25));
    assert_eq!(slice(":,1"), json!([-0.75, 0.75]));
    assert_eq!(slice("1:2,1:"), json!([[0.75, 1.25]]));
    assert_eq!(slice("0:99,:"), json!([[-1.25, -0.75, -0.25], [0.25, 0.75, 1.25]]));
    assert_eq!(slice("1:1"), json!([]));
    assert_eq!(slice("::2,::2"), json!([[-1.25, -0.25]]));
    assert_eq!(slice("-1,-3::2"), json!([0.25, 1.25]));
    let backwards = in_corpus(&["cat", DENSE, "t_f32", "--slice=::-1"]);
    assert!(ended(&backwards).2.contains("step must be 1 or more, found -1"));
    for wrong in ["2", "0,0,0", "x", "0:1:2:3", "::-1", "::0"] {
        let output = in_corpus(&["cat", DENSE, "t_f32", "--slice", wrong]);
        assert_eq!((output.status.code(), ended(&output).1), (Some(2), ""), "{wrong}");
    }
    let sparse = ["cat", "accept/1.2.3/csr_raw.zt", "csr_f32", "--component=values", "--slice=0"];
    assert_eq!(in_corpus(&sparse).status.code(), Some(2));
}

#[test]
fn dots_in_slices() {
    let slice = |slice: &str| in_corpus(&["cat", DENSE, "t_f32", "--json", "--slice", slice]);
    assert_eq!(elements(slice("..., 0")), json!([-1.25, 0.25]));
    assert_eq!(elements(slice("0, ...")), json!([-1.25, -0.75, -0.25]));
    assert_eq!(elements(slice("1, ..., ::2")), json!([0.25, 1.25]));
    assert_eq!(elements(slice("...")), json!([[-1.25, -0.75, -0.25], [0.25, 0.75, 1.25]]));
    for (wrong, why) in [
        ("...,...", "--slice: ... is allowed only once"),
        ("0,...,0,0", "--slice: 3 dimensions given, but the shape has 2"),
        ("....", "--slice: \"....\" is not a number"),
    ] {
        let complaint = failed(slice(wrong), 2);
        assert!(complaint.ends_with(&format!(": {why}\n")), "{complaint}");
    }
}

/// Checks that the elements of quantized blocks are sliced as those of dense objects are.
#[test]
fn slices_of_blocks() {
    for path in ["other/gguf/accept/blocks.gguf", "v2/accept/gguf.zt", "v2/accept/mx.zt"] {
        let listed = succeeded_json(in_corpus(&["ls", "--json", path]));
        for object in listed["objects"].as_array().unwrap() {
            let (name, shape) = (object["name"].as_str().unwrap(), &object["shape"]);
            if shape.as_array().unwrap().len() != 2 {
                continue;
            }
            let cat = |more: &[&str]| {
                elements(in_corpus(&[&["cat", "--json", path, name], more].concat()))
            };
            let all = cat(&[]);
            let rows = all.as_array().unwrap();
            assert_eq!(cat(&["--slice=-1"]), rows[rows.len() - 1], "{path} {name}");
            let column: Vec<_> = rows.iter().map(|row| &row[1]).collect();
            assert_eq!(cat(&["--slice=..., 1"]), json!(column), "{path} {name}");
            let every: Vec<_> = rows[0].as_array().unwrap().iter().skip(1).step_by(3).collect();
            assert_eq!(cat(&["--slice=:1,1::3"]), json!([every]), "{path} {name}");
        }
    }
    let sparse = in_corpus(&[
        "cat",
        "accept/1.2.3/csr_raw.zt",
        "csr_f32",
        "--component=values",
        "--slice=0",
    ]);
    assert!(ended(&sparse).2.contains("--slice is for dense tensors and quantized blocks"));
}

/// Checks that an element is printed with the fewest digits that identify it in its own type: the numbers of `f16`, `bf16` and
/// `f8_e4m3fn` that are closest to 0.1 are all printed as 0.1.
#[test]
fn digits_of_narrow_floats() {
    let e4m3 = raw("u8", 192, 1, &[("type", text("f8_e4m3fn"))]);
    let objects = [
        ("b", object("dense", &[1], &[("data", raw("bf16", 128, 2, &[]))])),
        ("f", object("dense", &[1], &[("data", e4m3)])),
        ("h", object("dense", &[1], &[("data", raw("f16", 64, 2, &[]))])),
    ];
    let mut data = vec![0; 192];
    data[..2].copy_from_slice(&[0x66, 0x2e]);
    data[64..66].copy_from_slice(&[0xcd, 0x3d]);
    data[128] = 0x1d;
    let path = file("digits.zt", &objects, &data);
    for name in ["b", "f", "h"] {
        let cat =
            |form: &str| zten(["cat".as_ref(), path.as_os_str(), name.as_ref(), form.as_ref()]);
        assert_eq!(succeeded_text(cat("--full")), "[0.1]\n", "{name}");
        assert_eq!(elements(cat("--json")), json!([0.1]), "{name}");
    }
}

/// Checks slices of a component of many chunks: a raw one, of which only parts are read, and one with a digest, which is
/// read whole.
#[test]
fn slices_of_an_array_larger_than_memory() {
    const ROWS: usize = 700;
    const COLUMNS: usize = 301;
    let data: Vec<u8> =
        (0..u32::try_from(ROWS * COLUMNS).unwrap()).flat_map(u32::to_le_bytes).collect();
    let cut = |rows: std::ops::Range<usize>, columns: std::ops::Range<usize>| -> Vec<u8> {
        rows.flat_map(|row| {
            let row = row * COLUMNS;
            &data[(row + columns.start) * 4..(row + columns.end) * 4]
        })
        .copied()
        .collect()
    };
    let length = data.len();
    // If the component has a digest, the component is read whole. The algorithm of this digest is unknown, so the status
    // is 3.
    let digest = [("digest", text("x:"))];
    for (more, status) in [(&[][..], 0), (&digest[..], 3)] {
        let component = raw("u32", 64, length, more);
        let objects = [("w", object("dense", &[ROWS, COLUMNS], &[("data", component)]))];
        let path = file(&format!("larger-{status}.zt"), &objects, &data);
        for (slice, wanted) in [
            (":", cut(0..ROWS, 0..COLUMNS)),
            ("100:600", cut(100..600, 0..COLUMNS)),
            (":,300", cut(0..ROWS, 300..301)),
            ("699,:", cut(699..700, 0..COLUMNS)),
            ("1:-1,5:200", cut(1..699, 5..200)),
            (
                "5::231",
                [
                    cut(5..6, 0..COLUMNS),
                    cut(236..237, 0..COLUMNS),
                    cut(467..468, 0..COLUMNS),
                    cut(698..699, 0..COLUMNS),
                ]
                .concat(),
            ),
            (
                "698:,::150",
                [
                    cut(698..699, 0..1),
                    cut(698..699, 150..151),
                    cut(698..699, 300..301),
                    cut(699..700, 0..1),
                    cut(699..700, 150..151),
                    cut(699..700, 300..301),
                ]
                .concat(),
            ),
        ] {
            let args = ["--raw".as_ref(), "--slice".as_ref(), slice.as_ref()];
            let head = ["cat".as_ref(), path.as_os_str(), "w".as_ref()];
            let output = zten(head.into_iter().chain(args));
            assert_eq!(output.status.code(), Some(status), "{slice}");
            assert!(output.stdout == wanted, "{slice}");
        }
    }
}

#[test]
fn patterns_choose_objects() {
    let by_index = succeeded_text(in_corpus(&["cat", DENSE, "--index", "3"]));
    assert_eq!(by_index, succeeded_text(in_corpus(&["cat", DENSE, "t_f32"])));
    let indptr = ["cat", "accept/1.2.3/csr_raw.zt", "csr_f32", "--component", "indptr"];
    assert_eq!(succeeded_text(in_corpus(&indptr)), "[0, 2, 2, 4]\n");
    let complaint = |args: &[&str]| failed(in_corpus(&[&["cat"], args].concat()), 2);
    let roles = complaint(&["accept/1.2.3/csr_raw.zt", "csr_f32"]);
    let wanted = "\"csr_f32\" has several components (indices, indptr, values): choose one with --component\n";
    assert!(roles.ends_with(wanted), "{roles}");
    let roles = complaint(&["accept/1.2.3/csr_raw.zt", "csr_f32", "--component", "data"]);
    assert!(roles.contains("no component data"), "{roles}");
    assert!(complaint(&[DENSE, "T_F32\n"]).contains("no tensor named \"T_F32\\n\""));
    let near = complaint(&[DENSE, "t_fp32"]);
    assert!(near.contains("no tensor named \"t_fp32\"; did you mean \"t_f32\"?"), "{near}");
    let far = complaint(&[DENSE, "embedding"]);
    assert!(far.ends_with(": no tensor named \"embedding\"\n"), "{far}");
    let near = complaint(&["accept/1.2.3/csr_raw.zt", "csr_f32", "--component=indpt"]);
    assert!(near.contains("indices, indptr, values; did you mean indptr?"), "{near}");
    assert!(!roles.contains("did you mean"), "{roles}");
    assert!(
        complaint(&[DENSE, "--index", "13"]).contains(
            ": no tensor 13: the file has 13 tensors, and the first one has the index 0\n"
        )
    );
    complaint(&[DENSE]);
    complaint(&[DENSE, "t_f32", "--index", "3"]);
    complaint(&[DENSE, "t_f32", "--raw", "--npy"]);
    complaint(&["missing", "t_f32"]);
}

#[test]
fn nothing_is_printed_before_it_is_verified() {
    let digest = [("digest", text("crc32c:00000000"))];
    let component = raw("u8", 64, 4, &digest);
    let objects = [("w", object("dense", &[4], &[("data", component)]))];
    let path = file("mismatch.zt", &objects, &[7; 64]);
    for form in ["--raw", "--npy", "--json"] {
        let complaint =
            failed(zten(["cat".as_ref(), form.as_ref(), path.as_os_str(), "w".as_ref()]), 1);
        assert!(complaint.contains("(rule digest-mismatch, v1.2 §1) in \"w\"/data"), "{complaint}");
    }
    let output = in_corpus(&["cat", "reject/bool-value--v12-2-first.zt", "--index=0"]);
    assert_eq!((output.status.code(), ended(&output).1), (Some(1), ""));
}

#[test]
fn what_cannot_be_read_is_rejected() {
    for file in ["dtype--v01-unknown", "encoding--v01-unknown", "layout--v01-sparse"] {
        let path = format!("accept/unsupported-{file}.zt");
        let complaint = failed(in_corpus(&["cat", &path, "w"]), 3);
        let rule = file.split_once("--").unwrap().0;
        assert!(complaint.contains(&format!("(rule unsupported-{rule}, ")), "{complaint}");
    }
    let layout = "accept/unsupported-layout--v01-sparse.zt";
    assert_eq!(succeeded(in_corpus(&["cat", layout, "w", "--raw"])).len(), 16);
}

#[test]
fn shapes_without_elements() {
    let objects = [("w", object("dense", &[usize::MAX, 0], &[("data", raw("f32", 64, 0, &[]))]))];
    let path = file("no-elements.zt", &objects, &[]);
    let cat = |form: &str| zten(["cat".as_ref(), form.as_ref(), path.as_os_str(), "w".as_ref()]);
    assert_eq!(succeeded_text(cat("--json")), "{\"schema\":2,\"elements\":[]}\n");
    assert_eq!(succeeded(cat("--raw")), b"");
    assert_eq!(succeeded(cat("--npy")).len(), 128);
    let sliced = zten(["cat".as_ref(), "--slice=5:".as_ref(), path.as_os_str(), "w".as_ref()]);
    assert_eq!(succeeded_text(sliced), "[]\n");
}

#[test]
fn readers_that_leave_are_no_failure() {
    const LENGTH: usize = 4 << 20;
    let objects = [("w", object("dense", &[LENGTH], &[("data", raw("u8", 64, LENGTH, &[]))]))];
    let path = file("long.zt", &objects, &vec![1; LENGTH]);
    let mut child = command()
        .args(["cat".as_ref(), path.as_os_str(), "w".as_ref()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut start = [0; 100];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut start).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), ended(&output).2), (Some(0), ""));
}

/// Checks that the middle of large arrays is omitted only on a terminal, and there not with `--full` or `--json`.
#[cfg(unix)]
#[test]
fn large_arrays_on_a_terminal() {
    use crate::terminal::{On, run};
    let bytes: Vec<u8> = (0..1100_u16).flat_map(u16::to_le_bytes).collect();
    let wide = object("dense", &[11, 100], &[("data", raw("u16", 64, 2200, &[]))]);
    let list = object("other", &[1], &[("data", raw("u16", 64, 2200, &[]))]);
    for (object, shown) in [
        (wide, "[[0, 1, 2, ..., 97, 98, 99],\n [100, "),
        (list, "[0, 1, 2, ..., 1097, 1098, 1099]\n"),
    ] {
        let path = file("cat-large.zt", &[("w", object)], &bytes);
        let args = ["cat", path.to_str().unwrap(), "w"];
        let all = succeeded_text(zten(args));
        assert!(!all.contains("...") && all.contains(", 549, 55"), "{all}");
        let terminal = run(On::Both, &[], args).terminal;
        assert!(terminal.starts_with(shown), "{terminal}");
        // Only standard output matters: if it is not a terminal, all elements are printed, wherever errors go.
        assert_eq!(run(On::Output, &[], args).terminal, terminal);
        assert_eq!(run(On::Errors, &[], args).pipe, all);
        for option in ["--full", "--json", "--no-sandbox"] {
            let with = args.iter().chain([&option]);
            let terminal = run(On::Both, &[], with.clone()).terminal;
            assert_eq!(terminal.contains("..."), option == "--no-sandbox", "{option}");
        }
        assert_eq!(run(On::Both, &[], args.iter().chain([&"--full"])).terminal, all);
    }
    // An array of a thousand elements is printed whole.
    let object = object("dense", &[1000], &[("data", raw("u8", 64, 1000, &[]))]);
    let path = file("cat-thousand.zt", &[("w", object)], &[0; 1000]);
    let shown = run(On::Both, &[], ["cat", path.to_str().unwrap(), "w"]).terminal;
    assert!(!shown.contains("..."), "{shown}");
}

#[cfg(unix)]
#[test]
fn a_terminal_gets_no_bytes() {
    use crate::terminal::{On, run};
    for option in ["--raw", "--npy"] {
        let shown = run(On::Both, &[], ["cat", "accept/1.2.3/dense_all.zt", "t_f32", option]);
        assert!(shown.terminal.starts_with("standard output is a terminal, and --raw and --npy"));
    }
}
