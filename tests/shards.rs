//! Files of generation 2 with their shards: which are found, what is read from them, and what is
//! refused. v2 §7.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use zten::{
    Archive, Digest, Error, Limits, Options, ReadAt, shards::ComponentSource, shards::Files,
    shards::Find, shards::Locate as _, verify::Verifier,
};
use zten_corpus::cbor::{fields, text, uint};
use zten_testkit::{Expected, Shards, corpus, sharded};

/// Bytes, and how many have been read of them.
#[derive(Debug, Default)]
struct Counted {
    bytes: Vec<u8>,
    read: Cell<usize>,
}

impl ReadAt for Counted {
    type Error = Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.read.set(self.read.get() + buffer.len());
        self.bytes.read_at(offset, buffer)
    }
}

/// Finds `STEM-NAME.zt` beside the file.
fn beside(root: &Path) -> impl Find<Source = Counted> {
    Shards(move |name: &str| {
        let stem = root.file_stem().unwrap().to_str().unwrap();
        let bytes = std::fs::read(root.with_file_name(format!("{stem}-{name}.zt"))).ok()?;
        let length = bytes.len();
        Some((Counted { bytes, read: Cell::new(0) }, length))
    })
}

fn check(path: &Path, options: &Options) -> Result<(), Error> {
    let file = std::fs::read(path).unwrap();
    let archive = Archive::open_with(&file, options)?;
    let mut shards = archive.bind_shards(&beside(path), options.limit())?;
    let mut verifier = Verifier::new(file.len() as u64, options.limit());
    let summary = verifier.file_in(&archive, &file[..], &mut shards)?;
    assert!(summary.components() > 0, "{}", path.display());
    Ok(())
}

fn read(name: &str) -> Vec<u8> {
    zten_testkit::read(&format!("v2/shards/{name}"))
}

/// Where a shard is listed that no part is in, what is wrong is the table.
#[test]
fn a_shard_of_nothing_is_missed() {
    let shard = fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
    let file = zten_corpus::v2::full().set("shards", fields([("s", shard)])).bytes();
    let archive = Archive::open(&file).unwrap();
    let error = archive.verify().unwrap_err();
    assert_eq!((error.id(), error.place().object()), (Some("unsupported-shard"), None));
    assert_eq!(archive.shards().len(), 1);
    let shown = format!("{:?}", archive.shards().next().unwrap());
    assert!(shown.contains("\"s\"") && shown.contains("8192"), "{shown}");
}

/// A source that lends some of what it is asked for, and counts what it copies.
struct Lends {
    copies: Counted,
    /// Bytes that it lends, of which fewer than are asked for are of no use.
    most: usize,
}

impl ReadAt for Lends {
    type Error = Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.copies.read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.copies.bytes.bytes_at(offset, length.min(self.most))
    }
}

impl Lends {
    fn new(bytes: Vec<u8>, most: usize) -> Self {
        Self { copies: Counted { bytes, read: Cell::new(0) }, most }
    }
}

/// Finds every shard in a source that lends so many bytes.
fn one(bytes: Vec<u8>, most: usize) -> impl Find<Source = Lends> {
    Shards(move |_: &str| Some((Lends::new(bytes.clone(), most), bytes.len())))
}

#[test]
fn shards_that_are_lent_are_not_copied() {
    let (root, shard) = (read("dense.zt"), read("dense-s.zt"));
    let archive = Archive::open(&root).unwrap();
    for (most, copied) in [(usize::MAX, 0), (7, shard.len())] {
        let find = one(shard.clone(), most);
        let mut shards = archive.bind_shards(&find, archive.limits()).unwrap();
        let before = shards.bound()[0].source().copies.read.get();
        shards.verify(archive.limits()).unwrap();
        assert_eq!(shards.bound()[0].source().copies.read.get() - before, copied);
    }
}

/// The error of a shard of another version tells that version, whoever asks.
#[test]
fn the_version_of_a_shard_is_told() {
    let path = corpus().join("v2/shards/unsupported-version--v2-shard.zt");
    let root = std::fs::read(&path).unwrap();
    let archive = Archive::open(&root).unwrap();
    let mut shards = archive.bind_shards(&beside(&path), archive.limits()).unwrap();
    let files = Files { root: &root[..], shards: &shards };
    let component = archive.objects().next().unwrap().components().next().unwrap();
    let located = files.locate(&component).map(|_| ()).unwrap_err();
    let verified = Error::from(shards.verify(archive.limits()).unwrap_err());
    assert_eq!(located, verified);
    assert!(verified.to_string().contains("major version 3 is not known"), "{verified}");
}

