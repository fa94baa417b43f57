//! Tests of files of generation 2 with shards: which shards are found, what is read from them, and what is rejected. v2 §7.

mod one_blob;
mod owned;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use zten::error::Misuse;
use zten::shards::{Files, Find};
use zten::verify::{self, Subject, Summary, Verifier};
use zten::{
    Archive, Component, Digest, Error, ErrorKind, InMemory, Limits, Loader, OpenOptions, ReadAt,
    State, Tensor,
};
use zten_corpus::cbor::{Item, fields, text, uint};
use zten_testkit::{Expected, Shards, corpus, misuse, reads, sharded};

/// A source in memory, and the number of bytes that were read from the source and its clones.
#[derive(Clone, Debug, Default)]
struct Counted {
    bytes: Arc<[u8]>,
    read: Arc<AtomicUsize>,
}

impl Counted {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), read: Arc::default() }
    }

    /// Returns the number of bytes that have been read so far.
    fn count(&self) -> usize {
        self.read.load(Relaxed)
    }
}

impl ReadAt for Counted {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.read.fetch_add(buffer.len(), Relaxed);
        self.bytes.read_at(offset, buffer)
    }
}

/// Returns a finder that looks for shards as sibling files: the file `STEM-NAME.zt` for the shard NAME of `STEM.zt`.
fn sibling_shards(root: &Path) -> impl Find<Source = Counted> {
    Shards(move |name: &str| {
        let stem = root.file_stem().unwrap().to_str().unwrap();
        let bytes = std::fs::read(root.with_file_name(format!("{stem}-{name}.zt"))).ok()?;
        let length = bytes.len();
        Some((Counted::new(bytes), length))
    })
}

fn check(path: &Path, options: &OpenOptions) -> Result<Summary, Error> {
    let file = std::fs::read(path).unwrap();
    let archive = options.from_bytes(&file)?;
    let manifest = archive.manifest();
    let mut shards = manifest.bind_shards(&sibling_shards(path))?;
    let verified = shards.verify();
    let files = Files { root: archive.source(), shards: &shards };
    let summary = verify::check(Subject::with_shards(manifest, &files), &mut ()).into_result();
    // The error of a shard becomes the error of the file, unless an object has an error that takes precedence.
    assert!(verified.is_ok() || summary.is_err());
    let summary = summary?;
    assert!(summary.components() > 0, "{}", path.display());
    Ok(summary)
}

fn read(name: &str) -> Vec<u8> {
    zten_testkit::read(&format!("v2/shards/{name}"))
}

/// If a listed shard holds no part, the error about it points to the table of shards.
#[test]
fn a_missing_shard_without_parts_is_an_error() {
    let shard = fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
    let file = zten_corpus::v2::full().set("shards", fields([("s", shard)])).bytes();
    let archive = Archive::from_bytes(&file).unwrap();
    let error = archive.verify().unwrap_err();
    assert_eq!((error.rule(), error.location().object()), (Some("unsupported-shard"), None));
    assert_eq!(archive.manifest().shards().len(), 1);
    let shown = format!("{:?}", archive.manifest().shards().next().unwrap());
    assert!(shown.contains("\"s\"") && shown.contains("8192"), "{shown}");
}

/// A source that lends some requested ranges, and counts the bytes that it copies.
struct Lends {
    copies: Counted,
    /// The most bytes that the source lends at once. It may lend fewer than requested.
    most: usize,
}

impl ReadAt for Lends {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.copies.read_at(offset, buffer)
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.copies.bytes.bytes_at(offset, length.min(self.most))
    }
}

impl Lends {
    fn new(bytes: Vec<u8>, most: usize) -> Self {
        Self { copies: Counted::new(bytes), most }
    }
}

/// Returns a finder that gives `bytes` for every shard, in a source that lends at most `most` bytes.
fn one(bytes: Vec<u8>, most: usize) -> impl Find<Source = Lends> {
    Shards(move |_: &str| Some((Lends::new(bytes.clone(), most), bytes.len())))
}

