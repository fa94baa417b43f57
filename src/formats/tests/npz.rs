use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use std::io::{Cursor, Write as _};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::layout::State;
use crate::limits::{Limits, OpenOptions};

use super::archive::Noted;
use super::{brief, npy, open_with, read, rejection};
use crate::formats::rules::Rule;

/// Returns an archive of `members`, each a name and its content, deflated or stored.
pub(super) fn archive(members: &[(&str, Vec<u8>)], deflated: bool) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let method = if deflated { CompressionMethod::Deflated } else { CompressionMethod::Stored };
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, data) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(data).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn array(values: &[u8]) -> Vec<u8> {
    npy::file("|u1", false, &format!("({},)", values.len()), values)
}

/// Returns the position of the first occurrence of `wanted` in `bytes`.
fn find(bytes: &[u8], wanted: &[u8]) -> usize {
    bytes.windows(wanted.len()).position(|window| window == wanted).unwrap()
}

/// Splits an archive into its three parts: members, directory, end record.
fn parts(bytes: &[u8]) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let directory = find(bytes, b"PK\x01\x02");
    let end = bytes.len() - 22;
    (bytes[..directory].to_vec(), bytes[directory..end].to_vec(), bytes[end..].to_vec())
}

#[test]
fn members_are_tensors() {
    for deflated in [false, true] {
        let turned = npy::file("<u2", true, "(2, 3)", &[0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5, 0]);
        let members = [
            ("b.npy", array(&[1, 2, 3])),
            ("layer/ä 0.npy", turned),
            ("none.npy", npy::file(">f8", false, "(0, 3)", &[])),
            ("a.npy", npy::file(">i2", false, "(1,)", &[1, 2])),
        ];
        let (attributes, tensors) = read("x", &archive(&members, deflated)).unwrap();
        assert_eq!(attributes, b"");
        let found: Vec<_> =
            tensors.iter().map(|(name, shape, _, data)| (&**name, &**shape, &**data)).collect();
        let wanted: [(&str, &[u64], &[u8]); 4] = [
            ("b", &[3], &[1, 2, 3]),
            ("layer/ä 0", &[2, 3], &[0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]),
            ("none", &[0, 3], &[]),
            ("a", &[1], &[2, 1]),
        ];
        assert_eq!(found, wanted);
    }
    assert!(read("x", &archive(&[], false)).unwrap().1.is_empty());
}

#[test]
fn chunks_do_not_divide_elements() {
    let data: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
    let big: Vec<u8> = (0..300_000_u32).flat_map(u32::to_be_bytes).collect();
    for deflated in [false, true] {
        let member = npy::file(">u4", false, "(300000,)", &big);
        let (_, tensors) = read("x", &archive(&[("a.npy", member)], deflated)).unwrap();
        assert!(tensors[0].3 == data);
        let columns: Vec<u8> = (0..3_u32)
            .flat_map(|column| (0..100_000).map(move |row| row * 3 + column))
            .flat_map(u32::to_be_bytes)
            .collect();
        let member = npy::file(">u4", true, "(100000, 3)", &columns);
        let (_, tensors) = read("x", &archive(&[("a.npy", member)], deflated)).unwrap();
        assert!(tensors[0].3 == data);
    }
}

#[test]
fn other_members_are_notes() {
    for deflated in [false, true] {
        for (name, content, why) in [
            ("notes.txt", &b"notes"[..], "\"notes.txt\" is not an array"),
            ("folder/a.npy.txt", b"\x93NUMP", "\"folder/a.npy.txt\" is not an array"),
            ("a.NPY", b"", "\"a.NPY\" is not an array"),
            ("folder/", b"", "\"folder/\" is a folder"),
            ("a.npy/", b"", "\"a.npy/\" is a folder"),
        ] {
            if name.ends_with('/') && deflated {
                continue;
            }
            let bytes = archive(&[("b.npy", array(&[1])), (name, content.to_vec())], deflated);
            let opened = OpenOptions::default().from_bytes(&*bytes).unwrap();
            assert_eq!(opened.tensors().map(|tensor| tensor.name()).collect::<Vec<_>>(), ["b"]);
            opened.verify().unwrap();
            let [finding] = opened.findings() else { panic!("{name}") };
            assert_eq!(finding.error().kind(), Rule::NpzName);
            assert!(brief(finding.error()).starts_with(why), "{}", brief(finding.error()));
        }
    }
    // NumPy reads an array whatever the name of its member is.
    let bytes = archive(&[("b.bin", array(&[1])), ("c", array(&[2]))], true);
    let length = bytes.len().try_into().unwrap();
    let opened = OpenOptions::default().open_named(&*bytes, length, "x.npz").unwrap();
    assert_eq!(opened.tensors().map(|tensor| tensor.name()).collect::<Vec<_>>(), ["b.bin", "c"]);
    opened.verify().unwrap();
    // For the name `a`, NumPy would return the text and not the array.
    let sentence =
        rejection("x", &archive(&[("a.npy", array(&[1])), ("a", b"text".to_vec())], false));
    assert!(sentence.contains("has the name of the member"), "{sentence}");
    let sentence = rejection("x", &archive(&[("a.npy", vec![])], false));
    assert_eq!(sentence, "\"a.npy\": the NumPy header is cut off");
    let empty = archive(&[("a.npy", vec![])], true);
    assert_eq!(rejection("x", &empty), "\"a.npy\": the NumPy header is cut off");
    let text = b"just some text, as long as a header is".to_vec();
    assert_eq!(
        rejection("x", &archive(&[("a.npy", text)], true)),
        "\"a.npy\": missing NumPy array"
    );
}

