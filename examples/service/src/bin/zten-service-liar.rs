//! A malicious worker for tests, which does what the content of the file says. It is confined like any worker.

use std::process::ExitCode;

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    zten_worker::init(&[&liar::LIE]);
    ExitCode::FAILURE
}

#[cfg(target_os = "linux")]
mod liar {
    use std::io::Read as _;

    use zten_service::CHECK;
    use zten_worker::{Function, Work};

    const VALID: &str = r#"{"valid":{"format":"ztensor","summary":"valid","notes":[]}}"#;

    const REJECTED: &str = r#"{"rejected":{"found":{"rule":"file-size","format":"ztensor","generation":null,"object":null,"component":null,"shard":null,"offset":null,"manifest_offset":null,"sentence":"","advice":null},"more":null,"notes":[]}}"#;

    /// The function of this dishonest worker, with which tests check the service. It has the name of the honest function.
    pub(super) static LIE: Function = Function::new(CHECK.name(), |work: Work| {
        let file = work.files.into_iter().next().ok_or("no file")?;
        let mut behavior = String::new();
        let _ = file.file.take(100).read_to_string(&mut behavior);
        let text = match behavior.as_str() {
            "honest" => VALID.to_owned(),
            "honest rejection" => REJECTED.to_owned(),
            "nothing" => std::process::exit(0),
            "panic" => panic!("as told"),
            "abort" => std::process::abort(),
            "sleep" => loop {
                std::thread::park();
            },
            "spin" => loop {
                std::hint::spin_loop();
            },
            "memory" => {
                let mut bytes = Vec::new();
                loop {
                    bytes.extend(vec![1_u8; 1 << 20]);
                }
            }
            "socket" => {
                let _ = std::net::UdpSocket::bind("127.0.0.1:0");
                VALID.to_owned()
            }
            "endless" => VALID.repeat(1 << 20),
            "no json" => "valid".to_owned(),
            "deep json" => "[".repeat(1 << 20),
            "more json" => format!("{VALID}{VALID}"),
            "unknown field" => VALID.replace("\"summary\"", "\"more\":1,\"summary\""),
            "unknown rule" => REJECTED.replace("file-size", "because"),
            "unknown format" => VALID.replace("ztensor", "pdf"),
            "unknown format of a rejection" => REJECTED.replace("ztensor", "docx"),
            // A broken rule as a note would make an invalid file look valid.
            "a false note" => {
                let found = REJECTED.split_once("\"found\":").unwrap_or_default().1;
                let found = found.split_once(",\"more\"").unwrap_or_default().0;
                VALID.replace("[]", &format!("[{found}]"))
            }
            "a note as the reason" => REJECTED.replace("file-size", "program-file"),
            "an error" => return Err("out of \u{1b}[2Jideas".to_owned()),
            other => return Err(format!("no such lie: {other}")),
        };
        Ok(text.into_bytes())
    })
    .checked_by(zten_service::answer::check);
}