#[test]
fn shards_that_are_lent_are_not_copied() {
    let (root, shard) = (read("dense.zt"), read("dense-s.zt"));
    let archive = Archive::from_bytes(&root).unwrap();
    for (most, copied) in [(usize::MAX, 0), (7, shard.len())] {
        let find = one(shard.clone(), most);
        let mut shards = archive.manifest().bind_shards(&find).unwrap();
        let before = shards.bound()[0].source().copies.count();
        shards.verify().unwrap();
        assert_eq!(shards.bound()[0].source().copies.count() - before, copied);
    }
}

/// If a source lends fewer bytes than requested, the bytes are copied instead.
#[test]
fn ranges_that_are_lent_in_part_are_copied() {
    let file = zten_testkit::read("v2/accept/dense.zt");
    let length = file.len() as u64;
    let open = |most| OpenOptions::default().open_source(Lends::new(file.clone(), most), length);
    let (whole, short) = (open(usize::MAX).unwrap(), open(7).unwrap());
    let [whole, short] = [&whole, &short].map(|archive| archive.tensor("w").unwrap());
    let view = whole.dense().unwrap().view().unwrap();
    assert_eq!(misuse(short.dense().unwrap().view().unwrap_err()), Misuse::NotInMemory);
    assert_eq!(*short.to_cow::<f32>().unwrap(), view.to_vec::<f32>().unwrap());
}

/// The error about a shard of an unknown version names the version, whichever call returns the error.
#[test]
fn errors_name_the_version_of_a_shard() {
    let path = corpus().join("v2/shards/unsupported-version--v2-shard.zt");
    let root = std::fs::read(&path).unwrap();
    let archive = Archive::from_bytes(&root).unwrap();
    let mut shards = archive.manifest().bind_shards(&sibling_shards(&path)).unwrap();
    let files = Files { root: archive.source(), shards: &shards };
    let component = archive.tensors().next().unwrap().components().next().unwrap();
    let read = component.read_from(&files).reader().unwrap_err();
    let verified = shards.verify().unwrap_err();
    assert_eq!(read, verified);
    assert!(verified.to_string().contains("unsupported major version 3"), "{verified}");
}

/// A digest of an unknown algorithm is reported before any byte is read.
#[test]
fn an_unknown_digest_is_reported_without_reading() {
    let bytes = read("dense-s.zt");
    let shard = fields([("size", uint(bytes.len() as u64)), ("digest", text("md5:00"))]);
    let file = zten_corpus::v2::full().set("shards", fields([("s", shard)])).bytes();
    let archive = Archive::from_bytes(&file).unwrap();
    let find = one(bytes, 0);
    let mut shards = archive.manifest().bind_shards(&find).unwrap();
    let before = shards.bound()[0].source().copies.count();
    let error = shards.verify().unwrap_err();
    assert_eq!(error.rule(), Some("unsupported-digest"));
    assert_eq!(shards.bound()[0].source().copies.count(), before);
}

#[test]
fn every_root_has_the_verdict_of_the_index() {
    let mut rules = BTreeSet::new();
    for row in sharded() {
        let file = row.path.display();
        let root = std::fs::read(&row.path).unwrap();
        let archive = Archive::from_bytes(&root).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(archive.len() == 1 && archive.manifest().shards().len() > 0, "{file}");
        let found = check(&row.path, &row.options).map_err(|error| Expected::from_error(&error));
        let found = found.err().map(|mut found| {
            // An error about a missing shard has no fixed offset, because either the table or the component may name the shard.
            if found.rule == "unsupported-shard" {
                (found.offset, found.object, found.component) =
                    row.expected.as_ref().map_or((None, None, None), |expected| {
                        (expected.offset, expected.object, expected.component)
                    });
            }
            found
        });
        assert_eq!(found, row.expected, "{file}");
        if let Some(near) = &row.neighbor {
            assert!(check(near, &OpenOptions::default()).is_ok(), "{file}");
        }
        rules.extend(row.expected.map(|expected| expected.rule));
    }
    for row in zten::rules::rows().filter(|row| row.id().contains("shard")) {
        let of_the_root = ["shard-name", "shard-type", "shards-type", "shard-reference"];
        let of_the_root = of_the_root.contains(&row.id())
            || ["data-shard", "shard-reference-type"].contains(&row.id())
            || row.id().starts_with("shard-size")
            || row.id().starts_with("shard-digest-");
        assert!(of_the_root || rules.contains(row.id()), "no file ends in {}", row.id());
    }
}