/// Checks that an array of text, records or objects does not keep the other arrays from being read, and that a damaged byte of
/// any array is found when the array, or a field of its records, is read.
#[test]
fn what_is_not_interpreted_hides_nothing() {
    let fields =
        "{'descr': [('a', '<u2'), ('t', '|S1')], 'fortran_order': False, 'shape': (2,), }\n";
    let mut pickled = npy::file("|O", false, "(1,)", b"");
    pickled.extend(b"\x80\x03]q\0.");
    for deflated in [false, true] {
        let bytes = archive(
            &[
                ("t.npy", npy::file("<U1", false, "(2,)", &[65, 0, 0, 0, 66, 0, 0, 0])),
                ("r.npy", npy::versioned(1, fields, &[1, 2, 65, 3, 4, 66])),
                ("o.npy", pickled.clone()),
                ("n.npy", array(&[1, 2])),
            ],
            deflated,
        );
        let opened = OpenOptions::default().from_bytes(&*bytes).unwrap();
        let listed: Vec<_> =
            opened.tensors().map(|tensor| (tensor.name(), tensor.state())).collect();
        assert_eq!(
            listed,
            [
                ("t", State::Opaque),
                ("r", State::Opaque),
                ("r[\"a\"]", State::Readable),
                ("o", State::Unread(Rule::NpyObjects.into())),
                ("n", State::Readable),
            ]
        );
        assert_eq!(opened.tensor("r[\"a\"]").unwrap().to_vec::<u16>().unwrap(), [0x201, 0x403]);
        assert_eq!(opened.tensor("n").unwrap().to_vec::<u8>().unwrap(), [1, 2]);
        assert_eq!(opened.verify().unwrap_err().kind(), Rule::NpyObjects);
        // One damaged byte of any array is found by reading it, and by reading a field of it.
        for (name, member, of) in
            [("t", 0, "t"), ("r", 1, "r"), ("r[\"a\"]", 1, "r"), ("n", 3, "n"), ("o", 2, "o")]
        {
            let mut damaged = bytes.clone();
            let start = damaged
                .windows(4)
                .enumerate()
                .filter(|(_, bytes)| bytes == b"PK\x03\x04")
                .map(|(at, _)| at)
                .nth(member + 1)
                .unwrap_or_else(|| find(&damaged, b"PK\x01\x02"));
            damaged[start - 1] ^= 1;
            let opened = OpenOptions::default().from_bytes(&*damaged);
            let Ok(opened) = opened else {
                // The damaged byte is in the deflated content of the member, which holds the header, too. So the archive
                // does not open.
                assert!(deflated, "{name}");
                continue;
            };
            let tensor = opened.tensor(name).unwrap();
            let read = tensor.component("data").unwrap().read().map(drop);
            let error = if name == "o" { opened.verify().unwrap_err() } else { read.unwrap_err() };
            let broken = [Rule::ZipCrc, Rule::ZipDeflate, Rule::ZipLength];
            assert!(broken.iter().any(|rule| error.kind() == *rule), "{name}: {error}");
            let error = opened.verify().unwrap_err();
            assert!(broken.iter().any(|rule| error.kind() == *rule), "{of}: {error}");
        }
    }
}

