//! Tests that `zten edit` changes names and attributes, keeps the data, and leaves either the old file or the new one.

use std::fs;
use std::path::{Path, PathBuf};

use zten::write::{Checksum, Level, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Generation};
use zten_corpus::other::gguf;

use super::{corpus_folder, ended, names_in, run, succeeded_text, zten};

const MODES: [&[&str]; 2] = [&[], &["--no-sandbox"]];

/// Writes a file of the given generation with an attribute and two objects, one of which is compressed.
fn file(path: &Path, generation: Generation) -> Vec<u8> {
    let options = WriteOptions::default().generation(generation).checksum(Checksum::Sha256);
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    writer
        .attributes(&[("epoch", 7)].into_iter().collect::<std::collections::BTreeMap<_, _>>())
        .unwrap();
    let level = Level::new(1).unwrap();
    let object = NewObject::dense("model.b", &[1000], DType::F32).compressed(level);
    writer.add_object(&object, &[("data", &[1; 4000])]).unwrap();
    writer.add("model.a", &[2], &[1.5_f32, -2.5]).unwrap();
    let bytes = writer.finish().unwrap();
    fs::write(path, &bytes).unwrap();
    bytes
}

fn safetensors(path: &Path, header: &str) -> Vec<u8> {
    let bytes = zten_corpus::other::safetensors::file(header, &[0, 0, 0x80, 0x3f, 7]);
    fs::write(path, &bytes).unwrap();
    bytes
}

const HEADER: &str = r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[],"data_offsets":[4,5]}}"#;

fn edit(path: &Path, options: &[&str]) -> String {
    succeeded_text(run("edit", path, options))
}

fn rejected(path: &Path, options: &[&str]) -> (i32, String) {
    let output = run("edit", path, options);
    let (status, out, why) = ended(&output);
    assert_eq!(out, "");
    (status.unwrap(), why.to_owned())
}

type Named<T> = (String, T);

/// Returns the content of each object and the attributes.
fn content(path: &Path) -> (Vec<Named<Vec<u8>>>, Vec<Named<String>>) {
    let archive = zten::open(path).unwrap();
    archive.verify().unwrap();
    let read = |own: zten::Tensor<'_>| own.component("data").unwrap().read().unwrap().to_vec();
    let tensors = archive.tensors().map(|own| (own.name().to_owned(), read(own))).collect();
    let attributes =
        archive.attributes().map(|(key, own)| (key.to_owned(), format!("{:?}", own.value())));
    (tensors, attributes.collect())
}

fn pair(key: &str, value: &str) -> (String, String) {
    (key.to_owned(), value.to_owned())
}

