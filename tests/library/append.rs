//! Tests of appending: the old content counts against the limits, and the old objects are still read as before.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    reason = "a test that panics has failed, and its numbers are small"
)]

use zten::write::{Encoded, Level, NewObject, WriteOptions, Writer};
use zten::{
    Archive, DType, Error, ErrorKind, Generation, Limits, OpenOptions, Tolerance, error::Misuse,
};
use zten_testkit::{check, oracles, reject_index, slice};

/// Opens the file `old` with `options`, appends to it what `add` writes, and returns the new file.
fn append(
    old: &[u8],
    options: &OpenOptions,
    settings: &WriteOptions,
    add: impl FnOnce(&mut Writer<Vec<u8>>) -> Result<(), Error>,
) -> Result<Vec<u8>, Error> {
    let archive = options.from_bytes(old)?;
    let blobs = slice(old, 0..archive.manifest().appends_at()).to_vec();
    let mut writer = Writer::append(blobs, archive.manifest(), settings)?;
    add(&mut writer)?;
    writer.finish()
}

/// Adds an object of `bytes` equal bytes, compressed with zstd.
fn compressed(writer: &mut Writer<Vec<u8>>, name: &str, bytes: u64) -> Result<(), Error> {
    let shape = [bytes];
    let object = NewObject::dense(name, &shape, DType::U8).compressed(Level::default());
    writer.add_object(&object, &[("data", &vec![7; bytes as usize])])
}

fn attributes() -> Encoded {
    Encoded::from_cbor(b"\xa1\x61a\x01".to_vec())
}

fn limited(name: &str, value: u64) -> Limits {
    Limits::default().with_named(name, value).unwrap()
}

/// Returns a file without objects whose root map has `keys` keys, none of which is `attributes`.
fn root_of(keys: u16) -> Vec<u8> {
    let [high, low] = keys.to_be_bytes();
    let mut manifest = vec![0xb9, high, low];
    manifest.extend(b"\x67version\x651.1.0\x67objects\xa0");
    for key in 2..keys {
        manifest.extend(format!("\x65{key:05}\x01").into_bytes());
    }
    oracles::file(&[], &manifest)
}

#[test]
fn a_root_with_more_keys_than_the_limit_is_rejected() {
    let (plain, give) = (OpenOptions::default(), attributes());
    let old = root_of(4096);
    let new = append(&old, &plain, &WriteOptions::default(), |w| w.add("x", &[0], &[0_u8; 0]));
    check(&new.unwrap(), &plain).unwrap();
    let new = append(&old, &plain, &WriteOptions::default(), |w| w.attributes_encoded(&give));
    assert_eq!(new.unwrap_err().rule(), Some("limit-keys"));
    let new =
        append(&root_of(4095), &plain, &WriteOptions::default(), |w| w.attributes_encoded(&give));
    check(&new.unwrap(), &plain).unwrap();
    // The new root map has more keys than the default limit allows, so readers need a higher limit.
    let more = limited("keys", 4097);
    let new = append(&old, &plain, &WriteOptions::default().limits(more), |w| {
        w.attributes_encoded(&give)
    });
    let new = new.unwrap();
    assert_eq!(check(&new, &plain).unwrap_err().rule(), Some("limit-keys"));
    check(&new, &plain.limits(more)).unwrap();
    // Appending to a file that was opened with a higher limit succeeds without any setting of the writer.
    let again = append(&new, &plain.limits(more), &WriteOptions::default(), |_| Ok(())).unwrap();
    check(&again, &plain.limits(more)).unwrap();
    let less = append(
        &new,
        &plain.limits(more),
        &WriteOptions::default().limits(limited("keys", 4096)),
        |_| Ok(()),
    );
    assert_eq!(less.unwrap_err().rule(), Some("limit-keys"));
}

