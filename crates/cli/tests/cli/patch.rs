//! Tests of `zten patch`: patches are made from files of any format, and applied whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use zten::formats::write::WrittenFormat;
use zten::write::{WriteOptions, Writer};
use zten::{DType, Generation};
use zten_corpus::other::safetensors;

use super::{corpus_folder, failed, names_in, succeeded, succeeded_json, succeeded_text, zten};

const MODES: [&[&str]; 2] = [&[], &["--no-sandbox"]];

fn patch(options: &[&str], paths: &[&Path]) -> Output {
    let paths = paths.iter().map(|path| path.to_str().unwrap());
    zten(["patch"].into_iter().chain(options.iter().copied()).chain(paths).collect::<Vec<_>>())
}

/// Writes the checkpoint of a model at training step `step` to `path`, in the format of its suffix, and returns `path`. The model
/// has 70,000 weights and a bias of 3 elements. Compared with the checkpoint of step 0, the first element of the bias and `step`
/// weights differ.
fn model(path: &Path, step: u16) -> PathBuf {
    let mut weights: Vec<u8> =
        (0..140_000_u32).map(|at| u8::try_from(at * 7 % 251).unwrap()).collect();
    for at in 0..step {
        weights[usize::from(at) * 200] ^= 1;
    }
    let bias = [f32::from(step), 0.5, -1.0];
    let bias: Vec<u8> = bias.iter().flat_map(|own| own.to_le_bytes()).collect();
    if WrittenFormat::from_path(path) == Some(WrittenFormat::ZTensor) {
        let options = WriteOptions::default().generation(Generation::V2);
        let mut file = Writer::new(Vec::new(), &options).unwrap();
        file.attributes(&std::collections::BTreeMap::from([("step", step.to_string())])).unwrap();
        for (name, shape, dtype, bytes) in
            [("bias", 3, DType::F32, &bias), ("weight", 70_000, DType::BF16, &weights)]
        {
            let mut out = file.begin(name, std::slice::from_ref(&shape), dtype).unwrap();
            out.write_part("data", bytes).unwrap();
            out.finish().unwrap();
        }
        fs::write(path, file.finish().unwrap()).unwrap();
    } else {
        let header = format!(
            r#"{{"__metadata__":{{"step":"{step}"}},"bias":{{"dtype":"F32","shape":[3],"data_offsets":[0,12]}},"weight":{{"dtype":"BF16","shape":[70000],"data_offsets":[12,140012]}}}}"#
        );
        let padding = " ".repeat(header.len().next_multiple_of(8) - header.len());
        fs::write(path, safetensors::file(&(header + &padding), &[bias, weights].concat()))
            .unwrap();
    }
    path.to_owned()
}

fn id(path: &Path) -> String {
    succeeded_text(zten(["hash".as_ref(), "--id".as_ref(), path.as_os_str()]))
}

#[test]
fn patches_lead_from_any_format_to_any_format() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (mode, options) in (0..).zip(MODES) {
        for (from, to) in
            [("zt", "safetensors"), ("safetensors", "zt"), ("safetensors", "safetensors")]
        {
            let (old, new) =
                (model(&at(&format!("old.{from}")), 0), model(&at(&format!("new.{to}")), 300));
            let (made, result) =
                (at(&format!("{mode}-{from}-{to}.zt")), at(&format!("result-{mode}-{from}.{to}")));
            let text = succeeded_text(patch(
                &[options, &["make", "-o", made.to_str().unwrap()]].concat(),
                &[&old, &new],
            ));
            assert!(text.contains(" % of the new tensors; 2 changed)"), "{text}");
            succeeded(zten(["check".as_ref(), made.as_os_str()]));
            let out = ["-o", result.to_str().unwrap()];
            succeeded(patch(&[options, &["apply"], &out].concat(), &[&old, &made]));
            assert_eq!(id(&result), id(&new));
            succeeded(zten(["diff".as_ref(), result.as_os_str(), new.as_os_str()]));
            if from == to {
                assert_eq!(fs::read(&result).unwrap(), fs::read(&new).unwrap(), "the same bytes");
            }
            let text = succeeded_text(patch(&[options, &["verify"]].concat(), &[&old, &made]));
            assert!(text.contains(&format!("1 patch leads from {}", id(&old).trim())), "{text}");
            // The patch fits neither its own result nor another model. An output file that exists stays unchanged.
            let other = model(&at("other.zt"), 5);
            for base in [&new, &other] {
                let before = fs::read(&result).unwrap();
                let why = failed(
                    patch(&[options, &["apply", "--force"], &out].concat(), &[base, &made]),
                    1,
                );
                assert!(why.contains("patch-base"), "{why}");
                assert_eq!(fs::read(&result).unwrap(), before);
                assert!(
                    failed(patch(&[options, &["verify"]].concat(), &[base, &made]), 1)
                        .contains("patch-base")
                );
            }
        }
    }
    assert_eq!(
        names_in(folder.path(), ".zten"),
        <[String; 0]>::default(),
        "no temporary file is left"
    );
}

