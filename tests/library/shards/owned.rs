//! Tests of archives that own their shards: where the shards are looked for, and how often they are read.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

const VALUES: [f32; 4] = [1.0, -2.0, 0.5, 3.25];

/// A folder with a root, `model.zt`, whose shard `s` is in a file that the root does not find yet.
struct Folder {
    folder: TempDir,
    /// The name of the folder and the name of the file in it under which the shard is found as a blob. The digest of
    /// the shard gives both.
    blob: (String, String),
}

impl Folder {
    /// Makes a folder with the root `name` of the corpus.
    fn new(name: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let root = read(&format!("{name}.zt"));
        fs::write(folder.path().join("model.zt"), &root).unwrap();
        fs::write(folder.path().join("kept.zt"), read(&format!("{name}-s.zt"))).unwrap();
        let archive = Archive::from_bytes(&root).unwrap();
        let shard = archive.manifest().shards().next().unwrap();
        let digest = shard.digest().unwrap().to_string();
        let (algorithm, digits) = digest.split_once(':').unwrap();
        Self { folder, blob: (algorithm.to_owned(), digits.to_owned()) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self) -> Archive {
        zten::open(self.path("model.zt")).unwrap()
    }

    /// Copies the shard to `place`, and makes the folders on the way.
    fn put(&self, place: &str) {
        let place = self.path(place);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(self.path("kept.zt"), place).unwrap();
    }

    /// Checks that nothing of the shard can be read, because the root does not find it.
    fn has_none(&self) {
        let archive = self.open();
        let tensor = archive.tensor("w").unwrap();
        let error = tensor.to_vec::<f32>().unwrap_err();
        assert_eq!((error.rule(), error.tensor()), (Some("unsupported-shard"), Some("w")));
        assert_eq!(tensor.csr().unwrap_err().kind(), ErrorKind::Misuse(Misuse::Layout));
        assert_eq!(archive.verify().unwrap_err().rule(), Some("unsupported-shard"));
    }

    /// Checks that the root finds the shard and that all of it can be read.
    fn has_it(&self) {
        let archive = self.open();
        let tensor = archive.tensor("w").unwrap();
        assert_eq!(tensor.to_vec::<f32>().unwrap(), VALUES);
        assert_eq!(*tensor.to_cow::<f32>().unwrap(), VALUES);
        assert_eq!(tensor.slice(1..3).unwrap().to_vec::<f32>().unwrap(), VALUES[1..3]);
        let mut elements = [0.0; 4];
        tensor.read_into(&mut elements).unwrap();
        assert_eq!(elements[..], VALUES);
        assert_eq!(tensor.dense().unwrap().shard(), Some("s"));
        assert_eq!(archive.verify().unwrap().components(), 1);
    }
}

#[test]
#[cfg_attr(miri, ignore = "it needs a file system")]
fn shards_are_sibling_files_or_blobs() {
    for name in ["dense", "sha256"] {
        let folder = Folder::new(name);
        folder.has_none();
        let (algorithm, digits) = &folder.blob;
        let blob = format!("blobs/{algorithm}/{digits}");
        folder.put(&blob);
        folder.has_it();
        // The sibling file has precedence over `blobs`, even if it is not a shard.
        folder.put("model-s.zt");
        folder.has_it();
        fs::write(folder.path("model-s.zt"), [0; 48]).unwrap();
        let error = zten::open(folder.path("model.zt")).unwrap_err();
        assert_eq!(error.rule(), Some("shard-length"));
        fs::remove_file(folder.path(&blob)).unwrap();
        folder.put("model-s.zt");
        folder.has_it();
        // The names of other files and other shards are not used.
        fs::remove_file(folder.path("model-s.zt")).unwrap();
        for other in ["model-t.zt", "other-s.zt", "s.zt", "model.zt-s.zt", "model-s"] {
            folder.put(other);
        }
        folder.put(&format!("blobs/{digits}"));
        folder.put(&format!("blobs/md5/{digits}"));
        folder.has_none();
    }
}

#[test]
#[cfg_attr(miri, ignore = "it needs a file system")]
fn the_corpus_is_opened_by_its_path() {
    let archive = zten::open(corpus().join("v2/shards/dense.zt")).unwrap();
    assert_eq!(archive.tensor("w").unwrap().to_vec::<f32>().unwrap(), VALUES);
    assert_eq!(archive.verify().unwrap().components(), 1);
}

#[test]
#[cfg_attr(miri, ignore = "it needs a file system")]
fn a_shard_must_be_a_regular_file() {
    let folder = Folder::new("dense");
    fs::create_dir(folder.path("model-s.zt")).unwrap();
    folder.has_none();
    let (algorithm, digits) = &folder.blob;
    folder.put(&format!("blobs/{algorithm}/{digits}"));
    folder.has_it();
    // Here a regular file has the name of the folder `blobs`, so no shard is found.
    fs::remove_dir_all(folder.path("blobs")).unwrap();
    fs::write(folder.path("blobs"), b"").unwrap();
    folder.has_none();
    fs::remove_file(folder.path("blobs")).unwrap();
    fs::create_dir(folder.path("blobs")).unwrap();
    fs::write(folder.path("blobs").join(algorithm), b"").unwrap();
    folder.has_none();
}

/// The name of the root may be so long that the name of the sibling file would exceed the limit of the file system. Then the
/// shard is found only as a blob.
#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(miri, ignore = "it needs a file system")]
fn a_root_with_a_long_name_finds_shards_as_blobs() {
    let folder = Folder::new("dense");
    let long = folder.path(&format!("{}.zt", "n".repeat(252)));
    fs::copy(folder.path("model.zt"), &long).unwrap();
    let verified = || zten::open(&long).unwrap().verify().map(|summary| summary.components());
    assert_eq!(verified().unwrap_err().rule(), Some("unsupported-shard"));
    let (algorithm, digits) = &folder.blob;
    folder.put(&format!("blobs/{algorithm}/{digits}"));
    assert_eq!(verified(), Ok(1));
}

#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "it needs a file system")]
fn no_link_is_followed() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new("dense");
    symlink("kept.zt", folder.path("model-s.zt")).unwrap();
    folder.has_none();
    symlink("nowhere", folder.path("model-t.zt")).unwrap();
    let (algorithm, digits) = &folder.blob;
    fs::create_dir_all(folder.path("blobs").join(algorithm)).unwrap();
    let blob = folder.path("blobs").join(algorithm).join(digits);
    symlink("../../kept.zt", &blob).unwrap();
    folder.has_none();
    fs::remove_file(&blob).unwrap();
    // A folder on the way to the shard is a link, which is not followed.
    folder.put(&format!("real/{algorithm}/{digits}"));
    fs::remove_dir(folder.path("blobs").join(algorithm)).unwrap();
    symlink(format!("../real/{algorithm}"), folder.path("blobs").join(algorithm)).unwrap();
    folder.has_none();
    fs::remove_dir_all(folder.path("blobs")).unwrap();
    symlink("real", folder.path("blobs")).unwrap();
    folder.has_none();
    // The caller's own path may contain links: the root itself, and the folder of the root.
    fs::remove_file(folder.path("blobs")).unwrap();
    fs::rename(folder.path("real"), folder.path("blobs")).unwrap();
    let whole = TempDir::new().unwrap();
    symlink(folder.folder.path(), whole.path().join("linked")).unwrap();
    let archive = zten::open(whole.path().join("linked/model.zt")).unwrap();
    assert_eq!(archive.tensor("w").unwrap().to_vec::<f32>().unwrap(), VALUES);
}

