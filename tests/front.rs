//! Archives of other formats: what a front end says becomes the index, and what views need is checked again.
#![cfg(feature = "std")]

use zten::element::ByteOrder;
use zten::front::{Blobs, Builder, FrontEnd, Parsed, RawComponent, RawObject, Rules};
use zten::rules::{Row, Scope, Source};
use zten::source::SourceArchive;
use zten::{Archive, Encoding, Error, ErrorKind, Format, LogicalType, Options, StorageType};

static TWICE: Row = Row {
    id: "test-duplicate-name",
    holds: "No two tensors have one name.",
    broken: "there are two tensors of one name",
    source: Source::Policy("it is a test"),
    scope: Scope::Other("test"),
    advice: "",
};
static BOOL: Row =
    Row { id: "test-bool", broken: "a bool is {}, expected 0 or 1", ..copied(&TWICE) };

const fn copied(row: &Row) -> Row {
    Row {
        id: row.id,
        holds: row.holds,
        broken: row.broken,
        source: row.source,
        scope: row.scope,
        advice: row.advice,
    }
}

const RULES: Rules = Rules { duplicate_name: &TWICE, bool_value: Some(&BOOL) };
static DISJOINT: FrontEnd = FrontEnd::new("test", Blobs::Disjoint, RULES);
static IDENTICAL: FrontEnd = FrontEnd::new("test", Blobs::Identical, RULES);
static ANY: FrontEnd = FrontEnd::new("test", Blobs::Any, RULES);

const DATA: RawComponent<'_> = RawComponent {
    role: "data",
    offset: 8,
    stored_length: 8,
    decoded_length: None,
    storage: StorageType::F32,
    logical: None,
    byte_order: ByteOrder::Little,
    encoding: Encoding::Raw,
};

fn dense<'a>(name: &'a str, components: &'a [RawComponent<'a>]) -> RawObject<'a> {
    let (layout, layout_name, attributes) = (Format::Dense, None, None);
    RawObject { name, shape: &[2], layout, layout_name, attributes, components }
}

/// The file of 8 bytes of a header, two floats and a byte.
fn file() -> Vec<u8> {
    let mut file = vec![0; 8];
    file.extend([1.5_f32, -2.0].map(f32::to_le_bytes).concat());
    file.push(2);
    file
}

fn parse(front: &'static FrontEnd, objects: &[RawObject<'_>]) -> Result<Parsed, Error> {
    let options = Options::default();
    let mut builder = Builder::new(front, 0..8, file().len() as u64, &options)?;
    builder.attributes(b"\xa1\x61k\x61v")?;
    objects.iter().try_for_each(|object| builder.push(object))?;
    builder.finish()
}

#[test]
fn an_archive_is_what_a_front_end_says() {
    let custom = [RawComponent {
        role: "codes",
        offset: 16,
        stored_length: 1,
        storage: StorageType::U8,
        ..DATA
    }];
    let floats = [DATA];
    let unknown = RawObject {
        name: "b",
        shape: &[300, 0, 1 << 40],
        layout: Format::Unknown,
        layout_name: Some("blocks"),
        attributes: Some(b"\xa1\x64bits\x04"),
        components: &custom,
    };
    // Both orders of names: a sorted list, and one that is not.
    for (first, objects) in
        [("a", [dense("a", &floats), unknown]), ("c", [dense("c", &floats), unknown])]
    {
        let archive = Archive::from_front(file(), parse(&DISJOINT, &objects).unwrap()).unwrap();
        assert_eq!(
            (archive.file_format(), archive.generation(), archive.version()),
            ("test", None, None)
        );
        assert_eq!((archive.extent(), archive.as_bytes(), archive.fields()), (0..8, &[][..], None));
        assert_eq!(archive.attributes().unwrap().get::<&str>("k").unwrap(), Some("v"));
        let names: Vec<_> = archive.objects().map(|object| object.name()).collect();
        assert_eq!(names, [first, "b"]);
        let tensor = archive.require(first).unwrap();
        assert_eq!(tensor.dense().unwrap().view().unwrap().as_slice::<f32>().unwrap(), [1.5, -2.0]);
        assert_eq!((tensor.format_name(), tensor.shape().to_vec()), ("dense", vec![2]));
        let blocks = archive.require("b").unwrap();
        assert_eq!((blocks.format(), blocks.format_name()), (Format::Unknown, "blocks"));
        assert_eq!(blocks.shape(), [300, 0, 1 << 40]);
        assert_eq!(blocks.attributes().unwrap().get::<u8>("bits").unwrap(), Some(4));
        let codes = blocks.component("codes").unwrap();
        assert_eq!((codes.role(), codes.extent().range(), codes.fields()), ("codes", 16..17, None));
        assert!(archive.require("d").is_err());
        assert_eq!(archive.verify().unwrap().components(), 2);
        let over = SourceArchive::from_front(file(), parse(&DISJOINT, &objects).unwrap());
        assert_eq!(over.file_len(), 17);
        assert_eq!(over.get(first).unwrap().shape(), [2]);
    }
    let parsed = parse(&DISJOINT, &[]).unwrap();
    assert!(Archive::from_front(&file()[1..], parsed).is_err(), "a file of another length");
}

