//! The writer: what it writes, readers accept and find again; what it refuses, it refuses in time.

use std::collections::BTreeMap;

use zten::write::{Checksum, Encoded, NewComponent, NewObject, Settings, Writer, canonical_order};
use zten::{
    Archive, ElementType, Error, ErrorKind, Limits, LogicalType, Options, StorageType,
    error::Misuse,
};
use zten_corpus::base::words;
use zten_testkit::{check, misuse};

fn writer(settings: &Settings) -> Writer<Vec<u8>> {
    Writer::new(Vec::new(), settings).unwrap()
}

/// Writes one object whose components are those bytes.
fn write(
    writer: &mut Writer<Vec<u8>>,
    object: &NewObject<'_>,
    parts: &[(&str, &[u8])],
) -> Result<(), Error> {
    writer.add(object, parts).map_err(Error::from)
}

/// What refuses to write that object.
fn refusal(object: &NewObject<'_>, parts: &[(&str, &[u8])]) -> Error {
    write(&mut writer(&Settings::default()), object, parts).unwrap_err()
}

#[test]
fn every_format_can_be_read_again() {
    for checksum in [Checksum::None, Checksum::Crc32c, Checksum::Sha256] {
        let mut writer = writer(&Settings::default().checksum(checksum));
        let dense = NewObject::dense("dense", &[2, 3], StorageType::Bf16);
        write(&mut writer, &dense, &[("data", &[7; 12])]).unwrap();
        let scalar = NewObject::dense("scalar", &[], LogicalType::Complex128);
        write(&mut writer, &scalar, &[("data", &[1; 16])]).unwrap();
        let empty = NewObject::dense("empty", &[5, 0], LogicalType::F8E5M2);
        write(&mut writer, &empty, &[]).unwrap();
        let csr = NewObject::sparse_csr("csr", &[2, 9], StorageType::U8, 3);
        let parts = [
            ("indptr", &words(&[0, 1, 3])[..]),
            ("values", &[1, 2, 3]),
            ("indices", &words(&[8, 0, 4])),
        ];
        write(&mut writer, &csr, &parts).unwrap();
        let coo = NewObject::sparse_coo("coo", &[4, 5, 6], StorageType::I16, 1);
        write(&mut writer, &coo, &[("coords", &words(&[3, 4, 5])), ("values", &[1, 0])]).unwrap();
        let quantized = [(StorageType::I32, 2), (StorageType::F16, 1), (StorageType::F16, 1)];
        let quantized = NewObject::quantized_group("quantized", &[16, 1], quantized);
        let attributes =
            Encoded::from_value(&BTreeMap::from([("bits", 4_u8), ("group_size", 16)])).unwrap();
        let parts = [("zeros", &[0; 2][..]), ("scales", &[0; 2]), ("packed_weight", &[0; 8])];
        write(&mut writer, &quantized.attributes(&attributes), &parts).unwrap();
        let unknown = ElementType::UnknownLogical("f4", StorageType::U8);
        let own = [NewComponent::new("blocks", unknown, 3)];
        let custom = NewObject::custom("custom", &[6], "mine", &own);
        write(&mut writer, &custom, &[("blocks", &[1, 2, 3])]).unwrap();
        writer
            .attributes(&Encoded::from_value(&BTreeMap::from([("made by", "a test")])).unwrap())
            .unwrap();
        let file = writer.finish().unwrap();

        check(&file, &Options::default()).unwrap();
        let archive = Archive::open(&file).unwrap();
        let made_by: Option<&str> = archive.attributes().unwrap().get("made by").unwrap();
        assert_eq!(made_by, Some("a test"));
        assert_eq!(archive.len(), 7);
        let csr = archive.get("csr").unwrap().sparse_csr().unwrap().view().unwrap();
        let entries: Vec<_> = csr.entries::<u8>().unwrap().collect();
        assert_eq!(entries.len(), 3);
        let bits: Option<u8> =
            archive.get("quantized").unwrap().attributes().unwrap().get("bits").unwrap();
        assert_eq!(bits, Some(4));
        let custom = archive.get("custom").unwrap();
        assert_eq!(custom.format_name(), "mine");
        assert_eq!(custom.component("blocks").unwrap().element_type(), unknown);
        for part in archive.objects().flat_map(|object| object.components()) {
            let algorithm = part.digest().map(|digest| digest.algorithm());
            let wanted = match checksum {
                Checksum::Crc32c => Some("crc32c"),
                Checksum::Sha256 => Some("sha256"),
                _ => None,
            };
            assert_eq!(algorithm, wanted);
            assert_eq!(part.extent().offset() % 64, 0);
        }
    }
}

