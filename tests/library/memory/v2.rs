//! Tests of the heap while a file of generation 2 is opened: at most 12 × the manifest plus 64 KiB for any input, and at most 1.3 ×
//! the manifest for ordinary manifests.

use zten::{Error, OpenOptions, ReadAt};
use zten_corpus::cbor::{push_head as head, push_text as text};
use zten_corpus::file::MAGIC_V2;
use zten_corpus::v2::footer;
use zten_testkit::{Shards, generate, heap_bound};

use super::peak;

const MAP: u8 = 5;
/// An offset so large that positions in units of 4,096 bytes need more than 32 bits from there on.
const FAR: u64 = 1 << 44;

/// Opens a file of [`LENGTH`] bytes with `manifest` near its start. Checks the heap, and returns the ratio of the
/// heap to the manifest, and the result of opening.
fn bounded(manifest: &[u8], what: &str) -> (f64, Result<(), Error>) {
    let footer = footer(manifest, 4096);
    let (peak, opened) = peak(|| {
        let source = Sparse { manifest, footer: &footer };
        OpenOptions::default().open_source(source, LENGTH).map(drop)
    });
    let bound = heap_bound(manifest.len() as u64);
    assert!(peak <= bound, "{what}: {peak} bytes of heap for {} of manifest", manifest.len());
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    let share = peak as f64 / manifest.len() as f64;
    println!("{what}: {share:.3} of {} bytes", manifest.len());
    (share, opened)
}

/// The length of the file in bytes.
const LENGTH: u64 = 1 << 62;

/// A file of generation 2 that has only its header, its manifest at offset 4096 and its footer in memory.
struct Sparse<'m> {
    manifest: &'m [u8],
    footer: &'m [u8],
}

impl ReadAt for Sparse<'_> {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let from = match offset {
            0 => MAGIC_V2,
            4096 => self.manifest,
            _ => self.footer,
        };
        buffer.copy_from_slice(&from[..buffer.len()]);
        Ok(())
    }

    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        self.manifest.get(..length).filter(|_| offset == 4096)
    }

    fn is_immutable(&self) -> bool {
        true
    }
}

/// Returns the shortest possible names in the order that generation 2 requires.
fn short_names() -> impl Iterator<Item = String> {
    let digits = |number: usize, length: u32| -> String {
        (0..length)
            .rev()
            .map(|at| char::from(u8::try_from(1 + number / 126_usize.pow(at) % 126).unwrap()))
            .collect()
    };
    (1..5).flat_map(move |length| (0..126_usize.pow(length)).map(move |at| digits(at, length)))
}

/// Where the generated blobs lie, and how many shards hold them.
#[derive(Clone, Copy, Debug)]
struct Blobs {
    far: bool,
    /// Whether each blob begins before the blob of the previous component.
    falling: bool,
    same: bool,
    shards: usize,
}

impl Blobs {
    fn all() -> impl Iterator<Item = Self> {
        let shards = [0, 1, 7].into_iter();
        shards.flat_map(|shards| {
            (0..8_u8).map(move |bits| Self {
                far: bits & 1 != 0,
                falling: bits & 2 != 0,
                same: bits & 4 != 0,
                shards,
            })
        })
    }

    fn offset(self, at: usize, count: usize) -> u64 {
        let at = if self.falling { count - at } else { at };
        if self.same && (at > 0 || !self.far) {
            // In a shard, offsets of three bytes are large enough. Blobs in the same file as the manifest must come
            // after the manifest, so their offsets are larger.
            return if self.shards > 0 { 4096 } else { 1 << 31 } * (1 + at as u64 % 3);
        }
        (at as u64 + 5) * (1 << 20) + if self.far { FAR } else { 0 }
    }

    fn table(self, out: &mut Vec<u8>) {
        if self.shards > 0 {
            text(out, "shards");
            head(out, MAP, self.shards as u64);
            for at in 0..self.shards {
                text(out, &at.to_string());
                shard(out);
            }
        }
    }