/// Changes the data of a file.
type Change<'c> = dyn Fn(&mut Vec<u8>) + 'c;

/// If only elements change, the result has the header of the base, byte for byte: the order of its tensors and its spaces.
#[test]
fn headers_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let header = r#"{ "z":{"dtype":"F16","shape":[40000],"data_offsets":[0,80000]}, "empty":{"dtype":"F32","shape":[0],"data_offsets":[80000,80000]},
        "b":{"dtype":"BOOL","shape":[3],"data_offsets":[80000,80003]},"a":{"dtype":"U8","shape":[70000],"data_offsets":[80003,150003]} }   "#;
    let file = |name: &str, change: &Change<'_>| {
        let mut data: Vec<u8> =
            (0..150_003_u32).map(|at| u8::try_from(at % 251).unwrap()).collect();
        data[80_000..80_003].copy_from_slice(&[0, 1, 1]);
        change(&mut data);
        fs::write(at(name), safetensors::file(header, &data)).unwrap();
        at(name)
    };
    let old = file("old.safetensors", &|_| ());
    let changes: [&Change<'_>; 4] =
        [&|_| (), &|data| data[7] ^= 1, &|data| data[80_001] = 0, &|data| data[80_003..].reverse()];
    for options in MODES {
        for change in changes {
            let new = file("new.safetensors", change);
            let (made, result) = (at("p.zt"), at("result.safetensors"));
            let to = |action, path: &Path| {
                let path = path.to_str().unwrap();
                [options, &[action, "-q", "--force", "-o", path]].concat().join("\n")
            };
            let run = |options: &str, paths: [&Path; 2]| {
                patch(&options.lines().collect::<Vec<_>>(), &paths)
            };
            succeeded(run(&to("make", &made), [&old, &new]));
            succeeded(run(&to("apply", &result), [&old, &made]));
            assert_eq!(fs::read(&result).unwrap(), fs::read(&new).unwrap());
            // A base with another byte is rejected, whether the byte is in a tensor that the patch changes or in another
            // one. The output of the last call stays.
            for byte in [9, 149_000] {
                let other = file("other.safetensors", &|data| data[byte] ^= 2);
                failed(run(&to("apply", &result), [&other, &made]), 1);
                assert_eq!(fs::read(&result).unwrap(), fs::read(&new).unwrap());
            }
            let current = file("current.safetensors", &|_| ());
            succeeded(run(&to("apply", &current), [&current, &made]));
            assert_eq!(fs::read(&current).unwrap(), fs::read(&new).unwrap());
        }
    }
}

#[test]
fn chains_replace_their_base() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let steps: Vec<_> = [0, 10, 400, 20]
        .iter()
        .enumerate()
        .map(|(number, step)| model(&at(&format!("{number}.safetensors")), *step))
        .collect();
    let patches: Vec<_> = (1..4).map(|number| at(&format!("{number}.zt"))).collect();
    for (two, path) in steps.windows(2).zip(&patches) {
        succeeded(patch(&["make", "-q", "-o", path.to_str().unwrap()], &[&two[0], &two[1]]));
    }
    let current = at("current.safetensors");
    for end in 1..=3 {
        fs::copy(&steps[0], &current).unwrap();
        let paths: Vec<_> =
            [&current].into_iter().chain(&patches[..end]).map(PathBuf::as_path).collect();
        let out = ["apply", "-q", "-o", current.to_str().unwrap()];
        assert_eq!(succeeded_text(patch(&out, &paths)), "");
        assert_eq!(fs::read(&current).unwrap(), fs::read(&steps[end]).unwrap());
        // The patches do not fit their own result, so they cannot be applied a second time.
        let why = failed(patch(&out, &paths), 1);
        assert!(why.contains("patch-base"), "{why}");
        assert_eq!(fs::read(&current).unwrap(), fs::read(&steps[end]).unwrap());
    }
    let many: Vec<_> = [&current]
        .into_iter()
        .chain(std::iter::repeat_n(&patches[0], 32))
        .map(PathBuf::as_path)
        .collect();
    failed(patch(&["verify"], &many), 2);
    // The second patch of the chain is missing, so the third does not fit the result of the first.
    let why = failed(patch(&["verify"], &[&steps[0], &patches[0], &patches[2]]), 1);
    assert!(why.contains("3.zt") && why.contains("the result of the patch before it"), "{why}");
}

