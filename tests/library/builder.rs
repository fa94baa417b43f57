//! Tests of the builder with which the parser of another format makes an archive: the index holds what the parser
//! pushed, and the builder checks again every fact on which views rely.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use miniz_oxide::deflate::compress_to_vec;
use zten::element::ByteOrder;
use zten::element::{LogicalType, StorageType};
use zten::error::Misuse;
use zten::index::{
    Blobs, Builder, FileFormat, Parsed, RawComponent, RawObject, Rules, StreamRules,
};
use zten::rules::{Class, Row, Scope, Source, Texts};
use zten::shards::Files;
use zten::verify::{Subject, Verifier, check};
use zten::{Archive, Encoding, Error, ErrorKind, InMemory, Layout, Limits, OpenOptions, ReadAt};
use zten_testkit::{Far, Shards};

const TEXTS: Texts = Texts {
    holds: "The names of tensors are unique.",
    broken: "duplicate tensor name",
    source: Source::Policy("it is a test"),
    scope: Scope::Other("test"),
    advice: "",
};
static TWICE: Row = Row::new("test-duplicate-name", Class::Invalid, &TEXTS);
static BOOL: Row = Row::new(
    "test-bool",
    Class::Invalid,
    &Texts { broken: "a bool is {}, expected 0 or 1", ..TEXTS },
);
static DEFLATE: Row = Row::new("test-deflate", Class::Invalid, &TEXTS);
static LENGTH: Row = Row::new("test-length", Class::Invalid, &TEXTS);
static CRC: Row = Row::new("test-crc", Class::Invalid, &TEXTS);
static STREAM: StreamRules = StreamRules { compression: &DEFLATE, length: &LENGTH, checksum: &CRC };

const RULES: Rules = Rules {
    duplicate_name: &TWICE,
    bool_value: Some(&BOOL),
    stream: Some(&STREAM),
    pickles: None,
    quantized: None,
};
static DISJOINT: FileFormat = FileFormat::new("test", Blobs::Disjoint, RULES);
static IDENTICAL: FileFormat = FileFormat::new("test", Blobs::Identical, RULES);
static ANY: FileFormat = FileFormat::new("test", Blobs::Any, RULES);

const DATA: RawComponent<'_> = RawComponent::raw(StorageType::F32, 8, 8);

fn dense<'a>(name: &'a str, components: &'a [RawComponent<'a>]) -> RawObject<'a> {
    let (layout, layout_name, attributes) = (Layout::Dense, None, None);
    let (shape, source_offset) = (&[2], 0);
    RawObject { name, shape, layout, layout_name, attributes, components, source_offset }
}

/// Returns a file of 17 bytes: a header of 8 bytes, two `f32` numbers, and a byte.
fn file() -> Vec<u8> {
    let mut file = vec![0; 8];
    file.extend([1.5_f32, -2.0].map(f32::to_le_bytes).concat());
    file.push(2);
    file
}

fn opened(file: Vec<u8>, parsed: Parsed) -> Archive<InMemory<Vec<u8>>> {
    Archive::from_parsed(InMemory(file), parsed)
}

fn parse(format: &'static FileFormat, objects: &[RawObject<'_>]) -> Result<Parsed, Error> {
    let options = OpenOptions::default();
    let mut builder = Builder::new(format, 0..8, file().len() as u64, &options)?;
    builder.attributes(b"\xa1\x61k\x61v")?;
    objects.iter().try_for_each(|object| builder.push(object))?;
    builder.finish()
}

/// A file with findings opens. The archive keeps the first finding of each rule and counts the others, so that a file
/// that breaks a rule a million times takes no more memory.
#[test]
fn the_first_finding_of_a_rule_is_kept_and_the_others_are_counted() {
    let options = OpenOptions::default();
    let finding = |kind, offset| Error::of_format(kind, "it is odd".to_owned(), Some(offset));
    let build = |format: &'static FileFormat, of_shard: &[zten::Finding]| {
        let mut builder = Builder::new(format, 0..8, file().len() as u64, &options).unwrap();
        for offset in 0..5 {
            let error = finding(ErrorKind::Note(&TWICE), offset);
            builder.found(error.about(Some("a".to_owned()), None));
        }
        builder.found(finding(ErrorKind::Invalid(&BOOL), 7));
        builder.found_in_file(of_shard, "part");
        builder.push(&dense("a", &[DATA])).unwrap();
        opened(file(), builder.finish().unwrap())
    };
    let archive = build(&DISJOINT, &[]);
    let findings = archive.findings();
    let facts: Vec<_> = findings
        .iter()
        .map(|finding| (finding.error().kind(), finding.error().offset(), finding.more()))
        .collect();
    let wanted = [(ErrorKind::Note(&TWICE), Some(0), 4), (ErrorKind::Invalid(&BOOL), Some(7), 0)];
    assert_eq!(facts, wanted);
    assert_eq!(findings[0].error().tensor(), Some("a"));
    archive.verify().unwrap();
    // The archive and the file "part" each broke the rule 5 times: one finding is kept, and 9 are counted.
    let whole = build(&ANY, findings);
    assert_eq!(whole.findings()[0].more(), 9);
    // If the archive has no finding of its own, the first finding of "part" is kept, and names that file.
    let mut builder = Builder::new(&DISJOINT, 0..8, file().len() as u64, &options).unwrap();
    builder.found_in_file(findings, "part");
    let without_own = opened(file(), builder.finish().unwrap());
    let first = &without_own.findings()[0];
    assert_eq!((first.more(), first.error().file()), (4, Some("part")));
}