#[test]
fn chunks_may_have_any_size() {
    let (indptr, indices) = (words(&[0, 2, 2, 5]), words(&[1, 0, 3, 2, 1]));
    let parts = [("indptr", &indptr[..]), ("values", &[1, 0, 1, 1, 0]), ("indices", &indices)];
    let csr = NewObject::sparse_csr("csr", &[3, 4], StorageType::Bool, 5);
    let files: Vec<Vec<u8>> = [1, 2, 3, 7, 8, 9, 11, 64]
        .into_iter()
        .map(|size| {
            let mut writer = writer(&Settings::default());
            let mut out = writer.object(&csr).unwrap();
            for (role, bytes) in parts {
                for chunk in bytes.chunks(size) {
                    out.write(role, chunk).unwrap();
                }
            }
            out.end().unwrap();
            writer.finish().unwrap()
        })
        .collect();
    check(&files[0], &Options::default()).unwrap();
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn bad_objects_are_refused_before_a_byte_is_written() {
    let u8s = |role, count| NewComponent::new(role, StorageType::U8, count);
    let u64s = |role, count| NewComponent::new(role, StorageType::U64, count);
    // Lists that live as long as the test.
    let cases: &[(&str, NewObject<'_>)] = &[
        ("shape-overflow", NewObject::dense("x", &[1 << 40, 1 << 40], StorageType::U8)),
        ("shape-overflow", NewObject::dense("x", &[1 << 61, 1], StorageType::F64)),
        ("dense-roles", NewObject::custom("x", &[1], "dense", vec![u8s("values", 1)].leak())),
        ("dense-size", NewObject::custom("x", &[2], "dense", vec![u8s("data", 3)].leak())),
        (
            "csr-rank",
            NewObject::custom(
                "x",
                &[2],
                "sparse_csr",
                vec![u8s("values", 0), u64s("indptr", 3), u64s("indices", 0)].leak(),
            ),
        ),
        (
            "index-dtype",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_csr",
                vec![u8s("values", 0), u8s("indptr", 3), u64s("indices", 0)].leak(),
            ),
        ),
        (
            "csr-indptr-size",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_csr",
                vec![u8s("values", 0), u64s("indptr", 2), u64s("indices", 0)].leak(),
            ),
        ),
        (
            "csr-nnz",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_csr",
                vec![u8s("values", 1), u64s("indptr", 3), u64s("indices", 2)].leak(),
            ),
        ),
        (
            "coo-nnz",
            NewObject::custom(
                "x",
                &[2, 2],
                "sparse_coo",
                vec![u8s("values", 1), u64s("coords", 3)].leak(),
            ),
        ),
        (
            "quantized-zeros",
            NewObject::custom(
                "x",
                &[2, 2],
                "quantized_group",
                vec![u8s("packed_weight", 1), u8s("scales", 3)].leak(),
            ),
        ),
        (
            "duplicate-key",
            NewObject::custom("x", &[], "mine", vec![u8s("a", 1), u8s("a", 1)].leak()),
        ),
        ("limit-rank", NewObject::dense("x", &[1; 65], StorageType::U8)),
        ("unsupported-dtype", NewObject::dense("x", &[], ElementType::Unknown("f4"))),
        (
            "type-storage",
            NewObject::dense("x", &[], ElementType::UnknownLogical("complex64", StorageType::F64)),
        ),
    ];
    for (rule, object) in cases {
        let mut writer = writer(&Settings::default());
        let error = writer.object(object).err().unwrap_or_else(|| panic!("{rule}: accepted"));
        assert_eq!(error.id(), Some(*rule), "{error}");
        assert_eq!(error.place().object(), Some(0));
        // It is as if it had never been tried.
        let valid = NewObject::dense("x", &[], StorageType::U8);
        write(&mut writer, &valid, &[("data", &[1])]).unwrap();
        check(&writer.finish().unwrap(), &Options::default()).unwrap();
    }
    let many: Vec<String> = (0..4097).map(|n| n.to_string()).collect();
    let many: Vec<_> = many.iter().map(|role| u8s(role, 0)).collect();
    assert_eq!(refusal(&NewObject::custom("x", &[], "mine", &many), &[]).id(), Some("limit-keys"));
}

