//! Tests with a server that changes the bytes of a shard after some request but keeps its entity tag.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zten::write::{Checksum, Level, NewObject, ShardWriter, WriteOptions, Writer};
use zten::{DType, Generation};
use zten_testkit::server::{Reply, Server, honest};

use crate::{ended, zten};

/// The number of booleans. The file is long enough that its middle is neither in the first nor in the last bytes that are fetched,
/// and is requested separately.
const BOOLS: usize = 1 << 20;
/// The offset of one of the booleans.
const PLACE: u64 = 4096 + (BOOLS as u64) / 2;

/// Returns a root and its shard of incompressible booleans without their own digest, either raw or in Zstandard frames.
fn files(is_compressed: bool) -> (Vec<u8>, Vec<u8>) {
    let mut state = 1_u32;
    let bools = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        u8::try_from(state >> 31).unwrap()
    });
    let bools: Vec<u8> = bools.take(BOOLS).collect();
    let options = WriteOptions::default().generation(Generation::V2).checksum(Checksum::None);
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    let mut shard = ShardWriter::new(Vec::new(), &options).unwrap();
    let shape = [BOOLS as u64];
    let mut object = NewObject::dense("w", &shape, DType::Bool);
    if is_compressed {
        object = object.compressed(Level::default());
    }
    let mut out = writer.object_in("s", &mut shard, &object).unwrap();
    out.write_part("data", &bools).unwrap();
    out.finish().unwrap();
    let (shard, record) = shard.finish().unwrap();
    writer.shard("s", &record).unwrap();
    (writer.finish().unwrap(), shard)
}

/// Starts a server of these files. It changes one byte in each answer that contains the byte and for whose number `lies` returns
/// true.
fn serve(root: &[u8], shard: &[u8], lies: fn(usize) -> bool) -> Server {
    let (root, shard) = (root.to_vec(), shard.to_vec());
    let place = PLACE.min(shard.len() as u64 / 2);
    let times = Arc::new(AtomicUsize::new(0));
    Server::start(move |_, request| match request.path.as_str() {
        "/m.zt" => honest(&root, request),
        "/m-s.zt" => {
            let range = request.range(shard.len() as u64);
            if range.is_some_and(|range| range.contains(&place))
                && lies(times.fetch_add(1, Ordering::SeqCst))
            {
                let mut other = shard.clone();
                other[usize::try_from(place).unwrap()] ^= 2;
                return honest(&other, request);
            }
            honest(&shard, request)
        }
        _ => Reply::status(404),
    })
}

#[test]
fn printed_bytes_are_the_verified_bytes() {
    unless_emulated!();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.zt");
    let out = out.to_str().unwrap();
    for is_compressed in [false, true] {
        let (root, shard) = files(is_compressed);
        let here = folder.path().join("m.zt");
        fs::write(&here, &root).unwrap();
        fs::write(folder.path().join("m-s.zt"), &shard).unwrap();
        let here = here.to_str().unwrap();
        let commands = |name: &str| {
            let commands = [
                &["check", name][..],
                &["hash", name],
                &["diff", name, here],
                &["diff", here, name],
                &["convert", "--to=2", name, out],
                &["cat", "--raw", name, "w"],
                &["cat", "--raw", "--slice", ":9", name, "w"],
            ];
            commands
                .map(|command| command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let lies: [fn(usize) -> bool; 3] = [|number| number > 0, |number| number == 0, |_| true];
        for (lies, is_always_found) in lies.into_iter().zip([false, true, true]) {
            for (number, no_sandbox) in (0..commands("").len()).zip([false, true].iter().cycle()) {
                // The server changes the byte in the answers that `lies` selects: all but the first, only the first, or
                // all.
                let server = serve(&root, &shard, lies);
                let mut command = commands(&server.at("m.zt")).into_iter().nth(number).unwrap();
                if *no_sandbox {
                    command.push("--no-sandbox".to_owned());
                }
                let output = zten(command.iter().map(String::as_str).collect::<Vec<_>>());
                let (status, text, complaint) = ended(&output);
                // The changed byte is not part of the slice, so the change may remain undetected.
                if command.iter().any(|word| word == "--slice") && !is_always_found {
                    continue;
                }
                let said = format!("{complaint}{text}");
                assert!(status != Some(0), "{command:?}: {said}");
                // The change makes the shard differ from its digest, which is then reported.
                let is_named = said.contains("shard-digest");
                assert!(
                    is_named || command[0] == "check" && is_always_found,
                    "{command:?}: {said}"
                );
                assert!(!fs::exists(out).unwrap(), "{command:?}");
            }
        }
        let server = serve(&root, &shard, |_| false);
        for command in commands(&server.at("m.zt")) {
            let output = zten(command.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(output.status.code(), Some(0), "{command:?}");
        }
        fs::remove_file(out).unwrap();
    }
}
