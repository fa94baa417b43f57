use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use std::path::Path;

use zten_testkit::safetensors::header;

use crate::error::Error;
use crate::formats::{Begun, Part};
use crate::limits::{Limits, OpenOptions};
use crate::manifest::Tensor;
use crate::num::u64_from_usize;
use crate::shards::{Candidate, Find, Shard};

use super::archive::{Noted, facts, metadata};
use super::batter::{Content, batter_for};
use super::safetensors::file;

/// Files by their names.
type Files<'f> = &'f [(&'f str, Vec<u8>)];

/// Finds files by their names.
struct Named<'f>(Files<'f>);

impl<'f> Find for Named<'f> {
    type Source = Noted<'f>;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<Noted<'f>>>, Error> {
        let file = self.0.iter().find(|(name, _)| *name == shard.name());
        Ok(file.map(|(_, bytes)| candidate(bytes)))
    }
}

fn candidate(bytes: &[u8]) -> Candidate<Noted<'_>> {
    Candidate { source: Noted::new(bytes), length: u64::try_from(bytes.len()).unwrap() }
}

/// Opens an index, and reads all of it from the files beside it, which are bound as shards are.
fn read_with(index: &[u8], files: Files<'_>, limits: &Limits) -> Result<Content, Error> {
    let options = OpenOptions::default().limits(*limits);
    let siblings: Vec<_> = files.iter().map(|(name, bytes)| (name, candidate(bytes))).collect();
    let part = |(name, file)| {
        let Candidate { source, length }: &Candidate<_> = file;
        Part { name, source, length: *length }
    };
    let parts: Vec<_> = siblings.iter().map(|(name, file)| part((**name, file))).collect();
    let Candidate { source, length } = candidate(index);
    let archive = match options.begin(source, length, Path::new("x.index.json"))? {
        Begun::Root(root) => root.open(&parts, &options)?,
        Begun::Archive(archive) => panic!("{archive:?} is no index"),
    };
    assert_eq!((archive.format(), archive.generation()), ("safetensors index", None));
    let archive = archive.find_shards(&Named(files)).unwrap();
    let summary = archive.verify().unwrap();
    assert_eq!(summary.components(), u64_from_usize(archive.len()));
    let tensor = |tensor: Tensor<'_>| {
        let (name, (shape, kind, range)) = facts(&tensor);
        let data = tensor.component("data").unwrap();
        let (_, bytes) = files.iter().find(|(name, _)| Some(*name) == data.shard()).unwrap();
        let place = |at| usize::try_from(at).unwrap();
        let bytes = bytes[place(range.start)..place(range.end)].to_vec();
        assert!(*data.read().unwrap() == *bytes);
        (name, shape, kind, bytes)
    };
    Ok((metadata(archive.attributes())?, archive.tensors().map(tensor).collect()))
}

fn read(index: &str, files: Files<'_>) -> Result<Content, Error> {
    read_with(index.as_bytes(), files, &Limits::default())
}

fn rejection(index: &str, files: Files<'_>) -> String {
    let error = read(index, files).expect_err("the index is read without a complaint");
    assert!(error.is_rejection(), "{error}");
    super::brief(&error)
}