    fn part(self, out: &mut Vec<u8>, at: usize, count: usize) {
        head(out, MAP, if self.shards > 0 { 3 } else { 2 });
        text(out, "blob");
        head(out, 4, 2);
        head(out, 0, self.offset(at, count));
        head(out, 0, 1);
        text(out, "dtype");
        text(out, "u8");
        if self.shards > 0 {
            text(out, "shard");
            text(out, &(at % self.shards).to_string());
        }
    }
}

/// Appends the entry of the largest possible shard, in as few bytes as possible, to the table of shards in `out`.
fn shard(out: &mut Vec<u8>) {
    head(out, MAP, 2);
    text(out, "size");
    head(out, 0, u64::MAX);
    text(out, "digest");
    text(out, "a:0");
}

/// Returns a manifest with one object of an unknown layout and `count` parts.
fn parts(count: usize, blobs: Blobs) -> Vec<u8> {
    let mut out = Vec::new();
    head(&mut out, MAP, if blobs.shards > 0 { 2 } else { 1 });
    blobs.table(&mut out);
    text(&mut out, "objects");
    head(&mut out, MAP, 1);
    text(&mut out, "w");
    head(&mut out, MAP, 3);
    text(&mut out, "parts");
    head(&mut out, MAP, count as u64);
    for (at, name) in short_names().take(count).enumerate() {
        text(&mut out, &name);
        blobs.part(&mut out, at, count);
    }
    text(&mut out, "shape");
    head(&mut out, 4, 0);
    text(&mut out, "layout");
    text(&mut out, "");
    out
}

/// Returns a manifest of objects called `names`, each with one part.
fn objects(names: &[String], blobs: Blobs) -> Vec<u8> {
    let mut out = Vec::new();
    head(&mut out, MAP, if blobs.shards > 0 { 2 } else { 1 });
    blobs.table(&mut out);
    text(&mut out, "objects");
    head(&mut out, MAP, names.len() as u64);
    for (at, name) in names.iter().enumerate() {
        text(&mut out, name);
        head(&mut out, MAP, 3);
        text(&mut out, "parts");
        head(&mut out, MAP, 1);
        text(&mut out, "data");
        blobs.part(&mut out, at, names.len());
        text(&mut out, "shape");
        head(&mut out, 4, 1);
        head(&mut out, 0, 1);
        text(&mut out, "layout");
        text(&mut out, "dense");
    }
    out
}

#[test]
fn blobs_in_any_arrangement_are_bounded() {
    for count in [1, 100, 5_000, 70_001] {
        for blobs in Blobs::all() {
            let (_, opened) = bounded(&parts(count, blobs), &format!("{count} parts, {blobs:?}"));
            opened.unwrap();
        }
    }
}

#[test]
fn the_smallest_objects_are_bounded() {
    for count in [1, 100, 5_000, 70_001] {
        let names: Vec<String> = short_names().take(count).collect();
        for blobs in Blobs::all() {
            let what = format!("{count} objects, {blobs:?}");
            bounded(&objects(&names, blobs), &what).1.unwrap();
        }
    }
}

#[test]
fn ordinary_manifests_take_less_than_they_are() {
    let mut names = generate::names(50_000);
    names.sort_by_key(|name| (name.len(), name.clone()));
    for blobs in Blobs::all().filter(|blobs| blobs.shards == 0 && !blobs.far) {
        let (share, opened) = bounded(&objects(&names, blobs), &format!("ordinary, {blobs:?}"));
        opened.unwrap();
        assert!(share <= 1.3, "{blobs:?}: {share:.3} of the manifest");
    }
}

/// Overlaps of blobs in shards, too, are found within the bounds on the heap of opening.
#[test]
fn overlaps_are_found_within_the_bounds() {
    for shards in [0, 1, 7] {
        for bits in 0..4_u8 {
            let (far, same) = (bits & 1 != 0, bits & 2 != 0);
            let blobs = Blobs { far, falling: !same, same, shards };
            let mut manifest = parts(5_000, blobs);
            // The last blob becomes longer, and so overlaps the blobs that follow it in the file or begin at the same offset.
            let at = manifest.windows(4).rposition(|four| four == b"dtyp").unwrap() - 2;
            assert_eq!(manifest[at], 1);
            manifest.splice(at..=at, [0x1a, 0x7f, 0xff, 0xff, 0xff]);
            let (_, opened) = bounded(&manifest, &format!("overlap, {blobs:?}"));
            assert_eq!(opened.unwrap_err().rule(), Some("blob-overlap"), "{blobs:?}");
        }
    }
}

