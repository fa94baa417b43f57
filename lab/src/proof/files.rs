//! Generates files of any size that are expensive for each part of the library.

mod attributes;
mod content;
mod extents;
mod items;
mod names;
mod old;
mod packed;

use crate::proof::described::Description;

/// A generated file, and the size of its decoded content.
pub struct Made {
    /// The bytes of the file.
    pub file: Vec<u8>,
    /// The number of decoded bytes of all compressed components.
    pub decoded: u64,
}

impl From<Vec<u8>> for Made {
    fn from(file: Vec<u8>) -> Self {
        Self { file, decoded: 0 }
    }
}

/// An operation on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// Opening the file.
    Open,
    /// Opening the file as canonical.
    OpenCanonical,
    /// Opening the file, and validating all content.
    Check,
    /// Opening the file as canonical, and validating all content.
    CheckCanonical,
    /// Opening the file, and copying it into the canonical form.
    Copy,
}

impl Call {
    /// Returns the name of the guest's function, and whether the guest opens the file as canonical.
    pub fn guest(self) -> (&'static str, bool) {
        match self {
            Self::Open => ("open", false),
            Self::OpenCanonical => ("open", true),
            Self::Check => ("check", false),
            Self::CheckCanonical => ("check", true),
            Self::Copy => ("copy", false),
        }
    }

    /// Returns the name of the call in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::OpenCanonical => "open, canonical",
            Self::Check => "check",
            Self::CheckCanonical => "check, canonical",
            Self::Copy => "copy",
        }
    }
}

/// The expected outcome of a call, and the bound on its work.
pub struct Wanted {
    /// The call that the guest makes.
    pub call: Call,
    /// The rule that the file breaks, if it breaks one.
    pub rule: &'static str,
    /// The largest number of instructions for each byte of the file, and of its decoded content unless the call only opens it.
    pub ceiling: u64,
}

/// A kind of file that is expensive for some part of the library, and the work that is expected for it.
pub struct Generator {
    /// The name in the table.
    pub name: &'static str,
    /// Makes a file of about the given number of bytes.
    pub make: Box<dyn Fn(usize) -> Made + Sync>,
    /// The smallest measured size in KiB.
    pub from: usize,
    /// The calls to make, with their expected outcomes.
    pub wanted: Vec<Wanted>,
}

impl Generator {
    fn call(mut self, call: Call, ceiling: u64) -> Self {
        self.wanted.push(Wanted { call, rule: "", ceiling });
        self
    }

    fn rejected(mut self, call: Call, rule: &'static str, ceiling: u64) -> Self {
        self.wanted.push(Wanted { call, rule, ceiling });
        self
    }

    fn from(mut self, from: usize) -> Self {
        self.from = from;
        self
    }
}

/// Describes the kind of file `name`.
fn kind<M: Into<Made>>(
    name: &'static str,
    make: impl Fn(usize) -> M + Sync + 'static,
) -> Generator {
    Generator { name, make: Box::new(move |size| make(size).into()), from: 32, wanted: Vec::new() }
}

