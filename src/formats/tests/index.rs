use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use std::path::Path;

use zten_testkit::safetensors::header;

use crate::archive::Archive;
use crate::error::Error;
use crate::finding::{Finding, Verdict};
use crate::formats::{Begun, PartFile};
use crate::limits::{Limits, OpenOptions};
use crate::manifest::Tensor;
use crate::num::u64_from_usize;
use crate::read_at::ReadAt;
use crate::shards::{Candidate, Find, Shard};
use crate::verify::check;

use super::archive::{Noted, facts, metadata};
use super::batter::{Content, batter_for};
use super::safetensors::file;

/// The files beside an index, by their names.
type Files<'f> = &'f [(&'f str, Vec<u8>)];

/// A finder that returns files by their names.
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

/// Opens the index `index`, whose files are bound as shards are, and calls `read` with the archive.
fn open_with<T>(
    index: &[u8],
    files: Files<'_>,
    limits: &Limits,
    read: impl FnOnce(&Archive<Noted<'_>>) -> Result<T, Error>,
) -> Result<T, Error> {
    let options = OpenOptions::default().limits(*limits);
    let siblings: Vec<_> = files.iter().map(|(name, bytes)| (name, candidate(bytes))).collect();
    let part = |(name, file)| {
        let Candidate { source, length }: &Candidate<_> = file;
        PartFile { name, source, length: *length }
    };
    let parts: Vec<_> = siblings.iter().map(|(name, file)| part((**name, file))).collect();
    let Candidate { source, length } = candidate(index);
    let archive = match options.begin(source, length, Path::new("x.index.json"))? {
        Begun::Root(root) => root.open(&parts, &options)?,
        Begun::Archive(archive) => panic!("{archive:?} is no index"),
    };
    assert_eq!((archive.format(), archive.generation()), ("safetensors index", None));
    read(&archive.find_shards(&Named(files)).unwrap())
}

/// Opens the index `index`, and reads everything from its `files`.
fn read_with(index: &[u8], files: Files<'_>, limits: &Limits) -> Result<Content, Error> {
    open_with(index, files, limits, |archive| {
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
    })
}

/// Opens and checks an index. Returns the messages of all findings from opening, except those on the alignment of tensors, and
/// the message of the error that makes the file invalid; `None` if it is valid.
fn found(index: &str, files: Files<'_>) -> (Vec<String>, Option<String>) {
    let read = open_with(index.as_bytes(), files, &Limits::default(), |archive| {
        archive.verify().unwrap();
        // The files of `two` are not aligned, which is a finding of a single file and not of the index.
        let of_index = |found: &Finding| found.row.unwrap().id() != "safetensors-alignment";
        let notes = Finding::of_open(archive.manifest()).into_iter().filter(of_index);
        let notes = notes.map(|found| found.to_string()).collect();
        let report = check(archive, &mut ());
        let fault = report.fault().map(|fault| fault.finding(archive.manifest()).to_string());
        assert_eq!(fault.is_some(), report.verdict() == Verdict::Invalid);
        Ok((notes, fault))
    });
    read.unwrap()
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
        // Files that the index does not name are ignored.
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
        ("[]", "expected a map"),
        ("null", "expected a map"),
    ] {
        let sentence = rejection(&index(metadata), &two());
        assert!(sentence.contains(why), "{metadata}: {sentence}");
    }
}

#[test]
fn metadata_may_have_any_values() {
    let metadata = r#"{"a":[1,{"b":null}],"b":null,"big":1e999,"half":"\ud800"}"#;
    let (attributes, _) = read(&index(metadata), &two()).unwrap();
    let wanted = b"\xa5\x61a\x82\x01\xa1\x61b\xf6\x61b\xf6\x63big\x651e999\x64half\x68\"\\ud800\"\x66format\x62pt";
    assert_eq!(attributes, wanted);
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(&index(&deep), &two()).is_ok());
}

#[test]
fn wrong_counts_are_notes() {
    let sizes: usize = two().iter().map(|(_, bytes)| bytes.len()).sum();
    for right in ["9", "9.0", "9e0", "0.9e1", &sizes.to_string()] {
        let index = index(&format!(r#"{{"total_size":{right}}}"#));
        assert_eq!(found(&index, &two()), (vec![], None), "{right}");
    }
    for right in ["6", "6.0"] {
        let index = index(&format!(r#"{{"total_parameters":{right}}}"#));
        assert_eq!(found(&index, &two()), (vec![], None), "{right}");
    }
    let files = format!(
        "total_size is 10 bytes, but the tensors have 9 bytes, and the files have {sizes} bytes"
    );
    let not_whole = "total_size is not a whole number of bytes";
    for (value, why) in [
        ("10", &*files),
        ("1e1", &*files),
        ("9.5", not_whole),
        ("-9", not_whole),
        ("\"9\"", not_whole),
        ("1e300", not_whole),
        ("1e999", not_whole),
        ("null", not_whole),
        ("[9]", not_whole),
    ] {
        let (notes, fault) = found(&index(&format!(r#"{{"total_size":{value}}}"#)), &two());
        let wanted = format!("{why} (rule index-total-size, policy)");
        assert_eq!((notes, fault), (vec![wanted], None), "{value}");
    }
    let not_whole = "total_parameters is not a whole number";
    for (value, why) in [
        ("9", "total_parameters is 9, but the tensors have 6 elements"),
        ("1.23e10", "total_parameters is 12300000000, but the tensors have 6 elements"),
        ("true", not_whole),
    ] {
        let (notes, fault) = found(&index(&format!(r#"{{"total_parameters":{value}}}"#)), &two());
        let wanted = format!("{why} (rule index-total-parameters, policy)");
        assert_eq!((notes, fault), (vec![wanted], None), "{value}");
    }
}

#[test]
fn unknown_keys_are_left_out() {
    let (notes, fault) = found(&format!(r#"{{{MAP},"more":[[]],"x":1,"other":2}}"#), &two());
    let wanted = "\"more\" is a key of the index other than `weight_map` and `metadata`, which zten ignores (rule index-key, policy), and 2 more";
    assert_eq!((notes, fault), (vec![wanted.to_owned()], None));
}

#[test]
fn what_an_index_may_say() {
    for (index, why) in [
        (String::new(), "EOF while parsing"),
        ("[]".to_owned(), "expected a map of `metadata` and `weight_map`"),
        ("{}".to_owned(), "missing field `weight_map`"),
        (format!("{{{MAP}}} x"), "trailing characters"),
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
            sentence.contains(" is an invalid file name: expected a name without a folder"),
            "{sentence}"
        );
    }
    let sentence = rejection(&of(r#"{"a":"y.safetensors","b":"x.bin"}"#), &two());
    assert!(sentence.contains("has another format than the first file"), "{sentence}");
}

fn of(map: &str) -> String {
    format!(r#"{{"weight_map":{map}}}"#)
}

#[test]
fn files_have_all_tensors_that_the_index_names() {
    for (map, why) in [
        (
            r#"{"c":"y.safetensors","a":"y.safetensors","b":"y.safetensors"}"#,
            r#""y.safetensors" lacks the tensor "c", which the index assigns to it"#,
        ),
        (
            r#"{"c":"x.safetensors","d":"x.safetensors","a":"y.safetensors","b":"y.safetensors"}"#,
            r#""x.safetensors" lacks the tensor "d", which the index assigns to it"#,
        ),
        (
            r#"{"c":"x.safetensors","a":"x.safetensors","b":"y.safetensors"}"#,
            r#"lacks the tensor "a", which the index assigns to it"#,
        ),
    ] {
        let sentence = rejection(&of(map), &two());
        assert!(sentence.contains(why), "{map}: {sentence}");
    }
    // An error in one of the files of an index begins with the name of that file.
    let [mut y, x] = two();
    y.1.pop();
    let sentence = rejection(&index("{}"), &[y, x]);
    assert!(sentence.starts_with("\"y.safetensors\": expected "), "{sentence}");
}

#[test]
fn tensors_that_the_index_does_not_name_are_left_out() {
    let map = of(r#"{"c":"x.safetensors","a":"y.safetensors"}"#);
    let (_, tensors) = read(&map, &two()).unwrap();
    assert_eq!(tensors.iter().map(|tensor| &*tensor.0).collect::<Vec<_>>(), ["c", "a"]);
    let wanted = r#""b" is in this file, but the index does not name it (rule index-unnamed, policy) in the shard "y.safetensors""#;
    assert_eq!(found(&map, &two()), (vec![wanted.to_owned()], None));
    let of_one = of(r#"{"a":"y.safetensors"}"#);
    assert_eq!(found(&of_one, &two()), (vec![wanted.to_owned()], None));
}

/// Returns a file of the tensors `a` and `b`, whose elements are `bytes`, and of a third tensor called `other`.
fn copy(dtype: &str, bytes: [u8; 4], other: &str) -> Vec<u8> {
    let half = if dtype == "U8" { 2 } else { 1 };
    let header = format!(
        r#"{{"a":{{"dtype":"{dtype}","shape":[{half}],"data_offsets":[0,2]}},"b":{{"dtype":"U8","shape":[2],"data_offsets":[2,4]}},"{other}":{{"dtype":"U8","shape":[1],"data_offsets":[4,5]}}}}"#
    );
    file(&header, &[&bytes[..], &[9]].concat())
}

#[test]
fn copies_of_tensors_are_compared() {
    // The index selects `a` from the last file, and names `b` in no file.
    let map =
        of(r#"{"x":"x.safetensors","y":"yy.safetensors","z":"z.safetensors","a":"z.safetensors"}"#);
    let files = |one: (&str, &[u8; 4]), other: &[u8; 4]| {
        [
            ("x.safetensors", copy(one.0, *one.1, "x")),
            ("yy.safetensors", copy("U8", *other, "y")),
            ("z.safetensors", copy("U8", [1, 2, 3, 4], "z")),
        ]
    };
    let copies = r#""a" is in this file and in "z.safetensors", where the index says that it is (rule index-copy, policy) in the shard "x.safetensors", and 3 more"#;
    let unnamed = r#""b" is in this file, but the index does not name it (rule index-unnamed, policy) in the shard "x.safetensors", and 2 more"#;
    let notes = vec![copies.to_owned(), unnamed.to_owned()];
    let equal = files(("U8", &[1, 2, 3, 4]), &[1, 2, 3, 4]);
    assert_eq!(found(&map, &equal), (notes.clone(), None));
    // The index decides which of two tensors of the same name is read.
    let a = |files: Files<'_>| {
        let (_, tensors) = read(&map, files).unwrap();
        tensors.into_iter().find(|tensor| tensor.0 == "a").unwrap().3
    };
    for (one, other, why) in [
        (
            [1, 9, 3, 4],
            [1, 2, 3, 4],
            r#""a" has other bytes in this file than in "z.safetensors", where the index says that it is (rule index-overlay, implied) in the shard "x.safetensors" at byte "#,
        ),
        (
            [1, 2, 3, 4],
            [1, 9, 3, 9],
            r#""a" has other bytes in this file than in "z.safetensors", where the index says that it is (rule index-overlay, implied) in the shard "yy.safetensors" at byte "#,
        ),
        (
            [1, 2, 3, 4],
            [1, 2, 3, 9],
            r#""b" has other bytes in this file than in "x.safetensors" (rule index-overlay, implied) in the shard "yy.safetensors" at byte "#,
        ),
    ] {
        let files = files(("U8", &one), &other);
        let (found, fault) = found(&map, &files);
        assert_eq!(found, notes);
        let fault = fault.unwrap();
        let at = fault.strip_prefix(why).unwrap_or_else(|| panic!("{fault}"));
        let at = usize::from_str_radix(at.trim_start_matches("0x"), 16).unwrap();
        let bytes = files.iter().find(|(_, bytes)| bytes.get(at) == Some(&9));
        assert!(bytes.is_some(), "{fault}");
        assert_eq!(a(&files), [1, 2]);
    }
    // Tensors of other dtypes or shapes differ, whatever their bytes are.
    let files = files(("BF16", &[1, 2, 3, 4]), &[1, 2, 3, 4]);
    let (found, fault) = found(&map, &files);
    let overlay = r#""a" is bf16 [1] in this file and u8 [2] in "z.safetensors", where the index says that it is (rule index-overlay, implied) in the shard "x.safetensors""#;
    let copies = copies.replace(r#"shard "x.s"#, r#"shard "yy.s"#).replace("3 more", "2 more");
    assert_eq!(found, [overlay, &copies, unnamed]);
    assert_eq!(fault.unwrap(), overlay);
    assert_eq!(a(&files), [1, 2]);
}

/// A source of bytes. All sources of this type claim to be the same file.
struct OneFile<'b>(&'b [u8]);

impl ReadAt for OneFile<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.0.read_at(offset, buffer)
    }

    fn identity(&self) -> Option<[u64; 2]> {
        Some([1, 2])
    }
}

/// A finder that returns the first bytes for names that begin with `a`, and the second bytes for others.
struct TwoFiles<'f>([&'f [u8]; 2]);

impl<'f> Find for TwoFiles<'f> {
    type Source = OneFile<'f>;

    fn find(&self, shard: &Shard<'_>) -> Result<Option<Candidate<OneFile<'f>>>, Error> {
        let [first, second] = self.0;
        let bytes = if shard.name().starts_with('a') { first } else { second };
        Ok(Some(Candidate { source: OneFile(bytes), length: shard.size() }))
    }
}

#[test]
fn copies_in_one_file_of_two_names_are_not_read() {
    let bytes = copy("U8", [1, 2, 3, 4], "c");
    let index = of(r#"{"a":"a.safetensors","b":"b.safetensors"}"#);
    let length = u64_from_usize(bytes.len());
    let parts = ["a.safetensors", "b.safetensors"];
    let source = OneFile(&bytes);
    let parts = parts.map(|name| PartFile { name, source: &source, length });
    let options = OpenOptions::default();
    let root = OneFile(index.as_bytes());
    let begun = options.begin(root, u64_from_usize(index.len()), Path::new("x.index.json"));
    let Begun::Root(root) = begun.unwrap() else { panic!("no index") };
    let archive = root.open(&parts, &options).unwrap();
    assert_eq!(archive.findings().len(), 2);
    // Both sources claim the same identity, so their bytes are not compared, although one byte differs.
    let other = copy("U8", [9, 2, 3, 4], "c");
    let archive = archive.find_shards(&TwoFiles([&*bytes, &*other])).unwrap();
    assert_eq!(check(&archive, &mut ()).verdict(), Verdict::Valid);
}

#[test]
fn memory_follows_the_copies() {
    let count = 20_000;
    let names = |first: usize| (first..first + count).map(|at| format!("{at:x}"));
    let header = |first| header(names(first).map(|name| (name, "U8", [], 1)));
    let files = [("x.safetensors", 0), ("y.safetensors", 1), ("z.safetensors", 2)];
    let files = files.map(|(name, first)| (name, file(&header(first), &vec![0; count])));
    let map: Vec<_> = names(0).map(|name| format!(r#""{name}":"x.safetensors""#)).collect();
    let last = |file: &str, at: usize| format!(r#""{at:x}":"{file}.safetensors""#);
    let map = [map, vec![last("y", count), last("z", count + 1)]].concat().join(",");
    let index = of(&format!("{{{map}}}"));
    let length: usize = files.iter().map(|(_, bytes)| bytes.len() - count).sum();
    let siblings: Vec<_> = files.iter().map(|(name, bytes)| (*name, candidate(bytes))).collect();
    let parts = siblings.iter();
    let parts =
        parts.map(|(name, file)| PartFile { name, source: &file.source, length: file.length });
    let parts: Vec<_> = parts.collect();
    let Candidate { source, length: index_length } = candidate(index.as_bytes());
    let mut opened = None;
    let memory = allocation_counter::measure(|| {
        let options = OpenOptions::default();
        let begun = options.begin(source, index_length, Path::new("x.index.json")).unwrap();
        let Begun::Root(root) = begun else { panic!("{begun:?} is no index") };
        opened = Some(root.open(&parts, &options));
    });
    let archive = opened.unwrap().unwrap();
    assert_eq!(archive.len(), count + 2);
    let more: Vec<_> = archive.findings().iter().map(|found| found.more() + 1).collect();
    assert_eq!(more, [u64_from_usize(2 * count - 2)]);
    let most = 12 * u64::try_from(length + index.len()).unwrap() + (64 << 10);
    assert!(memory.bytes_max <= most, "{} bytes, {most}", memory.bytes_max);
}

#[test]
fn limits_hold() {
    let index = index("{}");
    let with = |name: &str, value| Limits::default().with_named(name, value).unwrap();
    for (limits, why) in
        [(with("shards", 1), "the index names more than 1 files"), (with("keys", 0), "has 1 keys")]
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
    // Damage in the index, which has no checksum, may change metadata and nothing else.
    let reader = |bytes: &[u8]| read_with(bytes, &two(), &Limits::default());
    batter_for(whole.as_bytes(), &reader, |_, content, whole| {
        assert!(tensors(content) == tensors(whole));
    });
    // Damage in one of the files: the index repeats the names of its tensors.
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
    let parts = [PartFile { name: "x.safetensors", source: &source, length }];
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