#[test]
fn a_missing_shard_does_not_affect_other_components() {
    let root = read("unsupported-shard--v2-missing.zt");
    let path = corpus().join("v2/shards/unsupported-shard--v2-missing.zt");
    let archive = Archive::from_bytes(&root).unwrap();
    let [shard] = archive.manifest().shards().collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((shard.name(), shard.size()), ("s", 4152));
    assert!(matches!(shard.digest(), Some(Digest::Xxh3(_))));
    let component = archive.tensor("w").unwrap().component("data").unwrap();
    assert_eq!((component.shard(), component.extent().range()), (Some("s"), 4096..4112));
    let unsupported = |error: Error| {
        assert_eq!((error.tensor(), error.component()), (Some("w"), Some("data")));
        assert_eq!(error.rule(), Some("unsupported-shard"));
    };
    unsupported(component.view().unwrap_err());
    unsupported(component.read().unwrap_err());
    let mut shards = archive.manifest().bind_shards(&sibling_shards(&path)).unwrap();
    assert!(shards.get("s").is_none() && shards.bound().is_empty());
    assert_eq!(shards.missing().map(|shard| shard.name()), Some("s"));
    let error = shards.verify().unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("unsupported-shard"), Some(shard.offset())));
    assert_eq!(&root[usize::try_from(shard.offset()).unwrap()..][..2], b"as");
}

/// Checks that a tensor of a manifest without its file has the same state (readable, opaque or unread) whether its data is in a
/// shard or in the file, also if its encoding or its logical type is unknown.
#[test]
fn the_state_does_not_depend_on_the_shard() {
    use zten_corpus::v2::{file, object, part};

    let shard = fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
    let state = |in_shard: bool, unknown: &[(&str, Item)]| {
        let tensor = object(&[4], "dense", vec![("data", part("u8", 4096, 4))]);
        let root = file(vec![("x", tensor)]).blob(4096, &[0; 4]);
        let mut root = unknown.iter().fold(root, |root, (key, value)| root.set(key, value.clone()));
        if in_shard {
            root =
                root.set("shards", fields([("s", shard.clone())])).set("x:data/shard", text("s"));
        }
        let file = root.bytes();
        Archive::from_bytes(&file).unwrap().manifest().tensor("x").unwrap().state()
    };
    let encoding = [("x:data/encoding", text("x/1")), ("x:data/decoded_length", uint(4))];
    let (logical, unread) =
        ([("x:data/type", text("x"))], |found| matches!(found, State::Unread(_)));
    for (unknown, is_unread) in [(&[][..], false), (&encoding, true), (&logical, true)] {
        let found = state(false, unknown);
        assert_eq!((unread(found), state(true, unknown)), (is_unread, found));
    }
}

#[test]
fn binding_reads_the_frame_and_nothing_else() {
    let path = corpus().join("v2/shards/not-recursive.zt");
    let root = std::fs::read(&path).unwrap();
    let archive = Archive::from_bytes(&root).unwrap();
    let mut shards = archive.manifest().bind_shards(&sibling_shards(&path)).unwrap();
    let shard = shards.get("s").unwrap();
    assert_eq!(shard.source().count(), 48);
    assert!(shards.get("t").is_none() && shards.get("").is_none());
    // `bind` makes a view of bytes of the shard that the caller has in memory. Without such bytes, a view is an error
    // while the shard is not verified.
    let tensor = archive.tensor("w").unwrap();
    let values = [1.0, -2.0, 0.5, 3.25];
    {
        let files = Files { root: archive.source(), shards: &shards };
        let data = tensor.read_from(&files).dense().unwrap();
        let blob = zten_testkit::slice(&shard.source().bytes, data.extent().range());
        let view = data.bind(blob).unwrap();
        assert!(view.elements::<f32>().unwrap().eq(values));
        assert_eq!(misuse(data.view().unwrap_err()), Misuse::UnverifiedShard);
        assert_eq!(shard.source().count(), 48);
    }
    shards.verify().unwrap();
    let files = Files { root: archive.source(), shards: &shards };
    let (tensor, shard) = (tensor.read_from(&files), shards.get("s").unwrap());
    assert_eq!(tensor.to_vec::<f32>().unwrap(), values);
    let before = shard.source().count();
    let rows = tensor.slice(1..3).unwrap();
    let mut bytes = [0; 8];
    rows.read(&mut bytes).unwrap();
    assert_eq!(bytes[4..], 0.5_f32.to_le_bytes());
    // The slice has 8 bytes, but the whole blob of 16 bytes is read and compared, because sums exist only for whole
    // blocks of up to 256 KiB.
    assert_eq!(shard.source().count() - before, 16);
    assert_eq!(misuse(tensor.dense().unwrap().view().unwrap_err()), Misuse::NotInMemory);
}