/// A digest that cannot be computed here is told without a byte being read.
#[test]
fn an_unknown_digest_costs_nothing() {
    let bytes = read("dense-s.zt");
    let shard = fields([("size", uint(bytes.len() as u64)), ("digest", text("md5:00"))]);
    let file = zten_corpus::v2::full().set("shards", fields([("s", shard)])).bytes();
    let archive = Archive::open(&file).unwrap();
    let find = one(bytes, 0);
    let mut shards = archive.bind_shards(&find, archive.limits()).unwrap();
    let before = shards.bound()[0].source().copies.read.get();
    let error = Error::from(shards.verify(archive.limits()).unwrap_err());
    assert_eq!(error.id(), Some("unsupported-digest"));
    assert_eq!(shards.bound()[0].source().copies.read.get(), before);
}

#[test]
fn every_root_ends_as_the_index_says() {
    let mut rules = BTreeSet::new();
    for row in sharded() {
        let file = row.path.display();
        let root = std::fs::read(&row.path).unwrap();
        let archive = Archive::open(&root).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(archive.objects().len() == 1 && archive.shards().len() > 0, "{file}");
        let found = check(&row.path, &row.options).map_err(|error| Expected::from_error(&error));
        let found = found.err().map(|mut found| {
            // The place is not written where a shard is missing: its table or its component says it.
            if found.rule == "unsupported-shard" {
                (found.offset, found.object, found.component) =
                    row.expected.as_ref().map_or((None, None, None), |expected| {
                        (expected.offset, expected.object, expected.component)
                    });
            }
            found
        });
        assert_eq!(found, row.expected, "{file}");
        if let Some(near) = &row.neighbour {
            assert_eq!(check(near, &Options::default()), Ok(()), "{file}");
        }
        rules.extend(row.expected.map(|expected| expected.rule));
    }
    for row in zten::rules::rows().filter(|row| row.id.contains("shard")) {
        let of_the_root = ["shard-name", "shard-type", "shards-type", "shard-reference"];
        let of_the_root = of_the_root.contains(&row.id)
            || ["data-shard", "shard-reference-type"].contains(&row.id)
            || row.id.starts_with("shard-size")
            || row.id.starts_with("shard-digest-");
        assert!(of_the_root || rules.contains(row.id), "no file ends in {}", row.id);
    }
}

#[test]
fn a_shard_that_is_missing_keeps_nothing_else_from_being_read() {
    let root = read("unsupported-shard--v2-missing.zt");
    let path = corpus().join("v2/shards/unsupported-shard--v2-missing.zt");
    let archive = Archive::open(&root).unwrap();
    let [shard] = archive.shards().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((shard.name(), shard.size()), ("s", 4152));
    assert!(matches!(shard.digest(), Some(Digest::Xxh3(_))));
    let component = archive.get("w").unwrap().component("data").unwrap();
    assert_eq!((component.shard(), component.extent().range()), (Some("s"), 4096..4112));
    assert_eq!(component.bind(&root).unwrap_err().id(), Some("unsupported-shard"));
    let mut shards = archive.bind_shards(&beside(&path), &Limits::default()).unwrap();
    assert!(shards.get("s").is_none() && shards.bound().is_empty());
    assert_eq!(shards.missing().map(|shard| shard.name()), Some("s"));
    let error = Error::from(shards.verify(&Limits::default()).unwrap_err());
    assert_eq!((error.id(), error.offset()), (Some("unsupported-shard"), Some(shard.offset())));
    assert_eq!(&root[usize::try_from(shard.offset()).unwrap()..][..2], b"as");
}