#[test]
fn a_type_by_a_known_name_is_known() {
    let spelled = |name, storage| {
        let mut writer = writer(&Settings::default().canonical());
        let element = ElementType::UnknownLogical(name, storage);
        let bytes = [0; 16];
        let bytes = &bytes[..if name == "complex64" { 8 } else { storage.width().into() }];
        write(&mut writer, &NewObject::dense("x", &[1], element), &[("data", bytes)]).unwrap();
        let file = writer.finish().unwrap();
        check(&file, &Options::default().canonical()).unwrap();
        let archive = Archive::open(&file).unwrap();
        format!("{:?}", archive.get("x").unwrap().component("data").unwrap().element_type())
    };
    assert_eq!(spelled("f32", StorageType::F32), "Plain(F32)");
    assert_eq!(spelled("complex64", StorageType::F32), "Logical(Complex64)");
    assert_eq!(spelled("f32", StorageType::U8), "UnknownLogical(\"f32\", U8)");
    assert_eq!(spelled("f8_e4m3", StorageType::U8), "UnknownLogical(\"f8_e4m3\", U8)");
}

#[test]
fn bad_content_is_refused() {
    let csr = NewObject::sparse_csr("x", &[2, 3], StorageType::U8, 2);
    let with = |indptr: &[u64], indices: &[u64]| {
        let parts =
            [("indptr", &words(indptr)[..]), ("values", &[1, 2]), ("indices", &words(indices))];
        refusal(&csr, &parts).id().unwrap()
    };
    assert_eq!(with(&[1, 1, 2], &[0, 0]), "csr-indptr-start");
    assert_eq!(with(&[0, 2, 1], &[0, 0]), "csr-indptr-order");
    assert_eq!(with(&[0, 1, 1], &[0, 0]), "csr-indptr-end");
    assert_eq!(with(&[0, 1, 2], &[0, 3]), "index-range");
    let coo = NewObject::sparse_coo("x", &[2, 3], StorageType::U8, 1);
    assert_eq!(refusal(&coo, &[("coords", &words(&[2, 0]))]).id(), Some("index-range"));
    assert_eq!(refusal(&coo, &[("coords", &words(&[1, 3]))]).id(), Some("index-range"));
    let bools = NewObject::dense("x", &[3], StorageType::Bool);
    assert_eq!(refusal(&bools, &[("data", &[0, 1, 2])]).id(), Some("bool-value"));
}

#[test]
fn lengths_and_order_are_kept() {
    let four = NewObject::dense("x", &[4], StorageType::U8);
    assert_eq!(misuse(refusal(&four, &[("data", &[0; 3])])), Misuse::Length);
    assert_eq!(misuse(refusal(&four, &[("data", &[0; 5])])), Misuse::Length);
    assert_eq!(misuse(refusal(&four, &[("data", &[0; 4]), ("data", &[0])])), Misuse::Length);
    assert_eq!(misuse(refusal(&four, &[("values", &[0; 4])])), Misuse::Order);
    assert_eq!(misuse(refusal(&four, &[])), Misuse::Length);

    // Nothing is made valid by going on.
    let mut writer = writer(&Settings::default());
    let bools = NewObject::dense("x", &[4], StorageType::Bool);
    let mut out = writer.object(&bools).unwrap();
    out.write("data", &[1, 0]).unwrap();
    assert!(out.write("data", &[2]).is_err());
    assert_eq!(misuse(out.write("data", &[1]).unwrap_err()), Misuse::Aborted);
    assert_eq!(misuse(out.end().unwrap_err()), Misuse::Aborted);
    assert!(writer.finish().is_err());

    // An object that did not end is never in a file.
    let mut writer = self::writer(&Settings::default());
    drop(writer.object(&four).unwrap());
    assert_eq!(misuse(writer.object(&four).err().unwrap()), Misuse::Unfinished);
    assert_eq!(misuse(writer.finish().unwrap_err()), Misuse::Unfinished);
}

