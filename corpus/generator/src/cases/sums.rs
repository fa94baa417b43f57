//! Cases of the corpus about digests that differ from those of the stored bytes, and digests that zten cannot verify.

use crate::base::{
    DATA, DATA_CRC32C, DATA_SHA256, component, csr, dense, dense_object, dense_v0, dense_zstd,
    entry, object, v0, v1, zstd_frame,
};
use crate::cbor::{text, uint, uints};
use crate::file::File;
use crate::table::Table;

const RULE: &str = "digest-mismatch";
/// The SHA-256 of no bytes.
const NOTHING: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// The SHA-256 of 16 zeros.
const ZEROS: &str = "sha256:374708fff7719dd5979ec875d56cd2286f6d3cf7ec317a3b25632aab28ec37bb";
/// The SHA-256 of the data and of the padding after it, up to offset 128.
const PADDED: &str = "sha256:b9aa2130ca7b8d3c0101f0843d054db9d06ac6f13bb7b5816f424e8ae1dc7b0d";
/// The SHA-256 of the zstd frame that contains [`DATA`].
const FRAME: &str = "sha256:d44f6d930d97d69b38dfbabab3fd264aacb953b54a4462bb4ffc2c7b317b5230";

pub(crate) fn cases(t: &mut Table) {
    for host in ["v12", "v11", "v01"] {
        one_component(t, host);
        compressed(t, host);
        empty(t, host);
        unsupported(t, host);
    }
    in_every_component(t);
    swapped(t);
    uninterpreted(t);
}

/// Computes CRC-32C, bit by bit.
fn crc32c(bytes: &[u8]) -> u32 {
    let bits = |crc: u32| {
        (0..8).fold(crc, |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 })
    };
    !bytes.iter().fold(u32::MAX, |crc, &byte| bits(crc ^ u32::from(byte)))
}

fn crc(bytes: &[u8]) -> String {
    format!("crc32c:{:08x}", crc32c(bytes))
}

/// Returns `digest` with another digit at the position `at`, which counts characters from the beginning of the text.
fn other(digest: &str, at: usize) -> String {
    let mut digits: Vec<char> = digest.chars().collect();
    digits[at] = if digits[at] == '0' { '1' } else { '0' };
    digits.into_iter().collect()
}

fn digest(host: &str, file: File, digest: &str) -> File {
    let path = if host == "v01" { "#0/checksum" } else { "w:data/digest" };
    file.set(path, text(digest))
}

fn raw(host: &str) -> File {
    match host {
        "v12" => dense("1.2.0"),
        "v11" => dense("1.1.0"),
        _ => dense_v0(),
    }
}

fn one_component(t: &mut Table, host: &str) {
    let of = |sum: &str| digest(host, raw(host), sum);
    let (sha, crc_name) = (format!("{host}-sum-sha256"), format!("{host}-sum-crc32c"));
    t.accept(sha.as_str(), of(DATA_SHA256));
    t.accept(crc_name.as_str(), of(DATA_CRC32C));
    let plain = crc(&DATA);
    assert_eq!(plain.to_uppercase(), DATA_CRC32C.replace("0x", "").to_uppercase());
    let last = DATA_SHA256.len() - 1;
    let reversed: String = plain[7..].chars().rev().collect();
    for (case, sum) in [
        ("sha256-first-digit", other(DATA_SHA256, 7)),
        ("sha256-middle-digit", other(DATA_SHA256, 40)),
        ("sha256-last-digit", other(DATA_SHA256, last)),
        ("sha256-of-other-bytes", ZEROS.to_owned()),
        ("sha256-of-nothing", NOTHING.to_owned()),
        ("sha256-of-padding-too", PADDED.to_owned()),
        ("sha256-zeros", format!("sha256:{}", "0".repeat(64))),
        ("crc32c-first-digit", other(DATA_CRC32C, 9)),
        ("crc32c-last-digit", other(DATA_CRC32C, 16)),
        ("crc32c-plain-last-digit", other(&plain, 14)),
        ("crc32c-of-other-bytes", crc(&[0; 16])),
        ("crc32c-of-one-byte-less", crc(&DATA[..15])),
        ("crc32c-of-padding-too", crc(&[&DATA[..], &[0; 48]].concat())),
        ("crc32c-zeros", "crc32c:00000000".to_owned()),
        ("crc32c-ones", "crc32c:0xffffffff".to_owned()),
        ("crc32c-digits-reversed", format!("crc32c:{reversed}")),
        ("crc32c-little-endian", format!("crc32c:{:08x}", crc32c(&DATA).swap_bytes())),
        ("crc32c-without-last-inversion", format!("crc32c:{:08x}", !crc32c(&DATA))),
        // This is the CRC-32 of zip, and not the CRC-32C, of the 16 bytes of data.
        ("crc32c-that-is-crc32", "crc32c:1810ac76".to_owned()),
    ] {
        let neighbor = if case.starts_with("sha") { &sha } else { &crc_name };
        let file = of(&sum).at_data(64, 0, 0);
        t.reject(RULE, format!("{host}-{case}"), file, neighbor);
    }
    let (file, mut data) = (of(DATA_SHA256), DATA);
    data[15] ^= 1;
    let file = file.blob(64, &data).at_data(64, 0, 0);
    t.reject(RULE, format!("{host}-one-bit-of-data"), file, &sha);
}