#[test]
fn tables_of_shards_are_bounded() {
    for count in [1, 100, 10_000] {
        for used in [false, true] {
            let mut out = Vec::new();
            head(&mut out, MAP, 2);
            text(&mut out, "shards");
            head(&mut out, MAP, count);
            let mut names: Vec<String> = (0..count).map(|at| at.to_string()).collect();
            names.sort_by_key(|name| (name.len(), name.clone()));
            for name in &names {
                text(&mut out, name);
                shard(&mut out);
            }
            let blobs = Blobs { far: true, falling: true, same: false, shards: usize::from(used) };
            let rest = parts(1, blobs);
            let from = rest.windows(8).position(|eight| eight == b"\x67objects").unwrap();
            out.extend(&rest[from..]);
            bounded(&out, &format!("{count} shards, used {used}")).1.unwrap();
        }
    }
}

#[test]
fn claims_allocate_nothing() {
    let object = |rest: &[u8]| [&b"\xa1\x67objects\xa1\x61w\xa3\x65parts"[..], rest].concat();
    for manifest in [
        b"\xba\xff\xff\xff\xff".to_vec(),
        b"\xa1\x66shards\xba\xff\xff\xff\xff".to_vec(),
        b"\xa1\x67objects\xba\xff\xff\xff\xff\x61w".to_vec(),
        object(b"\xba\xff\xff\xff\xff\x61a"),
        object(b"\xa1\x61a\xa2\x64blob\x9a\xff\xff\xff\xff"),
        object(b"\xa1\x7a\xff\xff\xff\xff"),
    ] {
        let (_, opened) = bounded(&manifest, "claims");
        assert!(opened.unwrap_err().rule().is_some());
    }
}

/// Verifying a shard takes no more heap than `docs/limits.md` states. This holds for a shard with many parts that have no digests,
/// and for a shard with one large part.
#[test]
fn verifying_shards_is_bounded() {
    use zten_corpus::cbor::{fields, text as name, uint};
    use zten_corpus::v2::{FileV2, file, object, part};

    for (count, length) in [(0, 0), (1, 8 << 20), (2000, 1), (500, 5000)] {
        let stride = u64::next_multiple_of(length.max(1), 4096);
        let end = 4096 + stride * count;
        let shard = FileV2::shard().blob(4096, &vec![1; usize::try_from(end).unwrap()]).bytes();
        let digest = format!("xxh3:{:016x}", twox_hash::XxHash3_64::oneshot(&shard));
        let entry = fields([("size", uint(shard.len() as u64)), ("digest", name(&digest))]);
        let names: Vec<String> = (0..count).map(|at| format!("{at:05}")).collect();
        let blob = |at: u64| part("u8", 4096 + stride * at, length);
        let objects = names.iter().zip(0..);
        let objects = objects
            .map(|(own, at)| (own.as_str(), object(&[length], "dense", vec![("data", blob(at))])));
        let mut root = file(objects).set("shards", fields([("s", entry)]));
        for own in &names {
            root = root.set(&format!("{own}:data/shard"), name("s"));
        }
        let root = root.bytes();
        let archive = zten::Archive::from_bytes(&root).unwrap();
        let find = Shards(|_: &str| Some((&shard[..], shard.len())));
        let mut shards = archive.manifest().bind_shards(&find).unwrap();
        let (peak, verified) = peak(|| shards.verify());
        verified.unwrap();
        let blocks = count * length.div_ceil(256 << 10);
        let bound = 2 * (24 * count + 56 * blocks) + 512;
        println!("{count} parts of {length}: {peak} of {bound}");
        assert!(peak <= bound, "{count} parts of {length}: {peak}");
    }
}
