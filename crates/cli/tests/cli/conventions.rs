//! Tests of quantized tensors that are stored as several tensors.

use std::fs;

use serde_json::json;

use crate::{corpus_folder, failed, succeeded_json, succeeded_text, zten};

/// Returns the path of a case of the corpus.
fn case(name: &str) -> String {
    let path = corpus_folder().join("conventions").join(name).with_extension("safetensors");
    path.to_str().unwrap().to_owned()
}

/// Returns the values that `cat` is to print for a case of the corpus.
fn values(name: &str) -> Vec<f32> {
    let path = corpus_folder().join("conventions").join(name).with_extension("f32");
    let bytes = fs::read(path).unwrap();
    bytes.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn a_group_is_one_tensor_with_its_components() {
    let listed = succeeded_text(zten(["ls", &case("gptq-3-g-idx")]));
    let names: Vec<_> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names[..6], ["NAME", "layer.proj.weight", "g_idx", "qweight", "qzeros", "scales"]);
    assert!(listed.contains("GPTQ 3 bits [16]  [64, 32]"), "{listed}");
    assert!(listed.contains("2,048 parameters"), "{listed}");
    let plain = succeeded_text(zten(["ls", "--plain", &case("gptq-3-g-idx")]));
    assert!(plain.contains("layer.proj.qweight  i32   [6, 32]"), "{plain}");
    let tree = succeeded_text(zten(["ls", "--tree", &case("mxfp4")]));
    assert!(tree.contains("MXFP4 [32]  [2, 3, 64]         384"), "{tree}");
    let document = succeeded_json(zten(["ls", "--json", &case("nf4")]));
    let object = &document["objects"][0];
    assert_eq!(object["layout"], json!("quant.nf4"));
    assert_eq!(object["state"], json!("readable"));
    assert_eq!([&object["bits"], &object["group_size"]], [&json!(4), &json!(64)]);
}

/// Checks that `cat` prints the dequantized values of a tensor or of a slice of it, and the stored elements with
/// `--component`.
#[test]
fn values_are_printed() {
    let wanted = values("mxfp4");
    for mode in [&[][..], &["--no-sandbox"]] {
        let cat = |more: &[&str]| {
            let file = case("mxfp4");
            succeeded_json(zten([&["cat", &file, "experts.proj"], mode, more].concat()))
        };
        let flat = |value: serde_json::Value| -> Vec<f32> {
            let mut numbers = Vec::new();
            let mut left = vec![value];
            while let Some(value) = left.pop() {
                match value {
                    serde_json::Value::Array(items) => left.extend(items.into_iter().rev()),
                    number => numbers.push(number.to_string().parse().unwrap()),
                }
            }
            numbers
        };
        assert_eq!(flat(cat(&[])), wanted);
        assert_eq!(flat(cat(&["--slice", "1,2,3:5"])), wanted[64 * 5 + 3..64 * 5 + 5]);
        assert_eq!(flat(cat(&["--component", "scales"])).len(), 12);
    }
}

/// Checks that `stat` and `diff` use the dequantized values, and that a converted file has the same values.
#[test]
fn values_are_compared_and_converted() {
    let folder = tempfile::tempdir().unwrap();
    for name in
        ["mxfp4", "gptq-4-g-idx", "awq", "packed-3-zero-point", "nf4-nested", "mlx-5", "fp8-block"]
    {
        let file = case(name);
        let count = values(name).len().to_string();
        for end in ["npz", "zt", "safetensors"] {
            let out = folder.path().join("out").with_extension(end);
            let out = out.to_str().unwrap();
            succeeded_text(zten(["convert", "--dequantize=f32", "--force", &file, out]));
            let compared = zten(["diff", "--atol", "0", &file, out]);
            let text = String::from_utf8(compared.stdout).unwrap();
            assert_eq!(compared.status.code(), Some(0), "{name} {end}: {text}");
            assert!(text.contains("1 within the tolerance"), "{text}");
            let csv = |file: &str| succeeded_text(zten(["stat", "--csv", file]));
            // The mean and the deviation depend on how many values are added at a time, so they are not compared.
            let exact = |text: String| -> Vec<String> {
                let line = text.lines().nth(1).unwrap().to_owned();
                line.split(',').skip(4).take(6).map(str::to_owned).collect()
            };
            let (own, other) = (exact(csv(&file)), exact(csv(out)));
            assert_eq!(own, other, "{name} {end}");
            assert_eq!(own[0], count);
        }
        // Without `--dequantize`, the tensors are copied unchanged.
        let out = folder.path().join("same.safetensors");
        let out = out.to_str().unwrap();
        succeeded_text(zten(["convert", "--force", &file, out]));
        let plain = zten(["diff", "--plain", &file, out]);
        assert_eq!(plain.status.code(), Some(0), "{plain:?}");
        // The digests in a list are those of the stored tensors.
        let hashed = succeeded_text(zten(["hash", &file]));
        assert!(!hashed.contains("quant."), "{hashed}");
    }
}