#[test]
fn binding_reads_the_frame_and_nothing_else() {
    let path = corpus().join("v2/shards/not-recursive.zt");
    let root = std::fs::read(&path).unwrap();
    let archive = Archive::open(&root).unwrap();
    let shards = archive.bind_shards(&beside(&path), &Limits::default()).unwrap();
    let shard = shards.get("s").unwrap();
    assert_eq!(shard.source().read.get(), 48);
    assert!(shards.get("t").is_none() && shards.get("").is_none());
    // Views are of the shard's bytes.
    let object = archive.get("w").unwrap().in_shard(shard);
    let view = object.dense().unwrap().component().bind(&shard.source().bytes).unwrap();
    let values: Vec<f32> = view.elements().unwrap().collect();
    assert_eq!(values, [1.0, -2.0, 0.5, 3.25]);
    let rows = object.dense().unwrap().rows(1..3).unwrap();
    let mut bytes = [0; 8];
    rows.read(shard.source(), archive.limits(), &mut bytes).unwrap();
    assert_eq!(bytes[4..], 0.5_f32.to_le_bytes());
    assert_eq!(shard.source().read.get(), 48 + 8);
    let content = object.component("data").unwrap();
    assert_eq!(content.object().component("data").unwrap().bind(&shard.source().bytes).err(), None);
}

#[test]
fn an_object_in_one_shard_has_no_components_elsewhere() {
    let path = corpus().join("v2/shards/csr.zt");
    let root = std::fs::read(&path).unwrap();
    let archive = Archive::open(&root).unwrap();
    let shards = archive.bind_shards(&beside(&path), &Limits::default()).unwrap();
    let readable = |object: &zten::Object<'_>| {
        let components = object.components().filter(|component| component.readable().is_ok());
        components.map(|component| component.role().to_owned()).collect::<Vec<_>>()
    };
    let object = archive.get("w").unwrap();
    assert_eq!(readable(&object), ["values"]);
    for (shard, role) in [("a", "indptr"), ("bb", "indices")] {
        let shard = shards.get(shard).unwrap();
        assert_eq!(readable(&object.in_shard(shard)), [role]);
        let component = object.component(role).unwrap();
        assert!(component.in_shard(shard).readable().is_ok());
        assert!(object.component("values").unwrap().in_shard(shard).readable().is_ok());
        // Another file's shard of a name that is not in the object.
        let path = corpus().join("v2/shards/dense.zt");
        let root = std::fs::read(&path).unwrap();
        let archive = Archive::open(&root).unwrap();
        let others = archive.bind_shards(&beside(&path), &Limits::default()).unwrap();
        assert!(readable(&object.in_shard(others.get("s").unwrap())).is_empty());
    }
}

#[test]
fn no_more_shards_are_looked_for_than_the_limit_allows() {
    let path = corpus().join("v2/shards/limit-shards--v2-two.zt");
    let root = std::fs::read(&path).unwrap();
    let archive = Archive::open(&root).unwrap();
    for (most, asked) in [(0, 0), (1, 0), (2, 2), (3, 2)] {
        let limits = Limits::default().with_named("shards", most).unwrap();
        let count = Cell::new(0);
        let finder = Shards(|_: &str| {
            count.set(count.get() + 1);
            None::<(&[u8], usize)>
        });
        assert_eq!(archive.bind_shards(&finder, &limits).is_ok(), asked > 0, "{most}");
        assert_eq!(count.get(), asked, "{most}");
    }
}

/// Whatever one byte of a shard becomes: an error, as its digest is another.
#[test]
fn damage_of_a_shard_is_refused() {
    let (root, mut shard) = (read("dense.zt"), read("dense-s.zt"));
    let archive = Archive::open(&root).unwrap();
    let verify = |shard: &[u8]| {
        let find = Shards(|_: &str| Some((shard, shard.len())));
        let mut bound = archive.bind_shards(&find, &Limits::default())?;
        let verified = bound.verify(&Limits::default());
        // What has been found is not forgotten.
        assert_eq!(bound.verify(&Limits::default()), verified);
        verified
    };
    assert!(verify(&shard).is_ok());
    for at in (0..shard.len()).step_by(if cfg!(miri) { 997 } else { 1 }) {
        shard[at] ^= 0x10;
        assert!(verify(&shard).is_err(), "{at}");
        shard[at] ^= 0x10;
        assert!(verify(&shard[..at]).is_err(), "{at}");
    }
}

