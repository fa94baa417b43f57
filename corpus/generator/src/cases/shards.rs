//! Roots of generation 2 with the shards that they list. Some are valid together, and some are not.

use twox_hash::XxHash3_64;

use crate::cbor::{Item, fields, map, marked, text, uint};
use crate::sha256::sha256;
use crate::table::{Sharded, Table};
use crate::v2::{FileV2, dense, file, full, object, part, words};

/// The data of the object `w`, which is in the shard `s`.
const DATA: [u8; 16] = crate::base::DATA;

pub(crate) fn cases(t: &mut Table) {
    let shard = FileV2::shard().blob(4096, &DATA).bytes();
    let mut accept = |name: &str, root, files: &[(&str, &[u8])]| {
        t.sharded.push(Sharded::new(name, root, files));
    };
    accept("dense", root(&shard), &[("s", &shard)]);
    accept("sha256", listing(text("s"), shard.len(), &sha256(&shard)), &[("s", &shard)]);
    // The shard is itself a root, and lists a shard that does not exist. That shard is not looked for.
    let whole = root(&shard).blob(4096, &DATA).bytes();
    accept("not-recursive", root(&whole), &[("s", &whole)]);
    let wrong = full().hash(7).bytes();
    accept("manifest-of-the-shard", root(&wrong), &[("s", &wrong)]);
    accept(
        "unreferenced",
        root(&shard).without("w:data/shard").blob(4096, &DATA),
        &[("s", &shard)],
    );
    let [indptr, indices] = [&[0, 2, 3][..], &[0, 2, 1]]
        .map(|values| FileV2::shard().blob(4096, &words(values)).bytes());
    accept("csr", csr(&indptr, &indices), &[("a", &indptr), ("bb", &indices)]);

    let mut opens_only = |name: &str, root, files: &[(&str, &[u8])], why| {
        t.sharded.push(Sharded { rule: Some(why), ..Sharded::new(name, root, files) });
    };
    opens_only("unsupported-shard--v2-missing", marked_root(&shard), &[], "unsupported-shard");
    let unreferenced = marked_root(&shard).without("w:data/shard").blob(4096, &DATA);
    opens_only("unsupported-shard--v2-unreferenced", unreferenced, &[], "unsupported-shard");
    let other = marked_listing(shard.len(), "blake3:00");
    opens_only("unsupported-digest--v2-shard", other, &[("s", &shard)], "unsupported-digest");
    let version = FileV2::shard().blob(4096, &DATA).version(3).bytes();
    opens_only(
        "unsupported-version--v2-shard",
        marked_root(&version),
        &[("s", &version)],
        "unsupported-version",
    );

    let mut reject = |rule, case: &str, root, files: &[(&str, &[u8])]| {
        t.sharded.push(Sharded {
            rule: Some(rule),
            neighbor: "dense",
            ..Sharded::new(&format!("{rule}--v2-{case}"), root, files)
        });
    };
    let longer = FileV2::shard().blob(4096, &[&DATA[..], &[0; 8]].concat()).bytes();
    let short = marked_listing(longer.len() - 8, &xxh3(&longer));
    reject("shard-length", "longer", short, &[("s", &longer)]);
    let frames = [
        ("header", FileV2::shard().header(b"\x89ZT3\r\n\x1a\n")),
        ("generation", FileV2::shard().header(b"ZTEN1000")),
        ("footer", FileV2::shard().footer_magic(b"ZTEN1000")),
        ("data-shard", FileV2::shard().manifest_offset(4096)),
        ("manifest-bounds", FileV2::shard().manifest_offset(4096).manifest_length(17)),
    ];
    for (case, shard) in frames {
        let shard = shard.blob(4096, &DATA).bytes();
        reject("shard-frame", case, marked_root(&shard), &[("s", &shard)]);
    }
    let padding = FileV2::shard().blob(4000, &[1]).blob(4096, &DATA).bytes();
    let of_another = |digest: &str| marked_listing(padding.len(), digest);
    reject("shard-digest", "xxh3", of_another(&xxh3(&shard)), &[("s", &padding)]);
    reject("shard-digest", "sha256", of_another(&sha256(&shard)), &[("s", &padding)]);
    let mut other = DATA;
    other[15] ^= 1;
    let other = FileV2::shard().blob(4096, &other).bytes();
    reject(
        "digest-mismatch",
        "in-a-shard",
        root(&other).set("w:data/digest", text(&xxh3(&DATA))).at_data(4096, 0, 0),
        &[("s", &other)],
    );
    let falls = FileV2::shard().blob(4096, &words(&[2, 0, 1])).bytes();
    t.sharded.push(Sharded {
        rule: Some("csr-index-order"),
        neighbor: "csr",
        ..Sharded::new(
            "csr-index-order--v2-in-a-shard",
            csr(&indptr, &falls).at_data(4100, 0, 2),
            &[("a", &indptr), ("bb", &falls)],
        )
    });
    behind_what_is_not_supported(t, &indptr);
    // The root lists two shards, one more than the limit allows. Both shards exist and are valid.
    let entry = |bytes: &[u8]| entry(bytes.len(), &xxh3(bytes));
    let two = vec![(text("s"), entry(&shard)), (marked(text("t")), entry(&shard))];
    t.sharded.push(Sharded {
        rule: Some("limit-shards"),
        neighbor: "dense",
        options: "limit=shards:1",
        ..Sharded::new(
            "limit-shards--v2-two",
            root(&shard).pairs("shards", two),
            &[("s", &shard), ("t", &shard)],
        )
    });
}

