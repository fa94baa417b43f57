//! The table `shards` of a manifest of generation 2: the names, sizes and digests of other files that hold blobs. v2 §7.1.

use super::V2;
use crate::cbor::{BytesLeft, Checked, Fault, Input, Parsed, UNLIMITED, key, map_head};
use crate::formats::ztensor::context::{DigestText, FieldType, ParseContext};
use crate::formats::ztensor::record::Uint;
use crate::formats::ztensor::table::table;
use crate::index::{IndexBuilder, ShardRecord};
use crate::limits::Limits;
use crate::num::u64_from_usize;
use crate::rules::{Limit, Rule};

table! {
    /// One shard: its size in bytes and its digest. v2 §7.1.
    Shard<'m>, keys ShardKey, reader ShardReader, within 2 levels of deterministic CBOR, else Rule::ShardType;
    // key       field   type        presence                            else (another type)
    "size"   => size:   Uint,       required(Rule::ShardSizeMissing),   else Rule::ShardSizeType;
    "digest" => digest: DigestText, required(Rule::ShardDigestMissing), else Rule::DigestType;
}

/// The size in bytes of the smallest file of generation 2: header and footer. v2 §2.1.
const SHORTEST: u64 = 48;

/// The value of the field `shards`. It holds nothing, because parsing adds each shard to the index.
#[derive(Clone, Copy)]
pub(crate) struct Table;

impl<'m> FieldType<'m, true> for Table {
    const BLANK: Self = Self;

    fn parse(cx: &mut ParseContext<'_>, wrong: Rule, at: Input<'m>) -> Parsed<'m, Self> {
        cx.prove(at, 1)?;
        let (mut input, mut entries) = map_head(wrong, UNLIMITED, at)?;
        while entries.next(input) {
            let (value, name) = key(input)?;
            validate_name(input, name)?;
            let source_offset = cx.offset(input);
            let name = cx.text_span(name, BytesLeft::of(value));
            (input, ()) = Shard::read(cx, value, |cx, shard| {
                let Uint { bytes_left, value: size } = shard.size;
                if size < SHORTEST {
                    return Err(Fault::with(Rule::ShardSize, bytes_left, size).into());
                }
                let digest = shard.digest.0;
                Ok(cx.index.shard(ShardRecord { name, digest, source_offset, size })?)
            })?;
        }
        Ok((entries.end(input, at, Limit::Keys)?, Self))
    }
}

/// Validates `table`, a table of shards that will be written: v2 §7.1.
pub(crate) fn validate_shards(limits: &Limits, table: Input<'_>) -> Checked<()> {
    let cx = &mut ParseContext::new(limits, &V2, table, IndexBuilder::for_entries());
    <Table as FieldType<true>>::parse(cx, Rule::ShardsType, table)?;
    Ok(())
}

/// Validates `name`, the name of a shard: v2 §7.1. `at` is the input at the CBOR head of the name, for the error.
fn validate_name(at: Input<'_>, name: &[u8]) -> Checked<()> {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    if matches!(name, [first, ..] if *first != b'.') && name.len() <= 64 && name.iter().all(plain) {
        return Ok(());
    }
    let length = u64_from_usize(name.len());
    Err(Fault::with(Rule::ShardName, BytesLeft::of(at), length).into())
}
