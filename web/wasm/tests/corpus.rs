//! What the guest answers about every file of the corpus, and to a host that errs.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed, and its numbers are small"
)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use zten::{Archive, Limits, ReadAt, verify::Verifier};
use zten_web::session::{File, Session};
use zten_web::{describe, picture, save, statistics, validate};

fn corpus(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(folder);
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "zt")).collect();
    files.sort();
    files
}

fn accepted() -> Vec<PathBuf> {
    let old = ["accept", "accept/0.1.0", "accept/1.0.2", "accept/1.1.1", "accept/1.2.0"];
    let new = ["accept/1.2.3", "v2/accept", "v2/2.1"];
    old.iter().chain(&new).flat_map(|folder| corpus(folder)).collect()
}

/// Opens a file: the session, and what it said.
fn open(bytes: &[u8]) -> (Session, Value) {
    let (mut session, mut out) = (Session::default(), Vec::new());
    let length = bytes.len() as u64;
    session.begin(Vec::new(), length, &mut out).unwrap();
    while let Some(range) = session.needs() {
        let part = bytes[range.start as usize..range.end as usize].to_vec();
        session.supply(part, length, &mut out).unwrap();
    }
    if let Session::Open(file) = session {
        describe::file(file, &mut out).unwrap();
    }
    (session, serde_json::from_slice(&out).unwrap())
}

fn answer(ask: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut out = Vec::new();
    ask(&mut out);
    serde_json::from_slice(&out).unwrap()
}

/// Asks everything about a file, from a host that can read so much of it: what all of it is.
fn everything(file: &File, source: &[u8]) -> Value {
    for object in file.manifest.objects() {
        let ordinal = object.ordinal();
        answer(|out| describe::object(file, ordinal, out).unwrap());
        let mut drawn = Vec::new();
        picture::object(file, ordinal, &source, &mut drawn).unwrap();
        let line = drawn.split(|byte| *byte == b'\n').next().unwrap();
        let said: Value = serde_json::from_slice(line).unwrap();
        if let Some((width, height)) = said["width"].as_u64().zip(said["height"].as_u64()) {
            assert_eq!(drawn.len() as u64, line.len() as u64 + 1 + 4 * width * height);
        }
        for (part, component) in (0_u32..).zip(object.components()) {
            let said =
                answer(|out| statistics::component(file, (ordinal, part), &source, out).unwrap());
            if let Some(elements) = said["elements"].as_u64() {
                let finite = elements
                    - said["nans"].as_u64().unwrap()
                    - said["infinities"].as_u64().unwrap();
                let counts = said["histogram"]["counts"].as_array().cloned().unwrap_or_default();
                let counted: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
                assert_eq!(counted, finite);
            }
            answer(|out| validate::component(file, (ordinal, part), &source, out).unwrap());
            let mut data = Vec::new();
            let said = answer(|out| {
                save::component(file, (ordinal, part), &source, &mut data, out).unwrap();
            });
            if let (Some(length), None) = (component.decoded_length(), said.get("verdict")) {
                assert_eq!((data.len() as u64 - length) % 64, 0);
            }
        }
    }
    answer(|out| validate::all(file, &source, out).unwrap())
}

#[test]
fn good_files() {
    let mut objects = 0;
    for path in accepted() {
        let bytes = fs::read(&path).unwrap();
        let archive = Archive::open(&bytes).unwrap();
        let (session, said) = open(&bytes);
        let Session::Open(file) = session else { panic!("{}: {said}", path.display()) };
        assert_eq!(said["objects"], archive.len());
        let listed = answer(|out| describe::list(file, 0, u32::MAX, out).unwrap());
        assert_eq!(listed.as_array().unwrap().len(), archive.len() as usize);
        let mut verifier = Verifier::new(bytes.len() as u64, &Limits::default());
        let valid = archive
            .objects()
            .all(|object| verifier.object(&object, archive.data(), |_, _| ()).is_ok());
        let all = everything(file, &bytes);
        assert_eq!(all["verdict"] == "valid", valid, "{}: {all}", path.display());
        objects += archive.len();
    }
    assert!(objects > 1000, "{objects}");
}