impl Counted {
    /// Returns the number of bytes that were read since the last call of this method.
    fn take(&self) -> usize {
        self.read.swap(0, Relaxed)
    }
}

/// Opens a root with `shard` as its only shard, under any name.
fn open(root: &Counted, shard: &Counted) -> Archive<Counted> {
    let archive = OpenOptions::default().open_source(root.clone(), root.bytes.len() as u64);
    let find = Shards(|_: &str| Some((shard.clone(), shard.bytes.len())));
    archive.unwrap().find_shards(&find).unwrap()
}

/// Opening reads only the frame of the shard. A part without its own digest waits for the digest of the shard, which is computed
/// once.
#[test]
fn the_digest_of_a_shard_is_compared_once() {
    let (root, shard) = (Counted::new(read("dense.zt")), Counted::new(read("dense-s.zt")));
    let archive = open(&root, &shard);
    let all = shard.bytes.len();
    assert_eq!(shard.take(), 8 + 40);
    root.take();
    let tensor = archive.tensor("w").unwrap();
    assert!(tensor.dense().unwrap().digest().is_none());
    assert_eq!(tensor.to_vec::<f32>().unwrap(), VALUES);
    assert_eq!(shard.take(), all + 16);
    for _ in 0..3 {
        assert_eq!(tensor.to_vec::<f32>().unwrap(), VALUES);
        assert_eq!(shard.take(), 16);
    }
    assert_eq!(tensor.slice(3..).unwrap().to_vec::<f32>().unwrap(), VALUES[3..]);
    assert_eq!(shard.take(), 16);
    archive.verify().unwrap();
    assert_eq!((shard.take(), root.take()), (16, 0));
    // The archive is verified before any tensor is read.
    let archive = open(&root, &shard);
    shard.take();
    archive.verify().unwrap();
    assert_eq!(shard.take(), all + 16);
    assert_eq!(archive.tensor("w").unwrap().to_vec::<f32>().unwrap(), VALUES);
    assert_eq!(shard.take(), 16);
}