#[test]
fn components_are_read_from_their_own_shard_only() {
    let path = corpus().join("v2/shards/csr.zt");
    let root = std::fs::read(&path).unwrap();
    let archive = Archive::from_bytes(&root).unwrap();
    let readable = |tensor: &Tensor<'_>| {
        let components = tensor.components().filter(|component| component.read().is_ok());
        components.map(|component| component.role().to_owned()).collect::<Vec<_>>()
    };
    let tensor = archive.tensor("w").unwrap();
    assert_eq!(readable(&tensor), ["values"]);
    let all = sibling_shards(&path);
    for (only, role) in [("a", "indptr"), ("bb", "indices")] {
        let find = Shards(|name: &str| {
            let path = path.with_file_name(format!("csr-{name}.zt"));
            let bytes = (name == only).then(|| std::fs::read(path).unwrap())?;
            let length = bytes.len();
            Some((bytes, length))
        });
        let mut shards = archive.manifest().bind_shards(&find).unwrap();
        shards.verify_for(tensor.components()).unwrap();
        let files = Files { root: archive.source(), shards: &shards };
        let mut both = [role, "values"];
        both.sort_unstable_by_key(|role| tensor.component(role).unwrap().location().component());
        assert_eq!(readable(&tensor.read_from(&files)), both);
        for part in tensor.components().filter(|part| !both.contains(&part.role())) {
            let error = part.read_from(&files).read().unwrap_err();
            assert_eq!(error.rule(), Some("unsupported-shard"));
            assert_eq!((error.tensor(), error.component()), (Some("w"), Some(part.role())));
        }
    }
    let mut shards = archive.manifest().bind_shards(&all).unwrap();
    shards.verify().unwrap();
    let files = Files { root: archive.source(), shards: &shards };
    assert_eq!(readable(&tensor.read_from(&files)).len(), 3);
    // `others` are the shards of another file, whose name this object does not use.
    let path = corpus().join("v2/shards/dense.zt");
    let root = std::fs::read(&path).unwrap();
    let other = Archive::from_bytes(&root).unwrap();
    let mut others = other.manifest().bind_shards(&sibling_shards(&path)).unwrap();
    others.verify().unwrap();
    let files = Files { root: archive.source(), shards: &others };
    assert_eq!(readable(&tensor.read_from(&files)), ["values"]);
}

#[test]
fn no_more_shards_are_looked_for_than_the_limit_allows() {
    let path = corpus().join("v2/shards/limit-shards--v2-two.zt");
    let root = std::fs::read(&path).unwrap();
    for (most, asked) in [(0, 0), (1, 0), (2, 2), (3, 2)] {
        let limits = Limits::default().with_named("shards", most).unwrap();
        let options = OpenOptions::default().limits(limits);
        let archive = options.from_bytes(&root[..]).unwrap();
        let count = AtomicUsize::new(0);
        let finder = Shards(|_: &str| {
            count.fetch_add(1, Relaxed);
            None::<(InMemory<&[u8]>, usize)>
        });
        let bound = archive.manifest().bind_shards(&finder).map(drop);
        assert_eq!(bound.is_ok(), asked > 0, "{most}");
        assert_eq!(count.swap(0, Relaxed), asked, "{most}");
        assert_eq!(options.open(&path).map(drop), bound, "{most}");
        assert_eq!(archive.find_shards(&finder).map(drop), bound, "{most}");
        assert_eq!(count.load(Relaxed), asked, "{most}");
    }
}

