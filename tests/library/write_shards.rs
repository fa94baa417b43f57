//! Tests of files of generation 2 that are written with shards: they have the same content as one file with the same objects, and
//! invalid shards are rejected before a file is complete. v2 §7.

mod failing;
mod invalid;

use sha2::Digest as _;
use zten::error::Misuse;
use zten::shards::{Files, Find};
use zten::verify::DigestAlgorithm;
use zten::verify::{Subject, check};
use zten::write::{
    Checksum, Copier, Encoded, Level, NewComponent, NewObject, ShardRecord, ShardWriter,
    StoredBlob, WriteOptions, Writer,
};
use zten::{Archive, Component, DType, Digest, Encoding, Error, Generation, InMemory, Limits};
use zten_corpus::base::{ramp, words};
use zten_testkit::sample::least;
use zten_testkit::{Accepted, Shards, accepted_v2, misuse};

fn settings() -> WriteOptions {
    WriteOptions::default().generation(Generation::V2)
}

/// Returns a finder of shards by their names in `files`.
fn given<'d>(files: &'d [(&'d str, Vec<u8>)]) -> impl Find<Source = InMemory<&'d [u8]>> {
    Shards(move |name: &str| {
        let found = files.iter().find(|(own, _)| *own == name);
        found.map(|(_, file)| (InMemory(&file[..]), file.len()))
    })
}

/// Returns the total length of all shards in bytes.
fn all_bytes(shards: &[(&str, Vec<u8>)]) -> u64 {
    shards.iter().map(|(_, file)| file.len() as u64).sum()
}

/// Verifies a root and its shards, both with an archive that owns the shards and with one that does not.
fn verify(root: &[u8], shards: &[(&str, Vec<u8>)]) -> Result<u64, Error> {
    let archive = Archive::from_bytes(root)?;
    let mut bound = archive.manifest().bind_shards(&given(shards))?;
    let _ = bound.verify();
    let files = Files { root: archive.source(), shards: &bound };
    let found = check(Subject::with_shards(archive.manifest(), &files), &mut ()).into_result();
    let owned = Archive::from_bytes(root)?.find_shards(&given(shards))?.verify();
    assert_eq!(owned, found);
    Ok(found?.components())
}

/// Copies the content of a root and its shards into one file, and returns the file.
fn joined(root: &[u8], shards: &[(&str, Vec<u8>)], settings: &WriteOptions) -> Vec<u8> {
    let archive = Archive::from_bytes(root).unwrap();
    let mut bound = archive.manifest().bind_shards(&given(shards)).unwrap();
    bound.verify().unwrap();
    let files = Files { root: archive.source(), shards: &bound };
    let copier = || Copier::new(archive.manifest()).with_shard_bytes(all_bytes(shards));
    let joined = copier().file(archive.manifest(), &files, Vec::new(), settings).unwrap();
    let owned = Archive::from_bytes(root).unwrap().find_shards(&given(shards)).unwrap();
    let again = copier().file(owned.manifest(), &owned, Vec::new(), settings).unwrap();
    assert!(again == joined);
    joined
}

/// Calls `write` for objects of several kinds with their parts, in another order than that of the manifest.
fn each(write: &mut impl FnMut(&NewObject<'_>, &[(&str, &[u8])])) {
    let data = ramp(100_000);
    write(&NewObject::dense("zz", &[25_000], DType::F32), &[("data", &data)]);
    write(&NewObject::dense("bools", &[3], DType::Bool), &[("data", &[0, 1, 1])]);
    write(&NewObject::dense("same", &[100_000], DType::U8), &[("data", &data)]);
    write(&NewObject::dense("empty", &[0, 4], DType::F64), &[]);
    let (indptr, indices) = (words(&[0, 2, 2, 3]), words(&[0, 2, 1]));
    let parts: [(&str, &[u8]); 3] =
        [("indptr", &indptr), ("values", &[1, 2, 3]), ("indices", &indices)];
    write(&NewObject::sparse_csr("csr", &[3, 3], DType::U8, 3), &parts);
    let frames = NewObject::dense("frames", &[100_000], DType::F8E4M3Fn);
    write(&frames.compressed(Level::new(2).unwrap()), &[("data", &data)]);
    let attributes = Encoded::mx(4, Some(1)).unwrap();
    let mx = NewObject::mx("mx", &[2, 4], DType::F4E2M1, 4).attributes(&attributes);
    write(&mx, &[("data", &[0x21, 0x43, 0x65, 0x07]), ("scales", &[127, 128])]);
    write(&NewObject::dense("scalar", &[], DType::U8), &[("data", &[7])]);
}

fn write_unsharded(settings: &WriteOptions) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), settings).unwrap();
    each(&mut |object, parts| writer.add_object(object, parts).unwrap());
    writer.finish().unwrap()
}

