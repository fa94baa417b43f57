//! Tests of writing files of generation 2: all layouts and types, in any order, compressed or not. Invalid objects are rejected
//! before a file is complete.

use zten::element::StorageType;
use zten::error::Misuse;
use zten::manifest::ElementType;
use zten::write::{Checksum, Encoded, Level, NewComponent, NewObject, WriteOptions, Writer};
use zten::{Archive, DType, Encoding, Generation, Limits, OpenOptions};
use zten_corpus::base::{ramp, words};
use zten_corpus::cbor::{Head, Item, map, uint, wide_head, wide_text};
use zten_corpus::v2;
use zten_testkit::{accepted_v2, check, misuse};

fn settings() -> WriteOptions {
    WriteOptions::default().generation(Generation::V2)
}

/// Calls `write` for one object of each kind with its parts, in the order in which the parts are declared.
fn each(write: &mut impl FnMut(&NewObject<'_>, &[(&str, &[u8])])) {
    for dtype in DType::ALL {
        let name = format!("of {dtype}");
        let data = match (dtype, dtype.bits()) {
            (DType::Unknown, _) => continue,
            (DType::Bool, _) => vec![1; 5],
            (DType::F4E2M1, _) => vec![0x21, 0x43, 0x05],
            (_, bits) => ramp(5 * bits.unwrap() as usize / 8),
        };
        write(&NewObject::dense(&name, &[1, 5], dtype), &[("data", &data)]);
    }
    let unknown = ElementType::UnknownLogical("mine/1", StorageType::U16);
    write(&NewObject::dense("unknown type", &[2], unknown), &[("data", &[1, 2, 3, 4])]);
    write(&NewObject::dense("scalar", &[], DType::U8), &[("data", &[7])]);
    write(&NewObject::dense("empty", &[0, 4], DType::F32), &[("data", &[])]);
    let (indptr, indices) = (words(&[0, 2, 2, 3]), words(&[0, 2, 1]));
    let parts: [(&str, &[u8]); 3] =
        [("indptr", &indptr), ("values", &[1, 2, 3]), ("indices", &indices)];
    write(&NewObject::sparse_csr("csr", &[3, 3], DType::U8, 3), &parts);
    let narrow = [
        NewComponent::new("indices", DType::U32, 3),
        NewComponent::new("indptr", DType::U32, 4),
        NewComponent::new("values", DType::F4E2M1, 3),
    ];
    let (indptr, indices) = (v2::words(&[0, 2, 2, 3]), v2::words(&[0, 2, 1]));
    let parts: [(&str, &[u8]); 3] =
        [("indices", &indices), ("indptr", &indptr), ("values", &[0x21, 3])];
    write(&NewObject::custom("csr of u32", &[3, 3], "zt.sparse_csr/1", &narrow), &parts);
    let coords = words(&[2, 0, 0, 1]);
    let parts: [(&str, &[u8]); 2] = [("coords", &coords), ("values", &[1, 2])];
    write(&NewObject::sparse_coo("coo", &[3, 3], DType::U8, 2), &parts);
    let attributes = Encoded::mx(4, Some(1)).unwrap();
    let mx = NewObject::mx("mx", &[2, 4], DType::F4E2M1, 4).attributes(&attributes);
    write(&mx, &[("data", &[0x21, 0x43, 0x65, 0x07]), ("scales", &[127, 128])]);
    let attributes = Encoded::gguf(32, 18).unwrap();
    let gguf = NewObject::gguf("gguf", &[2, 32], "gguf.q4_0/1", 36).attributes(&attributes);
    write(&gguf, &[("data", &ramp(36))]);
    let quant =
        [NewComponent::new("data", DType::U32, 2), NewComponent::new("scales", DType::F16, 2)];
    let attributes = Encoded::from_cbor(quantization());
    let quant = NewObject::custom("quant", &[2, 8], "zt.quant_group/1", &quant);
    let parts: [(&str, &[u8]); 2] = [("data", &ramp(8)), ("scales", &ramp(4))];
    write(&quant.attributes(&attributes), &parts);
    let any = [
        NewComponent::new("zzz", DType::I16, 1),
        NewComponent::new("a", DType::U8, 3),
        NewComponent::of_bytes("b", DType::F64, 3),
    ];
    let parts: [(&str, &[u8]); 3] = [("zzz", &[1, 2]), ("a", &[1, 2, 3]), ("b", &[4, 5, 6])];
    write(&NewObject::custom("any", &[9], "mine/1", &any), &parts);
}

/// Returns attributes of `zt.quant_group/1` that are not deterministic CBOR: their order and their heads are wrong.
fn quantization() -> Vec<u8> {
    let entry = |key, value| (wide_text(key), value);
    let packing = map(vec![
        entry("word", wide_text("u32")),
        entry("per_word", uint(8)),
        entry("order", wide_text("lsb_first")),
    ]);
    let all = vec![
        entry("zero_point", map(vec![entry("form", wide_text("none"))])),
        entry("scale_form", wide_text("f16_factors")),
        entry("group_size", Item::Raw(wide_head(0, 8))),
        entry("bits", uint(4)),
        entry("axis", uint(1)),
        entry("packing", packing),
    ];
    Item::Map(Head::Indefinite, all).encode().bytes
}

/// Returns a file with every object that the function [`each`] passes on. The objects are compressed at the level `compressed`,
/// if there is one.
fn file(settings: &WriteOptions, compressed: Option<Level>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), settings).unwrap();
    each(&mut |object, parts| {
        let object = compressed.map_or(*object, |level| object.compressed(level));
        writer.add_object(&object, parts).unwrap();
    });
    let attributes = b"\xa2\x61b\x01\x61a\xfb\x3f\xf0\0\0\0\0\0\0".to_vec();
    writer.attributes_encoded(&Encoded::from_cbor(attributes)).unwrap();
    writer.finish().unwrap()
}

