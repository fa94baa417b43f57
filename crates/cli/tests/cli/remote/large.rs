//! Tests of how many bytes are fetched from large shards.

use std::collections::HashMap;

use zten::write::{Checksum, NewObject, ShardWriter, WriteOptions, Writer};
use zten::{DType, Generation};
use zten_testkit::server::{Reply, Server, honest};

use crate::{succeeded, zten};

const TENSOR: usize = 6 << 20;
const SHARDS: usize = 3;
/// The number of first and last bytes of a file that opening it fetches.
const ENDS: u64 = (64 << 10) + 64;

/// Returns a root and its shards, each with two tensors, by their paths.
fn files(checksum: Checksum) -> HashMap<String, Vec<u8>> {
    let options = WriteOptions::default().generation(Generation::V2).checksum(checksum);
    let mut writer = Writer::new(Vec::new(), &options).unwrap();
    let mut files = HashMap::new();
    for number in 1..=SHARDS {
        let name = number.to_string();
        let mut shard = ShardWriter::new(Vec::new(), &options).unwrap();
        for tensor in ["a", "b"] {
            let tensor = format!("{tensor}{number}");
            let shape = [16, TENSOR as u64 / 16];
            let new = NewObject::dense(&tensor, &shape, DType::U8);
            let mut object = writer.object_in(&name, &mut shard, &new).unwrap();
            object.write_part("data", &vec![u8::try_from(number).unwrap(); TENSOR]).unwrap();
            object.finish().unwrap();
        }
        let (shard, record) = shard.finish().unwrap();
        writer.shard(&name, &record).unwrap();
        files.insert(format!("/m-{name}.zt"), shard);
    }
    files.insert("/m.zt".to_owned(), writer.finish().unwrap());
    files
}

/// Starts a server of these files, and returns the lengths of the root and of all shards together.
fn serve(files: HashMap<String, Vec<u8>>) -> (Server, u64, u64) {
    let root = files["/m.zt"].len() as u64;
    let all: u64 = files.values().map(|file| file.len() as u64).sum();
    let server = Server::start(move |_, request| match files.get(&request.path) {
        Some(content) => honest(content, request),
        None => Reply::status(404),
    });
    (server, root, all - root)
}

/// Checks that the content of shards is fetched at most twice: once for the tensors, and once for the digests of the shards.
#[test]
fn shards_are_fetched_twice_and_no_more() {
    let (server, root, shards) = serve(files(Checksum::Xxh3));
    for (command, options) in [("check", &["--require-sandbox"][..]), ("hash", &["--no-sandbox"])] {
        let options = if crate::sandbox::FILTERED { options } else { &["--no-sandbox"] };
        let (sent, asked) = (server.sent(), server.asked().len());
        succeeded(zten([&[command, &server.at("m.zt")], options].concat()));
        let (sent, asked) = (server.sent() - sent, server.asked().len() - asked);
        let most = root + 2 * shards + SHARDS as u64 * ENDS;
        assert!(sent <= most, "{command}: {sent} of {most}");
        assert!(asked < 100, "{command}: {asked}");
    }
}

#[test]
fn one_tensor_is_fetched_of_one_shard() {
    let (server, root, _) = serve(files(Checksum::Xxh3));
    let bytes = succeeded(zten(["cat", "--raw", &server.at("m.zt"), "b2"]));
    assert_eq!((bytes.len(), bytes[0]), (TENSOR, 2));
    assert_eq!(server.paths(), ["/m.zt", "/m-2.zt"]);
    let most = root + ENDS + TENSOR as u64;
    assert!(server.sent() <= most, "{} of {most}", server.sent());
    let before = server.sent();
    let part = succeeded(zten(["cat", "--raw", "--slice", "3:7", &server.at("m.zt"), "b2"]));
    assert_eq!(part.len(), TENSOR / 4);
    let (sent, most) = (server.sent() - before, root + ENDS + TENSOR as u64);
    assert!(sent <= most, "{sent} of {most}");
}

/// Checks that the digest of a shard is verified first if the tensor in it has none.
#[test]
fn one_tensor_without_a_digest_has_its_shard_verified() {
    let (server, root, shards) = serve(files(Checksum::None));
    let shard = shards / SHARDS as u64;
    for slice in [&[][..], &["--slice", "3:7"]] {
        let before = server.sent();
        let name = server.at("m.zt");
        let bytes = succeeded(zten([&["cat", "--raw", &name, "b2"], slice].concat()));
        assert_eq!(bytes.len(), if slice.is_empty() { TENSOR } else { TENSOR / 4 });
        assert_eq!(server.paths(), ["/m.zt", "/m-2.zt"]);
        let (sent, most) = (server.sent() - before, root + ENDS + shard + TENSOR as u64);
        assert!(shard < sent && sent <= most, "{sent} of {most}");
    }
}