#[test]
fn an_archive_has_what_its_parser_pushed() {
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
        layout: Layout::Unknown,
        layout_name: Some("blocks"),
        attributes: Some(b"\xa1\x64bits\x04"),
        components: &custom,
        source_offset: 1,
    };
    // Names in sorted order take another path through the builder than unsorted names.
    for (first, objects) in
        [("a", [dense("a", &floats), unknown]), ("c", [dense("c", &floats), unknown])]
    {
        let archive = opened(file(), parse(&DISJOINT, &objects).unwrap());
        let manifest = archive.manifest();
        assert_eq!(
            (archive.format(), archive.generation(), manifest.version()),
            ("test", None, None)
        );
        assert_eq!(manifest.extent(), 0..8);
        assert_eq!((manifest.as_bytes(), manifest.fields()), (&[][..], None));
        assert_eq!(archive.attributes().get::<&str>("k").unwrap(), Some("v"));
        assert!(archive.names().eq([first, "b"]));
        let tensor = archive.tensor(first).unwrap();
        assert_eq!(tensor.as_slice::<f32>().unwrap(), [1.5, -2.0]);
        assert_eq!((tensor.layout_name(), tensor.shape().to_vec()), ("dense", vec![2]));
        let blocks = archive.tensor("b").unwrap();
        assert_eq!((blocks.layout(), blocks.layout_name()), (Layout::Unknown, "blocks"));
        assert_eq!(blocks.shape(), [300, 0, 1 << 40]);
        assert_eq!(blocks.attributes().get::<u8>("bits").unwrap(), Some(4));
        let codes = blocks.component("codes").unwrap();
        assert_eq!((codes.role(), codes.extent().range(), codes.fields()), ("codes", 16..17, None));
        assert!(archive.tensor("d").is_err());
        assert_eq!(archive.verify().unwrap().components(), 2);
        let over = Archive::from_parsed(Far(file()), parse(&DISJOINT, &objects).unwrap());
        assert_eq!(over.file_len(), 17);
        let tensor = over.get(first).unwrap();
        assert_eq!(
            (tensor.shape().to_vec(), tensor.to_vec::<f32>().unwrap()),
            (vec![2], vec![1.5, -2.0])
        );
        let misuse = tensor.as_slice::<f32>().unwrap_err().kind();
        assert_eq!(misuse, ErrorKind::Misuse(Misuse::NotInMemory));
        // The file has become shorter since it was parsed. Bytes beyond its end are neither read nor borrowed.
        let short = opened(file()[..15].to_vec(), parse(&DISJOINT, &objects).unwrap());
        let tensor = short.get(first).unwrap();
        assert!(tensor.as_slice::<f32>().is_err() && tensor.to_vec::<f32>().is_err());
        assert!(short.verify().is_err());
    }
}

#[test]
fn the_builder_checks_every_fact_that_views_need() {
    let rejected = |component: RawComponent<'_>| {
        let components = [component];
        parse(&DISJOINT, &[dense("a", &components)]).unwrap_err().rule()
    };
    assert_eq!(rejected(RawComponent { offset: 10, ..DATA }), Some("blob-bounds"));
    assert_eq!(rejected(RawComponent { offset: u64::MAX, ..DATA }), Some("blob-bounds"));
    assert_eq!(rejected(RawComponent { stored_length: 4, ..DATA }), Some("dense-size"));
    assert_eq!(rejected(RawComponent { storage: StorageType::F64, ..DATA }), Some("dense-size"));
    assert_eq!(rejected(RawComponent { stored_length: 7, ..DATA }), Some("whole-elements"));
    assert_eq!(rejected(RawComponent { role: "values", ..DATA }), Some("dense-roles"));
    let logical = Some(LogicalType::F8E5M2);
    assert_eq!(rejected(RawComponent { logical, ..DATA }), Some("type-storage"));
    let decoded_length = Some(4);
    assert_eq!(rejected(RawComponent { decoded_length, ..DATA }), Some("uncompressed-length-raw"));
    let zstd = RawComponent { encoding: Encoding::Zstd, ..DATA };
    assert_eq!(rejected(zstd), Some("uncompressed-length-missing"));
    let big = RawComponent { byte_order: ByteOrder::Big, decoded_length: Some(8), ..zstd };
    assert_eq!(rejected(big), Some("endianness-compressed"));
    assert_eq!(rejected(RawComponent { encoding: Encoding::Unknown, ..DATA }), None);

    let components = [DATA];
    let with = |object: RawObject<'_>| parse(&DISJOINT, &[object]).unwrap_err().rule();
    let shape = &[u64::MAX, 2];
    assert_eq!(with(RawObject { shape, ..dense("a", &components) }), Some("shape-overflow"));
    assert_eq!(with(RawObject { shape: &[1; 65], ..dense("a", &components) }), Some("limit-rank"));
    assert_eq!(with(RawObject { layout: Layout::Mx, ..dense("a", &components) }), None);
    let attributes = Some(&b"\xa2\x61k\x01\x61k\x02"[..]);
    assert_eq!(with(RawObject { attributes, ..dense("a", &components) }), Some("duplicate-key"));
    let attributes = Some(&b"\xa1\x61k"[..]);
    assert_eq!(with(RawObject { attributes, ..dense("a", &components) }), Some("cbor-truncated"));
    let twice = [DATA, DATA];
    assert_eq!(with(dense("a", &twice)), Some("duplicate-key"));
}

#[test]
fn each_format_has_its_own_rules_for_all_tensors() {
    let (data, other) = ([DATA], [RawComponent { offset: 9, ..DATA }]);
    let parsed = |format, names: [&'static str; 2], second| {
        let objects = [dense(names[0], &data), dense(names[1], second)];
        parse(format, &objects)
            .map(|_| ())
            .map_err(|error| (error.rule().unwrap(), error.location().object()))
    };
    assert_eq!(parsed(&IDENTICAL, ["a", "a"], &data), Err(("test-duplicate-name", Some(1))));
    for names in [["a", "b"], ["b", "a"]] {
        assert_eq!(parsed(&DISJOINT, names, &data), Err(("blob-overlap", Some(1))));
        assert_eq!(parsed(&DISJOINT, names, &other), Err(("blob-overlap", Some(1))));
        assert_eq!(parsed(&IDENTICAL, names, &data), Ok(()));
        assert_eq!(parsed(&IDENTICAL, names, &other), Err(("blob-overlap", Some(1))));
        assert_eq!(parsed(&ANY, names, &other), Ok(()));
    }
    // A blob that several components share counts against the limit once for each component.
    let limits = Limits::default().with_decoded_total(17);
    let options = OpenOptions::default().limits(limits);
    for (format, second) in [(&IDENTICAL, &data), (&ANY, &other)] {
        let mut builder = Builder::new(format, 0..8, 17, &options).unwrap();
        builder.push(&dense("a", &data)).unwrap();
        builder.push(&dense("b", second)).unwrap();
        builder.push(&dense("c", second)).unwrap();
        assert_eq!(builder.finish().unwrap_err().rule(), Some("limit-decoded-total"));
    }
}