/// Any change of one byte in a shard is an error, because the digest no longer matches. A shard that was cut is an error, too.
#[test]
fn every_changed_byte_of_a_shard_is_found() {
    let (root, mut shard) = (read("dense.zt"), read("dense-s.zt"));
    let archive = Archive::from_bytes(&root[..]).unwrap();
    let verify = |shard: &[u8]| {
        let find = Shards(|_: &str| Some((InMemory(shard), shard.len())));
        let owned = Archive::from_bytes(&root[..])?.find_shards(&find);
        let mut bound = archive.manifest().bind_shards(&find)?;
        let (owned, verified) = (owned?, bound.verify());
        // A later call returns the recorded result without reading the shard again.
        assert_eq!(bound.verify(), verified);
        assert_eq!(
            [owned.verify(), owned.verify()].map(|it| it.map(drop)),
            [verified, bound.verify()]
        );
        bound.verify()
    };
    assert!(verify(&shard).is_ok());
    for at in (0..shard.len()).step_by(if cfg!(miri) { 997 } else { 1 }) {
        shard[at] ^= 0x10;
        assert!(verify(&shard).is_err(), "{at}");
        shard[at] ^= 0x10;
        assert!(verify(&shard[..at]).is_err(), "{at}");
    }
}

/// A part without its own digest is not handed out before the digest of its shard has been compared. A shard that was verified
/// once is not read again to verify it.
#[test]
fn a_part_without_a_digest_waits_for_its_shard() {
    let (root, shard) = (read("dense.zt"), read("dense-s.zt"));
    let archive = Archive::from_bytes(&root).unwrap();
    let find = one(shard, 0);
    let mut shards = archive.manifest().bind_shards(&find).unwrap();
    let part = archive.tensor("w").unwrap().component("data").unwrap();
    let own = Lends { copies: Counted::default(), most: 0 };
    let read = |shards: &_| {
        let files = Files { root: &own, shards };
        part.tensor().read_from(&files).to_vec::<f32>()
    };
    let error = read(&shards).unwrap_err();
    assert_eq!((error.tensor(), error.component()), (Some("w"), Some("data")));
    assert_eq!(misuse(error), Misuse::UnverifiedShard);
    assert!(shards.bound()[0].verified().is_none());
    shards.verify_for([part]).unwrap();
    assert_eq!(read(&shards), Ok(vec![1.0, -2.0, 0.5, 3.25]));
    // A verified shard is not read a second time, neither here nor by another reader.
    let source = || &shards.bound()[0];
    let count = source().source().copies.count();
    let mut again = archive.manifest().bind_shards(&find).unwrap();
    let before = again.bound()[0].source().copies.count();
    again.bound_mut()[0].set_verified(source().verified().unwrap());
    again.verify().unwrap();
    assert_eq!(again.bound()[0].source().copies.count(), before);
    assert!(count > before);
}

