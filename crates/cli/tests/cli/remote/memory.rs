//! Tests that the memory of reading processes depends on the bytes that were received, not on the length that a server
//! claims.

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use zten_corpus::other::gguf;
use zten_testkit::server::{Reply, Server, claimed};

use crate::command;

/// Returns the peak memory in bytes of a process and of each process that it started.
fn peaks(process: u32) -> Vec<u64> {
    let field = |text: &str, name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name))?;
        value.split_whitespace().next()?.parse::<u64>().ok()
    };
    let all = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let text = fs::read_to_string(entry.ok()?.path().join("status")).ok()?;
        let (id, parent) = (field(&text, "Pid:")?, field(&text, "PPid:")?);
        Some((id, parent, field(&text, "VmHWM:").unwrap_or_default() << 10))
    });
    let all: Vec<_> = all.collect();
    let mut family = vec![u64::from(process)];
    let mut at = 0;
    while let Some(parent) = family.get(at).copied() {
        family.extend(all.iter().filter(|(_, of, _)| *of == parent).map(|(id, _, _)| *id));
        at += 1;
    }
    all.iter().filter(|(id, _, _)| family.contains(id)).map(|(_, _, peak)| *peak).collect()
}

/// The name of a file, its beginning and its end, and the length that the server claims.
type Lie = (&'static str, Vec<u8>, Vec<u8>, u64);

fn lies() -> Vec<Lie> {
    const GIB: u64 = 1 << 30;
    const LONG: u64 = 99_000_000;
    let key = gguf::pair("general.name", 8, &LONG.to_le_bytes());
    let mut gguf = gguf::file(std::slice::from_ref(&key), &[], &[]);
    gguf.truncate(24 + key.len());
    vec![
        ("m.zt", b"ZTEN1000".to_vec(), [&GIB.to_le_bytes()[..], b"ZTEN1000"].concat(), GIB + 24),
        ("m.safetensors", LONG.to_le_bytes().to_vec(), Vec::new(), 2 * LONG),
        ("m.safetensors.index.json", b"{".to_vec(), Vec::new(), LONG),
        ("m.gguf", gguf, Vec::new(), 2 * LONG),
    ]
}

#[test]
fn claims_of_a_server_allocate_nothing() {
    unless_emulated!();
    for (name, begins, ends, length) in lies() {
        for options in [&["ls"][..], &["ls", "--no-sandbox"], &["check", "--jobs=2"]] {
            let (process, most) = (Arc::<OnceLock<u32>>::default(), Arc::<AtomicU64>::default());
            let (reader, seen) = (Arc::clone(&process), Arc::clone(&most));
            let (begins, ends) = (begins.clone(), ends.clone());
            let server = Server::start(move |_, request| {
                let reply = claimed(&begins, &ends, length, request);
                if reply.cut.is_none() {
                    return reply;
                }
                // If memory depended on the claimed length, it would be allocated by now.
                let peaks = peaks(*reader.wait());
                seen.fetch_max(peaks.into_iter().max().unwrap_or_default(), Ordering::SeqCst);
                Reply::status(404)
            });
            let url = server.at(name);
            let mut child = command()
                .args(options)
                .args(vec![url; if options[0] == "check" { 2 } else { 1 }])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            process.set(child.id()).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(2), "{options:?} {name}");
            let most = most.load(Ordering::SeqCst);
            assert!((1..64 << 20).contains(&most), "{options:?} {name}: {most} bytes");
        }
    }
}
