//! Puts bytes that cases of zstd store into files: a compressed dense object in each generation.

use crate::base::{dense_object, entry, v0, v1, zstd_component};
use crate::cbor::text;
use crate::file::File;
use crate::table::Table;

/// The generations in which the files of this module are made, as the names of files spell them. The files of 1.1 and 0.1 do not
/// state the decoded length of a component.
pub(crate) const HOSTS: [&str; 3] = ["v12", "v11", "v01"];
/// The offset in the file of the stored bytes.
pub(crate) const START: usize = 64;

/// Returns a file with a vector `w` of `count` bytes, compressed as `stored`.
pub(crate) fn bytes(host: &str, stored: &[u8], count: u64) -> File {
    vector(host, ["u8", "uint8"], 1, stored, count)
}

/// Returns a file with a vector `w` of `count` elements of `f32`, compressed as `stored`.
pub(crate) fn floats(host: &str, stored: &[u8], count: u64) -> File {
    vector(host, ["f32", "float32"], 4, stored, count)
}

fn vector(host: &str, names: [&str; 2], width: u64, stored: &[u8], count: u64) -> File {
    let length = stored.len() as u64;
    let [name, v0_name] = names;
    let data = zstd_component(name, 64, length, count * width);
    let v1 = |version| v1(version, vec![("w", dense_object(&[count], data))]);
    let file = match host {
        "v12" => v1("1.2.0"),
        "v11" => v1("1.1.0").without("w:data/uncompressed_length"),
        _ => v0(vec![entry("w", v0_name, &[count], 64, length)]).set("#0/encoding", text("zstd")),
    };
    file.blob(START, stored)
}

/// Adds an accepted file in every generation, whose component stores `stored` and decodes to `count` bytes.
pub(crate) fn accept(t: &mut Table, case: &str, stored: &[u8], count: u64) {
    for host in HOSTS {
        t.accept(format!("{host}-frame-{case}"), bytes(host, stored, count));
    }
}

/// Adds a rejected file in every generation, whose component stores `stored`. The error is expected at byte `at` of
/// `stored`.
pub(crate) fn reject(
    t: &mut Table,
    rule: &'static str,
    case: &str,
    (stored, at): (&[u8], usize),
    count: u64,
    neighbor: &str,
) {
    reject_with(t, rule, case, (stored, at), (count, neighbor), "-");
}

/// Adds rejected files as [`reject`] does, which are rejected with `options`.
pub(crate) fn reject_with(
    t: &mut Table,
    rule: &'static str,
    case: &str,
    (stored, at): (&[u8], usize),
    (count, neighbor): (u64, &str),
    options: &str,
) {
    for host in HOSTS {
        let file = bytes(host, stored, count).at_data(START + at, 0, 0);
        let neighbor = format!("{host}-frame-{neighbor}");
        t.reject_with(rule, format!("{host}-{case}"), file, &neighbor, options);
    }
}
