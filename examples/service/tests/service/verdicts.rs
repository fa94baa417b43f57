//! Tests of the service without HTTP: verdicts, limits and policies.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use zten::finding::Verdict;
use zten_report::policy;
use zten_service::{Checked, Service, Settings};
use zten_worker::{Budget, Ending, JobError};

use crate::http::{lying, patient};

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

fn check(settings: Settings, path: &Path) -> Result<Checked, JobError> {
    let name = path.file_name().unwrap().to_str().unwrap();
    Service::start(settings).unwrap().check(name, File::open(path).unwrap())
}

/// Returns the verdict, the rule and the sentence of a file that is rejected.
fn rejected(checked: Result<Checked, JobError>) -> (Verdict, Option<&'static str>, String) {
    match checked.unwrap() {
        Checked::Rejected { finding, .. } => {
            (finding.verdict, finding.row.map(zten::rules::Row::id), finding.sentence)
        }
        valid @ Checked::Valid { .. } => panic!("{valid:?}"),
    }
}

/// Returns settings with a policy of this text.
fn with_policy(text: &str) -> Settings {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("policy.toml");
    fs::write(&path, text).unwrap();
    Settings { policy: Some(policy::read(path).unwrap()), ..patient() }
}

#[test]
fn policies_hold() {
    let valid = corpus("accept/1.2.3/dense_all.zt");
    let found = rejected(check(with_policy("allow-formats = [\"safetensors\"]"), &valid));
    assert_eq!((found.0, found.1), (Verdict::Invalid, Some("policy-format")));
    assert!(
        check(with_policy("max-file-size = \"1GiB\""), &valid)
            .is_ok_and(|own| matches!(own, Checked::Valid { .. }))
    );
    let found = rejected(check(with_policy("max-tensors = 3"), &valid));
    assert_eq!(found.1, Some("policy-size"));

    // A file that a policy tolerates is neither valid nor invalid.
    let unsupported = corpus("reject/unsupported-digest--v01-crc32.zt");
    let found = rejected(check(patient(), &unsupported));
    assert_eq!((found.0, found.1), (Verdict::Unsupported, Some("unsupported-digest")));
    let found = rejected(check(with_policy("tolerate = [\"unsupported-digest\"]"), &unsupported));
    assert_eq!((found.0, found.1), (Verdict::Tolerated, Some("unsupported-digest")));
}

/// Checks that a note that the policy denies rejects the file.
#[test]
fn denied_notes_are_errors() {
    let noted = zten_testkit::other_formats("accept").into_iter().find_map(|path| {
        match check(patient(), &path).unwrap() {
            Checked::Valid { notes, .. } if !notes.is_empty() => {
                Some((path, notes[0].row.unwrap()))
            }
            _ => None,
        }
    });
    let (path, row) = noted.unwrap();
    let found = rejected(check(with_policy(&format!("deny = [\"{}\"]", row.id())), &path));
    assert_eq!((found.0, found.1), (Verdict::Invalid, Some(row.id())));
    assert!(found.2.contains("the policy makes this note an error"), "{}", found.2);
}

/// Checks that a file that declares a manifest of 64 MiB, which it does not contain, fails alone if a worker may use half as much
/// memory, and is rejected by a rule if a worker may use twice as much.
#[test]
fn running_out_of_memory_fails_one_file_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.zt");
    let manifest: u64 = 64 << 20;
    let file = File::create(&path).unwrap();
    file.set_len(64 + manifest).unwrap();
    let write =
        |bytes: &[u8], at| std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).unwrap();
    write(b"ZTEN1000", 0);
    write(&manifest.to_le_bytes(), 64 + manifest);
    write(b"ZTEN1000", 64 + manifest + 8);
    let with_memory = |memory| {
        let budget = Budget { memory, ..patient().budget };
        rejected(check(Settings { budget, ..patient() }, &path))
    };
    let found = with_memory(manifest / 2);
    assert!(found.1.is_none() && found.2.contains("memory"), "{found:?}");
    assert_eq!(with_memory(manifest * 2).1, Some("root-type"));
}

#[test]
fn only_regular_files_are_read() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let pipe = File::from(std::os::fd::OwnedFd::from(reader));
    let checked = Service::start(patient()).unwrap().check("", pipe);
    assert!(matches!(checked, Err(JobError::NotStarted(_))), "{checked:?}");
}

#[test]
fn a_worker_that_ends_is_lost_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("behavior");
    let budget = Budget { processor_time: Duration::ZERO, ..patient().budget };
    let service = lying(Settings { budget, ..patient() }, []);
    for (behavior, expected) in [
        ("nothing", Ending::Exited(Some(0))),
        ("panic", Ending::Panicked),
        ("abort", Ending::Aborted),
        ("memory", Ending::Aborted),
        ("socket", Ending::ForbiddenCall),
        ("spin", Ending::ProcessorTime),
    ] {
        fs::write(&path, behavior).unwrap();
        let checked = service.check("", File::open(&path).unwrap());
        let Err(JobError::Ended(ending)) = checked else { panic!("{behavior}: {checked:?}") };
        assert_eq!(ending, expected, "{behavior}");
    }
}
