//! Tests of zip archives with one changed field. All forms that NumPy writes are accepted. A field that contradicts
//! another, or that some readers ignore, is rejected.

mod archive;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::{read, rejection};

use archive::{Member, build, content, field, large};

/// Checks that `member` is rejected as the first and as the last member, with an error that contains `why`.
fn rejected(member: &Member, why: &str) {
    let other = Member::numpy("other.npy", 8);
    for members in [[member.clone(), other.clone()], [other, member.clone()]] {
        let sentence = rejection("x", &build(&members));
        assert!(sentence.contains(why), "not {why}: {sentence}");
    }
}

fn accepted(member: &Member) {
    let other = Member::numpy("other.npy", 8);
    for members in [[member.clone(), other.clone()], [other, member.clone()]] {
        let (_, tensors) = read("x", &build(&members)).unwrap();
        assert_eq!(tensors.len(), 2);
        assert!(tensors.iter().all(|tensor| tensor.3 == [1, 2, 3]));
    }
}

fn changed(member: &Member, change: impl FnOnce(&mut Member)) -> Member {
    let mut member = member.clone();
    change(&mut member);
    member
}

const DIFFERS: &str = "\"a.npy\" has a local header that does not agree with the directory";
const CONTRADICTS: &str = "\"a.npy\" has a zip64 extra field that contradicts its local header";
const BEHIND: &str = "\"a.npy\": the data descriptor does not agree with the directory";
const DEFLATE: &str = "the compressed data cannot be decompressed";
const LENGTH: &str = "the content does not have the length that the directory gives";
const GAP: &str = "a member of the archive does not begin where the member before it ends";

#[test]
fn every_layout_that_is_written() {
    for method in [0, 8] {
        for member in [Member::plain, Member::numpy, Member::streamed] {
            accepted(&member("a.npy", method));
        }
        // NumPy with Python before 3.11.4 writes both sizes, and a version that does not mention the 64-bit ones.
        let old = changed(&Member::plain("a.npy", method), |member| {
            member.local.extra = large(&member.sizes());
        });
        accepted(&old);
        // NumPy with Python before 3.11.4, when it writes to a pipe: the header has sizes of 0, and a data descriptor
        // follows the content.
        accepted(&changed(&Member::streamed("a.npy", method), |member| {
            (member.local.size, member.local.packed) = (0, 0);
            (member.local.version, member.central.version) = (20, 20);
        }));
    }
}

#[test]
fn what_is_said_twice_is_the_same() {
    for valid in [Member::plain("a.npy", 8), Member::numpy("a.npy", 0)] {
        let changes: [fn(&mut Member); 6] = [
            |member| member.local.version ^= 1,
            |member| member.local.flags ^= 2,
            |member| member.local.method ^= 8,
            |member| member.local.moment ^= 1 << 31,
            |member| member.local.crc ^= 1,
            |member| member.local.name[0] ^= 2,
        ];
        for change in changes {
            rejected(&changed(&valid, change), DIFFERS);
        }
    }
    let valid = Member::plain("a.npy", 8);
    rejected(&changed(&valid, |member| member.local.size ^= 1), DIFFERS);
    rejected(&changed(&valid, |member| member.local.packed ^= 1), DIFFERS);
    rejected(
        &changed(&valid, |member| member.start = Some(1)),
        "does not begin at the offset that the directory gives",
    );
}