#[test]
fn names_and_attributes_of_ztensor_files_change_and_their_blobs_do_not() {
    for generation in [Generation::V1_2, Generation::V2] {
        for mode in MODES {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("x.zt");
            let old = file(&path, generation);
            let (tensors, _) = content(&path);
            let options = [
                &["--rename", r"s/^model\.//", "--rename=a=first", "--unset=epoch"][..],
                &["--set", r#"note={"by":["x",1.0,null]}"#],
                mode,
            ];
            let text = edit(&path, &options.concat());
            assert!(text.contains("x.zt: written (") && text.ends_with(" of it new)\n"), "{text}");
            let new = fs::read(&path).unwrap();
            let archive = Archive::from_bytes(&old).unwrap();
            let kept = usize::try_from(archive.manifest().edits_at()).unwrap();
            assert!(new[..kept] == old[..kept] && new.len() < old.len() + 8192, "{generation:?}");
            let (renamed, attributes) = content(&path);
            let mut wanted: Vec<_> = tensors
                .into_iter()
                .map(|(name, bytes)| {
                    (if name == "model.a" { "first" } else { "b" }.to_owned(), bytes)
                })
                .collect();
            if generation == Generation::V2 {
                wanted.sort_by_key(|(name, _)| name.len());
            }
            assert_eq!(renamed, wanted);
            assert_eq!(attributes[0].0, "note");
            succeeded_text(zten(["check", path.to_str().unwrap()]));
            // Repeated edits do not make the file grow by a manifest each time.
            for _ in 0..3 {
                edit(&path, &["--rename=s/b/b/", "-q"]);
            }
            assert!(fs::read(&path).unwrap().len() < new.len() + 8192);
            assert_eq!(names_in(folder.path(), ""), ["x.zt"]);
        }
    }
}

#[test]
fn files_of_every_generation_but_the_first_are_edited() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.zt");
    let out_name = out.to_str().unwrap();
    let mut edited = 0;
    for from in ["accept/1.1.1", "accept/1.2.0", "accept/1.2.3", "v2/accept", "v2/2.1"] {
        for entry in fs::read_dir(corpus_folder().join(from)).unwrap() {
            let path = entry.unwrap().path();
            // A name of 1,024 bytes cannot become longer, and an object of a data shard has no name to change.
            let is_other = ["name-of-1024", "data-shard"]
                .iter()
                .any(|stem| path.file_stem() == Some(stem.as_ref()));
            if path.extension() != Some("zt".as_ref()) || is_other {
                continue;
            }
            let options =
                ["--set", "edited=true", "--rename", "s/^/x./", "-o", out_name, "--force"];
            let before = fs::read(&path).unwrap();
            let text = edit(&path, &options);
            assert!(text.contains(": written ("), "{text}");
            assert_eq!(fs::read(&path).unwrap(), before);
            let (old, new) = (Archive::from_bytes(&before).unwrap(), fs::read(&out).unwrap());
            let new = Archive::from_bytes(&new).unwrap();
            assert_eq!(old.len(), new.len());
            for own in old.tensors() {
                let other = new.tensor(&format!("x.{}", own.name())).unwrap();
                let extents = |own: zten::Tensor<'_>| -> Vec<_> {
                    own.components()
                        .map(|it| (it.extent(), it.digest().map(|d| format!("{d:?}"))))
                        .collect()
                };
                assert_eq!(extents(own), extents(other), "{}", path.display());
            }
            assert!(new.attributes().any(|(key, _)| key == "edited"));
            edited += 1;
        }
    }
    assert!(edited > 40, "{edited}");
}

#[test]
fn safetensors_keep_their_data() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        let old = safetensors(&path, &format!("{HEADER:<160}"));
        edit(&path, &[&["--set=k=\"v\"", "--rename=b=c"], mode].concat());
        let new = fs::read(&path).unwrap();
        // The new header fits in the space of the old one.
        assert_eq!(new.len(), old.len());
        let (tensors, attributes) = content(&path);
        assert_eq!(tensors, [("a".to_owned(), vec![0, 0, 0x80, 0x3f]), ("c".to_owned(), vec![7])]);
        assert_eq!(attributes, [pair("k", "Text(\"v\")")]);
        let long = "x".repeat(300);
        edit(&path, &[&[format!("--rename=a={long}").as_str(), "--unset=k"], mode].concat());
        assert_eq!(fs::read(&path).unwrap().len(), old.len() + 4096);
        let (tensors, attributes) = content(&path);
        assert_eq!((tensors[0].0.as_str(), attributes.len()), (long.as_str(), 0));
        let by_the_crate = fs::read(&path).unwrap();
        let names = safetensors::SafeTensors::deserialize(&by_the_crate).unwrap();
        assert_eq!(names.len(), 2);
        edit(&path, &[&["--set=n=1"], mode].concat());
        assert_eq!(content(&path).1, [pair("n", "Uint(1)")]);
    }
}

