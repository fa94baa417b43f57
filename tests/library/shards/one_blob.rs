//! Tests of several shards in a table that are one file: the digest of the file is compared once, and each shard keeps the sums of
//! its own blobs.

use zten_corpus::cbor::keyed;
use zten_corpus::v2::{FileV2, file, object, part};

use super::*;

/// The number of bytes from the start of the first tensor in the blob to the end of the blob.
const LENGTH: usize = 700_000;

/// The tensors `t0` to `t3`, each in its own shard: the first byte in the blob, and the length. Some ranges overlap, some are
/// separate, and some are equal.
const TENSORS: [(usize, usize); 4] =
    [(4096, 300_000), (8192, 650_000), (4096, 300_000), (700_416, 9)];

/// A source that claims `identity` as its identity.
#[derive(Clone)]
struct Identified {
    file: Counted,
    identity: Option<[u64; 2]>,
    /// While true, the source returns another byte at offset 250,000.
    is_changed: Arc<AtomicBool>,
}

impl ReadAt for Identified {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.file.read_at(offset, buffer)?;
        let changed = 250_000_u64.checked_sub(offset).and_then(|at| usize::try_from(at).ok());
        if let Some(byte) = changed.and_then(|at| buffer.get_mut(at))
            && self.is_changed.load(Relaxed)
        {
            *byte ^= 1;
        }
        Ok(())
    }

    fn identity(&self) -> Option<[u64; 2]> {
        self.identity
    }
}

fn blob() -> Vec<u8> {
    let bytes: Vec<u8> = (0..=250).cycle().take(LENGTH).collect();
    FileV2::shard().blob(4096, &bytes).bytes()
}

/// Returns a root file with [`TENSORS`]. The shard number `wrong` has another digest than the other shards.
fn root(blob: &[u8], wrong: Option<usize>) -> Vec<u8> {
    let names: Vec<_> = (0..TENSORS.len()).map(|number| format!("t{number}")).collect();
    let objects = names.iter().zip(TENSORS).map(|(name, (offset, length))| {
        let [offset, length] = [offset, length].map(|number| number as u64);
        (&name[..], object(&[length], "dense", vec![("data", part("u8", offset, length))]))
    });
    let digest = twox_hash::XxHash3_64::oneshot(blob);
    let shards = (0..TENSORS.len()).map(|number| {
        let sum = if wrong == Some(number) { !digest } else { digest };
        let digest = text(&format!("xxh3:{sum:016x}"));
        (format!("s{number}"), fields([("size", uint(blob.len() as u64)), ("digest", digest)]))
    });
    let root = file(objects).set("shards", keyed(shards)).start(4096);
    let in_shard = |root: FileV2, number| {
        root.set(&format!("t{number}:data/shard"), text(&format!("s{number}")))
    };
    (0..TENSORS.len()).fold(root, in_shard).bytes()
}

/// Returns a source of `blob` that claims `identity` as its identity.
fn identified(blob: &[u8], identity: Option<[u64; 2]>) -> Identified {
    Identified { file: Counted::new(blob.to_vec()), identity, is_changed: Arc::default() }
}

/// Returns the bytes of each tensor, or the error of reading it.
fn read_all(archive: &Archive<Identified>) -> Vec<Result<Vec<u8>, Error>> {
    archive.tensors().map(|tensor| tensor.to_vec::<u8>()).collect()
}

/// Returns the bytes of `blob` in the range of each of [`TENSORS`], as [`read_all`] returns them if no tensor fails.
fn elements(blob: &[u8]) -> Vec<Result<Vec<u8>, Error>> {
    let range = |(offset, length)| &blob[offset..][..length];
    TENSORS.iter().map(|tensor| Ok(range(*tensor).to_vec())).collect()
}

#[test]
fn a_blob_of_many_shards_is_compared_once() {
    let blob = blob();
    let root = root(&blob, None);
    for (identity, times) in [(Some([1, 2]), 1), (None, TENSORS.len())] {
        let source = identified(&blob, identity);
        let find = Shards(|_: &str| Some((source.clone(), blob.len())));
        let manifest = Archive::from_bytes(&root).unwrap();
        let mut shards = manifest.manifest().bind_shards(&find).unwrap();
        let before = source.file.count();
        shards.verify().unwrap();
        assert_eq!(source.file.count() - before, times * blob.len());

        let open = || {
            let root = identified(&root, None);
            let length = root.file.bytes.len() as u64;
            OpenOptions::default().open_source(root, length).unwrap().find_shards(&find).unwrap()
        };
        let archive = open();
        let before = source.file.count();
        archive.verify().unwrap();
        // After the digests, the verifier reads each tensor, and whole blocks if tensors share a block.
        let tensors: usize = TENSORS.iter().map(|(_, length)| length).sum();
        let least = times * blob.len();
        assert!((least..least + 2 * tensors).contains(&(source.file.count() - before)));
        assert_eq!(read_all(&archive), elements(&blob));

        // Reading a single tensor compares the digest for all shards that are the same blob.
        let archive = open();
        let before = source.file.count();
        let read = archive.tensor("t3").unwrap().to_vec::<u8>();
        assert_eq!(read, elements(&blob)[3]);
        assert_eq!(source.file.count() - before, blob.len() + 9);
        assert_eq!(read_all(&archive), elements(&blob));

        // Tensors with the changed byte are rejected, and the other tensors are read.
        source.is_changed.store(true, Relaxed);
        let rules: Vec<_> = read_all(&archive)
            .iter()
            .map(|read| read.as_ref().err().and_then(Error::rule))
            .collect();
        let changed = Some("shard-digest");
        assert_eq!(rules, [changed, changed, changed, None]);
        source.is_changed.store(false, Relaxed);
    }
}

/// If one file has two digests, one of them must be wrong. The error names the shard of the wrong digest.
#[test]
fn one_file_with_two_digests_has_one_shard_that_is_wrong() {
    let blob = blob();
    for wrong in 0..TENSORS.len() {
        let root = root(&blob, Some(wrong));
        let source = identified(&blob, Some([1, 2]));
        let find = Shards(|_: &str| Some((source.clone(), blob.len())));
        let archive = Archive::from_bytes(&root).unwrap();
        let mut shards = archive.manifest().bind_shards(&find).unwrap();
        let before = source.file.count();
        let error = shards.verify().unwrap_err();
        let shard = archive.manifest().shards().nth(wrong).unwrap();
        assert_eq!((error.rule(), error.offset()), (Some("shard-digest"), Some(shard.offset())));
        assert_eq!(source.file.count() - before, 2 * blob.len());
        let verified = shards.bound().iter().map(|bound| bound.verified().is_some());
        assert!(verified.enumerate().all(|(number, verified)| verified == (number != wrong)));
    }
}