/// A part without a digest is not read before that of its shard has been compared.
#[test]
fn a_part_without_a_digest_waits_for_its_shard() {
    let (root, shard) = (read("dense.zt"), read("dense-s.zt"));
    let archive = Archive::open(&root).unwrap();
    let find = one(shard, 0);
    let mut shards = archive.bind_shards(&find, archive.limits()).unwrap();
    let part = archive.get("w").unwrap().component("data").unwrap();
    let own = Lends { copies: Counted::default(), most: 0 };
    let locate = |shards: &_| {
        let files = Files { root: &own, shards };
        files.locate(&part).map(|(_, source)| match source {
            ComponentSource::Shard(reader) => format!("{reader:?}"),
            ComponentSource::Root(_) => "the root".to_owned(),
        })
    };
    let misuse = zten::ErrorKind::Misuse(zten::error::Misuse::UnverifiedShard);
    assert_eq!(locate(&shards).unwrap_err().kind(), misuse);
    shards.verify_for([part], archive.limits()).unwrap();
    assert_eq!(locate(&shards).unwrap(), "ShardReader { verified: true }");
    // It is not read again, here or where it was verified before.
    let source = || &shards.bound()[0];
    let count = source().source().copies.read.get();
    let mut again = archive.bind_shards(&find, archive.limits()).unwrap();
    let before = again.bound()[0].source().copies.read.get();
    again.bound_mut()[0].set_verified(source().verified().unwrap());
    again.verify(archive.limits()).unwrap();
    assert_eq!(again.bound()[0].source().copies.read.get(), before);
    assert!(count > before);
}

/// Nothing without a digest is read of a shard that is damaged, or of which a read has failed.
#[test]
fn a_shard_that_failed_is_not_read() {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    /// Fails where the byte at 4,100 is read, unless it is mended.
    struct Fails<'d>(&'d [u8], &'d AtomicBool);

    impl ReadAt for Fails<'_> {
        type Error = Error;

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
            if !self.1.load(Relaxed) && (offset..offset + buffer.len() as u64).contains(&4100) {
                return Err(zten::error::Misuse::Supply.into());
            }
            self.0.read_at(offset, buffer)
        }
    }

    fn given<'d>(shard: &'d [u8], is_mended: &'d AtomicBool) -> impl Find<Source = Fails<'d>> {
        Shards(move |_: &str| Some((Fails(shard, is_mended), shard.len())))
    }

    let (root, shard) = (read("dense.zt"), read("dense-s.zt"));
    let mut damaged = shard.clone();
    damaged[4100] ^= 1;
    let archive = Archive::open(&root).unwrap();
    let part = archive.get("w").unwrap().component("data").unwrap();
    let (limits, is_mended) = (archive.limits(), AtomicBool::new(false));
    let own = Fails(&root, &is_mended);
    let outcome = |shards: &_| {
        let files = Files { root: &own, shards };
        let located = files.locate(&part).map(|_| ()).map_err(|error| error.kind());
        let loaded = zten::load::Loader::new(1 << 20, limits);
        let read = loaded.decode([part].into_iter(), files);
        assert_eq!(read.map(|_| ()).map_err(|error| Error::from(error).kind()), located);
        located
    };
    let misuse = zten::ErrorKind::Misuse(zten::error::Misuse::UnverifiedShard);
    let find = given(&shard, &is_mended);
    let mut shards = archive.bind_shards(&find, limits).unwrap();
    assert!(shards.verify_for([part], limits).is_err() && shards.verify(limits).is_err());
    assert_eq!(outcome(&shards), Err(misuse));
    is_mended.store(true, Relaxed);
    shards.verify(limits).unwrap();
    assert_eq!(outcome(&shards), Ok(()));
    let find = given(&damaged, &is_mended);
    for whole in [false, true] {
        let mut shards = archive.bind_shards(&find, limits).unwrap();
        assert_eq!(outcome(&shards), Err(misuse));
        let verified =
            if whole { shards.verify(limits) } else { shards.verify_for([part], limits) };
        let error = Error::from(verified.unwrap_err());
        assert_eq!(error.id(), Some("shard-digest"));
        assert_eq!(outcome(&shards), Err(error.kind()));
    }
}

