//! Cases of the corpus about the table of shards, and the parts in shards.

use crate::cbor::{Item, array, fields, marked, raw, text, uint, uints};
use crate::table::Table;
use crate::v2::{object, part, sharded};

pub(super) fn shards(t: &mut Table) {
    let null = || raw(&[0xf6]);
    let near = "unsupported-shard--v2";
    let mut reject = |rule, case: &str, file| t.reject_v2(rule, case, file, near);
    reject("shards-type", "null", sharded().bad("shards", null()));
    reject("shard-type", "null", sharded().bad("shards/s", null()));
    reject("shard-size-missing", "shard", sharded().lacks("shards/s/size"));
    reject("shard-size-type", "null", sharded().bad("shards/s/size", null()));
    reject("shard-size", "47", sharded().bad("shards/s/size", uint(47)));
    reject("shard-digest-missing", "shard", sharded().lacks("shards/s/digest"));
    reject("digest-type", "shard", sharded().bad("shards/s/digest", null()));
    reject("digest-form", "shard", sharded().bad("shards/s/digest", text("xxh3:0")));
    reject("shard-reference", "other", sharded().bad("w:data/shard", text("t")));
    reject("shard-reference", "no-table", sharded().without("shards").mark("w:data/shard"));
    let table = |name: Item| {
        let shard = fields([("size", uint(8192)), ("digest", text("xxh3:0123456789abcdef"))]);
        sharded().pairs("shards", vec![(marked(name), shard)])
    };
    reject("shard-name", "empty", table(text("")));
    reject("shard-name", "dot", table(text(".s")));
    reject("shard-name", "path", table(text("a/b")));
    reject("shard-name", "long", table(text(&"s".repeat(65))));
    reject("key-type", "shards", table(uint(1)));
    let length = |length| array(vec![uint(4096), marked(uint(length))]);
    let beyond = sharded().set("w:/shape", uints(&[1015])).set("w:data/blob", length(4060));
    reject("blob-bounds", "shard", beyond);
    let second = |offset: u64, length: u64| {
        let data = part("u8", offset, length);
        let object = object(&[length], "dense", vec![("data", data)]);
        sharded().set("objects/x", object).set("x:data/shard", text("s"))
    };
    t.opens_only_v2("tied-in-a-shard", second(4096, 16), "unsupported-shard");
    let longer = second(4096, 17).mark_offset("x");
    t.reject_v2("blob-overlap", "shard", longer, "tied-in-a-shard");
}