/// Two files of three tensors, of 3 and 6 bytes.
fn two() -> [(&'static str, Vec<u8>); 2] {
    let one = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#;
    let other =
        r#"{"__metadata__":{"format":"pt"},"c":{"dtype":"I16","shape":[3],"data_offsets":[0,6]}}"#;
    [("y.safetensors", file(one, &[1, 2, 3])), ("x.safetensors", file(other, &[4, 0, 5, 0, 6, 0]))]
}

const MAP: &str = r#""weight_map":{"c":"x.safetensors","a":"y.safetensors","b":"y.safetensors"}"#;

fn index(metadata: &str) -> String {
    format!(r#"{{"metadata":{metadata},{MAP}}}"#)
}

#[test]
fn tensors_come_from_all_files() {
    let sizes: usize = two().iter().map(|(_, bytes)| bytes.len()).sum();
    let counts = ["9".to_owned(), "9.0".to_owned(), sizes.to_string()];
    for total in counts {
        let index = index(&format!(r#"{{"total_size":{total}}}"#));
        // What is not named does not matter.
        let [y, x] = two();
        let others = [y, ("consolidated.safetensors", b"anything".to_vec()), x];
        let (attributes, tensors) = read(&index, &others).unwrap();
        assert_eq!(attributes, b"\xa1\x66format\x62pt");
        let found: Vec<_> = tensors.iter().map(|t| (&*t.0, &*t.1, &*t.3)).collect();
        let wanted: [(&str, &[u64], &[u8]); 3] =
            [("c", &[3], &[4, 0, 5, 0, 6, 0]), ("b", &[1], &[1]), ("a", &[2], &[2, 3])];
        assert_eq!(found, wanted);
    }
    assert!(read(&format!("{{{MAP}}}"), &two()).is_ok());
    assert!(read(r#"{"weight_map":{}}"#, &[]).unwrap().1.is_empty());
}

#[test]
fn metadata_becomes_attributes() {
    let metadata = r#"{"total_parameters":6,"n":-1,"x":1.5,"is":true,"t":"ä","format":"pt"}"#;
    let (attributes, _) = read(&index(metadata), &two()).unwrap();
    let wanted = b"\xa6\x61n\x20\x61t\x62\xc3\xa4\x61x\xf9\x3e\x00\x62is\xf5\x66format\x62pt\x70total_parameters\x06";
    assert_eq!(attributes, wanted);
    for (metadata, why) in [
        (r#"{"format":"tf"}"#, "the files do not agree on the metadata \"format\""),
        (r#"{"a":1,"a":1}"#, "duplicate key \"a\""),
        (r#"{"total_size":9,"total_size":9}"#, "duplicate key \"total_size\""),
        (r#"{"a":[]}"#, "expected a text, a number, true or false"),
        (r#"{"a":{}}"#, "expected a text, a number"),
        (r#"{"a":null}"#, "expected a text, a number"),
        (r#"{"total_size":10}"#, "the total_size of 10 bytes does not match 9 bytes of tensors"),
        (r#"{"total_size":9.5}"#, "\"total_size\": expected a whole number of bytes"),
        (r#"{"total_size":-9}"#, "expected a whole number"),
        (r#"{"total_size":"9"}"#, "expected a whole number"),
        (r#"{"total_size":1e300}"#, "expected a whole number"),
        ("[]", "expected a map"),
        ("null", "expected a map"),
    ] {
        let sentence = rejection(&index(metadata), &two());
        assert!(sentence.contains(why), "{metadata}: {sentence}");
    }
}

#[test]
fn what_an_index_may_say() {
    let of = |map: &str| format!(r#"{{"weight_map":{map}}}"#);
    for (index, why) in [
        (String::new(), "EOF while parsing"),
        ("[]".to_owned(), "expected a map of `metadata` and `weight_map`"),
        ("{}".to_owned(), "missing field `weight_map`"),
        (format!("{{{MAP}}} x"), "trailing characters"),
        (format!(r#"{{{MAP},"more":1}}"#), "\"more\": unknown key in the index"),
        (format!("{{{MAP},{MAP}}}"), "duplicate key \"weight_map\""),
        (of(r#"{"a":1}"#), "expected a string"),
        (of(r#"{"a":{"file":"x.safetensors"}}"#), "expected a string"),
        (
            of(r#"{"a":"y.safetensors","\u0061":"y.safetensors"}"#),
            "\"weight_map\": duplicate key \"a\"",
        ),
        (of(r#"{"a":"z.safetensors"}"#), "\"z.safetensors\" is not in the folder of the index"),
    ] {
        let sentence = rejection(&index, &two());
        assert!(sentence.contains(why), "{index}: {sentence}");
    }
    for name in [
        "../x.safetensors",
        "/x.safetensors",
        "a/x.safetensors",
        "./x.safetensors",
        "..",
        "",
        "a\\\\x.safetensors",
        "c:x.safetensors",
        "x.safetensors\\u0000",
        "x.safetensors/",
    ] {
        let sentence = rejection(&of(&format!(r#"{{"a":"{name}"}}"#)), &two());
        assert!(
            sentence.contains(": invalid file name: expected one in the folder of the index"),
            "{sentence}"
        );
    }
    let sentence = rejection(&of(r#"{"a":"x.bin"}"#), &two());
    assert!(sentence.contains("index of PyTorch files"), "{sentence}");
}

#[test]
fn index_and_files_say_the_same() {
    let of = |map: &str| format!(r#"{{"weight_map":{map}}}"#);
    for (map, why) in [
        (
            r#"{"c":"x.safetensors","a":"y.safetensors"}"#,
            r#""y.safetensors": "b" is in this file, but not according to the index"#,
        ),
        (
            r#"{"c":"y.safetensors","a":"y.safetensors","b":"y.safetensors"}"#,
            r#""y.safetensors" lacks the tensor "c", which the index says is in it"#,
        ),
        (
            r#"{"c":"x.safetensors","d":"x.safetensors","a":"y.safetensors","b":"y.safetensors"}"#,
            r#""x.safetensors" lacks the tensor "d", which the index says is in it"#,
        ),
        (
            r#"{"c":"x.safetensors","a":"x.safetensors","b":"y.safetensors"}"#,
            r#"lacks the tensor "a", which the index says is in it"#,
        ),
    ] {
        let sentence = rejection(&of(map), &two());
        assert!(sentence.contains(why), "{map}: {sentence}");
    }
    // The same tensors in two files: the first of them, in either, is named, with the other file.
    let [y, x] = two();
    let twice = [y.clone(), ("x.safetensors", y.1.clone())];
    let sentence = rejection(&of(r#"{"a":"x.safetensors","b":"y.safetensors"}"#), &twice);
    let wanted =
        r#""x.safetensors": "b" is in "y.safetensors", too, where the index says that it is"#;
    assert_eq!(sentence, wanted);
    // The other file has it not, or cannot tell.
    for other in [x.1.clone(), x.1[..20].to_vec()] {
        let files = [("x.safetensors", y.1.clone()), ("y.safetensors", other)];
        let sentence = rejection(&of(r#"{"a":"x.safetensors","b":"y.safetensors"}"#), &files);
        assert!(
            sentence.contains("\"b\" is in this file, but not according to the index"),
            "{sentence}"
        );
    }
    // What is wrong with a file is reported of that one.
    let [mut y, x] = two();
    y.1.pop();
    let sentence = rejection(&index("{}"), &[y, x]);
    assert!(sentence.starts_with("\"y.safetensors\": expected "), "{sentence}");
}

#[test]
fn limits_hold() {
    let index = index("{}");
    let with = |name: &str, value| Limits::default().with_named(name, value).unwrap();
    for (limits, why) in
        [(with("shards", 1), "it names more than 1 files"), (with("keys", 0), "has 1 keys")]
    {
        let rejected = read_with(index.as_bytes(), &two(), &limits).unwrap_err();
        let rejected = super::brief(&rejected);
        assert!(rejected.contains(why), "{rejected}");
    }
    assert!(read_with(index.as_bytes(), &two(), &with("shards", 2)).is_ok());
}

#[test]
fn damage_is_found_or_harmless() {
    let whole = index(r#"{"total_size":9,"v":1.5}"#);
    let tensors = |(_, tensors): &Content| tensors.clone();
    // In the index, which has no checksum: other metadata, and nothing else.
    let reader = |bytes: &[u8]| read_with(bytes, &two(), &Limits::default());
    batter_for(whole.as_bytes(), &reader, |_, content, whole| {
        assert!(tensors(content) == tensors(whole));
    });
    // In a file: its names are said twice.
    let reader = |bytes: &[u8]| {
        let [y, x] = two();
        read_with(whole.as_bytes(), &[(y.0, bytes.to_vec()), x], &Limits::default())
    };
    batter_for(&two()[0].1, &reader, |_, content, whole| {
        let names = |content: &Content| {
            let mut names: Vec<_> = content.1.iter().map(|tensor| tensor.0.clone()).collect();
            names.sort();
            names
        };
        assert!(names(content) == names(whole));
    });
}

#[test]
fn memory_follows_the_index() {
    let count = 100_000;
    let header = header((0..count).map(|at| (format!("{at:x}"), "U8", [], 1)));
    let map = |at: usize| format!(r#""{at:x}":"x.safetensors""#);
    let map = (0..count).map(map).collect::<Vec<_>>().join(",");
    let index = format!(r#"{{"weight_map":{{{map}}}}}"#);
    let bytes = file(&header, &vec![0; count]);
    let Candidate { source, length } = candidate(&bytes);
    let parts = [Part { name: "x.safetensors", source: &source, length }];
    let Candidate { source, length } = candidate(index.as_bytes());
    let mut opened = None;
    let memory = allocation_counter::measure(|| {
        let options = OpenOptions::default();
        let begun = options.begin(source, length, Path::new("x.index.json")).unwrap();
        let Begun::Root(root) = begun else { panic!("{begun:?} is no index") };
        opened = Some(root.open(&parts, &options));
    });
    assert_eq!(opened.unwrap().unwrap().len(), count);
    let most = 8 * u64::try_from(header.len() + index.len()).unwrap() + (64 << 10);
    assert!(memory.bytes_max <= most, "{} bytes, {most}", memory.bytes_max);
}
