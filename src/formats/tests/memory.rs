//! Tests with headers that are as dense as possible: the memory for opening them must follow the length of the header, and
//! not the number of tensors.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use std::path::Path;
use std::println;

use zten_corpus::other::torch;
use zten_corpus::other::zip::Archive;

use crate::limits::{Limits, OpenOptions};
use crate::num::u64_from_usize;

use super::archive::Noted;
use super::safetensors::file;
use crate::error::Error;

use super::{gguf, npy, npz};

/// The largest number of bytes of heap for each byte of the header when a file is opened. `FIXED_OF_ARCHIVE` bytes come in
/// addition. See `docs/limits.md`.
const EACH_OF_ARCHIVE: u64 = 8;
const FIXED_OF_ARCHIVE: u64 = 64 << 10;

/// Opens the file `bytes`, whose header takes `header` bytes, from memory and from a source, and checks the heap that both
/// take, also if opening fails.
fn validate_archive(what: &str, bytes: &[u8], header: usize) -> Result<usize, Error> {
    validate_times(EACH_OF_ARCHIVE, what, bytes, header)
}

/// Opens the file `bytes`, whose header takes `header` bytes, and checks the heap as [`validate_archive`] does, for a format whose
/// header may take `each` times its length of heap.
fn validate_times(each: u64, what: &str, bytes: &[u8], header: usize) -> Result<usize, Error> {
    let length = u64_from_usize(bytes.len());
    // The limit on keys is off, so that it does not hide the memory that keys take.
    let limits = Limits::default().with_named("keys", u32::MAX.into()).unwrap();
    let options = OpenOptions::default().limits(limits);
    let mut opened = None;
    let borrowed = allocation_counter::measure(|| opened = Some(options.from_bytes(bytes)));
    let count = opened.unwrap().map(|archive| archive.len());
    let source = Noted::new(bytes);
    source.ranges.lock().unwrap().reserve(1 << 17);
    let mut opened = None;
    let read = allocation_counter::measure(|| {
        opened = Some(options.open_named(&source, length, Path::new("x")));
    });
    let again = opened.unwrap().map(|archive| archive.len());
    assert_eq!(count.as_ref().ok(), again.as_ref().ok());
    let header = u64_from_usize(header);
    let most = each * header + FIXED_OF_ARCHIVE;
    let (borrowed, read) = (borrowed.bytes_max, read.bytes_max);
    let ratio = |bytes: u64| bytes * 100 / header;
    println!("{what}: {header} bytes, {} % borrowed, {} % read", ratio(borrowed), ratio(read));
    assert!(borrowed <= most && read <= most, "{what}: {borrowed} and {read}, not {most}");
    count
}

fn validate_safetensors(what: &str, header: &str, data: usize) -> Result<usize, Error> {
    validate_archive(what, &file(header, &vec![0; data]), header.len())
}

/// Returns a header with a tensor of one byte for each of `ordinals`, in this order. The ordinal is the tensor's name and
/// offset.
fn header_of(ordinals: impl Iterator<Item = usize>, shape: &str) -> String {
    let entry = |at: usize| {
        format!(r#""{at:x}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{at},{}]}}"#, at + 1)
    };
    format!("{{{}}}", ordinals.map(entry).collect::<Vec<_>>().join(","))
}

#[test]
fn heap_follows_headers_of_safetensors() {
    // Some of these counts are one above a count at which vectors double, where the memory for each entry is largest.
    for count in [1, 100, 1_025, 4_096, 4_097, 65_536, 65_537, 70_000, 131_073] {
        let found = validate_safetensors("tensors", &header_of(0..count, ""), count);
        assert_eq!(found.unwrap(), count);
        let reversed = header_of((0..count).rev(), "");
        let found = validate_safetensors("tensors in disorder", &reversed, count);
        assert_eq!(found.unwrap(), count);
        // The smallest possible entries, which all have one name.
        let empty = r#""":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
        let header = format!("{{{}}}", vec![empty; count].join(","));
        assert_eq!(validate_safetensors("one name", &header, 0).is_ok(), count == 1);
        for shape in ["1", "1,1", &vec!["1"; 64].join(",")] {
            let count = count.min(20_000);
            let found = validate_safetensors("shapes", &header_of(0..count, shape), count);
            assert_eq!(found.unwrap(), count);
        }
        // No shape equals that of the tensor before, so no shape can be shared.
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
            validate_safetensors("one key", &keys(&|_| "k".to_owned()), 0).is_ok(),
            count == 1
        );
    }
    // An escape makes the parser copy the name, and an error has another copy.
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
    // Dimensions are counted before they are stored, so that a shape of millions of them takes no memory.
    let header = header_of(0..1, &vec!["1"; 4_000_000].join(","));
    let error = validate_safetensors("dimensions", &header, 1).unwrap_err();
    assert!(error.to_string().contains("64 dimensions"));
}

