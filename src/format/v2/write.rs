//! What the reader of generation 2 asks of single things, asked of what is to be written.

use super::shards::Table;
use super::{V2, values};
use crate::cbor::{Checked, Input, strict};
use crate::element::LogicalType;
use crate::format::context::{ParseContext, Slot};
use crate::format::{Encoding, Format, Generation, Writing};
use crate::limits::{Limits, format};
use crate::rules::Rule;

/// How generation 2 is written.
pub(super) static WRITING: Writing = Writing {
    generation: Generation::V2,
    dialect: &V2,
    compression: Encoding::ZstdSeekable,
    deterministic: true,
    digests_decoded: true,
    bool_is_type: true,
    canonical_alignment: format::CANONICAL_ALIGNMENT_V2,
    logical_type: |name| LogicalType::from_v2(name),
    format: |name| values::layout(name),
    format_name: |format| match format {
        Format::QuantizedGroup => None,
        format => V2.layout_name(format),
    },
};

/// Passes over deterministic attributes, which are to lie within `open` levels of the manifest.
pub(crate) fn pass_attributes<'m>(limits: &Limits, at: Input<'m>, open: u8) -> Checked<Input<'m>> {
    strict(at, open, limits.depth())?;
    Ok(values::attributes(limits, Rule::AttributesType, at)?.0)
}

/// Validates a table of shards: v2 §7.1.
pub(crate) fn validate_shards(limits: &Limits, table: Input<'_>) -> Checked<()> {
    <Table as Slot<true>>::parse(
        &mut ParseContext::of_items(limits, &V2),
        Rule::ShardsType,
        table,
    )?;
    Ok(())
}