/// Checks that `apply` replaces OLD without `--force` if the output is OLD in another spelling. A link to OLD is rejected,
/// as any output that is a link.
#[test]
fn another_spelling_of_the_base_is_the_base() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let (old, new, made) = (model(&at("old.zt"), 0), model(&at("new.zt"), 3), at("p.zt"));
        succeeded(patch(&["make", "-q", "-o", made.to_str().unwrap()], &[&old, &new]));
        let apply = |out: &str| {
            let args = ["patch", "apply", "-q", "-o", out, "old.zt", "p.zt"];
            let mut command = crate::command();
            command.args(args).args(mode).current_dir(folder.path()).output().unwrap()
        };
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("old.zt", at("link.zt")).unwrap();
            let why = failed(apply("link.zt"), 2);
            assert!(why.contains("is a symbolic link"), "{why}");
        }
        succeeded(apply("./old.zt"));
        assert_eq!(id(&old), id(&new));
    }
}

#[test]
fn what_a_patch_changes_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (old, new, made) = (model(&at("old.zt"), 0), model(&at("new.zt"), 3), at("p.zt"));
    succeeded(patch(&["make", "-q", "-o", made.to_str().unwrap()], &[&old, &new]));
    let text = succeeded_text(patch(&["show"], &[&made]));
    assert!(text.contains(&format!("base    {}", id(&old))), "{text}");
    assert!(text.contains("changed  weight  bf16[70000]"), "{text}");
    let shown = succeeded_json(patch(&["show", "--json"], &[&made]));
    assert_eq!(shown["patch"]["result"], id(&new).trim());
    assert_eq!(shown["patch"]["changed"][1]["name"], "weight");
    assert_eq!(shown["patch"]["attributes"], true);
}

#[test]
fn wrong_calls_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (old, new, made) = (model(&at("old.zt"), 0), model(&at("new.zt"), 3), at("p.zt"));
    let made_text = made.to_str().unwrap();
    succeeded(patch(&["make", "-q", "-o", made_text], &[&old, &new]));
    let why = failed(patch(&["make", "-o", made_text], &[&old, &new]), 2);
    assert!(why.contains("--force"), "{why}");
    succeeded(patch(&["make", "-q", "--force", "-o", made_text], &[&old, &new]));
    let out = at("x.gguf");
    let why = failed(patch(&["apply", "-o", out.to_str().unwrap()], &[&old, &made]), 2);
    assert!(why.contains("unknown format of NEW"), "{why}");
    let why = failed(patch(&["apply", "-o", "-"], &[&old, &made]), 2);
    assert!(why.contains("standard output"), "{why}");
    // A file that is not a patch is invalid, and a file that does not exist is an error.
    let why = failed(patch(&["show"], &[&old]), 1);
    assert!(why.contains("this is not a patch"), "{why}");
    failed(patch(&["verify"], &[&old, &at("none.zt")]), 2);
    // A `.npy` file cannot hold the result, which has several tensors, so nothing is written.
    let out = at("x.npy");
    let why = failed(patch(&["apply", "-o", out.to_str().unwrap()], &[&old, &made]), 2);
    assert!(!out.exists(), "{why}");
    // The new model has shards. The result of the patch is one file with the same tensors.
    let sharded = corpus_folder().join("v2/shards/dense.zt");
    let made = at("sharded.zt");
    succeeded(patch(&["make", "-q", "-o", made.to_str().unwrap()], &[&old, &sharded]));
    let result = at("whole.zt");
    succeeded(patch(&["apply", "-q", "-o", result.to_str().unwrap()], &[&old, &made]));
    assert_eq!(id(&result), id(&sharded));
}