/// Checks that `file` has the content that [`each`] passes on.
fn compare(file: &[u8]) {
    let archive = Archive::from_bytes(file).unwrap();
    assert_eq!(archive.generation(), Some(Generation::V2));
    let mut count = 0;
    each(&mut |object, parts| {
        let spelled = format!("{object:?}");
        let name = spelled.split('"').nth(1).unwrap();
        let found = archive.get(name).unwrap();
        assert_eq!(found.components().len(), parts.len());
        for (role, wanted) in parts {
            let part = found.component(role).unwrap();
            if part.readable().is_ok() {
                assert_eq!(*part.read().unwrap(), **wanted, "{name}");
            } else {
                assert_eq!(part.decoded_length(), Some(wanted.len() as u64));
            }
        }
        count += 1;
    });
    assert_eq!(archive.len(), count);
}

#[test]
fn every_kind_of_object_is_read_back() {
    for level in [None, Some(Level::default())] {
        for alignment in [4096, 65_536] {
            for checksum in [Checksum::Xxh3, Checksum::Sha256, Checksum::None] {
                let file = file(&settings().alignment(alignment).checksum(checksum), level);
                compare(&file);
                let archive = Archive::from_bytes(&file).unwrap();
                let parts = || archive.tensors().flat_map(|object| object.components());
                assert!(parts().all(|part| part.extent().offset() % alignment == 0));
                assert_eq!(
                    parts().any(|part| part.encoding() == Encoding::ZstdSeekable),
                    level.is_some()
                );
                assert_eq!(parts().all(|part| part.digest().is_none()), checksum == Checksum::None);
                // One object has an unknown layout, and one an unknown type.
                let error = check(&file, &OpenOptions::default()).unwrap_err();
                assert_eq!(error.rule(), Some("unsupported-format"), "{error}");
            }
        }
    }
}