#[test]
fn files_that_cannot_be_edited_stay_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    file(&path("x.zt"), Generation::V1_2);
    safetensors(&path("x.safetensors"), HEADER);
    fs::copy(corpus_folder().join("accept/0.1.0/big_endian.zt"), path("old.zt")).unwrap();
    fs::copy(corpus_folder().join("other/npy/accept/columns.npy"), path("x.npy")).unwrap();
    fs::copy(corpus_folder().join("other/gguf/accept/tiny.gguf"), path("x.gguf")).unwrap();
    fs::copy(corpus_folder().join("reject/blob-alignment--v12-72.zt"), path("bad.zt")).unwrap();
    let set = &["--set=a=1"][..];
    for (name, options, status, wanted) in [
        ("old.zt", set, 2, "a file of 0.1 cannot be edited; zten convert writes a new file"),
        ("x.npy", set, 2, "a .npy file cannot be edited; zten convert"),
        (
            "x.gguf",
            &["--set=general.alignment=32"],
            2,
            "cannot be changed: the offsets of all tensors depend on it",
        ),
        (
            "x.gguf",
            &["--unset=general.alignment"],
            2,
            "cannot be changed: the offsets of all tensors depend on it",
        ),
        (
            "x.gguf",
            &["--set=split.count=2"],
            2,
            "cannot be changed: it says how the files of a split model belong together",
        ),
        (
            "x.gguf",
            &["--set=a=null"],
            2,
            "the attribute \"a\" holds null, which GGUF does not support",
        ),
        ("x.gguf", &["--set=a=[1,\"x\"]"], 2, "holds an array of values of several types"),
        ("x.gguf", &["--set=a=[]"], 2, "whose elements have no type"),
        ("x.gguf", &["--set=a=[[1]]"], 2, "holds an array, which GGUF does not support"),
        ("x.gguf", &["--rename=s/^.*$/x/"], 2, "two tensors would be named \"x\""),
        ("bad.zt", set, 1, "rule blob-alignment"),
        ("x.zt", &["--rename=model.a=model.b"], 2, "two tensors would be named \"model.b\""),
        ("x.zt", &["--rename=s/model.*/m/"], 2, "two tensors would be named \"m\""),
        ("x.zt", &["--rename=nothing=b"], 2, "nothing"),
        ("x.zt", &["--unset=nothing"], 2, "no attribute named \"nothing\""),
        ("x.zt", &["--unset=epohc"], 2, "; did you mean \"epoch\"?"),
        ("x.safetensors", &["--rename=a=__metadata__"], 2, "__metadata__"),
        ("x.zt", &["--set=a=1", "-o", path("bad.zt").to_str().unwrap()], 2, "--force replaces it"),
        (
            "x.zt",
            &["--set=a=1", "-o", path("y.npy").to_str().unwrap()],
            2,
            "zten convert changes it",
        ),
        (
            "x.safetensors",
            &["--set=a=1", "-o", path("y.zt").to_str().unwrap()],
            2,
            "OUT has the suffix of another format",
        ),
        ("none.zt", set, 2, "none.zt"),
        ("x.zt", &[], 2, "required"),
    ] {
        for mode in MODES {
            let before = fs::read(path(name)).ok();
            let (found, why) = rejected(&path(name), &[options, mode].concat());
            assert!(found == status && why.contains(wanted), "{name} {options:?}: {why}");
            assert_eq!(fs::read(path(name)).ok(), before);
        }
    }
    assert_eq!(names_in(folder.path(), "").len(), 6);
}

/// Checks that messages of the confined process are written to the same file as those of other processes.
#[test]
fn messages_reach_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    file(&path, Generation::V1_2);
    let log = folder.path().join("log");
    let mut command = super::command();
    command.args(["edit", path.to_str().unwrap(), "--unset=x"]);
    let status = command.stderr(fs::File::create(&log).unwrap()).status().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(fs::read_to_string(&log).unwrap().ends_with("no attribute named \"x\"\n"));
}

/// Checks that an edit writes a new file with the permissions of the old one, and that the old content stays under another hard
/// link. A symbolic link is rejected.
#[cfg(unix)]
#[test]
fn not_a_byte_of_the_old_file_is_written() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    let old = file(&path, Generation::V2);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let other = folder.path().join("other.zt");
    fs::hard_link(&path, &other).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    edit(&path, &["--set=a=1"]);
    assert_eq!(fs::read(&other).unwrap(), old);
    let new = fs::metadata(&path).unwrap();
    assert!(new.ino() != inode && new.mode() & 0o777 == 0o640);
    let link = folder.path().join("link.zt");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let (status, why) = rejected(&link, &["--set=a=1"]);
    assert!(status == 2 && why.contains("symbolic link"), "{why}");
}

/// Sets and then removes 40,000 attributes. The arguments are longer than one packet to the confined process, and the time
/// to look up one attribute must not grow with the number of arguments.
#[test]
fn forty_thousand_attributes_are_set_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.zt");
    file(&path, Generation::V2);
    let set: Vec<_> = (0..40_000).map(|number| format!("--set=key-{number}={number}")).collect();
    let set: Vec<_> = set.iter().map(String::as_str).collect();
    edit(&path, &set);
    let (_, attributes) = content(&path);
    assert_eq!(attributes.len(), 40_001);
    assert_eq!(attributes[40_000].0, "key-39999");
    let unset: Vec<_> = (0..40_000).map(|number| format!("--unset=key-{number}")).collect();
    edit(&path, &unset.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(content(&path).1.len(), 1);
}

