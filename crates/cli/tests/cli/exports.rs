//! Tests that `zten convert` into other formats keeps the content and never overwrites or truncates an existing file.

use std::fs;
use std::path::Path;
use std::process::Output;

use zten_corpus::other::safetensors;

use super::{
    corpus_folder, ended, failed, hash_of, other_format, succeeded_json, succeeded_text, zten,
};

fn convert(from: &Path, to: &Path, options: &[&str]) -> Output {
    let args = [&["convert", from.to_str().unwrap(), to.to_str().unwrap()], options].concat();
    zten(args)
}

#[test]
fn content_survives_a_conversion_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    succeeded_text(convert(&other_format("types.safetensors"), &path("types.zt"), &[]));
    succeeded_text(convert(
        &other_format("compressed.npz"),
        &path("types-of-numpy.zt"),
        &["--zstd"],
    ));
    succeeded_text(convert(&other_format("columns.npy"), &path("columns.zt"), &[]));
    let cases = [
        (path("types.zt"), "safetensors", 18),
        (path("types-of-numpy.zt"), "npz", 6),
        (path("columns.zt"), "npy", 1),
        (path("columns.zt"), "npz", 1),
        (path("columns.zt"), "safetensors", 1),
        (corpus_folder().join("v2/accept/tied.zt"), "safetensors", 2),
        (corpus_folder().join("accept/0.1.0/big_endian.zt"), "safetensors", 15),
    ];
    for (from, suffix, objects) in cases {
        let (out, again) = (path(&format!("columns.{suffix}")), path("again.zt"));
        let text = succeeded_text(convert(&from, &out, &["--force"]));
        let what = if objects == 1 { "1 tensor".to_owned() } else { format!("{objects} tensors") };
        assert!(text.contains(&format!(": written ({suffix}, {what}, ")), "{text}");
        succeeded_text(convert(&out, &again, &["--force"]));
        assert_eq!(hash_of(&from), hash_of(&again), "{} as {suffix}", from.display());
        // Without a sandbox, the command writes the same bytes.
        let free = path(&format!("free.{suffix}"));
        succeeded_text(convert(&from, &free, &["--force", "--no-sandbox"]));
        assert_eq!(fs::read(&out).unwrap(), fs::read(&free).unwrap());
    }
    let listed = |name: &str| {
        succeeded_json(zten(["ls", "--json", path(name).to_str().unwrap()]))["attributes"].clone()
    };
    succeeded_text(convert(&path("types.zt"), &path("x.safetensors"), &[]));
    succeeded_text(convert(&path("x.safetensors"), &path("x.zt"), &[]));
    assert_eq!(listed("types.zt"), listed("x.zt"));
    assert_eq!(listed("x.zt")["format"], "pt");
}

/// Checks that types of microscaling formats are kept, although 1.2 has no names for them.
#[test]
fn types_of_2_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let header = r#"{"scales":{"dtype":"F8_E8M0","shape":[2],"data_offsets":[0,2]},"w":{"dtype":"F4","shape":[3,2],"data_offsets":[2,5]}}   "#;
    assert_eq!(header.len() % 8, 0);
    let file = safetensors::file(header, &[127, 128, 0x21, 0x43, 0x65]);
    fs::write(path("x.safetensors"), &file).unwrap();
    succeeded_text(convert(&path("x.safetensors"), &path("2.zt"), &["--to=2"]));
    succeeded_text(zten(["check", path("2.zt").to_str().unwrap()]));
    let printed = succeeded_text(zten(["cat", path("2.zt").to_str().unwrap(), "w"]));
    assert_eq!(printed, "[[0.5, 1.0],\n [1.5, 2.0],\n [3.0, 4.0]]\n");
    succeeded_text(convert(&path("2.zt"), &path("y.safetensors"), &[]));
    assert_eq!(fs::read(path("y.safetensors")).unwrap(), file);
    // 1.2 has no such types, so a file of 1.2 has them as unknown type names over u8.
    succeeded_text(convert(&path("x.safetensors"), &path("1.zt"), &[]));
    let listed = succeeded_text(zten(["ls", path("1.zt").to_str().unwrap()]));
    assert!(listed.contains("f4_e2m1? (u8)") && listed.contains("f8_e8m0? (u8)"), "{listed}");
    let rejected = convert(&path("1.zt"), &path("z.safetensors"), &[]);
    assert!(
        ended(&rejected).2.contains("its type \"f8_e8m0\" is unknown"),
        "{:?}",
        ended(&rejected)
    );
    succeeded_text(convert(&path("1.zt"), &path("again.zt"), &["--to", "2"]));
    assert_eq!(hash_of(&path("again.zt")), hash_of(&path("2.zt")));
    succeeded_text(convert(&path("again.zt"), &path("z.safetensors"), &[]));
    assert_eq!(fs::read(path("z.safetensors")).unwrap(), file);
}

