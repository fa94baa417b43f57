//! Tests of the heap while a file is opened: at most 12 × the manifest plus 64 KiB for any input, and at most 1.3 × the manifest
//! for ordinary manifests.

mod v2;

use zten::OpenOptions;
use zten_testkit::generate::{self, File};
use zten_testkit::{Far, heap_bound, open_in_steps};

/// Runs `run`, and returns the largest number of bytes on the heap meanwhile, and the result of `run`.
fn peak<T>(run: impl FnOnce() -> T) -> (u64, T) {
    let mut result = None;
    let info = allocation_counter::measure(|| result = Some(run()));
    (info.bytes_max, result.unwrap())
}

/// Opens a file, and checks that opening takes no more heap than the bound that holds for any input. Returns the largest heap in
/// bytes, and the result of opening.
fn bounded(file: &File, what: &str) -> (u64, Result<(), zten::Error>) {
    let (peak, opened) = peak(|| file.open().map(drop));
    let bound = heap_bound(file.manifest.len() as u64);
    assert!(peak <= bound, "{what}: {peak} bytes of heap for {} of manifest", file.manifest.len());
    (peak, opened)
}

#[test]
fn ordinary_manifests_take_less_than_they_are() {
    let sorted = generate::names(100_000);
    for (shuffled, names) in [(false, sorted.clone()), (true, generate::shuffled(sorted))] {
        for digests in [false, true] {
            for disorder in [false, true] {
                let file = generate::dense(&names, digests, disorder);
                let (peak, opened) = bounded(&file, "ordinary");
                opened.unwrap();
                #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
                let share = peak as f64 / file.manifest.len() as f64;
                let what = format!("shuffled {shuffled}, digests {digests}, disorder {disorder}");
                println!("{what}: {share:.3} of the manifest");
                assert!(share <= 1.3, "{what}: {share:.3} of the manifest");
            }
        }
    }
}

#[test]
fn the_smallest_objects_are_bounded() {
    for component in [false, true] {
        for indefinite in [false, true] {
            for count in [1, 2, 100, 1000, 4097, 100_000, 131_073] {
                let what = format!("{count}, component {component}, indefinite {indefinite}");
                let file = generate::smallest(count, component, indefinite);
                bounded(&file, &what).1.unwrap_or_else(|error| panic!("{what}: {error}"));
            }
        }
    }
}

#[test]
fn claims_allocate_nothing() {
    for file in generate::claims() {
        let (peak, opened) = bounded(&file, "claim");
        assert!(opened.is_err());
        assert!(peak < 1024, "{peak} bytes for a claim");
    }
    let (peak, opened) = bounded(&generate::nested(1_000_000), "nested");
    assert_eq!(opened.unwrap_err().rule(), Some("limit-depth"));
    assert!(peak < 1024, "{peak} bytes for depth");
}

#[test]
fn unsorted_names_and_blobs_are_bounded() {
    for count in [100, 5_000, 100_000] {
        let (_, opened) = bounded(&generate::same_names(count), "same names");
        assert_eq!(opened.unwrap_err().rule(), Some("duplicate-name"));
        let (_, opened) = bounded(&generate::same_blobs(count), "same blobs");
        assert_eq!(opened.unwrap_err().rule(), Some("blob-overlap"));
    }
    for count in [10, 300, 4096] {
        let (_, opened) = bounded(&generate::attributes(count, 3), "attributes");
        opened.unwrap();
    }
}

/// Opening sorts names and blobs to find duplicate names and overlapping blobs. If the file has them in ascending
/// order, no memory is needed for sorting.
#[test]
fn sorted_names_and_blobs_need_only_the_index() {
    let mut names = generate::names(10_000);
    names.sort();
    let file = generate::dense(&names, false, false);
    let (peak, index) = peak(|| file.open().map(|archive| archive.manifest().index_bytes()));
    let index = index.unwrap() as u64;
    assert!(peak < index + index / 8, "{peak} bytes of heap for an index of {index}");
}

/// The index reports its own heap correctly, together with the table for looking up names.
#[test]
fn the_index_knows_its_heap() {
    let mut sorted = generate::names(10_000);
    sorted.sort();
    let wanted = sorted[777].clone();
    for (ascending, names) in [(true, sorted.clone()), (false, generate::shuffled(sorted))] {
        let file = generate::dense(&names, false, false);
        let mut opened = None;
        let opening = allocation_counter::measure(|| opened = Some(file.open().unwrap()));
        let manifest = opened.unwrap();
        let before = manifest.manifest().index_bytes();
        assert_eq!(usize::try_from(opening.bytes_current), Ok(before), "ascending {ascending}");
        let looking = allocation_counter::measure(|| assert!(manifest.get(&wanted).is_some()));
        let table = if ascending { 8 * names.len() } else { 0 };
        assert_eq!(usize::try_from(looking.bytes_current), Ok(table), "ascending {ascending}");
        assert_eq!(manifest.manifest().index_bytes(), before + table, "ascending {ascending}");
    }
}

#[test]
fn sorted_rows_are_searched_without_heap() {
    let file = zten_testkit::read_accepted("v12-csr.zt");
    let archive = zten::Archive::from_bytes(&file).unwrap();
    let csr = archive.get("w").unwrap().csr().unwrap();
    assert_eq!(peak(|| csr.has_duplicates().unwrap()), (0, false));
}