/// An error about a tensor has its name and the offset of its description, which counts from the start of the header or from the
/// offset that the parser has given. An error about another file has no offset, and an error about a wrong call has neither name
/// nor offset.
#[test]
fn errors_have_the_name_and_offset_that_the_parser_gives() {
    let (options, data) = (OpenOptions::default(), [DATA]);
    let beyond = [RawComponent { offset: 10, ..DATA }];
    let place = |error: &Error| (error.tensor().map(str::to_owned), error.offset());
    let at =
        |name, components, source_offset| RawObject { source_offset, ..dense(name, components) };
    for (descriptions, wanted) in [(None, 4 + 7), (Some(9), 9 + 7), (Some(u64::MAX), u64::MAX)] {
        let begin = || {
            let mut builder = Builder::new(&ANY, 4..8, 17, &options).unwrap();
            if let Some(offset) = descriptions {
                builder.descriptions_at(offset);
            }
            builder.push(&at("b", &data, u32::MAX)).unwrap();
            builder
        };
        let wanted = (Some("wrong".to_owned()), Some(wanted));
        // An invalid tensor makes the builder fail. Every later call returns the same error with the same names.
        let mut builder = begin();
        let error = builder.push(&at("wrong", &beyond, 7)).unwrap_err();
        assert_eq!((error.rule(), place(&error)), (Some("blob-bounds"), wanted.clone()));
        for again in [builder.push(&at("c", &data, 1)), builder.attributes(b"\xa0")] {
            assert_eq!(again.as_ref().map_err(place), Err(wanted.clone()));
        }
        assert_eq!(place(&builder.finish().unwrap_err()), wanted);
        // The last tensor has the name of an earlier tensor, which is found when the builder finishes.
        let mut builder = begin();
        builder.push(&at("wrong", &data, 6)).unwrap();
        builder.push(&at("a", &data, 8)).unwrap();
        builder.push(&at("wrong", &data, 7)).unwrap();
        let error = builder.finish().unwrap_err();
        assert_eq!((error.rule(), place(&error)), (Some("test-duplicate-name"), wanted));
    }
    // The error of a wrong call of the builder has neither name nor offset.
    let mut builder = Builder::new(&ANY, 4..8, 17, &options).unwrap();
    let error = builder.push(&RawObject { layout: Layout::Mx, ..at("a", &data, 7) }).unwrap_err();
    assert_eq!((error.kind(), place(&error)), (ErrorKind::Misuse(Misuse::Layout), (None, None)));
    // The builder does not know where the headers of other files begin, so an error about such a file has no offset.
    let (mut builder, far) = (Builder::new(&ANY, 4..8, 17, &options).unwrap(), "far");
    let file = Some(builder.file(far, 16).unwrap());
    let (there, beyond) =
        ([RawComponent { file, ..DATA }], [RawComponent { file, offset: 9, ..DATA }]);
    let mut other = Builder::new(&ANY, 4..8, 17, &options).unwrap();
    other.file(far, 16).unwrap();
    let error = other.push(&at("a", &beyond, 7)).unwrap_err();
    assert_eq!((error.rule(), error.file()), (Some("blob-bounds"), Some(far)));
    assert_eq!(place(&error), (Some("a".to_owned()), None));
    builder.push(&at("a", &data, 7)).unwrap();
    builder.push(&at("a", &there, 7)).unwrap();
    let error = builder.finish().unwrap_err();
    assert_eq!((error.rule(), error.file()), (Some("test-duplicate-name"), Some(far)));
    assert_eq!(place(&error), (Some("a".to_owned()), None));
}

/// After a call of the builder was rejected, later calls and `finish` return the same error, and no archive.
#[test]
fn a_failed_builder_accepts_nothing_more() {
    let (options, data) = (OpenOptions::default(), [DATA]);
    let wrong = RawObject { attributes: Some(b"\xa1"), ..dense("a", &data) };
    let mut builder = Builder::new(&ANY, 0..8, 17, &options).unwrap();
    builder.push(&dense("b", &data)).unwrap();
    let error = builder.push(&wrong).unwrap_err();
    assert_eq!((error.rule(), error.location().object()), (Some("cbor-count"), Some(1)));
    assert_eq!(builder.push(&dense("b", &data)).unwrap_err(), error);
    assert_eq!(builder.attributes(b"\xa0").unwrap_err(), error);
    assert_eq!(builder.finish().unwrap_err(), error);
    let mut builder = Builder::new(&ANY, 0..8, 17, &options).unwrap();
    let error = builder.attributes(b"\xa0\x00").unwrap_err();
    assert_eq!((error.rule(), error.location().object()), (Some("manifest-trailing"), None));
    assert_eq!(builder.finish().unwrap_err(), error);
}

#[test]
fn a_header_is_within_its_file_and_has_no_canonical_form() {
    let options = OpenOptions::default();
    assert!(Builder::new(&ANY, 17..17, 17, &options).is_ok());
    for header in [0..18, 18..18, core::ops::Range { start: 8, end: 7 }, 0..u64::MAX] {
        let error = Builder::new(&ANY, header, 17, &options).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Internal);
    }
    #[cfg(feature = "write")]
    {
        let error = Builder::new(&ANY, 0..8, 17, &options.canonical()).unwrap_err();
        assert_eq!(error.rule(), Some("canonical-generation"));
    }
}

/// Enough names that about 70 pairs of them have the same 32-bit hash.
#[test]
#[cfg_attr(miri, ignore = "it takes too long")]
fn names_with_equal_hashes_are_told_apart() {
    let options = OpenOptions::default();
    let push = |names: &mut dyn Iterator<Item = u32>| {
        let mut builder = Builder::new(&DISJOINT, 0..8, 17, &options).unwrap();
        for name in names {
            let name = name.to_string();
            let unknown = RawObject { layout: Layout::Unknown, ..dense(&name, &[]) };
            builder.push(&unknown).unwrap();
        }
        builder.finish()
    };
    let count = 800_000;
    let parsed = push(&mut (0..count).rev()).unwrap();
    let archive = opened(file(), parsed);
    let find = |name: u32| archive.get(&name.to_string()).map(|object| object.ordinal());
    for name in 0..count {
        assert_eq!(find(name), Some(count - 1 - name));
        assert_eq!(find(count + name), None);
    }
    let error = push(&mut (0..count).rev().chain([5])).unwrap_err();
    assert_eq!(
        (error.rule(), error.location().object()),
        (Some("test-duplicate-name"), Some(count))
    );
}