#[test]
fn decoded_bytes_of_the_old_file_count_against_the_limit() {
    let total = OpenOptions::default().limits(limited("decoded-total", 1000));
    let begin =
        || Writer::new(Vec::new(), &WriteOptions::default().limits(*total.limit())).unwrap();
    let mut writer = begin();
    compressed(&mut writer, "a", 600).unwrap();
    compressed(&mut writer, "b", 401).unwrap();
    assert_eq!(writer.finish().unwrap_err().rule(), Some("limit-decoded-total"));
    let mut writer = begin();
    compressed(&mut writer, "a", 600).unwrap();
    let old = writer.finish().unwrap();
    for (bytes, valid) in [(400, true), (401, false)] {
        let new = append(&old, &total, &WriteOptions::default(), |writer| {
            // The limit on decoded bytes counts only compressed components, so the component of `raw` does not count.
            writer.add("raw", &[500], &[1_u8; 500])?;
            compressed(writer, "b", bytes)
        });
        match new {
            Ok(new) => check(&new, &total).unwrap(),
            Err(error) => assert_eq!(error.rule(), Some("limit-decoded-total")),
        }
        assert_eq!(
            valid,
            append(&old, &total, &WriteOptions::default(), |w| compressed(w, "b", bytes)).is_ok()
        );
    }
    let less = |name, value| {
        let settings = WriteOptions::default().limits(limited(name, value));
        append(&old, &OpenOptions::default(), &settings, |_| Ok(())).map_err(|error| error.rule())
    };
    assert_eq!(less("decoded-total", 599), Err(Some("limit-decoded-total")));
    assert_eq!(less("decoded", 599), Err(Some("limit-decoded")));
    assert_eq!(less("manifest", 20), Err(Some("limit-manifest")));
    assert!(less("decoded-total", 600).is_ok() && less("decoded", 600).is_ok());
    // The tensors of the old file are checked against the limits of the writer, too. One has more than one dimension.
    let plane = zten_testkit::read_accepted("v12-dense.zt");
    let settings = WriteOptions::default().limits(limited("rank", 1));
    let rejected = append(&plane, &OpenOptions::default(), &settings, |_| Ok(())).unwrap_err();
    assert_eq!(rejected.rule(), Some("limit-rank"));
}

/// The manifest of generation 1.1 may leave out the decoded size of a compressed component. Such a component counts as the largest
/// size that its stored bytes can decode to.
#[test]
fn unknown_decoded_sizes_count_as_the_largest_possible() {
    let old = zten_testkit::read_accepted("unsupported-format--v11-zstd.zt");
    let with = |total, bytes| {
        let options = OpenOptions::default().limits(limited("decoded-total", total));
        let new = append(&old, &options, &WriteOptions::default(), |w| compressed(w, "b", bytes))?;
        check(&new, &options)?;
        Ok::<_, Error>(())
    };
    let archive = Archive::from_bytes(&old).unwrap();
    let component = archive.tensors().next().unwrap().components().next().unwrap();
    let most = component.extent().length() * (32 << 10);
    assert_eq!(component.decoded_length(), None);
    assert_eq!(with(most + 100, 100), Ok(()));
    assert_eq!(with(most + 100, 101).unwrap_err().rule(), Some("limit-decoded-total"));
    // An uncompressed component never counts against `decoded-total`, so adding one always succeeds.
    let options = OpenOptions::default().limits(limited("decoded-total", 10));
    let new = append(&old, &options, &WriteOptions::default(), |w| w.add("raw", &[1], &[1_u8]));
    check(&new.unwrap(), &options).unwrap();
}

