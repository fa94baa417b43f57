//! A file of known length, read at positions, and the temporary file that data may wait in.

use std::fs::File;
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::ops::Range;
use std::sync::Arc;

use super::chunk::CHUNK;
use super::scratch;
use super::trouble::Trouble;
use zten::ReadAt;
use zten::num::u64_from_usize;

/// A file that is being read. Each read seeks first, so that clones do not disturb each other.
#[derive(Clone, Debug)]
pub struct Source {
    bytes: Bytes,
    length: u64,
}

/// Where the bytes of a source are.
#[derive(Clone, Debug)]
enum Bytes {
    InFile(Arc<File>),
    InMemory(Arc<[u8]>),
    Elsewhere(Elsewhere),
}

/// What gives bytes at positions.
#[derive(Clone)]
struct Elsewhere(Arc<dyn ReadAt<Error = io::Error> + Send + Sync>);

impl std::fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Elsewhere")
    }
}

impl From<Vec<u8>> for Source {
    fn from(bytes: Vec<u8>) -> Self {
        Self { length: u64_from_usize(bytes.len()), bytes: Bytes::InMemory(bytes.into()) }
    }
}

impl Source {
    /// An open file of so many bytes.
    pub fn new(file: File, length: u64) -> Self {
        Self { bytes: Bytes::InFile(Arc::new(file)), length }
    }

    /// So many bytes that are read at positions from anywhere.
    pub fn over(source: Arc<dyn ReadAt<Error = io::Error> + Send + Sync>, length: u64) -> Self {
        Self { bytes: Bytes::Elsewhere(Elsewhere(source)), length }
    }

    /// Bytes in it, when it was opened.
    pub(super) fn len(&self) -> u64 {
        self.length
    }

    /// Fills as much of the buffer as there are bytes, and says how much that is.
    pub(super) fn read_up_to(&self, offset: u64, buffer: &mut [u8]) -> Result<usize, Trouble> {
        let left = usize::try_from(self.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let there = left.min(buffer.len());
        self.read_at(offset, buffer.get_mut(..there).unwrap_or_default())?;
        Ok(there)
    }

    /// Appends the bytes of a range, which has been held against the length of the file.
    pub(super) fn append(&self, range: Range<u64>, bytes: &mut Vec<u8>) -> Result<(), Trouble> {
        Ok(self.append_range(range, bytes)?)
    }

    /// Hands on `length` bytes in chunks, which may be changed on the way. All but the last are
    /// of one length, so that no element is divided.
    pub(super) fn stream<F: From<Trouble>>(
        &self,
        mut offset: u64,
        length: u64,
        take: &mut dyn FnMut(&mut [u8]) -> Result<(), F>,
    ) -> Result<(), F> {
        let most = usize::try_from(length).unwrap_or(CHUNK).min(CHUNK);
        let mut chunk = buffer(most, 0_u8)?;
        let mut left = length;
        while left > 0 {
            let next = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            let bytes = chunk.get_mut(..next).unwrap_or_default();
            self.read_at(offset, bytes)?;
            take(bytes)?;
            offset = offset.saturating_add(u64_from_usize(next));
            left = left.saturating_sub(u64_from_usize(next));
        }
        Ok(())
    }

    /// A reader of its own, from that byte on.
    pub(super) fn reader_at(&self, at: u64) -> Reader {
        Reader { source: self.clone(), at }
    }
}

impl ReadAt for Source {
    type Error = Trouble;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Trouble> {
        match &self.bytes {
            Bytes::InFile(file) => {
                let mut file = &**file;
                file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(buffer))
            }
            Bytes::InMemory(bytes) => rest(bytes, offset).read_exact(buffer),
            Bytes::Elsewhere(source) => source.0.read_at(offset, buffer),
        }
        .map_err(Trouble::reading)
    }
}

/// A place in a file, for those who want to read on from where they are.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    source: Source,
    at: u64,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &self.source.bytes {
            Bytes::InFile(file) => {
                let mut file = &**file;
                file.seek(SeekFrom::Start(self.at))?;
                // What has been added since the file was opened does not count.
                let left = self.source.length.saturating_sub(self.at);
                file.take(left).read(buffer)?
            }
            Bytes::InMemory(bytes) => rest(bytes, self.at).read(buffer)?,
            Bytes::Elsewhere(source) => {
                let left = self.source.length.saturating_sub(self.at);
                let there = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
                source.0.read_at(self.at, buffer.get_mut(..there).unwrap_or_default())?;
                there
            }
        };
        self.at = self.at.saturating_add(u64_from_usize(read));
        Ok(read)
    }
}

/// The bytes from there on; none where there are none.
fn rest(bytes: &[u8], at: u64) -> &[u8] {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    bytes.get(at..).unwrap_or_default()
}

/// A file without a name, for data to wait in.
#[derive(Debug)]
pub(super) struct Scratch {
    file: Arc<File>,
    length: u64,
}

impl Scratch {
    /// An empty one.
    pub(super) fn new() -> Result<Self, Trouble> {
        Ok(Self { file: scratch::file().map_err(Trouble::temporary)?, length: 0 })
    }

    /// Writes at a position, which may be beyond what has been written.
    pub(super) fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Trouble> {
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.write_all(bytes))
            .map_err(Trouble::temporary)?;
        self.length = self.length.max(offset.saturating_add(u64_from_usize(bytes.len())));
        Ok(())
    }

    /// What has been written, to be read.
    pub(super) fn into_source(self) -> Source {
        Source { bytes: Bytes::InFile(self.file), length: self.length }
    }
}

/// So many elements, or an error where there is no memory for them.
pub(super) fn buffer<T: Clone>(length: usize, value: T) -> Result<Vec<T>, Trouble> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(length).map_err(|_| Trouble::memory())?;
    buffer.resize(length, value);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_has_the_length_that_it_was_opened_with() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, b"abc").unwrap();
        let source = Source::new(File::open(&path).unwrap(), 3);
        fs::write(&path, b"abcdef").unwrap();
        let mut bytes = Vec::new();
        source.reader_at(0).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"abc");
        let mut buffer = [0; 9];
        assert_eq!(source.read_up_to(1, &mut buffer).unwrap(), 2);
        assert_eq!(source.read_up_to(9, &mut buffer).unwrap(), 0);
        assert_eq!(buffer, *b"bc\0\0\0\0\0\0\0");
    }

    #[test]
    fn chunks_are_of_one_length() {
        let mut file = Scratch::new().unwrap();
        file.write_at(CHUNK as u64 * 2 + 3, b"x").unwrap();
        let source = file.into_source();
        let mut lengths = Vec::new();
        let read = source.stream::<Trouble>(1, source.len() - 1, &mut |chunk| {
            lengths.push(chunk.len());
            Ok(())
        });
        read.unwrap();
        assert_eq!(lengths, [CHUNK, CHUNK, 3]);
        // All of these bytes have been held against the length, or are not there.
        let beyond = source.stream::<Trouble>(1, source.len(), &mut |_| Ok(()));
        assert!(matches!(beyond, Err(Trouble::Io { .. })));
    }
}
