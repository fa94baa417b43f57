//! Tests of components that are read whole on several threads: the bytes and errors are the same as on one thread.

use std::collections::HashSet;
use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use zten::error::Misuse;
use zten::verify::{Verified, Verifier};
use zten::write::{Checksum, Level, NewComponent, NewObject, WriteOptions};
use zten::{
    Archive, Component, DType, Encoding, Error, ErrorKind, Limits, Loader, OpenOptions, ReadAt,
};
use zten_testkit::{accepted, reads, reject_index, write};

/// Returns the components of all tensors of a file.
fn components<S: ReadAt>(archive: &Archive<S>) -> Vec<Component<'_>> {
    archive.tensors().flat_map(|tensor| tensor.components()).collect()
}

/// Returns a file with a tensor of each of `sizes`, in bytes. The tensors have no digests.
fn file(sizes: &[usize]) -> Vec<u8> {
    let options = WriteOptions::default().checksum(Checksum::None);
    let file = write(&options, |file| {
        let mut sizes = sizes.iter().enumerate();
        sizes.try_for_each(|(at, size)| {
            file.add(&format!("{at:05}"), &[*size as u64], &vec![7_u8; *size])
        })
    });
    file.unwrap()
}

/// The number of bytes to read for which the loader starts one thread.
const ONE: usize = 1 << 20;

/// Reads the components of `archive` one after another, and returns their bytes. If the reading of components fails, returns the
/// first error that does not say that a component is unsupported, or if there is no such error, the first one.
fn one_by_one<S: ReadAt>(archive: &Archive<S>) -> Result<Vec<Vec<u8>>, Error> {
    let read = |component: Component<'_>| {
        let decoded = component.read()?;
        if decoded.verified() == Verified::Unverifiable {
            // A component whose digest cannot be verified is not loaded. Only the verifier reports why.
            let mut verifier = Verifier::new(archive.manifest());
            return Err(verifier.object(&component.tensor(), |_, _| ()).unwrap_err());
        }
        Ok(decoded.to_vec())
    };
    let (mut all, mut unsupported) = (Vec::new(), None);
    for component in components(archive) {
        match read(component) {
            Ok(bytes) => all.push(bytes),
            // An invalid component further on is reported first, because it concerns everybody who uses the file.
            Err(error) if error.is_unsupported() => drop(unsupported.get_or_insert(error)),
            Err(error) => return Err(error),
        }
    }
    unsupported.map_or(Ok(all), Err)
}

#[test]
#[cfg_attr(miri, ignore = "reads the whole corpus")]
fn loading_equals_reading_one_by_one() {
    // Without large tensors in front of them, the small tensors of the corpus would all be read by a single thread.
    let large = file(&[ONE; 5]);
    let large = Archive::from_bytes(&large).unwrap();
    let (mut read, mut failed) = (0, 0);
    let files = accepted().map(|accepted| (accepted.bytes, OpenOptions::default()));
    let rejected = reject_index().map(|reject| (reject.read(), reject.options));
    for (file, options) in files.chain(rejected) {
        let options = options.limits(Limits::default());
        let Ok(archive) = options.from_bytes(&file) else { continue };
        let (first, components) = (components(&large), components(&archive));
        let wanted = one_by_one(&archive);
        for threads in [1, 2, 5] {
            let loader = Loader::new(archive.manifest()).threads(threads);
            let found = loader.read(first[..threads].iter().chain(&components).copied());
            let found =
                found.map(|all| all[threads..].iter().map(|one| one.to_vec()).collect::<Vec<_>>());
            assert_eq!(found, wanted);
        }
        match &wanted {
            Ok(wanted) => {
                read += wanted.len();
                let mut buffers: Vec<_> = wanted.iter().map(|one| vec![0xaa; one.len()]).collect();
                let mut room = vec![vec![0xaa; ONE]; 3];
                let first = first.iter().zip(&mut room);
                let targets = first.chain(components.iter().zip(&mut buffers));
                let mut targets: Vec<_> =
                    targets.map(|(component, buffer)| (*component, &mut buffer[..])).collect();
                Loader::new(archive.manifest()).threads(3).read_into(&mut targets).unwrap();
                assert_eq!(buffers, *wanted);
                assert!(room.iter().flatten().all(|byte| *byte == 7));
            }
            Err(_) => failed += 1,
        }
    }
    assert!(read > 1000 && failed > 100, "{read} components, {failed} files that fail");
}