/// By default, the decoded bytes that readers allow grow with the length of the file. Appending can make a file shorter, and so
/// lower what is allowed: here the old root map has a head of three bytes where one byte is enough.
#[test]
fn a_file_that_becomes_shorter_may_be_rejected() {
    let manifest = |last: u64| {
        let mut manifest = b"\xb9\x00\x02\x67version\x651.2.0\x67objects\xa1\x61x\xa3".to_vec();
        manifest.extend(b"\x65shape\x81\x01\x66format\x64mine\x6acomponents\xb1");
        for role in 0..17_u64 {
            manifest.extend([0x61, b'a' + role as u8]);
            manifest.extend(b"\xa5\x65dtype\x62u8\x68encoding\x64zstd\x66length\x01\x66offset\x19");
            manifest.extend((64 + 64 * role as u16).to_be_bytes());
            manifest.extend(b"\x73uncompressed_length\x1b");
            let size = if role < 16 { 4 << 30 } else { last };
            manifest.extend(size.to_be_bytes());
        }
        oracles::file(&[0; 17 * 64], &manifest)
    };
    let length = manifest(0).len() as u64;
    let plain = OpenOptions::default();
    let keep = |old: &[u8]| append(old, &plain, &WriteOptions::default(), |_| Ok(()));
    let over = append(&manifest(64 * length + 1), &plain, &WriteOptions::default(), |_| Ok(()));
    assert_eq!(over.unwrap_err().rule(), Some("limit-decoded-total"));
    assert_eq!(keep(&manifest(64 * length)).unwrap_err().rule(), Some("limit-decoded-total"));
    let shorter = keep(&manifest(64 * (length - 2))).unwrap();
    assert_eq!(shorter.len() as u64, length - 2);
    let longer = append(&manifest(64 * length), &plain, &WriteOptions::default(), |writer| {
        writer.attributes_encoded(&attributes())
    });
    assert!(longer.unwrap().len() as u64 > length);
}

#[test]
fn tolerances_of_the_old_file_do_not_cover_added_objects() {
    let tolerant =
        Tolerance::ALL.iter().fold(OpenOptions::default(), |all, one| all.tolerate(*one));
    let mut tried = [0; 3];
    for row in reject_index() {
        let rules = ["index-dtype", "blob-overlap", "quantized-zeros"];
        let Some(at) = rules.iter().position(|rule| **rule == row.expected.rule) else { continue };
        let old = row.read();
        let opened = tolerant.from_bytes(&old);
        if opened.map_or(true, |archive| archive.generation() == Some(Generation::V0_1)) {
            continue;
        }
        let add = |writer: &mut Writer<Vec<u8>>| {
            writer.add("appended", &[1], &[1_u8])?;
            // Tolerances of the old file do not apply to added objects.
            let zeros = NewObject::custom("without zeros", &[0], "quantized_group", &[]);
            assert!(writer.add_object(&zeros, &[]).is_err());
            Ok(())
        };
        let new = append(&old, &tolerant, &WriteOptions::default(), add).unwrap();
        let archive = tolerant.from_bytes(&new).unwrap();
        assert!(archive.get("appended").is_some(), "{}", row.file);
        assert_eq!(Archive::from_bytes(&new).unwrap_err().rule(), Some(rules[at]), "{}", row.file);
        tried[at] += 1;
    }
    assert!(tried.iter().all(|tried| *tried > 0), "{tried:?}");
}

#[test]
fn the_canonical_form_is_not_kept() {
    let old =
        Writer::new(Vec::new(), &WriteOptions::default().canonical()).unwrap().finish().unwrap();
    let (plain, canonical) = (OpenOptions::default(), OpenOptions::default().canonical());
    let new =
        append(&old, &canonical, &WriteOptions::default(), |w| compressed(w, "x", 5)).unwrap();
    check(&new, &plain).unwrap();
    assert!(check(&new, &canonical).is_err());
    let misuse = append(&old, &canonical, &WriteOptions::default().canonical(), |_| Ok(()));
    assert_eq!(misuse.unwrap_err().kind(), ErrorKind::Misuse(Misuse::Append));
}