#[test]
fn appending_keeps_every_byte_of_the_old_file() {
    let mut count = 0;
    for file in accepted_v2() {
        let archive = Archive::from_bytes(&file.bytes).unwrap();
        if archive.manifest().is_data_shard() {
            let rejected = Writer::append(Vec::new(), archive.manifest(), &WriteOptions::default());
            assert!(rejected.is_err());
            continue;
        }
        assert_eq!(archive.manifest().appends_at(), file.bytes.len() as u64);
        // An appended file keeps its generation, whatever the settings say.
        let settings = WriteOptions::default();
        let mut writer = Writer::append(file.bytes.clone(), archive.manifest(), &settings).unwrap();
        for name in ["zz", "a new object", "~"] {
            writer.add(name, &[3], &[1_u8, 2, 3]).unwrap();
        }
        let known = archive.tensors().next().map(|object| object.name().to_owned());
        if let Some(name) = &known {
            let object = NewObject::dense(name, &[0], DType::U8);
            assert!(writer.object(&object).is_err(), "{}", file.name);
        }
        let longer = writer.finish().unwrap();
        assert!(longer.starts_with(&file.bytes), "{}", file.name);
        let after = Archive::from_bytes(&longer).unwrap();
        assert_eq!(after.len(), archive.len() + 3);
        assert_eq!(after.manifest().shards().len(), archive.manifest().shards().len());
        assert_eq!(after.attributes().count(), archive.attributes().count());
        for object in archive.tensors() {
            let other = after.get(object.name()).unwrap();
            let own = |object: &zten::Tensor<'_>| {
                object.fields().map(|all| format!("{:?}", all.collect::<Vec<_>>()))
            };
            assert_eq!(own(&other), own(&object), "{}", file.name);
        }
        if file.opens_only.is_none() {
            check(&longer, &OpenOptions::default()).unwrap();
        }
        count += 1;
    }
    assert!(count > 40, "only {count} files");
}