#[test]
#[cfg_attr(miri, ignore = "it starts threads")]
fn several_threads_compare_the_digest_once() {
    let (root, shard) = (Counted::new(read("dense.zt")), Counted::new(read("dense-s.zt")));
    for _ in 0..20 {
        let archive = open(&root, &shard);
        shard.take();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let tensor = archive.tensor("w").unwrap();
                    assert_eq!(tensor.to_vec::<f32>().unwrap(), VALUES);
                });
            }
        });
        assert_eq!(shard.take(), shard.bytes.len() + 4 * 16);
    }
}

/// A part with its own digest is read without waiting for the digest of the shard.
#[test]
fn a_part_with_a_digest_does_not_wait() {
    let (root, bytes) =
        (read("digest-mismatch--v2-in-a-shard.zt"), "digest-mismatch--v2-in-a-shard-s.zt");
    let (root, shard) = (Counted::new(root), Counted::new(read(bytes)));
    let archive = open(&root, &shard);
    shard.take();
    let error = archive.tensor("w").unwrap().to_vec::<f32>().unwrap_err();
    assert_eq!((error.rule(), error.offset()), (Some("digest-mismatch"), Some(4096)));
    assert_eq!((error.tensor(), error.component()), (Some("w"), Some("data")));
    assert_eq!(shard.take(), 16);
}

/// Bytes that changed after the shard was verified are not handed out.
#[test]
fn a_shard_that_changed_is_not_read() {
    // Once this flag is set, the source returns other bytes.
    let changed = AtomicBool::new(false);
    let source = |bytes: Vec<u8>| {
        let changed = &changed;
        reads(move |offset, buffer| {
            bytes.read_at(offset, buffer)?;
            let flip = u8::from(changed.load(Relaxed));
            for byte in buffer {
                *byte ^= flip;
            }
            Ok(())
        })
    };
    let (root, shard) = (read("dense.zt"), read("dense-s.zt"));
    let length = root.len() as u64;
    let archive = OpenOptions::default().open_source(source(root), length).unwrap();
    let find = Shards(|_: &str| Some((source(shard.clone()), shard.len())));
    let archive = archive.find_shards(&find).unwrap();
    let tensor = archive.tensor("w").unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), VALUES);
    changed.store(true, Relaxed);
    let error = tensor.to_vec::<f32>().unwrap_err();
    assert_eq!((error.rule(), error.tensor()), (Some("shard-digest"), Some("w")));
}

/// For each root of the corpus, an archive that owns its shards has the same content and the same errors as one whose shards the
/// verifier binds.
#[test]
#[cfg_attr(miri, ignore = "it needs a file system")]
fn archives_give_the_errors_of_the_verifier() {
    let mut read = 0;
    for row in sharded() {
        let file = row.path.display();
        let owned = row.options.open(&row.path);
        let found = check(&row.path, &row.options);
        let root = fs::read(&row.path).unwrap();
        let archive = row.options.from_bytes(&root).unwrap();
        let names = |error: &Error| (error.to_string(), error.component().map(str::to_owned));
        let bound = archive.manifest().bind_shards(&sibling_shards(&row.path));
        let (owned, mut bound) = match (owned, bound) {
            (Ok(owned), Ok(bound)) => (owned, bound),
            (owned, bound) => {
                let (owned, bound) = (owned.unwrap_err(), bound.unwrap_err());
                assert_eq!(names(&owned), names(&bound), "{file}");
                assert_eq!((Err(owned), Err(bound)), (found, check(&row.path, &row.options)));
                continue;
            }
        };
        assert_eq!(owned.verify(), found, "{file}");
        // Compares the errors before and after everything has been verified.
        let _ = bound.verify_for(archive.tensors().flat_map(|tensor| tensor.components()));
        for again in [false, true] {
            let owned = if again { &owned } else { &row.options.open(&row.path).unwrap() };
            let files = Files { root: archive.source(), shards: &bound };
            let parts = owned.tensors().flat_map(|tensor| tensor.components());
            let others = archive.tensors().flat_map(|tensor| tensor.components());
            for (own, other) in parts.zip(others) {
                let (own, other) = (own.read(), other.read_from(&files).read());
                let error = own.as_ref().err().map(names);
                assert_eq!(error, other.as_ref().err().map(names), "{file}");
                assert!(own.is_err() || *own.unwrap() == *other.unwrap(), "{file}");
                read += 1;
            }
        }
    }
    assert!(read > 50, "{read}");
}