#[test]
fn a_name_is_written_once() {
    let object = |name| NewObject::dense(name, &[0], StorageType::U8);
    for order in [["a", "b", "a"], ["b", "a", "b"], ["b", "a", "a"], ["a", "a", "b"]] {
        let mut writer = writer(&Settings::default());
        let tries = order.map(|name| write(&mut writer, &object(name), &[]).is_ok());
        assert_eq!(tries.iter().filter(|valid| **valid).count(), 2, "{order:?}");
        check(&writer.finish().unwrap(), &Options::default()).unwrap();
    }
}

#[test]
fn attributes_are_validated() {
    let with = |cbor: &[u8]| {
        let attributes = Encoded::from_cbor(cbor.to_vec());
        let object = NewObject::dense("x", &[0], StorageType::U8).attributes(&attributes);
        let at_object = writer(&Settings::default()).object(&object).err();
        let at_file = writer(&Settings::default()).attributes(&attributes).err();
        assert_eq!(at_object.is_some(), at_file.is_some());
        at_object.and_then(|error| error.id())
    };
    assert_eq!(with(b"\xa1\x61a\x01"), None);
    assert_eq!(with(b"\xbf\xff"), None);
    assert_eq!(with(b"\x80"), Some("attributes-type"));
    assert_eq!(with(b"\xa1\x01\x01"), Some("key-type"));
    assert_eq!(with(b"\xa2\x61a\x01\x61a\x02"), Some("duplicate-key"));
    assert_eq!(with(b"\xa1\x61a"), Some("cbor-truncated"));
    assert_eq!(with(b"\xa1\x61a\x61\xff"), Some("cbor-utf8"));
    assert_eq!(with(b"\xa0\xa0"), Some("manifest-trailing"));
    assert_eq!(with(&[&b"\xa1\x61a"[..], &[0x81; 80], &[0]].concat()), Some("limit-depth"));
    assert!(Encoded::from_value(&Unwritable).is_err());
    // 64 levels at most: the root, objects, the object, its attributes, and 60 arrays.
    for (levels, valid) in [(60, true), (61, false)] {
        let cbor = [&b"\xa1\x61a"[..], &vec![0x81; levels], &[0]].concat();
        let attributes = Encoded::from_cbor(cbor);
        let object = NewObject::dense("x", &[0], StorageType::U8).attributes(&attributes);
        let mut writer = writer(&Settings::default());
        assert_eq!(write(&mut writer, &object, &[]).is_ok(), valid);
        check(&writer.finish().unwrap(), &Options::default()).unwrap();
    }
}

struct Unwritable;

impl serde::Serialize for Unwritable {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("no"))
    }
}

#[test]
fn limits_are_those_of_the_readers() {
    let limits = Limits::default().with_manifest(2000);
    let settings = Settings::default().limits(limits);
    let file = |objects: u32| {
        let mut writer = writer(&settings);
        for name in 0..objects {
            let name = name.to_string();
            write(&mut writer, &NewObject::dense(&name, &[0], StorageType::U8), &[])?;
        }
        Ok::<_, Error>(writer.finish()?)
    };
    let most = (0..2000).take_while(|objects| file(*objects).is_ok()).last().unwrap();
    assert!(most > 4);
    check(&file(most).unwrap(), &Options::default().limits(limits)).unwrap();
    assert_eq!(file(most + 1).unwrap_err().id(), Some("limit-manifest"));
    // What is far beyond is refused before it takes memory.
    let mut writer = writer(&settings);
    let long = "n".repeat(2001);
    let refused = write(&mut writer, &NewObject::dense(&long, &[0], StorageType::U8), &[]);
    assert_eq!(refused.unwrap_err().id(), Some("limit-manifest"));
    check(&writer.finish().unwrap(), &Options::default().limits(limits)).unwrap();
}

