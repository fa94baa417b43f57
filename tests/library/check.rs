//! Tests of the check of a whole archive: which error decides the verdict, what an observer is told, and the same results on
//! several threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fastrand::Rng;
use zten::element::StorageType;
use zten::error::Misuse;
use zten::finding::Verdict;
use zten::index::{Blobs, Builder, FileFormat, RawComponent, RawObject, Rules};
use zten::rules::{Class, Row, Scope, Source, Texts};
use zten::shards::Files;
use zten::verify::{
    Check, Observer, Rank, Report, Subject, Threads, check, check_in_order, check_on,
};
use zten::{
    Archive, Component, Error, ErrorKind, InMemory, Layout, Limits, OpenOptions, ReadAt, Tensor,
};
use zten_corpus::base::{component, dense_object, v1, zstd_component, zstd_frame};
use zten_corpus::cbor::{fields, text, uint};
use zten_testkit::{Shards, reads};

/// The content of an object in a zTensor file of 1.2 that [`file`] makes: valid, or with one error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The object has 16 valid bytes.
    Good,
    /// Three bools, of which the third has the invalid value 2.
    BadBool,
    /// 16 bytes with a digest of an unknown algorithm.
    Unknown,
    /// 16 bytes in a zstd frame.
    Packed,
}

use Kind::{BadBool, Good, Packed, Unknown};

const KINDS: [Kind; 4] = [Good, BadBool, Unknown, Packed];

/// Returns a file with an object of each of `kinds`.
fn file(kinds: &[Kind]) -> Vec<u8> {
    stored(kinds, false)
}

/// Returns a file with the content of [`file`]. If `is_turned` is true, the blobs are in the reverse order of their objects.
fn stored(kinds: &[Kind], is_turned: bool) -> Vec<u8> {
    let blobs = kinds.iter().map(|kind| match kind {
        Good | Unknown => (0..16).collect(),
        BadBool => vec![0, 1, 2],
        Packed => zstd_frame(&[7; 16]),
    });
    let blobs: Vec<Vec<u8>> = blobs.collect();
    let count = kinds.len();
    let slot = |at: usize| 1 + if is_turned { count - 1 - at } else { at };
    let objects = (0..).zip(kinds.iter().zip(&blobs)).map(|(at, (kind, blob))| {
        let (offset, length) = (64 * slot(at) as u64, blob.len() as u64);
        let item = match kind {
            Good => dense_object(&[16], component("u8", offset, length)),
            BadBool => dense_object(&[3], component("bool", offset, length)),
            Unknown => dense_object(
                &[16],
                fields([
                    ("dtype", text("u8")),
                    ("offset", uint(offset)),
                    ("length", uint(length)),
                    ("digest", text("x:00")),
                ]),
            ),
            Packed => dense_object(&[16], zstd_component("u8", offset, length, 16)),
        };
        (format!("{at:03}"), item)
    });
    let file = v1("1.2.0", objects.collect::<Vec<_>>());
    let mut blobs: Vec<_> = (0..).map(slot).zip(&blobs).collect();
    blobs.sort_unstable();
    blobs.into_iter().fold(file, |file, (slot, blob)| file.blob(64 * slot, blob)).build("").bytes
}

fn open(kinds: &[Kind], limits: Limits) -> Archive<InMemory<Vec<u8>>> {
    OpenOptions::default().limits(limits).from_bytes(file(kinds)).unwrap()
}

/// Returns the id of the rule that decides the verdict (`none` if the error has no rule), and the ordinal of the object that
/// breaks it, if the error is about an object. Returns `None` if the report has no error.
fn fault(report: &Report<'_>) -> Option<(&'static str, Option<u32>)> {
    let fault = report.fault()?;
    Some((fault.error().rule().unwrap_or("none"), fault.object()))
}

