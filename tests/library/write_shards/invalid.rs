//! Tests of shards that are rejected before a file is complete.

use super::*;

#[test]
fn other_files_have_no_shards() {
    for settings in
        [WriteOptions::default(), WriteOptions::default().canonical(), settings().canonical()]
    {
        let mut writer = Writer::new(Vec::new(), &settings).unwrap();
        assert_eq!(misuse(writer.shard("s", &RECORD).unwrap_err()), Misuse::NoShards);
        let mut shard = ShardWriter::new(Vec::new(), &self::settings()).unwrap();
        let object = NewObject::dense("w", &[4], DType::U8);
        let begun = writer.object_in("s", &mut shard, &object).map(drop);
        assert_eq!(misuse(begun.unwrap_err()), Misuse::NoShards);
        let alone = ShardWriter::new(Vec::new(), &settings);
        assert_eq!(misuse(alone.unwrap_err()), Misuse::NoShards);
        let blob = BLOB.in_shard("s");
        let data = [NewComponent::new("data", DType::U8, 4).stored(&blob)];
        let object = NewObject::custom("w", &[4], "dense", &data);
        assert_eq!(misuse(writer.add_object(&object, &[]).unwrap_err()), Misuse::NoShards);
        // The rejected call left no trace in the file.
        let file = writer.finish().unwrap();
        assert_eq!(Archive::from_bytes(&file).unwrap().len(), 0);
    }
    let wrong = settings().checksum(Checksum::Crc32c);
    assert_eq!(misuse(ShardWriter::new(Vec::new(), &wrong).unwrap_err()), Misuse::Settings);
}

#[test]
fn names_of_shards_are_unique_and_accepted_by_readers() {
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    let long = "s".repeat(65);
    for name in ["", ".", ".a", "a/b", "..", "a b", "\u{e4}", "a\0", &long] {
        assert_eq!(rule(writer.shard(name, &RECORD).unwrap_err()), Some("shard-name"), "{name:?}");
    }
    let names = ["a", "-", "A..z_09", &long[1..]];
    for name in names {
        writer.shard(name, &RECORD).unwrap();
    }
    let file = writer.finish().unwrap();
    assert_eq!(Archive::from_bytes(&file).unwrap().manifest().shards().len(), 4);
    for name in names {
        let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
        for name in [name, "b", name] {
            writer.shard(name, &RECORD).unwrap();
        }
        assert_eq!(rule(writer.finish().unwrap_err()), Some("duplicate-key"), "{name}");
    }
}

#[test]
fn sizes_and_digests_that_readers_reject_are_errors() {
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    let mut rejected = |record: &ShardRecord| rule(writer.shard("s", record).unwrap_err());
    assert_eq!(rejected(&ShardRecord { size: 47, digest: DIGEST }), Some("shard-size"));
    for digest in [Digest::Crc32c(7), Digest::Unverifiable("blake3:00")] {
        assert_eq!(rejected(&ShardRecord { size: 48, digest }), Some("digest-form"), "{digest}");
    }
    writer.shard("s", &ShardRecord { size: 48, digest: Digest::Sha256([7; 32]) }).unwrap();
    let file = writer.finish().unwrap();
    assert_eq!(
        Archive::from_bytes(&file).unwrap().manifest().shards().next().map(|shard| shard.size()),
        Some(48)
    );
}

#[test]
fn unfinished_objects_and_blobs_are_errors() {
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    let mut shard = ShardWriter::new(Vec::new(), &settings()).unwrap();
    let object = NewObject::dense("w", &[1], DType::U8);
    drop(writer.object_in("s", &mut shard, &object).unwrap());
    let again = writer.object_in("s", &mut shard, &object).map(drop);
    assert_eq!(misuse(again.unwrap_err()), Misuse::Unfinished);
    assert_eq!(misuse(writer.finish().unwrap_err()), Misuse::Unfinished);

    // A shard that a component refers to must be listed before the root is finished.
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    let mut shard = ShardWriter::new(Vec::new(), &settings()).unwrap();
    let mut out = writer.object_in("s", &mut shard, &object).unwrap();
    out.write_part("data", &[1]).unwrap();
    out.finish().unwrap();
    let rejected = writer.finish().unwrap_err();
    assert_eq!((rejected.location().object(), rejected.location().component()), (Some(0), Some(0)));
    assert_eq!((rejected.tensor(), rejected.component()), (Some("w"), Some("data")));
    assert_eq!(rule(rejected), Some("shard-reference"));

    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    shard.write(&[1]).unwrap();
    let within = writer.object_in("s", &mut shard, &object).map(drop);
    assert_eq!(misuse(within.unwrap_err()), Misuse::Unfinished);
    let mut shard = ShardWriter::new(Vec::new(), &settings()).unwrap();
    shard.write(&[1]).unwrap();
    assert_eq!(misuse(shard.finish().unwrap_err()), Misuse::Unfinished);
}

