//! A source of bytes that computes the digest of a blob while the blob is checked, so that the blob is read only once.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use zten::num::u64_from_usize;
use zten::{Error, ReadAt};

use super::BlobDigest;

/// The number of bytes that are read at a time when bytes are read only to be hashed.
const CHUNK: usize = 256 << 10;

/// A source of the bytes of a file that also computes their digest. Bytes that the caller reads in the order of the file are hashed
/// as they are read, so that a check of the file from its start to its end reads each byte once. [`finish`](Self::finish) reads and
/// hashes all other bytes.
#[derive(Debug)]
pub struct Hashed<S> {
    source: S,
    length: u64,
    expected: BlobDigest,
    state: Mutex<HashState>,
}

#[derive(Debug)]
struct HashState {
    hasher: Hasher,
    /// The number of bytes, from the start of the file, that have been hashed.
    position: u64,
    /// Whether bytes that the caller skips are read and hashed at the next read. True after a call of [`Hashed::in_order`].
    is_in_order: bool,
}

#[derive(Debug)]
enum Hasher {
    Sha256(Sha256),
    /// The hasher of git's SHA-1, and the hasher of the SHA-1 of the content alone, by which some mirrors of the hub name files.
    Sha1(Sha1, Sha1),
}

impl Hasher {
    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha1(git, plain) => {
                git.update(bytes);
                plain.update(bytes);
            }
        }
    }
}

impl<S: ReadAt> Hashed<S> {
    /// Wraps `source`, a file of `length` bytes whose name says that its content has the digest `expected`.
    pub fn new(source: S, length: u64, expected: BlobDigest) -> Self {
        let hasher = match expected {
            BlobDigest::Sha256(_) => Hasher::Sha256(Sha256::new()),
            BlobDigest::Sha1(_) => {
                Hasher::Sha1(Sha1::new_with_prefix(format!("blob {length}\0")), Sha1::new())
            }
        };
        let state = HashState { hasher, position: 0, is_in_order: false };
        Self { source, length, expected, state: Mutex::new(state) }
    }

    /// Returns the digest that the name of the file states.
    pub fn expected(&self) -> &BlobDigest {
        &self.expected
    }

    /// Announces that the caller will read the rest of the file in its order. From now on, bytes that the caller skips are read and
    /// hashed at the next read, because the caller will not read them later.
    pub fn in_order(&self) {
        self.lock().is_in_order = true;
    }

    fn lock(&self) -> MutexGuard<'_, HashState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads and hashes the bytes from `state.position`, where hashing stopped, to `end`.
    fn hash_up_to(&self, state: &mut HashState, end: u64) -> Result<(), Error> {
        let mut buffer = Vec::new();
        while state.position < end {
            let left = usize::try_from(end.saturating_sub(state.position)).unwrap_or(usize::MAX);
            let length = left.min(CHUNK);
            if buffer.len() < length {
                let more = length.saturating_sub(buffer.len());
                let reserved = buffer.try_reserve_exact(more);
                reserved.map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
            }
            buffer.resize(length, 0);
            self.source.read_at(state.position, &mut buffer)?;
            state.hasher.update(&buffer);
            state.position = state.position.saturating_add(u64_from_usize(length));
        }
        Ok(())
    }

    /// Returns whether the content begins with `blob` and a space, as the bytes do that git hashes for a file. The plain SHA-1 of
    /// these bytes equals git's SHA-1 of the file, so content with this beginning could pass for another file.
    fn is_git_object(&self) -> Result<bool, Error> {
        const START: [u8; 5] = *b"blob ";
        let mut start = [0; START.len()];
        if self.length < u64_from_usize(start.len()) {
            return Ok(false);
        }
        self.source.read_at(0, &mut start)?;
        Ok(start == START)
    }

    /// Reads the bytes that have not been hashed, and returns the digest of the whole file, by the algorithm of the expected
    /// digest. If that is SHA-1, returns the SHA-1 of the content alone if it is the expected digest and the content does not begin
    /// with `blob` and a space, and otherwise git's SHA-1.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn finish(&self) -> Result<BlobDigest, Error> {
        let mut state = self.lock();
        self.hash_up_to(&mut state, self.length)?;
        Ok(match &state.hasher {
            Hasher::Sha256(hasher) => BlobDigest::Sha256(hasher.clone().finalize().into()),
            Hasher::Sha1(git, plain) => {
                let plain = BlobDigest::Sha1(plain.clone().finalize().into());
                if plain == self.expected && !self.is_git_object()? {
                    return Ok(plain);
                }
                BlobDigest::Sha1(git.clone().finalize().into())
            }
        })
    }
}

