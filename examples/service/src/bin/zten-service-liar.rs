//! A malicious worker for tests, which does what the file on its standard input says. It is confined like a worker if the test
//! depends on that.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    liar::lie();
    ExitCode::SUCCESS
}

#[cfg(target_os = "linux")]
mod liar {
    use std::fs::File;
    use std::io::{self, IoSlice, Read as _, Write as _};
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
    use std::time::Duration;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
    use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
    use zten_sandbox::{Budget, Role, confine};
    use zten_service::SEALS;

    const VALID: &str = r#"{"valid":{"format":"ztensor","generation":"1.2","summary":"valid","objects":[{"name":"x","format":"dense","state":"readable","shape":[1],"components":[{"role":"data","dtype":"u8","stored":1,"place":[0,1]}]}]}}"#;

    const REJECTED: &str = r#"{"rejected":{"rule":"file-size","format":"ztensor","generation":null,"object":null,"component":null,"shard":null,"offset":null,"manifest_offset":null,"sentence":""}}"#;

    pub(super) fn lie() {
        // This process ends with its parent whatever the file says: after a test no process is left that would kill it.
        zten_sandbox::end_with_parent();
        let mut behavior = String::new();
        let _ = io::stdin().take(100).read_to_string(&mut behavior);
        let facts = |from, to| VALID.replace(from, to);
        match behavior.as_str() {
            "honest" => send_text(VALID, &[&memory(1, SEALS)]),
            "sealed input" => {
                let seals = fcntl_get_seals(io::stdin()).unwrap();
                assert!(seals.contains(SEALS), "{seals:?}");
                send_text(&facts("[0,1]", "null"), &[]);
            }
            "nothing" => {}
            "panic" => panic!("as told"),
            "abort" => std::process::abort(),
            "sleep" => std::thread::sleep(Duration::from_secs(1000)),
            "spin" => loop {
                std::hint::spin_loop();
            },
            "memory" => {
                confined();
                let mut bytes = Vec::new();
                loop {
                    bytes.extend(vec![1_u8; 1 << 20]);
                }
            }
            "spin within its limits" => {
                confined();
                loop {
                    std::hint::spin_loop();
                }
            }
            "socket" => {
                confined();
                let _ = std::net::UdpSocket::bind("127.0.0.1:0");
                send_text(VALID, &[&memory(1, SEALS)]);
            }
            "half a head" => {
                let _ = io::stdout().write_all(b"\x01\0\0").and_then(|()| io::stdout().flush());
            }
            "half an answer" => send(1000, "{", &[]),
            "drip" => {
                send(1 << 20, "", &[]);
                while io::stdout().write_all(b" ").and_then(|()| io::stdout().flush()).is_ok() {
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            "endless" => {
                send(u64::MAX, "", &[]);
                while io::stdout().write_all(&[b' '; 1 << 12]).is_ok() {}
            }
            "no json" => send_text("valid", &[&memory(1, SEALS)]),
            "deep json" => send_text(&"[".repeat(1 << 20), &[]),
            "more json" => send_text(&format!("{VALID}{VALID}"), &[&memory(1, SEALS)]),
            "unknown field" => {
                send_text(&facts("\"role\"", "\"more\":1,\"role\""), &[&memory(1, SEALS)]);
            }
            "unknown rule" => send_text(&REJECTED.replace("file-size", "because"), &[]),
            "unknown format" => send_text(&facts("ztensor", "pdf"), &[&memory(1, SEALS)]),
            "unknown format of a rejection" => send_text(&REJECTED.replace("ztensor", "docx"), &[]),
            "no content" => send_text(VALID, &[]),
            "no place" => send_text(&facts("[0,1]", "null"), &[&memory(1, SEALS)]),
            "place beyond" => send_text(&facts("[0,1]", "[0,2]"), &[&memory(1, SEALS)]),
            "place that wraps" => {
                send_text(&facts("[0,1]", "[18446744073709551552,65]"), &[&memory(1, SEALS)]);
            }
            "place between" => send_text(&facts("[0,1]", "[1,1]"), &[&memory(4, SEALS)]),
            "two files" => send_text(VALID, &[&memory(1, SEALS), &memory(1, SEALS)]),
            "not sealed" => send_text(VALID, &[&memory(1, SealFlags::empty())]),
            "may shrink" => send_text(VALID, &[&memory(1, SEALS.difference(SealFlags::SHRINK))]),
            "may grow" => send_text(VALID, &[&memory(1, SEALS.difference(SealFlags::GROW))]),
            "may be written" => send_text(VALID, &[&memory(1, SEALS.difference(SealFlags::WRITE))]),
            "may be sealed" => send_text(VALID, &[&memory(1, SEALS.difference(SealFlags::SEAL))]),
            "too long" => send_text(VALID, &[&memory(1 << 40, SEALS)]),
            "a file" => {
                let file = std::env::current_exe().and_then(File::open).unwrap();
                send_text(VALID, &[&file.into()]);
            }
            "a pipe" => send_text(VALID, &[&io::pipe().unwrap().1.into()]),
            other => panic!("no such lie: {other}"),
        }
    }

    fn confined() {
        let budget =
            Budget { memory: Some(64 << 20), seconds: Some(1), file: Some(0), ..Budget::default() };
        let report = confine(Role::Sends, &budget, || ());
        assert_eq!(report.complete(), Ok(()));
    }

    fn memory(length: u64, seals: SealFlags) -> OwnedFd {
        let file = File::from(memfd_create("lie", MemfdFlags::ALLOW_SEALING).unwrap());
        file.set_len(length).unwrap();
        if !seals.is_empty() {
            fcntl_add_seals(&file, seals).unwrap();
        }
        file.into()
    }

    fn send_text(text: &str, files: &[&OwnedFd]) {
        send(u64::try_from(text.len()).unwrap(), text, files);
    }

    fn send(length: u64, text: &str, files: &[&OwnedFd]) {
        let files: Vec<BorrowedFd<'_>> = files.iter().map(|file| file.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(&files));
        }
        let head = length.to_le_bytes();
        let mut out = io::stdout().lock();
        let sent = sendmsg(&out, &[IoSlice::new(&head)], &mut control, SendFlags::empty());
        // Writing fails if the service has closed the socket.
        let _ = sent.map(|_| out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }
}