/// Checks that headers of long dtypes that are deflated to a few bytes take no more memory than other headers, because the
/// fields of their records do not become tensors. In an archive with few records they do.
#[test]
fn long_dtypes_take_little_memory() {
    let fields = |count: usize, name: &str| {
        let list: Vec<_> = (0..count).map(|at| format!("('{name}{at}', '|i1')")).collect();
        format!("{{'descr': [{}], 'fortran_order': False, 'shape': (1,), }}\n", list.join(", "))
    };
    let member = |count, name: &str| npy::versioned(2, &fields(count, name), &vec![0; count]);
    let long = member(250, &"x".repeat(200));
    let names: Vec<_> = (0..300).map(|at| format!("{at}.npy")).collect();
    let members: Vec<_> = names.iter().map(|name| (&**name, long.clone())).collect();
    let bytes = archive(&members, true);
    let mut opened = None;
    let used = allocation_counter::measure(|| {
        opened = Some(OpenOptions::default().from_bytes(&*bytes).unwrap());
    });
    let most = u64::try_from(12 * bytes.len()).unwrap() + (512 << 10);
    assert!(used.bytes_max < most, "{} bytes for a file of {}", used.bytes_max, bytes.len());
    let opened = opened.unwrap();
    assert_eq!(opened.len(), 300);
    assert_eq!(opened.tensor("299").unwrap().state(), State::Opaque);
    // In an archive with few records, each field of the records also becomes a tensor.
    let bytes = archive(&[("r.npy", member(60, "field "))], true);
    assert_eq!(OpenOptions::default().from_bytes(&*bytes).unwrap().len(), 61);
}

#[test]
fn members_are_as_long_as_their_arrays() {
    for deflated in [false, true] {
        for (length, why) in
            [(2, "expected 3 bytes of data, found 2"), (4, "1 byte follows the array")]
        {
            let bytes = npy::file("|u1", false, "(3,)", &vec![0; length]);
            let sentence = rejection("x", &archive(&[("a.npy", bytes)], deflated));
            assert_eq!(sentence, format!("\"a.npy\": {why}"));
        }
    }
}

#[test]
fn checksums_are_validated_whatever_the_order() {
    for columns_first in [false, true] {
        let member = npy::file("|u1", columns_first, "(2, 2)", &[251, 252, 253, 254]);
        let mut bytes = archive(&[("a.npy", member)], false);
        let at = find(&bytes, &[251, 252, 253, 254]);
        bytes[at + 3] = 255;
        // Opening does not read the data, so it must not report anything about it.
        let archive = OpenOptions::default().from_bytes(&*bytes).unwrap();
        assert_eq!(archive.verify().unwrap_err().rule(), Some("zip-crc"));
        let sentence = rejection("x", &bytes);
        assert!(
            sentence.starts_with(
                "\"a\": the content does not have the checksum that the directory gives"
            ),
            "{sentence}"
        );
    }
}

#[test]
fn two_members_of_one_name() {
    let mut bytes = archive(&[("a.npy", array(&[1])), ("b.npy", array(&[2]))], false);
    while let Some(at) = bytes.windows(5).position(|window| window == b"b.npy") {
        bytes[at] = b'a';
    }
    assert!(rejection("x", &bytes).contains("duplicate tensor name \"a\""));
}

#[test]
fn what_members_may_not_use() {
    let valid = archive(&[("a.npy", array(&[1])), ("b.npy", array(&[2]))], false);
    let (members, directory, end) = parts(&valid);
    let build = |flags: u16, method: u16| {
        let (mut members, mut directory) = (members.clone(), directory.clone());
        members[6..8].copy_from_slice(&flags.to_le_bytes());
        members[8..10].copy_from_slice(&method.to_le_bytes());
        directory[8..10].copy_from_slice(&flags.to_le_bytes());
        directory[10..12].copy_from_slice(&method.to_le_bytes());
        [members, directory, end.clone()].concat()
    };
    assert!(read("x", &build(0, 0)).is_ok());
    for (flags, method, why) in [
        (1, 0, "\"a.npy\" is encrypted"),
        (1 << 5, 0, "\"a.npy\" needs a feature of zip that is not supported"),
        (1 << 13, 0, "\"a.npy\" needs a feature of zip that is not supported"),
        (0, 12, "\"a.npy\" has an unsupported compression method"),
        (0, 93, "\"a.npy\" has an unsupported compression method"),
        (0, 8, "\"a.npy\": the compressed data cannot be decompressed"),
    ] {
        let sentence = rejection("x", &build(flags, method));
        assert!(sentence.starts_with(why), "{sentence}");
    }
}

