//! Components read whole on several threads: the same bytes and the same errors as one by one.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU32, Ordering};

use zten::load::{Loader, Target};
use zten::{Archive, Component, Error, Limits, ReadAt, ReadError, verify::Verified};
use zten_testkit::{accepted, reject_index};

fn loader(file: &[u8], limits: &Limits, threads: usize) -> Loader {
    Loader::new(file.len() as u64, limits).threads(NonZeroUsize::new(threads).unwrap())
}

/// The components of a file, one by one, up to the first that cannot be read and verified.
fn one_by_one(components: &[Component<'_>], file: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let read = |component: &Component<'_>| {
        let decoded = component.decode(file, &Limits::default())?;
        match decoded.verified() {
            Verified::Unverifiable => Err(None),
            _ => Ok(decoded.to_vec()),
        }
        .map_err(|_: Option<()>| unverifiable(component, file))
    };
    components.iter().map(read).collect()
}

/// What a verifier says of a digest that cannot be verified.
fn unverifiable(component: &Component<'_>, file: &[u8]) -> Error {
    let mut verifier = zten::verify::Verifier::new(file.len() as u64, &Limits::default());
    verifier.object(&component.object(), file, |_, _| ()).unwrap_err().into()
}

#[test]
#[cfg_attr(miri, ignore = "reads the whole corpus")]
fn as_one_by_one() {
    let (mut read, mut failed) = (0, 0);
    let files = accepted().map(|accepted| (accepted.bytes, zten::Options::default()));
    let rejected = reject_index().map(|reject| (reject.read(), reject.options));
    for (file, options) in files.chain(rejected) {
        let Ok(archive) = Archive::open_with(&file, &options) else { continue };
        let components: Vec<_> = archive.objects().flat_map(|it| it.components()).collect();
        let wanted = one_by_one(&components, &file);
        for threads in [1, 2, 5] {
            let loader = loader(&file, &Limits::default(), threads);
            let found = loader.decode(components.iter().copied(), &file[..]);
            let found = found.map_err(Error::from);
            let found = found.map(|all| all.iter().map(|one| one.to_vec()).collect::<Vec<_>>());
            assert_eq!(found, wanted);
        }
        match &wanted {
            Ok(wanted) => {
                read += wanted.len();
                let mut buffers: Vec<_> = wanted.iter().map(|one| vec![0xaa; one.len()]).collect();
                let targets = components.iter().zip(&mut buffers);
                let targets =
                    targets.map(|(component, buffer)| Target { component: *component, buffer });
                loader(&file, &Limits::default(), 3).read_into(targets, &file[..]).unwrap();
                assert_eq!(buffers, *wanted);
            }
            Err(_) => failed += 1,
        }
    }
    assert!(read > 1000 && failed > 100, "{read} components, {failed} files that fail");
}

#[test]
#[cfg_attr(miri, ignore = "decodes zstd")]
fn all_together_have_a_limit() {
    let file = zten_testkit::read_accepted("1.2.3/zstd.zt");
    let archive = Archive::open(&file).unwrap();
    let components: Vec<_> = archive.objects().flat_map(|object| object.components()).collect();
    let packed = components.iter().filter(|it| it.encoding() != zten::Encoding::Raw);
    let total: u64 = packed.map(|component| component.decoded_length().unwrap()).sum();
    assert!(total > 0);
    for (most, wanted) in [(total, None), (total - 1, Some("limit-decoded-total"))] {
        let limits = Limits::default().with_decoded_total(most);
        for threads in [1, 3] {
            let loader = loader(&file, &limits, threads);
            let result = loader.decode(components.iter().copied(), &file[..]);
            assert_eq!(result.err().and_then(|error| Error::from(error).id()), wanted);
        }
    }
}

/// Fails from the component on that begins at `from`.
struct Failing<'d> {
    file: &'d [u8],
    from: u64,
    reads: AtomicU32,
}

impl ReadAt for Failing<'_> {
    type Error = u64;

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), u64> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if offset >= self.from {
            return Err(offset);
        }
        self.file.read_at(offset, buffer).map_err(|_| u64::MAX)
    }
}

/// The first failure is the one that is told, and little is read after it.
#[test]
fn the_first_failure_is_told() {
    let file = zten_testkit::read_accepted("1.2.3/dense_all.zt");
    let archive = Archive::open(&file).unwrap();
    let mut components: Vec<_> = archive.objects().flat_map(|it| it.components()).collect();
    components.sort_by_key(|component| component.extent().offset());
    let from = components[4].extent().offset();
    for threads in [1, 2, 8] {
        for _ in 0..20 {
            let source = Failing { file: &file, from, reads: AtomicU32::new(0) };
            let loader = loader(&file, &Limits::default(), threads);
            let error = loader.decode(components.iter().copied(), &source).unwrap_err();
            assert_eq!(error, ReadError::Source(from), "{threads} threads");
            assert!(source.reads.into_inner() <= 4 + u32::try_from(threads).unwrap());
        }
    }
}

/// A component that is not supported keeps no other from being found invalid, in whichever thread.
#[test]
fn what_is_invalid_comes_before_what_is_not_supported() {
    let file = zten_testkit::read("v2/reject/digest-mismatch--v2-behind-a-digest.zt");
    let archive = Archive::open(&file).unwrap();
    let components: Vec<_> = archive.objects().flat_map(|object| object.components()).collect();
    for threads in [1, 2, 5] {
        let id = |components: &[Component<'_>]| {
            let loader = loader(&file, &Limits::default(), threads);
            let result = loader.decode(components.iter().copied(), &file[..]);
            result.err().and_then(|error| Error::from(error).id())
        };
        assert_eq!(id(&components), Some("digest-mismatch"));
        assert_eq!(id(&components[..1]), Some("unsupported-digest"));
    }
}
