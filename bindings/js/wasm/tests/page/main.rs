//! Tests of the answers of the guest about the valid files of the corpus and a third or more of the invalid ones, and of its
//! answers to wrong calls of a host.
#![allow(
    clippy::allow_attributes,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::float_cmp,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed, and its numbers are small"
)]

mod histogram;
mod parts;
mod siblings;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::Value;
use zten::verify::Verifier;
use zten::{Archive, Error, OpenOptions, ReadAt};
use zten_js::page::{describe, picture, save, statistics, validate};
use zten_js::session::{File, Needs, Session};

fn corpus(folder: &str) -> Vec<PathBuf> {
    let is_ztensor = |path: &PathBuf| path.extension().is_some_and(|end| end == "zt");
    files(folder).into_iter().filter(is_ztensor).collect()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../corpus").join(folder);
    let entries = fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.collect();
    files.sort();
    files
}

fn accepted() -> Vec<PathBuf> {
    let old = ["accept", "accept/0.1.0", "accept/1.0.2", "accept/1.1.1", "accept/1.2.0"];
    let new = ["accept/1.2.3", "v2/accept", "v2/2.1"];
    old.iter().chain(&new).flat_map(|folder| corpus(folder)).collect()
}

/// Leaks a source, because a session keeps it for as long as the program runs.
fn leaked(source: impl ReadAt + 'static) -> &'static dyn ReadAt {
    Box::leak(Box::new(source))
}

/// Opens a file. Returns the session, and the answer of the guest.
fn open(bytes: &[u8]) -> (Session, Value) {
    open_from(bytes, leaked(bytes.to_vec()))
}

/// Opens the file at `path` with its name.
fn open_named(path: &Path) -> (Session, Value) {
    let bytes = fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_str().unwrap();
    opened(name, &bytes, leaked(bytes.clone()))
}

/// Opens a file whose content is read from `source` once it is open.
fn open_from(bytes: &[u8], source: &'static dyn ReadAt) -> (Session, Value) {
    opened("", bytes, source)
}

fn opened(name: &str, bytes: &[u8], source: &'static dyn ReadAt) -> (Session, Value) {
    opened_with(name, bytes, source, &|_, _| None)
}

/// Opens a file together with the sibling files that `find` returns for a name and the paths in the answer of the guest.
fn opened_with(
    name: &str,
    bytes: &[u8],
    source: &'static dyn ReadAt,
    find: &dyn Fn(&str, &Value) -> Option<Vec<u8>>,
) -> (Session, Value) {
    let (mut session, mut out) = (Session::default(), Vec::new());
    session.begin(name.as_bytes().to_vec(), bytes.len() as u64, &OpenOptions::default());
    session.group();
    let mut siblings: Vec<Vec<u8>> = Vec::new();
    while let Some(needs) = session.needs() {
        match needs {
            Needs::Bytes(number, range) => {
                let file = if number == 0 { bytes } else { &siblings[number as usize - 1] };
                let part = file[range.start as usize..range.end as usize].to_vec();
                session.supply(part, source, &mut out).unwrap();
            }
            Needs::Siblings => {
                let asked = answer(|out| session.siblings(out).unwrap());
                let mut lengths = Vec::new();
                for asked in asked.as_array().unwrap() {
                    let found = find(asked["name"].as_str().unwrap(), asked);
                    let length = found.as_ref().map_or(u64::MAX, |found| found.len() as u64);
                    lengths.extend(length.to_le_bytes());
                    siblings.push(found.unwrap_or_default());
                }
                session.answer(&lengths, source, &mut out).unwrap();
            }
            Needs::Binding => {
                let sources = |number: u32| leaked(siblings[number as usize - 1].clone());
                session.bind(&sources, &mut out).unwrap();
                if !out.is_empty() {
                    break;
                }
            }
        }
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

/// Asks for the description and the picture of each object of a file, and for the statistics, the verdict and the saved form of
/// each component. Returns the verdict on the whole file.
fn everything(file: &File) -> Value {
    for object in file.tensors() {
        let ordinal = object.ordinal();
        answer(|out| describe::object(file, ordinal, out).unwrap());
        let mut drawn = Vec::new();
        picture::object(file, ordinal, &mut drawn).unwrap();
        let line = drawn.split(|byte| *byte == b'\n').next().unwrap();
        let said: Value = serde_json::from_slice(line).unwrap();
        if let Some((width, height)) = said["width"].as_u64().zip(said["height"].as_u64()) {
            assert_eq!(drawn.len() as u64, line.len() as u64 + 1 + 4 * width * height);
        }
        for (part, component) in (0_u32..).zip(object.components()) {
            let said = answer(|out| statistics::component(file, (ordinal, part), out).unwrap());
            if let Some(elements) = said["statistics"]["count"].as_u64() {
                let count = |key: &str| said["statistics"][key].as_u64().unwrap();
                let finite = elements - count("nan") - count("infinities");
                let counts = said["histogram"]["counts"].as_array().cloned().unwrap_or_default();
                let counted: u64 = counts.iter().map(|count| count.as_u64().unwrap()).sum();
                assert_eq!(counted, finite);
            }
            answer(|out| validate::component(file, (ordinal, part), out).unwrap());
            let mut data = Vec::new();
            let said = answer(|out| {
                save::component(file, (ordinal, part), &mut data, out).unwrap();
            });
            if let (Some(length), None) = (component.decoded_length(), said.get("verdict")) {
                assert_eq!((data.len() as u64 - length) % 64, 0);
            }
        }
    }
    answer(|out| validate::all(file, out).unwrap())
}

#[test]
fn valid_files_are_described() {
    let mut objects = 0;
    for path in accepted() {
        let bytes = fs::read(&path).unwrap();
        let archive = Archive::from_bytes(&bytes).unwrap();
        let (session, said) = open(&bytes);
        let Session::Open(file) = session else { panic!("{}: {said}", path.display()) };
        assert_eq!(said["totals"]["objects"], archive.len());
        let listed = answer(|out| describe::list(file, 0, u32::MAX, out).unwrap());
        assert_eq!(listed.as_array().unwrap().len(), archive.len());
        let mut verifier = Verifier::new(archive.manifest());
        let valid = archive.tensors().all(|tensor| verifier.object(&tensor, |_, _| ()).is_ok());
        let all = everything(file);
        assert_eq!(all["verdict"] == "valid", valid, "{}: {all}", path.display());
        objects += archive.len();
    }
    assert!(objects > 1000, "{objects}");
}

/// The list shows the quantized form of each tensor that is stored as several tensors under the name of `zten ls`, and null for any
/// other tensor.
#[test]
fn quantized_forms_have_the_names_of_the_command() {
    for (name, form) in [
        ("bnb-int8", "INT8 SCB"),
        ("packed-4-zero-point", "INT packed 4 bits [32]"),
        ("mxfp4", "MXFP4 [32]"),
    ] {
        let file = format!("{name}.safetensors");
        let path = files("conventions").into_iter().find(|path| path.ends_with(&file));
        let (session, said) = open_named(&path.unwrap());
        let Session::Open(file) = session else { panic!("{name}: {said}") };
        let listed = answer(|out| describe::list(file, 0, u32::MAX, out).unwrap());
        let forms: Vec<_> = listed.as_array().unwrap().iter().map(|pair| &pair[1]).collect();
        assert!(forms.contains(&&Value::from(form)), "{name}: {forms:?}");
    }
    let path = corpus("accept/1.2.3").into_iter().find(|path| path.ends_with("csr_raw.zt"));
    let (Session::Open(file), _) = open_named(&path.unwrap()) else { panic!("it is valid") };
    let listed = answer(|out| describe::list(file, 0, 1, out).unwrap());
    assert_eq!(listed[0][1], Value::Null);
}

#[test]
fn invalid_files_get_their_verdict() {
    let (mut rejected, mut late) = (0, 0);
    for path in corpus("reject").into_iter().chain(corpus("v2/reject")).step_by(3) {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        // Files that break a rule only with an option are valid without it. Files beyond a limit are all left out, also those
        // beyond a default limit.
        if ["canonical-", "limit-"].iter().any(|it| name.starts_with(it)) {
            continue;
        }
        let (rule, _) = name.split_once("--").unwrap();
        match open(&bytes) {
            (Session::Open(file), _) => {
                assert_eq!(everything(file)["rule"], rule, "{name}");
                late += 1;
            }
            (_, said) => assert_eq!(said["rule"], rule, "{name}"),
        }
        rejected += 1;
    }
    assert!(rejected > 500 && late > 100, "{rejected} {late}");
}

#[test]
fn files_of_every_format_are_described() {
    let (mut valid, mut rejected) = (0, 0);
    for format in ["gguf", "npy", "npz", "safetensors", "torch"] {
        for path in files(&format!("other/{format}/accept")) {
            match open_named(&path) {
                (Session::Open(file), said) => {
                    assert_eq!(said["generation"], Value::Null);
                    assert_eq!(everything(file)["verdict"], "valid", "{}", path.display());
                    valid += 1;
                }
                (_, said) => assert_eq!(said["rule"], "gguf-split-file", "{}", path.display()),
            }
        }
        for path in files(&format!("other/{format}/reject")) {
            // A file of a split model may be valid alone, and break the rule in its name only together with the other
            // files.
            if path.to_str().unwrap().contains("-of-0") {
                continue;
            }
            let said = match open_named(&path) {
                (Session::Open(file), _) => everything(file),
                (_, said) => said,
            };
            assert_ne!(said["verdict"], "valid", "{}", path.display());
            rejected += 1;
        }
    }
    assert!(valid > 60 && rejected > 200, "{valid} {rejected}");
}

#[test]
fn wrong_calls_of_the_host_get_answers() {
    let path = corpus("accept/1.2.3").into_iter().find(|path| path.ends_with("csr_raw.zt"));
    let bytes = fs::read(path.unwrap()).unwrap();
    let (length, source) = (bytes.len() as u64, leaked(bytes.clone()));
    let mut session = Session::default();
    // The host supplies bytes, although no file has been begun.
    session.supply(vec![1; 9], source, &mut Vec::new()).unwrap();
    assert!(session.needs().is_none());
    // The host supplies fewer or more bytes than the session needs.
    for wrong in [0, 7, 9] {
        let mut out = Vec::new();
        session.begin(Vec::new(), length, &OpenOptions::default());
        session.supply(vec![0; wrong], source, &mut out).unwrap();
        let said: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(said["verdict"], "error");
    }
    // The host gives a length that is not the length of the file.
    for wrong in [0, 8, 23, u64::MAX] {
        let (mut session, mut out) = (Session::default(), Vec::new());
        session.begin(Vec::new(), wrong, &OpenOptions::default());
        while let Some(Needs::Bytes(0, range)) = session.needs() {
            let part = vec![0; (range.end - range.start).min(1 << 20) as usize];
            session.supply(part, source, &mut out).unwrap();
        }
        assert!(!matches!(session, Session::Open(_)));
    }
    // The host asks for an object or a component that does not exist, or the file has become shorter since it was opened.
    let (Session::Open(file), _) = open(&bytes) else { panic!("it is valid") };
    assert_eq!(answer(|out| describe::object(file, 99, out).unwrap()), Value::Null);
    for (place, sentence) in [
        ((99, 0), "no tensor of that name"),
        ((0, 99), "the parts are not those of the layout"),
        ((u32::MAX, u32::MAX), "no tensor of that name"),
    ] {
        let said = answer(|out| statistics::component(file, place, out).unwrap());
        assert_eq!(said["verdict"], "error");
        assert!(said.to_string().contains(sentence), "{said}");
    }
    for end in [0, 64, 65, 200] {
        let (session, _) = open_from(&bytes, leaked(bytes[..end].to_vec()));
        let Session::Open(file) = session else { panic!("it is valid") };
        assert_ne!(everything(file)["verdict"], "valid");
    }
}

/// A source whose reads fail after the first `left` reads.
struct Fails {
    bytes: Vec<u8>,
    left: AtomicU32,
    /// Whether a read has failed.
    has_failed: AtomicBool,
}

impl ReadAt for Fails {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        let Some(left) = self.left.load(Ordering::Relaxed).checked_sub(1) else {
            self.has_failed.store(true, Ordering::Relaxed);
            return Err(Error::reading());
        };
        self.left.store(left, Ordering::Relaxed);
        self.bytes.read_at(offset, buffer).map_err(|_| Error::reading())
    }
}

#[test]
fn a_file_that_cannot_be_read_is_not_validated() {
    let mut counts = [0, 0];
    for path in accepted().into_iter().filter(|path| path.parent().unwrap().ends_with("1.2.3")) {
        let bytes = fs::read(&path).unwrap();
        for reads in 0..4_u32 {
            let (left, has_failed) = (reads.into(), false.into());
            let source: &Fails =
                Box::leak(Box::new(Fails { bytes: bytes.clone(), left, has_failed }));
            let (Session::Open(file), _) = open_from(&bytes, source) else { panic!("it is valid") };
            let said = answer(|out| validate::all(file, out).unwrap());
            let has_failed = source.has_failed.load(Ordering::Relaxed);
            let expected = if has_failed { "error" } else { "valid" };
            assert_eq!(said["verdict"], expected, "{} {reads}", path.display());
            counts[usize::from(has_failed)] += 1;
            let mut components = file.tensors().flat_map(|tensor| tensor.components());
            if reads == 0 && components.any(|component| component.extent().length() > 0) {
                assert!(has_failed, "{}", path.display());
            }
        }
    }
    assert!(counts.iter().all(|count| *count > 10), "{counts:?}");
}