#[test]
fn what_a_view_needs_is_checked_whatever_is_said() {
    let refused = |component: RawComponent<'_>| {
        let components = [component];
        parse(&DISJOINT, &[dense("a", &components)]).unwrap_err().id()
    };
    assert_eq!(refused(RawComponent { offset: 10, ..DATA }), Some("blob-bounds"));
    assert_eq!(refused(RawComponent { offset: u64::MAX, ..DATA }), Some("blob-bounds"));
    assert_eq!(refused(RawComponent { stored_length: 4, ..DATA }), Some("dense-size"));
    assert_eq!(refused(RawComponent { storage: StorageType::F64, ..DATA }), Some("dense-size"));
    assert_eq!(refused(RawComponent { stored_length: 7, ..DATA }), Some("whole-elements"));
    assert_eq!(refused(RawComponent { role: "values", ..DATA }), Some("dense-roles"));
    let logical = Some(LogicalType::F8E5M2);
    assert_eq!(refused(RawComponent { logical, ..DATA }), Some("type-storage"));
    let decoded_length = Some(4);
    assert_eq!(refused(RawComponent { decoded_length, ..DATA }), Some("uncompressed-length-raw"));
    let zstd = RawComponent { encoding: Encoding::Zstd, ..DATA };
    assert_eq!(refused(zstd), Some("uncompressed-length-missing"));
    let big = RawComponent { byte_order: ByteOrder::Big, decoded_length: Some(8), ..zstd };
    assert_eq!(refused(big), Some("endianness-compressed"));
    assert_eq!(refused(RawComponent { encoding: Encoding::Unknown, ..DATA }), None);

    let components = [DATA];
    let with = |object: RawObject<'_>| parse(&DISJOINT, &[object]).unwrap_err().id();
    let shape = &[u64::MAX, 2];
    assert_eq!(with(RawObject { shape, ..dense("a", &components) }), Some("shape-overflow"));
    assert_eq!(with(RawObject { shape: &[1; 65], ..dense("a", &components) }), Some("limit-rank"));
    assert_eq!(with(RawObject { layout: Format::Mx, ..dense("a", &components) }), None);
    let attributes = Some(&b"\xa2\x61k\x01\x61k\x02"[..]);
    assert_eq!(with(RawObject { attributes, ..dense("a", &components) }), Some("duplicate-key"));
    let attributes = Some(&b"\xa1\x61k"[..]);
    assert_eq!(with(RawObject { attributes, ..dense("a", &components) }), Some("cbor-truncated"));
    let twice = [DATA, DATA];
    assert_eq!(with(dense("a", &twice)), Some("duplicate-key"));
}

