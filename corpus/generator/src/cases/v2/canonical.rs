//! Cases of the corpus about the canonical form of generation 2.

use twox_hash::XxHash3_64;

use crate::base::{DATA, NONE};
use crate::cbor::{Item, fields, map, marked, text, uint, uints};
use crate::table::Table;
use crate::v2::{FileV2, dense, file, object};

/// The offset of the first blob of a canonical file.
const FIRST: u64 = 65_536;
/// The offset of the second blob of a canonical file.
const SECOND: u64 = 131_072;
/// The offset of the third blob of a canonical file.
const THIRD: u64 = 196_608;

pub(super) fn canonical(t: &mut Table) {
    t.accept_v2("canonical--dense", form());
    t.accept_v2("canonical--empty", file(NONE).start(65_536));
    t.accept_v2("canonical--attributes", attributes());
    t.accept_v2("canonical--tied", tied());
    t.accept_v2("canonical--order", order((SECOND, FIRST), SECOND));
    let mut reject =
        |rule, case: &str, file| t.reject_v2(rule, case, file, "canonical--attributes");
    let unknown = |letters| (marked(text(letters)), uint(1));
    let (key, value) = unknown("zzzzzzzzzzz");
    reject("canonical-field", "of-the-root", attributes().push("", key, value));
    let (key, value) = unknown("zzzzzzzzzzz");
    reject("canonical-field", "of-an-object", attributes().push("w:", key, value));
    let (key, value) = unknown("zzzzzzz");
    reject("canonical-field", "of-a-part", attributes().push("w:data", key, value));
    let empty = || (marked(text("attributes")), map(vec![]));
    let (key, value) = empty();
    let file_attributes = attributes().without("attributes").push("", key, value);
    reject("canonical-field", "empty-attributes", file_attributes);
    let (key, value) = empty();
    let own = attributes().without("w:/attributes").push("w:", key, value);
    reject("canonical-field", "empty-attributes-of-an-object", own);
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, "canonical--dense");
    let encoded = form().set("w:data/decoded_length", uint(16));
    let encoded = encoded.bad("w:data/encoding", text("zt.zstd-seekable/1"));
    reject("canonical-encoding", "seekable", encoded);
    reject("canonical-digest", "none", form().lacks("w:data/digest"));
    let sha256 = crate::sha256::sha256(&DATA);
    reject("canonical-digest", "sha256", form().bad("w:data/digest", text(&sha256)));
    let near = dense(&[2, 2], digested("f32", 4096), &DATA).start(65_536);
    reject("canonical-blob", "before-the-first-place", near.mark_offset("w"));
    reject("canonical-manifest", "between-places", form().start(135_168).at_manifest());
    reject("canonical-reserved", "7", form().reserved(7).at_end(12));
    let header = form().blob(8, &[1]);
    reject("canonical-padding", "behind-the-header", header.at_padding(8));
    let blob = form().blob(65_552, &[0, 0, 7]);
    reject("canonical-padding", "behind-a-blob", blob.at_padding(65_554));
    let mut reject = |rule, case: &str, file, near| t.reject_v2(rule, case, file, near);
    let twice = two(FIRST, SECOND).blob(131_072, &DATA).start(196_608).at_data(131_072, 1, 0);
    reject("canonical-sharing", "two-objects", twice, "canonical--tied");
    let manifest_order = order((FIRST, SECOND), THIRD).mark_offset("aa");
    reject("canonical-blob", "order-of-the-manifest", manifest_order, "canonical--order");
    let empty = order((SECOND, FIRST), FIRST).mark_offset("ab");
    reject("canonical-blob", "empty-at-a-place-before", empty, "canonical--order");
}

/// Returns a part with the 16 bytes of `DATA` and their digest.
fn digested(dtype: &str, offset: u64) -> Item {
    with_digest(dtype, offset, &DATA)
}

fn with_digest(dtype: &str, offset: u64, bytes: &[u8]) -> Item {
    let digest = format!("xxh3:{:016x}", XxHash3_64::oneshot(bytes));
    fields([
        ("blob", uints(&[offset, bytes.len() as u64])),
        ("dtype", text(dtype)),
        ("digest", text(&digest)),
    ])
}

/// Returns a canonical file of generation 2 with one dense object.
fn form() -> FileV2 {
    dense(&[2, 2], digested("f32", FIRST), &[]).blob(65_536, &DATA).start(131_072)
}

/// Returns a file with an object that has no elements, and with attributes.
fn attributes() -> FileV2 {
    dense(&[0], with_digest("u8", FIRST, &[]), &[])
        .start(65_536)
        .set("w:/attributes", fields([("a", uint(1))]))
        .set("attributes", fields([("a", uint(1))]))
}

/// Returns a file with two objects of equal bytes and different types, whose blobs are at the offsets `first` and `second`. The
/// bytes are written only at the first place of a blob, 65,536.
fn two(first: u64, second: u64) -> FileV2 {
    let own =
        |dtype, offset, count| object(&[count], "dense", vec![("data", digested(dtype, offset))]);
    file(vec![("v", own("f32", first, 4)), ("w", own("u8", second, 16))]).blob(65_536, &DATA)
}

fn tied() -> FileV2 {
    two(FIRST, FIRST).start(131_072)
}

/// Returns a file with the objects `b`, `aa` and `ab`, in the order of the manifest, whose blobs are at these offsets. `ab` is
/// empty: in the canonical file, its offset is that of the next blob.
fn order((b, aa): (u64, u64), ab: u64) -> FileV2 {
    let own = |offset, bytes: &[u8]| {
        let count = bytes.len() as u64;
        object(&[count], "dense", vec![("data", with_digest("u8", offset, bytes))])
    };
    let at = |offset: u64| usize::try_from(offset).expect("a small file");
    file(vec![("b", own(b, &[1, 2])), ("aa", own(aa, &[3])), ("ab", own(ab, &[]))])
        .blob(at(b.min(aa)), if b < aa { &[1, 2] } else { &[3] })
        .blob(at(b.max(aa)), if b < aa { &[3] } else { &[1, 2] })
        .start(196_608)
}
