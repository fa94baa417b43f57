//! Headers that say nothing but names: memory follows them, and not how many tensors they have.

use std::path::Path;

use zten::num::u64_from_usize;
use zten::{Limits, Options};

use super::safetensors::{Noted, file};
use super::{Trouble, gguf, npy, npz, open};
use crate::{open_bytes, open_source};

/// Memory that the header has nothing to do with.
const FIXED: u64 = 1 << 20;
/// Bytes of memory for each byte of a header, at most: `SECURITY.md`.
const EACH: u64 = 5;

/// Opens a file, and says how much memory that took, and how much it keeps.
fn measure(bytes: &[u8]) -> (u64, u64) {
    let mut opened = None;
    let memory = allocation_counter::measure(|| opened = Some(open("x", bytes)));
    let kept = u64::try_from(memory.bytes_current).unwrap();
    assert!(!opened.unwrap().unwrap().tensors().is_empty());
    (memory.bytes_max, kept)
}

fn validate(what: &str, bytes: &[u8], header: usize) {
    let (most, kept) = measure(bytes);
    let header = u64::try_from(header).unwrap();
    println!("{what}: {header} bytes, {most} at most, {kept} kept");
    assert!(most <= EACH * header + FIXED, "{what}: {most} bytes for {header}");
    assert!(kept <= 2 * header + FIXED, "{what}: {kept} bytes are kept for {header}");
}

#[test]
fn memory_follows_the_header() {
    // Millions of tensors of one byte each, and some of none.
    let mut infos = Vec::new();
    let mut header = 24;
    for at in 0..200_000 {
        let info = gguf::info(&format!("{at:x}"), &[], 24, at);
        header += info.len();
        infos.push(info);
    }
    let pairs = [gguf::pair("general.alignment", 4, &1_u32.to_le_bytes())];
    validate("GGUF, tensors", &unaligned(&pairs, &infos, 200_000), header);

    let ones = gguf::info("x", &[1; 64], 24, 0);
    let infos: Vec<_> = (0..20_000).map(|at| named(&ones, at)).collect();
    validate("GGUF, dimensions", &unaligned(&pairs, &infos, 20_000), 20_000 * ones.len());

    let length = 8_000_000_u64;
    let array = [&0_u32.to_le_bytes()[..], &length.to_le_bytes(), &vec![200; 8_000_000]].concat();
    let pairs = [gguf::pair("k", 9, &array)];
    let one = [gguf::info("x", &[0], 24, 0)];
    validate("GGUF, an array", &gguf::file(&pairs, &one, &[]), array.len());
    let pairs = [gguf::pair("k", 8, &gguf::text("x".repeat(8_000_000)))];
    validate("GGUF, a text", &gguf::file(&pairs, &one, &[]), array.len());

    let array = npy::file("|u1", false, "(0,)", &[]);
    let names: Vec<_> = (0..20_000).map(|at| format!("{at:x}.npy")).collect();
    let members: Vec<_> = names.iter().map(|name| (name.as_str(), array.clone())).collect();
    let bytes = npz::archive(&members, false);
    validate("archive", &bytes, bytes.len());
}