#[test]
fn bools_break_the_rule_of_the_format() {
    let bools = [RawComponent { offset: 15, stored_length: 2, storage: StorageType::Bool, ..DATA }];
    let parsed = parse(&DISJOINT, &[dense("a", &bools)]).unwrap();
    let archive = opened(file(), parsed);
    let error = archive.verify().unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("test-bool"), Some(15)));
    let error = archive.get("a").unwrap().as_slice::<bool>().unwrap_err();
    assert_eq!(error.rule(), Some("test-bool"));
}

/// The array `[[0, 1, 2], [3, 4, 5]]` as big-endian `u16` in column-major order.
const COLUMNS: [u8; 12] = [0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5];

/// Returns an archive of one array of 2 × 3 `u16`, big-endian and in column-major order, after a prefix of three bytes. `change`
/// may alter the stored bytes and the component.
fn columns(
    encoding: Encoding,
    change: impl FnOnce(&mut Vec<u8>, &mut RawComponent<'_>),
) -> Archive<InMemory<Vec<u8>>> {
    columns_within(Limits::default(), encoding, change)
}

/// Returns the archive of [`columns`], opened with `limits`.
fn columns_within(
    limits: Limits,
    encoding: Encoding,
    change: impl FnOnce(&mut Vec<u8>, &mut RawComponent<'_>),
) -> Archive<InMemory<Vec<u8>>> {
    let plain = [&b"npy"[..], &COLUMNS].concat();
    let is_raw = encoding == Encoding::Raw;
    let mut blob = if is_raw { plain.clone() } else { compress_to_vec(&plain, 6) };
    let (prefix, checksum) =
        (3, Some(crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&plain)));
    let mut raw = RawComponent {
        prefix,
        decoded_length: (!is_raw).then_some(12),
        byte_order: ByteOrder::Big,
        column_major: true,
        encoding,
        checksum,
        ..RawComponent::raw(StorageType::U16, 8, 0)
    };
    change(&mut blob, &mut raw);
    raw.offset = if is_raw { 11 } else { 8 };
    let file = [&[0; 8][..], &blob].concat();
    raw.stored_length = file.len() as u64 - raw.offset;
    let options = OpenOptions::default().limits(limits);
    let mut builder = Builder::new(&DISJOINT, 0..8, file.len() as u64, &options).unwrap();
    // The elements take 12 bytes in each storage type.
    let shape = [2, 6 / u64::from(raw.storage.width())];
    builder.push(&RawObject { shape: &shape, ..dense("a", &[raw]) }).unwrap();
    opened(file, builder.finish().unwrap())
}

#[test]
fn column_major_arrays_are_read_in_row_major_order() {
    for encoding in [Encoding::Raw, Encoding::Deflate] {
        let archive = columns(encoding, |_, _| ());
        archive.verify().unwrap();
        let tensor = archive.tensor("a").unwrap();
        let component = tensor.component("data").unwrap();
        assert!(component.is_strided() && component.digest().is_none());
        let misuse = component.view().unwrap_err().kind();
        assert_eq!(misuse, ErrorKind::Misuse(Misuse::Compressed), "there is nothing to borrow");
        assert_eq!(*tensor.to_cow::<u16>().unwrap(), [0, 1, 2, 3, 4, 5]);
        for (ranges, wanted) in [
            (&[0..2, 1..3][..], &[1_u16, 2, 4, 5][..]),
            (&[1..2, 0..3], &[3, 4, 5]),
            (&[0..1, 2..3], &[2]),
            (&[0..0, 0..3], &[]),
        ] {
            let slice = tensor.slice(ranges).unwrap();
            let mut bytes = vec![0; wanted.len() * 2];
            slice.read(&mut bytes).unwrap();
            assert_eq!(bytes, wanted.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<_>>());
            assert_eq!(slice.to_vec::<u16>().unwrap(), wanted);
        }
        let small = Limits::default().with_decoded(11);
        let small = columns_within(small, encoding, |_, _| ());
        let error = small.tensor("a").unwrap().to_vec::<u16>().unwrap_err();
        assert_eq!(error.rule(), Some("limit-decoded"));
        let mut tapped = Vec::new();
        let mut verifier = Verifier::new(archive.manifest());
        verifier.object(&tensor, |_, chunk| tapped.extend_from_slice(chunk)).unwrap();
        assert_eq!(tapped, [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
        #[cfg(feature = "write")]
        {
            use zten::write::{Copier, WriteOptions};
            let (manifest, options) = (archive.manifest(), WriteOptions::default());
            let copier = Copier::new(manifest);
            let copy = copier.file(manifest, archive.source(), Vec::new(), &options).unwrap();
            let copy = Archive::from_bytes(copy).unwrap();
            assert_eq!(*copy.tensor("a").unwrap().to_cow::<u16>().unwrap(), [0, 1, 2, 3, 4, 5]);
        }
    }
}

/// Arrays in column-major order are read correctly, whatever their shape is and wherever a chunk or buffer ends: within a row, or
/// within an element that consists of two numbers.
#[test]
fn column_major_arrays_of_any_shape_are_read_in_pieces() {
    let shapes: [&[u64]; 5] = [&[3, 4], &[2, 3, 4], &[1, 5, 1, 3, 1], &[7, 1], &[1, 1, 1]];
    for (shape, logical) in
        shapes.into_iter().flat_map(|it| [(it, None), (it, Some(LogicalType::Complex64))])
    {
        let numbers = if logical.is_some() { 2 } else { 1 };
        let count = shape.iter().product::<u64>();
        // Each element has its index in row-major order as its value.
        let element =
            |place: u64| [f32::from(u16::try_from(place).unwrap()), -1.0][..numbers].to_vec();
        let bytes = |places: &mut dyn Iterator<Item = u64>| -> Vec<u8> {
            places.flat_map(element).flat_map(f32::to_le_bytes).collect()
        };
        let mut stored = (0..count).map(|place| {
            let (mut rest, mut row_major) = (place, 0);
            for (at, dimension) in shape.iter().enumerate() {
                row_major += rest % dimension * shape[at + 1..].iter().product::<u64>();
                rest /= dimension;
            }
            row_major
        });
        let file = [vec![0; 8], bytes(&mut stored)].concat();
        let raw = RawComponent {
            column_major: true,
            logical,
            ..RawComponent::raw(StorageType::F32, 8, file.len() as u64 - 8)
        };
        let wanted = bytes(&mut (0..count));
        for limits in [Limits::default(), Limits::default().with_chunk(16)] {
            let options = OpenOptions::default().limits(limits);
            let mut builder = Builder::new(&DISJOINT, 0..8, file.len() as u64, &options).unwrap();
            builder.push(&RawObject { shape, ..dense("a", &[raw]) }).unwrap();
            let archive = opened(file.clone(), builder.finish().unwrap());
            let component = archive.tensor("a").unwrap().dense().unwrap();
            assert_eq!(*component.read().unwrap(), wanted);
            for room in [4, 12] {
                let mut content = component.reader().unwrap();
                let (mut read, mut buffer) = (Vec::new(), vec![0xaa; room]);
                loop {
                    let length = content.read_chunk(&mut buffer).unwrap();
                    if length == 0 {
                        break;
                    }
                    read.extend_from_slice(&buffer[..length]);
                }
                assert_eq!(read, wanted, "{shape:?} {logical:?} in pieces of {room}");
            }
        }
    }
}

/// Returns an archive of one array of `i16` with the strides `strides`. The value of each element is its index in the
/// blob.
fn strided(
    (shape, strides): (&[u64], &[u64]),
    byte_order: ByteOrder,
    limits: Limits,
) -> Result<Archive<InMemory<Vec<u8>>>, Error> {
    let last = |(dimension, stride): (&u64, &u64)| (dimension - 1) * stride;
    let span = shape.iter().zip(strides).map(last).sum::<u64>() + 1;
    let elements = 0..i16::try_from(span).unwrap();
    let bytes = match byte_order {
        ByteOrder::Big => elements.flat_map(i16::to_be_bytes).collect::<Vec<_>>(),
        ByteOrder::Little => elements.flat_map(i16::to_le_bytes).collect(),
    };
    let file = [&[0; 8][..], &bytes].concat();
    let options = OpenOptions::default().limits(limits);
    let raw = RawComponent {
        strides: Some(strides),
        byte_order,
        ..RawComponent::raw(StorageType::I16, 8, 2 * span)
    };
    let mut builder = Builder::new(&DISJOINT, 0..8, file.len() as u64, &options)?;
    builder.push(&RawObject { shape, ..dense("a", &[raw]) })?;
    Ok(opened(file, builder.finish()?))
}

const STRIDES: [(&[u64], &[u64], &[i16]); 9] = [
    (&[2, 2, 2], &[4, 1, 2], &[0, 2, 1, 3, 4, 6, 5, 7]),
    (&[3], &[2], &[0, 2, 4]),
    (&[2, 2], &[5, 3], &[0, 3, 5, 8]),
    (&[3, 2], &[0, 1], &[0, 1, 0, 1, 0, 1]),
    (&[4], &[0], &[0, 0, 0, 0]),
    (&[3, 2], &[1, 1], &[0, 1, 1, 2, 2, 3]),
    (&[2, 1, 2], &[3, 7, 2], &[0, 2, 3, 5]),
    (&[2, 2], &[1, 2], &[0, 2, 1, 3]),
    (&[2, 2], &[2, 1], &[0, 1, 2, 3]),
];

/// Strided elements come out in row-major order, whether the strides permute, spread or repeat elements, and wherever a chunk ends.
#[test]
fn strided_elements_are_read_in_row_major_order() {
    for (shape, strides, wanted) in STRIDES {
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            for limits in [Limits::default(), Limits::default().with_chunk(16)] {
                let archive = strided((shape, strides), byte_order, limits).unwrap();
                archive.verify().unwrap();
                let tensor = archive.tensor("a").unwrap();
                let component = tensor.dense().unwrap();
                assert_eq!(tensor.to_vec::<i16>().unwrap(), wanted, "{shape:?} {strides:?}");
                assert_eq!(component.decoded_length(), Some(2 * wanted.len() as u64));
                let is_in_rows = strides == [2, 1];
                assert_eq!(
                    (component.is_strided(), component.view().is_ok()),
                    (!is_in_rows, is_in_rows)
                );
                let mut buffer = vec![0; 2 * wanted.len()];
                component.read_into(&mut buffer).unwrap();
                let little: Vec<_> = wanted.iter().copied().flat_map(i16::to_le_bytes).collect();
                assert_eq!((&buffer, &*component.read().unwrap()), (&little, &*little));
                let slice = tensor.slice(1..).unwrap();
                let rows = wanted.len() / usize::try_from(shape[0]).unwrap();
                assert_eq!(slice.to_vec::<i16>().unwrap(), wanted[rows..]);
                let mut verifier = Verifier::new(archive.manifest());
                let mut tapped = Vec::new();
                verifier.object(&tensor, |_, chunk| tapped.extend_from_slice(chunk)).unwrap();
                assert_eq!(tapped, little);
            }
        }
    }
}

#[test]
fn strided_components_count_against_the_limits() {
    let of = |shape: &'static [u64], strides: &'static [u64], limits: Limits| {
        let archive = strided((shape, strides), ByteOrder::Little, limits)?;
        archive.tensor("a")?.to_vec::<i16>()
    };
    let rule = |read: Result<Vec<i16>, Error>| read.map_err(|error| error.rule());
    let limits = Limits::default();
    assert!(of(&[4], &[0], limits.with_decoded(8)).is_ok());
    assert_eq!(rule(of(&[4], &[0], limits.with_decoded(7))), Err(Some("limit-decoded")));
    assert_eq!(
        rule(of(&[4], &[0], limits.with_decoded_total(7))),
        Err(Some("limit-decoded-total"))
    );
    assert!(of(&[4], &[0], limits.with_decoded_total(8)).is_ok());
    // The reader holds the whole blob in memory, so the limit counts the blob if it is larger than the elements.
    assert_eq!(rule(of(&[2], &[4], limits.with_decoded(9))), Err(Some("limit-decoded")));
    assert!(of(&[2], &[4], limits.with_decoded(10).with_decoded_total(0)).is_ok());
    // The claimed size is checked against the limit before anything is allocated.
    let large: &[u64] = &[1 << 40];
    assert_eq!(rule(of(large, &[0], limits)), Err(Some("limit-decoded")));
    assert_eq!(rule(of(&[1 << 40, 1 << 40], &[0, 0], limits)), Err(Some("shape-overflow")));
}

/// Returns a component of 16-bit numbers with a blob of `length` bytes, whose elements lie `strides` apart.
fn with_strides(length: u64, strides: &[u64]) -> RawComponent<'_> {
    RawComponent { strides: Some(strides), ..RawComponent::raw(StorageType::I16, 8, length) }
}

#[test]
fn the_blob_of_a_strided_component_must_hold_all_elements() {
    let options = OpenOptions::default();
    let push = |shape: &[u64], raw: RawComponent<'_>| {
        let mut builder = Builder::new(&DISJOINT, 0..8, 100, &options).unwrap();
        builder.push(&RawObject { shape, ..dense("a", &[raw]) }).map_err(|error| error.kind())
    };
    let size = Err(zten::rules::Rule::DenseSize.into());
    let misuse = Err(ErrorKind::Misuse(Misuse::Layout));
    assert_eq!(push(&[2], with_strides(6, &[2])), Ok(()));
    assert_eq!(push(&[2], with_strides(8, &[2])), size);
    assert_eq!(push(&[2], with_strides(4, &[2])), size);
    assert_eq!(push(&[2], with_strides(6, &[u64::MAX])), size);
    assert_eq!(push(&[2], with_strides(6, &[2, 1])), misuse);
    assert_eq!(push(&[2], RawComponent { column_major: true, ..with_strides(6, &[2]) }), misuse);
    let deflated = RawComponent { encoding: Encoding::Deflate, ..with_strides(9, &[1, 1]) };
    let of = |decoded| RawComponent { decoded_length: Some(decoded), ..deflated };
    assert_eq!(push(&[2, 2], of(6)), misuse);
    let permuted = RawComponent { strides: Some(&[4, 1, 2]), ..of(16) };
    assert_eq!(push(&[2, 2, 2], permuted), Ok(()));
    let packed = RawComponent {
        logical: Some(LogicalType::F4E2M1),
        ..RawComponent::raw(StorageType::U8, 8, 3)
    };
    assert_eq!(push(&[2], RawComponent { strides: Some(&[2]), ..packed }), misuse);
}