/// Checks a group whose codes, scales and shape are in three files that an `*.index.json` file names.
#[test]
fn a_group_in_several_files() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, root) = (case("packed-4"), folder.path().join("model.safetensors.index.json"));
    let mut map = serde_json::Map::new();
    for (number, tensor) in ["packed", "scale", "shape"].into_iter().enumerate() {
        let name = format!("layer.proj.weight_{tensor}");
        let file = format!("{number}.safetensors");
        let path = folder.path().join(&file);
        succeeded_text(zten(["convert", "--only", &name, &whole, path.to_str().unwrap()]));
        map.insert(name, json!(file));
    }
    fs::write(&root, json!({ "weight_map": map }).to_string()).unwrap();
    let root = root.to_str().unwrap();
    for mode in [&[][..], &["--no-sandbox"]] {
        let run = |args: &[&str]| zten([args, mode].concat());
        assert!(succeeded_text(run(&["ls", root])).contains("INT packed 4 bits [32]"));
        let same = run(&["diff", root, &whole]);
        assert_eq!(same.status.code(), Some(0), "{same:?}");
        let slice = ["--slice", "0:2"];
        let cat = |file: &str| {
            succeeded_text(run(&[&["cat", file, "layer.proj.weight"][..], &slice].concat()))
        };
        assert_eq!(cat(root), cat(&whole));
        assert_eq!(
            succeeded_text(run(&["stat", "--csv", root])),
            succeeded_text(run(&["stat", "--csv", &whole]))
        );
    }
}

/// Checks that tensors whose names match a convention but whose shapes do not are treated as plain tensors.
#[test]
fn other_shapes_stay_plain() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let header = br#"{"p_blocks":{"dtype":"U8","shape":[1,16],"data_offsets":[0,16]},"p_scales":{"dtype":"U8","shape":[2],"data_offsets":[16,18]}}"#;
    let length = u64::try_from(header.len()).unwrap().to_le_bytes();
    fs::write(&path, [&length[..], header, &[0; 18]].concat()).unwrap();
    let path = path.to_str().unwrap();
    let listed = succeeded_text(zten(["ls", path]));
    assert!(listed.contains("p_blocks") && listed.contains("p_scales"), "{listed}");
    assert!(failed(zten(["cat", path, "p"]), 2).contains("no tensor named \"p\""));
}

/// Checks that `diff` reports a different bit width, and shows the group sizes.
#[test]
fn another_quantization_is_said() {
    let compared = zten(["diff", &case("gptq-4"), &case("gptq-8")]);
    let text = String::from_utf8(compared.stdout).unwrap();
    assert!(text.contains("layout GPTQ 4 bits [32] -> GPTQ 8 bits [32]"), "{text}");
}

/// A quantized tensor becomes one object of a zTensor file, and converting back restores the file, byte by byte. With `--plain` its
/// tensors stay plain tensors. Tensors for which zTensor has no form stay plain, too, with a note.
#[test]
fn quantized_tensors_are_written_as_objects_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (zt, back) = (path("x.zt"), path("x.safetensors"));
    for (name, to, layout) in [
        ("gptq-4", "1.2", "quantized_group"),
        ("awq", "1.2", "quantized_group"),
        ("mxfp4", "2", "zt.mx/1"),
        ("gptq-8", "2", "zt.quant_group/1"),
        ("packed-4-zero-point", "2", "zt.quant_group/1"),
        ("int8-zero-point", "2", "zt.quant_group/1"),
        ("gptq-4-g-idx", "2", "the groups are not in ascending order (g_idx)"),
        ("mxfp4", "1.2", "generation 1.2 has no scales that are exponents"),
        ("nf4", "2", "a quantized group of zTensor has no table of values"),
    ] {
        for (mode, option) in [(&[][..], None), (&["--no-sandbox"], None), (&[], Some("--plain"))] {
            let file = case(name);
            let convert = ["convert", "--force", "--to", to, &file, &zt];
            let option: Vec<_> = option.into_iter().collect();
            let text = succeeded_text(zten([&convert[..], &option, mode].concat()));
            assert_eq!(text.contains(layout), option.is_empty(), "{name}: {text}");
            let has_object = option.is_empty() && !layout.contains(' ');
            assert_eq!(text.contains(", 1 tensor,"), has_object, "{name}: {text}");
            succeeded_text(zten(["check", &zt]));
            let restored = [&["convert", "--force", &zt, &back], mode].concat();
            succeeded_text(zten(restored));
            assert!(fs::read(&back).unwrap() == fs::read(&file).unwrap(), "{name} {to}");
        }
    }
}