/// Writes the objects of [`each`] to the root and to two shards in turn, while both shards are open. Returns the root
/// and the shards.
fn sharded(settings: &WriteOptions) -> (Vec<u8>, [(&'static str, Vec<u8>); 2]) {
    let mut writer = Writer::new(Vec::new(), settings).unwrap();
    let names = ["b-2", "A_1.x"];
    let mut open = names.map(|name| (name, ShardWriter::new(Vec::new(), settings).unwrap()));
    let mut turn = [None, Some(0), Some(1)].into_iter().cycle();
    each(&mut |object, parts| {
        let shard = turn.next().unwrap().map(|at| &mut open[at]);
        add(&mut writer, shard, object, parts);
    });
    let shards = open.map(|shard| end(&mut writer, shard));
    (writer.finish().unwrap(), shards)
}

type OpenShard = (&'static str, ShardWriter<Vec<u8>>);

/// Ends a shard, adds it to the table of the root, and returns its name and its bytes.
fn end(writer: &mut Writer<Vec<u8>>, (name, shard): OpenShard) -> (&'static str, Vec<u8>) {
    let (file, record) = shard.finish().unwrap();
    writer.shard(name, &record).unwrap();
    (name, file)
}

fn add(
    writer: &mut Writer<Vec<u8>>,
    shard: Option<&mut OpenShard>,
    object: &NewObject<'_>,
    parts: &[(&str, &[u8])],
) {
    let Some(open) = shard else { return writer.add_object(object, parts).unwrap() };
    let (name, shard) = open;
    let mut out = writer.object_in(name, shard, object).unwrap();
    for (role, bytes) in parts {
        for piece in bytes.chunks(777) {
            out.write_part(role, piece).unwrap();
        }
    }
    out.finish().unwrap();
}

#[test]
fn a_root_with_shards_has_the_content_of_one_file() {
    for settings in [
        settings(),
        settings().checksum(Checksum::Sha256),
        settings().checksum(Checksum::None),
        settings().alignment(1 << 16),
        settings().sharing(),
    ] {
        let one = write_unsharded(&settings);
        let (root, shards) = sharded(&settings);
        assert_eq!(verify(&root, &shards).unwrap(), verify(&one, &[]).unwrap());
        let archive = Archive::from_bytes(&root).unwrap();
        let listed: Vec<_> = archive.manifest().shards().map(|shard| shard.name()).collect();
        assert_eq!(listed, ["b-2", "A_1.x"], "shorter names are first");
        let in_shards = archive.tensors().flat_map(|object| object.components());
        assert_eq!(in_shards.filter(|component| component.shard().is_some()).count(), 7);
        let content = |file: &[u8]| {
            Archive::from_bytes(file).unwrap().manifest().content_digest(DigestAlgorithm::Xxh3).ok()
        };
        assert_eq!(content(&root), content(&one));
        for canonical in [settings, settings.canonical()] {
            let copy = zten_testkit::copy(&one, &canonical).unwrap();
            assert_eq!(joined(&root, &shards, &canonical), copy);
        }
        for (_, file) in &shards {
            let shard = Archive::from_bytes(file).unwrap();
            assert!(shard.manifest().is_data_shard() && shard.is_empty());
        }
    }
}

/// The digest of a blob follows the settings of its shard, not those of the root.
#[test]
fn a_shard_has_its_own_digests() {
    let checksums = [Checksum::None, Checksum::Sha256, Checksum::Xxh3];
    for (of_root, of_shard) in checksums.iter().flat_map(|a| checksums.map(|b| (*a, b))) {
        let mut writer = Writer::new(Vec::new(), &settings().checksum(of_root)).unwrap();
        let shard = ShardWriter::new(Vec::new(), &settings().checksum(of_shard)).unwrap();
        let (mut shard, object) = (("s", shard), NewObject::dense("w", &[3], DType::U8));
        add(&mut writer, Some(&mut shard), &object, &[("data", &[1, 2, 3])]);
        let shard = end(&mut writer, shard);
        let root = writer.finish().unwrap();
        assert_eq!(verify(&root, &[shard]), Ok(1));
        let archive = Archive::from_bytes(&root).unwrap();
        let digest = archive.tensor("w").unwrap().component("data").unwrap().digest();
        let wanted = match of_shard {
            Checksum::None => None,
            Checksum::Sha256 => Some("sha256"),
            _ => Some("xxh3"),
        };
        assert_eq!(digest.as_ref().map(Digest::algorithm), wanted, "{of_root:?}");
    }
}

/// Copies every accepted file of generation 2 that can be copied into a root and two shards, one object after another in each of
/// them, and compares the content. The other files cannot be copied into one file, either.
#[test]
fn every_file_of_the_corpus_survives_a_copy_into_shards() {
    let mut count = 0;
    for Accepted { name, bytes: file, .. } in accepted_v2() {
        let archive = Archive::from_bytes(&file).unwrap();
        let settings = settings();
        let mut copier = Copier::new(archive.manifest());
        let mut writer = Writer::new(Vec::new(), &settings).unwrap();
        let begin = |name| (name, ShardWriter::new(Vec::new(), &settings).unwrap());
        let mut open = ["s", "t"].map(begin);
        let mut turn = [Some(0), Some(1), None].into_iter().cycle();
        let all = archive.tensors().try_for_each(|object| {
            let shard = turn.next().unwrap().map(|at| &mut open[at]);
            let shard = shard.map(|(name, shard)| (*name, shard));
            copier.object(&object, &mut writer, shard)
        });
        let one = zten_testkit::copy(&file, &settings);
        assert_eq!(all.is_ok(), one.is_ok(), "{name}");
        let Ok(one) = one else { continue };
        let shards = open.map(|shard| end(&mut writer, shard));
        let root = writer.finish().unwrap();
        let outcome = |verified: Result<u64, Error>| verified.map_err(rule);
        assert_eq!(outcome(verify(&root, &shards)), outcome(verify(&one, &[])), "{name}");
        let content = |file| {
            Archive::from_bytes(file).unwrap().manifest().content_digest(DigestAlgorithm::Xxh3)
        };
        assert_eq!(content(&root[..]).ok(), content(&one[..]).ok(), "{name}");
        count += 1;
    }
    assert!(count >= least(50), "{count}");
}

#[test]
fn damage_in_written_shards_is_found() {
    let (root, mut shards) = sharded(&settings());
    let last = shards[0].1.len() - 1;
    for at in [8, 4096, 20_000, last] {
        shards[0].1[at] ^= 1;
        assert!(verify(&root, &shards).is_err(), "{at}");
        shards[0].1[at] ^= 1;
    }
    assert!(verify(&root, &shards[1..]).is_err());
    shards.swap(0, 1);
    assert!(verify(&root, &shards).is_ok());
}

/// A shard that is written alone has the same bytes as the shard in the corpus, whose generator does not use this library, except
/// that its footer begins at a multiple of 4,096.
#[test]
fn a_shard_written_alone_equals_that_of_the_corpus() {
    let wanted = zten_testkit::read("v2/shards/dense-s.zt");
    let mut shard = ShardWriter::new(Vec::new(), &settings()).unwrap();
    shard.write(&wanted[4096..4100]).unwrap();
    shard.write(&wanted[4100..4112]).unwrap();
    let blob = shard.end_blob().unwrap();
    let empty = shard.end_blob().unwrap();
    let (file, record) = shard.finish().unwrap();
    assert_eq!((file.len(), record.size), (8192 + 40, 8192 + 40));
    assert_eq!((&file[..4112], &file[8192..]), (&wanted[..4112], &wanted[4112..]));
    assert!(file[4112..8192].iter().all(|byte| *byte == 0));
    assert_eq!((blob.offset, blob.length, blob.compressed), (4096, 16, false));
    assert_eq!((empty.offset, empty.length), (8192, 0));
    assert!(matches!(blob.digest, Some(Digest::Xxh3(_))));

    // The root refers to both shards, and also to the file of the corpus under another name.
    let root = zten_testkit::read("v2/shards/dense.zt");
    let theirs = Archive::from_bytes(&root).unwrap().manifest().shards().next().map(|shard| {
        let Some(Digest::Xxh3(sum)) = shard.digest() else { panic!("another digest") };
        ShardRecord { size: shard.size(), digest: Digest::Xxh3(sum) }
    });
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    writer.shard("ours", &record).unwrap();
    writer.shard("s", &theirs.unwrap()).unwrap();
    for (name, shard, blob, count) in
        [("a", "ours", blob, 4), ("b", "s", blob, 4), ("c", "ours", empty, 0), ("d", "s", blob, 4)]
    {
        let blob = blob.in_shard(shard);
        let data = [NewComponent::new("data", DType::F32, count).stored(&blob)];
        writer.add_object(&NewObject::custom(name, &[count], "dense", &data), &[]).unwrap();
    }
    let root = writer.finish().unwrap();
    assert_eq!(verify(&root, &[("ours", file), ("s", wanted)]), Ok(4));
}

/// Returns the blob of a component, as the manifest describes it.
fn stored(component: &Component<'_>) -> StoredBlob {
    let digest = component.digest().map(|digest| match digest {
        Digest::Xxh3(sum) => Digest::Xxh3(sum),
        other => panic!("{other}"),
    });
    let (extent, compressed) = (component.extent(), component.encoding() != Encoding::Raw);
    StoredBlob { offset: extent.offset(), length: extent.length(), compressed, digest }
}

/// Every complete file of generation 2 can be a shard, although it has its own manifest. Its blobs may be in frames.
#[test]
fn any_file_of_generation_2_may_be_a_shard() {
    let one = write_unsharded(&settings());
    let archive = Archive::from_bytes(&one).unwrap();
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    let digest = Digest::Sha256(sha2::Sha256::digest(&one).into());
    writer.shard("all", &ShardRecord { size: one.len() as u64, digest }).unwrap();
    let mx = Encoded::mx(4, Some(1)).unwrap();
    for object in archive.tensors() {
        let components = || object.components();
        let blobs: Vec<_> = components().map(|part| stored(&part)).collect();
        let blobs: Vec<_> = blobs.iter().map(|blob| blob.in_shard("all")).collect();
        let parts = components().zip(&blobs).map(|(part, blob)| {
            let bytes = part.decoded_length().unwrap();
            NewComponent::of_bytes(part.role(), part.element_type(), bytes).stored(blob)
        });
        let (parts, shape): (Vec<_>, Vec<_>) = (parts.collect(), object.shape().to_vec());
        let new = NewObject::custom(object.name(), &shape, object.layout_name(), &parts);
        let new = if object.has_attributes() { new.attributes(&mx) } else { new };
        writer.add_object(&new, &[]).unwrap();
    }
    let root = writer.finish().unwrap();
    assert!(root.len() < 8192, "it holds no data");
    let shards = [("all", one.clone())];
    assert_eq!(verify(&root, &shards), verify(&one, &[]));
    let content =
        |file| Archive::from_bytes(file).unwrap().manifest().content_digest(DigestAlgorithm::Xxh3);
    assert_eq!(content(&root[..]).unwrap(), content(&one[..]).unwrap());
}

#[expect(clippy::needless_pass_by_value, reason = "errors are mapped to it")]
fn rule(error: Error) -> Option<&'static str> {
    error.rule()
}

const DIGEST: Digest<'static> = Digest::Xxh3(7);
const RECORD: ShardRecord = ShardRecord { size: 1 << 20, digest: DIGEST };
const BLOB: StoredBlob = StoredBlob { offset: 4096, length: 4, compressed: false, digest: None };

#[test]
fn an_object_may_have_components_in_several_files() {
    let mut shard = ShardWriter::new(Vec::new(), &settings()).unwrap();
    shard.write(&words(&[2, 0])).unwrap();
    let indices = shard.end_blob().unwrap();
    let (file, record) = shard.finish().unwrap();
    let blob = indices.in_shard("s");
    let parts = |blob| {
        [
            NewComponent::new("indptr", DType::U64, 3),
            NewComponent::new("values", DType::U8, 2),
            NewComponent::new("indices", DType::U64, 2).stored(blob),
        ]
    };
    for (indptr, content, written) in [
        ([0, 1, 2], Ok(1), None),
        // This row is not sorted, which only a reader of both components can see, so the writer accepts it.
        ([0, 2, 2], Err("csr-index-order"), None),
        ([0, 3, 2], Ok(0), Some("csr-indptr-order")),
    ] {
        let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
        writer.shard("s", &record).unwrap();
        let parts = parts(&blob);
        let object = NewObject::custom("w", &[2, 3], "zt.sparse_csr/1", &parts);
        let indptr = words(&indptr);
        let added = writer.add_object(&object, &[("indptr", &indptr), ("values", &[1, 2])]);
        assert_eq!(added.err().and_then(rule), written);
        if written.is_none() {
            let root = writer.finish().unwrap();
            let found = verify(&root, &[("s", file.clone())]);
            assert_eq!(found.map(|_| 1).map_err(|error| error.rule().unwrap()), content);
        }
    }
}

#[test]
fn shards_are_appended_to_a_root() {
    let (root, [one, other]) = sharded(&settings());
    let archive = Archive::from_bytes(&root).unwrap();
    let mut writer = Writer::append(root.clone(), archive.manifest(), &settings()).unwrap();
    let mut shard = ("c", ShardWriter::new(Vec::new(), &settings()).unwrap());
    let object = NewObject::dense("appended", &[3], DType::U8);
    add(&mut writer, Some(&mut shard), &object, &[("data", &[1, 2, 3])]);
    // A root can also refer to blobs of a shard that an earlier writer listed.
    let part = archive.tensor("bools").unwrap().component("data").unwrap();
    let blob = stored(&part);
    let blob = blob.in_shard(part.shard().unwrap());
    let data = [NewComponent::new("data", DType::Bool, 3).stored(&blob)];
    writer.add_object(&NewObject::custom("again", &[3], "dense", &data), &[]).unwrap();
    let new = end(&mut writer, shard);
    let file = writer.finish().unwrap();
    assert_eq!(file[..root.len()], root);
    let names: Vec<_> = Archive::from_bytes(&file)
        .unwrap()
        .manifest()
        .shards()
        .map(|s| s.name().to_owned())
        .collect();
    assert_eq!(names, ["c", "b-2", "A_1.x"]);
    let before = verify(&root, &[one.clone(), other.clone()]).unwrap();
    // The same shard cannot be listed twice.
    let mut twice = Writer::append(root.clone(), archive.manifest(), &settings()).unwrap();
    twice.shard("b-2", &RECORD).unwrap();
    assert_eq!(rule(twice.finish().unwrap_err()), Some("duplicate-key"));
    assert_eq!(verify(&file, &[one, other, new]), Ok(before + 2));
}

/// Each of 10,000 small tensors gets an aligned offset, with at most 4 KiB of padding.
#[test]
fn padding_of_small_tensors_is_bounded() {
    const COUNT: usize = 10_000;
    let blob = |at: usize| ramp(at % 300);
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    let mut data = 0;
    for at in 0..COUNT {
        let bytes = blob(at);
        data += bytes.len();
        let name = format!("layer.{at}.bias");
        writer.add(&name, &[bytes.len() as u64], &bytes).unwrap();
    }
    let file = writer.finish().unwrap();
    let manifest = Archive::from_bytes(&file).unwrap().manifest().extent();
    let manifest = usize::try_from(manifest.end - manifest.start).unwrap();
    let padding = file.len() - manifest - data - 8 - 40;
    assert!(padding <= COUNT * 4096, "{padding}");
    // Empty tensors take no bytes, and equal tensors may share a blob.
    assert!(padding < (COUNT - COUNT / 300 + 2) * 4096, "{padding}");
    let mut writer = Writer::new(Vec::new(), &settings().sharing()).unwrap();
    for at in 0..COUNT {
        let (name, bytes) = (format!("layer.{at}.bias"), blob(at));
        writer.add(&name, &[bytes.len() as u64], &bytes).unwrap();
    }
    assert!(writer.finish().unwrap().len() - manifest < 301 * 4096 + (1 << 12));
}
