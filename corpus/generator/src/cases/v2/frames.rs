//! Cases of the corpus about the encoding `zt.zstd-seekable/1` of generation 2.

use crate::table::Table;
use crate::v2::{FileV2, encoded, frame, table};

pub(super) fn frames(t: &mut Table) {
    let (one, two) = (frame(&[1, 2, 3, 4]), frame(&[5, 6]));
    let lengths = (one.len(), two.len());
    let both = [one.as_slice(), &two].concat();
    let right = [(lengths.0, 4), (lengths.1, 2)];
    let of = |entries: &[(usize, usize)], descriptor| {
        encoded(6, &[both.as_slice(), &table(entries, descriptor)].concat())
    };
    t.accept_v2("frames", of(&right, 0));
    t.accept_v2("frames-and-unused-bits", of(&right, 3));
    t.accept_v2("no-frames", encoded(0, &table(&[], 0)));
    let at = |file: FileV2| file.at_data(4096, 0, 0);
    let mut reject = |rule, case: &str, file: FileV2| t.reject_v2(rule, case, at(file), "frames");
    reject("seek-table", "short", encoded(6, &both[..8]));
    reject("seek-table", "none", encoded(6, &both));
    reject("seek-table", "reserved", of(&right, 4));
    reject("seek-table", "count", {
        let mut stored = [both.as_slice(), &table(&right, 0)].concat();
        let length = stored.len();
        stored[length - 9] = 3;
        encoded(6, &stored)
    });
    // In these files, one bit is flipped in the head of the skippable frame that holds the seek table. The head
    // consists of four bytes of magic, and the number of following bytes in four bytes.
    let mut head = |case: &str, from_head: usize| {
        let mut stored = [both.as_slice(), &table(&right, 0)].concat();
        stored[both.len() + from_head] ^= 1;
        reject("seek-table", case, encoded(6, &stored));
    };
    head("magic", 0);
    head("length", 4);
    reject("seek-sizes", "stored", of(&[(lengths.0, 4), (lengths.1 - 1, 2)], 0));
    reject("seek-sizes", "decoded", of(&[(lengths.0, 4), (lengths.1, 1)], 0));
    reject("zstd-frame-size", "17-mib", of(&[(lengths.0, 17 << 20), (lengths.1, 2)], 0));
    reject("decoded-size", "frame", of(&[(lengths.0, 3), (lengths.1, 3)], 0));
    reject("zstd-frame-single", "two", of(&[(both.len(), 6)], 0));
    let plain = crate::base::zstd_frame(&[1, 2, 3, 4, 5, 6]);
    let entry = [(plain.len(), 6)];
    let without = encoded(6, &[plain.as_slice(), &table(&entry, 0)].concat());
    reject("zstd-frame-single", "no-checksum", without);
    let mut wrong = one.clone();
    wrong[10] ^= 1;
    let wrong = [wrong.as_slice(), &two, &table(&right, 0)].concat();
    reject("zstd-checksum", "frame", encoded(6, &wrong));
}
