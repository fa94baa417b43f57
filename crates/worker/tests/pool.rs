//! Tests of pools with honest and hostile workers. The workers are this program, so it has a `main` of its own, which calls
//! `init` before anything else. `cargo test -p zten-worker --test pool NAME` runs the tests whose names contain NAME.
//!
//! `ZTEN_WORKER_SECONDS` sets the length of the test with 64 clients, which is a second by default.
#![allow(clippy::allow_attributes, missing_docs, reason = "a test that panics has failed")]

// On other processors there is no filter of system calls, so workers cannot be confined completely.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
))]
#[path = "pool/linux.rs"]
mod linux;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
#[path = "pool/unsupported_platform.rs"]
mod linux;

use std::fs::File;
use std::io::{Read as _, Write as _};

use zten_worker::{Confinement, Function, Job, JobError, Pool, StartError, Work};

/// A function that returns the name, the length and the content of each file, and the argument.
static ECHO: Function = Function::new("echo", |work: Work| {
    let mut answer = Vec::new();
    for file in work.files {
        let _ = write!(answer, "{} {} ", file.name.display(), file.length);
        // The file is read through `take`, because reading a whole `File` asks for its metadata, which the filter
        // forbids.
        let read = (&file.file).take(u64::MAX).read_to_end(&mut answer);
        read.map_err(|error| error.to_string())?;
    }
    answer.extend(work.argument);
    Ok(answer)
});

/// A function that fails with its argument as the reason.
static FAIL: Function =
    Function::new("fail", |work: Work| Err(String::from_utf8_lossy(&work.argument).into_owned()));

/// A function that returns its argument, and a check that the answer is "good".
static CHECKED: Function = Function::new("checked", |work: Work| Ok(work.argument))
    .checked_by(|answer| if answer == b"good" { Ok(()) } else { Err("not good".to_owned()) });

fn main() {
    zten_worker::init(&[&ECHO, &FAIL, &CHECKED, &linux::BEHAVE]);
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let tests: [(&str, fn()); 3] = [
        ("functions_answer", functions_answer),
        ("only_linux_confines", only_linux_confines),
        ("pipes_are_no_files", pipes_are_no_files),
    ];
    // An emulator may run this program, and would not run the workers that it starts.
    let is_emulated = std::env::var_os("ZTEN_TEST_RUNNER").is_some();
    for (name, test) in tests.into_iter().chain(linux::TESTS) {
        if is_emulated && name != "pipes_are_no_files" {
            println!("NOT TESTED: {name}, which starts processes");
        } else if wanted.as_ref().is_none_or(|wanted| name.contains(wanted.as_str())) {
            let start = std::time::Instant::now();
            test();
            println!("test {name} ... ok ({:.2} s)", start.elapsed().as_secs_f32());
        }
    }
}

fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    file
}

fn functions_answer() {
    let pool = Pool::builder(Confinement::Try).workers(2).start().unwrap();
    let job = Job::new(&ECHO).file(file(b"one "), "a").unwrap().file(file(b"two "), "b").unwrap();
    let answer = pool.run(job.argument("three")).unwrap();
    assert_eq!(answer, b"a 4 one b 4 two three");

    // The argument and the answer are so long that they take many packets.
    let long: Vec<u8> = (0..=250).cycle().take(900_000).collect();
    assert_eq!(pool.run(Job::new(&ECHO).argument(long.clone())).unwrap(), long);
    let budget = zten_worker::Budget { answer: 899_999, ..pool.budget() };
    let error = pool.run(Job::new(&ECHO).argument(long).budget(budget)).unwrap_err();
    assert!(matches!(&error, JobError::Answer(why) if why.contains("899999")), "{error}");

    let error = pool.run(Job::new(&FAIL).argument("no \u{1b}[31m\u{202e}red")).unwrap_err();
    assert!(matches!(error, JobError::Failed(_)));
    assert_eq!(error.to_string(), "no \\u{1b}[31m\\u{202e}red");

    assert_eq!(pool.run(Job::new(&CHECKED).argument("good")).unwrap(), b"good");
    let error = pool.run(Job::new(&CHECKED).argument("bad")).unwrap_err();
    assert!(matches!(&error, JobError::Answer(why) if why == "not good"), "{error}");
}

fn only_linux_confines() {
    let required = Pool::builder(Confinement::Require).workers(1).start();
    if linux::CONFINES {
        assert_eq!(required.unwrap().missing_layer(), None);
    } else {
        assert!(matches!(required, Err(StartError::NotConfined(_))));
    }
    let off = Pool::builder(Confinement::Off).workers(1).start().unwrap();
    assert!(off.missing_layer().is_some());
    assert_eq!(off.run(Job::new(&ECHO).argument("x")).unwrap(), b"x");
}

fn pipes_are_no_files() {
    #[cfg(unix)]
    {
        let (reader, _writer) = std::io::pipe().unwrap();
        let reader = File::from(std::os::fd::OwnedFd::from(reader));
        assert!(Job::new(&ECHO).file(reader, "pipe").is_err());
    }
    let mut job = Job::new(&ECHO);
    for _ in 0..32 {
        job = job.file(file(b""), "x").unwrap();
    }
    assert!(job.file(file(b""), "x").is_err());
}