#[test]
fn the_most_important_error_decides_the_verdict() {
    let one = Limits::default().with_decoded(1);
    let (unknown, limit, bad) = ("unsupported-digest", "limit-decoded", "bool-value");
    for (kinds, wanted) in [
        (&[Good, Packed][..], None),
        (&[Unknown, BadBool], Some((bad, Some(1)))),
        (&[BadBool, Unknown], Some((bad, Some(0)))),
        (&[Unknown, Good], Some((unknown, Some(0)))),
        (&[Unknown, Good, BadBool, BadBool], Some((bad, Some(2)))),
    ] {
        let archive = open(kinds, Limits::default());
        let report = check(&archive, &mut ());
        assert_eq!(fault(&report), wanted, "{kinds:?}");
        let verified = archive.verify();
        assert_eq!(verified.as_ref().err().and_then(Error::rule), wanted.map(|(rule, _)| rule));
        assert_eq!(report.into_result(), verified);
    }
    for (kinds, wanted) in [
        (&[Unknown, Packed][..], (limit, Some(1))),
        (&[Packed, Unknown], (limit, Some(0))),
        (&[Unknown, Packed, BadBool], (bad, Some(2))),
        (&[BadBool, Packed], (bad, Some(0))),
    ] {
        let archive = open(kinds, one);
        assert_eq!(fault(&check(&archive, &mut ())), Some(wanted), "{kinds:?}");
    }
    let archive = open(&[Unknown, Good], Limits::default());
    let report = check(&archive, &mut ());
    assert_eq!(report.verdict(), Verdict::Unsupported);
    let finding = report.fault().unwrap().finding(archive.manifest());
    assert_eq!((finding.object.as_deref(), finding.verdict), (Some("000"), Verdict::Unsupported));
}

/// An exceeded limit of the whole file ends the check, as an error of the source does: later objects are not read.
#[test]
fn an_exceeded_total_or_a_failed_source_ends_the_check() {
    let archive =
        open(&[Unknown, Packed, Packed, BadBool], Limits::default().with_decoded_total(20));
    let report = check(&archive, &mut ());
    assert_eq!(fault(&report), Some(("limit-decoded-total", Some(2))));
    assert_eq!(report.summary().components(), 1);
    let bytes = file(&[Unknown, Packed, Good, BadBool]);
    let archive = OpenOptions::default().from_bytes(&bytes).unwrap();
    let source = reads(|offset, buffer| match offset {
        192..256 => Err(Error::reading()),
        _ => bytes.read_at(offset, buffer),
    });
    let report = check(Subject::alone(archive.manifest(), &source), &mut ());
    assert_eq!((fault(&report), report.verdict()), (Some(("none", Some(2))), Verdict::Error));
}

/// An observer that records every call, and skips the objects whose names are in `skipped`.
#[derive(Default)]
struct Listener {
    skipped: Vec<&'static str>,
    takes_content: bool,
    lists_all: bool,
    tolerated: Option<&'static str>,
    /// The object after which the observer ends the check.
    ends_at: Option<&'static str>,
    chunks: BTreeMap<(String, String), Vec<u8>>,
    heard: Vec<(String, Option<&'static str>)>,
}

impl Observer for Listener {
    fn includes(&self, object: &Tensor<'_>) -> bool {
        !self.skipped.contains(&object.name())
    }

    fn takes_content(&self) -> bool {
        self.takes_content
    }

    fn chunk(&mut self, component: &Component<'_>, chunk: &[u8]) {
        let name = component.tensor().name().to_owned();
        assert!(self.heard.iter().all(|(heard, _)| *heard != name), "{name} has ended");
        self.chunks.entry((name, component.role().to_owned())).or_default().extend(chunk);
    }

    fn checked(&mut self, object: &Tensor<'_>, error: Option<&Error>) -> Result<(), Error> {
        self.heard.push((object.name().to_owned(), error.and_then(Error::rule)));
        if self.ends_at == Some(object.name()) {
            return Err(Error::reading());
        }
        Ok(())
    }

    fn rank(&self, kind: ErrorKind) -> Rank {
        match kind.row() {
            Some(row) if Some(row.id()) == self.tolerated => Rank::Tolerated,
            _ => kind.into(),
        }
    }