/// A dense tensor of 1.x may have other components before `data`. The elements of a loaded tensor are those of `data`, and an error
/// names the tensor.
#[test]
fn loaded_elements_are_those_of_data() {
    let parts = [NewComponent::new("a", DType::F32, 1), NewComponent::new("data", DType::F32, 2)];
    let object = NewObject::custom("w", &[2], "dense", &parts);
    let [other, own] = [&[3.0_f32][..], &[1.5, 2.5]]
        .map(|floats| floats.iter().flat_map(|float| float.to_le_bytes()).collect::<Vec<u8>>());
    let file = write(&WriteOptions::default(), |file| {
        file.add_object(&object, &[("a", &other[..]), ("data", &own[..])])
    });
    let archive = Archive::from_bytes(file.unwrap()).unwrap();
    let loaded = archive.load().unwrap();
    if cfg!(target_endian = "little") {
        assert_eq!(loaded[0].as_slice::<f32>().unwrap(), [1.5, 2.5]);
    }
    let error = loaded[0].as_slice::<u8>().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Misuse(Misuse::Type)), "{error}");
    assert_eq!(error.tensor(), Some("w"));
}

#[test]
#[cfg_attr(miri, ignore = "decodes zstd")]
fn all_components_together_have_a_limit() {
    let large = file(&[ONE; 3]);
    let large = Archive::from_bytes(&large).unwrap();
    let file = zten_testkit::read_accepted("1.2.3/zstd.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let packed = components(&archive).into_iter().filter(|it| it.encoding() != Encoding::Raw);
    let total: u64 = packed.map(|component| component.decoded_length().unwrap()).sum();
    assert!(total > 0);
    for (most, wanted) in [(total, None), (total - 1, Some("limit-decoded-total"))] {
        let limits = Limits::default().with_decoded_total(most);
        let archive = OpenOptions::default().limits(limits).from_bytes(&file).unwrap();
        for threads in [1, 3] {
            let loader = Loader::new(archive.manifest()).threads(threads);
            let all = components(&large).into_iter().chain(components(&archive));
            let result = loader.read(all);
            assert_eq!(result.err().and_then(|error| error.rule()), wanted);
        }
    }
}

/// The first failure in the order of the file is returned, and few components after it are read.
#[test]
fn the_first_failure_is_returned() {
    let file = file(&[ONE; 9]);
    let archive = Archive::from_bytes(&file).unwrap();
    let components = components(&archive);
    let from = components[4].extent().offset();
    let before = u32::try_from(4 * ONE).unwrap().div_ceil(archive.limits().chunk());
    for threads in [1, 2, 8] {
        for _ in 0..20 {
            let count = AtomicU32::new(0);
            // The source fails at each read from the offset of one component on.
            let source = reads(|offset, buffer| {
                count.fetch_add(1, Ordering::Relaxed);
                if offset >= from {
                    return Err(io::Error::other(offset.to_string()).into());
                }
                file.read_at(offset, buffer)
            });
            let loader = Loader::new(archive.manifest()).threads(threads);
            let bound = components.iter().map(|component| component.read_from(&source));
            let error = loader.read(bound).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Read);
            assert_eq!(error.source().unwrap().to_string(), from.to_string(), "{threads} threads");
            assert_eq!(error.tensor(), Some(components[4].tensor().name()));
            assert!(count.load(Ordering::Relaxed) <= before + u32::try_from(threads).unwrap());
        }
    }
}