#[test]
fn names_are_utf8_and_say_so() {
    let names = [("é.npy", 0_u16), ("é.npy", 1 << 11), ("\u{7f}a.npy", 0), ("a\0.npy", 0)];
    for (name, flags) in names {
        let mut bytes = archive(&[(name, array(&[1]))], false);
        let directory = find(&bytes, b"PK\x01\x02");
        for at in [6, directory + 8] {
            bytes[at..at + 2].copy_from_slice(&flags.to_le_bytes());
        }
        let is_good = !name.contains('\0') && (name.is_ascii() || flags != 0);
        assert_eq!(read("x", &bytes).is_ok(), is_good, "{name}");
    }
}

#[test]
fn the_end_record_leaves_no_doubt() {
    let valid = archive(&[("a.npy", array(&[1])), ("b.npy", array(&[2]))], false);
    let (members, directory, end) = parts(&valid);
    let with_end = |at: usize, value: &[u8]| {
        let mut end = end.clone();
        end[at..at + value.len()].copy_from_slice(value);
        [members.clone(), directory.clone(), end].concat()
    };
    for (bytes, why) in [
        ([valid.as_slice(), b"\0"].concat(), "1 byte follows the end record of the archive"),
        (valid[..valid.len() - 1].to_vec(), "does not end with"),
        (valid[..21].to_vec(), "shorter than the end record"),
        (with_end(20, &[1, 0]), "split into several files, or has a comment"),
        (with_end(4, &[1, 0]), "split into several files, or has a comment"),
        (with_end(8, &[1, 0]), "split into several files, or has a comment"),
        (with_end(8, &[1, 0, 1, 0]), "has 2 members, but its end record gives 1"),
        (with_end(8, &[3, 0, 3, 0]), "has 2 members, but its end record gives 3"),
        (with_end(12, &[0]), "does not end where"),
        (with_end(16, &[0]), "does not end where"),
        ([&b"PK\x03\x04"[..], &valid].concat(), "does not end where"),
        ([&valid[..members.len()], b"\0", &directory, &end].concat(), "does not end where"),
    ] {
        let sentence = rejection("x.npz", &bytes);
        assert!(sentence.contains(why), "{sentence}");
    }
    // An end record that claims more members than the file can hold must not allocate for them.
    let mut end = b"PK\x05\x06\0\0\0\0\xff\xff\xff\xff".to_vec();
    end.resize(22, 0);
    assert!(rejection("x", &end).contains("has 0 members, but its end record gives 65535"));
}

#[test]
fn end_records_of_large_archives() {
    let valid = archive(&[("a.npy", array(&[1])), ("b.npy", array(&[2]))], false);
    let (members, directory, _) = parts(&valid);
    let (start, length) = (members.len() as u64, directory.len() as u64);
    let build = |small: [u32; 3], record: u64, more: &[u8]| {
        let mut end = b"PK\x06\x06".to_vec();
        end.extend(record.to_le_bytes());
        end.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for number in [2, 2, length, start] {
            end.extend(number.to_le_bytes());
        }
        end.extend(more);
        end.extend(b"PK\x06\x07\0\0\0\0");
        end.extend((start + length).to_le_bytes());
        end.extend(b"\x01\0\0\0PK\x05\x06\0\0\0\0");
        let count = u16::try_from(small[0]).unwrap();
        end.extend([count, count].map(u16::to_le_bytes).concat());
        end.extend([small[1], small[2]].map(u32::to_le_bytes).concat());
        end.extend([0, 0]);
        [members.clone(), directory.clone(), end].concat()
    };
    let full = [0xffff, u32::MAX, u32::MAX];
    let same = [2, u32::try_from(length).unwrap(), u32::try_from(start).unwrap()];
    assert_eq!(read("x", &build(full, 44, &[])).unwrap().1.len(), 2);
    assert_eq!(read("x", &build([2, u32::MAX, same[2]], 44, &[])).unwrap().1.len(), 2);
    for (bytes, why) in [
        (build(same, 44, &[]), "two end records"),
        (build([1, u32::MAX, u32::MAX], 44, &[]), "two end records"),
        (build(full, 45, &[]), "zip64 end record of the archive is invalid"),
        (build(full, u64::MAX, &[]), "zip64 end record of the archive is invalid"),
        (build(full, 45, &[0]), "does not end where its locator begins"),
    ] {
        let sentence = rejection("x", &bytes);
        assert!(sentence.contains(why), "{sentence}");
    }
}