/// A strided array of bools: the bytes between its elements may have any value, and each element must be 0 or 1.
#[test]
fn strided_bools_are_validated_and_gaps_are_not() {
    for (bytes, is_valid) in [([1, 7, 0], true), ([1, 0, 7], false)] {
        let file = [&[0; 8][..], &bytes].concat();
        let options = OpenOptions::default();
        let mut builder = Builder::new(&DISJOINT, 0..8, 11, &options).unwrap();
        let raw =
            RawComponent { strides: Some(&[2]), ..RawComponent::raw(StorageType::Bool, 8, 3) };
        builder.push(&RawObject { shape: &[2], ..dense("a", &[raw]) }).unwrap();
        let archive = opened(file, builder.finish().unwrap());
        assert_eq!(archive.verify().is_ok(), is_valid);
        assert_eq!(archive.tensor("a").unwrap().dense().unwrap().read().is_ok(), is_valid);
    }
}

/// A checksum whose range is larger than the component's blob is verified before the whole component is read, but not
/// before a slice is read, which would make each slice as expensive as the range.
#[test]
fn a_checksum_may_cover_more_than_one_blob() {
    let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&[1, 2, 3, 4]);
    let built = |checksum: u32, range: [u64; 2]| {
        let options = OpenOptions::default();
        let mut builder = Builder::new(&DISJOINT, 0..8, 12, &options).unwrap();
        let raw = RawComponent {
            checksum: Some(checksum),
            checksum_range: Some(range),
            ..RawComponent::raw(StorageType::U8, 9, 2)
        };
        builder.push(&RawObject { shape: &[2], ..dense("a", &[raw]) })?;
        Ok::<_, Error>(opened([&[0; 8][..], &[1, 2, 3, 4]].concat(), builder.finish()?))
    };
    let archive = built(sum, [8, 12]).unwrap();
    archive.verify().unwrap();
    let component = archive.tensor("a").unwrap().dense().unwrap();
    assert!(!component.has_checksum() && *component.read().unwrap() == [2, 3]);
    for (checksum, range) in [(sum ^ 1, [8, 12]), (sum, [8, 11]), (sum, [9, 12])] {
        let archive = built(checksum, range).unwrap();
        let tensor = archive.tensor("a").unwrap();
        let (component, mut bytes) = (tensor.dense().unwrap(), [0; 2]);
        // The second round gets the mismatch that the archive remembers, and must report the same error.
        for _ in 0..2 {
            let loader = zten::Loader::new(archive.manifest());
            for error in [
                archive.verify().unwrap_err(),
                component.read().unwrap_err(),
                component.read_into(&mut bytes).unwrap_err(),
                tensor.to_vec::<u8>().unwrap_err(),
                component.reader().unwrap_err(),
                loader.read([component]).unwrap_err(),
            ] {
                assert_eq!((error.rule(), error.offset()), (Some("test-crc"), Some(range[0])));
                assert_eq!(error.tensor(), Some("a"));
            }
        }
        let slice = tensor.slice(1..2).unwrap();
        slice.read(&mut bytes[..1]).unwrap();
        assert_eq!((bytes[0], slice.to_vec::<u8>().unwrap()), (3, vec![3]));
    }
    assert_eq!(built(sum, [8, 13]).unwrap_err().rule(), Some("blob-bounds"));
    assert_eq!(built(sum, [9, 8]).unwrap_err().rule(), Some("blob-bounds"));
}

