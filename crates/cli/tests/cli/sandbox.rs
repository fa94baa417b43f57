//! Tests that the command confines itself and still works.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};

#[cfg(target_pointer_width = "64")]
use crate::files::{file, object, raw};
use crate::{command, corpus_folder, ended, failed, succeeded_text, zten};

/// Whether a filter of system calls exists for this machine.
pub(crate) const FILTERED: bool =
    cfg!(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"));

/// The trials that Landlock or the limits deny without the filter.
const WITHOUT_FILTER: [&str; 16] = [
    "open-file",
    "write-file",
    "create-file",
    "remove-file",
    "rename-file",
    "link-file",
    "make-folder",
    "list-folder",
    "another-handle",
    "memory-file",
    "tcp-listen",
    "udp-socket",
    "unix-socket",
    "pipe",
    "too-much-memory",
    "too-large-file",
];

fn valid_file() -> String {
    corpus_folder().join("accept/1.2.3/dense_all.zt").to_str().unwrap().to_owned()
}

/// Returns the names of the trials that have another outcome than `outcome`.
fn others<'j>(report: &'j serde_json::Value, outcome: &str) -> Vec<&'j str> {
    let trials = report["trials"].as_array().unwrap();
    assert!(trials.len() > 20);
    let others = trials.iter().filter(|trial| trial["outcome"] != outcome);
    others.map(|trial| trial["trial"].as_str().unwrap()).collect()
}