    fn lists_all(&self) -> bool {
        self.lists_all
    }
}

#[test]
fn skipped_objects_are_not_read() {
    let archive = open(&[Good, BadBool, Unknown, Good], Limits::default());
    let mut listener = Listener { skipped: vec!["001", "002"], ..Listener::default() };
    let report = check(&archive, &mut listener);
    assert_eq!((fault(&report), report.summary().components()), (None, 2));
    let heard: Vec<_> = listener.heard.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(heard, ["000", "003"]);
    assert!(listener.chunks.is_empty());
}

#[test]
fn observers_get_content_once_and_in_order() {
    let kinds = [Packed, Unknown, Good];
    let archive = open(&kinds, Limits::default().with_chunk(16));
    let bytes = file(&kinds);
    let read = AtomicUsize::new(0);
    let source = reads(|offset, buffer| {
        read.fetch_add(buffer.len(), Ordering::Relaxed);
        bytes.read_at(offset, buffer)
    });
    for takes_content in [false, true] {
        let mut listener = Listener { takes_content, ..Listener::default() };
        read.store(0, Ordering::Relaxed);
        let report = check(Subject::alone(archive.manifest(), &source), &mut listener);
        assert_eq!(fault(&report), Some(("unsupported-digest", Some(1))));
        assert!(read.load(Ordering::Relaxed) < 100, "{read:?} bytes were read");
        let wanted = [
            ("000", "data", vec![7; 16]),
            ("001", "data", (0..16).collect()),
            ("002", "data", (0..16).collect()),
        ];
        let wanted = wanted.into_iter().filter(|_| takes_content);
        let wanted = wanted.map(|(name, role, bytes)| ((name.to_owned(), role.to_owned()), bytes));
        assert_eq!(listener.chunks, wanted.collect());
        let heard: Vec<_> = listener.heard.iter().map(|(_, rule)| *rule).collect();
        assert_eq!(heard, [None, Some("unsupported-digest"), None]);
    }
}

#[test]
fn observers_decide_which_errors_are_listed_and_tolerated() {
    let archive = open(&[Unknown, BadBool, Unknown, BadBool, Good], Limits::default());
    let listed = |report: &Report<'_>| report.objects().map(|(at, _)| at).collect::<Vec<_>>();
    // An observer that does not collect errors makes the report keep only the first ones, so that errors take no memory.
    assert_eq!(listed(&check(&archive, &mut ())), [0, 1]);
    let mut all = Listener { lists_all: true, ..Listener::default() };
    let report = check(&archive, &mut all);
    assert_eq!(
        (listed(&report), fault(&report)),
        (vec![0, 1, 2, 3], Some(("bool-value", Some(1))))
    );
    assert_eq!(all.heard.len(), 5);
    let tolerated = Some("bool-value");
    let mut lenient = Listener { lists_all: true, tolerated, ..Listener::default() };
    let report = check(&archive, &mut lenient);
    assert_eq!(fault(&report), Some(("unsupported-digest", Some(0))));
    let archive = open(&[Good, BadBool], Limits::default());
    let mut lenient = Listener { tolerated, ..Listener::default() };
    assert_eq!(check(&archive, &mut lenient).verdict(), Verdict::Tolerated);
}

/// If an observer ends the check, the verdict is an error and never "valid".
#[test]
fn an_error_of_the_observer_is_an_error_of_the_file() {
    let archive = open(&[Unknown, Good, BadBool], Limits::default());
    let mut impatient = Listener { ends_at: Some("001"), ..Listener::default() };
    let report = check(&archive, &mut impatient);
    assert_eq!((report.verdict(), impatient.heard.len()), (Verdict::Error, 2));
    assert_eq!(report.into_result().unwrap_err().kind(), ErrorKind::Read);
}

#[test]
fn a_missing_shard_is_reported_unless_an_object_is_invalid() {
    use zten_corpus::v2::{file, object, part};

    let digest = format!("xxh3:{:016x}", 7);
    let root = |third: u8| {
        let entry = fields([("size", uint(8192)), ("digest", text(&digest))]);
        let bytes = || object(&[3], "dense", vec![("data", part("u8", 4096, 3))]);
        file(vec![("a", bytes()), ("b", bytes())])
            .blob(4096, &[0, 1, third])
            .set("b:data/type", text("bool"))
            .set("shards", fields([("s", entry)]))
            .set("a:data/shard", text("s"))
            .bytes()
    };
    let nothing = Shards(|_: &str| None::<(InMemory<Vec<u8>>, usize)>);
    for (third, wanted) in [(1, ("unsupported-shard", Some(0))), (2, ("bool-value", Some(1)))] {
        let bytes = root(third);
        let archive = Archive::from_bytes(&bytes[..]).unwrap();
        assert_eq!(fault(&check(&archive, &mut ())), Some(wanted));
        let mut shards = archive.manifest().bind_shards(&nothing).unwrap();
        assert!(shards.verify().is_err());
        let files = Files { root: archive.source(), shards: &shards };
        let subject = Subject::with_shards(archive.manifest(), &files);
        assert_eq!(fault(&check(subject, &mut ())), Some(wanted));
        // The error of a missing shard is about the whole file, so it is reported even if no checked object is in that shard.
        let mut listener = Listener { skipped: vec!["a"], ..Listener::default() };
        let report = check(subject, &mut listener);
        let wanted = if third == 1 { ("unsupported-shard", None) } else { wanted };
        assert_eq!(fault(&report), Some(wanted));
        let mut skips = Listener { skipped: vec!["a"], ..Listener::default() };
        assert_eq!(fault(&check(&archive, &mut skips)), Some(wanted));
    }
}

/// A check of a file whose shards were bound and not verified ends with an error before the first object. After the verification
/// of the shards, the file is valid.
#[test]
fn shards_are_verified_before_the_check() {
    let shard = zten_testkit::read("v2/shards/dense-s.zt");
    let root = zten_testkit::read("v2/shards/dense.zt");
    let archive = Archive::from_bytes(root).unwrap();
    let find = Shards(|_: &str| Some((InMemory(&shard[..]), shard.len())));
    let mut shards = archive.manifest().bind_shards(&find).unwrap();
    let files = Files { root: archive.source(), shards: &shards };
    let mut listener = Listener::default();
    let report = check(Subject::with_shards(archive.manifest(), &files), &mut listener);
    assert_eq!((fault(&report), report.verdict()), (Some(("none", None)), Verdict::Error));
    assert_eq!(report.into_result().unwrap_err().kind(), Misuse::UnverifiedShard);
    assert!(listener.heard.is_empty());
    shards.verify().unwrap();
    let files = Files { root: archive.source(), shards: &shards };
    let report = check(Subject::with_shards(archive.manifest(), &files), &mut ());
    assert_eq!(report.verdict(), Verdict::Valid);
}

const fn row(id: &'static str, class: Class) -> Row {
    const TEXTS: Texts = Texts {
        holds: "",
        broken: "it is odd",
        source: Source::Policy("it is a test"),
        scope: Scope::Other("test"),
        advice: "",
    };
    Row::new(id, class, &TEXTS)
}

static INVALID: Row = row("test-invalid", Class::Invalid);
static NOTE: Row = row("test-note", Class::Note);
static UNSUPPORTED: Row = row("test-unsupported", Class::Unsupported);
static LIMIT: Row = row("test-limit", Class::Limit);
static BOOL: Row = row("test-bool", Class::Invalid);
static FORMAT: FileFormat = FileFormat::new(
    "test",
    Blobs::Disjoint,
    Rules {
        duplicate_name: &INVALID,
        bool_value: Some(&BOOL),
        stream: None,
        pickles: None,
        quantized: None,
    },
);

/// Opens a file of a single bool with the byte `value`. Opening the file reports a finding of each rule in `rows`.
fn with_findings(value: u8, rows: &[&'static Row]) -> Archive<InMemory<Vec<u8>>> {
    let options = OpenOptions::default();
    let mut builder = Builder::new(&FORMAT, 0..8, 9, &options).unwrap();
    for row in rows {
        builder.found(Error::of_format(ErrorKind::from(*row), "it is odd".to_owned(), Some(0)));
    }
    let components = [RawComponent::raw(StorageType::Bool, 8, 1)];
    let object = RawObject {
        name: "a",
        shape: &[1],
        layout: Layout::Dense,
        layout_name: None,
        attributes: None,
        components: &components,
        source_offset: 0,
    };
    builder.push(&object).unwrap();
    let mut bytes = vec![0; 8];
    bytes.push(value);
    Archive::from_parsed(InMemory(bytes), builder.finish().unwrap())
}

#[test]
fn findings_of_opening_count_in_the_report() {
    let [note, unsupported, limit, invalid] = [&NOTE, &UNSUPPORTED, &LIMIT, &INVALID];
    for (value, rows, wanted, verdict) in [
        (1, &[note][..], None, Verdict::Valid),
        (1, &[note, unsupported], Some("test-unsupported"), Verdict::Unsupported),
        (2, &[note, unsupported], Some("test-bool"), Verdict::Invalid),
        (1, &[unsupported, limit], Some("test-limit"), Verdict::Limit),
        (1, &[unsupported, limit, invalid], Some("test-invalid"), Verdict::Invalid),
        (2, &[invalid], Some("test-bool"), Verdict::Invalid),
    ] {
        let archive = with_findings(value, rows);
        let report = check(&archive, &mut ());
        assert_eq!((fault(&report).map(|(rule, _)| rule), report.verdict()), (wanted, verdict));
        let of_opening = report.fault().is_some_and(|fault| fault.is_of_opening());
        assert_eq!(of_opening, wanted.is_some() && value == 1);
        // `into_result` and `verify` report only what is wrong with the content, and not the findings of opening.
        assert_eq!(report.into_result().is_ok(), value == 1);
        assert_eq!(archive.verify().is_ok(), value == 1);
        let opening = Report::of_opening(archive.manifest(), &());
        assert_eq!(opening.fault().is_some(), rows.iter().any(|row| row.class() != Class::Note));
    }
    let archive = with_findings(1, &[invalid, unsupported]);
    let mut lenient = Listener { tolerated: Some("test-invalid"), ..Listener::default() };
    let report = check(&archive, &mut lenient);
    assert_eq!(report.verdict(), Verdict::Unsupported);
}

/// A host that runs the jobs of a check on three threads, in reverse order, and leaves out job number `left_out`.
struct Reversed {
    left_out: Option<u32>,
}

impl Threads for Reversed {
    fn run(&self, count: u32, work: &(dyn Fn(u32) + Sync)) {
        thread::scope(|scope| {
            for first in 0..3 {
                scope.spawn(move || {
                    let numbers = (first..count).step_by(3).collect::<Vec<_>>();
                    let numbers = numbers.into_iter().rev();
                    numbers.filter(|number| Some(*number) != self.left_out).for_each(work);
                });
            }
        });
    }
}

/// Returns the parts of a report that its public methods give.
fn seen(report: &Report<'_>) -> impl PartialEq + std::fmt::Debug + use<> {
    let objects = report.objects().map(|(at, error)| (at, error.kind(), error.offset()));
    (fault(report), report.summary(), objects.collect::<Vec<_>>())
}

#[test]
fn several_threads_give_the_report_of_one() {
    let mut rng = Rng::with_seed(5);
    let (mut verdicts, mut limited) = ([0; 3], 0);
    for round in 0..300 {
        let count = rng.usize(0..24);
        // In each file, one kind of error is more frequent than the others.
        let odd = *rng.choice(&KINDS).unwrap();
        let kind = |rng: &mut Rng| match rng.u8(0..8) {
            0 => *rng.choice(&KINDS).unwrap(),
            1 | 2 => odd,
            3 => Packed,
            _ => Good,
        };
        let kinds: Vec<_> = (0..count).map(|_| kind(&mut rng)).collect();
        let limits = Limits::default().with_decoded_total(rng.u64(0..160));
        let archive = open(&kinds, limits);
        let left_out = (round % 5 == 0).then(|| rng.u32(0..24));
        for lists_all in [false, true] {
            let skipped = if round % 7 == 0 { vec!["001", "004"] } else { Vec::new() };
            let tolerated = (round % 3 == 0).then_some("bool-value");
            let listener = || Listener {
                skipped: skipped.clone(),
                lists_all,
                tolerated,
                ..Listener::default()
            };
            let (mut one, mut several) = (listener(), listener());
            let report = check(&archive, &mut one);
            let parallel = check_on(&Reversed { left_out }, &archive, &mut several);
            assert_eq!(seen(&parallel), seen(&report), "{kinds:?}");
            assert_eq!((several.heard, several.chunks), (one.heard, one.chunks));
            match report.verdict() {
                Verdict::Valid => verdicts[0] += 1,
                Verdict::Unsupported => verdicts[1] += 1,
                _ => verdicts[2] += 1,
            }
            limited +=
                usize::from(fault(&report).is_some_and(|(rule, _)| rule == "limit-decoded-total"));
        }
    }
    assert!(verdicts.iter().all(|count| *count > 30) && limited > 30, "{verdicts:?} {limited}");
}

/// For files whose check no error ends early, `check_in_order` gives the report of `check`. It reads the bytes of the file from its
/// start to its end.
#[test]
fn a_check_in_the_order_of_the_file_has_the_same_report() {
    let mut rng = Rng::with_seed(6);
    let mut turned = 0;
    for round in 0..300 {
        let kinds: Vec<_> = (0..rng.usize(0..24))
            .map(|_| *rng.choice(&[Good, Good, Good, Packed, Unknown, BadBool]).unwrap())
            .collect();
        let is_turned = rng.bool();
        let bytes = stored(&kinds, is_turned);
        let archive = OpenOptions::default().from_bytes(&bytes).unwrap();
        let listener = || Listener {
            lists_all: true,
            tolerated: (round % 3 == 0).then_some("bool-value"),
            ..Listener::default()
        };
        let report = check(&archive, &mut listener());
        let offsets = Mutex::new(Vec::new());
        let source = reads(|offset, buffer| {
            offsets.lock().unwrap().push(offset);
            bytes.read_at(offset, buffer)
        });
        let mut heard = listener();
        let subject = Subject::alone(archive.manifest(), &source);
        let in_order = check_in_order(subject, &mut heard);
        assert_eq!(seen(&in_order), seen(&report), "{kinds:?}");
        let mut heard: Vec<_> = heard.heard;
        heard.sort();
        let mut wanted = listener();
        check(&archive, &mut wanted);
        assert_eq!(heard, wanted.heard);
        let offsets = std::mem::take(&mut *offsets.lock().unwrap());
        assert!(offsets.is_sorted(), "{offsets:?}");
        turned += usize::from(is_turned && offsets.len() > 4);
    }
    assert!(turned > 50, "{turned}");
}

/// An observer that takes content gets that of each object, also from a host with several threads.
#[test]
fn content_is_passed_on_by_one_thread() {
    let archive = open(&[Good, Packed, Good], Limits::default());
    let mut listener = Listener { takes_content: true, ..Listener::default() };
    let report = check_on(&Reversed { left_out: None }, &archive, &mut listener);
    assert_eq!((report.verdict(), listener.chunks.len()), (Verdict::Valid, 3));
}

/// Jobs of the pool other than a check have the same results on one thread and on several.
#[test]
fn results_do_not_depend_on_threads() {
    let kinds = [Packed, Unknown, Packed, BadBool, Packed];
    for (total, wanted) in [(1 << 20, 4), (20, 3)] {
        let archive = open(&kinds, Limits::default().with_decoded_total(total));
        let subject = Subject::from(&archive);
        let work = |threads| {
            let ends = |error: &Error| !error.is_unsupported();
            let verify = |verifier: &mut zten::verify::Verifier, object: &Tensor<'_>| {
                verifier.check(object).map(|()| object.ordinal())
            };
            subject.results(threads, verify, ends).unwrap()
        };
        let one = work(None);
        assert_eq!(one.len(), wanted);
        assert_eq!(work(Some(&Reversed { left_out: None })), one);
    }
}

/// A host that calls the steps of a check itself gets the same report as `check`.
#[test]
fn single_steps_give_the_report_of_a_check() {
    for kinds in [&[Good, Unknown, Packed][..], &[Unknown, BadBool, Good], &[]] {
        let archive = open(kinds, Limits::default());
        let mut steps = Check::new(&archive, &());
        let mut done = 0;
        for ordinal in 0..archive.len() {
            done += 1;
            if steps.object(ordinal.try_into().unwrap(), &mut ()).is_break() {
                break;
            }
        }
        let bad = kinds.iter().position(|kind| *kind == BadBool);
        assert_eq!(done, bad.map_or(kinds.len(), |bad| bad + 1));
        // A step for an object that does not exist is no error. After the check has ended, no further step runs.
        let is_over = steps.object(1000, &mut ()).is_break();
        assert_eq!(is_over, bad.is_some());
        assert_eq!(seen(&steps.finish(&())), seen(&check(&archive, &mut ())));
    }
}