#[test]
fn bad_files() {
    let (mut refused, mut late) = (0, 0);
    for path in corpus("reject").into_iter().chain(corpus("v2/reject")).step_by(3) {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        // Those that need an option are valid without it, and generation 2 is read.
        if ["canonical-", "limit-"].iter().any(|it| name.starts_with(it)) {
            continue;
        }
        let (rule, _) = name.split_once("--").unwrap();
        match open(&bytes) {
            (Session::Open(file), _) => {
                assert_eq!(everything(file, &bytes)["rule"], rule, "{name}");
                late += 1;
            }
            (_, said) => assert_eq!(said["rule"], rule, "{name}"),
        }
        refused += 1;
    }
    assert!(refused > 500 && late > 100, "{refused} {late}");
}

#[test]
fn a_host_that_errs_gets_answers() {
    let path = corpus("accept/1.2.3").into_iter().find(|path| path.ends_with("csr_raw.zt"));
    let bytes = fs::read(path.unwrap()).unwrap();
    let length = bytes.len() as u64;
    let mut session = Session::default();
    // Out of turn.
    session.supply(vec![1; 9], length, &mut Vec::new()).unwrap();
    assert!(session.needs().is_none());
    // Too few bytes, or too many.
    for wrong in [0, 7, 9] {
        let mut out = Vec::new();
        session.begin(Vec::new(), length, &mut out).unwrap();
        session.supply(vec![0; wrong], length, &mut out).unwrap();
        let said: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(said["verdict"], "error");
    }
    // A length that is not the file's.
    for wrong in [0, 8, 23, u64::MAX] {
        let (mut session, mut out) = (Session::default(), Vec::new());
        session.begin(Vec::new(), wrong, &mut out).unwrap();
        while let Some(range) = session.needs() {
            let part = vec![0; (range.end - range.start).min(1 << 20) as usize];
            session.supply(part, wrong, &mut out).unwrap();
        }
        assert!(!matches!(session, Session::Open(_)));
    }
    // No such object, no such component, and a file that has become shorter.
    let (Session::Open(file), _) = open(&bytes) else { panic!("it is valid") };
    let source = &bytes[..];
    assert_eq!(answer(|out| describe::object(file, 99, out).unwrap()), Value::Null);
    for place in [(99, 0), (0, 99), (u32::MAX, u32::MAX)] {
        let said = answer(|out| statistics::component(file, place, &source, out).unwrap());
        assert_eq!(said["verdict"], "error");
    }
    for end in [0, 64, 65, 200] {
        assert_ne!(everything(file, &bytes[..end])["verdict"], "valid");
    }
}

/// A host that gives up after so many reads.
struct Fails<'b>(&'b [u8], std::cell::Cell<u32>);

impl ReadAt for Fails<'_> {
    type Error = ();

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ()> {
        self.1.set(self.1.get().checked_sub(1).ok_or(())?);
        self.0.read_at(offset, buffer).map_err(|_| ())
    }
}

#[test]
fn a_file_that_cannot_be_read_is_not_validated() {
    for path in accepted().into_iter().filter(|path| path.parent().unwrap().ends_with("1.2.3")) {
        let bytes = fs::read(&path).unwrap();
        let (Session::Open(file), _) = open(&bytes) else { panic!("it is valid") };
        for reads in 0..4 {
            let source = Fails(&bytes, reads.into());
            let said = answer(|out| validate::all(file, &source, out).unwrap());
            assert!(said["verdict"] == "error" || source.1.get() > 0 || said["verdict"] == "valid");
            if reads == 0
                && file.manifest.objects().any(|object| {
                    object.components().any(|component| component.extent().length() > 0)
                })
            {
                assert_eq!(said["verdict"], "error", "{}", path.display());
            }
        }
    }
}
