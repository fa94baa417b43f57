//! The program, from its start to its end.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::client::{Client, get, post};
use crate::served::valid;

/// The program, which does not outlive its test.
struct Program {
    child: Child,
    address: SocketAddr,
}

impl Program {
    fn new() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_zten-service"))
            .args(["--listen", "127.0.0.1:0", "--time", "60"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
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
        // It has ended, if all went well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
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
        // It takes no others.
        while Client::new(program.address).is_ok() {
            std::thread::yield_now();
        }
        client.send(&file).unwrap();
        let answer = client.answer();
        assert_eq!((answer.status, answer.text("verdict")), (200, "valid"));
        assert!(program.child.wait().unwrap().success());
    }
}