#[test]
fn rules_for_all_tensors_are_those_of_the_format() {
    let (data, other) = ([DATA], [RawComponent { offset: 9, ..DATA }]);
    let parsed = |front, names: [&'static str; 2], second| {
        let objects = [dense(names[0], &data), dense(names[1], second)];
        parse(front, &objects)
            .map(|_| ())
            .map_err(|error| (error.id().unwrap(), error.place().object()))
    };
    assert_eq!(parsed(&IDENTICAL, ["a", "a"], &data), Err(("test-duplicate-name", Some(1))));
    for names in [["a", "b"], ["b", "a"]] {
        assert_eq!(parsed(&DISJOINT, names, &data), Err(("blob-overlap", Some(1))));
        assert_eq!(parsed(&DISJOINT, names, &other), Err(("blob-overlap", Some(1))));
        assert_eq!(parsed(&IDENTICAL, names, &data), Ok(()));
        assert_eq!(parsed(&IDENTICAL, names, &other), Err(("blob-overlap", Some(1))));
        assert_eq!(parsed(&ANY, names, &other), Ok(()));
    }
    // Shared bytes count as often as they are read.
    let limits = zten::Limits::default().with_decoded_total(17);
    let options = Options::default().limits(limits);
    for (front, second) in [(&IDENTICAL, &data), (&ANY, &other)] {
        let mut builder = Builder::new(front, 0..8, 17, &options).unwrap();
        builder.push(&dense("a", &data)).unwrap();
        builder.push(&dense("b", second)).unwrap();
        builder.push(&dense("c", second)).unwrap();
        assert_eq!(builder.finish().unwrap_err().id(), Some("limit-decoded-total"));
    }
}

/// After a refusal, nothing that a front end has pushed is in an archive.
#[test]
fn nothing_is_taken_after_an_error() {
    let (options, data) = (Options::default(), [DATA]);
    let wrong = RawObject { attributes: Some(b"\xa1"), ..dense("a", &data) };
    let mut builder = Builder::new(&ANY, 0..8, 17, &options).unwrap();
    builder.push(&dense("b", &data)).unwrap();
    let error = builder.push(&wrong).unwrap_err();
    assert_eq!((error.id(), error.place().object()), (Some("cbor-count"), Some(1)));
    assert_eq!(builder.push(&dense("b", &data)), Err(error));
    assert_eq!(builder.attributes(b"\xa0"), Err(error));
    assert_eq!(builder.finish().unwrap_err(), error);
    let mut builder = Builder::new(&ANY, 0..8, 17, &options).unwrap();
    let error = builder.attributes(b"\xa0\x00").unwrap_err();
    assert_eq!((error.id(), error.place().object()), (Some("manifest-trailing"), None));
    assert_eq!(builder.finish().unwrap_err(), error);
}

#[test]
fn a_header_lies_in_the_file_and_has_no_canonical_form() {
    let options = Options::default();
    assert!(Builder::new(&ANY, 17..17, 17, &options).is_ok());
    for header in [0..18, 18..18, core::ops::Range { start: 8, end: 7 }, 0..u64::MAX] {
        let error = Builder::new(&ANY, header, 17, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
    #[cfg(feature = "write")]
    {
        let error = Builder::new(&ANY, 0..8, 17, &options.canonical()).unwrap_err();
        assert_eq!(error.id(), Some("canonical-generation"));
    }
}

/// Enough names for about 70 pairs of the same 32 bits of hash.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn names_of_one_hash_are_told_apart() {
    let options = Options::default();
    let push = |names: &mut dyn Iterator<Item = u32>| {
        let mut builder = Builder::new(&DISJOINT, 0..8, 17, &options).unwrap();
        for name in names {
            let name = name.to_string();
            let unknown = RawObject { layout: Format::Unknown, ..dense(&name, &[]) };
            builder.push(&unknown).unwrap();
        }
        builder.finish()
    };
    let count = 800_000;
    let parsed = push(&mut (0..count).rev()).unwrap();
    let archive = Archive::from_front(file(), parsed).unwrap();
    let find = |name: u32| archive.get(&name.to_string()).map(|object| object.ordinal());
    for name in 0..count {
        assert_eq!(find(name), Some(count - 1 - name));
        assert_eq!(find(count + name), None);
    }
    let error = push(&mut (0..count).rev().chain([5])).unwrap_err();
    assert_eq!((error.id(), error.place().object()), (Some("test-duplicate-name"), Some(count)));
}

#[test]
fn bools_break_the_rule_of_the_format() {
    let bools = [RawComponent { offset: 15, stored_length: 2, storage: StorageType::Bool, ..DATA }];
    let parsed = parse(&DISJOINT, &[dense("a", &bools)]).unwrap();
    let archive = Archive::from_front(file(), parsed).unwrap();
    let error = archive.verify().unwrap_err();
    assert_eq!((error.id(), error.offset()), (Some("test-bool"), Some(15)));
    let view = archive.get("a").unwrap().dense().unwrap().view().unwrap();
    assert_eq!(view.as_slice::<bool>().unwrap_err().id(), Some("test-bool"));
}
