//! Tests on kernels that lack a part of the confinement.

use std::collections::BTreeMap;
use std::thread;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

use super::*;
use crate::{failed, succeeded_json};

const SECCOMP: i64 = libc::SYS_seccomp;
const LANDLOCK: i64 = libc::SYS_landlock_create_ruleset;
const LIMITS: i64 = libc::SYS_prlimit64;

/// Runs the command under a filter that makes the system call `call` fail as on a kernel without it. The filter applies to
/// the thread that installs it and to its child processes.
fn without(call: i64, args: &[&str]) -> Output {
    let act = || {
        let machine = std::env::consts::ARCH.try_into().unwrap();
        let enosys = SeccompAction::Errno(u32::try_from(libc::ENOSYS).unwrap());
        let rules = BTreeMap::from([(call, vec![])]);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, enosys, machine).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        apply_filter(&program).unwrap();
        zten(args)
    };
    thread::scope(|scope| scope.spawn(act).join().unwrap())
}

#[test]
fn a_required_layer_that_is_missing_is_an_error() {
    let (valid, folder) = (valid_file(), tempfile::tempdir().unwrap());
    let out = folder.path().join("out.zt");
    let calls: [&[&str]; 8] = [
        &["check", &valid],
        &["ls", &valid],
        &["cat", &valid, "t_f32"],
        &["stat", &valid],
        &["hash", &valid],
        &["diff", &valid, &valid],
        &["convert", &valid, out.to_str().unwrap()],
        &["sandbox"],
    ];
    for args in calls {
        for (call, layer) in [(SECCOMP, "seccomp"), (LANDLOCK, "landlock")] {
            let message = failed(without(call, &[args, &["--require-sandbox"]].concat()), 2);
            let wanted = format!("--require-sandbox: {layer} is not available: ");
            assert!(message.contains(&wanted), "{args:?} {message}");
        }
    }
    assert!(!out.exists());
    // If the kernel has all calls, no failure is reported.
    for args in &calls[..7] {
        let output = zten([args, &["--require-sandbox"][..]].concat());
        assert_eq!((ended(&output).0, ended(&output).2), (Some(0), ""), "{args:?}");
    }
}

#[test]
fn optional_layers_may_be_missing() {
    let valid = valid_file();
    for call in [SECCOMP, LANDLOCK, LIMITS] {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("out.zt");
        for args in [&["check", &valid][..], &["convert", &valid, out.to_str().unwrap()]] {
            assert!(!succeeded_text(without(call, args)).is_empty());
        }
        assert!(out.exists());
    }
}

#[test]
fn a_missing_layer_is_reported() {
    let report = succeeded_json(without(LANDLOCK, &["sandbox", "--json"]));
    assert_eq!(report["layers"]["landlock"], "missing");
    // Without Landlock, all trials that should be denied are still denied, by the filter.
    assert_eq!(others(&report, "denied"), [""; 0]);
    let output = without(SECCOMP, &["sandbox", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((ended(&output).0, &report["layers"]["seccomp"]), (Some(1), &"missing".into()));
    let allowed = others(&report, "denied");
    assert!(allowed.contains(&"look-for-file"), "{allowed:?}");
    if report["layers"]["landlock"] == "enforced" {
        assert!(!allowed.iter().any(|name| WITHOUT_FILTER.contains(name)), "{allowed:?}");
    }
}