/// A source that claims a length, its field, but has only a few zeros.
#[cfg(feature = "std")]
struct Claimed(u64);

#[cfg(feature = "std")]
impl zten::ReadAt for Claimed {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), zten::Error> {
        if offset + buffer.len() as u64 > self.0 {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
        }
        buffer.fill(0);
        Ok(())
    }
}

#[cfg(feature = "std")]
#[test]
fn memory_of_reading_follows_the_bytes_that_arrive() {
    use zten::ReadAt as _;
    for there in [0_u64, 1, 1 << 20, (1 << 20) + 1, 5 << 20] {
        let mut bytes = Vec::new();
        let (peak, read) = peak(|| Claimed(there).append_range(0..1 << 40, &mut bytes));
        assert!(read.is_err());
        // A vector that grows holds its old and its new allocation for a moment, half as much again.
        let most = (1 << 20) + 3 * there;
        assert!(peak <= most, "{there}: {peak} bytes of heap");
        let (mut bytes, end) = (vec![7; 3], there.min(3 << 20));
        Claimed(there).append_range(1.min(end)..end, &mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, 3 + end - 1.min(end));
        assert_eq!((&bytes[..3], bytes[3..].iter().any(|byte| *byte != 0)), (&[7; 3][..], false));
    }
}

#[cfg(feature = "write")]
#[test]
fn reading_content_takes_one_chunk() {
    use zten::write::WriteOptions;
    let bytes: Vec<u8> = (0..100_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    let add = |writer: &mut zten::Writer<_>| writer.add("x", &[100_000], &bytes);
    let file = zten_testkit::write(&WriteOptions::default(), add).unwrap();
    for (asked, chunk) in [(0, 16), (17, 16), (1000, 992), (65_536, 65_536), (u32::MAX, 65_536)] {
        let limits = zten::Limits::default().with_chunk(asked);
        let archive = OpenOptions::default().limits(limits).from_bytes(&file).unwrap();
        let far = Far(&file);
        let component = archive.get("x").unwrap().component("data").unwrap().read_from(&far);
        let (peak, read) = peak(|| {
            let mut content = component.reader().unwrap();
            let mut read = 0;
            while let Some(piece) = content.next_chunk().unwrap() {
                assert_eq!(piece.len(), (bytes.len() - read).min(chunk));
                assert_eq!(piece, &bytes[read..read + piece.len()]);
                read += piece.len();
            }
            assert_eq!(content.verified(), Some(zten::verify::Verified::Digest));
            read
        });
        assert_eq!((read, peak), (bytes.len(), chunk as u64), "{asked}");
    }
    assert_eq!(zten::Limits::embedded().chunk(), 1024);
}

/// A sink that drops all bytes that are written to it.
#[cfg(feature = "write")]
struct Nowhere;

#[cfg(feature = "write")]
impl zten::write::Sink for Nowhere {
    type Output = ();

    fn write(&mut self, _: &[u8]) -> Result<(), zten::Error> {
        Ok(())
    }

    fn finish(self) -> Result<(), zten::Error> {
        Ok(())
    }
}

/// `finish` opens the written manifest to check it. In addition to the manifest, this takes as much heap as opening
/// an ordinary file.
#[cfg(feature = "write")]
#[test]
fn finishing_a_file_takes_as_much_as_opening_it() {
    use zten::write::{Encoded, WriteOptions, Writer};
    let mut names = generate::names(10_000);
    for sorted in [false, true] {
        if sorted {
            names.sort();
        }
        for objects in [0, 1, 100, 10_000] {
            let mut writer = Writer::new(Nowhere, &WriteOptions::default()).unwrap();
            let attributes = [&b"\xa1\x61a\x59\x04\x00"[..], &[0; 1024]].concat();
            writer.attributes_encoded(&Encoded::from_cbor(attributes)).unwrap();
            let mut manifest = 1024;
            for name in &names[..objects] {
                writer.add(name, &[1], &[1_u8]).unwrap();
                manifest += name.len() as u64 + 100;
            }
            let (peak, finished) = peak(|| writer.finish());
            finished.unwrap();
            assert!(peak <= manifest + 4096, "{peak} bytes of heap for {objects} objects");
        }
    }
}

#[test]
fn binding_takes_no_heap() {
    let file = zten_testkit::read_accepted("1.2.3/dense_all.zt");
    let archive = zten::Archive::from_bytes(&file).unwrap();
    let (peak, sum) = peak(|| {
        let view = archive.get("t_f32").unwrap().dense().unwrap().view().unwrap();
        view.elements::<f32>().unwrap().sum::<f32>()
    });
    assert!(sum.is_finite());
    assert_eq!(peak, 0);
}

/// The supplied manifest is moved into the archive, not copied.
#[test]
fn opening_without_io_holds_the_manifest_once() {
    let file = generate::dense(&generate::names(100_000), true, false);
    let manifest = file.manifest.len() as u64;
    let (opened, ()) = peak(|| file.open().map(drop).unwrap());
    let (in_steps, ()) = peak(|| {
        let length = usize::try_from(file.data).unwrap() + file.manifest.len() + 16;
        open_in_steps("x.zt", (&file.source(), length), &OpenOptions::default()).map(drop).unwrap();
    });
    let most = opened + manifest + (64 << 10);
    assert!(in_steps <= most, "{in_steps} bytes of heap for {manifest} of manifest, of {most}");
}