/// Checks that files are converted directly, without a zTensor file in between.
#[test]
fn files_are_converted_between_other_formats() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    succeeded_text(convert(&other_format("stored.npz"), &path("x.safetensors"), &[]));
    succeeded_text(convert(&path("x.safetensors"), &path("y.npz"), &[]));
    succeeded_text(convert(&other_format("stored.npz"), &path("stored.zt"), &[]));
    succeeded_text(convert(&path("y.npz"), &path("y.zt"), &[]));
    assert_eq!(hash_of(&path("stored.zt")), hash_of(&path("y.zt")));
    let gguf = other_format("tiny.gguf");
    let why = failed(convert(&gguf, &path("z.safetensors"), &[]), 2);
    assert!(why.contains(": its layout is \"gguf.q4_0\", expected dense"), "{why}");
    assert!(why.contains("; --dequantize writes its values as floats"), "{why}");
    for name in ["z.safetensors", "z.npz", "z.zt", "z2.zt"] {
        let to: &[_] = if name == "z2.zt" { &["--to=2", "--zstd"] } else { &[] };
        let options = [to, &["--dequantize", "--drop-attributes"]].concat();
        succeeded_text(convert(&gguf, &path(name), &options));
        succeeded_text(zten(["check", path(name).to_str().unwrap()]));
        let printed = [&gguf, &path(name)]
            .map(|file| succeeded_text(zten(["cat", file.to_str().unwrap(), "q4_0"])));
        assert_eq!(printed[0], printed[1], "{name}");
    }
    for (dtype, options) in
        [("bf16", &["--dequantize=bf16"][..]), ("f16", &["--dequantize=f16", "--saturate"])]
    {
        let options = [options, &["--force"]].concat();
        succeeded_text(convert(&gguf, &path("z.safetensors"), &options));
        let listed = succeeded_text(zten(["ls", path("z.safetensors").to_str().unwrap()]));
        assert!(listed.contains(dtype), "{listed}");
    }
    let text = succeeded_text(convert(&gguf, &path("z.safetensors"), &["--except=q*", "--force"]));
    assert!(text.contains(" written as JSON text: "), "{text}");
    let header = r#"{"flags":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}}"#;
    fs::write(path("b.safetensors"), safetensors::file(header, &[0, 1, 2])).unwrap();
    for to in ["b.npz", "c.safetensors"] {
        let why = failed(convert(&path("b.safetensors"), &path(to), &[]), 1);
        let sentence = "a bool is 2: expected 0 or 1 (rule tensor-bool-value, policy) in \"flags\"";
        assert!(why.contains(sentence), "{why}");
        assert!(!path(to).exists());
    }
}

#[test]
fn existing_files_stay_unless_force_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.npz");
    fs::write(&out, "before").unwrap();
    for options in [&[][..], &["--no-sandbox"]] {
        let why = failed(convert(&other_format("stored.npz"), &out, options), 2);
        assert!(why.ends_with(": the file exists already; --force replaces it\n"), "{why}");
        assert_eq!(fs::read(&out).unwrap(), b"before");
    }
    succeeded_text(convert(&other_format("stored.npz"), &out, &["--force"]));
    assert!(fs::read(&out).unwrap().starts_with(b"PK"));
    // Even with `--force`, an existing output stays if the input is rejected, or if the other format cannot represent it.
    let sparse = corpus_folder().join("accept/1.2.3/coo_zstd_crc.zt");
    for (from, status) in
        [(sparse, 2), (corpus_folder().join("reject/blob-alignment--v12-72.zt"), 1)]
    {
        fs::write(&out, "before").unwrap();
        let output = convert(&from, &out, &["--force"]);
        assert_eq!(ended(&output).0, Some(status), "{}", ended(&output).2);
        assert_eq!(fs::read(&out).unwrap(), b"before");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}

/// Checks that an output is not published if the digest of the data does not match, which is detected after all data has been
/// written, or if the format cannot hold a tensor.
#[test]
fn unverified_content_is_not_published() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = fs::read(corpus_folder().join("accept/canonical--dense.zt")).unwrap();
    let path = folder.path().join("in.zt");
    file[64] ^= 1;
    fs::write(&path, file).unwrap();
    for suffix in ["safetensors", "npz"] {
        let why = failed(convert(&path, &folder.path().join(format!("out.{suffix}")), &[]), 1);
        assert!(why.contains("digest-mismatch") || why.contains("bf16"), "{why}");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}

#[test]
fn suffixes_and_options() {
    let folder = tempfile::tempdir().unwrap();
    let input = other_format("columns.npy");
    for name in ["out", "out.ztensor", "out.gguf", "out.zt.bak", "out.pt"] {
        let why = failed(convert(&input, &folder.path().join(name), &[]), 2);
        assert_eq!(
            why,
            "unknown format of OUT: expected a name that ends in .zt, .safetensors, .npz or .npy, or --format\n"
        );
    }
    for suffix in ["safetensors", "npz", "npy"] {
        for option in ["--zstd", "--digest=none", "--canonical"] {
            let out = folder.path().join(format!("out.{suffix}"));
            let why = failed(convert(&input, &out, &[option]), 2);
            assert!(why.contains("are for an OUT that ends in .zt"), "{why}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