/// Each byte of small frames beside their table is read a few times, whatever the size of a block.
#[test]
#[cfg(feature = "zstd")]
fn comparing_reads_each_byte_a_few_times() {
    use zten_corpus::cbor::uints;
    use zten_corpus::v2::{FileV2, dense, frame, table};

    const FRAMES: usize = 50_000;
    let tiny = frame(&[7]);
    let entries = vec![(tiny.len(), 1); FRAMES];
    let blob = [tiny.repeat(FRAMES), table(&entries, 0)].concat();
    let data = fields([
        ("blob", uints(&[4096, blob.len() as u64])),
        ("dtype", text("u8")),
        ("encoding", text("zt.zstd-seekable/1")),
        ("decoded_length", uint(FRAMES as u64)),
    ]);
    let shard = FileV2::shard().blob(4096, &blob).bytes();
    let digest = format!("xxh3:{:016x}", twox_hash::XxHash3_64::oneshot(&shard));
    let entry = fields([("size", uint(shard.len() as u64)), ("digest", text(&digest))]);
    let root = dense(&[FRAMES as u64], data, &[])
        .set("shards", fields([("s", entry)]))
        .set("w:data/shard", text("s"))
        .bytes();
    let archive = Archive::open(&root).unwrap();
    let find = one(shard, 0);
    let mut shards = archive.bind_shards(&find, archive.limits()).unwrap();
    shards.verify(archive.limits()).unwrap();
    let read = || shards.bound()[0].source().copies.read.get();
    let before = read();
    let files = Files { root: &Lends { copies: Counted::default(), most: 0 }, shards: &shards };
    let mut verifier = Verifier::new(1 << 30, archive.limits());
    verifier.object(&archive.get("w").unwrap(), files, |_, _| ()).unwrap();
    let read = read() - before;
    assert!(blob.len() > 1 << 20 && read < 5 * blob.len(), "{read} of {}", blob.len());
}

/// Blobs of a shard are read as often as they are shared.
#[test]
fn shared_blobs_of_a_shard_count_as_often_as_they_are_read() {
    use zten_corpus::cbor::{fields, text, uint};
    use zten_corpus::v2::{file, object, part};

    // The blobs of a shard of 8,192 bytes end at 8,152. Those of another are counted apart.
    let shard = || fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
    let names = ["a", "b", "c", "d"];
    let dense = || object(&[4000], "dense", vec![("data", part("u8", 4096, 4000))]);
    let mut root = file(names.iter().map(|name| (name, dense())))
        .set("shards", fields([("s", shard()), ("t", shard())]));
    for (name, shard) in names.iter().zip(["s", "t", "s", "s"]) {
        root = root.set(&format!("{name}:data/shard"), text(shard));
    }
    let root = root.bytes();
    let open = |total| {
        let limits = Limits::default().with_decoded_total(total);
        Archive::open_with(&root, &Options::default().limits(limits)).map(drop)
    };
    assert_eq!(open(12_000), Ok(()));
    let refused = open(11_999).unwrap_err();
    assert_eq!((refused.id(), refused.place().object()), (Some("limit-decoded-total"), Some(3)));
}

/// Components of a shard are taken in the order of the manifest, whichever of their objects they are.
#[test]
fn the_first_component_beyond_a_limit_is_named() {
    use zten_corpus::cbor::{fields, text, uint};
    use zten_corpus::v2::{file, object, part};

    let shard = fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
    let blob = || part("u8", 4096, 4000);
    let two = object(&[], "x/1", vec![("p", blob()), ("q", blob())]);
    let one = object(&[], "x/1", vec![("p", blob())]);
    let mut root = file(vec![("a", two), ("b", one)]).set("shards", fields([("s", shard)]));
    for part in ["a:p", "a:q", "b:p"] {
        root = root.set(&format!("{part}/shard"), text("s"));
    }
    let root = root.bytes();
    // The blobs of the shard may be read as long as it is: 8,152 bytes.
    let options = Options::default().limits(Limits::default().with_decoded_total(0));
    let refused = Archive::open_with(&root, &options).unwrap_err();
    let place = (refused.place().object(), refused.place().component());
    assert_eq!((refused.id(), place), (Some("limit-decoded-total"), (Some(1), Some(0))));
}