/// Adds cases about files with an error, in which a shard is missing or has an unknown version, too.
fn behind_what_is_not_supported(t: &mut Table, indptr: &[u8]) {
    let newer = FileV2::shard().blob(4096, &words(&[0, 2, 3])).version(3).bytes();
    let mut reject = |rule, case: &str, root: FileV2, files: &[(&str, &[u8])]| {
        t.sharded.push(Sharded {
            rule: Some(rule),
            neighbor: "csr",
            ..Sharded::new(&format!("{rule}--v2-{case}"), root, files)
        });
    };
    let indices = |values: &[u32]| FileV2::shard().blob(4096, &words(values)).bytes();
    let wide = indices(&[0, 3, 1]);
    let (missing, older) = (csr(indptr, &wide), csr(&newer, &wide));
    reject("index-range", "behind-a-shard", missing.at_data(4100, 0, 2), &[("bb", &wide)]);
    let both: &[(&str, &[u8])] = &[("a", &newer), ("bb", &wide)];
    reject("index-range", "behind-a-version", older.at_data(4100, 0, 2), both);
    // Each of these roots lists a wrong digest or size of one shard. That is an error even if this shard or the other
    // one has an unknown version, or the other one is missing.
    let other = indices(&[0, 2, 1]);
    let entries = |first: (&[u8], &str), second: (&[u8], &str), is_first: bool| {
        let name = |text: Item, is_it: bool| if is_it { marked(text) } else { text };
        csr(indptr, &other).pairs(
            "shards",
            vec![
                (name(text("a"), is_first), entry(first.0.len(), first.1)),
                (name(text("bb"), !is_first), entry(second.0.len(), second.1)),
            ],
        )
    };
    let (own, wrong) = (xxh3(&newer), "xxh3:0000000000000000");
    let of_newer = entries((&newer, wrong), (&other, &xxh3(&other)), true);
    let files: &[(&str, &[u8])] = &[("a", &newer), ("bb", &other)];
    reject("shard-digest", "version", of_newer, files);
    let behind = entries((&newer, &own), (&other, wrong), false);
    reject("shard-digest", "behind-a-version", behind, files);
    let missing = entries((&newer, &own), (&other, wrong), false);
    reject("shard-digest", "behind-a-shard", missing, &[("bb", &other)]);
    let longer = [&other[..], &[0; 8]].concat();
    let short = entries((&newer, &own), (&longer, &xxh3(&other)), false);
    reject("shard-length", "behind-a-version", short, files);
}

fn xxh3(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", XxHash3_64::oneshot(bytes))
}

fn entry(size: usize, digest: &str) -> Item {
    fields([("size", uint(size as u64)), ("digest", text(digest))])
}

/// Returns a file whose object `w` is in the shard `s`, with the content `shard`.
fn root(shard: &[u8]) -> FileV2 {
    listing(text("s"), shard.len(), &xxh3(shard))
}

/// Returns the file of [`root`], and expects the error at the name of the shard.
fn marked_root(shard: &[u8]) -> FileV2 {
    marked_listing(shard.len(), &xxh3(shard))
}

/// Returns the file of [`root`] with the size `size` and the digest `digest` of the shard in its table, and expects the error at
/// the name of the shard.
fn marked_listing(size: usize, digest: &str) -> FileV2 {
    listing(marked(text("s")), size, digest)
}

fn listing(name: Item, size: usize, digest: &str) -> FileV2 {
    dense(&[4], part("f32", 4096, 16), &[])
        .set("shards", map(vec![(name, entry(size, digest))]))
        .set("w:data/shard", text("s"))
}

/// Returns a root with a CSR matrix whose values are in the root, and whose pointers and indices are in two shards.
fn csr(indptr: &[u8], indices: &[u8]) -> FileV2 {
    let parts = vec![
        ("indptr", part("u32", 4096, 12)),
        ("values", part("f32", 4096, 12)),
        ("indices", part("u32", 4096, 12)),
    ];
    let shards = [("a", indptr), ("bb", indices)]
        .map(|(name, shard)| (text(name), entry(shard.len(), &xxh3(shard))));
    file(vec![("w", object(&[2, 3], "zt.sparse_csr/1", parts))])
        .blob(4096, &DATA[..12])
        .set("shards", map(shards.into()))
        .set("w:indptr/shard", text("a"))
        .set("w:indices/shard", text("bb"))
}