/// A conversion fails if an object gets the name of a tensor that is restored from another object.
#[test]
fn restored_tensors_have_names_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (zt, back, index) = (path("x.zt"), path("x.safetensors"), path("m.safetensors.index.json"));
    let mut names = serde_json::Map::new();
    for own in ["a", "b"] {
        let file = format!("{own}.safetensors");
        let rename = format!("s/^layer/{own}/");
        succeeded_text(zten(["convert", "--rename", &rename, &case("gptq-4"), &path(&file)]));
        for end in ["qweight", "qzeros", "scales"] {
            names.insert(format!("{own}.proj.{end}"), json!(file));
        }
    }
    fs::write(&index, json!({"metadata": {}, "weight_map": names}).to_string()).unwrap();
    succeeded_text(zten(["convert", "--to", "2", &index, &zt]));
    succeeded_text(zten(["convert", &zt, &back]));
    for name in ["a.proj", "c.proj.weight"] {
        let rename = format!("b.proj.weight={name}");
        let renamed = zten(["convert", "--force", "--rename", &rename, &zt, &back]);
        if name == "a.proj" {
            let error = failed(renamed, 2);
            assert!(error.contains("after the quantized tensors are restored"), "{error}");
        } else {
            succeeded_text(renamed);
        }
    }
}

/// Objects can be written in canonical form and in shards, and their tensors can be renamed.
#[test]
fn objects_are_written_with_other_options() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (zt, back, file) = (path("x.zt"), path("x.safetensors"), case("packed-4"));
    let convert = |options: &[&str]| {
        let plain = ["convert", "--force", "--to", "2", &file, &zt];
        succeeded_text(zten([&plain[..], options].concat()));
        succeeded_text(zten(["check", &zt]));
        succeeded_text(zten(["convert", "--force", &zt, &back]));
        fs::read(&back).unwrap() == fs::read(&file).unwrap()
    };
    assert!(convert(&["--canonical"]));
    assert!(convert(&["--zstd"]));
    assert!(convert(&["--digest", "sha256"]));
    assert!(convert(&["--shard-size", "1KB"]));
    assert!(!convert(&["--rename", "s/^layer/block/"]));
    let listed = succeeded_text(zten(["ls", "--plain", &back]));
    assert!(listed.contains("block.proj.weight_packed"), "{listed}");
    // If a pattern leaves out one tensor of a group, the other tensors stay plain.
    let text = succeeded_text(zten([
        "convert", "--force", "--to", "2", "--except", "*_scale", &file, &zt,
    ]));
    assert!(text.contains("not all tensors of the group are written"), "{text}");
    assert!(!convert(&["--except", "*_scale"]));
    // The new name of the object determines the names of the tensors that are restored from it.
    let rename = ["--rename", "layer.proj.weight=y"];
    succeeded_text(zten(["convert", "--force", "--to", "2", &file, &zt]));
    succeeded_text(zten([&["convert", "--force", &zt, &back][..], &rename].concat()));
    let listed = succeeded_text(zten(["ls", "--plain", &back]));
    assert!(listed.contains("y_packed") && listed.contains("y_shape"), "{listed}");
    // `--dtype` converts single tensors, so the groups stay plain.
    let text = succeeded_text(zten(["convert", "--force", "--dtype", "f16", &case("gptq-4"), &zt]));
    assert!(text.contains(", 3 tensors,"), "{text}");
    let contradiction = zten(["convert", "--plain", "--dequantize", &file, &zt]);
    assert!(failed(contradiction, 2).contains("cannot be used with"));
}