/// Opens a GGUF file with the metadata `pairs`, the tensors `infos` and `data` bytes of data, and checks the heap. Returns
/// the number of tensors, or `None` if the file is rejected.
fn validate_gguf(what: &str, pairs: &[Vec<u8>], infos: &[Vec<u8>], data: usize) -> Option<usize> {
    let pairs = [&[gguf::pair("general.alignment", 4, &8_u32.to_le_bytes())], pairs].concat();
    let header = 24 + [&pairs[..], infos].concat().iter().map(Vec::len).sum::<usize>();
    let mut bytes = gguf::file(&pairs, infos, &[]);
    bytes.truncate(header);
    bytes.resize(header.next_multiple_of(8) + data, 0);
    validate_archive(what, &bytes, header).ok()
}

#[test]
fn heap_follows_headers_of_gguf() {
    const I64: u32 = 27;
    // Some of these counts are just above a count at which vectors and buffers double, where the memory for each entry is largest.
    for count in [1, 100, 1_000, 1_025, 1_400, 4_097, 65_536, 70_000, 131_073] {
        let whole = Some(count);
        let of = |info: &dyn Fn(u64) -> Vec<u8>| {
            (0..u64_from_usize(count)).map(info).collect::<Vec<_>>()
        };
        let scalars = of(&|at| gguf::info(&format!("{at:x}"), &[], I64, at * 8));
        assert_eq!(validate_gguf("tensors", &[], &scalars, count * 8), whole);
        let reversed: Vec<_> = scalars.iter().rev().cloned().collect();
        assert_eq!(validate_gguf("tensors in disorder", &[], &reversed, count * 8), whole);
        // The smallest possible descriptions, which all have one name.
        let same = of(&|at| gguf::info("", &[], I64, (u64_from_usize(count) - 1 - at) * 8));
        assert_eq!(validate_gguf("one name", &[], &same, count * 8).is_some(), count == 1);
        // The fewest bytes that lead to the largest index: no shape and no type equals that of the tensor before.
        let blocks = |at: u64| {
            let (shape, kind) =
                if at.is_multiple_of(2) { ([256 << 50, 0], 17) } else { ([0, u64::MAX], 16) };
            gguf::info(&format!("{at:x}"), &shape, kind, 0)
        };
        assert_eq!(validate_gguf("blocks of two types", &[], &of(&blocks), 0), whole);
        let empty = |at: u64| gguf::info(&format!("{at:x}"), &[0], 16, 0);
        assert_eq!(validate_gguf("blocks", &[], &of(&empty), 0), whole);
        let anywhere = |at: u64| gguf::info("", &[0], 16, (1 << 40) - at * 8);
        assert_eq!(
            validate_gguf("one name of blocks", &[], &of(&anywhere), 0),
            whole.filter(|n| *n == 1)
        );

        let keys = |key: &dyn Fn(usize) -> String| {
            let pairs = (0..count).map(|at| gguf::pair(&key(at), 0, &[200]));
            pairs.collect::<Vec<_>>()
        };
        assert_eq!(validate_gguf("keys", &keys(&|at| format!("{at:x}")), &[], 0), Some(0));
        let one = validate_gguf("one key", &keys(&|_| "k".to_owned()), &[], 0);
        assert_eq!(one.is_some(), count == 1);
        let known = keys(&|at| format!("{at:x}.expert_count"));
        assert_eq!(validate_gguf("known keys", &known, &[], 0), Some(0));
        let both = validate_gguf("keys and blocks", &keys(&|at| format!("{at:x}")), &of(&empty), 0);
        assert_eq!(both, whole);

        let numbers = [&0_u32.to_le_bytes()[..], &u64_from_usize(count * 20).to_le_bytes()];
        let numbers = [&numbers.concat()[..], &vec![200; count * 20]].concat();
        let numbers = [gguf::pair("k", 9, &numbers)];
        assert_eq!(validate_gguf("numbers", &numbers, &[], 0), Some(0));
        assert_eq!(validate_gguf("numbers and blocks", &numbers, &of(&empty), 0), whole);
        let text = [gguf::pair("k", 8, &gguf::text("x".repeat(count * 30)))];
        assert_eq!(validate_gguf("a text", &text, &scalars, count * 8), whole);
        let key = [gguf::pair(&"\n".repeat(count * 30), 7, &[2])];
        assert_eq!(validate_gguf("a key in an error", &key, &[], 0), None);
    }
}

