//! Tests of files in object stores: they have the same verdicts and the same content as files on disk, and few bytes are fetched.

mod odd;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use odd::{Fault, Odd};
use zten::shards::{ShardPath, Want, wanted};
use zten::verify::Verifier;
use zten::{Limits, OpenOptions, Tensor};
use zten_object_store::{Error, TensorObject};

fn corpus() -> PathBuf {
    FilePath::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

/// Returns the files in the folder `name` of the corpus.
fn files(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus().join(name)).unwrap();
    let paths: BTreeSet<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.into_iter().filter(|path| path.is_file()).collect()
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

/// Puts the file at `path` into a store in memory, together with the files of its folder whose names begin with the same three
/// letters, or all files of the folder if `path` ends in `.json`. Returns the location of `path`.
async fn stored(path: &FilePath) -> (Arc<dyn ObjectStore>, Path) {
    let store = InMemory::new();
    let folder = Path::from("bucket/some folder");
    let stem = path.file_stem().unwrap().to_str().unwrap();
    // Files whose names begin with the same letters may be shards or parts of this file.
    let start = stem.get(..3).unwrap_or(stem);
    for entry in fs::read_dir(path.parent().unwrap()).unwrap() {
        let own = entry.unwrap().path();
        let name = own.file_name().unwrap().to_str().unwrap().to_owned();
        if own.is_file()
            && (own == path
                || name.starts_with(start)
                || path.extension().is_some_and(|end| end == "json"))
        {
            store.put(&folder.clone().join(name), fs::read(&own).unwrap().into()).await.unwrap();
        }
    }
    let name = path.file_name().unwrap().to_str().unwrap();
    (Arc::new(store), folder.join(name))
}

/// Returns the decoded and verified bytes of all components of `tensor`.
fn content(tensor: Tensor<'_>) -> Result<Vec<Vec<u8>>, zten::Error> {
    tensor.components().map(|component| Ok(component.read()?.to_vec())).collect()
}

/// Returns the kind of an error, by which two errors are compared.
fn kind(error: &zten::Error) -> String {
    format!("{:?}", error.kind())
}

/// Compares the file at `path` in a store with the file on disk. Returns the number of tensors whose content is equal: 0 if both
/// are rejected, which must be by the same kind of error.
async fn compare(path: &FilePath) -> usize {
    let shown = path.display();
    let (store, location) = stored(path).await;
    let file = TensorObject::open(store, location).await;
    let local = zten::open(path);
    let (file, local) = match (file, local) {
        (Ok(file), Ok(local)) => (file, local),
        (Err(Error::File(found)), Err(expected)) => {
            assert_eq!(kind(&found), kind(&expected), "{shown}");
            return 0;
        }
        (found, expected) => panic!("{shown}: {:?} {:?}", found.err(), expected.err()),
    };
    assert_eq!(file.format(), local.format());
    assert!(file.manifest().tensors().map(|one| one.name()).eq(local.names()), "{shown}");
    let mut equal = 0;
    for tensor in &local {
        let expected = content(tensor);
        match (file.read(tensor.name(), content).await, expected) {
            (Ok(found), Ok(expected)) => {
                assert!(found == expected, "{shown} {}", tensor.name());
                equal += 1;
            }
            (Err(Error::File(found)), Err(expected)) => {
                assert_eq!(kind(&found), kind(&expected), "{shown} {}", tensor.name());
            }
            (found, expected) => {
                panic!("{shown} {}: {:?} {:?}", tensor.name(), found.err(), expected.err())
            }
        }
    }
    equal
}

#[test]
fn files_of_every_format_are_those_on_disk() {
    let folders = [
        "accept/1.2.3",
        "v2/accept",
        "v2/2.1",
        "other/safetensors/accept",
        "other/gguf/accept",
        "other/npy/accept",
        "other/npz/accept",
        "other/torch/accept",
        "other/index/accept",
        "other/safetensors/reject",
        "other/gguf/reject",
        "other/index/reject",
    ];
    for folder in folders {
        let paths = files(folder);
        let equal: usize = paths.iter().map(|path| run(compare(path))).sum();
        assert!(equal > 0 || folder.ends_with("reject"), "{folder}");
        assert!(paths.len() > 3, "{folder}");
    }
}

/// The files of the corpus for which reading all tensors reports another rule than `verify` does, each with the rule that reading
/// reports (`-` for none). No tensor is in the shard with the flaw, or another rule is checked first.
const READ: [(&str, &str); 2] = [
    ("shard-digest--v2-version.zt", "unsupported-version"),
    ("unsupported-shard--v2-unreferenced.zt", "-"),
];

#[test]
fn shards_are_found_and_verified() {
    let list = fs::read_to_string(corpus().join("v2/shards/index.tsv")).unwrap();
    let (mut valid, mut invalid, mut wrong) = (0, 0, Vec::new());
    for line in list.lines().skip(1) {
        let mut columns = line.split('\t');
        let (file, rule) = (columns.next().unwrap(), columns.next().unwrap());
        if columns.nth(3) != Some("-") {
            continue;
        }
        let path = corpus().join("v2/shards").join(file);
        let outcome = run(async {
            let (store, location) = stored(&path).await;
            let file = TensorObject::open(store, location).await?;
            let names: Vec<_> =
                file.manifest().tensors().map(|one| one.name().to_owned()).collect();
            let fetched = file.fetch(&names).await?;
            for name in &names {
                // The indices of sparse tensors are content, too.
                let mut verifier = Verifier::new(file.manifest());
                fetched.read(name, |tensor| verifier.object(&tensor, |_, _| ()))?;
            }
            Ok::<_, Error>(())
        });
        let found = match &outcome {
            Ok(()) => "-",
            Err(Error::File(error)) => error.rule().unwrap_or("none"),
            Err(error) => panic!("{file}: {error}"),
        };
        let expected = READ.iter().find(|(name, _)| *name == file).map_or(rule, |(_, rule)| rule);
        if found != expected {
            wrong.push((file, found, expected));
        }
        if found == "-" { valid += 1 } else { invalid += 1 }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(valid >= 3 && invalid >= 3, "{valid} {invalid}");
}

#[test]
fn a_folder_on_disk_is_a_store() {
    let store = Arc::new(LocalFileSystem::new_with_prefix(corpus()).unwrap());
    run(async {
        for name in [
            "accept/1.2.3/dense_all.zt",
            "other/safetensors/accept/types.safetensors",
            "other/gguf/accept/two.gguf",
        ] {
            let local = zten::open(corpus().join(name)).unwrap();
            let file = TensorObject::open(store.clone(), Path::from(name)).await.unwrap();
            let fetched = file.fetch(local.names()).await.unwrap();
            for tensor in &local {
                assert_eq!(fetched.read(tensor.name(), content).unwrap(), content(tensor).unwrap());
            }
        }
        let absent = TensorObject::open(store.clone(), Path::from("accept/absent.zt")).await;
        assert!(matches!(absent, Err(Error::Store(object_store::Error::NotFound { .. }))));
    });
}

/// Writes a file with `count` tensors `w0`, `w1` and so on of 1 MiB each.
fn large(count: u8) -> Vec<u8> {
    let mut writer = zten::Writer::to(Vec::new()).unwrap();
    for number in 0..count {
        writer.add(&format!("w{number}"), &[1 << 18], &vec![f32::from(number); 1 << 18]).unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn only_the_header_and_the_named_tensors_are_fetched() {
    run(async {
        let (store, location) = (Arc::new(Odd::default()), Path::from("w.zt"));
        store.put(&location, large(9).into()).await.unwrap();
        let file = TensorObject::open(store.clone(), location).await.unwrap();
        let header = store.fetched.swap(0, Ordering::Relaxed);
        assert!(header < 16 << 10, "{header}");
        assert!(store.requests.swap(0, Ordering::Relaxed) <= 4);
        let fetched = file.fetch(["w7", "w1", "w2"]).await.unwrap();
        let bytes = store.fetched.load(Ordering::Relaxed);
        assert!((3 << 20..(3 << 20) + 200).contains(&bytes) && fetched.bytes() == bytes, "{bytes}");
        // Two of the three tensors are adjacent, and are fetched in one request.
        assert_eq!(store.requests.load(Ordering::Relaxed), 2);
        for number in [1_u8, 2, 7] {
            let values =
                fetched.read(&format!("w{number}"), |tensor| tensor.to_vec::<f32>()).unwrap();
            assert!(
                values.len() == 1 << 18
                    && values.iter().all(|value| value.to_bits() == f32::from(number).to_bits())
            );
        }
        assert!(fetched.read("w3", |tensor| tensor.to_vec::<f32>()).is_err());
        assert!(
            matches!(fetched.read("w", |_| Ok(())), Err(error) if error.to_string().contains("no tensor named \"w\""))
        );
        assert_eq!(store.requests.load(Ordering::Relaxed), 2);
        let none: [&str; 0] = [];
        assert_eq!(file.fetch(none).await.unwrap().bytes(), 0);
        assert!(matches!(file.fetch(["w1", "absent"]).await, Err(Error::File(_))));
    });
}

#[test]
fn a_wrong_answer_is_an_error() {
    for fault in [Fault::Longer, Fault::Shorter, Fault::OtherRange, Fault::Pieces, Fault::Empty] {
        run(async {
            let (store, location) = (Arc::new(Odd::default()), Path::from("w.zt"));
            store.put(&location, large(2).into()).await.unwrap();
            let file = TensorObject::open(store.clone(), location.clone()).await.unwrap();
            store.set(fault);
            let opened = TensorObject::open(store.clone(), location).await;
            let read = file.read("w1", |tensor| tensor.to_vec::<f32>()).await;
            if fault == Fault::Pieces {
                // An answer in many pieces is read like an answer in one piece.
                assert!(opened.is_ok() && read.unwrap() == vec![1.0; 1 << 18]);
                return;
            }
            for error in [opened.err().unwrap(), read.unwrap_err()] {
                let text = error.to_string();
                assert!(
                    matches!(error, Error::Answer { .. }) && text.contains("\"w.zt\""),
                    "{fault:?} {text}"
                );
            }
        });
    }
}

#[test]
fn an_object_that_changes_is_not_mixed_with_the_first_version() {
    run(async {
        let (store, location) = (Arc::new(InMemory::new()), Path::from("w.zt"));
        store.put(&location, large(2).into()).await.unwrap();
        let file = TensorObject::open(store.clone(), location.clone()).await.unwrap();
        file.read("w0", content).await.unwrap();
        store.put(&location, large(3).into()).await.unwrap();
        let error = file.read("w0", content).await.unwrap_err();
        assert!(matches!(error, Error::Store(object_store::Error::Precondition { .. })), "{error}");
    });
}

/// A server that compresses gives weak tags, which fit no condition. The time of the last change, which it may leave out, stands
/// in.
#[test]
fn an_object_with_a_weak_tag_is_read() {
    for fault in [Fault::WeakTag, Fault::WeakTagAlone] {
        run(async {
            let (store, location) = (Arc::new(Odd::default()), Path::from("w.zt"));
            store.set(fault);
            store.put(&location, large(2).into()).await.unwrap();
            let file = TensorObject::open(store.clone(), location.clone()).await.unwrap();
            file.read("w0", content).await.unwrap();
            store.put(&location, large(2).into()).await.unwrap();
            let found = file.read("w0", content).await;
            match fault {
                Fault::WeakTag => assert!(matches!(
                    found,
                    Err(Error::Store(object_store::Error::Precondition { .. }))
                )),
                _ => assert!(found.is_ok()),
            }
        });
    }
}

#[test]
fn a_shard_that_is_fetched_as_a_whole_is_within_the_limit() {
    run(async {
        let (store, location) = stored(&corpus().join("v2/shards/dense.zt")).await;
        for (decoded, is_within) in [(4151, false), (4152, true)] {
            let limits = Limits::default().with_named("decoded", decoded).unwrap();
            let options = OpenOptions::default().limits(limits);
            let file =
                TensorObject::open_with(store.clone(), location.clone(), &options).await.unwrap();
            let name = file.manifest().tensors().next().unwrap().name().to_owned();
            match file.read(&name, content).await {
                Err(Error::TooLarge { name, stored: 4152, most: 4151 }) => {
                    assert!(!is_within && name == "s", "{name}");
                }
                found => assert!(is_within && found.is_ok(), "{:?}", found.err()),
            }
        }
    });
}

/// A store that answers 403 about missing objects is read like one that answers 404: a shard is found at its second place, and a
/// missing shard is an error only when its tensors are read, which names the object.
#[test]
fn a_store_may_deny_access_to_missing_objects() {
    run(async {
        let folder = corpus().join("v2/shards");
        let (present, location) = stored(&folder.join("dense.zt")).await;
        let file = TensorObject::open(present, location).await.unwrap();
        let name = file.manifest().tensors().next().unwrap().name().to_owned();
        let [shard] = &wanted(file.manifest())[..] else { panic!("one shard is expected") };
        let want = Want::Shard(shard.clone());
        let [ShardPath::Sibling(end), ShardPath::Below(blob)] = &want.paths()[..] else {
            panic!("two places are expected")
        };
        let read = |own: &str| fs::read(folder.join(own)).unwrap();
        let (store, location) = (Arc::new(Odd::default()), Path::from("a/dense.zt"));
        store.set(Fault::DeniedIfMissing);
        store.put(&location, read("dense.zt").into()).await.unwrap();
        let file = TensorObject::open(store.clone(), location.clone()).await.unwrap();
        let error = file.read(&name, content).await.unwrap_err();
        assert!(matches!(error, Error::Denied { .. }), "{error}");
        let expected = format!(
            "the object store has no such object, or denies access to it: \"a/dense{end}\""
        );
        assert_eq!(error.to_string(), expected);
        let second = blob.iter().fold(Path::from("a"), |path, step| path.join(*step));
        store.put(&second, read(&format!("dense{end}")).into()).await.unwrap();
        let file = TensorObject::open(store, location).await.unwrap();
        assert!(!file.read(&name, content).await.unwrap().is_empty());
    });
}

#[test]
fn limits_hold_before_bytes_are_fetched() {
    run(async {
        let (store, location) = (Arc::new(Odd::default()), Path::from("w.zt"));
        store.put(&location, large(2).into()).await.unwrap();
        let limits = Limits::default().with_named("decoded", (1 << 20) - 1).unwrap();
        let options = OpenOptions::default().limits(limits);
        let file =
            TensorObject::open_with(store.clone(), location.clone(), &options).await.unwrap();
        let before = store.requests.load(Ordering::Relaxed);
        let error = file.fetch(["w1"]).await.unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }));
        assert_eq!(
            error.to_string(),
            "the stored size of 1048576 bytes exceeds the limit decoded of 1048575 bytes, in \"w1\""
        );
        assert_eq!(store.requests.load(Ordering::Relaxed), before);
        let limits = Limits::default().with_named("manifest", 64).unwrap();
        let opened =
            TensorObject::open_with(store, location, &OpenOptions::default().limits(limits)).await;
        assert!(matches!(opened, Err(Error::File(error)) if error.to_string().contains("limit")));
    });
}

#[test]
fn futures_can_be_sent_to_other_threads() {
    fn is_send<T: Send>(value: T) -> T {
        value
    }
    let (store, location) = (Arc::new(InMemory::new()), Path::from("w.zt"));
    run(async {
        store.put(&location, large(1).into()).await.unwrap();
        let file = is_send(is_send(TensorObject::open(store.clone(), location)).await.unwrap());
        let fetched = is_send(is_send(file.fetch(["w0"])).await.unwrap());
        assert!(fetched.bytes() > 0);
        is_send(file.read("w0", |tensor| tensor.to_f32())).await.unwrap();
    });
}