/// Checks that undoing an edit restores every byte, so types, descriptions and padding are kept. Tensors in one file of a split
/// model cannot be renamed, and no name can exceed 255 bytes.
#[test]
fn gguf_files_of_every_kind_are_edited_and_edited_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut edited = 0;
    let corpus = corpus_folder().join("other/gguf/accept");
    let names = names_in(&corpus, "");
    let names: Vec<_> = names.iter().filter(|name| name.contains(".gguf")).collect();
    for name in &names {
        fs::copy(corpus.join(name), folder.path().join(name)).unwrap();
    }
    for name in names {
        let path = folder.path().join(name);
        let before = fs::read(&path).unwrap();
        let is_split = name.contains("-of-00002") || name.contains("last-of-two");
        let long = format!("zten.note={}", "ä".repeat(700));
        let mut options = vec!["--set", &long, "--set=zten.list=[1,2]"];
        if !is_split {
            options.extend(["--rename", "s/$/.x/"]);
        }
        let output = run("edit", &path, &options);
        let (status, out, why) = ended(&output);
        if is_split {
            let (status, why) = rejected(&path, &["--rename=s/$/.x/"]);
            assert!(status == 2 && why.contains("part of a split model"), "{name}: {why}");
        }
        let longest_name = name == "name-255.gguf";
        if longest_name {
            assert!(status == Some(2) && why.contains("expected at most 255"), "{why}");
            continue;
        }
        assert_eq!((status, why), (Some(0), ""), "{name}");
        assert!(out.contains(": written ("), "{out}");
        assert_ne!(fs::read(&path).unwrap(), before);
        let mut options = vec!["--unset=zten.note", "--unset=zten.list"];
        if !is_split {
            options.extend(["--rename", r"s/\.x$//"]);
        }
        edit(&path, &[&options[..], &["-q"]].concat());
        assert!(fs::read(&path).unwrap() == before, "{name}");
        edited += 1;
    }
    assert!(edited > 30, "{edited}");
}