#[test]
fn heap_follows_headers_of_numpy() {
    let array = npy::file("|u1", false, "(0,)", &[]);
    for count in [1, 100, 1_025, 4_096, 4_097, 20_000] {
        for deflated in [false, true] {
            // The shortest names, in ascending order and in disorder.
            for names in [
                (0..count).map(|at| format!("{at:x}.npy")).collect::<Vec<_>>(),
                (0..count).rev().map(|at| format!("{at:05}.npy")).collect(),
                (0..count).map(|at| format!("{at}.npy.npy")).collect(),
            ] {
                let members: Vec<_> =
                    names.iter().map(|name| (name.as_str(), array.clone())).collect();
                let bytes = npz::archive(&members, deflated);
                let found = validate_archive("archive", &bytes, bytes.len());
                assert_eq!(found.unwrap(), count);
            }
        }
    }
    // A shape with far more dimensions than the limit must be rejected before they are stored.
    let (ones, spaces) = ("1,".repeat(30_000), " ".repeat(65_000));
    let dimensions = npy::file("|u1", false, &format!("({ones})"), &[0]);
    assert!(validate_archive("dimensions", &dimensions, dimensions.len()).is_err());
    let long = npy::file("|u1", false, &format!("(1,{spaces})"), &[0]);
    assert_eq!(validate_archive("spaces", &long, long.len()).unwrap(), 1);
    for deflated in [false, true] {
        for member in [&dimensions, &long] {
            let bytes = npz::archive(&[("a.npy", member.clone())], deflated);
            // The bytes of a deflated header count as header, too.
            let _ = validate_archive("a long header", &bytes, bytes.len() + member.len());
        }
    }
}

/// Checks that parsing an entry allocates nothing: only the index grows, by doubling.
#[test]
fn entries_of_safetensors_are_parsed_without_allocating() {
    let count = |count: usize| {
        // An escape in each name makes the parser decode the name.
        let header = header_of(0..count, "1,1").replace("\":{", "\\u0021\":{");
        let bytes = file(&header, &vec![0; count]);
        let mut found = None;
        let memory = allocation_counter::measure(|| {
            found = Some(OpenOptions::default().from_bytes(&*bytes).unwrap().len());
        });
        assert_eq!(found, Some(count));
        memory.count_total
    };
    let (few, many) = (count(10), count(10_000));
    assert!(many <= few + 4 * 11, "{few} and {many} allocations");
}

/// Checks the heap for pickles that repeat a few instructions, for long names, and for tensors as PyTorch saves them.
#[test]
fn heap_follows_pickles() {
    const EACH: u64 = 192;
    let instructions =
        [&b"N"[..], b"]", b")", b"K\x01", b"]\x94", b"X\0\0\0\0", b"(", b"](Nt", b"}N]s", b"h\0"];
    for count in [100, 10_000, 65_537] {
        for (place, instruction) in instructions.iter().enumerate() {
            for end in [&b""[..], b"t", b"e", b"u"] {
                let value = [b"]q\0(", &instruction.repeat(count)[..], end].concat();
                let pickle = [b"\x80\x04", &value[..], b"."].concat();
                let bytes = Archive::new(&torch::members(&pickle, &[])).bytes();
                let what = format!("instruction {place} {count} times");
                drop(validate_times(EACH, &what, &bytes, value.len()));
            }
        }
    }
    // The key of 60,000 bytes leads to many empty lists, so the name of each of them is long.
    let value = [b"}(".to_vec(), torch::text(&"x".repeat(60_000)), b"](]]]]]]]]]]eu".to_vec()];
    let value = value.concat();
    drop(validate_times(EACH, "long names", &torch::file(&value, &[]), value.len()));
    for count in [100, 10_000] {
        let names: Vec<String> = (0..count).map(|at| format!("layer.{at}.weight")).collect();
        let tensor = torch::tensor(torch::storage("ByteStorage", "0", 1), 0, &[1], &[1]);
        let items: Vec<_> = names.iter().map(|name| (&**name, tensor.clone())).collect();
        let value = torch::dict(&items);
        let bytes = torch::file(&value, &[&[7]]);
        let found = validate_times(EACH, "tensors", &bytes, value.len());
        assert_eq!(found.unwrap(), count);
    }
}