#[test]
fn numbers_of_large_files_contradict_nothing() {
    let valid = Member::numpy("a.npy", 8);
    let [size, packed] = valid.sizes();
    for (numbers, why) in
        [([size, packed ^ 1], DIFFERS), ([size ^ 1, packed], DIFFERS), ([packed, size], DIFFERS)]
    {
        rejected(&changed(&valid, |member| member.local.extra = large(&numbers)), why);
    }
    rejected(&changed(&valid, |member| member.local.extra = large(&[size])), CONTRADICTS);
    rejected(
        &changed(&valid, |member| member.local.extra = large(&[size, packed, 0])),
        CONTRADICTS,
    );
    rejected(&changed(&valid, |member| member.local.extra = vec![]), CONTRADICTS);
    // The 32-bit sizes of the header contradict the 64-bit ones.
    rejected(&changed(&valid, |member| member.local.size = 1), CONTRADICTS);
    rejected(&changed(&valid, |member| member.local.packed = 0), CONTRADICTS);
    let sizes = |member: &mut Member| {
        member.local.size = member.central.size;
        member.local.packed = member.central.packed;
    };
    accepted(&changed(&valid, sizes));

    // The extra field in the directory must have a number for each field that is full, and no other number.
    let all = |numbers: &[u64]| {
        let (valid, numbers) = (valid.clone(), numbers.to_vec());
        changed(&valid, move |member| {
            (member.central.size, member.central.packed) = (u32::MAX, u32::MAX);
            member.central.extra = large(&numbers);
        })
    };
    accepted(&all(&[size, packed]));
    accepted(&changed(&valid, |member| {
        member.central.size = u32::MAX;
        member.central.extra = large(&[size]);
    }));
    let other = "\"a.npy\" has a zip64 extra field that does not hold exactly the missing numbers";
    rejected(&all(&[size]), other);
    rejected(&all(&[size, packed, 0]), other);
    rejected(&changed(&valid, |member| member.central.extra = large(&[size, packed])), other);
    rejected(&changed(&all(&[]), |member| member.central.extra = vec![]), other);
    rejected(&all(&[size ^ 1, packed]), DIFFERS);
    // If only the directory has 64-bit numbers, only its version says so.
    let mut large = all(&[size, packed]);
    (large.local, large.central.version) = (Member::plain("a.npy", 8).local, 45);
    accepted(&large);
    rejected(&changed(&large, |member| member.central.version = 44), DIFFERS);
    rejected(&changed(&Member::plain("a.npy", 8), |member| member.central.version = 45), DIFFERS);
    let beyond = |member: &mut Member| {
        (member.local.version, member.central.version) = (46, 46);
    };
    rejected(&changed(&valid, beyond), "needs a feature of zip that is not supported");
}

#[test]
fn extra_fields_are_whole_and_known() {
    for valid in [Member::plain("a.npy", 8), Member::numpy("a.npy", 0)] {
        for more in [vec![0], vec![0; 3], vec![0x55, 0x54, 5, 0, 0], field(1, &[0; 15])] {
            let local = changed(&valid, |member| member.local.extra.extend(&more));
            let central = changed(&valid, |member| member.central.extra.extend(&more));
            for member in [local, central] {
                rejected(&member, "\"a.npy\" has ");
            }
        }
        for (id, length) in [(0x7075, 9), (0xcafe, 0), (0x5455, 6)] {
            let unknown = field(id, &vec![0; length]);
            let local = changed(&valid, |member| member.local.extra.extend(&unknown));
            let central = changed(&valid, |member| member.central.extra.extend(&unknown));
            for member in [local, central] {
                rejected(
                    &member,
                    &format!("has the unsupported extra field {id:#06x} of {length} byte"),
                );
            }
        }
        // These are the extra fields that the program `zip` adds.
        accepted(&changed(&valid, |member| {
            member.local.extra.extend(field(0x5455, &[3; 9]));
            member.central.extra.extend(field(0x5455, &[3; 5]));
            for said in [&mut member.local, &mut member.central] {
                said.extra.extend(field(0x7875, &[1; 11]));
            }
        }));
    }
}

#[test]
fn what_stands_behind_a_member_is_what_the_directory_says() {
    for method in [0, 8] {
        let valid = Member::streamed("a.npy", method);
        for at in 4..valid.behind.len() {
            rejected(&changed(&valid, |member| member.behind[at] ^= 1), BEHIND);
        }
        rejected(&changed(&valid, |member| member.behind = vec![0xa5; 24]), BEHIND);
        rejected(&changed(&valid, |member| member.behind = vec![]), BEHIND);
        rejected(&changed(&valid, |member| member.behind.truncate(16)), BEHIND);
        rejected(&changed(&valid, |member| member.behind[0] = b'Q'), BEHIND);
        rejected(&changed(&valid, |member| member.behind.push(0)), GAP);
        // The signature of a data descriptor is optional.
        accepted(&changed(&valid, |member| drop(member.behind.drain(..4))));
        // Without its flag, a data descriptor is rejected.
        let flagless = |member: &mut Member| {
            (member.local.flags, member.central.flags) = (0, 0);
        };
        rejected(&changed(&valid, flagless), DIFFERS);
        rejected(&changed(&Member::numpy("a.npy", method), |m| m.behind = vec![0; 24]), GAP);
        // The header before a data descriptor may leave the sizes and the checksum out, but must not have wrong ones.
        let [size, packed] = valid.sizes();
        accepted(&changed(&valid, |member| member.local.extra = large(&[size, packed])));
        accepted(&changed(&valid, |member| member.local.crc = member.central.crc));
        rejected(&changed(&valid, |member| member.local.extra = large(&[size, 0])), DIFFERS);
        rejected(&changed(&valid, |member| member.local.crc = 1), DIFFERS);

        // The descriptor has 32-bit sizes if the header has no 64-bit ones.
        let small = |member: &mut Member| {
            (member.local.size, member.local.packed) = (0, 0);
            member.local.extra = vec![];
        };
        rejected(&changed(&valid, small), BEHIND);
        let short = changed(&changed(&valid, small), |member| {
            let [size, packed] = [size, packed].map(|size| u32::try_from(size).unwrap());
            let crc = member.central.crc;
            member.behind.truncate(4);
            member.behind.extend([crc, packed, size].map(u32::to_le_bytes).concat());
        });
        accepted(&short);
        rejected(&changed(&short, |member| member.behind.truncate(12)), BEHIND);
    }
}