#[test]
fn offsets_of_blobs_that_readers_reject_are_errors() {
    let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
    writer.shard("s", &ShardRecord { size: 8192 + 40, digest: DIGEST }).unwrap();
    let mut declare = |name: &str, shard: &str, blob: StoredBlob, bytes: u64| {
        let blob = blob.in_shard(shard);
        let data = [NewComponent::of_bytes("data", DType::U8, bytes).stored(&blob)];
        let object = NewObject::custom(name, &[4], "dense", &data);
        writer.add_object(&object, &[])
    };
    for (offset, length, wanted) in
        [(0, 4, "blob-header"), (4097, 4, "blob-alignment"), (u64::MAX - 4095, 4096, "blob-bounds")]
    {
        let blob = StoredBlob { offset, length, ..BLOB };
        let rejected = declare("w", "s", blob, length).unwrap_err();
        assert_eq!(
            (rejected.rule(), rejected.location().component()),
            (Some(wanted), Some(0)),
            "{offset}"
        );
    }
    let blob = StoredBlob { length: 5, ..BLOB };
    assert_eq!(misuse(declare("w", "s", blob, 4).unwrap_err()), Misuse::Length);
    assert_eq!(declare("w", "s", blob, 5).unwrap_err().rule(), Some("dense-size"));
    let digest = Some(Digest::Crc32c(1));
    let blob = StoredBlob { digest, ..BLOB };
    assert_eq!(declare("w", "s", blob, 4).unwrap_err().rule(), Some("digest-form"));
    let frames = StoredBlob { compressed: true, ..BLOB };
    assert_eq!(declare("w", "s", frames, 5 << 30).unwrap_err().rule(), Some("limit-decoded"));
    // Equal ranges are one blob. Only a reader of the whole manifest finds ranges that overlap.
    for (name, blob) in [("a", BLOB), ("b", BLOB), ("c", frames)] {
        declare(name, "s", blob, 4).unwrap();
    }
    declare("d", "s", StoredBlob { length: 17, compressed: true, ..BLOB }, 4).unwrap();
    assert_eq!(rule(writer.finish().unwrap_err()), Some("blob-overlap"));
}

/// The length of a shard may become known only after its blobs.
#[test]
fn blobs_lie_within_their_shards() {
    for offset in [8192, 1 << 63] {
        let mut writer = Writer::new(Vec::new(), &settings()).unwrap();
        let blob = StoredBlob { offset, ..BLOB };
        let blob = blob.in_shard("s");
        let data = [NewComponent::new("data", DType::U8, 4).stored(&blob)];
        writer.add_object(&NewObject::custom("w", &[4], "dense", &data), &[]).unwrap();
        writer.shard("s", &ShardRecord { size: 8192 + 40, digest: DIGEST }).unwrap();
        assert_eq!(rule(writer.finish().unwrap_err()), Some("blob-bounds"), "{offset}");
    }
}

#[test]
fn limits_apply_to_roots_and_shards() {
    let finish = |limits: Limits, names: &[&str]| {
        let mut writer = Writer::new(Vec::new(), &settings().limits(limits)).unwrap();
        for name in names {
            writer.shard(name, &RECORD).unwrap();
        }
        writer
            .finish()
            .map(|file| Archive::from_bytes(&file).unwrap().manifest().shards().len())
            .map_err(rule)
    };
    let limits = Limits::default().with_shards(2).with_manifest(250);
    assert_eq!(finish(limits, &["a", "b"]), Ok(2));
    assert_eq!(finish(limits, &["a", "b", "c"]), Err(Some("limit-shards")));
    let limits = Limits::default().with_manifest(100);
    assert_eq!(finish(limits, &["a"]), Ok(1));
    assert_eq!(finish(limits, &["a", "b", "c"]), Err(Some("limit-manifest")));
}

/// The limit on the decoded bytes of compressed components grows with the bytes of a file and its shards.
#[test]
fn bytes_of_shards_raise_the_limit_on_decoded_bytes() {
    let most = Limits::default().decoded_total(0) + (1 << 30);
    let frames = StoredBlob { compressed: true, length: 17, ..BLOB };
    let limits = Limits::default().with_decoded(u64::MAX);
    for (size, fits) in [(1 << 20, false), (1 << 40, true)] {
        let mut writer = Writer::new(Vec::new(), &settings().limits(limits)).unwrap();
        writer.shard("s", &ShardRecord { size, digest: DIGEST }).unwrap();
        let blob = frames.in_shard("s");
        let data = [NewComponent::of_bytes("data", DType::U8, most).stored(&blob)];
        writer.add_object(&NewObject::custom("w", &[most], "dense", &data), &[]).unwrap();
        let root = writer.finish();
        assert_eq!(root.is_ok(), fits, "{size}: {root:?}");
        let Ok(root) = root else {
            assert_eq!(root.err().and_then(rule), Some("limit-decoded-total"));
            continue;
        };
        // A writer that appends to the root knows the shard from the root, so the bytes of the shard raise its limit, too.
        let archive = Archive::from_bytes(&root).unwrap();
        let mut more =
            Writer::append(Vec::new(), archive.manifest(), &settings().limits(limits)).unwrap();
        more.add_object(&NewObject::custom("x", &[most], "dense", &data), &[]).unwrap();
        more.finish().unwrap();
    }
}