#[test]
fn members_lie_one_after_the_other() {
    let second = archive(&[("b.npy", array(&[2]))], false);
    let (second, ..) = parts(&second);
    // The array of the first member is as long as the second member, so that below the second member can lie inside of
    // the first one and end with it.
    let valid = archive(&[("a.npy", array(&vec![0; second.len()])), ("b.npy", array(&[2]))], false);
    let (members, directory, end) = parts(&valid);
    let (first, second) = members.split_at(members.len() - second.len());
    let entry = find(&directory[1..], b"PK\x01\x02") + 1;
    let build = |members: &[&[u8]], at: usize| {
        let (members, mut directory, mut end) = (members.concat(), directory.clone(), end.clone());
        directory[entry + 42..entry + 46]
            .copy_from_slice(&u32::try_from(at).unwrap().to_le_bytes());
        end[16..20].copy_from_slice(&u32::try_from(members.len()).unwrap().to_le_bytes());
        [members, directory, end].concat()
    };
    assert!(read("x.npz", &build(&[first, second], first.len())).is_ok());
    let inside = first.len() - second.len();
    for bytes in [
        build(&[&first[..inside], second], inside),
        build(&[first, b"\0", second], first.len() + 1),
        build(&[first, second, b"\0"], first.len()),
    ] {
        assert!(
            rejection("x.npz", &bytes).contains("does not begin where the member before it ends")
        );
    }
    let mut front = [b"PK\x03\x04", first, second].concat();
    let (mut directory, mut end) = (directory.clone(), end.clone());
    directory[42..46].copy_from_slice(&4_u32.to_le_bytes());
    let at = u32::try_from(first.len() + 4).unwrap();
    directory[entry + 42..entry + 46].copy_from_slice(&at.to_le_bytes());
    end[16..20].copy_from_slice(&u32::try_from(front.len()).unwrap().to_le_bytes());
    front.extend([directory, end].concat());
    assert!(
        rejection("x.npz", &front).contains("ends at byte 0x4"),
        "{}",
        rejection("x.npz", &front)
    );
}

/// Checks that an archive whose directory repeats its members is rejected after few reads, however often the directory repeats
/// them.
#[test]
fn members_that_overlap_are_not_read_on_and_on() {
    let valid = archive(&[("a.npy", array(&[1; 5000])), ("b.npy", array(&[2; 5000]))], false);
    let (members, directory, mut end) = parts(&valid);
    let directory = directory.repeat(500);
    end[8..12].copy_from_slice(&[1000_u16.to_le_bytes(); 2].concat());
    end[12..16].copy_from_slice(&u32::try_from(directory.len()).unwrap().to_le_bytes());
    let bytes = [members, directory, end].concat();
    let source = Noted::new(&bytes);
    let length = u64::try_from(bytes.len()).unwrap();
    let error = crate::formats::npz::open(&source, length, &OpenOptions::default()).unwrap_err();
    assert!(brief(&error.into()).contains("does not begin where the member before it ends"));
    let read = source.ranges.lock().unwrap().len();
    assert!(read < 10, "{read} reads");
}

#[test]
fn what_is_decompressed_is_limited() {
    let limits = |decoded: u64, total: u64| {
        let limits = Limits::default().with_decoded(decoded);
        limits.with_decoded_total(total)
    };
    let member = npy::file("|u1", false, "(5000,)", &[0; 5000]);
    let size = member.len() as u64;
    let members = [("a.npy", member.clone()), ("b.npy", member)];
    let bytes = archive(&members, true);
    assert!(open_with("x", &bytes, &limits(size, 2 * size)).is_ok());
    for (decoded, total) in [(size - 1, u64::MAX), (u64::MAX, 2 * size - 1)] {
        let sentence = brief(&open_with("x", &bytes, &limits(decoded, total)).unwrap_err());
        assert!(sentence.contains("exceeds the limit"), "{sentence}");
    }
    // The limits on decompressed bytes do not apply to members that are not compressed.
    assert!(open_with("x", &archive(&members, false), &limits(0, 0)).is_ok());
}

#[test]
fn members_do_not_yield_more_than_they_declare() {
    // The header and the directory say that the member has 9000 bytes fewer than its content decompresses to.
    let long = npy::file("|u1", false, "(9999,)", &[0; 9999]);
    let mut bytes = archive(&[("a.npy", long.clone())], true);
    let size = u32::try_from(long.len() - 9000).unwrap();
    let old = u32::try_from(long.len()).unwrap().to_le_bytes();
    while let Some(at) = bytes.windows(4).position(|window| window == old) {
        bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
    }
    let sentence = rejection("x", &bytes);
    assert!(
        sentence
            .contains("\"a.npy\": the content does not have the length that the directory gives"),
        "{sentence}"
    );
}