impl<S: ReadAt> ReadAt for Hashed<S> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.source.read_at(offset, buffer)?;
        let state = &mut *self.lock();
        // Bytes that a read skips are hashed at once only after `in_order` was called. While a file is opened, the skipped bytes
        // may be all of its data, which would then be read twice.
        if state.is_in_order {
            self.hash_up_to(state, offset)?;
        }
        // No byte is hashed twice. Of the bytes that were read, only those from `position` on are hashed, and none if the read
        // begins after `position`.
        let known =
            state.position.checked_sub(offset).and_then(|known| usize::try_from(known).ok());
        if let Some(new) = known.and_then(|known| buffer.get(known..)) {
            state.hasher.update(new);
            state.position = state.position.saturating_add(u64_from_usize(new.len()));
        }
        Ok(())
    }

    fn gap(&self) -> u64 {
        self.source.gap()
    }

    fn identity(&self) -> Option<[u64; 2]> {
        self.source.identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of a file, and the number of bytes that were read, in which a byte counts each time that it is read.
    struct Counted(Vec<u8>, Mutex<u64>);

    impl ReadAt for Counted {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
            *self.1.lock().unwrap() += u64_from_usize(buffer.len());
            self.0.as_slice().read_at(offset, buffer)
        }
    }

    fn hashed(length: u64, expected: BlobDigest) -> Hashed<Counted> {
        let bytes: Vec<u8> = (0..length).map(|at| ((at * at) >> 3).to_le_bytes()[0]).collect();
        Hashed::new(Counted(bytes, Mutex::default()), length, expected)
    }

    fn read(file: &Hashed<Counted>) -> u64 {
        *file.source.1.lock().unwrap()
    }

    #[test]
    fn every_order_of_reads_has_the_same_digest() {
        const LENGTH: u64 = 600_000;
        let random = &mut fastrand::Rng::with_seed(7);
        for in_order in [false, true] {
            for _ in 0..200 {
                let file = hashed(LENGTH, BlobDigest::Sha256([0; 32]));
                for _ in 0..random.u32(0..8) {
                    let start = random.u64(0..LENGTH);
                    let length = random.u64(0..=(LENGTH - start).min(300_000));
                    let at = |offset: u64| usize::try_from(offset).unwrap();
                    let mut buffer = vec![0; at(length)];
                    file.read_at(start, &mut buffer).unwrap();
                    assert_eq!(buffer, file.source.0[at(start)..][..at(length)]);
                    if in_order {
                        file.in_order();
                    }
                }
                let wanted = BlobDigest::Sha256(Sha256::digest(&file.source.0).into());
                assert_eq!(file.finish().unwrap(), wanted);
                assert_eq!(file.finish().unwrap(), wanted);
            }
        }
    }

    #[test]
    fn a_file_that_is_read_in_order_is_read_once() {
        let file = hashed(1 << 20, BlobDigest::Sha256([0; 32]));
        let take = |range: std::ops::Range<u64>| {
            let length = usize::try_from(range.end - range.start).unwrap();
            file.read_at(range.start, &mut vec![0; length]).unwrap();
        };
        take(0..512);
        take(512..4096);
        // A reader of a zip archive reads the directory at the end of the file first, and `finish` reads these 100 bytes again.
        take(((1 << 20) - 100)..(1 << 20));
        file.in_order();
        take(5000..200_000);
        take(900_000..1_000_000);
        file.finish().unwrap();
        assert_eq!(read(&file), (1 << 20) + 100);
    }

    #[test]
    fn git_names_a_file_with_its_length() {
        // The expected digests are those that `git hash-object` prints.
        for (length, wanted) in [
            (0, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"),
            (1, "f76dd238ade08917e6712764a16a22005a50573d"),
        ] {
            let file = hashed(length, BlobDigest::Sha1([0; 20]));
            assert_eq!(file.finish().unwrap().hex(), wanted);
        }
    }

    #[test]
    fn a_mirror_names_a_file_with_the_sha1_of_its_content() {
        let content = hashed(1000, BlobDigest::Sha1([0; 20])).source.0;
        let plain = BlobDigest::Sha1(Sha1::digest(&content).into());
        assert_eq!(hashed(1000, plain).finish().unwrap(), plain);
        assert_ne!(hashed(999, plain).finish().unwrap(), plain);
        let short = BlobDigest::Sha1(Sha1::digest(&content[..4]).into());
        assert_eq!(hashed(4, short).finish().unwrap(), short);
        // The bytes that git hashes for a file, used as the content of a file, do not pass for the file.
        let object = [&b"blob 1000\0"[..], &content].concat();
        let source = Counted(object, Mutex::default());
        let git = hashed(1000, BlobDigest::Sha1([0; 20])).finish().unwrap();
        assert_eq!(BlobDigest::Sha1(Sha1::digest(&source.0).into()), git);
        assert_ne!(Hashed::new(source, 1010, git).finish().unwrap(), git);
    }

    #[test]
    fn a_file_that_ends_early_is_an_error() {
        let mut file = hashed(1000, BlobDigest::Sha256([0; 32]));
        file.length = 1001;
        assert!(file.finish().is_err());
    }
}