/// A source in memory that counts the bytes that are read from it.
struct Counted {
    bytes: Vec<u8>,
    /// The number of bytes that have been read so far.
    read: AtomicU64,
}

impl Counted {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, read: AtomicU64::new(0) }
    }
}

impl ReadAt for Counted {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.read.fetch_add(buffer.len() as u64, Relaxed);
        self.bytes.read_at(offset, buffer)
    }
}

/// A checksum whose range covers several components is verified once in an open archive, by the first component that is
/// read. If that component is the whole range, its own read serves for the checksum, too.
#[test]
fn shared_checksums_are_verified_once() {
    let (bytes, length) = (vec![7; 1000], 1000);
    let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&bytes);
    let file = [vec![0; 8], bytes.clone(), bytes].concat();
    let options = OpenOptions::default();
    let open = || {
        let mut builder = Builder::new(&ANY, 0..8, file.len() as u64, &options).unwrap();
        // There are two checksum ranges. "a" is the whole first range; no component is the whole second range.
        for (name, start, count, range) in [
            ("a", 8, length, None),
            ("b", 10, 5, Some([8, 1008])),
            ("c", 900, 50, Some([8, 1008])),
            ("d", 1008, 5, Some([1008, 2008])),
            ("e", 2003, 5, Some([1008, 2008])),
        ] {
            let raw = RawComponent {
                checksum: Some(sum),
                checksum_range: range,
                ..RawComponent::raw(StorageType::U8, start, count)
            };
            builder.push(&RawObject { shape: &[count], ..dense(name, &[raw]) }).unwrap();
        }
        Archive::from_parsed(Counted::new(file.clone()), builder.finish().unwrap())
    };
    for (order, wanted) in [
        ("a", &[1000][..]),
        ("abc", &[1000, 5, 50]),
        ("bca", &[1005, 50, 1000]),
        ("cabb", &[1050, 1000, 5, 5]),
        ("dedb", &[1005, 5, 5, 1005]),
    ] {
        let archive = open();
        for (name, wanted) in order.split("").filter(|name| !name.is_empty()).zip(wanted) {
            let before = archive.source().read.load(Relaxed);
            archive.tensor(name).unwrap().dense().unwrap().read().unwrap();
            assert_eq!(archive.source().read.load(Relaxed) - before, *wanted, "{order}: {name}");
        }
    }
    // Of several threads, one computes the checksum, and the others wait instead of reading the range, too.
    let archive = open();
    std::thread::scope(|scope| {
        for name in ["d", "e", "d", "e"] {
            let tensor = archive.tensor(name).unwrap();
            scope.spawn(move || tensor.dense().unwrap().read().unwrap().len());
        }
    });
    assert_eq!(archive.source().read.load(Relaxed), 1000 + 4 * 5);
    // Verifying the whole file reads each component once, and the second range once more, because no component is all of it.
    let archive = open();
    archive.verify().unwrap();
    assert_eq!(archive.source().read.load(Relaxed), 1000 + 5 + 50 + 1000 + 5 + 5);
}