/// Every limit that a new file could exceed is checked when an object is declared, except for `decoded-total`, which is checked
/// at the end. A limit one below what the file needs is exceeded.
#[test]
fn limits_are_checked_when_an_object_is_declared() {
    let deep = Encoded::from_cbor(b"\xa1\x61a\x81\x81\x81\x07".to_vec());
    let write = |limits: Limits| {
        let mut writer = Writer::new(Vec::new(), &WriteOptions::default().limits(limits))?;
        let object = NewObject::dense("x", &[1, 1, 700], DType::U8);
        let object = object.compressed(Level::default()).attributes(&deep);
        writer.add_object(&object, &[("data", &[7; 700])])?;
        writer.finish()
    };
    // The map of a component has six keys: the three required keys, a digest, an encoding and a decoded
    // length.
    let cases = [
        ("window", 700),
        ("decoded", 700),
        ("decoded-total", 700),
        ("keys", 6),
        ("rank", 3),
        ("depth", 7),
    ];
    for (name, edge) in cases {
        let limits = limited(name, edge);
        let file = write(limits).unwrap_or_else(|error| panic!("{name}: {error}"));
        check(&file, &OpenOptions::default().limits(limits)).unwrap();
        let limits = limited(name, edge - 1);
        let rejected = write(limits).unwrap_err();
        assert_eq!(rejected.rule(), Some(&*format!("limit-{name}")));
        // All limits but `decoded-total` are checked when the object is declared. Such an error names the object, and
        // has no offset in the file.
        let early = (rejected.location().object(), rejected.offset()) == (Some(0), None);
        assert_eq!(early, name != "decoded-total", "{name}: rejected before it is written");
        let read = check(&file, &OpenOptions::default().limits(limits)).unwrap_err();
        assert_eq!(read.rule(), rejected.rule(), "a reader rejects it for the same");
    }
    // The root map has two keys, so a reader with a limit of one key could open no file.
    let new = Writer::new(Vec::new(), &WriteOptions::default().limits(limited("keys", 1))).unwrap();
    assert_eq!(new.finish().unwrap_err().rule(), Some("limit-keys"));
}

#[test]
fn attributes_count_against_the_limit_on_the_manifest() {
    let settings = WriteOptions::default().limits(limited("manifest", 1000));
    let mut writer = Writer::new(Vec::new(), &settings).unwrap();
    let long = Encoded::from_cbor([&b"\xa1\x61a\x59\x04\x00"[..], &[0; 1024]].concat());
    writer.attributes_encoded(&long).unwrap();
    assert_eq!(writer.finish().unwrap_err().rule(), Some("limit-manifest"));
    let mut writer = Writer::new(Vec::new(), &settings).unwrap();
    writer.attributes_encoded(&long).unwrap();
    writer.attributes_encoded(&attributes()).unwrap();
    check(&writer.finish().unwrap(), &OpenOptions::default()).unwrap();
}

/// Renaming changes only the names in the manifest. All other bytes and the order of the objects stay, even if the names are no
/// longer sorted. A new name that another object has is an error.
#[test]
fn renaming_changes_only_names() {
    for generation in [Generation::V1_2, Generation::V2] {
        let options = WriteOptions::default().generation(generation);
        let mut writer = Writer::new(Vec::new(), &options).unwrap();
        for name in ["a", "b", "c"] {
            writer.add(name, &[1], &[name.as_bytes()[0]]).unwrap();
        }
        let old = Archive::from_bytes(writer.finish().unwrap()).unwrap();
        let edit = |new: &dyn Fn(&str) -> Option<&'static str>| {
            let mut writer = Writer::edit(Vec::new(), old.manifest(), &options).unwrap();
            writer.rename(new)?;
            // A new object may take a name that renaming has freed.
            writer.add("b", &[1], &[9_u8])?;
            let kept = usize::try_from(old.manifest().edits_at()).unwrap();
            writer.finish().map(|tail| [&old.bytes()[..kept], &tail].concat())
        };
        let new = edit(&|name| (name == "b").then_some("long name")).unwrap();
        let new = Archive::from_bytes(new).unwrap();
        new.verify().unwrap();
        for (name, byte) in [("a", b'a'), ("c", b'c'), ("long name", b'b'), ("b", 9)] {
            assert_eq!(new.tensor(name).unwrap().to_vec::<u8>().unwrap(), [byte]);
        }
        let twice = edit(&|name| (name == "b").then_some("c")).unwrap_err();
        assert_eq!(twice.rule(), Some("duplicate-name"));
        let taken = edit(&|_| None).unwrap_err();
        assert_eq!(taken.rule(), Some("duplicate-name"));
    }
}