#[test]
fn forbidden_actions_are_denied() {
    unless_emulated!();
    let output = zten(["sandbox", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let allowed = others(&report, "denied");
    let landlock = &report["layers"]["landlock"];
    if FILTERED {
        for layer in ["privileges", "seccomp", "limits"] {
            assert_eq!(report["layers"][layer], "enforced", "{layer}");
        }
        assert_eq!((ended(&output).0, allowed), (Some(0), vec![]));
        for trial in report["trials"].as_array().unwrap() {
            let how = match trial["trial"].as_str().unwrap() {
                "too-much-memory" => "out of memory",
                "too-large-file" => "SIGXFSZ",
                "read-terminal" => "failed to fill whole buffer",
                "open-file" | "write-file" | "create-file" | "list-folder" => {
                    "Permission denied (os error 13)"
                }
                _ => "SIGSYS",
            };
            assert_eq!(trial["how"], how, "{trial}");
        }
        let text = succeeded_text(zten(["sandbox"]));
        assert!(text.contains("udp-socket       denied   SIGSYS\n"), "{text}");
        assert!(text.contains("too-large-file   denied   SIGXFSZ\n"), "{text}");
    } else {
        assert_eq!(report["layers"]["seccomp"], "missing");
        assert_eq!(output.status.code(), Some(1));
        if landlock == "enforced" {
            assert!(!allowed.iter().any(|name| WITHOUT_FILTER.contains(name)), "{allowed:?}");
        }
    }
}

#[test]
fn forbidden_actions_succeed_without_a_sandbox() {
    unless_emulated!();
    let output = zten(["--no-sandbox", "sandbox", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((ended(&output).0, others(&report, "allowed")), (Some(1), vec![]));
    assert_eq!(report["layers"]["seccomp"], "off");
}

#[test]
fn contradicting_sandbox_options_are_wrong_usage() {
    let output = zten(["check", "--no-sandbox", "--require-sandbox", &valid_file()]);
    assert_eq!(ended(&output).0, Some(2));
}

#[test]
fn results_are_the_same_without() {
    let valid = valid_file();
    for args in [["check", &valid], ["ls", &valid], ["stat", &valid], ["hash", &valid]] {
        let confined = succeeded_text(zten(args));
        assert_eq!(confined, succeeded_text(zten([&args[..], &["--no-sandbox"]].concat())));
        assert!(!confined.is_empty());
    }
}

/// Runs a shell line in which `$0` is the command. Returns `None`, and runs nothing, under an emulator.
fn shell(line: &str, args: &[&str]) -> Option<Output> {
    // Under an emulator, the limits would apply to the emulator.
    if crate::emulated() {
        return None;
    }
    Some(
        Command::new("sh")
            .arg("-c")
            .arg(line)
            .arg(command().get_program())
            .args(args)
            .output()
            .unwrap(),
    )
}

/// Checks that files are opened one after another, so that their number may exceed the limit on descriptors.
#[test]
fn any_number_of_files_at_a_low_limit_on_descriptors() {
    let valid = valid_file();
    let also = format!("--also={valid}");
    let files = [vec![&*valid], vec![&*also; 39]].concat();
    for command in ["ls", "--require-sandbox ls", "--no-sandbox ls"] {
        let line = format!("ulimit -n 32; exec \"$0\" {command} \"$@\"");
        let Some(output) = shell(&line, &files) else { return };
        if command.contains("require") && ended(&output).0 == Some(2) {
            eprintln!("NOT TESTED: this kernel lacks a layer");
            continue;
        }
        let text = succeeded_text(output);
        assert_eq!(text.lines().filter(|line| line.ends_with(".zt:")).count(), files.len());
    }
}

/// Checks that running out of memory is reported. The manifest, in a sparse file, is larger than the memory of the process.
#[test]
fn running_out_of_memory_is_reported() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sandbox-large-manifest.zt");
    let length: u64 = 256 << 20;
    let large = File::create(&path).unwrap();
    large.set_len(64 + length).unwrap();
    let mut end = length.to_le_bytes().to_vec();
    end.extend(b"ZTEN1000");
    write_at(&large, b"ZTEN1000", 0);
    write_at(&large, &end, 64 + length);
    let path = path.to_str().unwrap();
    for command in ["check", "ls", "hash"] {
        let line = format!("ulimit -v 131072; exec \"$0\" {command} \"$@\"");
        let Some(output) = shell(&line, &[path]) else { return };
        let (status, out, message) = ended(&output);
        assert_eq!((status, out), (Some(2), ""), "{message}");
        assert!(message.contains("memory"), "{message}");
    }
    fs::remove_file(path).unwrap();
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], at: u64) {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at).unwrap();
}

#[cfg(not(unix))]
fn write_at(mut file: &File, bytes: &[u8], at: u64) {
    use std::io::{Seek as _, SeekFrom, Write as _};
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(bytes).unwrap();
}

/// Checks that the limits grow with the length of the file. The data of the file is a hole.
#[test]
#[cfg(target_pointer_width = "64")]
fn a_file_of_5_gib_is_good() {
    let length = 5_usize << 30;
    let component = ("data", raw("u8", 64, length, &[]));
    let path = file("sandbox-5-gib.zt", &[("x", object("dense", &[length], &[component]))], &[]);
    // The file is first written without data, and then its manifest is moved behind the hole.
    let manifest = fs::read(&path).unwrap().split_off(64);
    let large = File::create(&path).unwrap();
    write_at(&large, b"ZTEN1000", 0);
    write_at(&large, &manifest, 64 + u64::try_from(length).unwrap());
    let text = succeeded_text(zten(["check", path.to_str().unwrap()]));
    assert!(text.contains("5.0 GiB of data"), "{text}");
    let text = succeeded_text(zten(["ls", path.to_str().unwrap()]));
    assert!(text.contains("5.0 GiB"), "{text}");
    fs::remove_file(path).unwrap();
}

#[cfg(target_os = "linux")]
mod linux {
    use std::os::unix::process::ExitStatusExt as _;

    use zten_testkit::safetensors;

    use super::*;

    /// Checks that a fault ends the process in the same way whether or not backtraces are enabled. Printing a backtrace
    /// would get a confined process killed, as if it had been taken over.
    #[test]
    fn a_fault_ends_the_same_whatever_backtraces_are_wanted() {
        unless_emulated!();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("kept"), "kept").unwrap();
        let fault = |name: &str, backtrace: &str, options: &[&str]| {
            let mut command = command();
            command.env("RUST_BACKTRACE", backtrace).current_dir(&folder);
            command.args(["sandbox", "--trial", name]).args(options).output().unwrap()
        };
        for backtrace in ["0", "1", "full"] {
            let panic = fault("panic", backtrace, &[]);
            let message = String::from_utf8_lossy(&panic.stderr);
            assert_eq!(panic.status.code(), Some(101), "{backtrace}: {} {message}", panic.status);
            assert!(message.contains("as requested"), "{message}");
            let abort = fault("abort", backtrace, &[]);
            let message = String::from_utf8_lossy(&abort.stderr);
            assert_eq!(abort.status.signal(), Some(6), "{backtrace}: {} {message}", abort.status);
            assert!(message.contains("memory allocation of"), "{message}");
        }
        // A process that is not confined prints the backtrace.
        let free = fault("panic", "1", &["--no-sandbox"]);
        assert!(String::from_utf8_lossy(&free.stderr).contains("stack backtrace"));
        assert_eq!(succeeded_text(fault("abort", "1", &["--no-sandbox"])), "allowed");
    }

    /// Checks that a confined process has no capabilities and no terminal to read. The process waits until its output is
    /// read.
    #[test]
    fn a_confined_process_has_no_privileges() {
        use std::io::Read as _;
        use std::process::Stdio;

        unless_emulated!();
        let length = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.safetensors");
        let file = safetensors::file([("x", "U8", [length], length)], &vec![7; 1 << 20]);
        fs::write(&path, file).unwrap();
        let terminal = nix::pty::openpty(None, None).unwrap();
        let mut child = command()
            .args(["cat", "--full", path.to_str().unwrap(), "x"])
            .stdin(terminal.slave)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
        // The worker is the only child of the command.
        let id = child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        let proc = Path::new("/proc").join(children.trim());
        let field = |folder: &Path, name: &str| {
            let status = fs::read_to_string(folder.join("status")).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
            u64::from_str_radix(line.unwrap().trim_start_matches(':').trim(), 16).unwrap()
        };
        for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
            assert_eq!(field(&proc, set), 0, "{set}");
        }
        // A process without `CAP_SETPCAP` cannot drop it.
        let may = field(Path::new("/proc/self"), "CapEff") & 1 << 8 != 0;
        assert!(!may || field(&proc, "CapBnd") == 0);
        let input = fs::read_link(proc.join("fd/0")).unwrap();
        assert!(input.to_str().unwrap().starts_with("socket:"), "{input:?}");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Checks that running out of memory has its own message in a conversion, which holds names and shapes in memory.
    #[test]
    fn a_conversion_without_memory_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let (input, out) = (folder.path().join("in.safetensors"), folder.path().join("out.zt"));
        let tensors = (0..300_000).map(|number| (number.to_string(), "U8", [0], 0));
        fs::write(&input, safetensors::file(tensors, &[])).unwrap();
        // The memory left for a backtrace determines how the process ends.
        for kib in (40_000..=140_000).step_by(20_000) {
            let line =
                format!("ulimit -v {kib}; RUST_BACKTRACE=1 exec \"$0\" convert --force \"$@\"");
            let args = [input.to_str().unwrap(), out.to_str().unwrap()];
            let Some(output) = shell(&line, &args) else { return };
            let (status, _, message) = ended(&output);
            let end = message.lines().last().unwrap_or_default();
            let is_expected = end.contains("memory");
            assert!(status == Some(0) || status == Some(2) && is_expected, "{kib} KiB: {message}");
        }
    }

    #[test]
    fn a_conversion_that_is_ended_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("out.zt");
        fs::write(&output, "before").unwrap();
        let input = valid_file();
        // The limit counts blocks of 512 or 1,024 bytes.
        let line = "ulimit -f 1; exec \"$0\" convert --force \"$@\"";
        let args = [&input, output.to_str().unwrap()];
        let Some(ended_so) = shell(line, &args) else { return };
        let (status, out, message) = ended(&ended_so);
        assert_eq!((status, out), (Some(2), ""), "{message}");
        assert!(
            message.contains(
                "the confined process that read this file has ended: it wrote more to a file"
            ),
            "{message}"
        );
        assert_eq!(fs::read(&output).unwrap(), b"before");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }

    #[test]
    fn a_link_is_not_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link.zt");
        let to = folder.path().join("out.zt");
        std::os::unix::fs::symlink(&to, &link).unwrap();
        for options in [&[][..], &["--no-sandbox"]] {
            let args = ["convert", &valid_file(), link.to_str().unwrap()];
            let message = failed(zten([&args, options].concat()), 2);
            assert!(message.contains("is a symbolic link, expected a regular file"), "{message}");
            assert_eq!((fs::read_link(&link).unwrap(), to.exists()), (to.clone(), false));
        }
    }

    #[test]
    fn a_folder_without_permission_is_told_before_anything_is_read() {
        let message = failed(zten(["convert", &valid_file(), "/proc/out.zt"]), 2);
        assert!(message.starts_with("/proc/out.zt: "), "{message}");
    }
}

/// Tests with a filter around the command that simulates a kernel without a layer of confinement.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
mod lacking;