/// Reading a small view into a large storage takes memory for the elements of the view, not for the storage.
#[test]
fn memory_follows_the_elements_and_not_their_distance() {
    let options = OpenOptions::default();
    let large = 16_u32 << 20;
    let numbers: Vec<u8> = (0..large / 4).flat_map(u32::to_be_bytes).collect();
    let file = [vec![0; 8], numbers].concat();
    for (shape, strides) in [
        (&[2, 1][..], &[4_000_000, 1][..]),
        (&[3, 2], &[7, 2_000_000]),
        // The stride 0 gives several indices the same element.
        (&[2, 4, 3], &[1_000_000, 0, 1_000_000]),
        (&[1000, 2], &[4000, 1]),
    ] {
        for byte_order in [ByteOrder::Little, ByteOrder::Big] {
            let last: u64 =
                shape.iter().zip(strides).map(|(count, stride)| (count - 1) * stride).sum();
            let mut builder = Builder::new(&ANY, 0..8, file.len() as u64, &options).unwrap();
            let raw = RawComponent {
                strides: Some(strides),
                byte_order,
                ..RawComponent::raw(StorageType::U32, 8 + 40, (last + 1) * 4)
            };
            builder.push(&RawObject { shape, ..dense("a", &[raw]) }).unwrap();
            let counted = Counted::new(file.clone());
            let archive = Archive::from_parsed(counted, builder.finish().unwrap());
            archive.verify().unwrap();
            let tensor = archive.tensor("a").unwrap();
            let mut read = Vec::new();
            let heap = allocation_counter::measure(|| read = tensor.to_vec::<u32>().unwrap());
            assert!(heap.bytes_max < 300_000, "{shape:?}: {} bytes", heap.bytes_max);
            let mut wanted = vec![10_u64];
            for (count, stride) in shape.iter().zip(strides) {
                wanted = wanted
                    .into_iter()
                    .flat_map(|first| (0..*count).map(move |index| first + index * stride))
                    .collect();
            }
            // Each element of the storage is its own position, as a big-endian number.
            let element = |position: u64| {
                let number = u32::try_from(position).unwrap();
                if byte_order == ByteOrder::Big { number } else { number.swap_bytes() }
            };
            let wanted: Vec<u32> = wanted.into_iter().map(element).collect();
            assert_eq!(read, wanted, "{shape:?}");
            let slice = tensor.slice(1..2).unwrap().to_vec::<u32>().unwrap();
            let row = wanted.len() / usize::try_from(shape[0]).unwrap();
            assert_eq!(slice, wanted[row..2 * row], "{shape:?}");
        }
    }
}

/// If the checksum is wrong, an invalid bool is reported as damage, because the program that wrote the file did not write that
/// bool.
#[test]
fn an_invalid_bool_is_damage_if_the_checksum_is_wrong() {
    for encoding in [Encoding::Raw, Encoding::Deflate] {
        for (checksum, wanted) in [(None, "test-bool"), (Some(7), "test-crc")] {
            let archive = columns(encoding, |_, raw| {
                raw.storage = StorageType::Bool;
                raw.column_major = false;
                raw.checksum = checksum.or(raw.checksum);
            });
            assert_eq!(archive.verify().unwrap_err().rule(), Some(wanted));
            let read = archive.tensor("a").unwrap().dense().unwrap().read();
            assert_eq!(read.unwrap_err().rule(), Some(wanted));
        }
    }
}