fn zstd(host: &str) -> File {
    match host {
        "v12" => dense_zstd("1.2.0"),
        "v11" => dense_zstd("1.1.0").without("w:data/uncompressed_length"),
        _ => {
            let frame = zstd_frame(&DATA);
            v0(vec![entry("w", "float32", &[2, 2], 64, frame.len() as u64)])
                .set("#0/encoding", text("zstd"))
                .blob(64, &frame)
        }
    }
}

/// Adds cases about digests of compressed components: a digest covers the stored bytes, not the decoded ones.
fn compressed(t: &mut Table, host: &str) {
    let of = |sum: &str| digest(host, zstd(host), sum);
    for (case, right, wrong) in [
        ("sha256", FRAME.to_owned(), DATA_SHA256.to_owned()),
        ("crc32c", crc(&zstd_frame(&DATA)), crc(&DATA)),
    ] {
        let neighbor = format!("{host}-sum-zstd-{case}");
        t.accept(neighbor.as_str(), of(&right));
        let file = of(&wrong).at_data(64, 0, 0);
        t.reject(RULE, format!("{host}-zstd-{case}-of-decoded"), file, &neighbor);
        let file = of(&other(&right, right.len() - 1)).at_data(64, 0, 0);
        t.reject(RULE, format!("{host}-zstd-{case}-last-digit"), file, &neighbor);
    }
}

fn empty(t: &mut Table, host: &str) {
    let file = match host {
        "v01" => v0(vec![entry("w", "float32", &[0], 64, 0)]),
        "v11" => v1("1.1.0", vec![("w", dense_object(&[0], component("f32", 64, 0)))]),
        _ => v1("1.2.0", vec![("w", dense_object(&[0], component("f32", 64, 0)))]),
    };
    let of = |sum: &str| digest(host, file.clone().start(64), sum);
    let (sha, crc_name) = (format!("{host}-sum-empty-sha256"), format!("{host}-sum-empty-crc32c"));
    t.accept(sha.as_str(), of(NOTHING));
    t.accept(crc_name.as_str(), of("crc32c:00000000"));
    for (case, sum) in [
        ("sha256-of-data", DATA_SHA256.to_owned()),
        ("sha256-last-digit", other(NOTHING, 70)),
        ("sha256-zeros", format!("sha256:{}", "0".repeat(64))),
        ("crc32c-1", "crc32c:00000001".to_owned()),
        ("crc32c-ones", "crc32c:ffffffff".to_owned()),
    ] {
        let neighbor = if case.starts_with("sha") { &sha } else { &crc_name };
        let file = of(&sum).at_data(64, 0, 0);
        t.reject(RULE, format!("{host}-empty-{case}"), file, neighbor);
    }
}