#[test]
fn canonical_files_need_their_order() {
    let settings = Settings::default().canonical().checksum(Checksum::None);
    let mut names = ["bb", "a", "c", "", "aaa", "b"];
    names.sort_by(|a, b| canonical_order(a, b));
    assert_eq!(names, ["", "a", "b", "c", "bb", "aaa"]);
    let mut writer = writer(&settings);
    for name in names {
        write(&mut writer, &NewObject::dense(name, &[1], StorageType::U8), &[("data", &[1])])
            .unwrap();
    }
    let again = writer.object(&NewObject::dense("aaa", &[1], StorageType::U8)).err().unwrap();
    assert_eq!(again.id(), Some("duplicate-name"));
    let before = writer.object(&NewObject::dense("z", &[1], StorageType::U8)).err().unwrap();
    assert_eq!(before.kind(), ErrorKind::Misuse(Misuse::Order));
    let file = writer.finish().unwrap();
    check(&file, &Options::default().canonical()).unwrap();
    assert!(
        Archive::open(&file)
            .unwrap()
            .objects()
            .all(|object| { object.component("data").unwrap().digest().is_some() })
    );
}

#[test]
fn appending_keeps_what_is_there() {
    let mut first = writer(&Settings::default());
    first.attributes(&Encoded::from_value(&BTreeMap::from([("a", 1)])).unwrap()).unwrap();
    for name in ["b", "a"] {
        write(&mut first, &NewObject::dense(name, &[3], StorageType::U8), &[("data", &[1; 3])])
            .unwrap();
    }
    let old = first.finish().unwrap();
    let archive = Archive::open(&old).unwrap();
    let start = usize::try_from(archive.extent().start).unwrap();
    let mut second =
        Writer::append(old[..start].to_vec(), archive.manifest(), &Settings::default()).unwrap();
    let twice = second.object(&NewObject::dense("b", &[], StorageType::U8)).err().unwrap();
    assert_eq!(twice.id(), Some("duplicate-name"));
    write(&mut second, &NewObject::dense("c", &[2], StorageType::U8), &[("data", &[2; 2])])
        .unwrap();
    let new = second.finish().unwrap();
    check(&new, &Options::default()).unwrap();
    let archive = Archive::open(&new).unwrap();
    let names: Vec<_> = archive.objects().map(|object| object.name().to_owned()).collect();
    assert_eq!(names, ["b", "a", "c"]);
    assert_eq!(archive.attributes().unwrap().get("a").unwrap(), Some(1));
    assert_eq!(new[..start], old[..start]);
}

#[cfg(feature = "zstd")]
#[test]
#[cfg_attr(miri, ignore = "decoding zstd takes minutes there")]
fn compressed_components_can_be_read_again() {
    use zten::write::Level;
    let bytes: Vec<u8> = (0..300_000_u32).map(|n| (n / 7).to_le_bytes()[0]).collect();
    let mut writer = writer(&Settings::default());
    let object = NewObject::dense("x", &[300_000], StorageType::U8).compressed(Level::default());
    write(&mut writer, &object, &[("data", &bytes)]).unwrap();
    let empty = NewObject::dense("empty", &[0], StorageType::F32).compressed(Level::default());
    write(&mut writer, &empty, &[]).unwrap();
    let file = writer.finish().unwrap();
    check(&file, &Options::default()).unwrap();
    assert!(file.len() < 100_000, "{}", file.len());
    let archive = Archive::open(&file).unwrap();
    let part = archive.get("x").unwrap().component("data").unwrap();
    assert_eq!(part.encoding(), zten::Encoding::Zstd);
    assert_eq!(part.read_to_vec(&file[..], &Limits::default()).unwrap(), bytes);
}