/// Returns all kinds of files.
pub fn all() -> Vec<Generator> {
    [names_and_blobs(), ignored(), attributes(), found(), content(), packed()]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns files with expensive names and offsets of blobs.
fn names_and_blobs() -> Vec<Generator> {
    use Call::{Check, Copy, Open};
    let names = |order, name| kind(name, move |size| names::objects(size, order));
    let extents = |kind_of, name| kind(name, move |size| extents::blobs(size, kind_of));
    vec![
        names(names::Order::Sorted, "names sorted").call(Open, 35).call(Check, 70).call(Copy, 820),
        names(names::Order::Reversed, "names reversed")
            .call(Open, 45)
            .call(Check, 80)
            .call(Copy, 830),
        names(names::Order::Shuffled, "names shuffled")
            .call(Open, 45)
            .call(Check, 80)
            .call(Copy, 830),
        names(names::Order::Twice, "the last name twice").rejected(Open, "duplicate-name", 45),
        kind("names that begin with the same 60 KB", names::huge)
            .from(1024)
            .call(Open, 40)
            .call(Check, 40)
            .call(Copy, 345),
        kind("names whose hashes collide", names::colliding)
            .call(Open, 175)
            .call(Check, 210)
            .call(Copy, 710),
        kind("names within names", names::nested).call(Open, 45).call(Check, 60).call(Copy, 420),
        kind("one huge name, then tiny ones", names::growing).call(Open, 30).call(Check, 45),
        // Extents.
        extents(extents::Kind::Descending, "blobs descending").call(Open, 25).call(Check, 45),
        extents(extents::Kind::Shuffled, "blobs shuffled").call(Open, 25).call(Check, 45),
        extents(extents::Kind::Nested, "blobs within blobs").rejected(Open, "blob-overlap", 19),
        extents(extents::Kind::LastOverlaps, "the last blobs overlap").rejected(
            Open,
            "blob-overlap",
            30,
        ),
        extents(extents::Kind::Empty, "empty blobs descending").call(Open, 18).call(Check, 40),
        extents(extents::Kind::EmptyAlike, "one empty blob for all").call(Open, 18).call(Check, 40),
    ]
}

/// Returns files with expensive CBOR in ignored fields.
fn ignored() -> Vec<Generator> {
    use Call::Open;
    let item =
        |name, item: fn(usize) -> Vec<u8>| kind(name, move |size| items::ignored(item(size)));
    vec![
        item("arrays in arrays", |size| items::towers(size, &[0x81], &[0], &[])).call(Open, 175),
        item("endless arrays in arrays", |size| items::towers(size, &[0x9f], &[], &[0xff]))
            .call(Open, 170),
        item("maps in maps", |size| items::towers(size, &[0xa1, 0], &[0], &[])).call(Open, 135),
        item("maps as keys of maps", |size| items::towers(size, &[0xa1], &[0], &[0]))
            .call(Open, 135),
        item("tags on tags", |size| items::towers(size, &[0xc0], &[0], &[])).call(Open, 175),
        item("a wide array", items::wide_array).call(Open, 95),
        item("a wide map", items::wide_map).call(Open, 60),
        item("empty chunks", |size| items::chunks(size, &[0x60])).call(Open, 135),
        item("empty chunked texts", |size| items::many(size, &[0x7f, 0xff])).call(Open, 135),
        item("texts beyond ASCII", |size| items::many(size, "eé€".as_bytes())).call(Open, 80),
        item("a reserved byte at the end", items::reserved).rejected(Open, "cbor-reserved", 95),
    ]
}

/// Returns files with expensive attributes and fields.
fn attributes() -> Vec<Generator> {
    use Call::{Check, Copy, Open, OpenCanonical};
    let value =
        |name, item: fn(usize) -> Vec<u8>| kind(name, move |size| items::attribute(item(size)));
    vec![
        value("attribute: arrays in arrays", |size| items::towers(size, &[0x81], &[0], &[]))
            .call(Open, 175)
            .call(OpenCanonical, 650)
            .call(Copy, 1705),
        value("attribute: endless arrays in arrays", |size| {
            items::towers(size, &[0x9f], &[], &[0xff])
        })
        .call(Open, 170)
        .call(Copy, 1355),
        value("attribute: one endless tower", items::endless).call(Open, 95).call(Copy, 1085),
        value("attribute: maps as keys of maps", |size| items::towers(size, &[0xa1], &[0], &[0]))
            .call(OpenCanonical, 535)
            .call(Copy, 1470),
        value("attribute: keys that are much alike", items::alike_keys)
            .call(OpenCanonical, 790)
            .call(Copy, 1830),
        value("attribute: keys reversed at each level", items::reversed_levels).call(Copy, 1045),
        value("attribute: a wide map reversed", items::reversed_map)
            .rejected(OpenCanonical, "canonical-cbor", 60)
            .call(Copy, 775),
        value("attribute: the last key twice", items::twice_map).rejected(
            Copy,
            "duplicate-key",
            1180,
        ),
        value("attribute: empty chunks", |size| items::chunks(size, &[0x60])).call(Copy, 805),
        kind("4,096 attributes each", |size| attributes::maps(size, 4096, 1))
            .call(Open, 325)
            .call(Copy, 1960),
        kind("4,096 attributes each, shuffled", attributes::shuffled).call(Open, 325),
        kind("attributes with prefixes in common", attributes::prefixes).call(Open, 140),
        kind("attributes whose hashes collide", attributes::colliding).call(Open, 330),
        kind("9 attributes each", |size| attributes::maps(size, 9, 1))
            .call(Open, 115)
            .call(Copy, 870),
        kind("attributes that divide slowly", attributes::slow).call(Open, 95).call(Copy, 620),
        kind("the last attribute twice", attributes::twice).rejected(Open, "duplicate-key", 325),
        kind("fields behind unknown keys", attributes::unknown)
            .call(Open, 325)
            .call(Check, 545)
            .call(Copy, 665),
    ]
}

/// Returns generators of the files that took most instructions a byte to open, one for each kind of manifest. A random
/// search found them.
fn found() -> Vec<Generator> {
    use Call::Open;
    let kind = |name, text: &str| {
        let found: Description = text.parse().expect("a description");
        kind(name, move |size| found.clone().sized(size).file())
    };
    vec![
        kind(
            "found: attributes",
            "attributes count=3882 digits=3 spread=20 prefix=60 suffix=38 letters=1 order=1 twice=1 \
             colliding=1 shuffle=5 other=8 every=8 inner=8",
        )
        .from(256)
        .rejected(Open, "duplicate-key", 465),
        kind(
            "found: entries of 0.1",
            "entries count=3753 digits=3 spread=15 prefix=3 suffix=43 letters=2 order=1 twice=1 \
             colliding=1 shuffle=1 open=10 other=12 inner=2",
        )
        .from(256)
        .rejected(Open, "duplicate-key", 465),
        kind(
            "found: unknown fields",
            "fields open=8 other=8 depth=54 inner=8 root=2 object=2 components=1 component=2 \
             attributes-head=1 objects=8",
        )
        .call(Open, 270),
        kind(
            "found: roles",
            "roles count=3155 digits=5 spread=1 prefix=60 suffix=13 letters=3 order=1 twice=1 \
             colliding=1 head=2 component-head=2 fields=2",
        )
        .from(256)
        .rejected(Open, "duplicate-key", 350),
        kind("found: items", "items open=7 other=8 every=1 depth=61 inner=2").call(Open, 225),
    ]
}

/// Returns files with expensive uncompressed content.
fn content() -> Vec<Generator> {
    use Call::{Check, CheckCanonical, Copy, Open};
    vec![
        kind("components of no bytes", content::empty)
            .call(Open, 55)
            .call(Check, 135)
            .call(Copy, 1260),
        kind("components of one byte", content::tiny)
            .call(Open, 19)
            .call(Check, 50)
            .call(Copy, 450),
        kind("bools", content::bools).call(Check, 11).call(Copy, 125),
        kind("the last bool is 2", content::bad_bool).rejected(Check, "bool-value", 35),
        kind("sha256", content::sha256).call(Check, 105),
        kind("sha256 of tiny components", content::tiny_sha256).call(Check, 110),
        kind("sha256, wrong", content::bad_sha256).rejected(Check, "digest-mismatch", 105),
        kind("crc32c, wrong", content::bad_crc32c).rejected(Check, "digest-mismatch", 19),
        kind("csr: empty rows", content::rows).call(Check, 8).call(Copy, 120),
        kind("csr: tiny objects", content::tiny_csr).call(Open, 30).call(Check, 75).call(Copy, 530),
        kind("coo: 64 dimensions", content::coo).call(Check, 9).call(Copy, 120),
        kind("coo: i8 in 1.1", content::narrow_coo).call(Check, 60).call(Copy, 1010),
        kind("coo: the last index is too large", content::bad_coo).rejected(
            Check,
            "index-range",
            8,
        ),
        kind("canonical file", content::canonical).call(CheckCanonical, 195),
    ]
}

/// Returns files with expensive compressed content, and files of generation 0.1.
fn packed() -> Vec<Generator> {
    use Call::{Check, Copy, Open};
    let zstd = |name, frame: fn(usize) -> packed::Content| {
        kind(name, move |size| packed::one(frame(size)))
    };
    vec![
        zstd("zstd: empty raw blocks", |size| packed::blocks(size, 0, packed::Block::Raw))
            .call(Check, 470),
        zstd("zstd: empty repeated blocks", |size| packed::blocks(size, 0, packed::Block::Repeat))
            .call(Check, 270),
        zstd("zstd: empty compressed blocks", |size| packed::blocks(size, 0, packed::Block::Empty))
            .call(Check, 290),
        zstd("zstd: frames of one byte", packed::frames).call(Check, 240),
        zstd("zstd: frames of one byte, checked", packed::checked_frames).call(Check, 200),
        zstd("zstd: blocks of one sequence, 1 KiB window", |size| {
            packed::blocks(size, 0, packed::Block::Sequence)
        })
        .call(Check, 100),
        zstd("zstd: blocks of one sequence, 128 KiB window", |size| {
            packed::blocks(size, 7, packed::Block::Sequence)
        })
        .from(64)
        .call(Check, 95),
        zstd("zstd: blocks of one sequence, 256 KiB window", |size| {
            packed::blocks(size, 8, packed::Block::Sequence)
        })
        .from(128)
        .call(Check, 95),
        zstd("zstd: short sequences", packed::short_sequences).call(Check, 155),
        zstd("zstd: Huffman codes in each block", |size| {
            packed::blocks(size, 0, packed::Block::Huffman)
        })
        .call(Check, 2800),
        zstd("zstd: FSE tables in each block", |size| {
            packed::blocks(size, 0, packed::Block::Tables)
        })
        .call(Check, 11680),
        zstd("zstd: corrupt at the end", packed::corrupt).rejected(Check, "zstd-corrupt", 2800),
        kind("zstd: tiny components", packed::components)
            .call(Open, 17)
            .call(Check, 105)
            .call(Copy, 410),
        kind("zstd: tiny csr without sizes in 1.1", packed::unsized_csr)
            .call(Check, 420)
            .call(Copy, 1000),
        // 0.1.
        kind("0.1: names sorted", |size| old::entries(size, false))
            .call(Open, 25)
            .call(Check, 50)
            .call(Copy, 530),
        kind("0.1: names reversed", |size| old::entries(size, true))
            .call(Open, 25)
            .call(Check, 55)
            .call(Copy, 540),
        kind("0.1: the last name twice", old::twice).rejected(Open, "duplicate-name", 25),
        kind("0.1: big-endian", old::big_endian).call(Check, 25),
        kind("0.1: tiny zstd", old::zstd).call(Check, 130).call(Copy, 610),
        kind("0.1: unknown fields", old::fields).call(Open, 195).call(Copy, 1280),
    ]
}

/// Returns the number of items of `each` bytes that come to about `size`, at least one.
fn count(size: usize, each: usize) -> usize {
    (size / each).max(1)
}
