//! Tests of a service against hostile files, and against workers that files have taken over.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use zten_service::{Loss, Model, Service, Settings, Verdict, Want};

/// Time for what takes none.
const PLENTY: Duration = Duration::from_secs(60);

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

fn service(settings: Settings) -> Service {
    Service::new(env!("CARGO_BIN_EXE_zten-service-worker"), settings)
}

fn patient() -> Settings {
    Settings { time: PLENTY, ..Settings::default() }
}

fn check(settings: Settings, path: &Path, want: Want) -> Verdict {
    service(settings).check(File::open(path).unwrap(), want).unwrap()
}

fn valid(verdict: Verdict) -> Model {
    match verdict {
        Verdict::Valid(model) => model,
        other => panic!("{other:?}"),
    }
}

/// Returns the verdict on a file whose worker behaves so.
fn lie(behavior: &str, time: Duration) -> Verdict {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("behavior");
    fs::write(&path, behavior).unwrap();
    let service = Service::new(
        env!("CARGO_BIN_EXE_zten-service-liar"),
        Settings { time, content: 1 << 20, ..Settings::default() },
    );
    service.check(File::open(&path).unwrap(), Want::Content).unwrap()
}

#[test]
fn content_is_what_the_library_reads() {
    for name in [
        "accept/1.2.3/dense_all.zt",
        "accept/1.2.3/csr_raw.zt",
        "accept/1.1.1/zstd.zt",
        "accept/0.1.0/big_endian.zt",
        "other/safetensors/accept/types.safetensors",
        "other/gguf/accept/tiny.gguf",
        "other/gguf/accept/blocks.gguf",
        "other/npy/accept/columns.npy",
        "other/npz/accept/stored.npz",
        "other/npz/accept/compressed.npz",
        "other/torch/accept/module.pt",
        "other/torch/accept/training.pt",
        "other/torch/accept/deflated.pt",
    ] {
        let path = corpus(name);
        let model = valid(check(patient(), &path, Want::Content));
        let archive = zten::open(&path).unwrap();
        assert_eq!(model.facts.format, zten::finding::format_name(archive.manifest()));
        let generation = archive.generation().map(zten::Generation::as_str);
        assert_eq!(model.facts.generation, generation.unwrap_or_default());
        assert_eq!(model.facts.objects.len(), archive.len());
        for (fact, tensor) in model.facts.objects.iter().zip(&archive) {
            // The worker does not know the name of the file, which is that of the array.
            let is_npy = archive.format() == ".npy";
            let own = if is_npy { "arr_0" } else { tensor.name() };
            assert_eq!(fact.name, own);
            assert_eq!(fact.shape, tensor.shape().to_vec());
            let state = serde_json::to_value(fact.state).unwrap();
            assert_eq!(state, zten_report::blocks::state(&tensor).name());
            for (fact, component) in fact.components.iter().zip(tensor.components()) {
                let bytes = component.read().unwrap();
                assert_eq!(model.bytes(fact), Some(&bytes[..]), "{name} {}", fact.role);
                let address = model.bytes(fact).unwrap().as_ptr().addr();
                assert!(bytes.is_empty() || address.is_multiple_of(64));
            }
        }
    }
}

#[test]
fn facts_come_without_content() {
    let model = valid(check(patient(), &corpus("accept/1.2.3/dense_all.zt"), Want::Facts));
    let component = &model.facts.objects[0].components[0];
    assert_eq!((component.place, model.bytes(component)), (None, None));
}

#[test]
fn a_rejected_file_has_its_rule() {
    let verdict = check(patient(), &corpus("reject/blob-alignment--v12-72.zt"), Want::Content);
    let Verdict::Rejected(rejection) = verdict else { panic!("{verdict:?}") };
    assert_eq!(rejection.rule.as_deref(), Some("blob-alignment"));
}

