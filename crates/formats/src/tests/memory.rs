//! Headers that say nothing but names: memory follows them, and not how many tensors they have.

use super::{gguf, npy, npz, open, safetensors};
use zten_num::u64_from_usize;

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

    let entries: Vec<_> = (0..100_000)
        .map(|at| {
            format!(r#""{at:x}":{{"dtype":"U8","shape":[],"data_offsets":[{at},{}]}}"#, at + 1)
        })
        .collect();
    let header = format!("{{{}}}", entries.join(","));
    let bytes = safetensors::file(&header, &vec![0; 100_000]);
    validate("safetensors, tensors", &bytes, header.len());

    let shape = vec!["1"; 64].join(",");
    let entries: Vec<_> = (0..40_000)
        .map(|at| {
            format!(
                r#""{at:x}":{{"dtype":"U8","shape":[{shape}],"data_offsets":[{at},{}]}}"#,
                at + 1
            )
        })
        .collect();
    let header = format!("{{{}}}", entries.join(","));
    let bytes = safetensors::file(&header, &vec![0; 40_000]);
    validate("safetensors, dimensions", &bytes, header.len());

    // An escape makes the parser copy the text.
    let name = format!("\\n{}", "x".repeat(8_000_000));
    let header = format!(r#"{{"{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}}}"#);
    validate("safetensors, a name", &safetensors::file(&header, &[]), header.len());
    let one = r#""x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}"#;
    let header = format!(r#"{{"__metadata__":{{"k":"{name}"}},{one}}}"#);
    validate("safetensors, a text", &safetensors::file(&header, &[]), header.len());

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

/// What describes a tensor of one byte, with another name and place.
fn named(info: &[u8], at: u64) -> Vec<u8> {
    let dimensions = &info[9..info.len() - 8];
    [&gguf::text(format!("{at:x}")), dimensions, &at.to_le_bytes()].concat()
}

/// A shape is counted before it is kept.
#[test]
fn more_dimensions_than_can_be_take_no_memory() {
    let shape = vec!["1"; 4_000_000].join(",");
    let header = format!(r#"{{"x":{{"dtype":"U8","shape":[{shape}],"data_offsets":[0,1]}}}}"#);
    let bytes = safetensors::file(&header, &[0]);
    let mut opened = None;
    let memory = allocation_counter::measure(|| opened = Some(open("x", &bytes)));
    assert!(opened.unwrap().is_err_and(|why| why.to_string().contains("64 dimensions")));
    let most = EACH * u64::try_from(header.len()).unwrap() + FIXED;
    assert!(memory.bytes_max <= most, "{} bytes", memory.bytes_max);
}

/// The parser of a header stores nothing of an entry for longer than the entry.
#[test]
fn entries_of_safetensors_are_parsed_without_allocating() {
    let parse = |count: u64| {
        let entry = |at: u64| {
            format!(
                r#""{at:08x}\u0021": {{"dtype":"U8","shape":[1,1],"data_offsets":[{at},{}]}}"#,
                at + 1
            )
        };
        let entries: Vec<_> = (0..count).map(entry).collect();
        let header = format!("{{{}}}", entries.join(","));
        let limits = zten::Limits::default();
        let mut found = None;
        let memory = allocation_counter::measure(|| {
            found = Some(crate::safetensors_tensors(header.as_bytes(), &limits).unwrap());
        });
        assert_eq!(found.map(u64_from_usize), Some(count));
        memory.count_total
    };
    assert_eq!(parse(10_000), parse(10));
}
