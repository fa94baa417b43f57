//! Cases of the corpus about the forms of digests.

use crate::base::{DATA_CRC32C, DATA_SHA256, dense, dense_v0, full};
use crate::cbor::text;
use crate::table::Table;

/// The error of reading a component whose digest cannot be verified.
const UNVERIFIABLE: &str = "unsupported-digest";

pub(crate) fn cases(t: &mut Table) {
    forms(t);
    malformed(t);
}

fn forms(t: &mut Table) {
    let sha = DATA_SHA256;
    let upper = format!("sha256:{}", sha["sha256:".len()..].to_uppercase());
    let mixed = format!("{}{}", &sha[..40], sha[40..].to_uppercase());
    let valid = [
        ("sha256", sha.to_owned()),
        ("sha256-upper-case", upper),
        ("sha256-mixed-case", mixed),
        ("crc32c-0x", DATA_CRC32C.to_owned()),
        ("crc32c-plain", DATA_CRC32C.replace("0x", "")),
        ("crc32c-lower-case", "crc32c:c30d4189".to_owned()),
        ("crc32c-0x-lower-case", "crc32c:0xc30d4189".to_owned()),
    ];
    for (case, digest) in &valid {
        t.accept(format!("v12-digest-{case}"), dense("1.2.0").set("w:data/digest", text(digest)));
        t.accept(format!("v01-checksum-{case}"), dense_v0().set("#0/checksum", text(digest)));
    }
    // These digests have a valid form, but an algorithm that zten does not know: the files open, but cannot be verified.
    for (case, digest) in
        [("unknown", "blake3:0123456789abcdef"), ("upper-case", "SHA256:00"), ("not-hex", "md5:?")]
    {
        let file = dense("1.2.0").set("w:data/digest", text(digest));
        t.opens_only(format!("v12-digest-unverifiable-{case}"), file, UNVERIFIABLE);
        let file = dense_v0().set("#0/checksum", text(digest));
        t.opens_only(format!("v01-checksum-unverifiable-{case}"), file, UNVERIFIABLE);
    }
    for (case, digest) in [("empty", ""), ("no-colon", "C30D4189"), ("nothing-before-colon", ":00")]
    {
        let file = dense_v0().set("#0/checksum", text(digest));
        t.opens_only(format!("v01-checksum-unverifiable-{case}"), file, UNVERIFIABLE);
        let file = dense("1.2.0").bad("w:data/digest", text(digest));
        t.reject("digest-form", format!("v12-{case}"), file, "v12-digest-unverifiable-unknown");
    }
}

fn malformed(t: &mut Table) {
    let sha = DATA_SHA256;
    let hex = &sha["sha256:".len()..];
    for (case, digest, neighbor) in [
        ("sha256-63", sha[..70].to_owned(), "sha256"),
        ("sha256-65", format!("{sha}0"), "sha256"),
        ("sha256-empty", "sha256:".to_owned(), "sha256"),
        ("sha256-0x", format!("sha256:0x{hex}"), "sha256"),
        ("sha256-letter-g", format!("{}g", &sha[..70]), "sha256"),
        ("sha256-space", format!("sha256: {}", &hex[1..]), "sha256"),
        ("sha256-line-feed", format!("{sha}\n"), "sha256"),
        ("sha256-plus", format!("sha256:+{}", &hex[1..]), "sha256"),
        ("sha256-not-ascii", format!("{}é", &sha[..69]), "sha256"),
        ("crc32c-7", "crc32c:0x30D4189".to_owned(), "crc32c-0x"),
        ("crc32c-9", "crc32c:0x0C30D4189".to_owned(), "crc32c-0x"),
        ("crc32c-7-plain", "crc32c:30D4189".to_owned(), "crc32c-plain"),
        ("crc32c-9-plain", "crc32c:0C30D4189".to_owned(), "crc32c-plain"),
        ("crc32c-0x-upper", "crc32c:0XC30D4189".to_owned(), "crc32c-0x"),
        ("crc32c-0x-only", "crc32c:0x".to_owned(), "crc32c-0x"),
        ("crc32c-0x-of-8", "crc32c:0x0D4189".to_owned(), "crc32c-0x"),
        ("crc32c-empty", "crc32c:".to_owned(), "crc32c-plain"),
        ("crc32c-letter-o", "crc32c:C3OD4189".to_owned(), "crc32c-plain"),
        ("crc32c-sign", "crc32c:+30D4189".to_owned(), "crc32c-plain"),
    ] {
        let file = dense("1.2.0").bad("w:data/digest", text(&digest));
        t.reject("digest-form", format!("v12-{case}"), file, &format!("v12-digest-{neighbor}"));
        let file = dense_v0().bad("#0/checksum", text(&digest));
        t.reject("digest-form", format!("v01-{case}"), file, &format!("v01-checksum-{neighbor}"));
    }
    let v11 = full("1.1.0").bad("w:data/digest", text("sha256:8f4a"));
    t.reject("digest-form", "v11-sha256-4", v11, "v11-all-fields");
}