#[test]
fn limits_hold() {
    let valid = corpus("accept/1.2.3/dense_all.zt");
    let verdict = check(Settings { content: 100, ..patient() }, &valid, Want::Content);
    let Verdict::Rejected(rejection) = verdict else { panic!("{verdict:?}") };
    assert!(rejection.sentence.contains("more than 100 bytes"), "{rejection:?}");

    let verdict = check(Settings { answer: 10, ..patient() }, &valid, Want::Facts);
    assert!(matches!(verdict, Verdict::Lost(Loss::Answer(_))), "{verdict:?}");

    let verdict = check(Settings { time: Duration::ZERO, ..patient() }, &valid, Want::Facts);
    assert!(matches!(verdict, Verdict::Lost(Loss::Time)), "{verdict:?}");
}

/// A manifest of 64 MiB, which is not even there, for a worker that may have half as much.
#[test]
fn want_of_memory_costs_no_more_than_the_file() {
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
    let verdict = check(Settings { memory: manifest / 2, ..patient() }, &path, Want::Facts);
    let Verdict::Rejected(rejection) = verdict else { panic!("{verdict:?}") };
    assert!(rejection.rule.is_none() && rejection.sentence.contains("memory"), "{rejection:?}");
    let verdict = check(Settings { memory: manifest * 2, ..patient() }, &path, Want::Facts);
    let Verdict::Rejected(rejection) = verdict else { panic!("{verdict:?}") };
    assert_eq!(rejection.rule.as_deref(), Some("root-type"));
}

#[test]
fn what_is_no_file_is_not_read() {
    let (reader, _writer) = std::io::pipe().unwrap();
    let pipe = File::from(std::os::fd::OwnedFd::from(reader));
    let verdict = service(patient()).check(pipe, Want::Facts).unwrap();
    assert!(matches!(verdict, Verdict::Lost(Loss::Ended(_))), "{verdict:?}");
}

#[test]
fn what_the_liar_does_is_otherwise_right() {
    let model = valid(lie("honest", PLENTY));
    assert_eq!(model.bytes(&model.facts.objects[0].components[0]), Some(&[0][..]));
}

#[test]
fn answers_of_no_known_form_are_none() {
    for behavior in [
        "half a head",
        "endless",
        "no json",
        "deep json",
        "more json",
        "unknown field",
        "unknown rule",
        "unknown format",
        "unknown format of a rejection",
        "no content",
        "no place",
        "place beyond",
        "place that wraps",
        "place between",
        "two files",
        "not sealed",
        "may shrink",
        "may grow",
        "may be written",
        "may be sealed",
        "too long",
        "a file",
        "a pipe",
    ] {
        let verdict = lie(behavior, PLENTY);
        assert!(matches!(verdict, Verdict::Lost(Loss::Answer(_))), "{behavior}: {verdict:?}");
    }
}

#[test]
fn a_worker_that_ends_is_lost_alone() {
    use std::os::unix::process::ExitStatusExt as _;
    for (behavior, signal) in [
        ("nothing", None),
        ("half an answer", None),
        ("panic", None),
        ("abort", Some(6)),
        ("memory", Some(6)),
        ("socket", Some(31)),
        ("spin within its limits", Some(24)),
    ] {
        let verdict = lie(behavior, PLENTY);
        let Verdict::Lost(Loss::Ended(status)) = verdict else { panic!("{behavior}: {verdict:?}") };
        assert_eq!(status.signal(), signal, "{behavior}");
    }
}

/// A read with a time limit is interrupted when a stopped process goes on.
#[test]
fn a_service_that_is_stopped_goes_on() {
    let own = std::process::id();
    let line = format!("sleep 0.2; kill -STOP {own}; sleep 0.1; kill -CONT {own}");
    let mut shell = std::process::Command::new("sh").args(["-c", &line]).spawn().unwrap();
    let verdict = lie("sleep", Duration::from_millis(800));
    assert!(matches!(verdict, Verdict::Lost(Loss::Time)), "{verdict:?}");
    assert!(shell.wait().unwrap().success());
}

#[test]
fn a_worker_that_does_not_end_is_ended() {
    for behavior in ["sleep", "spin", "drip"] {
        let verdict = lie(behavior, Duration::from_millis(300));
        assert!(matches!(verdict, Verdict::Lost(Loss::Time)), "{behavior}: {verdict:?}");
    }
}