/// An unsupported component does not hide an invalid one, whichever threads read the two.
#[test]
fn invalid_components_are_reported_before_unsupported_ones() {
    let large = file(&[ONE; 5]);
    let large = Archive::from_bytes(&large).unwrap();
    let file = zten_testkit::read("v2/reject/digest-mismatch--v2-behind-a-digest.zt");
    let archive = Archive::from_bytes(&file).unwrap();
    let (first, components) = (components(&large), components(&archive));
    for threads in [1, 2, 5] {
        let id = |components: &[Component<'_>]| {
            let loader = Loader::new(archive.manifest()).threads(threads);
            let result = loader.read(first.iter().chain(components).copied());
            result.err().and_then(|error| error.rule())
        };
        assert_eq!(id(&components), Some("digest-mismatch"));
        assert_eq!(id(&components[..1]), Some("unsupported-digest"));
    }
}

/// A source that makes its first readers wait until `threads` threads are reading, so that the test knows that all of
/// them run.
struct Shared<'d> {
    file: &'d [u8],
    threads: usize,
    readers: Mutex<HashSet<ThreadId>>,
    all: Condvar,
}

impl ReadAt for Shared<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let mut readers = self.readers.lock().unwrap();
        if readers.insert(thread::current().id()) {
            self.all.notify_all();
            let too_few = |readers: &mut HashSet<_>| readers.len() < self.threads;
            // With too few threads, the test fails after this time instead of waiting forever.
            let long = Duration::from_secs(20);
            readers = self.all.wait_timeout_while(readers, long, too_few).unwrap().0;
        }
        drop(readers);
        // This gives threads that should not exist a chance to read, so that the test would see them.
        thread::yield_now();
        self.file.read_at(offset, buffer)
    }
}

/// Reads all of `file` with at most `most` threads, and checks that exactly `wanted` threads were used, each with a component.
fn is_read_on(file: &[u8], most: usize, wanted: usize) {
    let archive = Archive::from_bytes(file).unwrap();
    let read = |read: &dyn Fn(&Loader, &[Component<'_>])| {
        let (readers, all) = Default::default();
        let source = Shared { file, threads: wanted, readers, all };
        let bound: Vec<_> = components(&archive).iter().map(|it| it.read_from(&source)).collect();
        read(&Loader::new(archive.manifest()).threads(most), &bound);
        let readers = source.readers.lock().unwrap();
        assert_eq!(readers.len(), wanted, "{} components, {most} threads", bound.len());
        assert!(wanted != 1 || readers.contains(&thread::current().id()), "it is the caller's");
    };
    read(&|loader, components| {
        loader.read(components.iter().copied()).unwrap();
    });
    read(&|loader, components| {
        let length = |it: &Component<'_>| usize::try_from(it.decoded_length().unwrap()).unwrap();
        let mut room: Vec<_> = components.iter().map(|it| vec![0; length(it)]).collect();
        let targets = components.iter().zip(&mut room);
        let mut targets: Vec<_> = targets.map(|(it, room)| (*it, &mut room[..])).collect();
        loader.read_into(&mut targets).unwrap();
    });
}

/// Starting a thread takes longer than reading less than 1 MiB, so each thread must have that much to read.
#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn each_thread_has_a_mebibyte_to_read() {
    for (sizes, most, wanted) in [
        (&[][..], 8, 0),
        (&[0; 1000], 8, 0),
        (&[ONE - 1], 8, 1),
        (&[1000; 1000], 8, 1),
        (&[ONE / 2; 2], 8, 1),
        (&[ONE, ONE - 1], 8, 1),
        (&[ONE, ONE], 8, 2),
        (&[ONE / 2; 11], 8, 5),
        (&[ONE / 2; 11], 3, 3),
        (&[ONE; 5], 1, 1),
        (&[ONE; 5], 0, 1),
    ] {
        is_read_on(&file(sizes), most, wanted);
    }
}

/// The number of threads depends on the decoded bytes, even if few bytes are stored.
#[test]
#[cfg_attr(miri, ignore = "it is a matter of sizes")]
fn decoded_bytes_count_as_work() {
    let options = WriteOptions::default().compressed(Level::default());
    let part = ONE * 3 / 4;
    let file = write(&options, |file| {
        let mut names = ["a", "b", "c", "d"].into_iter();
        names.try_for_each(|name| file.add(name, &[part as u64], &vec![0_u8; part]))
    });
    let file = file.unwrap();
    assert!(file.len() < ONE);
    is_read_on(&file, 8, 3);
}