#[test]
fn invalid_objects_are_rejected_before_they_are_written() {
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    let ids = |error: zten::Error| error.rule();
    let mut declared = |object: &NewObject<'_>| writer.object(object).map(drop).map_err(ids);
    let rank = [1; 65];
    let none: [NewComponent<'_>; 0] = [];
    let two = ["data", "extra"].map(|role| NewComponent::new(role, DType::U8, 1));
    let tag = Encoded::from_cbor(vec![0xa1, 0x61, b'a', 0xc1, 1]);
    let twice = Encoded::from_cbor(vec![0xa1, 0x61, b'a', 0xa2, 1, 1, 1, 2]);
    let unnamed = Encoded::from_cbor(vec![0xa1, 0x60, 1]);
    let deep = Encoded::from_cbor([&[0xa1, 0x61, b'a'][..], &[0x81; 30], &[0]].concat());
    let block = Encoded::mx(3, None).unwrap();
    let pairs = Encoded::mx(2, None).unwrap();
    let dense = NewObject::dense("w", &[1], DType::U8);
    let long = "n".repeat(1025);
    let wrong = [
        (NewObject::dense("", &[1], DType::U8), "name-form"),
        (NewObject::dense("a\0", &[1], DType::U8), "name-form"),
        (NewObject::dense(&long, &[1], DType::U8), "name-form"),
        (NewObject::dense("w", &rank, DType::U8), "shape-rank"),
        (NewObject::custom("w", &[1], "mine/1", &none), "components-empty"),
        (NewObject::custom("w", &[1], "dense", &two), "dense-roles"),
        (NewObject::custom("w", &[u64::MAX, 2], "mine/1", &two), "shape-overflow"),
        (NewObject::quantized_group("w", &[1], [(DType::U8, 1); 3]), "unsupported-format"),
        (dense.attributes(&tag), "cbor-tag"),
        (dense.attributes(&twice), "duplicate-key"),
        (dense.attributes(&unnamed), "name-form"),
        (dense.attributes(&deep), "cbor-depth"),
        (NewObject::mx("w", &[4], DType::F4E2M1, 3).attributes(&block), "mx-block-size"),
        (NewObject::mx("w", &[4], DType::F4E2M1, 4), "attribute-missing"),
        (NewObject::custom("w", &[4], "zt.mx/1", &two).attributes(&pairs), "profile-roles"),
    ];
    for (object, id) in wrong {
        assert_eq!(declared(&object), Err(Some(id)), "{object:?}");
    }
    for settings in [
        settings().checksum(Checksum::Crc32c),
        WriteOptions::default().checksum(Checksum::Xxh3),
        settings().alignment(64),
        settings().alignment(5000),
        WriteOptions::default().generation(Generation::V1_1),
        WriteOptions::default().generation(Generation::V0_1),
    ] {
        let rejected = Writer::new(Vec::new(), &settings).unwrap_err();
        assert_eq!(misuse(rejected), Misuse::Settings);
    }
}

#[test]
fn content_that_a_reader_would_reject_is_rejected() {
    let write = |object: &NewObject<'_>, parts: &[(&str, &[u8])]| {
        let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
        writer.add_object(object, parts).unwrap_err().rule()
    };
    // Each matrix has a row whose indices do not ascend, which is found whichever component is written first.
    for (ends, indices) in
        [(&[0, 2, 3], &[1, 0, 2]), (&[0, 1, 3], &[1, 2, 2]), (&[0, 3, 3], &[0, 1, 1])]
    {
        let (ends, indices) = (words(ends), words(indices));
        let parts: [(&str, &[u8]); 3] =
            [("indptr", &ends), ("values", &[1, 2, 3]), ("indices", &indices)];
        let object = NewObject::sparse_csr("w", &[2, 3], DType::U8, 3);
        assert_eq!(write(&object, &parts), Some("csr-index-order"));
        let other = ["indices", "indptr", "values"];
        let counts = [3, 3, 3];
        let types = [DType::U64, DType::U64, DType::U8];
        let components: [NewComponent<'_>; 3] =
            core::array::from_fn(|at| NewComponent::new(other[at], types[at], counts[at]));
        let object = NewObject::custom("w", &[2, 3], "zt.sparse_csr/1", &components);
        let parts: [(&str, &[u8]); 3] =
            [("indices", &indices), ("indptr", &ends), ("values", &[1, 2, 3])];
        assert_eq!(write(&object, &parts), Some("csr-index-order"));
    }
    // The cells (0, 2), (1, 1) and (0, 2).
    let object = NewObject::sparse_coo("w", &[3, 3], DType::U8, 3);
    let twice = words(&[0, 1, 0, 2, 1, 2]);
    let parts: [(&str, &[u8]); 2] = [("coords", &twice), ("values", &[1, 2, 3])];
    assert_eq!(write(&object, &parts), Some("coo-cell-repeated"));
    let odd = NewObject::dense("w", &[3], DType::F4E2M1);
    assert_eq!(write(&odd, &[("data", &[0x21, 0x13])]), Some("nibble-value"));
    let bools = NewObject::dense("w", &[1], DType::Bool);
    assert_eq!(write(&bools, &[("data", &[2])]), Some("bool-value"));
}

/// A shared blob counts once for each component that shares it, and the limit on all content bounds this sum.
#[test]
fn shared_blobs_count_as_often_as_they_are_read() {
    const OBJECTS: u64 = 40;
    let data = [7; 4096];
    let mut writer = Writer::new(Vec::new(), &settings().sharing()).unwrap();
    let names: Vec<_> = (0..OBJECTS).map(|n| format!("{n:02}")).collect();
    for name in &names {
        let object = NewObject::dense(name, &[4096], DType::U8);
        writer.add_object(&object, &[("data", &data)]).unwrap();
    }
    let file = writer.finish().unwrap();
    let all = OBJECTS * 4096;
    assert!((file.len() as u64) < all / 4, "they do not share a blob");
    let open = |total| {
        let limits = Limits::default().with_decoded_total(total);
        OpenOptions::default().limits(limits).from_bytes(&file).map(drop)
    };
    assert_eq!(open(all), Ok(()));
    let rejected = open(all - 1).unwrap_err();
    assert_eq!(
        (rejected.rule(), rejected.location().object()),
        (Some("limit-decoded-total"), Some(39))
    );
    let rejected = open(0).unwrap_err();
    let first = file.len() as u64 / 4096;
    assert_eq!(
        rejected.location().object().map(u64::from),
        Some(first),
        "the file may be read once"
    );
}