#[test]
fn compressed_data_ends_with_its_last_byte() {
    let resize = |member: &mut Member, packed: Vec<u8>| {
        let length = u32::try_from(packed.len()).unwrap();
        (member.local.packed, member.central.packed) = (length, length);
        member.packed = packed;
    };
    let valid = Member::plain("a.npy", 8);
    for more in [&[0][..], &[0xff; 20], b"PK\x03\x04"] {
        let packed = [&valid.packed[..], more].concat();
        let bytes = changed(&valid, |member| resize(member, packed));
        rejected(&bytes, DEFLATE);
    }
    for less in [1, 2, 5] {
        let packed = valid.packed[..valid.packed.len() - less].to_vec();
        let bytes = changed(&valid, |member| resize(member, packed));
        rejected(&bytes, DEFLATE);
    }
    // The content is complete, but the stream continues with an empty block that is not the last.
    let content = content();
    let length = u16::try_from(content.len()).unwrap();
    let stored = |last: u8| {
        let lengths = [length.to_le_bytes(), (!length).to_le_bytes()].concat();
        [&[last][..], &lengths, &content].concat()
    };
    accepted(&changed(&valid, |member| resize(member, stored(1))));
    let endless = changed(&valid, |member| resize(member, stored(0)));
    rejected(&endless, DEFLATE);
    let ended = [&stored(0)[..], &[1, 0, 0, 0xff, 0xff]].concat();
    accepted(&changed(&valid, |member| resize(member, ended)));
    // The content is longer than the directory says, and shorter.
    for (size, why) in
        [(1, "the content does not have the checksum that the directory gives"), (0, LENGTH)]
    {
        let longer = [&stored(0)[..], &[1, 1, 0, 0xfe, 0xff, 9]].concat();
        rejected(
            &changed(&valid, |member| {
                resize(member, longer);
                member.local.size += size;
                member.central.size += size;
            }),
            why,
        );
    }
}

#[test]
fn members_have_no_comments_and_one_disk() {
    for valid in [Member::plain("a.npy", 8), Member::numpy("a.npy", 0)] {
        rejected(&changed(&valid, |member| member.comment = vec![b'x']), " has a comment");
        rejected(&changed(&valid, |member| member.disk = 1), "in another file of a split archive");
    }
}

/// Checks that changes of an archive's bytes are rejected. Only the version and system of the writer, the attribute for text,
/// and external attributes of an entry in the directory may change, and they do not change what is read.
#[test]
fn every_byte_is_accounted_for() {
    for layout in [Member::plain, Member::numpy, Member::streamed] {
        let valid = build(&[layout("a.npy", 0), layout("b.npy", 0)]);
        let wanted = read("x", &valid).unwrap();
        let mut free = Vec::new();
        for at in 0..valid.len() {
            let mut bytes = valid.clone();
            for flip in 1..=u8::MAX {
                bytes[at] = valid[at] ^ flip;
                if let Ok(other) = read("x", &bytes) {
                    assert_eq!(other, wanted, "{at}");
                    free.push(at);
                }
            }
        }
        free.dedup();
        let entries = valid.windows(4).enumerate().filter(|(_, bytes)| bytes == b"PK\x01\x02");
        // The bytes of an entry that may have any value: the version of the writer, the internal attribute for text, and
        // external attributes that leave the member a regular file.
        let of_files =
            |(at, _)| [at + 4..at + 6, at + 36..at + 37, at + 38..at + 42].into_iter().flatten();
        let wanted: Vec<usize> = entries.flat_map(of_files).collect();
        assert_eq!(free, wanted);
    }
}
