//! Tests of the service program, from its start to its end.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};
use serde_json::{Value, json};

use super::client::{Client, get, post, put};
use super::served::valid;

/// Returns a command that starts the program with any free port.
fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zten-service"));
    command.args(["--listen", "127.0.0.1:0", "--time", "60"]);
    command
}

/// A running program that is killed when the test ends.
struct Program {
    child: Child,
    address: SocketAddr,
}

impl Program {
    fn new() -> Self {
        let mut child = command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim_end().strip_prefix("listening on http://").unwrap();
        Self { address: address.parse().unwrap(), child }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Errors are ignored, because the process has usually ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that the program, without its workers, takes less than 64 MiB of memory for a file of 300 MiB, which lies on the disk.
#[test]
fn large_files_are_not_held_in_memory() {
    let program = Program::new();
    let length = 300 << 20;
    let header =
        format!(r#"{{"x":{{"dtype":"U8","shape":[{length}],"data_offsets":[0,{length}]}}}}"#);
    let size = 8 + header.len() + length;
    let mut client = Client::new(program.address).unwrap();
    client.offer(size);
    client.send(&u64::try_from(header.len()).unwrap().to_le_bytes()).unwrap();
    client.send(header.as_bytes()).unwrap();
    let piece = vec![0; 1 << 20];
    for _ in 0..300 {
        client.send(&piece).unwrap();
    }
    let answer = client.answer();
    assert_eq!((answer.status, answer.text("verdict")), (200, "valid"), "{answer:?}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", program.child.id())).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: u64 = most.split_whitespace().next().unwrap().parse().unwrap();
    assert!(most < 64 << 10, "{most} KiB");
}

/// Checks that each request writes a line of JSON to standard error, in which control characters of names are escaped.
#[test]
fn requests_are_logged() {
    let mut program = Program::new();
    put(program.address, "a \u{1b}[31m\n.zt", &valid());
    post(program.address, b"");
    get(program.address, "/nothing");
    program.signal(Signal::TERM);
    assert!(program.child.wait().unwrap().success());
    let log = std::io::read_to_string(program.child.stderr.take().unwrap()).unwrap();
    assert!(log.chars().all(|c| c == '\n' || !c.is_control()), "{log:?}");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let texts = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    assert_eq!(texts("name"), [json!("a \u{1b}[31m\n.zt"), Value::Null, Value::Null]);
    assert_eq!(texts("status"), [200, 200, 404]);
    assert_eq!(texts("verdict"), [json!("valid"), json!("invalid"), Value::Null]);
    assert_eq!(texts("rule"), [Value::Null, json!("format-empty"), Value::Null]);
    assert_eq!(texts("bytes"), [valid().len(), 0, 0]);
    assert!(lines.iter().all(|line| line["seconds"].as_f64().unwrap() > 0.0), "{log}");
}

#[test]
fn a_request_that_has_begun_is_answered() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut program = Program::new();
        assert_eq!(get(program.address, "/health").text("status"), "ok");
        assert_eq!(post(program.address, &valid()).status, 200);
        let file = valid();
        let mut client = Client::new(program.address).unwrap();
        client.offer(file.len());
        program.signal(signal);
        // The test waits until the server no longer accepts connections.
        while Client::new(program.address).is_ok() {
            thread::yield_now();
        }
        client.send(&file).unwrap();
        let answer = client.answer();
        assert_eq!((answer.status, answer.text("verdict")), (200, "valid"));
        assert!(program.child.wait().unwrap().success());
    }
}

/// Starts the program under a seccomp filter that makes the system call `call` fail with `error`, as a container may. The filter
/// applies to the thread that installs it and to its child processes. A program that has started nevertheless is killed. Returns
/// the exit status and what the program wrote to standard error.
fn without(call: i64, error: i32) -> Output {
    let act = || {
        let machine = std::env::consts::ARCH.try_into().unwrap();
        let fails = SeccompAction::Errno(u32::try_from(error).unwrap());
        let rules = BTreeMap::from([(call, vec![])]);
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, fails, machine).unwrap();
        let program: BpfProgram = filter.try_into().unwrap();
        apply_filter(&program).unwrap();
        let mut child = command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // A program that has printed a line has started. It would run forever, so it is killed.
        if !line.is_empty() {
            child.kill().unwrap();
        }
        child.wait_with_output().unwrap()
    };
    thread::scope(|scope| scope.spawn(act).join().unwrap())
}

#[test]
fn where_workers_cannot_be_confined_nothing_is_served() {
    for call in [libc::SYS_landlock_create_ruleset, libc::SYS_seccomp, libc::SYS_prlimit64] {
        for error in [libc::ENOSYS, libc::EPERM] {
            let output = without(call, error);
            let message = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(1), "{message}");
            assert!(message.starts_with("zten-service: workers cannot be confined: "), "{message}");
        }
    }
}