/// Components without a digest are not read from a shard that is damaged or whose reading failed.
#[test]
fn a_shard_that_failed_is_not_read() {
    /// A source that fails when byte 4,100 is read, until the flag is set.
    struct Fails<'d>(&'d [u8], &'d AtomicBool);

    impl ReadAt for Fails<'_> {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
            if !self.1.load(Relaxed) && (offset..offset + buffer.len() as u64).contains(&4100) {
                return Err(Misuse::Supply.into());
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
    let archive = Archive::from_bytes(&root).unwrap();
    let part = archive.tensor("w").unwrap().component("data").unwrap();
    let is_mended = AtomicBool::new(false);
    let own = Fails(&root, &is_mended);
    let outcome = |shards: &_| {
        let files = Files { root: &own, shards };
        let part: Component<'_> = part.read_from(&files);
        let read = part.read().map(drop).map_err(|error| error.kind());
        let loaded = Loader::new(archive.manifest()).read([part]);
        assert_eq!(loaded.map(drop).map_err(|error| error.kind()), read);
        read
    };
    let unverified = ErrorKind::Misuse(Misuse::UnverifiedShard);
    let find = given(&shard, &is_mended);
    let mut shards = archive.manifest().bind_shards(&find).unwrap();
    assert!(shards.verify_for([part]).is_err() && shards.verify().is_err());
    assert_eq!(outcome(&shards), Err(unverified));
    is_mended.store(true, Relaxed);
    shards.verify().unwrap();
    assert_eq!(outcome(&shards), Ok(()));
    let find = given(&damaged, &is_mended);
    for whole in [false, true] {
        let mut shards = archive.manifest().bind_shards(&find).unwrap();
        assert_eq!(outcome(&shards), Err(unverified));
        let verified = if whole { shards.verify() } else { shards.verify_for([part]) };
        let error = verified.unwrap_err();
        assert_eq!(error.rule(), Some("shard-digest"));
        assert_eq!(outcome(&shards), Err(error.kind()));
    }

    // The same for an archive that owns its shards: a failed read is repeated, and a wrong digest is remembered.
    let open = |shard| {
        let archive =
            OpenOptions::default().open_source(Fails(&root, &is_mended), root.len() as u64);
        archive.unwrap().find_shards(&given(shard, &is_mended)).unwrap()
    };
    let read = |archive: &Archive<_>| {
        let read = archive.tensor("w").unwrap().to_vec::<f32>().map(drop);
        read.map_err(|error| error.kind())
    };
    let archive = open(&shard);
    is_mended.store(false, Relaxed);
    assert_eq!(read(&archive), Err(Misuse::Supply.into()));
    assert_eq!(archive.verify().unwrap_err().kind(), Misuse::Supply);
    is_mended.store(true, Relaxed);
    assert_eq!(read(&archive), Ok(()));
    assert!(archive.verify().is_ok());
    let archive = open(&damaged);
    for _ in 0..2 {
        let error = archive.verify().unwrap_err();
        assert_eq!(error.rule(), Some("shard-digest"));
        assert_eq!(read(&archive), Err(error.kind()));
    }
}

/// The bytes of small frames and of their seek table are read only a few times each, although blocks of 256 KiB are compared.
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
    let archive = Archive::from_bytes(&root).unwrap();
    let find = one(shard, 0);
    let mut shards = archive.manifest().bind_shards(&find).unwrap();
    shards.verify().unwrap();
    let read = || shards.bound()[0].source().copies.count();
    let before = read();
    let files = Files { root: archive.source(), shards: &shards };
    let mut verifier = Verifier::new(archive.manifest()).with_shard_bytes(1 << 30);
    verifier.object(&archive.tensor("w").unwrap().read_from(&files), |_, _| ()).unwrap();
    let read = read() - before;
    assert!(blob.len() > 1 << 20 && read < 5 * blob.len(), "{read} of {}", blob.len());
}

/// A blob of a shard counts against the limit once for each component that shares it.
#[test]
fn shared_blobs_of_a_shard_count_as_often_as_they_are_read() {
    use zten_corpus::cbor::{fields, text, uint};
    use zten_corpus::v2::{file, object, part};

    // `a`, `c` and `d` are the same blob of the shard `s`, and so have 12,000 bytes together. `b` is in the shard `t`,
    // and is counted separately.
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
        OpenOptions::default().limits(limits).from_bytes(&root).map(drop)
    };
    assert_eq!(open(12_000), Ok(()));
    let rejected = open(11_999).unwrap_err();
    assert_eq!(
        (rejected.rule(), rejected.location().object()),
        (Some("limit-decoded-total"), Some(3))
    );
}

/// The limit is checked for the components of a shard in the order of the manifest, across objects, so the first component beyond
/// the limit is named.
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
    // For components that share blobs, the limit is at least the number of bytes of the shard before its footer, 8,152.
    // The third component exceeds it.
    let options = OpenOptions::default().limits(Limits::default().with_decoded_total(0));
    let rejected = options.from_bytes(&root).unwrap_err();
    let place = (rejected.location().object(), rejected.location().component());
    assert_eq!((rejected.rule(), place), (Some("limit-decoded-total"), (Some(1), Some(0))));
}
