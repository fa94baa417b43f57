//! Writes tensors into shards, each into one of its own, and reads them again:
//! `cargo run --features files --example shards -- FILE NAME=BYTES...`.
//!
//! Shards are published before the file that lists them: whenever this is stopped, there is a file whose
//! shards are all there, or none. Beside `model.zt` they are `model-00001.zt` and so on, where `zten` and
//! the reference library look for them.

use std::error::Error;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use zten::shards::{Candidate, Find, Shard};
use zten::source::FileArchive;
use zten::verify::Verifier;
use zten::write::{FileSink, NewObject, Settings, ShardWriter, Writer};
use zten::{Generation, Options, ReadAt, StorageType};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, tensors @ ..] = arguments.as_slice() else {
        return Err("FILE NAME=BYTES...".into());
    };
    let tensors: Option<Vec<_>> = tensors.iter().map(|tensor| tensor.split_once('=')).collect();
    write(Path::new(path), &tensors.ok_or("NAME=BYTES")?)?;
    println!("{} components verified", verify(Path::new(path))?);
    Ok(())
}

/// Where a shard is, by convention: `STEM-NAME.zt` beside the file.
fn beside(file: &Path, name: &str) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.with_file_name(format!("{stem}-{name}.zt"))
}

fn write(path: &Path, tensors: &[(&str, &str)]) -> Result<(), Box<dyn Error>> {
    let settings = Settings::default().generation(Generation::V2);
    let mut writer = Writer::new(FileSink::create(path)?, &settings)?;
    for (number, (name, bytes)) in (1..).zip(tensors) {
        let shard_name = format!("{number:05}");
        let sink = FileSink::create(&beside(path, &shard_name))?;
        let mut shard = ShardWriter::new(sink, &settings)?;
        let shape = [u64::try_from(bytes.len())?];
        let tensor = NewObject::dense(name, &shape, StorageType::U8);
        let mut object = writer.object_in(&shard_name, &mut shard, &tensor)?;
        object.write("data", bytes.as_bytes())?; // in pieces of any size
        object.end()?;
        let (file, record) = shard.finish()?;
        writer.shard(&shard_name, &record)?;
        file.publish()?;
    }
    writer.finish()?.publish()?;
    Ok(())
}

/// Finds shards beside a file. `zten-shards` does it without following links.
struct Beside<'p>(&'p Path);

impl Find for Beside<'_> {
    type Source = FileSource;

    fn find(&self, shard: &Shard<'_>) -> io::Result<Option<Candidate<FileSource>>> {
        // A name is no path: it has no separator in it.
        let file = match File::open(beside(self.0, shard.name())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let length = file.metadata()?.len();
        Ok(Some(Candidate { source: FileSource(file), length }))
    }
}

/// A file that is read at positions, by one thread.
struct FileSource(File);

impl ReadAt for FileSource {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        use io::{Read as _, Seek as _};
        (&self.0).seek(io::SeekFrom::Start(offset))?;
        (&self.0).read_exact(buffer)
    }
}

/// How many components a file and its shards have, all of which have been verified.
fn verify(path: &Path) -> Result<u64, Box<dyn Error>> {
    let root = FileArchive::open(path, &Options::default())?;
    let limits = root.limits();
    let mut shards = root.bind_shards(&Beside(path), limits)?;
    let mut verifier = Verifier::new(root.file_len(), limits);
    Ok(verifier.file_in(&root, &root, &mut shards)?.components())
}

#[test]
fn shards_are_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.zt");
    write(&path, &[("a", "one"), ("b", "two and a half")]).unwrap();
    assert_eq!(verify(&path).unwrap(), 2);
    std::fs::write(folder.path().join("model-00002.zt"), "no shard").unwrap();
    assert!(verify(&path).is_err());
    std::fs::remove_file(folder.path().join("model-00001.zt")).unwrap();
    assert!(verify(&path).is_err());
}
