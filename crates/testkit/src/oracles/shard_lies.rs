//! The oracle for shards that lie: once the digest of a shard has been compared, only the compared bytes are returned.

use zten::shards::{Candidate, Files, Find, Shard, Source};
use zten::verify::{Verified, Verifier};
use zten::write::{Checksum, Copier, Level, ShardWriter, WriteOptions, Writer};
use zten::{Archive, Component, Error, Generation};

use super::InMemory;
use super::liar::{Liar, Lie, Plan};
use super::lies::Lied;

/// A root file, and the only shard, which has all components. No component has a digest of its own.
struct Sharded {
    root: Vec<u8>,
    shard: Vec<u8>,
}

/// A finder of shards that returns the same source for every shard. The number is the length of the shard.
struct One<'s, 'd>(&'s Liar<'d>, u64);

impl<'s, 'd> Find for One<'s, 'd> {
    type Source = &'s Liar<'d>;

    fn find(&self, _: &Shard<'_>) -> Result<Option<Candidate<&'s Liar<'d>>>, Error> {
        Ok(Some(Candidate { source: self.0, length: self.1 }))
    }
}

/// Writes the content of an archive to a shard, raw and then in zstd frames, and reads the shard from a source that
/// lies by `plan`. Checks that only verified bytes are returned.
pub(crate) fn shard_lies(archive: &InMemory<'_>, plan: Plan<'_>, lied: &mut Lied) {
    for level in [None, Some(Level::default())] {
        if let Some(files) = sharded(archive, level) {
            read(&files, plan, lied);
        }
    }
}

/// Writes the archive as a root file and a shard, compressed with `level` or raw. Returns `None` if this is not
/// possible.
fn sharded(archive: &InMemory<'_>, level: Option<Level>) -> Option<Sharded> {
    let settings = WriteOptions::default().generation(Generation::V2).checksum(Checksum::None);
    let mut writer = Writer::new(Vec::new(), &settings).ok()?;
    let mut shard = ShardWriter::new(Vec::new(), &settings).ok()?;
    let mut copier = Copier::new(archive.manifest());
    if let Some(level) = level {
        copier = copier.compressed(level);
    }
    for object in archive.tensors() {
        copier.object(&object, &mut writer, Some(("s", &mut shard))).ok()?;
    }
    let (shard, record) = shard.finish().ok()?;
    writer.shard("s", &record).ok()?;
    Some(Sharded { root: writer.finish().ok()?, shard })
}

fn read(files: &Sharded, plan: Plan<'_>, lied: &mut Lied) {
    let Sharded { root, shard } = files;
    let other = Liar::other(shard);
    let honest = Plan::Once(Lie::Error, usize::MAX, false);
    let truth = Liar::new(shard, &other, honest);
    let source = Liar::new(shard, &other, plan);
    let own = Liar::new(root, root, honest);
    let archive = Archive::from_bytes(root).expect("a file that was written");
    let manifest = archive.manifest();
    let bind = |source| manifest.bind_shards(&One(source, shard.len() as u64));
    let mut right = bind(&truth).expect("a shard that was written");
    right.verify().expect("a shard that was written");
    let right = Files { root: &own, shards: &right };
    let outcome = bind(&source).and_then(|mut shards| shards.verify().map(|()| shards));
    let Ok(shards) = outcome else { return lied.note(&source, None) };
    let files = Files { root: &own, shards: &shards };
    let mut verifier = Verifier::new(manifest).with_shard_bytes(shard.len() as u64);
    let mut has_failed = false;
    for object in archive.tensors() {
        let mut read = vec![Vec::new(); object.components().len()];
        let validated = verifier.object(&object.read_from(&files), |component, chunk| {
            let ordinal = component.location().component().expect("a component");
            read[usize::try_from(ordinal).expect("a small number")].extend_from_slice(chunk);
        });
        for (component, read) in object.components().zip(&read) {
            // The bytes of a component of an unknown type cannot be read, so they are not compared.
            let Some(wanted) = content(&right, &component) else { continue };
            // Chunks may be returned before an error, but only verified ones.
            assert!(wanted.starts_with(read), "other bytes than were verified: {component:?}");
            assert!(validated.is_err() || wanted == *read, "fewer bytes: {component:?}");
            match content(&files, &component) {
                Some(read) => assert!(read == wanted, "other bytes: {component:?}"),
                None => has_failed = true,
            }
            if let Some(row) = row(&files, &component) {
                assert!(wanted.starts_with(&row), "another row: {component:?}");
            }
        }
        has_failed |= validated.is_err();
    }
    let copy = |files: &dyn Source| {
        let copier = Copier::new(manifest).with_shard_bytes(shard.len() as u64);
        copier.file(manifest, files, Vec::new(), &WriteOptions::default()).ok()
    };
    if let Some(copied) = copy(&files) {
        assert!(Some(copied) == copy(&right), "what was copied is not what was verified");
    }
    lied.note(&source, (!has_failed).then_some(Verified::Digest));
}

/// Reads all of a component from the source `files`. Returns `None` for any error.
fn content(files: &dyn Source, component: &Component<'_>) -> Option<Vec<u8>> {
    component.read_from(files).read().ok().map(|decoded| decoded.to_vec())
}

/// Reads the first row of a component, if it is an array that has one. Returns `None` for any error.
fn row(files: &dyn Source, component: &Component<'_>) -> Option<Vec<u8>> {
    let tensor = component.tensor().read_from(files);
    tensor.dense().ok()?;
    tensor.shape().first().filter(|rows| **rows > 0)?;
    component.element_size()?;
    let slice = tensor.slice(0..1).ok()?;
    let mut bytes = vec![0; usize::try_from(slice.byte_len()).ok()?];
    slice.read(&mut bytes).ok()?;
    let mut again = Vec::new();
    let take = |part: &[u8]| {
        again.extend_from_slice(part);
        Ok::<(), Error>(())
    };
    slice.parts(take).ok()?;
    assert!(again == bytes, "two readings of one row: {component:?}");
    Some(bytes)
}