#[test]
fn a_stream_must_decode_to_the_declared_size() {
    let rejected = |encoding, change: &dyn Fn(&mut Vec<u8>, &mut RawComponent<'_>)| {
        let archive = columns(encoding, change);
        let verified = archive.verify().unwrap_err().rule();
        let read = archive.tensor("a").unwrap().dense().unwrap().read();
        assert_eq!(read.unwrap_err().rule(), verified);
        verified
    };
    let other_sum = |_: &mut Vec<u8>, raw: &mut RawComponent<'_>| raw.checksum = Some(7);
    assert_eq!(rejected(Encoding::Raw, &other_sum), Some("test-crc"));
    assert_eq!(rejected(Encoding::Deflate, &other_sum), Some("test-crc"));
    let flip = |at: usize| move |blob: &mut Vec<u8>, _: &mut RawComponent<'_>| blob[at] ^= 1;
    assert_eq!(rejected(Encoding::Raw, &flip(0)), Some("test-crc"), "in front of the elements");
    assert_eq!(rejected(Encoding::Raw, &flip(5)), Some("test-crc"));
    assert_eq!(rejected(Encoding::Deflate, &|blob, _| blob[0] |= 6), Some("test-deflate"));
    assert_eq!(rejected(Encoding::Deflate, &|blob, _| blob.push(0)), Some("test-deflate"));
    assert_eq!(
        rejected(Encoding::Deflate, &|blob, _| blob.truncate(blob.len() - 1)),
        Some("test-deflate")
    );
    assert_eq!(rejected(Encoding::Deflate, &|_, raw| raw.prefix = 2), Some("test-length"));
    assert_eq!(rejected(Encoding::Deflate, &|_, raw| raw.prefix = 4), Some("test-length"));
    let long = [&b"npy"[..], &COLUMNS, &vec![0; 100_000]].concat();
    let long = compress_to_vec(&long, 6);
    assert_eq!(rejected(Encoding::Deflate, &|blob, _| blob.clone_from(&long)), Some("test-length"));
}

#[test]
fn long_streams_are_decoded_completely() {
    // The contents are nothing, one byte, noise that is stored uncompressed, text, and noise that repeats at the
    // largest distance of a match.
    let mut random = fastrand::Rng::with_seed(5);
    let noise: Vec<u8> = (0..70_000).map(|_| random.u8(..)).collect();
    let text: Vec<u8> = (0..300_000_u32).flat_map(|x| (x / 7).to_le_bytes()).collect();
    let far = [&noise[..32_768], &noise[..32_768], &noise[..1]].concat();
    for plain in [vec![], vec![1], noise, text, far] {
        let blob = compress_to_vec(&plain, 9);
        let file = [&[0; 8][..], &blob].concat();
        let raw = RawComponent {
            encoding: Encoding::Deflate,
            decoded_length: Some(plain.len() as u64),
            ..RawComponent::raw(StorageType::U8, 8, blob.len() as u64)
        };
        let options = OpenOptions::default();
        let mut builder = Builder::new(&DISJOINT, 0..8, file.len() as u64, &options).unwrap();
        builder.push(&RawObject { shape: &[plain.len() as u64], ..dense("a", &[raw]) }).unwrap();
        let archive = opened(file, builder.finish().unwrap());
        archive.verify().unwrap();
        assert!(archive.tensor("a").unwrap().to_vec::<u8>().unwrap() == plain);
    }
}

#[test]
fn components_may_be_in_other_files() {
    let parse = |length: u64, names: [&str; 2]| {
        let options = OpenOptions::default();
        let mut builder = Builder::new(&DISJOINT, 0..8, 8, &options)?;
        let files = [builder.file(names[0], length)?, builder.file(names[1], 17)?];
        for (name, file) in [("a", files[0]), ("b", files[1])] {
            let components = [RawComponent { file: Some(file), ..DATA }];
            builder.push(&dense(name, &components))?;
        }
        Ok::<_, Error>(opened(vec![0; 8], builder.finish()?))
    };
    let find = |files: &[(&'static str, Vec<u8>)]| {
        let files = files.to_vec();
        Shards(move |name: &str| {
            let (_, file) = files.iter().find(|(own, _)| *own == name)?;
            Some((InMemory(file.clone()), file.len()))
        })
    };
    let both = [("one", file()), ("other", file())];
    let archive = parse(17, ["one", "other"]).unwrap();
    let manifest = archive.manifest();
    let finder = find(&both);
    let mut shards = manifest.bind_shards(&finder).unwrap();
    shards.verify().unwrap();
    let component = manifest.tensor("b").unwrap().component("data").unwrap();
    assert_eq!((component.shard(), shards.bound().len()), (Some("other"), 2));
    assert!(shards.get("one").unwrap().shard().digest().is_none());
    let files = Files { root: archive.source(), shards: &shards };
    assert_eq!(*component.tensor().read_from(&files).to_cow::<f32>().unwrap(), [1.5, -2.0]);
    let report = check(Subject::with_shards(manifest, &files), &mut ());
    assert_eq!(report.into_result().unwrap().components(), 2);
    let finder = find(&both[..1]);
    let mut shards = manifest.bind_shards(&finder).unwrap();
    assert_eq!(shards.verify().unwrap_err().rule(), Some("unsupported-shard"));
    let finder = find(&[both[0].clone(), ("other", file()[1..].to_vec())]);
    assert_eq!(manifest.bind_shards(&finder).unwrap_err().rule(), Some("shard-length"));
    // With `find_shards`, the archive owns its shards.
    let archive = archive.find_shards(&find(&both)).unwrap();
    assert_eq!(archive.tensor("b").unwrap().as_slice::<f32>().unwrap(), [1.5, -2.0]);
    assert_eq!(archive.verify().unwrap().components(), 2);
    let archive = archive.find_shards(&find(&both[1..])).unwrap();
    assert_eq!(archive.verify().unwrap_err().rule(), Some("unsupported-shard"));
    assert_eq!(parse(15, ["one", "other"]).err().unwrap().rule(), Some("blob-bounds"));
    let unordered = parse(17, ["other", "one"]).err().unwrap().kind();
    assert_eq!(unordered, ErrorKind::Misuse(Misuse::Order));
}