/// A file whose data is aligned to one byte.
fn unaligned(pairs: &[Vec<u8>], infos: &[Vec<u8>], data: usize) -> Vec<u8> {
    let mut bytes = gguf::file(pairs, infos, &[]);
    bytes.truncate(24 + pairs.concat().len() + infos.concat().len());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

/// The entry of a tensor of one byte, with another name and place.
fn named(info: &[u8], at: u64) -> Vec<u8> {
    let dimensions = &info[9..info.len() - 8];
    [&gguf::text(format!("{at:x}")), dimensions, &at.to_le_bytes()].concat()
}

/// Bytes of heap for each byte of a header of safetensors, at most, and beside it: `SECURITY.md`.
const EACH_SAFETENSORS: u64 = 8;
const FIXED_SAFETENSORS: u64 = 64 << 10;

/// Opens a file in both ways, and checks the heap that it takes, whatever comes of it.
fn validate_safetensors(what: &str, header: &str, data: usize) -> Result<u32, Trouble> {
    let bytes = file(header, &vec![0; data]);
    let length = u64_from_usize(bytes.len());
    // As many keys as there are, so that no limit keeps memory small.
    let limits = Limits::default().with_named("keys", u32::MAX.into()).unwrap();
    let options = Options::default().limits(limits);
    let mut opened = None;
    let borrowed = allocation_counter::measure(|| opened = Some(open_bytes(&*bytes, &options)));
    let count = opened.unwrap().map(|archive| archive.len());
    let source = Noted::new(&bytes);
    source.ranges.borrow_mut().reserve(64);
    let mut opened = None;
    let read = allocation_counter::measure(|| {
        opened = Some(open_source(&source, length, Path::new("x"), &options));
    });
    let again = opened.unwrap().map(|archive| archive.len());
    assert_eq!(count.as_ref().ok(), again.as_ref().ok());
    let header = u64_from_usize(header.len());
    let most = EACH_SAFETENSORS * header + FIXED_SAFETENSORS;
    let (borrowed, read) = (borrowed.bytes_max, read.bytes_max);
    let ratio = |bytes: u64| bytes * 100 / header;
    println!("{what}: {header} bytes, {} % borrowed, {} % read", ratio(borrowed), ratio(read));
    assert!(borrowed <= most && read <= most, "{what}: {borrowed} and {read}, not {most}");
    count
}

/// The header of tensors of one byte, in the order of those ordinals.
fn header_of(ordinals: impl Iterator<Item = usize>, shape: &str) -> String {
    let entry = |at: usize| {
        format!(r#""{at:x}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{at},{}]}}"#, at + 1)
    };
    format!("{{{}}}", ordinals.map(entry).collect::<Vec<_>>().join(","))
}

#[test]
fn heap_follows_headers_of_safetensors() {
    // Just after lists have doubled, and just before.
    for count in [1, 100, 1_025, 4_096, 4_097, 65_536, 65_537, 70_000, 131_073] {
        let found = validate_safetensors("tensors", &header_of(0..count, ""), count);
        assert_eq!(found.unwrap(), u32::try_from(count).unwrap());
        let reversed = header_of((0..count).rev(), "");
        let found = validate_safetensors("tensors in disorder", &reversed, count);
        assert_eq!(found.unwrap(), u32::try_from(count).unwrap());
        // The smallest entries that there are, all of one name.
        let empty = r#""":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
        let header = format!("{{{}}}", vec![empty; count].join(","));
        assert_eq!(validate_safetensors("one name", &header, 0).is_ok(), count == 1);
        for shape in ["1", "1,1", &vec!["1"; 64].join(",")] {
            let count = count.min(20_000);
            let found = validate_safetensors("shapes", &header_of(0..count, shape), count);
            assert_eq!(found.unwrap(), u32::try_from(count).unwrap());
        }
        // No shape is that of the tensor before.
        let entry = |at: usize| {
            let shape = if at.is_multiple_of(2) { "0,18446744073709551615" } else { "0,1" };
            format!(r#""{at:x}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,0]}}"#)
        };
        let header = format!("{{{}}}", (0..count).map(entry).collect::<Vec<_>>().join(","));
        validate_safetensors("wide shapes", &header, 0).unwrap();

        let keys = |key: &dyn Fn(usize) -> String| {
            let keys = (0..count).map(|at| format!(r#""{}":"""#, key(at)));
            format!(r#"{{"__metadata__":{{{}}}}}"#, keys.collect::<Vec<_>>().join(","))
        };
        validate_safetensors("keys", &keys(&|at| format!("{at:x}")), 0).unwrap();
        assert_eq!(
            validate_safetensors("one key", &keys(&|_| String::new()), 0).is_ok(),
            count == 1
        );
    }
    // An escape makes the parser copy the text; an error has a copy of the name.
    let name = format!("\\n{}", "x".repeat(3 << 20));
    let entry = |shape: &str| format!(r#"{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,0]}}"#);
    let header = format!(r#"{{"{name}":{}}}"#, entry("0"));
    assert_eq!(validate_safetensors("a name", &header, 0).unwrap(), 1);
    let header = format!(r#"{{"{name}":{}}}"#, entry("1"));
    assert!(validate_safetensors("a name in an error", &header, 0).is_err());
    let header = format!(r#"{{"{name}":{0},"{name}":{0}}}"#, entry("0"));
    assert!(validate_safetensors("a name in an error of the index", &header, 0).is_err());
    let growing = (1..2_000).map(|at| format!(r#""\n{}":{}"#, "x".repeat(at), entry("0")));
    let header = format!("{{{}}}", growing.collect::<Vec<_>>().join(","));
    assert_eq!(validate_safetensors("growing names", &header, 0).unwrap(), 1_999);
    let header = format!(r#"{{"__metadata__":{{"k":"{name}"}}}}"#);
    assert_eq!(validate_safetensors("a text", &header, 0).unwrap(), 0);
    let header = format!(r#"{{"__metadata__":{{"{name}":""}}}}"#);
    assert_eq!(validate_safetensors("a key", &header, 0).unwrap(), 0);
    // A shape is counted before it is kept.
    let header = header_of(0..1, &vec!["1"; 4_000_000].join(","));
    let trouble = validate_safetensors("dimensions", &header, 1).unwrap_err();
    assert!(trouble.to_string().contains("64 dimensions"));
}

/// Nothing is allocated for an entry but the room of the index, which doubles.
#[test]
fn entries_of_safetensors_are_parsed_without_allocating() {
    let count = |count: usize| {
        // Escapes in each name.
        let header = header_of(0..count, "1,1").replace("\":{", "\\u0021\":{");
        let bytes = file(&header, &vec![0; count]);
        let mut found = None;
        let memory = allocation_counter::measure(|| {
            found = Some(open_bytes(&*bytes, &Options::default()).unwrap().len());
        });
        assert_eq!(found, u32::try_from(count).ok());
        memory.count_total
    };
    let (few, many) = (count(10), count(10_000));
    assert!(many <= few + 4 * 11, "{few} and {many} allocations");
}