/// Adds cases about files with a wrong digest: of the first or the second object, of a component that the format does not use, of
/// an object of an unknown format or type, and of each component of a CSR matrix.
fn in_every_component(t: &mut Table) {
    let two = |first: &str, second: &str| {
        let item = dense_object(&[4], component("f32", 128, 16));
        dense("1.2.0")
            .push("objects", text("v"), item)
            .set("w:data/digest", text(first))
            .set("v:data/digest", text(second))
            .blob(128, &[0; 16])
    };
    t.accept("v12-sum-of-two", two(DATA_SHA256, ZEROS));
    let file = two(ZEROS, ZEROS).at_data(64, 0, 0);
    t.reject(RULE, "v12-digest-of-the-next", file, "v12-sum-of-two");
    let file = two(DATA_SHA256, DATA_SHA256).at_data(128, 1, 0);
    t.reject(RULE, "v12-digest-of-the-one-before", file, "v12-sum-of-two");
    let extra = |sum: &str| {
        dense("1.2.0")
            .set("w:extra", component("u8", 128, 16))
            .set("w:extra/digest", text(sum))
            .blob(128, &[0; 16])
    };
    t.accept("v12-sum-of-extra", extra(ZEROS));
    let file = extra(&other(ZEROS, 70)).at_data(128, 0, 1);
    t.reject(RULE, "v12-extra-role", file, "v12-sum-of-extra");
    let unknown = |sum: &str| {
        let data = component("u8", 64, 16);
        v1("1.2.0", vec![("w", object(&[], "x", vec![("blob", data)]))])
            .set("w:blob/digest", text(sum))
            .blob(64, &DATA)
    };
    let neighbor = "unsupported-format--v12-sum";
    t.accept(neighbor, unknown(DATA_SHA256));
    t.reject(RULE, "v12-unknown-format", unknown(ZEROS).at_data(64, 0, 0), neighbor);
    let typed = |sum: &str| {
        let file = dense("1.2.0").set("w:data/type", text("posit32"));
        file.set("w:data/digest", text(sum))
    };
    let neighbor = "unsupported-type--v12-sum";
    t.accept(neighbor, typed(DATA_SHA256));
    t.reject(RULE, "v12-unknown-type", typed(ZEROS).at_data(64, 0, 0), neighbor);

    let blobs = [
        ("values", 64, DATA[..12].to_vec()),
        ("indices", 128, crate::base::words(&[0, 2, 1])),
        ("indptr", 192, crate::base::words(&[0, 2, 3])),
    ];
    let whole = blobs.iter().fold(csr("1.2.0"), |file, (role, _, bytes)| {
        file.set(&format!("w:{role}/digest"), text(&crc(bytes)))
    });
    t.accept("v12-sum-of-csr", whole.clone());
    for (index, (role, offset, bytes)) in blobs.iter().enumerate() {
        let wrong = other(&crc(bytes), 10);
        let file = whole.clone().set(&format!("w:{role}/digest"), text(&wrong));
        let file = file.at_data(*offset, 0, index);
        t.reject(RULE, format!("v12-csr-{role}"), file, "v12-sum-of-csr");
    }
}

/// Adds cases about digests in 0.1: of big-endian data, where a digest covers the bytes as they are stored, and of the second
/// entry of a file.
fn swapped(t: &mut Table) {
    let big: Vec<u8> = DATA.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
    let of = |sum: &str| {
        v0(vec![entry("w", "float32", &[2, 2], 64, 16)])
            .set("#0/data_endianness", text("big"))
            .set("#0/checksum", text(sum))
            .blob(64, &big)
    };
    t.accept("v01-sum-big-endian", of(&crc(&big)));
    let file = of(&crc(&DATA)).at_data(64, 0, 0);
    t.reject(RULE, "v01-big-endian-of-little", file, "v01-sum-big-endian");
    let two = |sum: &str| {
        let second = entry("v", "uint8", &[16], 128, 16);
        v0(vec![entry("w", "float32", &[2, 2], 64, 16), second])
            .set("#1/checksum", text(sum))
            .blob(64, &DATA)
            .blob(128, &[0; 16])
    };
    t.accept("v01-sum-of-second", two(ZEROS));
    let file = two(DATA_SHA256).at_data(128, 1, 0);
    t.reject(RULE, "v01-second-entry", file, "v01-sum-of-second");
}