#[test]
fn values_of_gguf_files_keep_their_types() {
    for mode in MODES {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.gguf");
        fs::copy(corpus_folder().join("other/gguf/accept/tiny.gguf"), &path).unwrap();
        let before = fs::read(&path).unwrap();
        let (tensors, attributes) = content(&path);
        let options = [
            &["--set=author=me & you", "--set=n=7", "--set=small=-1", "--set=wide=4294967296"][..],
            &[
                "--set=part=0.5",
                "--set=on=true",
                "--set=words=[\"a\",\"b\"]",
                "--set=mixed=[1,2.5]",
                "--set=huge=1e300",
                "--set=some_huge=[1,2.5,1e300]",
            ],
            &["--rename", "s/^/new./"],
            mode,
        ];
        edit(&path, &options.concat());
        let (renamed, new) = content(&path);
        let wanted: Vec<_> =
            tensors.iter().map(|(name, bytes)| (format!("new.{name}"), bytes.clone())).collect();
        assert_eq!(renamed, wanted);
        assert!(attributes.iter().all(|own| new.contains(own)), "{new:?}");
        let added =
            ["author", "n", "small", "wide", "part", "on", "words", "mixed", "huge", "some_huge"];
        assert_eq!(new.len(), attributes.len() + added.len());
        // The type of a value follows its key: 8 is a string, 4 a u32, 5 an i32, 10 a u64, 6 an f32, 7 a bool, 9 an array,
        // 12 an f64.
        let bytes = fs::read(&path).unwrap();
        let kind = |key: &str| {
            let key = [&u64::try_from(key.len()).unwrap().to_le_bytes(), key.as_bytes()].concat();
            let at = bytes.windows(key.len()).position(|window| window == key).unwrap();
            bytes[at + key.len()]
        };
        let kinds = added.iter().map(|key| kind(key)).collect::<Vec<_>>();
        assert_eq!(kinds, [8, 4, 5, 10, 6, 7, 9, 9, 12, 9]);
        succeeded_text(zten(["check", path.to_str().unwrap()]));
        // A changed value keeps its type, and a value of another type is an error.
        edit(&path, &[&["--set=small=5", "--set=part=2"], mode].concat());
        let bytes = fs::read(&path).unwrap();
        let value = |key: &str, length: usize| {
            let at = bytes.windows(key.len()).position(|own| own == key.as_bytes()).unwrap();
            bytes[at + key.len()..][..length].to_vec()
        };
        assert_eq!(value("small", 8), [5, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(value("part", 8), [&[6, 0, 0, 0], &2_f32.to_le_bytes()[..]].concat());
        for (set, wanted) in [
            ("--set=n=-1", "the attribute \"n\" is a u32 in the file, and -1 is not"),
            ("--set=on=1", "the attribute \"on\" is a bool in the file, and 1 is not"),
            (
                "--set=author=7",
                "is a string in the file, and 7 is not: put the value between quotes",
            ),
            ("--set=words=7", "the attribute \"words\" is an array in the file, and 7 is not"),
            ("--set=n=[7]", "the attribute \"n\" is a u32 in the file, and no array"),
            (
                "--set=words=[\"a\",7]",
                "is an array in the file, of which each element is a string, and 7 is not: put the value between quotes",
            ),
            ("--set=part=1e300", "the attribute \"part\" is an f32 in the file, and 1e300 is not"),
        ] {
            let (status, why) = rejected(&path, &[&[set], mode].concat());
            assert!(status == 2 && why.contains(wanted), "{set}: {why}");
        }
        let keys = added.iter().map(|key| format!("--unset={key}")).collect::<Vec<_>>();
        let keys = keys.iter().map(String::as_str).chain(["--rename", "s/^new\\.//"]);
        edit(&path, &[&keys.collect::<Vec<_>>()[..], mode].concat());
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

/// Checks that a file without tensors gets no padding, whatever its declared alignment: the memory of an edit depends only
/// on the file.
#[test]
fn a_gguf_file_without_tensors_is_not_padded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    let alignment = gguf::pair("general.alignment", 4, &(1_u32 << 30).to_le_bytes());
    fs::write(&path, gguf::file(&[alignment], &[], &[])).unwrap();
    let edited = path.to_str().unwrap();
    succeeded_text(zten(["edit", edited, "--set", "general.name=x"]));
    assert!(fs::metadata(&path).unwrap().len() < 1000);
    assert!(succeeded_text(zten(["ls", edited])).contains("general.name = \"x\""));
}

/// Checks that a file with a large alignment is not edited even if it is long enough for it, because the padding of a
/// header is kept in memory. The file is sparse on most file systems.
#[test]
fn a_gguf_file_of_a_large_alignment_is_not_edited() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    for (alignment, status) in [(64 << 20, 0), (128 << 20, 2)] {
        let pair = gguf::pair("general.alignment", 4, &u32::to_le_bytes(alignment));
        fs::write(&path, gguf::file(&[pair], &[], &[])).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_len(alignment.into()).unwrap();
        let output = run("edit", &path, &["--set=general.name=x"]);
        let (found, _, why) = ended(&output);
        assert_eq!(found, Some(status), "{why}");
        assert!(status == 0 || why.contains("with an alignment of at most 67108864"), "{why}");
    }
}

/// Checks that the value of an array of arrays cannot be changed, and that the message says that it is one.
#[test]
fn arrays_of_arrays_in_gguf_files_are_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    // This is an array (9) that contains one array of one u8 (0).
    let (inner, one) = ([0; 4], 1_u64.to_le_bytes());
    let value = [&9_u32.to_le_bytes()[..], &one, &inner, &one, &[7]].concat();
    fs::write(&path, gguf::file(&[gguf::pair("nested", 9, &value)], &[], &[])).unwrap();
    for (set, wanted) in [
        ("--set=nested=[[8]]", "is an array of arrays in the file, which zten does not change"),
        ("--set=nested=8", "is an array in the file, and 8 is not"),
    ] {
        let (status, why) = rejected(&path, &[set]);
        assert!(status == 2 && why.contains(wanted), "{set}: {why}");
    }
}

#[test]
fn standard_output_is_no_output_of_an_edit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zt");
    file(&path, Generation::V1_2);
    let complaint =
        crate::failed(zten(["edit", path.to_str().unwrap(), "--set", "a=1", "-o", "-"]), 2);
    assert!(complaint.contains("-o ./- writes a file"), "{complaint}");
}
