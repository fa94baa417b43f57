//! Cases of the corpus about archives of NumPy files.

use super::Cases;
use super::npy::{EVIL, OBJECTS};
use crate::other::npy::{file, versioned};
use crate::other::zip::{Archive, Member, end};

/// Returns `archive` with a ZIP64 end record, which claims `members` members, and its locator. In the usual end record after
/// them, the two numbers of members are `small`, which refers readers to the ZIP64 record if it is 0xffff.
fn large(archive: &Archive, members: u64, small: [u8; 2]) -> Vec<u8> {
    let (length, start) = (archive.directory.len() as u64, archive.members.len() as u64);
    let at = start + length;
    let mut record = b"PK\x06\x06".to_vec();
    record.extend(44_u64.to_le_bytes());
    record.extend([45, 0, 45, 0]);
    record.extend([0; 8]);
    for number in [members, members, length, start] {
        record.extend(number.to_le_bytes());
    }
    record.extend(b"PK\x06\x07\0\0\0\0");
    record.extend(at.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    let mut end = archive.end.clone();
    end[8..10].copy_from_slice(&small);
    end[10..12].copy_from_slice(&small);
    [&archive.members[..], &archive.directory, &record, &end].concat()
}

#[expect(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn all(cases: &mut Cases) {
    let array = file("<i2", false, "(2,)", &[1, 0, 2, 0]);
    let one = Member::stored("a.npy", &array);
    let two = Member::deflated("b.npy", &array);
    let both = Archive::new(&[one.clone(), two.clone()]);
    let of = |member: Member| Archive::new(&[member]).bytes();
    let bools = |byte| Member::deflated("a.npy", &file("|b1", false, "(2,)", &[0, byte]));
    let named = |name: &str| Member::stored(name, &array);
    let descriptor = |crc: u32| {
        let behind = [
            b"PK\x07\x08",
            &crc.to_le_bytes()[..],
            &one.size.to_le_bytes(),
            &one.size.to_le_bytes(),
        ];
        of(Member { flags: 8, behind: behind.concat(), ..one.clone() })
    };
    let literal =
        "{'descr': [('a', '<i2'), ('b', '|S1')], 'fortran_order': False, 'shape': (2,), }\n";
    let records = versioned(1, literal, &[1, 0, b'x', 2, 0, b'y']);
    let full = [0xff, 0xff];
    let accepted = [
        ("two", both.bytes()),
        ("none", Archive::new(&[]).bytes()),
        ("large", large(&both, 2, full)),
        ("descriptor", descriptor(one.crc)),
        ("time", of(Member { extra: b"UT\x05\0\x01\0\0\0\0".to_vec(), ..one.clone() })),
        ("attributes", of(Member { attributes: (0, 0o100_600 << 16), ..one.clone() })),
        ("utf8", of(Member { name: "ä.npy".into(), flags: 1 << 11, ..one.clone() })),
        ("bools", of(bools(1))),
        ("suffix", Archive::new(&[named("a.npy.npy"), named("b.npy")]).bytes()),
        // The members `b.txt` and `x/` are not arrays, so each of these two archives gives a note.
        ("readme", Archive::new(&[one.clone(), Member::stored("b.txt", b"text")]).bytes()),
        ("folder", {
            let folder = Member { attributes: (0, 0x10), ..Member::stored("x/", b"") };
            Archive::new(&[one.clone(), folder, named("x/a.npy")]).bytes()
        }),
        ("no-suffix", Archive::new(&[one.clone(), named("b")]).bytes()),
        // Arrays of text and of records, next to numbers.
        ("text-beside-numbers", {
            let text = file("<U1", false, "(1,)", b"a\0\0\0");
            Archive::new(&[Member::stored("t.npy", &text), one.clone()]).bytes()
        }),
        ("records", Archive::new(&[Member::stored("r.npy", &records), one.clone()]).bytes()),
        ("records-deflated", Archive::new(&[Member::deflated("r.npy", &records)]).bytes()),
        // The field `a` of the records would get the name `r["a"]`, which another member has already.
        ("fields-named", {
            let members = [Member::stored("r.npy", &records), named("r[\"a\"].npy")];
            Archive::new(&members).bytes()
        }),
    ];
    for (name, bytes) in accepted {
        cases.accept("npz", &format!("{name}.npz"), bytes);
    }
    let patched = |part: &dyn Fn(&mut Archive)| {
        let mut archive = both.clone();
        part(&mut archive);
        archive.bytes()
    };
    // The offset of the second entry in the directory.
    let entry = both.directory.len() / 2;
    let deflate = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut member = two.clone();
        change(&mut member.packed);
        of(member)
    };
    let valid = both.bytes();
    let long_array = |by: i32| {
        let shape = if by > 0 { "(3,)" } else { "(1,)" };
        file("<i2", false, shape, &[1, 0, 2, 0])
    };
    let rejected = [
        ("npz-magic", "letters", b"PK\x03\x05".to_vec()),
        ("zip-end-record", "cut", valid[..valid.len() - 1].to_vec()),
        ("zip-end-record", "behind", [&valid[..], b"x"].concat()),
        ("zip-end-record", "comment", patched(&|archive| archive.end[20] = 1)),
        ("zip-end-record", "disks", patched(&|archive| archive.end[4] = 1)),
        ("zip-end-record-64", "differs", large(&both, 3, [2, 0])),
        ("zip-end-record-64", "not-needed", large(&both, 2, [2, 0])),
        ("zip-directory", "length", patched(&|archive| archive.end[12] ^= 1)),
        ("zip-directory", "signature", patched(&|archive| archive.directory[entry] = b'X')),
        ("zip-directory", "comment", of(Member { comment: b"x".to_vec(), ..one.clone() })),
        (
            "zip-count",
            "3",
            patched(&|archive| {
                let (length, start) = (archive.directory.len(), archive.members.len());
                archive.end = end(3, length, start);
            }),
        ),
        ("zip-contiguous", "between", of(Member { behind: vec![0], ..one.clone() })),
        ("zip-bounds", "signature", patched(&|archive| archive.directory[entry + 42] ^= 1)),
        ("zip-header", "crc", patched(&|archive| archive.directory[16] ^= 1)),
        ("zip-header", "name", patched(&|archive| archive.members[30] = b'x')),
        ("zip-descriptor", "crc", descriptor(one.crc ^ 1)),
        ("zip-attributes", "directory", of(Member { attributes: (0, 0x10), ..one.clone() })),
        ("zip-attributes", "link", of(Member { attributes: (0, 0o120_777 << 16), ..one.clone() })),
        ("zip-extra", "unknown", of(Member { extra: b"\xfe\xca\0\0".to_vec(), ..one.clone() })),
        ("zip-extra", "cut", of(Member { extra: b"UT\x05".to_vec(), ..one.clone() })),
        (
            "format-pickle",
            "beside-arrays",
            Archive::new(&[one.clone(), Member::stored("x/data.pkl", b"\x80\x02}.")]).bytes(),
        ),
        ("zip-attributes", "folder-with-content", {
            Archive::new(&[one.clone(), Member::stored("x/", b"content")]).bytes()
        }),
        ("npy-objects", "beside-numbers", {
            let objects = file("|O", false, "(2,)", OBJECTS);
            Archive::new(&[Member::deflated("o.npy", &objects), one.clone()]).bytes()
        }),
        ("torch-global", "objects", {
            let objects = file("|O", false, "()", EVIL);
            Archive::new(&[one.clone(), Member::deflated("o.npy", &objects)]).bytes()
        }),
        (
            "npz-duplicate-name",
            "no-suffix",
            Archive::new(&[named("a.npy"), Member::stored("a", b"text")]).bytes(),
        ),
        ("zip-name", "zero", of(Member { name: b"a\0.npy".to_vec(), ..one.clone() })),
        ("zip-name", "code-page", of(Member { name: "ä.npy".into(), ..one.clone() })),
        ("npz-duplicate-name", "two", Archive::new(&[one.clone(), one.clone()]).bytes()),
        (
            "npz-duplicate-name",
            "suffix",
            Archive::new(&[named("a.npy"), named("a.npy.npy")]).bytes(),
        ),
        (
            "npz-duplicate-name",
            "suffix-before",
            Archive::new(&[named("a.npy.npy"), named("b.npy"), named("a.npy")]).bytes(),
        ),
        ("zip-encrypted", "flag", of(Member { flags: 1, ..one.clone() })),
        ("zip-feature", "bzip2", of(Member { method: 12, ..one.clone() })),
        ("zip-stored-size", "two", of(Member { size: one.size + 1, ..one.clone() })),
        ("zip-crc", "content", deflate(&|packed| *packed.last_mut().unwrap() = 9)),
        // In the first file a bit of the header is flipped, and in the second a bit of the elements. Both are reported
        // as damage, whatever else they break.
        ("zip-crc", "dtype", deflate(&|packed| packed[5 + 10 + 12] ^= 0x08)),
        ("zip-crc", "bool", {
            let mut member = bools(1);
            *member.packed.last_mut().unwrap() ^= 2;
            of(member)
        }),
        ("zip-deflate", "kind", deflate(&|packed| packed[0] = 7)),
        ("zip-deflate", "behind", deflate(&|packed| packed.push(0))),
        ("zip-deflate", "cut", deflate(&|packed| packed.truncate(packed.len() - 1))),
        (
            "zip-length",
            "longer",
            of(Member {
                size: two.size,
                ..Member::deflated("b.npy", &[&array[..], &[0]].concat())
            }),
        ),
        (
            "zip-length",
            "shorter",
            of(Member { size: two.size, ..Member::deflated("b.npy", &array[..array.len() - 1]) }),
        ),
        ("zip-crc", "stored", of(Member { crc: one.crc ^ 1, ..one.clone() })),
        ("zip-crc", "deflated", of(Member { crc: two.crc ^ 1, ..two.clone() })),
        (
            "npy-magic",
            "member",
            of(Member::stored("a.npy", b"just some text, as long as a header is")),
        ),
        ("npy-size", "longer", of(Member::stored("a.npy", &long_array(-1)))),
        ("npy-size", "shorter", of(Member::deflated("a.npy", &long_array(1)))),
        (
            "npy-objects",
            "none",
            of(Member::stored("a.npy", &file("|O", false, "()", b"\x80\x02N."))),
        ),
        ("tensor-bool-value", "2", of(bools(2))),
    ];
    for (rule, name, bytes) in rejected {
        cases.reject("npz", (rule, &format!("{name}.npz")), bytes);
    }
}