/// Adds files of 0.1 with an unknown dtype, encoding or layout. zten cannot interpret such an entry, but must still verify the
/// checksum of its stored bytes, and must still report a damaged zstd frame.
fn uninterpreted(t: &mut Table) {
    for (field, value, why) in [
        ("dtype", "float8", "unsupported-dtype"),
        ("encoding", "lz4", "unsupported-encoding"),
        ("layout", "blocked", "unsupported-layout"),
    ] {
        let unknown =
            |sum: &str| digest("v01", raw("v01"), sum).set(&format!("#0/{field}"), text(value));
        for (algorithm, right, wrong) in [
            ("sha256", DATA_SHA256, other(DATA_SHA256, 7)),
            ("crc32c", DATA_CRC32C, other(DATA_CRC32C, 16)),
        ] {
            let neighbor = format!("v01-sum-{algorithm}-of-unknown-{field}");
            t.opens_only(neighbor.clone(), unknown(right), why);
            let file = unknown(&wrong).at_data(64, 0, 0);
            t.reject(RULE, format!("v01-{algorithm}-of-unknown-{field}"), file, &neighbor);
        }
        // Reading a component reports an unknown dtype or encoding before an unknown checksum algorithm. An unknown
        // layout does not keep the component from being read, so there the algorithm is reported.
        let why = if field == "layout" { "unsupported-digest" } else { why };
        t.opens_only(format!("v01-sum-md5-of-unknown-{field}"), unknown("md5:00"), why);
    }
    let big = |sum: &str| {
        let file = digest("v01", raw("v01"), sum).set("#0/dtype", text("float8"));
        file.set("#0/data_endianness", text("big"))
    };
    let neighbor = "v01-sum-of-unknown-big-endian";
    t.opens_only(neighbor.to_owned(), big(DATA_SHA256), "unsupported-dtype");
    let file = big(ZEROS).at_data(64, 0, 0);
    t.reject(RULE, "v01-of-unknown-big-endian", file, neighbor);

    let framed = |sum: &str| digest("v01", zstd("v01"), sum).set("#0/dtype", text("float8"));
    let neighbor = "v01-sum-of-unknown-zstd";
    t.opens_only(neighbor.to_owned(), framed(FRAME), "unsupported-dtype");
    let file = framed(&other(FRAME, 7)).at_data(64, 0, 0);
    t.reject(RULE, "v01-of-unknown-zstd", file, neighbor);
    let without_sum = || zstd("v01").set("#0/dtype", text("float8"));
    t.opens_only("v01-unknown-zstd".to_owned(), without_sum(), "unsupported-dtype");
    let file = without_sum().blob(64, &[0; 4]).at_data(64, 0, 0);
    t.reject("zstd-magic", "v01-of-unknown-dtype", file, "v01-unknown-zstd");

    // Entry "w" has an unknown dtype and entry "v" a known one. A wrong checksum of either must be reported, even though
    // "w" cannot be read.
    let two = |first: &str, second: &str| {
        let entries =
            vec![entry("w", "float8", &[2, 2], 64, 16), entry("v", "uint8", &[16], 128, 16)];
        v0(entries)
            .set("#0/checksum", text(first))
            .set("#1/checksum", text(second))
            .blob(64, &DATA)
            .blob(128, &[0; 16])
    };
    let neighbor = "v01-sum-beside-unknown";
    t.opens_only(neighbor.to_owned(), two(DATA_SHA256, ZEROS), "unsupported-dtype");
    let file = two(DATA_SHA256, DATA_SHA256).at_data(128, 1, 0);
    t.reject(RULE, "v01-behind-unknown", file, neighbor);
    let file = two(ZEROS, ZEROS).at_data(64, 0, 0);
    t.reject(RULE, "v01-unknown-before-known", file, neighbor);
}

fn unsupported(t: &mut Table, host: &str) {
    const RULE: &str = "unsupported-digest";
    let sha = DATA_SHA256;
    let hex = &sha["sha256:".len()..];
    let mut all = vec![
        ("sha512", format!("sha512:{hex}{hex}")),
        ("sha512-256", format!("sha512-256:{hex}")),
        ("md5", "md5:10f9b81fd498581c61ff00b8019fc528".to_owned()),
        ("sha256-in-capitals", format!("SHA256:{hex}")),
        ("sha256-with-hyphen", format!("sha-256:{hex}")),
        ("sha256-after-space", format!(" {sha}")),
        ("crc32c-in-capitals", "CRC32C:0xC30D4189".to_owned()),
        ("crc32", "crc32:1810ac76".to_owned()),
        ("xxh64", "xxh64:0".to_owned()),
        ("nothing-after-colon", "blake3:".to_owned()),
    ];
    if host == "v01" {
        all.extend([("no-colon", hex.to_owned()), ("empty", String::new())]);
    }
    let neighbor = format!("{host}-sum-sha256");
    for (case, sum) in all {
        let file = digest(host, raw(host), &sum).at_data(64, 0, 0);
        t.reject(RULE, format!("{host}-{case}"), file, &neighbor);
    }
    let file = digest(host, zstd(host), "md5:00").at_data(64, 0, 0);
    t.reject(RULE, format!("{host}-zstd"), file, &format!("{host}-sum-zstd-sha256"));
    if host != "v01" {
        let file = digest(host, raw(host), "md5:00")
            .set("w:data/length", uint(0))
            .set("w:/shape", uints(&[0]))
            .at_data(64, 0, 0);
        t.reject(RULE, format!("{host}-empty"), file, &format!("{host}-sum-empty-sha256"));
    }
}
